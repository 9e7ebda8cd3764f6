// Joins the parts of results that splits of the keys have left: rows of floats weighted by their log-sum-exps.
//
// Launch: a warp for each row, blocks of 128 threads. Reads every part once.

template <class Store>
__device__ __forceinline__ void join(const Problem& p, const Store store) {
    const long long row = blockIdx.x * 4ll + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= p.rows) return;
    const float* const logs = p.parts + p.splits * p.rows * p.head_size + row;
    float largest = minus_infinity();
    for (int i = 0; i < p.splits; ++i) largest = most(largest, logs[i * p.rows]);
    const float base = reference(largest);
    float sum = 0.0f;
    for (int i = 0; i < p.splits; ++i) sum += exp2_fast(logs[i * p.rows] - base);
    const float factor = sum > 0.0f || sum != sum ? 1.0f / sum : 0.0f;
    for (int column = 2 * lane; column < p.head_size; column += 64) {
        float low = 0.0f, high = 0.0f;
        for (int i = 0; i < p.splits; ++i) {
            const float weight = exp2_fast(logs[i * p.rows] - base) * factor;
            const float* const part = p.parts + (i * p.rows + row) * p.head_size + column;
            low = fmaf(weight, part[0], low);
            high = fmaf(weight, part[1], high);
        }
        store(row * (p.head_size + PACKED) + column, low, high);
    }
    if (PACKED && lane == 0) {
        ((float*)p.out)[(row + 1) * (p.head_size + 1) - 1] = log_sum(sum, base) * 0.6931471805599453f;
    }
}
