// Numbers whose unsigned order is the order of sorting: NaN last whichever way the order goes, zeros of both signs equal.
// `bits_t` holds the bits of a number; INFINITE is a float's exponent field (0 for integers), FLIP an integer's sign bit.
__device__ __forceinline__ bits_t xo_rank(bits_t bits, bool descending) {
    const bits_t all = (bits_t)~(bits_t)0;
    if (INFINITE == 0) return (bits_t)(bits ^ FLIP ^ (descending ? all : (bits_t)0));
    const bits_t sign = (bits_t)((bits_t)1 << (8 * sizeof(bits_t) - 1));
    const bits_t nans = (bits_t)(sign - 1 - INFINITE), top = (bits_t)((sign | INFINITE) - nans);
    const bits_t size = (bits_t)(bits & (bits_t)~sign);
    if (size > INFINITE) return all;
    const bits_t plain = size == 0 ? (bits_t)0 : bits;
    const bits_t ordered = plain & sign ? (bits_t)~plain : (bits_t)(plain | sign);
    const bits_t code = (bits_t)(ordered - nans);
    return descending ? (bits_t)(top - code) : code;
}

__device__ __forceinline__ bool xo_is_nan(bits_t bits) {
    const bits_t sign = (bits_t)((bits_t)1 << (8 * sizeof(bits_t) - 1));
    return INFINITE != 0 && (bits_t)(bits & (bits_t)~sign) > INFINITE;
}

// The place of an element: which parts are NaN, then the parts.
struct xo_order {
    bits_t part[PARTS];
    unsigned nans;
};

__device__ __forceinline__ xo_order xo_order_of(const bits_t* element, bool descending) {
    xo_order order = {};
    #pragma unroll
    for (int p = 0; p < PARTS; ++p) {
        order.part[p] = xo_rank(element[p], descending);
        order.nans = PARTS > 1 ? order.nans * 2 + xo_is_nan(element[p]) : 0;
    }
    return order;
}

__device__ __forceinline__ bool xo_less(const xo_order& a, const xo_order& b) {
    if (a.nans != b.nans) return a.nans < b.nans;
    #pragma unroll
    for (int p = 0; p < PARTS - 1; ++p) {
        if (a.part[p] != b.part[p]) return a.part[p] < b.part[p];
    }
    return a.part[PARTS - 1] < b.part[PARTS - 1];
}

__device__ __forceinline__ bool xo_same(const xo_order& a, const xo_order& b) { return !xo_less(a, b) && !xo_less(b, a); }
