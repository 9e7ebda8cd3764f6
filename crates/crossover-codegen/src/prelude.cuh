// What generated kernels share. A source includes only the sections it uses.
//
// Compiled by NVRTC without headers: builtin functions and types only. 16-bit floats are converted by bit
// operations that mirror `crossover_core::ops::cast`, so that both devices give the same bits for every argument.

// == start ==
// A grid may start while the one before it ends: nothing is read or written before this.
__device__ __forceinline__ void xo_wait() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// == quotient ==
// n / d for n below 2^31, from magic = floor(2^(31+s) / d) + 1 and shift = s - 1, where s = ceil(log2 d): exact.
__device__ __forceinline__ index_t xo_quotient(index_t n, index_t magic, index_t shift) {
    const unsigned high = (unsigned)(((unsigned long long)(unsigned)n * (unsigned)magic) >> 32);
    return (index_t)(high >> (unsigned)shift);
}

// == divide ==
// The quotient of numbers far from both ends of their range, rounded correctly, without a branch. Others, zeros and
// NaNs clear `fine`, and what is returned for them means nothing.
__device__ __forceinline__ float xo_quick_divide(float a, float b, bool& fine) {
    const float least = 0x1p-60f, most = 0x1p60f;
    fine = fine && fabsf(a) > least && fabsf(a) < most && fabsf(b) > least && fabsf(b) < most;
#ifdef __CUDA_ARCH__
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    // The device's own division between its checks: one step towards the inverse, and one towards the quotient.
    inverse = fmaf(inverse, fmaf(-b, inverse, 1.0f), inverse);
    const float near = a * inverse;
    return fmaf(inverse, fmaf(-b, near, a), near);
#else
    return a / b;
#endif
}

// == complex ==
template <typename T>
struct xo_complex {
    T re, im;
};

template <typename T>
__device__ __forceinline__ xo_complex<T> xo_complex_of(T re) { return xo_complex<T>{re, T(0)}; }

template <typename R, typename T>
__device__ __forceinline__ xo_complex<R> xo_complex_cast(xo_complex<T> z) { return xo_complex<R>{(R)z.re, (R)z.im}; }

// == nan ==
// Every NaN replaced by the one quiet NaN that may be seen.
__device__ __forceinline__ float xo_canonical(float x) { return x != x ? __int_as_float(0x7fc00000) : x; }

__device__ __forceinline__ double xo_canonical(double x) {
    return x != x ? __longlong_as_double(0x7ff8000000000000ll) : x;
}

template <template <typename> class Complex, typename T>
__device__ __forceinline__ Complex<T> xo_canonical(Complex<T> z) {
    return Complex<T>{xo_canonical(z.re), xo_canonical(z.im)};
}

// == f16 ==
__device__ __forceinline__ float xo_widen_f16(unsigned short bits) {
    const unsigned sign = ((unsigned)bits & 0x8000u) << 16;
    const unsigned magnitude = (unsigned)bits & 0x7fffu;
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    // The device makes one NaN of all; movement keeps what was loaded.
    return value == value ? value : __int_as_float((int)((magnitude << 13) | 0x7f800000u | sign));
#else
    // Subnormals: the significand as an integer times 2^-24, which is exact.
    const unsigned subnormal = (unsigned)__float_as_int((float)magnitude * __int_as_float(0x33800000));
    const unsigned value = magnitude >= 0x7c00u ? (magnitude << 13) | 0x7f800000u
                         : magnitude < 0x0400u ? subnormal
                                               : (magnitude << 13) + 0x38000000u;
    return __int_as_float((int)(value | sign));
#endif
}

// Rounds to nearest even. A NaN keeps its sign and the leading bits of its payload, so that movement keeps what was
// loaded; a payload that lies in the dropped bits alone would read as infinity, and becomes the quiet bit.
__device__ __forceinline__ unsigned short xo_narrow_f16(float x) {
    const unsigned bits = (unsigned)__float_as_int(x);
    const unsigned sign = (bits >> 16) & 0x8000u;
    const unsigned magnitude = bits & 0x7fffffffu;
    const unsigned normal = (magnitude + (0xc8000fffu + ((magnitude >> 13) & 1u))) >> 13;
    // Adding 0.5 aligns the last kept bit of a subnormal result with the last bit of the sum, which rounds.
    const unsigned subnormal = (unsigned)__float_as_int(__int_as_float((int)magnitude) + 0.5f) - 0x3f000000u;
    const unsigned finite = magnitude < 0x38800000u ? subnormal : normal;
    const unsigned value = magnitude >= 0x47800000u ? 0x7c00u : finite;
    const unsigned kept = 0x7c00u | ((magnitude >> 13) & 0x3ffu);
    const unsigned nan = kept == 0x7c00u ? 0x7e00u : kept;
    return (unsigned short)((magnitude > 0x7f800000u ? nan : value) | sign);
}

// The same with every NaN made canonical: what a computed value becomes in memory.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Two at once. The device's own NaN is the largest number of 16 bits, the canonical one next above infinity: the
// smaller of the two is what we want, and any other value stays.
__device__ __forceinline__ unsigned xo_settle2_f16(float low, float high) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    asm("min.s16x2 %0, %0, %1;" : "+r"(pair) : "r"(0x7e007e00u));
    return pair;
}
#endif

__device__ __forceinline__ unsigned short xo_settle_f16(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    return (unsigned short)xo_settle2_f16(x, 0.0f);
#else
    return x != x ? (unsigned short)0x7e00u : xo_narrow_f16(x);
#endif
}

// An even number of neighbours.
template <int V>
__device__ __forceinline__ void xo_settle_f16(unsigned short (&to)[V], const float (&from)[V]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    #pragma unroll
    for (int k = 0; k < V; k += 2) reinterpret_cast<unsigned*>(to)[k / 2] = xo_settle2_f16(from[k], from[k + 1]);
#else
    #pragma unroll
    for (int k = 0; k < V; ++k) to[k] = xo_settle_f16(from[k]);
#endif
}

__device__ __forceinline__ float xo_round_f16(float x) { return xo_widen_f16(xo_settle_f16(x)); }

// == bf16 ==
__device__ __forceinline__ float xo_widen_bf16(unsigned short bits) { return __int_as_float((int)((unsigned)bits << 16)); }

// Rounds to nearest even; NaNs as in xo_narrow_f16.
__device__ __forceinline__ unsigned short xo_narrow_bf16(float x) {
    const unsigned bits = (unsigned)__float_as_int(x);
    const unsigned rounded = (bits + (0x7fffu + ((bits >> 16) & 1u))) >> 16;
    const unsigned kept = bits >> 16;
    const unsigned nan = (kept & 0x7fu) == 0u ? kept | 0x40u : kept;
    return (unsigned short)(x != x ? nan : rounded);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned xo_settle2_bf16(float low, float high) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    asm("min.s16x2 %0, %0, %1;" : "+r"(pair) : "r"(0x7fc07fc0u));
    return pair;
}
#endif

__device__ __forceinline__ unsigned short xo_settle_bf16(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    return (unsigned short)xo_settle2_bf16(x, 0.0f);
#else
    return x != x ? (unsigned short)0x7fc0u : xo_narrow_bf16(x);
#endif
}

// An even number of neighbours.
template <int V>
__device__ __forceinline__ void xo_settle_bf16(unsigned short (&to)[V], const float (&from)[V]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    #pragma unroll
    for (int k = 0; k < V; k += 2) reinterpret_cast<unsigned*>(to)[k / 2] = xo_settle2_bf16(from[k], from[k + 1]);
#else
    #pragma unroll
    for (int k = 0; k < V; ++k) to[k] = xo_settle_bf16(from[k]);
#endif
}

__device__ __forceinline__ float xo_round_bf16(float x) { return xo_widen_bf16(xo_settle_bf16(x)); }

// == odd ==
// double to float, towards zero with the last bit set if anything was lost: a second rounding then decides alone.
__device__ __forceinline__ float xo_odd(double x) {
    const float near = __double2float_rn(x);
    const double back = (double)near;
    const double infinity = __longlong_as_double(0x7ff0000000000000ll);
    const bool away = fabs(back) > fabs(x) && fabs(x) < infinity;
    const unsigned truncated = (unsigned)__float_as_int(near) - (away ? 1u : 0u);
    const bool lost = back != x && x == x;
    return lost ? __int_as_float((int)(truncated | 1u)) : near;
}

// == saturate ==
// Truncates; values outside [low, top) take the nearest integer, NaN becomes 0.
template <typename I, typename F>
__device__ __forceinline__ I xo_saturate(F x, F low, F top, I least, I most) {
    return x != x ? (I)0 : x >= top ? most : x <= low ? least : (I)x;
}

// == trim ==
// The low 16 bits of a difference. ptxas 13.0 compares the negative of a short without wrapping it: -(-32768) counts as
// 32768. It does not where the difference is one of 32 bits, so the compiler must not see that 16 would do.
__device__ __forceinline__ short xo_trim_i16(unsigned x) {
#ifdef __CUDA_ARCH__
    short low;
    asm("cvt.u16.u32 %0, %1;" : "=h"(low) : "r"(x));
    return low;
#else
    return (short)x;
#endif
}

// == apart ==
// A byte that was read with its neighbours. NVRTC 13.0 takes it out of the word they were read in and, for the lowest byte
// of a word, compares a sum with it without extending the sign of the sum. So the compiler must not see where it is from.
__device__ __forceinline__ signed char xo_apart_i8(signed char x) {
    int apart = x;
#ifdef __CUDA_ARCH__
    asm("" : "+r"(apart));
#endif
    return (signed char)apart;
}

// == philox ==
struct xo_words {
    unsigned w[4];
};

// The Philox4x32-10 block with counter (block, stream).
__device__ __forceinline__ xo_words xo_philox_block(
    unsigned long long block, unsigned stream, unsigned key0, unsigned key1)
{
    unsigned c0 = (unsigned)block, c1 = (unsigned)(block >> 32), c2 = stream, c3 = 0u;
    #pragma unroll
    for (int round = 0; round < 10; ++round) {
        const unsigned long long first = 0xd2511f53ull * c0;
        const unsigned long long second = 0xcd9e8d57ull * c2;
        c0 = (unsigned)(second >> 32) ^ c1 ^ key0;
        c1 = (unsigned)second;
        c2 = (unsigned)(first >> 32) ^ c3 ^ key1;
        c3 = (unsigned)first;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return xo_words{{c0, c1, c2, c3}};
}

__device__ __forceinline__ unsigned xo_philox_word(xo_words words, unsigned place) {
    const unsigned low = place & 1u ? words.w[1] : words.w[0];
    const unsigned high = place & 1u ? words.w[3] : words.w[2];
    return place & 2u ? high : low;
}

// Element `index` of a stream: word index mod 4 of block index / 4.
__device__ __forceinline__ unsigned xo_philox(unsigned long long index, unsigned stream, unsigned key0, unsigned key1) {
    return xo_philox_word(xo_philox_block(index >> 2, stream, key0, key1), (unsigned)index);
}

// == pack ==
// V neighbours in memory, moved in accesses of up to 16 bytes.
template <typename T, int V>
struct alignas(sizeof(T) * V < 16 ? sizeof(T) * V : 16) xo_pack {
    T v[V];
};

// Neighbours at an aligned address; past `left` elements there is no memory.
template <int V, typename T>
__device__ __forceinline__ xo_pack<T, V> xo_read(const T* from, index_t left) {
    if (left >= V) return *reinterpret_cast<const xo_pack<T, V>*>(from);
    xo_pack<T, V> pack;
    #pragma unroll
    for (int k = 0; k < V; ++k) pack.v[k] = k < left ? from[k] : T();
    return pack;
}

template <int V, typename T>
__device__ __forceinline__ void xo_write(T* to, const xo_pack<T, V>& pack, index_t left) {
    if (left >= V) {
        *reinterpret_cast<xo_pack<T, V>*>(to) = pack;
        return;
    }
    #pragma unroll
    for (int k = 0; k < V; ++k) {
        if (k < left) to[k] = pack.v[k];
    }
}

// == stream ==
// As xo_write, for what nobody is about to read: it leaves the cache before anything else does.
template <int V, typename T>
__device__ __forceinline__ void xo_stream(T* to, const xo_pack<T, V>& pack, index_t left) {
#ifdef __CUDA_ARCH__
    if (left >= V && sizeof(pack) % 16 == 0) {
        #pragma unroll
        for (int k = 0; k < (int)sizeof(pack) / 16; ++k) {
            __stcs(reinterpret_cast<uint4*>(to) + k, reinterpret_cast<const uint4*>(&pack)[k]);
        }
        return;
    }
#endif
    xo_write<V>(to, pack, left);
}

// == entry ==
// The number of an entry that is looked up; what lies outside counts as the nearest inside.
__device__ __forceinline__ index_t xo_entry(long long at, index_t length) {
    return at < 0 ? 0 : at >= length ? length - 1 : (index_t)at;
}

// == table ==
// Results of 16 bits for arguments of 16 bits: `table` has all 65536 of them, and every block a copy at hand. `Whole`
// says that the number of elements is a multiple of 8.
template <bool Whole>
__device__ __forceinline__ void xo_look_up(
    const unsigned short* from, unsigned short* to, index_t count, const unsigned short* table)
{
    typedef xo_pack<unsigned short, 8> pack;
#ifdef __CUDA_ARCH__
    extern __shared__ pack xo_results[];
#else
    static pack xo_results[8192];
#endif
    // Arguments are on their way while the table is copied, and later while the ones before them are looked up.
    pack m[2], next[2];
    const index_t step = (index_t)gridDim.x * 2048;
    index_t group = (index_t)blockIdx.x * 2048 + threadIdx.x;
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        const index_t i = (group + u * 1024) * 8;
        if (i < count) m[u] = xo_read<8>(from + i, Whole ? 8 : count - i);
    }
    for (int i = threadIdx.x; i < 8192; i += 1024) xo_results[i] = reinterpret_cast<const pack*>(table)[i];
    __syncthreads();
    const unsigned short* results = reinterpret_cast<const unsigned short*>(xo_results);
    for (; group * 8 < count; group += step) {
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            const index_t i = (group + step + u * 1024) * 8;
            if (i < count) next[u] = xo_read<8>(from + i, Whole ? 8 : count - i);
        }
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            const index_t i = (group + u * 1024) * 8;
            if (i < count) {
                pack w;
                #pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const unsigned pair = reinterpret_cast<const unsigned*>(m[u].v)[k];
                    const unsigned low = results[pair & 0xffffu], high = results[pair >> 16];
                    reinterpret_cast<unsigned*>(w.v)[k] = low | high << 16;
                }
#ifdef __CUDA_ARCH__
                if (Whole) {
                    // Nobody reads it before it has left the caches.
                    const unsigned* words = reinterpret_cast<const unsigned*>(w.v);
                    __stcs(reinterpret_cast<uint4*>(to + i), make_uint4(words[0], words[1], words[2], words[3]));
                    continue;
                }
#endif
                xo_write<8>(to + i, w, Whole ? 8 : count - i);
            }
        }
        m[0] = next[0];
        m[1] = next[1];
    }
}

// == end ==
