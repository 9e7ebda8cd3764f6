// What all attention kernels share: the problem, which keys a query sees, softmax in base 2, and how results are written.
//
// Operands and result are rows of HEAD_SIZE elements, a multiple of 8; where the row of a batch, head and place lies, `Lines` says. Before
// this file stand constants that the launch rule decides:
//   HEAD     columns of tiles, at least the problem's; columns beyond it are zeros
//   PACKED   whether results are float, each row followed by its log-sum-exp
//   BIAS     0: none; 1: float added to scaled scores; 2: bytes, zero where a query does not see a key

// Rows from one batch, head and place to the next.
struct Lines {
    long long batch, head, step;
};

struct Problem {
    const void* q;
    const void* k;
    const void* v;
    const void* bias;
    // Keys of each batch; null where all have `keys`.
    const int* lengths;
    void* out;
    // Parts of results: rows of floats by split, then a log-sum-exp (base 2) for each.
    float* parts;
    // Rows of q and of results in all.
    long long rows;
    int heads, group, queries, keys, head_size;
    // How many keys before and behind its own place a query sees; negative: all. The last query's place is the last key's.
    int left, right;
    // Elements between neighbours of the bias; 0 along axes that it repeats.
    long long bias_batch, bias_head, bias_query, bias_key;
    // Where rows lie, and the first ones of k and v.
    Lines q_lines, k_lines, out_lines;
    long long k_first, v_first;
    // Parts that the keys of a query are cut into.
    int splits;
    // Times log2(e).
    float scale;
};

// Keys low..high.
struct Band {
    int low, high;
};

__device__ __forceinline__ int least(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ int most(int a, int b) { return a > b ? a : b; }
__device__ __forceinline__ float most(float a, float b) { return fmaxf(a, b); }

__device__ __forceinline__ Band band(const Problem& p, const int query, const int length) {
    const int place = query + p.keys - p.queries;
    Band out;
    out.low = p.left < 0 ? 0 : most(0, place - p.left);
    out.high = p.right < 0 ? length : most(0, least(length, place + p.right + 1));
    return out;
}

__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xff800000); }

__device__ __forceinline__ float exp2_fast(const float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float log2_fast(const float x) {
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// What scores are compared with: a row that has seen no key yet has no largest score, and must not make a NaN of it.
__device__ __forceinline__ float reference(const float largest) {
    return largest == minus_infinity() ? 0.0f : largest;
}

// The problem's score of a pair that a query sees: scaled by log2(e), biased; `minus_infinity` where a mask hides the key.
__device__ __forceinline__ float biased(
    const Problem& p, const int batch, const int head, const int query, const int key, const float score)
{
    const long long at =
        batch * p.bias_batch + head * p.bias_head + query * p.bias_query + key * p.bias_key;
    if (BIAS == 2) return ((const unsigned char*)p.bias)[at] ? score * p.scale : minus_infinity();
    return fmaf(score, p.scale, ((const float*)p.bias)[at] * 1.4426950408889634f);
}

// Where a block works.
struct Place {
    int split, batch, head, first, length;
    // The rows where the head starts: of q, of k, of v, and of results.
    long long q_row, k_row, v_row, row;
};

// Finds the rows of the head.
__device__ __forceinline__ void find_rows(const Problem& p, Place& at) {
    at.q_row = at.batch * p.q_lines.batch + at.head * p.q_lines.head;
    const long long key = at.batch * p.k_lines.batch + at.head / p.group * p.k_lines.head;
    at.k_row = p.k_first + key;
    at.v_row = p.v_first + key;
    at.row = at.batch * p.out_lines.batch + at.head * p.out_lines.head;
}

// Blocks count splits first, then tiles of `rows` queries, the longest first, then heads.
__device__ __forceinline__ Place place(const Problem& p, const int rows) {
    const int tiles = (p.queries + rows - 1) / rows;
    Place out;
    out.split = blockIdx.x % p.splits;
    const int rest = blockIdx.x / p.splits;
    out.first = (tiles - 1 - rest % tiles) * rows;
    const int both = rest / tiles;
    out.batch = both / p.heads;
    out.head = both % p.heads;
    out.length = p.lengths ? least(p.keys, most(0, p.lengths[out.batch])) : p.keys;
    find_rows(p, out);
    return out;
}

// The blocks of `count` keys that some query of a tile sees, and that belong to a split.
__device__ __forceinline__ Band blocks(const Problem& p, const Place& at, const int rows, const int count) {
    const int last = least(p.queries, at.first + rows) - 1;
    const int low = band(p, at.first, at.length).low, high = band(p, last, at.length).high;
    Band out = {0, 0};
    if (high > low) {
        const int begin = low / count, end = (high + count - 1) / count;
        const int each = (end - begin + p.splits - 1) / p.splits;
        out.low = begin + at.split * each;
        out.high = least(end, out.low + each);
    }
    return out;
}

// Log-sum-exp of a row in base 2, from the sum of exponentials relative to a reference in that base.
__device__ __forceinline__ float log_sum(const float sum, const float reference) {
    return sum > 0.0f ? reference + log2_fast(sum) : minus_infinity();
}

// The row of results of a query.
__device__ __forceinline__ long long result_row(const Problem& p, const Place& at, const int query) {
    return at.row + query * p.out_lines.step;
}

// Where the log-sum-exp of a row goes.
__device__ __forceinline__ void write_log_sum(
    const Problem& p, const Place& at, const int query, const float value)
{
    const long long row = result_row(p, at, query);
    if (p.splits > 1) {
        p.parts[(p.splits * p.head_size + at.split) * p.rows + row] = value;
    } else if (PACKED) {
        ((float*)p.out)[(row + 1) * (p.head_size + 1) - 1] = value * 0.6931471805599453f;
    }
}

// Where the elements of a row go if they go out as floats.
__device__ __forceinline__ float* float_row(const Problem& p, const Place& at, const int query) {
    const long long row = result_row(p, at, query);
    if (p.splits > 1) return p.parts + (at.split * p.rows + row) * p.head_size;
    return (float*)p.out + row * (p.head_size + PACKED);
}
