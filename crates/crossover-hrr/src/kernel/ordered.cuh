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
