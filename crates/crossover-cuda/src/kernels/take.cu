// Entries along an axis at given indices, and elements along an axis at given indices.
//
// Contract: `take`: to[o, i, e] = from[o, clamp(index[i]), e]; `gather`: to[p] = from[p but for the axis,
// clamp(index[p])]. Any grid. Elements are 16 bytes where slices allow it, so an embedding row is read and written in
// whole lines; bytes: each result element once each way, and the indices.
extern "C" __global__ void __launch_bounds__(256) take(
    const element_t* __restrict__ from, const long long* __restrict__ index, element_t* __restrict__ to,
    const xo_views<OUTER, 1> outer, const xo_views<INNER, 1> inner, index_t inner_size, index_t count,
    index_t index_step, index_t axis_stride, index_t axis_length, index_t total)
{
    const index_t step = (index_t)gridDim.x * blockDim.x;
    #pragma unroll 4
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
        const index_t slice = i / inner_size;
        const index_t line = slice / count;
        const index_t at = xo_clamp(index[(slice - line * count) * index_step], axis_length);
        to[i] = from[xo_find(outer, line).at[0] + at * axis_stride + xo_find(inner, i - slice * inner_size).at[0]];
    }
}

extern "C" __global__ void __launch_bounds__(256) gather(
    const element_t* __restrict__ from, const long long* __restrict__ index, element_t* __restrict__ to,
    const xo_views<RANK, 2> views, index_t axis_stride, index_t axis_length, index_t total)
{
    const index_t step = (index_t)gridDim.x * blockDim.x;
    #pragma unroll 4
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
        const xo_places<2> place = xo_find(views, i);
        to[i] = from[place.at[0] + xo_clamp(index[place.at[1]], axis_length) * axis_stride];
    }
}
