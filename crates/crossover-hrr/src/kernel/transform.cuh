// Transforms of M complex numbers by a group of T threads, several at once: butterflies in registers, exchanges in shared memory.
//
// Contract: defined before this text: real, M, T, RADIX0..RADIX3 (1 where there is none; their product is M). A thread holds the elements
// b + r·M/R of its butterflies b = t, t + T, ..., as `held[j·R + r]`. The way back does the stages from the last to the first, so that it takes a
// spectrum where the way there left it; it is a forward transform with real and imaginary parts exchanged before and after.

constexpr int RADICES[4] = {RADIX0, RADIX1, RADIX2, RADIX3};
constexpr int STAGES = RADIX3 > 1 ? 4 : RADIX2 > 1 ? 3 : RADIX1 > 1 ? 2 : 1;
constexpr int LAST = RADICES[STAGES - 1];
constexpr bool POWER = (M & (M - 1)) == 0;

__device__ constexpr int radix(const int stage, const bool back) { return RADICES[back ? STAGES - 1 - stage : stage]; }
__device__ constexpr int before(const int stage, const bool back)
{
    return stage == 0 ? 1 : before(stage - 1, back) * radix(stage - 1, back);
}
__device__ constexpr bool mirrored() { return RADIX0 == LAST && (STAGES < 4 || RADIX1 == RADIX2); }

// Butterflies of a radix that a thread does at most, and the most elements that it holds.
__device__ constexpr int rounds(const int r) { return (M / r + T - 1) / T; }
__device__ constexpr int larger(const int a, const int b) { return a > b ? a : b; }
__device__ constexpr int held_of(const int r) { return r > 1 ? rounds(r) * r : 1; }
constexpr int HELD = larger(larger(held_of(RADIX0), held_of(RADIX1)), larger(held_of(RADIX2), held_of(RADIX3)));

// Neighbours in different banks, for strides of 1, 4, 8 and 16 complex numbers alike.
__device__ __forceinline__ int place(const int i)
{
    if constexpr (POWER && M >= 128) return i ^ ((i >> 4) & 7) ^ (((i >> 6) & 1) << 3);
    else return i;
}

__device__ __forceinline__ void meet()
{
    if constexpr (T <= 32) __syncwarp();
    else __syncthreads();
}

// exp(-2πi·part/whole)
__device__ __forceinline__ cx root(const int part, const int whole)
{
    if constexpr (sizeof(real) == 8) {
        double s, c;
        sincospi(-2.0 * part / whole, &s, &c);
        return {(real)c, (real)s};
    } else {
        float s, c;
        sincospif(-2.0f * part / whole, &s, &c);
        return {(real)c, (real)s};
    }
}

// First roots of a thread's butterflies.
struct Roots {
    cx of[4][HELD];
};

template <int S, bool BACK>
__device__ __forceinline__ void find_roots(Roots& roots, const int t)
{
    constexpr int R = radix(S, BACK), BEFORE = before(S, BACK);
    #pragma unroll
    for (int j = 0; j < rounds(R); ++j) roots.of[S][j] = root((t + j * T) % BEFORE, BEFORE * R);
    if constexpr (S + 1 < STAGES) find_roots<S + 1, BACK>(roots, t);
}

// One stage on elements in registers: rotate by powers of the root, transform.
template <int S, bool BACK, int COUNT>
__device__ __forceinline__ void butterflies(cx (&held)[COUNT][HELD], const Roots& roots)
{
    constexpr int R = radix(S, BACK);
    #pragma unroll
    for (int j = 0; j < rounds(R); ++j) {
        cx power[R];
        if constexpr (S > 0) {
            power[1] = roots.of[S][j];
            #pragma unroll
            for (int r = 2; r < R; ++r) power[r] = r % 2 == 0 ? power[r / 2] * power[r / 2] : power[r - 1] * power[1];
        }
        #pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            cx v[R];
            #pragma unroll
            for (int r = 0; r < R; ++r) v[r] = S > 0 && r > 0 ? held[i][j * R + r] * power[r] : held[i][j * R + r];
            Small<R>::run(v);
            #pragma unroll
            for (int r = 0; r < R; ++r) held[i][j * R + r] = v[r];
        }
    }
}

// Results of a stage to where they belong.
template <int R, int BEFORE, int COUNT>
__device__ __forceinline__ void put(const cx (&held)[COUNT][HELD], cx* __restrict__ room, const int t)
{
    meet();
    #pragma unroll
    for (int j = 0; j < rounds(R); ++j) {
        const int b = t + j * T;
        if (M / R % T == 0 || b < M / R) {
            const int to = b / BEFORE * (BEFORE * R) + b % BEFORE;
            #pragma unroll
            for (int r = 0; r < R; ++r) {
                const int at = place(to + r * BEFORE);
                #pragma unroll
                for (int i = 0; i < COUNT; ++i) room[i * M + at] = held[i][j * R + r];
            }
        }
    }
    meet();
}

// All stages from S on.
template <int S, bool BACK, int COUNT>
__device__ __forceinline__ void stages(cx (&held)[COUNT][HELD], const Roots& roots, cx* __restrict__ room, const int t)
{
    butterflies<S, BACK, COUNT>(held, roots);
    if constexpr (S + 1 < STAGES) {
        constexpr int N = radix(S + 1, BACK);
        put<radix(S, BACK), before(S, BACK), COUNT>(held, room, t);
        #pragma unroll
        for (int j = 0; j < rounds(N); ++j) {
            const int b = t + j * T;
            if (M / N % T == 0 || b < M / N) {
                #pragma unroll
                for (int r = 0; r < N; ++r) {
                    const int at = place(b + r * (M / N));
                    #pragma unroll
                    for (int i = 0; i < COUNT; ++i) held[i][j * N + r] = room[i * M + at];
                }
            }
        }
        stages<S + 1, BACK, COUNT>(held, roots, room, t);
    }
}

// Sums over the threads of a group, the same in all. Between two calls the threads meet elsewhere, so that nobody still reads `sums`.
__device__ __forceinline__ real total(real x, real* __restrict__ sums, const int t)
{
    constexpr int WIDTH = T < 32 ? T : 32;
    #pragma unroll
    for (int step = WIDTH / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
    if constexpr (T > 32) {
        if (t % 32 == 0) sums[t / 32] = x;
        __syncthreads();
        x = 0;
        #pragma unroll
        for (int i = 0; i < (T + 31) / 32; ++i) x += sums[i];
    }
    return x;
}
