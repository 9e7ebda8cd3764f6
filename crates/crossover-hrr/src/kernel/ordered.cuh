// Scores with indices as numbers that can be compared, and what kernels of cleanup share.
//
// A row of `groups` has 4 entries for every 256 items: entry 4t + c is the best among the items 256t + 2c + 8j and 256t + 2c + 8j + 1, j = 0..31,
// which is what a thread of a tensor-core product holds.

constexpr int N_TILE = 256, EACH = 4;

// Larger for a larger score, then for a smaller index.
__device__ __forceinline__ unsigned long long ordered(const float score, const unsigned index)
{
    const unsigned bits = __float_as_uint(score);
    const unsigned monotone = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return (unsigned long long)monotone << 32 | ~index;
}

__device__ __forceinline__ float score_of(const unsigned long long entry)
{
    const unsigned bits = (unsigned)(entry >> 32);
    return __uint_as_float(bits & 0x80000000u ? bits & 0x7fffffffu : ~bits);
}

__device__ __forceinline__ long long aligned(const long long bytes) { return (bytes + 255) / 256 * 256; }
__device__ __forceinline__ long long groups_of(const long long N) { return EACH * ((N + N_TILE - 1) / N_TILE); }

// Scratch memory: the best of every group, then queries and items in f16.
__device__ __forceinline__ unsigned short* rounded_queries(unsigned char* scratch, const long long Q, const long long N)
{
    return (unsigned short*)(scratch + aligned(Q * groups_of(N) * 8));
}
__device__ __forceinline__ unsigned short* rounded_items(unsigned char* scratch, const long long Q, const long long N, const long long K)
{
    return (unsigned short*)((unsigned char*)rounded_queries(scratch, Q, N) + aligned(Q * K * 2));
}

// Writes the best of each thread's scores of a tile of 128 queries by 256 items: what a product on tensor cores leaves in 256 threads. NaN never wins.
__device__ __forceinline__ void keep_best(
    const float (&d)[128], unsigned long long* groups, const long long first_query, const int item_tile, const long long Q, const long long N)
{
    const int lane = threadIdx.x % 32, part = lane % 4;
    const long long row = first_query + threadIdx.x / 32 * 16 + lane / 4;
    const unsigned column = item_tile * N_TILE + part * 2;
    const bool is_whole = (long long)(item_tile + 1) * N_TILE <= N;
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        float best = -__int_as_float(0x7f800000);
        unsigned at = 0xffffffffu;
        #pragma unroll
        for (int j = 0; j < 64; ++j) {
            const float score = d[j / 2 * 4 + half * 2 + j % 2];
            const unsigned index = column + j / 2 * 8 + j % 2;
            if (score > best && (is_whole || index < N)) {
                best = score;
                at = index;
            }
        }
        const long long query = row + half * 8;
        if (query < Q) groups[query * groups_of(N) + item_tile * EACH + part] = ordered(best, at);
    }
}
