// The best of every group of items for a few queries, in f32: items are read once, as they are.
//
// Contract: queries [Q, K] and items [N, K] in f32, K a multiple of 8, Q at most 8; groups in `scratch` as ordered.cuh says. A score is off by
// less than one of vectors that were rounded to f16.
//
// Launch: one block of 256 threads for every 256 items. Bytes at the floor: 4·N·K; queries stay in the first-level cache.

constexpr int MOST = 8;

extern "C" __global__ void __launch_bounds__(256) hrr_scan(
    const float* queries, const float* items, unsigned long long*, unsigned char* scratch, long long Q, long long N, long long K)
{
    __shared__ float scores[MOST][N_TILE];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const long long first = (long long)blockIdx.x * N_TILE;
    for (int i = warp; i < N_TILE && first + i < N; i += 8) {
        const float4* item = (const float4*)(items + (first + i) * K);
        float sums[MOST] = {};
        #pragma unroll 4
        for (int k = lane; k < K / 4; k += 32) {
            const float4 y = item[k];
            #pragma unroll
            for (int q = 0; q < MOST; ++q) {
                if (q < Q) {
                    const float4 x = ((const float4*)(queries + q * K))[k];
                    sums[q] = fmaf(x.x, y.x, fmaf(x.y, y.y, fmaf(x.z, y.z, fmaf(x.w, y.w, sums[q]))));
                }
            }
        }
        #pragma unroll
        for (int q = 0; q < MOST; ++q) {
            if (q < Q) {
                for (int step = 16; step > 0; step /= 2) sums[q] += __shfl_xor_sync(0xffffffffu, sums[q], step);
                if (lane == 0) scores[q][i] = sums[q];
            }
        }
    }
    __syncthreads();
    // One thread for each query and group.
    const int q = threadIdx.x / EACH, c = threadIdx.x % EACH;
    if (q < Q) {
        float best = -__int_as_float(0x7f800000);
        unsigned at = 0xffffffffu;
        for (int j = 0; j < 64; ++j) {
            const int i = c * 2 + j / 2 * 8 + j % 2;
            // NaN never wins.
            if (first + i < N && scores[q][i] > best) {
                best = scores[q][i];
                at = (unsigned)(first + i);
            }
        }
        ((unsigned long long*)scratch)[q * groups_of(N) + blockIdx.x * EACH + c] = ordered(best, at);
    }
}
