// Strided arrays by flattened position. N arrays are walked together; the last axis varies fastest.
template <int Rank, int N>
struct xo_views {
    index_t dims[Rank];
    index_t strides[N][Rank];
};

template <int N>
struct xo_places {
    index_t at[N];
};

template <int Rank, int N>
__device__ __forceinline__ xo_places<N> xo_find(const xo_views<Rank, N>& views, index_t position) {
    xo_places<N> places = {};
    #pragma unroll
    for (int axis = Rank - 1; axis >= 0; --axis) {
        const index_t rest = axis > 0 ? position / views.dims[axis] : 0;
        const index_t step = axis > 0 ? position - rest * views.dims[axis] : position;
        #pragma unroll
        for (int n = 0; n < N; ++n) places.at[n] += step * views.strides[n][axis];
        position = rest;
    }
    return places;
}

// An index into an axis; what lies outside counts as the nearest inside.
__device__ __forceinline__ index_t xo_clamp(long long index, index_t length) {
    return index < 0 ? 0 : index >= length ? length - 1 : (index_t)index;
}

// Sixteen bytes that are moved together.
struct alignas(16) xo_sixteen {
    unsigned long long low, high;
};
