// Lines along an axis, sorted, or the indices that sort them; stable.
//
// `sort_short`: lines of up to 1024 elements, whole in shared memory; SPAN, a power of two, slots per line, 1024 slots per
// block of 512 threads. Elements go with their index, so no two are equal and a bitonic network is stable.
// `sort_keys`, passes of radix.cu, `sort_finish`: lines of any length. The key is word WORD of an element's place in the
// order: for complex numbers the imaginary part, the real part, then which of them are NaN, the last word last.
// What goes with a key is the element itself where results are elements of one part, else its index.
struct element_t {
    bits_t part[PARTS];
};

#ifdef INDICES
typedef long long result_t;
#else
typedef element_t result_t;
#endif

#ifdef SHORT
constexpr int SLOTS = 1024;

extern "C" __global__ void __launch_bounds__(512) sort_short(
    const element_t* __restrict__ from, result_t* to, const xo_views<RANK, 2> views, index_t lines, index_t length,
    index_t stride, index_t result_stride)
{
    __shared__ xo_order place[SLOTS];
    __shared__ unsigned short index[SLOTS];
    const index_t per_block = SLOTS / SPAN;
    const unsigned absent = 0xffffu;
    for (index_t first = (index_t)blockIdx.x * per_block; first < lines; first += (index_t)gridDim.x * per_block) {
        for (int slot = threadIdx.x; slot < SLOTS; slot += 512) {
            const index_t line = first + slot / SPAN, i = slot % SPAN;
            const bool here = line < lines && i < length;
            index[slot] = here ? (unsigned short)i : (unsigned short)absent;
            if (here) place[slot] = xo_order_of(from[xo_find(views, line).at[0] + i * stride].part, DESCENDING);
        }
        __syncthreads();
        for (int size = 2; size <= SPAN; size *= 2) {
            for (int distance = size / 2; distance > 0; distance /= 2) {
                const int a = 2 * (int)threadIdx.x - ((int)threadIdx.x & (distance - 1)), b = a + distance;
                const bool rising = size == SPAN || (a & size) == 0;
                const unsigned ia = index[a], ib = index[b];
                const bool less = ia == absent ? ib == absent && a < b
                                : ib == absent ? true
                                : xo_less(place[a], place[b]) || (!xo_less(place[b], place[a]) && ia < ib);
                if (less != rising) {
                    const xo_order other = place[a];
                    place[a] = place[b];
                    place[b] = other;
                    index[a] = (unsigned short)ib;
                    index[b] = (unsigned short)ia;
                }
                __syncthreads();
            }
        }
        for (int slot = threadIdx.x; slot < SLOTS; slot += 512) {
            const index_t line = first + slot / SPAN, i = slot % SPAN;
            if (line >= lines || i >= length) continue;
            const xo_places<2> at = xo_find(views, line);
#ifdef INDICES
            to[at.at[1] + i * result_stride] = (result_t)index[slot];
#else
            to[at.at[1] + i * result_stride] = from[at.at[0] + (index_t)index[slot] * stride];
#endif
        }
        __syncthreads();
    }
}
#else
extern "C" __global__ void __launch_bounds__(256) sort_keys(
    const element_t* __restrict__ from, key_t* keys, pay_t* pays, const pay_t* order,
    const xo_views<RANK, 2> views, index_t lines, index_t length, index_t stride, int word)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < lines * length;
         i += (index_t)gridDim.x * blockDim.x) {
        const index_t line = i / length;
        const index_t at = word > 0 ? (index_t)order[i] : i - line * length;
        const element_t element = from[xo_find(views, line).at[0] + at * stride];
        const xo_order place = xo_order_of(element.part, DESCENDING);
        keys[i] = word == PARTS ? (key_t)place.nans : (key_t)place.part[PARTS - 1 - (word < PARTS ? word : 0)];
#ifdef CARRIES_ELEMENT
        pays[i] = (pay_t)element.part[0];
#else
        pays[i] = (pay_t)at;
#endif
    }
}

extern "C" __global__ void __launch_bounds__(256) sort_finish(
    const element_t* __restrict__ from, const pay_t* __restrict__ pays, result_t* to, const xo_views<RANK, 2> views,
    index_t lines, index_t length, index_t stride, index_t result_stride)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < lines * length;
         i += (index_t)gridDim.x * blockDim.x) {
        // Lines vary fastest where they are neighbours in the result.
        const index_t line = result_stride == 1 ? i / length : i % lines;
        const index_t k = result_stride == 1 ? i - line * length : i / lines;
        const xo_places<2> at = xo_find(views, line);
        const pay_t pay = pays[line * length + k];
#if defined(CARRIES_ELEMENT)
        to[at.at[1] + k * result_stride] = result_t{{(bits_t)pay}};
#elif defined(INDICES)
        to[at.at[1] + k * result_stride] = (result_t)pay;
#else
        to[at.at[1] + k * result_stride] = from[at.at[0] + (index_t)pay * stride];
#endif
    }
}
#endif
