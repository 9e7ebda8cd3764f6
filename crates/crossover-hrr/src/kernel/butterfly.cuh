// Small discrete Fourier transforms in registers, forward, natural order in and out.
//
// Contract: `real` is float or double. A transform back is a forward one with real and imaginary parts exchanged before and after, so
// that there is one direction only. Products use fma explicitly: the compiler is told not to contract.

struct cx {
    real re, im;
};

__device__ __forceinline__ cx operator+(const cx a, const cx b) { return {a.re + b.re, a.im + b.im}; }
__device__ __forceinline__ cx operator-(const cx a, const cx b) { return {a.re - b.re, a.im - b.im}; }
__device__ __forceinline__ float xfma(const float a, const float b, const float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double xfma(const double a, const double b, const double c) { return fma(a, b, c); }
__device__ __forceinline__ cx operator*(const cx a, const cx b)
{
    return {xfma(a.re, b.re, -(a.im * b.im)), xfma(a.re, b.im, a.im * b.re)};
}
__device__ __forceinline__ cx scaled(const real s, const cx a) { return {s * a.re, s * a.im}; }
// a + s·b
__device__ __forceinline__ cx plus(const cx a, const real s, const cx b) { return {xfma(s, b.re, a.re), xfma(s, b.im, a.im)}; }
// -i·a
__device__ __forceinline__ cx turned(const cx a) { return {a.im, -a.re}; }

// a·exp(-2πi·E/16)
template <int E>
__device__ __forceinline__ cx rotated(const cx a)
{
    constexpr int e = E & 15;
    constexpr real half = (real)0.70710678118654752440;
    constexpr real c = (real)0.92387953251128675613, s = (real)0.38268343236508977173;
    if constexpr (e == 0) return a;
    else if constexpr (e == 4) return turned(a);
    else if constexpr (e == 8) return {-a.re, -a.im};
    else if constexpr (e == 12) return {-a.im, a.re};
    else if constexpr (e == 2) return {half * (a.re + a.im), half * (a.im - a.re)};
    else if constexpr (e == 6) return {half * (a.im - a.re), -half * (a.re + a.im)};
    else if constexpr (e == 10) return {-half * (a.re + a.im), half * (a.re - a.im)};
    else if constexpr (e == 14) return {half * (a.re - a.im), half * (a.re + a.im)};
    else if constexpr (e == 1) return a * cx{c, -s};
    else if constexpr (e == 3) return a * cx{s, -c};
    else if constexpr (e == 5) return a * cx{-s, -c};
    else if constexpr (e == 7) return a * cx{-c, -s};
    else if constexpr (e == 9) return a * cx{-c, s};
    else if constexpr (e == 11) return a * cx{-s, c};
    else if constexpr (e == 13) return a * cx{s, c};
    else return a * cx{c, s};
}

template <int R>
struct Small;

template <>
struct Small<1> {
    static __device__ __forceinline__ void run(cx (&)[1]) {}
};

template <>
struct Small<2> {
    static __device__ __forceinline__ void run(cx (&v)[2])
    {
        const cx a = v[0], b = v[1];
        v[0] = a + b;
        v[1] = a - b;
    }
};

template <>
struct Small<4> {
    static __device__ __forceinline__ void run(cx (&v)[4])
    {
        const cx a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = turned(v[1] - v[3]);
        v[0] = a + c;
        v[1] = b + d;
        v[2] = a - c;
        v[3] = b - d;
    }
};

// An odd prime: sums and differences of opposite elements, then cosines of the sums and sines of the differences.
template <int R>
struct Odd {
    static __device__ __forceinline__ void run(cx (&v)[R], const real (&c)[R / 2], const real (&s)[R / 2])
    {
        cx sum[R / 2], difference[R / 2];
        const cx first = v[0];
        #pragma unroll
        for (int j = 0; j < R / 2; ++j) {
            sum[j] = v[j + 1] + v[R - 1 - j];
            difference[j] = v[j + 1] - v[R - 1 - j];
            v[0] = v[0] + sum[j];
        }
        #pragma unroll
        for (int k = 1; k <= R / 2; ++k) {
            cx even = first, odd = {0, 0};
            #pragma unroll
            for (int j = 1; j <= R / 2; ++j) {
                const int at = (j * k) % R;
                const int place = at <= R / 2 ? at - 1 : R - at - 1;
                even = plus(even, c[place], sum[j - 1]);
                odd = plus(odd, at <= R / 2 ? s[place] : -s[place], difference[j - 1]);
            }
            v[k] = even + turned(odd);
            v[R - k] = even - turned(odd);
        }
    }
};

template <>
struct Small<3> {
    static __device__ __forceinline__ void run(cx (&v)[3])
    {
        const real c[1] = {(real)-0.5}, s[1] = {(real)0.86602540378443864676};
        Odd<3>::run(v, c, s);
    }
};

template <>
struct Small<5> {
    static __device__ __forceinline__ void run(cx (&v)[5])
    {
        const real c[2] = {(real)0.30901699437494742410, (real)-0.80901699437494742410};
        const real s[2] = {(real)0.95105651629515357212, (real)0.58778525229247312917};
        Odd<5>::run(v, c, s);
    }
};

template <>
struct Small<7> {
    static __device__ __forceinline__ void run(cx (&v)[7])
    {
        const real c[3] = {(real)0.62348980185873353053, (real)-0.22252093395631440429, (real)-0.90096886790241912624};
        const real s[3] = {(real)0.78183148246802980871, (real)0.97492791218182360702, (real)0.43388373911755812048};
        Odd<7>::run(v, c, s);
    }
};

// Columns of 4, a rotation, rows of R/4.
template <int R>
struct Fours {
    static constexpr int Q = R / 4;
    template <int N>
    static __device__ __forceinline__ void column(cx (&v)[R])
    {
        cx w[4] = {v[N], v[N + Q], v[N + 2 * Q], v[N + 3 * Q]};
        Small<4>::run(w);
        v[N] = w[0];
        v[N + Q] = rotated<N * 16 / R>(w[1]);
        v[N + 2 * Q] = rotated<2 * N * 16 / R>(w[2]);
        v[N + 3 * Q] = rotated<3 * N * 16 / R>(w[3]);
        if constexpr (N + 1 < Q) column<N + 1>(v);
    }
    static __device__ __forceinline__ void run(cx (&v)[R])
    {
        column<0>(v);
        cx out[R];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            cx w[Q];
            #pragma unroll
            for (int n = 0; n < Q; ++n) w[n] = v[k * Q + n];
            Small<Q>::run(w);
            #pragma unroll
            for (int n = 0; n < Q; ++n) out[k + 4 * n] = w[n];
        }
        #pragma unroll
        for (int k = 0; k < R; ++k) v[k] = out[k];
    }
};

template <>
struct Small<8> {
    static __device__ __forceinline__ void run(cx (&v)[8]) { Fours<8>::run(v); }
};

template <>
struct Small<16> {
    static __device__ __forceinline__ void run(cx (&v)[16]) { Fours<16>::run(v); }
};
