// Running sums and products in the canonical order: runs of 32 in order, run totals scanned by the same rule,
// y = carry joined with prefix.
//
// Contract: `*_totals` joins the elements of every run; `*_finish` writes every element, joined with the scanned total
// of the run before, which `carries` holds (nothing for the first run). Lines are the positions of all other axes.
// `scan_*` read and write memory, `carry_*` totals in scratch. With ROWS, `scan_*` stage whole runs in shared memory, for
// elements that lie side by side; else neighbouring threads have neighbouring lines. Totals of a line are
// `line_step` after those of the line before, those of a run `run_step` after the run before. Any grid.
// Bytes: the operand twice in, the result once out, and a sixteenth of it for totals.
constexpr int RUN = 32;

// Elements as memory has them.
struct xo_memory {
    typedef memory_t type;
    static __device__ __forceinline__ held_t open(type x) { return xo_hold(x); }
    static __device__ __forceinline__ type close(held_t x) { return xo_release(x); }
};

// Elements as arithmetic has them.
struct xo_scratch {
    typedef held_t type;
    static __device__ __forceinline__ held_t open(type x) { return x; }
    static __device__ __forceinline__ type close(held_t x) { return x; }
};

__device__ __forceinline__ int xo_present(index_t length, index_t run) {
    return (int)(length - run * RUN < RUN ? length - run * RUN : RUN);
}

template <typename Side, int Rank>
__device__ __forceinline__ void xo_totals(
    const typename Side::type* from, held_t* to, const xo_views<Rank, 2>& views, index_t lines, index_t length,
    index_t runs, index_t stride, index_t line_step, index_t run_step)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < lines * runs;
         i += (index_t)gridDim.x * blockDim.x) {
        const index_t run = i / lines, line = i - run * lines;
        const typename Side::type* start = from + xo_find(views, line).at[0] + run * RUN * stride;
        const int count = xo_present(length, run);
        held_t sum = Side::open(start[0]);
        for (int k = 1; k < count; ++k) sum = xo_join(sum, Side::open(start[k * stride]));
        to[line * line_step + run * run_step] = sum;
    }
}

// `from` may be `to`.
template <typename Side, int Rank>
__device__ __forceinline__ void xo_finish(
    const typename Side::type* from, const held_t* carries, typename Side::type* to, const xo_views<Rank, 2>& views,
    index_t lines, index_t length, index_t runs, index_t stride, index_t result_stride, index_t line_step,
    index_t run_step)
{
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < lines * runs;
         i += (index_t)gridDim.x * blockDim.x) {
        const index_t run = i / lines, line = i - run * lines;
        const xo_places<2> at = xo_find(views, line);
        const typename Side::type* start = from + at.at[0] + run * RUN * stride;
        typename Side::type* result = to + at.at[1] + run * RUN * result_stride;
        const int count = xo_present(length, run);
        held_t sum = Side::open(start[0]);
        const held_t carry = run > 0 ? carries[line * line_step + (run - 1) * run_step] : sum;
        result[0] = Side::close(run > 0 ? xo_join(carry, sum) : sum);
        for (int k = 1; k < count; ++k) {
            sum = xo_join(sum, Side::open(start[k * stride]));
            result[k * result_stride] = Side::close(run > 0 ? xo_join(carry, sum) : sum);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256) carry_totals(
    const held_t* from, held_t* to, const xo_views<1, 2> views, index_t lines, index_t length, index_t runs,
    index_t stride, index_t line_step, index_t run_step)
{
    xo_totals<xo_scratch>(from, to, views, lines, length, runs, stride, line_step, run_step);
}

extern "C" __global__ void __launch_bounds__(256) carry_finish(
    const held_t* from, const held_t* carries, held_t* to, const xo_views<1, 2> views, index_t lines, index_t length,
    index_t runs, index_t stride, index_t result_stride, index_t line_step, index_t run_step)
{
    xo_finish<xo_scratch>(from, carries, to, views, lines, length, runs, stride, result_stride, line_step, run_step);
}

#ifdef ROWS
// THREADS runs per block and turn; one column more than a run keeps threads on different banks.
template <bool Finish>
__device__ __forceinline__ void xo_rows(
    const memory_t* __restrict__ from, const held_t* __restrict__ carries, held_t* totals, memory_t* to,
    const xo_views<RANK, 2>& views, index_t lines, index_t length, index_t runs, index_t line_step, index_t run_step)
{
    __shared__ held_t room[THREADS][RUN + 1];
    const index_t groups = (runs + THREADS - 1) / THREADS;
    const int t = threadIdx.x;
    for (index_t group = blockIdx.x; group < lines * groups; group += gridDim.x) {
        const index_t line = group / groups, first = (group - line * groups) * THREADS;
        const xo_places<2> at = xo_find(views, line);
        const index_t left = length - first * RUN;
        #pragma unroll 8
        for (int i = t; i < THREADS * RUN; i += THREADS) {
            if (i < left) room[i / RUN][i % RUN] = xo_hold(from[at.at[0] + first * RUN + i]);
        }
        __syncthreads();
        const index_t run = first + t;
        if (run < runs) {
            const int count = xo_present(length, run);
            held_t sum = room[t][0];
            if (Finish) {
                const held_t carry = run > 0 ? carries[line * line_step + (run - 1) * run_step] : sum;
                if (run > 0) room[t][0] = xo_join(carry, sum);
                for (int i = 1; i < count; ++i) {
                    sum = xo_join(sum, room[t][i]);
                    room[t][i] = run > 0 ? xo_join(carry, sum) : sum;
                }
            } else {
                for (int i = 1; i < count; ++i) sum = xo_join(sum, room[t][i]);
                totals[line * line_step + run * run_step] = sum;
            }
        }
        __syncthreads();
        if (Finish) {
            for (int i = t; i < THREADS * RUN; i += THREADS) {
                if (i < left) to[at.at[1] + first * RUN + i] = xo_release(room[i / RUN][i % RUN]);
            }
            __syncthreads();
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) scan_totals(
    const memory_t* from, held_t* to, const xo_views<RANK, 2> views, index_t lines, index_t length, index_t runs,
    index_t, index_t line_step, index_t run_step)
{
    xo_rows<false>(from, nullptr, to, nullptr, views, lines, length, runs, line_step, run_step);
}

extern "C" __global__ void __launch_bounds__(THREADS) scan_finish(
    const memory_t* from, const held_t* carries, memory_t* to, const xo_views<RANK, 2> views, index_t lines,
    index_t length, index_t runs, index_t, index_t, index_t line_step, index_t run_step)
{
    xo_rows<true>(from, carries, nullptr, to, views, lines, length, runs, line_step, run_step);
}
#else
extern "C" __global__ void __launch_bounds__(256) scan_totals(
    const memory_t* from, held_t* to, const xo_views<RANK, 2> views, index_t lines, index_t length, index_t runs,
    index_t stride, index_t line_step, index_t run_step)
{
    xo_totals<xo_memory>(from, to, views, lines, length, runs, stride, line_step, run_step);
}

extern "C" __global__ void __launch_bounds__(256) scan_finish(
    const memory_t* from, const held_t* carries, memory_t* to, const xo_views<RANK, 2> views, index_t lines,
    index_t length, index_t runs, index_t stride, index_t result_stride, index_t line_step, index_t run_step)
{
    xo_finish<xo_memory>(from, carries, to, views, lines, length, runs, stride, result_stride, line_step, run_step);
}
#endif
