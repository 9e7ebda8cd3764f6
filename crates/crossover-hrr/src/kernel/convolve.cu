// Circular convolution or correlation of rows, in one pass: transforms in shared memory, one read of each operand, one write.
//
// Contract: rows of D = 2M elements without gaps; `once` says that the second operand is one row for all. A row is M complex numbers,
// z[n] = x[2n] + i·x[2n+1]. With S = Z(k) + conj(Z(-k)), E = Z(k) - conj(Z(-k)) and w = exp(-2πik/M) the packed spectrum of the convolution is
// ½ S_a Z_b + ¼ E_a (S_b - w E_b), that of the correlation ¼ S_a conj(S_b - w E_b) + ½ E_a conj(Z_b). Rows of very different size never
// meet in one transform, so small ones keep their precision.
//
// Launch: blocks of GROUPS·T threads, any number of blocks; a group of T threads takes one row pair after the other (SUM: adds up their
// spectra and writes the sum to its own row). Shared memory: GROUPS·D complex numbers.
// Bytes at the floor: 3·D elements per row pair (2·D for one fixed operand); arithmetic: 3 complex transforms of M.
// On an H200, f32, 100,000 rows: see docs/hrr.md for the fraction of the floor and the command.
//
// Defined before this text, beside what transform.cuh wants: element, hold(element), release(real), GROUPS, CORRELATE, NORMALISE, SUM, NAME. Everything but
// the butterflies is in a namespace, so that two geometries fit one text.

struct __align__(2 * sizeof(element)) Two {
    element first, second;
};

__device__ __forceinline__ void load(cx (&held)[HELD], const element* __restrict__ row, const int t)
{
    constexpr int R = RADIX0;
    const Two* __restrict__ from = (const Two*)row;
    #pragma unroll
    for (int j = 0; j < rounds(R); ++j) {
        const int at = t + j * T;
        if (M / R % T == 0 || at < M / R) {
            #pragma unroll
            for (int r = 0; r < R; ++r) {
                const Two x = from[at + r * (M / R)];
                held[j * R + r] = {hold(x.first), hold(x.second)};
            }
        }
    }
}

// Brings the rows that come next to the second-level cache while these are transformed.
__device__ __forceinline__ void fetch_ahead(const element* a, const element* b, const long long at, const long long once, const int t)
{
    constexpr int LINE = 128 / sizeof(element);
    #pragma unroll 1
    for (int i = t * LINE; i < 2 * M; i += T * LINE) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(a + at + i));
        if (!once) asm volatile("prefetch.global.L2 [%0];" ::"l"(b + at + i));
    }
}

// exp(-2πik/M) for the frequencies that a thread holds, from that of its first.
template <int R>
__device__ __forceinline__ cx further(const cx first, const int r)
{
    if constexpr (R == 2 || R == 4 || R == 8 || R == 16) {
        constexpr int STEP = 16 / R;
        switch (r * STEP) {
        case 0: return first;
        case 1: return rotated<1>(first);
        case 2: return rotated<2>(first);
        case 3: return rotated<3>(first);
        case 4: return rotated<4>(first);
        case 5: return rotated<5>(first);
        case 6: return rotated<6>(first);
        case 7: return rotated<7>(first);
        case 8: return rotated<8>(first);
        case 9: return rotated<9>(first);
        case 10: return rotated<10>(first);
        case 11: return rotated<11>(first);
        case 12: return rotated<12>(first);
        case 13: return rotated<13>(first);
        case 14: return rotated<14>(first);
        default: return rotated<15>(first);
        }
    } else {
        return first * root(r, R);
    }
}

// From the spectra of two rows to that of the result, times 4, which the scale of the way back undoes.
__device__ __forceinline__ void multiply(cx (&held)[2][HELD], const cx (&first)[HELD], cx* __restrict__ room, const int t)
{
    constexpr int STEP = M / LAST;
    put<LAST, STEP, 2>(held, room, t);
    #pragma unroll
    for (int j = 0; j < rounds(LAST); ++j) {
        const int b = t + j * T;
        if (M / LAST % T == 0 || b < M / LAST) {
            #pragma unroll
            for (int r = 0; r < LAST; ++r) {
                const int k = b + r * STEP, at = place(k == 0 ? 0 : M - k);
                const cx za = held[0][j * LAST + r], zb = held[1][j * LAST + r], ya = room[at], yb = room[M + at];
                const cx sa = {za.re + ya.re, za.im - ya.im}, ea = {za.re - ya.re, za.im + ya.im};
                const cx sb = {zb.re + yb.re, zb.im - yb.im}, eb = {zb.re - yb.re, zb.im + yb.im};
                const cx turned = sb - eb * further<LAST>(first[j], r);
                if constexpr (CORRELATE) {
                    const cx y = ea * cx{zb.re, -zb.im};
                    held[0][j * LAST + r] = sa * cx{turned.re, -turned.im} + (y + y);
                } else {
                    const cx x = sa * zb;
                    held[0][j * LAST + r] = (x + x) + ea * turned;
                }
            }
        }
    }
}

// The transform back, and the row.
__device__ __forceinline__ void store(
    cx (&held)[1][HELD], const Roots& roots, cx* __restrict__ room, element* __restrict__ out, real* __restrict__ sums, const int t)
{
    constexpr int R = RADIX0, STEP = M / R;
    #pragma unroll
    for (int i = 0; i < HELD; ++i) held[0][i] = {held[0][i].im, held[0][i].re};
    stages<0, true, 1>(held, roots, room, t);
    real scale = 1 / (4 * (real)M);
    if constexpr (NORMALISE) {
        real squares = 0;
        #pragma unroll
        for (int j = 0; j < rounds(R); ++j) {
            if (M / R % T == 0 || t + j * T < M / R) {
                #pragma unroll
                for (int r = 0; r < R; ++r) {
                    const cx x = held[0][j * R + r];
                    squares = xfma(x.re, x.re, xfma(x.im, x.im, squares));
                }
            }
        }
        squares = total(squares, sums, t);
        scale = squares > 0 ? rsqrt(squares) : 0;
    }
    Two* __restrict__ to = (Two*)out;
    #pragma unroll
    for (int j = 0; j < rounds(R); ++j) {
        const int b = t + j * T;
        if (out != nullptr && (M / R % T == 0 || b < M / R)) {
            #pragma unroll
            for (int r = 0; r < R; ++r) {
                const cx x = held[0][j * R + r];
                to[b + r * STEP] = {release(x.im * scale), release(x.re * scale)};
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(T * GROUPS) NAME(
    const element* a, const element* b, element* out, long long rows, long long once)
{
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ real sums[32];
    const int t = threadIdx.x % T, group = threadIdx.x / T;
    cx* __restrict__ room = (cx*)memory + group * 2 * M;
    Roots there, again;
    find_roots<0, false>(there, t);
    if constexpr (!mirrored()) find_roots<0, true>(again, t);
    const Roots& home = mirrored() ? there : again;
    cx first[HELD];
    #pragma unroll
    for (int j = 0; j < rounds(LAST); ++j) first[j] = root(t + j * T, M);
    const long long step = (long long)gridDim.x * GROUPS, start = (long long)blockIdx.x * GROUPS + group;
    cx all[1][HELD] = {};
    // All groups of a warp go round equally often: they meet.
    for (long long row = start; row < (rows + step - 1) / step * step; row += step) {
        const bool is_row = row < rows;
        const long long at = (is_row ? row : 0) * 2 * M;
        if (row + step < rows) fetch_ahead(a, b, (row + step) * 2 * M, once, t);
        cx held[2][HELD] = {};
        load(held[0], a + at, t);
        load(held[1], b + (once ? 0 : at), t);
        stages<0, false, 2>(held, there, room, t);
        multiply(held, first, room, t);
        #pragma unroll
        for (int i = 0; i < HELD; ++i) {
            if constexpr (SUM) all[0][i] = is_row ? all[0][i] + held[0][i] : all[0][i];
            else all[0][i] = held[0][i];
        }
        if constexpr (!SUM) store(all, home, room, is_row ? out + at : nullptr, sums, t);
    }
    if constexpr (SUM) store(all, home, room, out + start * 2 * M, sums, t);
}
