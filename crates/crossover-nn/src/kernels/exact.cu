// Attention in float arithmetic throughout.
//
// Launch: a block of 16 * LANES threads for 16 * EACH queries of a head, one split of the keys. Shared memory: SHARED_BYTES. q, k, v start at
// multiples of 16 bytes. A thread computes EACH rows of KEYS / LANES scores and of HEAD / LANES results; scores pass through shared memory.
// Values are copied while scores are computed, and the next keys while values are weighed.

constexpr int THREADS = 16 * LANES;
constexpr int ROWS = 16 * EACH;
constexpr int STRIDE = HEAD + 4;
// Four rows of a warp's weights lie in different banks.
constexpr int SCORES = KEYS + 8;
constexpr int COLUMNS = KEYS / LANES;
constexpr int WIDTH = HEAD / LANES;
// Neighbouring columns of results that a thread has.
constexpr int SIDE = WIDTH % 4 == 0 ? 4 : 2;
// Steps of both products that are one run of instructions: measured.
constexpr int SCORE_STEPS = LANES == 8 ? 2 : 8;
constexpr int VALUE_STEPS = LANES == 8 ? 2 : 4;

// Sixteen bytes, or zeros, to shared memory; they are there after `arrived`. What lies outside is not read.
__device__ __forceinline__ void copy16(float* to, const float* from, const bool inside) {
#if __CUDA_ARCH__ >= 800
    const unsigned int address = (unsigned int)__cvta_generic_to_shared(to);
    const int bytes = inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
#else
    float4 value = {0.0f, 0.0f, 0.0f, 0.0f};
    if (inside) value = *(const float4*)from;
    *(float4*)to = value;
#endif
}

// Copies so far are one group.
__device__ __forceinline__ void leave() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until all groups but the last `LATER` have arrived, those of other threads too.
template <int LATER>
__device__ __forceinline__ void arrived() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
#endif
    __syncthreads();
}

// Starts to copy COUNT rows, `line` elements apart, from row `first` on; rows and columns beyond the end are zeros.
template <int COUNT>
__device__ __forceinline__ void fetch(
    float* to, const float* from, const int first, const int end, const int size, const long long line)
{
    constexpr int CHUNKS = HEAD / 4, APART = THREADS / CHUNKS;
    if constexpr (THREADS % CHUNKS == 0) {
        // A thread has the same columns of every row that it copies.
        const int row = threadIdx.x / CHUNKS, column = threadIdx.x % CHUNKS * 4;
        const int inside = column < size ? end - first - row : 0;
        const float* const source = from + (first + row) * line + column;
        float* const target = to + row * STRIDE + column;
#pragma unroll
        for (int i = 0; i < COUNT; i += APART) {
            if (COUNT % APART == 0 || row + i < COUNT) copy16(target + i * STRIDE, source + i * line, i < inside);
        }
    } else {
        for (int i = threadIdx.x; i < COUNT * CHUNKS; i += THREADS) {
            const int row = i / CHUNKS, column = i % CHUNKS * 4;
            const bool inside = first + row < end && column < size;
            copy16(to + row * STRIDE + column, from + (inside ? (first + row) * line + column : 0), inside);
        }
    }
}

// Which lanes of a warp compute a row: all whose bits outside ROW_BITS are equal. Neighbouring lanes read from few rows of either operand then, and
// reads of 16 bytes are served in fewer steps than with eight neighbours along a row.
constexpr int ROW_BITS = LANES == 8 ? 0b01101 : 0b11110;

// The place of a lane along its row, and the row.
__device__ __forceinline__ int lane_of_row(const int lane) {
    return LANES == 8 ? (lane & 1) | (lane >> 1 & 6) : lane >> 1;
}
__device__ __forceinline__ int row_of_lane(const int lane) {
    return LANES == 8 ? (lane >> 1 & 1) | (lane >> 3 & 2) : lane & 1;
}

// A number of each lane of a row, joined.
template <typename Join>
__device__ __forceinline__ float over_row(float value, const Join join) {
#pragma unroll
    for (int bit = 1; bit < 32; bit *= 2) {
        if (ROW_BITS & bit) value = join(value, __shfl_xor_sync(0xffffffff, value, bit));
    }
    return value;
}

__device__ __forceinline__ float dot(const float4 a, const float4 b, const float c) {
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, c))));
}

__device__ __forceinline__ void attend(const Problem& p, unsigned char* shared) {
    float* const q = (float*)shared;
    float* const k = q + ROWS * STRIDE;
    float* const v = k + KEYS * STRIDE;
    float* const weights = v + KEYS * STRIDE;
    const Place at = place(p, ROWS);
    const Band range = blocks(p, at, ROWS, KEYS);
    const float* const keys = (const float*)p.k + at.k_row * p.head_size;
    const float* const values = (const float*)p.v + at.v_row * p.head_size;
    const long long q_line = p.q_lines.step * p.head_size, k_line = p.k_lines.step * p.head_size;
    const int x = lane_of_row(threadIdx.x % 32), y = row_of_lane(threadIdx.x % 32) + threadIdx.x / 32 * (32 / LANES);
    const int certain_low = band(p, at.first + ROWS - 1, at.length).low, certain_high = band(p, at.first, at.length).high;
    const float scale = BIAS == 0 ? p.scale : 1.0f;

    // Columns of results are SIDE neighbours of every SIDE * LANES.
    float o[EACH][WIDTH] = {};
    float largest[EACH], sum[EACH] = {};
#pragma unroll
    for (int r = 0; r < EACH; ++r) largest[r] = minus_infinity();
    fetch<ROWS>(q, (const float*)p.q + at.q_row * p.head_size, at.first, p.queries, p.head_size, q_line);
    // Two groups at a time are on their way: keys, then values, of one block and then of the next.
    fetch<KEYS>(k, keys, range.low * KEYS, at.length, p.head_size, k_line);
    leave();
    fetch<KEYS>(v, values, range.low * KEYS, at.length, p.head_size, k_line);
    leave();
    for (int n = range.low; n < range.high; ++n) {
        const int key = n * KEYS;
        const bool more = n + 1 < range.high;
        arrived<1>();
        float s[EACH][COLUMNS] = {};
#pragma unroll SCORE_STEPS
        for (int d = 0; d < HEAD; d += 4) {
            float4 b[COLUMNS];
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c) b[c] = *(const float4*)(k + (x + LANES * c) * STRIDE + d);
#pragma unroll
            for (int r = 0; r < EACH; ++r) {
                const float4 a = *(const float4*)(q + (y + 16 * r) * STRIDE + d);
#pragma unroll
                for (int c = 0; c < COLUMNS; ++c) s[r][c] = dot(a, b[c], s[r][c]);
            }
        }
        __syncthreads();
        if (more) fetch<KEYS>(k, keys, key + KEYS, at.length, p.head_size, k_line);
        leave();
        float old[EACH];
        const bool looks = BIAS != 0 || key < certain_low || key + KEYS > certain_high;
#pragma unroll
        for (int r = 0; r < EACH; ++r) {
            const int query = at.first + y + 16 * r;
            if (looks) {
                const Band seen = band(p, query, at.length);
#pragma unroll
                for (int c = 0; c < COLUMNS; ++c) {
                    const int column = key + x + LANES * c;
                    const bool sees = column >= seen.low && column < seen.high && query < p.queries;
                    if (BIAS == 0) {
                        s[r][c] = sees ? s[r][c] : minus_infinity();
                    } else {
                        s[r][c] = sees ? biased(p, at.batch, at.head, query, column, s[r][c]) : minus_infinity();
                    }
                }
            }
            float top = largest[r];
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c) top = most(top, s[r][c]);
            top = over_row(top, [](const float a, const float b) { return most(a, b); });
            const float base = reference(top) * scale;
            old[r] = exp2_fast(fmaf(largest[r], scale, -base));
            largest[r] = top;
            float total = 0.0f;
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c) {
                const float weight = exp2_fast(fmaf(s[r][c], scale, -base));
                total += weight;
                weights[(y + 16 * r) * SCORES + x + LANES * c] = weight;
            }
            sum[r] = fmaf(sum[r], old[r], total);
        }
        // Weights are read by the lanes that wrote them; values by all.
        arrived<1>();
        // Sums of a block are short, and so are their errors.
        float part[EACH][WIDTH] = {};
#pragma unroll VALUE_STEPS
        for (int j = 0; j < KEYS; j += 4) {
            float4 a[EACH];
#pragma unroll
            for (int r = 0; r < EACH; ++r) a[r] = *(const float4*)(weights + (y + 16 * r) * SCORES + j);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int c = 0; c < WIDTH; c += SIDE) {
                    alignas(16) float b[SIDE];
                    const float* const from = v + (j + i) * STRIDE + x * SIDE + c * LANES;
                    if constexpr (SIDE == 4) {
                        *(float4*)b = *(const float4*)from;
                    } else {
                        *(float2*)b = *(const float2*)from;
                    }
#pragma unroll
                    for (int r = 0; r < EACH; ++r) {
                        const float weight = i == 0 ? a[r].x : i == 1 ? a[r].y : i == 2 ? a[r].z : a[r].w;
#pragma unroll
                        for (int e = 0; e < SIDE; ++e) part[r][c + e] = fmaf(weight, b[e], part[r][c + e]);
                    }
                }
            }
        }
#pragma unroll
        for (int r = 0; r < EACH; ++r) {
#pragma unroll
            for (int c = 0; c < WIDTH; ++c) o[r][c] = fmaf(o[r][c], old[r], part[r][c]);
        }
        __syncthreads();
        if (more) fetch<KEYS>(v, values, key + KEYS, at.length, p.head_size, k_line);
        leave();
    }

#pragma unroll
    for (int r = 0; r < EACH; ++r) {
        sum[r] = over_row(sum[r], [](const float a, const float b) { return a + b; });
        const int query = at.first + y + 16 * r;
        if (query >= p.queries) continue;
        const float factor = sum[r] > 0.0f || sum[r] != sum[r] ? 1.0f / sum[r] : 0.0f;
        if (x == 0) write_log_sum(p, at, query, log_sum(sum[r], reference(largest[r]) * scale));
        float* const out = float_row(p, at, query);
#pragma unroll
        for (int c = 0; c < WIDTH; ++c) {
            const int column = c / SIDE * SIDE * LANES + x * SIDE + c % SIDE;
            if (column < p.head_size) out[column] = o[r][c] * factor;
        }
    }
}
