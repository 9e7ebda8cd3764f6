// Values written or combined into an array along an axis, in the order of the indices.
//
// Contract: every element of the result is written by one thread, which takes its values in order, so results do not
// depend on the grid and have the bits of one thread walking over everything. No atomics. Indices outside the axis
// write nothing. Lines are the positions of all other axes; views: indices, values, result.
#ifdef REPLACE
__device__ __forceinline__ memory_t xo_combine(memory_t, memory_t value) { return value; }
#else
__device__ __forceinline__ memory_t xo_combine(memory_t old, memory_t value) {
    return xo_release(xo_join(xo_hold(old), xo_hold(value)));
}
#endif

// Many lines: one thread each.
extern "C" __global__ void __launch_bounds__(128) scatter_lines(
    const long long* __restrict__ index, const memory_t* __restrict__ value, memory_t* to,
    const xo_views<RANK, 3> views, index_t lines, index_t count, index_t length,
    index_t index_step, index_t value_step, index_t result_step)
{
    for (index_t line = (index_t)blockIdx.x * blockDim.x + threadIdx.x; line < lines;
         line += (index_t)gridDim.x * blockDim.x) {
        const xo_places<3> place = xo_find(views, line);
        for (index_t k = 0; k < count; ++k) {
            const long long at = index[place.at[0] + k * index_step];
            if (at < 0 || at >= length) continue;
            memory_t* slot = to + place.at[2] + (index_t)at * result_step;
            *slot = xo_combine(*slot, value[place.at[1] + k * value_step]);
        }
    }
}

#ifdef SORTED
// Few lines: indices are sorted first, with their order; what is outside the axis comes last, as `length`.
extern "C" __global__ void __launch_bounds__(256) scatter_keys(
    const long long* __restrict__ index, key_t* keys, pay_t* order,
    const xo_views<RANK, 3> views, index_t lines, index_t count, index_t length, index_t index_step)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < lines * count;
         i += (index_t)gridDim.x * blockDim.x) {
        const index_t line = i / count, k = i - line * count;
        const long long at = index[xo_find(views, line).at[0] + k * index_step];
        keys[i] = at < 0 || at >= length ? (key_t)length : (key_t)at;
        order[i] = (pay_t)k;
    }
}

// The thread at the first of equal indices takes their values; loads run ahead of the sums.
extern "C" __global__ void __launch_bounds__(256) scatter_sorted(
    const key_t* __restrict__ keys, const pay_t* __restrict__ order, const memory_t* __restrict__ value, memory_t* to,
    const xo_views<RANK, 3> views, index_t lines, index_t count, index_t length,
    index_t value_step, index_t result_step)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < lines * count;
         i += (index_t)gridDim.x * blockDim.x) {
        const index_t line = i / count, first = i - line * count;
        const key_t* key = keys + line * count;
        const key_t mine = key[first];
        if (mine >= (key_t)length || (first > 0 && key[first - 1] == mine)) continue;
        const xo_places<3> place = xo_find(views, line);
        memory_t* slot = to + place.at[2] + (index_t)mine * result_step;
        memory_t sum = *slot;
        for (index_t k = first; k < count && key[k] == mine;) {
            memory_t ahead[8];
            int present = 0;
            #pragma unroll
            for (int u = 0; u < 8; ++u) {
                if (k + u < count && key[k + u] == mine) {
                    ahead[u] = value[place.at[1] + (index_t)order[line * count + k + u] * value_step];
                    present = u + 1;
                }
            }
            #pragma unroll
            for (int u = 0; u < 8; ++u) {
                if (u < present) sum = xo_combine(sum, ahead[u]);
            }
            k += 8;
        }
        *slot = sum;
    }
}
#endif
