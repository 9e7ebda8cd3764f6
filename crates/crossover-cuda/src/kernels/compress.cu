// Entries at which a mask is true, as many as the result has; zeros after the last.
//
// Contract: `compress_count` counts per BLOCK elements of the mask, `compress_starts` (one block) adds the counts up,
// `compress_find` notes where the n-th true element is, `compress_copy` moves entries. Blocks of 256 threads.
constexpr int EACH = 16;
constexpr int BLOCK = 256 * EACH;

extern "C" __global__ void __launch_bounds__(256) compress_count(
    const unsigned char* __restrict__ mask, index_t* counts, index_t stride, index_t length)
{
    __shared__ unsigned total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    unsigned mine = 0;
    for (int k = 0; k < EACH; ++k) {
        const index_t at = (index_t)blockIdx.x * BLOCK + k * 256 + threadIdx.x;
        if (at < length) mine += mask[at * stride];
    }
    atomicAdd(&total, mine);
    __syncthreads();
    if (threadIdx.x == 0) counts[blockIdx.x] = (index_t)total;
}

// counts[i] becomes the number before block i; counts[blocks] the number of all.
extern "C" __global__ void __launch_bounds__(256) compress_starts(index_t* counts, index_t blocks) {
    __shared__ index_t room[256];
    index_t carry = 0;
    const unsigned t = threadIdx.x;
    for (index_t start = 0; start < blocks; start += 256) {
        const index_t value = start + t < blocks ? counts[start + t] : 0;
        index_t sum = value;
        for (unsigned distance = 1; distance < 256; distance *= 2) {
            room[t] = sum;
            __syncthreads();
            if (t >= distance) sum += room[t - distance];
            __syncthreads();
        }
        if (start + t < blocks) counts[start + t] = carry + sum - value;
        room[t] = sum;
        __syncthreads();
        carry += room[255];
        __syncthreads();
    }
    if (t == 0) counts[blocks] = carry;
}

extern "C" __global__ void __launch_bounds__(256) compress_find(
    const unsigned char* __restrict__ mask, const index_t* __restrict__ starts, index_t* places, index_t stride,
    index_t length, index_t count)
{
    __shared__ unsigned room[256];
    const unsigned t = threadIdx.x;
    const index_t first = (index_t)blockIdx.x * BLOCK + (index_t)t * EACH;
    unsigned mine = 0;
    for (int k = 0; k < EACH; ++k) mine += first + k < length ? mask[(first + k) * stride] : 0;
    unsigned sum = mine;
    for (unsigned distance = 1; distance < 256; distance *= 2) {
        room[t] = sum;
        __syncthreads();
        if (t >= distance) sum += room[t - distance];
        __syncthreads();
    }
    index_t to = starts[blockIdx.x] + (index_t)(sum - mine);
    for (int k = 0; k < EACH && first + k < length; ++k) {
        if (mask[(first + k) * stride]) {
            if (to < count) places[to] = first + k;
            ++to;
        }
    }
}

extern "C" __global__ void __launch_bounds__(256) compress_copy(
    const element_t* __restrict__ from, const index_t* __restrict__ places, const index_t* __restrict__ found,
    element_t* to, const xo_views<INNER, 1> inner, index_t inner_size, index_t stride, index_t total)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += (index_t)gridDim.x * blockDim.x) {
        const index_t entry = i / inner_size;
        to[i] = entry < *found ? from[places[entry] * stride + xo_find(inner, i - entry * inner_size).at[0]]
                               : element_t();
    }
}
