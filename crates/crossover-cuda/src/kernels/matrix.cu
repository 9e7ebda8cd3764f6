// What surrounds a decomposition of the library: matrices in the order it wants, and results in the order of the call,
// with canonical NaNs. Any grid.
#if KIND == 1
__device__ __forceinline__ bool xo_finite(held_t x) { return x - x == 0; }
__device__ __forceinline__ held_t xo_conjugate(held_t x) { return x; }
__device__ __forceinline__ held_t xo_real(held_t x) { return x; }
__device__ __forceinline__ held_t xo_of(part_t x) { return x; }
#else
__device__ __forceinline__ bool xo_finite(held_t x) { return x.re - x.re == 0 && x.im - x.im == 0; }
__device__ __forceinline__ held_t xo_conjugate(held_t x) { return held_t{x.re, -x.im}; }
__device__ __forceinline__ held_t xo_real(held_t x) { return held_t{x.re, 0}; }
__device__ __forceinline__ held_t xo_of(part_t x) { return held_t{x, 0}; }
#endif

// Matrices one after another. `doubt` becomes 1 where a number is not finite. For SELF_ADJOINT ones of `side` rows the
// imaginary parts on the diagonal do not count.
extern "C" __global__ void __launch_bounds__(256) matrix_open(
    const held_t* __restrict__ from, held_t* __restrict__ to, int* doubt, const xo_views<RANK, 1> view, index_t count,
    index_t side)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (index_t)gridDim.x * blockDim.x) {
        held_t value = from[xo_find(view, i).at[0]];
        if (!xo_finite(value)) *doubt = 1;
        if (side > 0) {
            const index_t at = i % (side * side);
            if (at / side == at % side) value = xo_real(value);
        }
        to[i] = value;
    }
}

// The matrices one of which every right-hand side starts with.
extern "C" __global__ void __launch_bounds__(256) matrix_identity(held_t* to, index_t count, index_t side) {
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (index_t)gridDim.x * blockDim.x) {
        const index_t at = i % (side * side);
        to[i] = xo_of(at / side == at % side ? 1 : 0);
    }
}

// A part of the results: `rows` x `columns` from each matrix, row-major. What lies outside the triangle (1 the lower,
// 2 the upper, 0 no triangle) is zero.
extern "C" __global__ void __launch_bounds__(256) matrix_close(
    const held_t* __restrict__ from, held_t* to, index_t batches, index_t rows, index_t columns, index_t down,
    index_t across, index_t from_step, index_t to_step, int triangle, int conjugate)
{
    const index_t size = rows * columns;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < batches * size;
         i += (index_t)gridDim.x * blockDim.x) {
        const index_t batch = i / size, at = i - batch * size, row = at / columns, column = at - row * columns;
        const bool kept = triangle == 0 || (triangle == 1 ? row >= column : row <= column);
        const held_t value = kept ? from[batch * from_step + row * down + column * across] : xo_of(0);
        to[batch * to_step + at] = xo_release(conjugate ? xo_conjugate(value) : value);
    }
}

// Real numbers, `count` for each matrix, as elements of the result.
extern "C" __global__ void __launch_bounds__(256) matrix_values(
    const part_t* __restrict__ from, held_t* to, index_t batches, index_t count, index_t to_step)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < batches * count;
         i += (index_t)gridDim.x * blockDim.x) {
        const index_t batch = i / count;
        to[batch * to_step + i - batch * count] = xo_release(xo_of(from[i]));
    }
}

#ifdef PAIRS
// Complex eigenvectors from real columns: a conjugate pair of eigenvalues has real and imaginary part in two of them.
extern "C" __global__ void __launch_bounds__(256) matrix_pairs(
    const part_t* __restrict__ from, const held_t* __restrict__ values, held_t* to, index_t batches, index_t side,
    index_t to_step)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < batches * side * side;
         i += (index_t)gridDim.x * blockDim.x) {
        const index_t batch = i / (side * side), at = i - batch * side * side, row = at / side, column = at % side;
        const part_t* matrix = from + batch * side * side + row;
        const part_t sign = values[batch * side + column].im;
        // The first of a pair has the positive imaginary part.
        const index_t first = sign < 0 ? column - 1 : column;
        const part_t im = sign == 0 ? part_t(0) : sign < 0 ? -matrix[(first + 1) * side] : matrix[(first + 1) * side];
        to[batch * to_step + at] = xo_release(held_t{matrix[first * side], im});
    }
}
#endif
