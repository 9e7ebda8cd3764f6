// Queries and items in f16, for products on tensor cores.
//
// Contract: queries [Q, K] and items [N, K] in f32, K a multiple of 8, rows without gaps; both are written to `scratch`, as ordered.cuh says.
// Launch: any number of threads. Bytes at the floor: 6 for each number.

__device__ __forceinline__ unsigned halves(const float low, const float high)
{
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

extern "C" __global__ void __launch_bounds__(256) hrr_round(
    const float* queries, const float* items, unsigned long long*, unsigned char* scratch, long long Q, long long N, long long K)
{
    uint4* to_queries = (uint4*)rounded_queries(scratch, Q, N);
    uint4* to_items = (uint4*)rounded_items(scratch, Q, N, K);
    const long long own = Q * K / 8, total = own + N * K / 8, step = (long long)gridDim.x * blockDim.x;
    #pragma unroll 2
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
        const bool is_query = i < own;
        const long long at = is_query ? i : i - own;
        const float4* from = (const float4*)(is_query ? queries : items) + 2 * at;
        const float4 x = from[0], y = from[1];
        (is_query ? to_queries : to_items)[at] = {halves(x.x, x.y), halves(x.z, x.w), halves(y.x, y.y), halves(y.z, y.w)};
    }
}
