// The exact winner among groups of items whose best approximate score could be it.
//
// Contract: groups in `scratch` as ordered.cuh says; queries [Q, K] and items [N, K] in f32, K a multiple of 8, of length at most 1. A score there
// differs from the true one by at most `margin`, so that the winner's group has an entry of at least the largest minus twice that; every item of
// such groups is scored again in f64. Out [Q]: the winner, ordered as there, its score rounded to f32.
//
// Launch: one block of 256 threads per query. Bytes: 256·K per group that is looked at, one or two as a rule.

extern "C" __global__ void __launch_bounds__(256) hrr_rescore(
    const float* queries, const float* items, unsigned long long* out, unsigned char* scratch, long long, long long N, long long K, float margin)
{
    __shared__ unsigned long long shared[8];
    __shared__ double scores[8];
    __shared__ unsigned places[8];
    __shared__ int list[256], count;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const long long G = groups_of(N);
    const unsigned long long* row = (const unsigned long long*)scratch + blockIdx.x * G;
    const float* query = queries + blockIdx.x * K;
    unsigned long long top = 0;
    for (long long g = threadIdx.x; g < G; g += 256) top = row[g] > top ? row[g] : top;
    for (int step = 16; step > 0; step /= 2) {
        const unsigned long long other = __shfl_xor_sync(0xffffffffu, top, step);
        top = other > top ? other : top;
    }
    if (lane == 0) shared[warp] = top;
    __syncthreads();
    for (int i = 0; i < 8; ++i) top = shared[i] > top ? shared[i] : top;
    // Everything is NaN.
    if (score_of(top) == -__int_as_float(0x7f800000)) {
        if (threadIdx.x == 0) out[blockIdx.x] = top;
        return;
    }
    const float least = score_of(top) - 2 * margin;
    double best = -1e300;
    unsigned at = 0xffffffffu;
    for (long long start = 0; start < G; start += 256) {
        // The groups among these that can hold the winner; NaN is looked at too, which costs time only.
        if (threadIdx.x == 0) count = 0;
        __syncthreads();
        const long long g = start + threadIdx.x;
        if (g < G && !(score_of(row[g]) < least)) list[atomicAdd(&count, 1)] = (int)g;
        __syncthreads();
        for (int i = warp; i < count * 64; i += 8) {
            const int group = list[i / 64], j = i % 64;
            const long long item = group / EACH * (long long)N_TILE + group % EACH * 2 + j / 2 * 8 + j % 2;
            if (item >= N) continue;
            const float4* from = (const float4*)(items + item * K);
            double sum = 0;
            #pragma unroll 8
            for (int k = lane; k < K / 4; k += 32) {
                const float4 x = ((const float4*)query)[k], y = from[k];
                sum = fma((double)x.x, (double)y.x, fma((double)x.y, (double)y.y, fma((double)x.z, (double)y.z, fma((double)x.w, (double)y.w, sum))));
            }
            for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
            if (sum > best || (sum == best && (unsigned)item < at)) {
                best = sum;
                at = (unsigned)item;
            }
        }
        __syncthreads();
    }
    if (lane == 0) {
        scores[warp] = best;
        places[warp] = at;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 8; ++i) {
            if (scores[i] > best || (scores[i] == best && places[i] < at)) {
                best = scores[i];
                at = places[i];
            }
        }
        out[blockIdx.x] = ordered((float)best, at);
    }
}
