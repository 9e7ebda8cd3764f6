// Attention on tensor cores by mma.sync, for compute capability 8.0 and later.
//
// Launch: a block of WARPS warps for 16 * TALL * WARPS queries of a head, one split of the keys. Shared memory: SHARED_BYTES. q, k, v start at
// multiples of 16 bytes. Two buffers of KEYS keys and values are filled by cp.async while the one before is used. 16-bit
// elements are multiplied as they are, float ones as TF32; sums are float. 4 * queries * keys * head_size operations for each head.

constexpr int THREADS = 32 * WARPS;
// Rows of a warp: TALL times 16, which share what is read of keys and values.
constexpr int ROWS = 16 * TALL * WARPS;

__device__ __forceinline__ unsigned address(const void* shared) {
    return (unsigned)__cvta_generic_to_shared(shared);
}

__device__ __forceinline__ void copy_16(const unsigned to, const void* from, const int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// Elements of 16 bits: tiles of 8 x 8 through ldmatrix, products of 16 x 8 x 16.
template <bool BRAIN>
struct Sixteen {
    typedef unsigned short Element;
    static constexpr int EACH = 8;
    static constexpr int STRIDE = HEAD + 8;

    static __device__ __forceinline__ unsigned pair(const float low, const float high) {
        unsigned out;
        if (BRAIN) {
            asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
        } else {
            asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
        }
        return out;
    }

    static __device__ __forceinline__ void load(unsigned (&out)[4], const unsigned from) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                     : "r"(from));
    }

    static __device__ __forceinline__ void load_turned(unsigned (&out)[4], const unsigned from) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                     : "r"(from));
    }

    static __device__ __forceinline__ void product(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
        if (BRAIN) {
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                         "{%0, %1, %2, %3};"
                         : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
        } else {
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                         "{%0, %1, %2, %3};"
                         : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
        }
    }

    // Scores of the warp's rows with KEYS keys.
    static __device__ __forceinline__ void scores(float (&s)[TALL][KEYS / 8][4], const Element* q, const Element* k) {
        const int lane = threadIdx.x % 32;
        const unsigned row = address(q + (lane % 16) * STRIDE + lane / 16 * 8);
        const unsigned key = address(k + (lane % 8 + lane / 16 * 8) * STRIDE + lane / 8 % 2 * 8);
#pragma unroll
        for (int d = 0; d < HEAD; d += 16) {
            unsigned a[TALL][4];
#pragma unroll
            for (int t = 0; t < TALL; ++t) load(a[t], row + 2 * (16 * t * STRIDE + d));
#pragma unroll
            for (int n = 0; n < KEYS; n += 16) {
                unsigned b[4];
                load(b, key + 2 * (n * STRIDE + d));
#pragma unroll
                for (int t = 0; t < TALL; ++t) {
                    product(s[t][n / 8], a[t], b[0], b[1]);
                    product(s[t][n / 8 + 1], a[t], b[2], b[3]);
                }
            }
        }
    }

    // Adds weights times values.
    static __device__ __forceinline__ void gather(
        float (&o)[TALL][HEAD / 8][4], const float (&s)[TALL][KEYS / 8][4], const Element* v)
    {
        const int lane = threadIdx.x % 32;
        const unsigned value = address(v + (lane % 16) * STRIDE + lane / 16 * 8);
#pragma unroll
        for (int k = 0; k < KEYS; k += 16) {
            unsigned a[TALL][4];
#pragma unroll
            for (int t = 0; t < TALL; ++t) {
#pragma unroll
                for (int i = 0; i < 4; ++i) a[t][i] = pair(s[t][k / 8 + i / 2][i % 2 * 2], s[t][k / 8 + i / 2][i % 2 * 2 + 1]);
            }
#pragma unroll
            for (int n = 0; n < HEAD; n += 16) {
                unsigned b[4];
                load_turned(b, value + 2 * (k * STRIDE + n));
#pragma unroll
                for (int t = 0; t < TALL; ++t) {
                    product(o[t][n / 8], a[t], b[0], b[1]);
                    product(o[t][n / 8 + 1], a[t], b[2], b[3]);
                }
            }
        }
    }

    static __device__ __forceinline__ void store(void* out, const long long at, const float low, const float high) {
        *(unsigned*)((Element*)out + at) = pair(low, high);
    }

    // Writes a warp's rows, which lie in shared memory, 16 bytes of each at a time.
    static __device__ __forceinline__ void copy_out(const Problem& p, const Place& at, const Element* rows, const int first) {
        constexpr int CHUNKS = HEAD / EACH;
        for (int i = threadIdx.x % 32; i < 16 * TALL * CHUNKS; i += 32) {
            const int row = i / CHUNKS, column = i % CHUNKS * EACH;
            if (first + row < p.queries && column < p.head_size) {
                *(uint4*)((Element*)p.out + result_row(p, at, first + row) * p.head_size + column) =
                    *(const uint4*)(rows + row * STRIDE + column);
            }
        }
    }
};

// Floats rounded to TF32: products of 16 x 8 x 8. Columns of the weights go in another order than they come, and so do values.
struct Tf32 {
    typedef float Element;
    static constexpr int EACH = 4;
    static constexpr int STRIDE = HEAD + 4;

    static __device__ __forceinline__ unsigned rounded(const float x) {
        unsigned out;
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out) : "f"(x));
        return out;
    }

    static __device__ __forceinline__ void product(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }

    static __device__ __forceinline__ void scores(float (&s)[TALL][KEYS / 8][4], const Element* q, const Element* k) {
        const int lane = threadIdx.x % 32, g = lane / 4, c = lane % 4;
#pragma unroll 4
        for (int d = 0; d < HEAD; d += 8) {
            unsigned a[TALL][4];
#pragma unroll
            for (int t = 0; t < TALL; ++t) {
#pragma unroll
                for (int i = 0; i < 4; ++i) a[t][i] = rounded(q[(16 * t + g + i % 2 * 8) * STRIDE + d + c + i / 2 * 4]);
            }
#pragma unroll
            for (int n = 0; n < KEYS; n += 8) {
                const float* const key = k + (n + g) * STRIDE + d + c;
                const unsigned b0 = rounded(key[0]), b1 = rounded(key[4]);
#pragma unroll
                for (int t = 0; t < TALL; ++t) product(s[t][n / 8], a[t], b0, b1);
            }
        }
    }

    static __device__ __forceinline__ void gather(
        float (&o)[TALL][HEAD / 8][4], const float (&s)[TALL][KEYS / 8][4], const Element* v)
    {
        const int lane = threadIdx.x % 32, g = lane / 4, c = lane % 4;
#pragma unroll
        for (int k = 0; k < KEYS; k += 8) {
            unsigned a[TALL][4];
#pragma unroll
            for (int t = 0; t < TALL; ++t) {
                const float(&p)[4] = s[t][k / 8];
                a[t][0] = rounded(p[0]);
                a[t][1] = rounded(p[2]);
                a[t][2] = rounded(p[1]);
                a[t][3] = rounded(p[3]);
            }
#pragma unroll
            for (int n = 0; n < HEAD; n += 8) {
                const float* const value = v + (k + 2 * c) * STRIDE + n + g;
                const unsigned b0 = rounded(value[0]), b1 = rounded(value[STRIDE]);
#pragma unroll
                for (int t = 0; t < TALL; ++t) product(o[t][n / 8], a[t], b0, b1);
            }
        }
    }

    static __device__ __forceinline__ void store(void* out, const long long at, const float low, const float high) {
        float* const to = (float*)out + at;
        to[0] = low;
        to[1] = high;
    }
};

// Starts to copy COUNT rows, `line` elements apart, from row `first` on; rows and columns beyond the end are zeros, and are not read.
template <class Kind, int COUNT>
__device__ __forceinline__ void fetch(
    typename Kind::Element* to, const typename Kind::Element* from, const int first, const int end, const int size,
    const long long line)
{
    constexpr int CHUNKS = HEAD / Kind::EACH, APART = THREADS / CHUNKS;
    if constexpr (THREADS % CHUNKS == 0) {
        // A thread has the same columns of every row that it copies.
        const int row = threadIdx.x / CHUNKS, column = threadIdx.x % CHUNKS * Kind::EACH;
        const int inside = column < size ? end - first - row : 0;
        const typename Kind::Element* const source = from + (first + row) * line + column;
        const unsigned target = address(to + row * Kind::STRIDE + column);
#pragma unroll
        for (int i = 0; i < COUNT; i += APART) {
            if (COUNT % APART == 0 || row + i < COUNT) {
                copy_16(target + i * Kind::STRIDE * sizeof(typename Kind::Element), source + i * line, i < inside ? 16 : 0);
            }
        }
    } else {
        for (int i = threadIdx.x; i < COUNT * CHUNKS; i += THREADS) {
            const int row = i / CHUNKS, column = i % CHUNKS * Kind::EACH;
            const bool inside = first + row < end && column < size;
            const typename Kind::Element* const source = inside ? from + (first + row) * line + column : from;
            copy_16(address(to + row * Kind::STRIDE + column), source, inside ? 16 : 0);
        }
    }
}

// Hides what a query does not see. Rows and columns of the scores are the warp's, see `product`.
__device__ __forceinline__ void hide(float (&s)[KEYS / 8][4], const Problem& p, const Place& at, const int row, const int key) {
    const int lane = threadIdx.x % 32;
    // Rows beyond the last query see nothing.
    const Band none = {0, 0};
    const Band seen[2] = {
        row < p.queries ? band(p, row, at.length) : none, row + 8 < p.queries ? band(p, row + 8, at.length) : none};
#pragma unroll
    for (int n = 0; n < KEYS / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int column = key + 8 * n + lane % 4 * 2 + i % 2, r = i / 2;
            const bool sees = column >= seen[r].low && column < seen[r].high;
            if (BIAS == 0) {
                s[n][i] = sees ? s[n][i] : minus_infinity();
            } else {
                s[n][i] = sees ? biased(p, at.batch, at.head, row + 8 * r, column, s[n][i]) : minus_infinity();
            }
        }
    }
}

// One step of softmax: scores become weights, the sums go on, and what was gathered before is rescaled.
__device__ __forceinline__ void soften(
    float (&s)[KEYS / 8][4], float (&o)[HEAD / 8][4], float (&largest)[2], float (&sum)[2], const float scale)
{
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float top = largest[r];
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n) top = most(top, most(s[n][2 * r], s[n][2 * r + 1]));
        top = most(top, __shfl_xor_sync(0xffffffff, top, 1));
        top = most(top, __shfl_xor_sync(0xffffffff, top, 2));
        const float base = reference(top) * scale;
        const float old = exp2_fast(fmaf(largest[r], scale, -base));
        largest[r] = top;
        float total = 0.0f;
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n) {
#pragma unroll
            for (int i = 2 * r; i < 2 * r + 2; ++i) {
                s[n][i] = exp2_fast(fmaf(s[n][i], scale, -base));
                total += s[n][i];
            }
        }
        sum[r] = fmaf(sum[r], old, total);
#pragma unroll
        for (int n = 0; n < HEAD / 8; ++n) {
            o[n][2 * r] *= old;
            o[n][2 * r + 1] *= old;
        }
    }
}

// Writes the results of 16 rows, of which this thread has parts of two: elements of 16 bits to the warp's rows of shared memory, others to
// where they belong.
template <class Kind>
__device__ __forceinline__ void finish(
    const Problem& p, const Place& at, const int row, const float (&o)[HEAD / 8][4], const float (&largest)[2], float (&sum)[2],
    const float scale, typename Kind::Element* const rows)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 1);
        sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 2);
        const int query = row + 8 * r;
        if (query >= p.queries) continue;
        const float factor = sum[r] > 0.0f || sum[r] != sum[r] ? 1.0f / sum[r] : 0.0f;
        if (lane % 4 == 0) write_log_sum(p, at, query, log_sum(sum[r], reference(largest[r]) * scale));
#pragma unroll
        for (int n = 0; n < HEAD / 8; ++n) {
            const int column = 8 * n + lane % 4 * 2;
            if (column >= p.head_size) break;
            const float low = o[n][2 * r] * factor, high = o[n][2 * r + 1] * factor;
            if (PACKED || p.splits > 1) {
                Tf32::store(float_row(p, at, query), column, low, high);
            } else if (Kind::EACH == 8) {
                Kind::store(rows, (lane / 4 + 8 * r) * Kind::STRIDE + column, low, high);
            } else {
                Kind::store(p.out, result_row(p, at, query) * p.head_size + column, low, high);
            }
        }
    }
}

template <class Kind>
__device__ __forceinline__ void attend(const Problem& p, unsigned char* shared) {
    typedef typename Kind::Element Element;
    constexpr int STRIDE = Kind::STRIDE;
    Element* const q = (Element*)shared;
    Element* const k = q + ROWS * STRIDE;
    Element* const v = k + 2 * KEYS * STRIDE;
    const Place at = place(p, ROWS);
    const Band range = blocks(p, at, ROWS, KEYS);
    const Element* const keys = (const Element*)p.k + at.k_row * p.head_size;
    const Element* const values = (const Element*)p.v + at.v_row * p.head_size;
    const long long q_line = p.q_lines.step * p.head_size, k_line = p.k_lines.step * p.head_size;
    const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16 * TALL, row = at.first + first + lane / 4;
    // Keys that every query of the block sees need no look at each.
    const int certain_low = band(p, at.first + ROWS - 1, at.length).low, certain_high = band(p, at.first, at.length).high;

    // Biased scores have the scale inside.
    const float scale = BIAS == 0 ? p.scale : 1.0f;
    float o[TALL][HEAD / 8][4] = {};
    float largest[TALL][2], sum[TALL][2] = {};
#pragma unroll
    for (int t = 0; t < TALL; ++t) largest[t][0] = largest[t][1] = minus_infinity();
    if (range.low < range.high) {
        fetch<Kind, ROWS>(q, (const Element*)p.q + at.q_row * p.head_size, at.first, p.queries, p.head_size, q_line);
        fetch<Kind, KEYS>(k, keys, range.low * KEYS, at.length, p.head_size, k_line);
        fetch<Kind, KEYS>(v, values, range.low * KEYS, at.length, p.head_size, k_line);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int n = range.low; n < range.high; ++n) {
        const int now = (n - range.low) % 2, then = 1 - now;
        if (n + 1 < range.high) {
            fetch<Kind, KEYS>(k + then * KEYS * STRIDE, keys, (n + 1) * KEYS, at.length, p.head_size, k_line);
            fetch<Kind, KEYS>(v + then * KEYS * STRIDE, values, (n + 1) * KEYS, at.length, p.head_size, k_line);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        float s[TALL][KEYS / 8][4] = {};
        Kind::scores(s, q + first * STRIDE, k + now * KEYS * STRIDE);
        const int key = n * KEYS;
        const bool looks = BIAS != 0 || key < certain_low || key + KEYS > certain_high;
#pragma unroll
        for (int t = 0; t < TALL; ++t) {
            if (looks) hide(s[t], p, at, row + 16 * t, key);
            soften(s[t], o[t], largest[t], sum[t], scale);
        }
        Kind::gather(o, s, v + now * KEYS * STRIDE);
        __syncthreads();
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
#pragma unroll
    for (int t = 0; t < TALL; ++t) {
        finish<Kind>(p, at, row + 16 * t, o[t], largest[t], sum[t], scale, q + (first + 16 * t) * STRIDE);
    }
    // Nobody but the warp itself reads its queries.
    if constexpr (Kind::EACH == 8) {
        if (!PACKED && p.splits == 1) {
            __syncwarp();
            Kind::copy_out(p, at, q + first * STRIDE, at.first + first);
        }
    }
}
