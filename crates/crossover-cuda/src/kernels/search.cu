// Where values belong in a sorted line: bisection, one thread per value.
//
// Contract: the same halving as on the host, so that a line that does not rise has the same result too. Any grid.
struct element_t {
    bits_t part[PARTS];
};

extern "C" __global__ void __launch_bounds__(256) search(
    const element_t* __restrict__ line, const element_t* __restrict__ values, long long* to,
    const xo_views<RANK, 1> view, index_t stride, index_t length, index_t count)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (index_t)gridDim.x * blockDim.x) {
        const xo_order wanted = xo_order_of(values[xo_find(view, i).at[0]].part, false);
        index_t low = 0, high = length;
        while (low < high) {
            const index_t middle = low + (high - low) / 2;
            const xo_order here = xo_order_of(line[middle * stride].part, false);
            const bool before = xo_less(here, wanted) || (RIGHT && xo_same(here, wanted));
            low = before ? middle + 1 : low;
            high = before ? high : middle;
        }
        to[i] = low;
    }
}
