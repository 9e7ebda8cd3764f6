// Direct convolution: an element is the sum over its window in row-major order of value times flipped weight, started at
// 0, each term added by one fused multiply-add; integers wrap. The order is part of the definition, so all kernels here
// and the host give the same bits.
//
// `convolve_flip` puts the weights in that order into scratch. `convolve_tile`: a block of 32 x DOWN threads has
// 32*ACROSS columns and DOWN*ROWS rows of a plane, ROWS x ACROSS of them per thread in registers; rows of the operand, with
// what lies outside, go through shared memory, DEPTH at a time, and are used for all rows of a thread. COLUMNS is the
// kernel's number of columns. What is staged beyond the last window is never used. 2*terms FLOPs; the operand is read once per tile and plane of the window.
// `convolve_plain`: one thread per element, for kernels of any shape.
struct axis_t {
    // Lengths of result, kernel and operand; the operand's stride; positions before its first element.
    index_t result, kernel, source, stride, before;
};

struct axes_t {
    axis_t axis[RANK];
};

// The index that a position of the extended operand shows; -1 is the fill value.
__device__ __forceinline__ index_t xo_source(index_t at, index_t n) {
    if (at >= 0 && at < n) return at;
    if (BOUNDARY == 0) return -1;
    if (BOUNDARY == 3 || n == 1) return at < 0 ? 0 : n - 1;
    const index_t period = BOUNDARY == 1 ? n : BOUNDARY == 2 ? 2 * n : 2 * n - 2;
    const index_t rest = at % period, place = rest < 0 ? rest + period : rest;
    return place < n ? place : (BOUNDARY == 2 ? period - 1 : period) - place;
}

#if KIND == 0
__device__ __forceinline__ held_t xo_term(held_t sum, held_t x, held_t weight) {
    return (held_t)((wide_t)sum + (wide_t)x * (wide_t)weight);
}
#elif KIND == 1
__device__ __forceinline__ float xo_term(float sum, float x, float weight) { return fmaf(x, weight, sum); }
__device__ __forceinline__ double xo_term(double sum, double x, double weight) { return fma(x, weight, sum); }
#else
__device__ __forceinline__ float xo_fma(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double xo_fma(double a, double b, double c) { return fma(a, b, c); }
__device__ __forceinline__ held_t xo_term(held_t sum, held_t x, held_t weight) {
    return held_t{xo_fma(-x.im, weight.im, xo_fma(x.re, weight.re, sum.re)),
                  xo_fma(x.im, weight.re, xo_fma(x.re, weight.im, sum.im))};
}
#endif

extern "C" __global__ void __launch_bounds__(256) convolve_flip(
    const held_t* __restrict__ kernel, held_t* weights, const xo_views<RANK, 1> view, index_t taps)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < taps; i += (index_t)gridDim.x * blockDim.x) {
        weights[i] = kernel[xo_find(view, taps - 1 - i).at[0]];
    }
}

// Where the rows of a window's slab start in the operand, from the leading axes; false where they lie outside.
__device__ __forceinline__ bool xo_slab(const axes_t& axes, index_t plane, index_t slab, int lead, long long& start) {
    start = 0;
    for (int a = lead - 1; a >= 0; --a) {
        const axis_t& axis = axes.axis[a];
        const index_t index = xo_source(plane % axis.result + slab % axis.kernel - axis.before, axis.source);
        if (index < 0) return false;
        start += (long long)index * axis.stride;
        plane /= axis.result;
        slab /= axis.kernel;
    }
    return true;
}

#ifdef TILED
// Neighbours that a thread reads at once: 16 bytes, and no more than it has columns, so that all its addresses are aligned.
constexpr int SIXTEEN = 16 / (int)sizeof(held_t);
constexpr int VECTOR = SIXTEEN < ACROSS ? SIXTEEN : ACROSS;
constexpr int PADDED = (COLUMNS + VECTOR - 1) / VECTOR * VECTOR;
constexpr int REACH = (ACROSS + COLUMNS - 1 + VECTOR - 1) / VECTOR * VECTOR;
constexpr int PITCH = 32 * ACROSS + PADDED;

struct alignas(VECTOR * sizeof(held_t)) vector_t {
    held_t v[VECTOR];
};

template <int N>
__device__ __forceinline__ void xo_read(const held_t* from, held_t (&to)[N]) {
    #pragma unroll
    for (int i = 0; i < N; i += VECTOR) {
        const vector_t part = *reinterpret_cast<const vector_t*>(from + i);
        #pragma unroll
        for (int k = 0; k < VECTOR; ++k) to[i + k] = part.v[k];
    }
}

extern "C" __global__ void __launch_bounds__(32 * DOWN) convolve_tile(
    const held_t* __restrict__ from, const held_t* __restrict__ weights, const held_t* __restrict__ fill, held_t* to,
    const axes_t axes, index_t slabs, index_t across, index_t down)
{
    __shared__ vector_t room_parts[DEPTH * PITCH / VECTOR], tap_parts[TAPS / VECTOR];
    held_t* room = reinterpret_cast<held_t*>(room_parts);
    held_t* taps = reinterpret_cast<held_t*>(tap_parts);
    const axis_t& row_axis = axes.axis[RANK - 2];
    const axis_t& column_axis = axes.axis[RANK - 1];
    const int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
    const index_t tile = (index_t)blockIdx.x;
    const index_t column = tile % across * (32 * ACROSS), row = tile / across % down * (DOWN * ROWS);
    const index_t plane = tile / across / down;
    const int heights = (int)row_axis.kernel, needed = DOWN * ROWS + heights - 1;
    const held_t outside = *fill;
    held_t sums[ROWS][ACROSS] = {};
    for (index_t slab = 0; slab < slabs; ++slab) {
        long long start;
        const bool inside = xo_slab(axes, plane, slab, RANK - 2, start);
        __syncthreads();
        for (int i = threadIdx.x; i < heights * PADDED; i += 32 * DOWN) {
            const int x = i % PADDED;
            if (x < COLUMNS) taps[i] = weights[(slab * heights + i / PADDED) * COLUMNS + x];
        }
        for (int top = 0; top < needed; top += DEPTH) {
            if (top > 0) __syncthreads();
            const int deep = needed - top < DEPTH ? needed - top : DEPTH;
            for (int line = ty; line < deep; line += DOWN) {
                const index_t r = xo_source(row + top + line - row_axis.before, row_axis.source);
                for (int x = tx; x < PITCH; x += 32) {
                    const index_t at = column + x - column_axis.before;
                    const index_t c = xo_source(at, column_axis.source);
                    room[line * PITCH + x] = inside && r >= 0 && c >= 0
                        ? from[start + (long long)r * row_axis.stride + (long long)c * column_axis.stride]
                        : outside;
                }
            }
            __syncthreads();
            const int first = ty * ROWS, last = first + ROWS + heights - 1;
            for (int line = first > top ? first : top; line < last && line < top + deep; ++line) {
                held_t values[REACH];
                xo_read(room + (line - top) * PITCH + tx * ACROSS, values);
                #pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    const int tap = line - first - r;
                    if (tap < 0 || tap >= heights) continue;
                    held_t weight[PADDED];
                    xo_read(taps + tap * PADDED, weight);
                    #pragma unroll
                    for (int x = 0; x < COLUMNS; ++x) {
                        #pragma unroll
                        for (int c = 0; c < ACROSS; ++c) sums[r][c] = xo_term(sums[r][c], values[c + x], weight[x]);
                    }
                }
            }
        }
    }
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const index_t y = row + ty * ROWS + r;
        if (y >= row_axis.result) continue;
        held_t* line = to + (plane * row_axis.result + y) * column_axis.result;
        #pragma unroll
        for (int c = 0; c < ACROSS; ++c) {
            const index_t x = column + tx * ACROSS + c;
            if (x < column_axis.result) line[x] = xo_release(sums[r][c]);
        }
    }
}
#else
extern "C" __global__ void __launch_bounds__(256) convolve_plain(
    const held_t* __restrict__ from, const held_t* __restrict__ weights, const held_t* __restrict__ fill, held_t* to,
    const axes_t axes, index_t slabs, index_t count)
{
    const axis_t& last = axes.axis[RANK - 1];
    const held_t outside = *fill;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (index_t)gridDim.x * blockDim.x) {
        const index_t plane = i / last.result, column = i - plane * last.result;
        held_t sum = {};
        for (index_t slab = 0; slab < slabs; ++slab) {
            long long start;
            const bool inside = xo_slab(axes, plane, slab, RANK - 1, start);
            for (index_t x = 0; x < last.kernel; ++x) {
                const index_t c = xo_source(column + x - last.before, last.source);
                const held_t value = inside && c >= 0 ? from[start + (long long)c * last.stride] : outside;
                sum = xo_term(sum, value, weights[slab * last.kernel + x]);
            }
        }
        to[i] = xo_release(sum);
    }
}
#endif
