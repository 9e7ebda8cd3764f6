// A strided array as a row-major one.
//
// Contract: to[i] = from[place of i]; any grid. Moves every element once each way; neighbours in the result are
// neighbours among threads, so writes are whole lines and reads are as good as the strides allow.
extern "C" __global__ void __launch_bounds__(256) copy(
    const element_t* __restrict__ from, element_t* __restrict__ to, const xo_views<RANK, 1> view, index_t count)
{
    const index_t step = (index_t)gridDim.x * blockDim.x;
    #pragma unroll 4
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        to[i] = from[xo_find(view, i).at[0]];
    }
}
