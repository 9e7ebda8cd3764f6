// Entries of a table at given indices, each a run of neighbours: rows of an embedding, or elements of a line.
//
// Contract: to[i, e] = from[clamp(index[i]), e]. Any grid of 128 threads. LANES threads share an entry, a power of two; a thread has two
// entries on their way, because which is known only after another read. Elements are 16 bytes where entries allow it. STREAMS says
// that the result is the first to leave the cache: entries are read again where an index repeats. Bytes: each result element
// once each way, and the indices.
template <typename T>
__device__ __forceinline__ void put(T* to, const T& value) {
#ifdef __CUDA_ARCH__
    if (STREAMS && sizeof(T) == 16) {
        __stcs(reinterpret_cast<uint4*>(to), reinterpret_cast<const uint4&>(value));
        return;
    }
#endif
    *to = value;
}

extern "C" __global__ void __launch_bounds__(128, 12) entries(
    const element_t* __restrict__ from, const long long* __restrict__ index, element_t* __restrict__ to,
    index_t size, index_t count, index_t index_step, index_t stride, index_t length)
{
    xo_wait();
    constexpr int BESIDE = 128 / LANES;
    const index_t step = (index_t)gridDim.x * (2 * BESIDE);
    for (index_t i = (index_t)blockIdx.x * (2 * BESIDE) + threadIdx.x / LANES; i < count; i += step) {
        const index_t next = i + BESIDE;
        const bool both = next < count;
        const element_t* first = from + xo_clamp(index[i * index_step], length) * stride;
        const element_t* second = both ? from + xo_clamp(index[next * index_step], length) * stride : first;
        for (index_t e = threadIdx.x % LANES; e < size; e += LANES) {
            const element_t one = first[e], two = second[e];
            put(to + i * size + e, one);
            if (both) put(to + next * size + e, two);
        }
    }
}
