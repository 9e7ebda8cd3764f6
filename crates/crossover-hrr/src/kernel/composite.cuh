// Small transforms of lengths that are products of two odd primes, or of two and one: butterflies for lengths that need few stages.
//
// Contract: as in butterfly.cuh, after which this text comes.

// Columns of A, a rotation by exp(-2πi·n·k/(A·B)), of which `c` and `s` are cosines and sines, rows of B.
template <int A, int B>
struct Composite {
    static constexpr int TURNS = (A - 1) * (B - 1) + 1;
    static __device__ __forceinline__ void run(cx (&v)[A * B], const real (&c)[TURNS], const real (&s)[TURNS])
    {
        #pragma unroll
        for (int n = 0; n < B; ++n) {
            cx w[A];
            #pragma unroll
            for (int k = 0; k < A; ++k) w[k] = v[n + k * B];
            Small<A>::run(w);
            #pragma unroll
            for (int k = 0; k < A; ++k) v[n + k * B] = n * k > 0 ? w[k] * cx{c[n * k], -s[n * k]} : w[k];
        }
        cx out[A * B];
        #pragma unroll
        for (int k = 0; k < A; ++k) {
            cx w[B];
            #pragma unroll
            for (int n = 0; n < B; ++n) w[n] = v[n + k * B];
            Small<B>::run(w);
            #pragma unroll
            for (int n = 0; n < B; ++n) out[k + n * A] = w[n];
        }
        #pragma unroll
        for (int k = 0; k < A * B; ++k) v[k] = out[k];
    }
};

template <>
struct Small<6> {
    static __device__ __forceinline__ void run(cx (&v)[6])
    {
        const real c[3] = {
            (real)1.00000000000000000000, (real)0.50000000000000000000, (real)-0.50000000000000000000
        };
        const real s[3] = {
            (real)0.00000000000000000000, (real)0.86602540378443864676, (real)0.86602540378443864676
        };
        Composite<2, 3>::run(v, c, s);
    }
};

template <>
struct Small<9> {
    static __device__ __forceinline__ void run(cx (&v)[9])
    {
        const real c[5] = {
            (real)1.00000000000000000000, (real)0.76604444311897803520, (real)0.17364817766693034885, (real)-0.50000000000000000000,
            (real)-0.93969262078590838405
        };
        const real s[5] = {
            (real)0.00000000000000000000, (real)0.64278760968653932632, (real)0.98480775301220805937, (real)0.86602540378443864676,
            (real)0.34202014332566873304
        };
        Composite<3, 3>::run(v, c, s);
    }
};

template <>
struct Small<10> {
    static __device__ __forceinline__ void run(cx (&v)[10])
    {
        const real c[5] = {
            (real)1.00000000000000000000, (real)0.80901699437494742410, (real)0.30901699437494742410, (real)-0.30901699437494742410,
            (real)-0.80901699437494742410
        };
        const real s[5] = {
            (real)0.00000000000000000000, (real)0.58778525229247312917, (real)0.95105651629515357212, (real)0.95105651629515357212,
            (real)0.58778525229247312917
        };
        Composite<2, 5>::run(v, c, s);
    }
};

template <>
struct Small<15> {
    static __device__ __forceinline__ void run(cx (&v)[15])
    {
        const real c[9] = {
            (real)1.00000000000000000000, (real)0.91354545764260089550, (real)0.66913060635885821383, (real)0.30901699437494742410,
            (real)-0.10452846326765347140, (real)-0.50000000000000000000, (real)-0.80901699437494742410, (real)-0.97814760073380563793,
            (real)-0.97814760073380563793
        };
        const real s[9] = {
            (real)0.00000000000000000000, (real)0.40673664307580020775, (real)0.74314482547739423501, (real)0.95105651629515357212,
            (real)0.99452189536827333692, (real)0.86602540378443864676, (real)0.58778525229247312917, (real)0.20791169081775933710,
            (real)-0.20791169081775933710
        };
        Composite<3, 5>::run(v, c, s);
    }
};

template <>
struct Small<25> {
    static __device__ __forceinline__ void run(cx (&v)[25])
    {
        const real c[17] = {
            (real)1.00000000000000000000, (real)0.96858316112863111949, (real)0.87630668004386358731, (real)0.72896862742141152315,
            (real)0.53582679497899661827, (real)0.30901699437494742410, (real)0.06279051952931337608, (real)-0.18738131458572463054,
            (real)-0.42577929156507264886, (real)-0.63742398974868971018, (real)-0.80901699437494742410, (real)-0.92977648588825140366,
            (real)-0.99211470131447783105, (real)-0.99211470131447783105, (real)-0.92977648588825140366, (real)-0.80901699437494742410,
            (real)-0.63742398974868971018
        };
        const real s[17] = {
            (real)0.00000000000000000000, (real)0.24868988716485478824, (real)0.48175367410171527499, (real)0.68454710592868867373,
            (real)0.84432792550201507855, (real)0.95105651629515357212, (real)0.99802672842827156195, (real)0.98228725072868868109,
            (real)0.90482705246601952771, (real)0.77051324277578923080, (real)0.58778525229247312917, (real)0.36812455268467795916,
            (real)0.12533323356430424537, (real)-0.12533323356430424537, (real)-0.36812455268467795916, (real)-0.58778525229247312917,
            (real)-0.77051324277578923080
        };
        Composite<5, 5>::run(v, c, s);
    }
};
