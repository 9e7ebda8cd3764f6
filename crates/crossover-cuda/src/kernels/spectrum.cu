// What surrounds a Fourier transform of the library: the operand in the order it wants, and the result scaled, with
// canonical NaNs, in the order of the call. Any grid. Bytes: every value once each way.
//
// `spectrum_open` also clears the imaginary parts that do not count in half a spectrum (POINTS results per line; 0 for
// whole spectra): those of the first value and, for an even number, of the last.
extern "C" __global__ void __launch_bounds__(256) spectrum_open(
    const source_t* __restrict__ from, source_t* __restrict__ to, const xo_views<OPEN, 1> view, index_t count,
    index_t points)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (index_t)gridDim.x * blockDim.x) {
        source_t value = from[xo_find(view, i).at[0]];
#ifdef HALF
        const index_t at = i % (points / 2 + 1);
        if (at == 0 || 2 * at == points) value.im = 0;
#endif
        to[i] = value;
    }
}

#ifdef COMPLEX_RESULT
typedef xo_complex<real_t> result_t;
__device__ __forceinline__ result_t xo_scaled(result_t z, real_t scale) {
    return result_t{xo_canonical(z.re * scale), xo_canonical(z.im * scale)};
}
#else
typedef real_t result_t;
__device__ __forceinline__ result_t xo_scaled(result_t x, real_t scale) { return xo_canonical(x * scale); }
#endif

// `from` may be `to` where places do not change.
extern "C" __global__ void __launch_bounds__(256) spectrum_close(
    const result_t* from, result_t* to, const xo_views<CLOSE, 1> view, index_t count, real_t scale)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (index_t)gridDim.x * blockDim.x) {
        to[xo_find(view, i).at[0]] = xo_scaled(from[i], scale);
    }
}
