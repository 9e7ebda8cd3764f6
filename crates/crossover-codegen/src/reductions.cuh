// The part of what generated kernels share that reduces; the rest is in prelude.cuh. The order of joining is that of
// `crossover_core::canonical`.

// == arg ==
// A value and where it was found.
template <typename T>
struct xo_arg {
    T value;
    long long index;
};

// The better of two, the first of equals; NaN is better than any number. The order of joining does not matter.
template <bool Largest, typename T>
__device__ __forceinline__ xo_arg<T> xo_arg_join(xo_arg<T> a, xo_arg<T> b) {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool better = Largest ? b.value > a.value : b.value < a.value;
    const bool first = b.index < a.index;
    const bool take = b_nan ? !a_nan || first : !a_nan && (better || (a.value == b.value && first));
    return take ? b : a;
}

// == row ==
template <typename T>
__device__ __forceinline__ T xo_shuffle_down(T value, int distance) {
    unsigned words[(sizeof(T) + 3) / 4] = {};
    memcpy(words, &value, sizeof(T));
    #pragma unroll
    for (int i = 0; i < (int)((sizeof(T) + 3) / 4); ++i) words[i] = __shfl_down_sync(0xffffffffu, words[i], distance);
    memcpy(&value, words, sizeof(T));
    return value;
}

template <typename T>
__device__ __forceinline__ T xo_broadcast(T value) {
    unsigned words[(sizeof(T) + 3) / 4] = {};
    memcpy(words, &value, sizeof(T));
    #pragma unroll
    for (int i = 0; i < (int)((sizeof(T) + 3) / 4); ++i) words[i] = __shfl_sync(0xffffffffu, words[i], 0);
    memcpy(&value, words, sizeof(T));
    return value;
}

// One chunk, reduced by one warp: thread t holds lanes 4t to 4t+3, of which the first `present` exist. Quads
// combine first, then quads by halving; what is absent is skipped. Every thread gets the result.
template <typename Join, typename T>
__device__ __forceinline__ T xo_warp_reduce(const T (&lane)[4], int present) {
    const int t = threadIdx.x % 32;
    const int mine = present - 4 * t;
    const T low = mine > 1 ? Join::join(lane[0], lane[1]) : lane[0];
    const T high = mine > 3 ? Join::join(lane[2], lane[3]) : lane[2];
    T value = mine > 2 ? Join::join(low, high) : low;
    #pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        const T other = xo_shuffle_down(value, distance);
        if (4 * (t + distance) < present) value = Join::join(value, other);
    }
    return xo_broadcast(value);
}

// Up to 128 chunk results in memory, reduced by every warp that asks.
template <typename Join, typename T>
__device__ __forceinline__ T xo_chunks_reduce(const T* chunks, int count) {
    const int t = threadIdx.x % 32;
    T lane[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) lane[k] = chunks[4 * t + k < count ? 4 * t + k : 0];
    return xo_warp_reduce<Join>(lane, count);
}

// Rows of `length` values to rows of one value per chunk: one warp per chunk.
template <typename Join>
__device__ __forceinline__ void xo_combine_rows(
    const typename Join::type* from, typename Join::type* to, index_t rows, index_t length)
{
    typedef typename Join::type T;
    const int t = threadIdx.x % 32;
    const index_t chunks = (length + 1023) / 1024;
    const index_t warps = (index_t)gridDim.x * (blockDim.x / 32);
    for (index_t item = (index_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; item < rows * chunks; item += warps) {
        const index_t first = item % chunks * 1024;
        const int count = (int)(length - first < 1024 ? length - first : 1024);
        const T* chunk = from + item / chunks * length + first;
        T lane[4];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            for (int e = 4 * t + k; e < count; e += 128) lane[k] = e < 128 ? chunk[e] : Join::join(lane[k], chunk[e]);
        }
        const T value = xo_warp_reduce<Join>(lane, count < 128 ? count : 128);
        if (t == 0) to[item] = value;
    }
}

// == column ==
// Columns of `length` values to columns of one value per segment: one thread per segment and column.
template <typename Join>
__device__ __forceinline__ void xo_combine_columns(
    const typename Join::type* from, typename Join::type* to, index_t outer, index_t length, index_t inner)
{
    typedef typename Join::type T;
    const index_t segments = (length + 127) / 128;
    const index_t threads = (index_t)gridDim.x * blockDim.x;
    for (index_t item = (index_t)blockIdx.x * blockDim.x + threadIdx.x; item < outer * segments * inner; item += threads) {
        const index_t i = item % inner;
        const index_t begin = item / inner % segments * 128;
        const int count = (int)(length - begin < 128 ? length - begin : 128);
        const T* segment = from + (item / inner / segments * length + begin) * inner + i;
        T value = segment[0];
        for (int r = 1; r < count; r += 16) {
            T ahead[16];
            #pragma unroll
            for (int u = 0; u < 16; ++u) {
                ahead[u] = segment[(r + u < count ? r + u : count - 1) * inner];
            }
            #pragma unroll
            for (int u = 0; u < 16; ++u) {
                if (r + u < count) value = Join::join(value, ahead[u]);
            }
        }
        to[item] = value;
    }
}
