// The best of every group of items: a matrix product whose scores are never written.
//
// Contract: queries [Q, K] and items [N, K] in f32, K a multiple of 8, rows without gaps; `hrr_round` writes both in f16 to `scratch`, `hrr_nearest`
// multiplies these and writes groups there, as ordered.cuh says.
//
// Launch: hrr_round with any number of threads. hrr_nearest with 256 threads and any number of blocks (one per multiprocessor is best: each takes
// tiles of 128 queries by 256 items in turn, and loads run ahead across tiles); shared memory: STAGES stages of 48 KiB, and 1 KiB to align them.
// Arithmetic: 2·Q·N·K on tensor cores (wgmma where there is one); bytes: operands once in f32 and twice in f16, 1/8 byte per score.
//
// Defined before this text: STAGES, AHEAD, of which less than STAGES are fetched ahead (two less where wgmma runs beside the fetching).

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HAS_WGMMA 1
#else
#define HAS_WGMMA 0
#endif

constexpr int M = 128, STEP = 64;
constexpr unsigned A_BYTES = M * STEP * 2, STAGE_BYTES = (M + N_TILE) * STEP * 2;

__device__ __forceinline__ void copy16(const unsigned to, const void* from, const bool there)
{
    // Nothing is read, and zeros are written, where there is nothing.
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0) : "memory");
}

// What a thread fetches: one 16-byte piece of every 32nd row. Rows are 64 numbers, and pieces are exchanged within groups of 8 rows: the layout that
// wgmma calls 128-byte swizzle.
struct Fetch {
    const unsigned short* a;
    const unsigned short* b;
    unsigned a_rows, b_rows;  // Bit j: row j·32 + tid/8 exists.
    unsigned to;

    __device__ __forceinline__ void aim(
        const unsigned short* queries, const unsigned short* items, const long long query, const long long item, const long long Q, const long long N,
        const long long K)
    {
        const int row = threadIdx.x / 8, piece = threadIdx.x % 8;
        a = queries + (query + row) * K + piece * 8;
        b = items + (item + row) * K + piece * 8;
        to = row * 128 + ((piece ^ (row & 7)) << 4);
        a_rows = b_rows = 0;
        #pragma unroll
        for (int j = 0; j < M / 32; ++j) a_rows |= (unsigned)(query + row + 32 * j < Q) << j;
        #pragma unroll
        for (int j = 0; j < N_TILE / 32; ++j) b_rows |= (unsigned)(item + row + 32 * j < N) << j;
    }

    // 64 of K from k0 on; `zero` is any address that can be read.
    __device__ __forceinline__ void go(const unsigned stage, const int k0, const int K, const unsigned short* zero) const
    {
        const bool there = k0 + (int)(threadIdx.x % 8) * 8 < K;
        const unsigned rows_a = there ? a_rows : 0, rows_b = there ? b_rows : 0;
        #pragma unroll
        for (int j = 0; j < M / 32; ++j) {
            const bool is = rows_a >> j & 1;
            copy16(stage + to + j * 4096, is ? a + (long long)j * 32 * K + k0 : zero, is);
        }
        #pragma unroll
        for (int j = 0; j < N_TILE / 32; ++j) {
            const bool is = rows_b >> j & 1;
            copy16(stage + A_BYTES + to + j * 4096, is ? b + (long long)j * 32 * K + k0 : zero, is);
        }
    }
};

#if HAS_WGMMA
__device__ __forceinline__ unsigned long long described(const unsigned at)
{
    // Start, 1024 bytes from one group of 8 rows to the next, 128-byte swizzle.
    return (unsigned long long)((at & 0x3ffff) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}

__device__ __forceinline__ void multiply(float (&d)[128], const unsigned long long a, const unsigned long long b, const int add)
{
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
        "%128, %129, p, 1, 1, 0, 0;\n}\n"
        :
          "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
          "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
          "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
          "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
          "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
          "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
          "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
          "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
          "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
          "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
          "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
          "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
        : "l"(a), "l"(b), "r"(add));
}
#endif

// One stage of the product: 64 of K for the 16 rows (of 128) by 256 columns of each warp.
__device__ __forceinline__ void multiply_stage(float (&d)[128], const unsigned a, const unsigned b, const bool first)
{
#if HAS_WGMMA
    const unsigned rows = a + threadIdx.x / 128 * 64 * 128;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    #pragma unroll
    for (int k = 0; k < STEP / 16; ++k) multiply(d, described(rows + k * 32), described(b + k * 32), !first || k > 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#else
    const int lane = threadIdx.x % 32, top = threadIdx.x / 32 * 16;
    if (first) {
        #pragma unroll
        for (int i = 0; i < 128; ++i) d[i] = 0;
    }
    #pragma unroll
    for (int k = 0; k < STEP / 16; ++k) {
        unsigned x[4];
        const int row = top + lane % 16, piece = k * 2 + lane / 16;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(a + row * 128 + ((piece ^ (row & 7)) << 4)));
        #pragma unroll
        for (int j = 0; j < 32; ++j) {
            unsigned y[2];
            const int column = j * 8 + lane % 8, part = k * 2 + lane / 8 % 2;
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                         : "=r"(y[0]), "=r"(y[1])
                         : "r"(b + column * 128 + ((part ^ (column & 7)) << 4)));
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(d[4 * j]), "+f"(d[4 * j + 1]), "+f"(d[4 * j + 2]), "+f"(d[4 * j + 3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        }
    }
#endif
}

__device__ __forceinline__ unsigned halves(const float low, const float high)
{
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

extern "C" __global__ void __launch_bounds__(256) hrr_round(
    const float* queries, const float* items, unsigned long long*, unsigned char* scratch, long long Q, long long N, long long K)
{
    uint4* to_queries = (uint4*)rounded_queries(scratch, Q, N);
    uint4* to_items = (uint4*)rounded_items(scratch, Q, N, K);
    const long long own = Q * K / 8, total = own + N * K / 8, step = (long long)gridDim.x * blockDim.x;
    #pragma unroll 2
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
        const bool is_query = i < own;
        const long long at = is_query ? i : i - own;
        const float4* from = (const float4*)(is_query ? queries : items) + 2 * at;
        const float4 x = from[0], y = from[1];
        (is_query ? to_queries : to_items)[at] = {halves(x.x, x.y), halves(x.z, x.w), halves(y.x, y.y), halves(y.z, y.w)};
    }
}

extern "C" __global__ void __launch_bounds__(256, 1) hrr_nearest(
    const float*, const float*, unsigned long long*, unsigned char* scratch, long long Q, long long N, long long K)
{
    extern __shared__ unsigned char memory[];
    const unsigned short* queries = rounded_queries(scratch, Q, N);
    const unsigned short* items = rounded_items(scratch, Q, N, K);
    unsigned long long* out = (unsigned long long*)scratch;
    const unsigned base = ((unsigned)__cvta_generic_to_shared(memory) + 1023) & ~1023u;
    const int across = (int)((Q + M - 1) / M), along = (int)((N + N_TILE - 1) / N_TILE), tiles = across * along, steps = (int)((K + STEP - 1) / STEP);
    // Neighbouring blocks share a tile of items. The fetching side runs ahead, into the next tile too.
    Fetch side;
    int coming = blockIdx.x, coming_k = 0, coming_stage = 0;
    const auto fetch = [&]() {
        if (coming < tiles) {
            if (coming_k == 0) side.aim(queries, items, (long long)(coming % across) * M, (long long)(coming / across) * N_TILE, Q, N, K);
            side.go(base + coming_stage * STAGE_BYTES, coming_k * STEP, (int)K, queries);
            coming_stage = (coming_stage + 1) % STAGES;
            if (++coming_k == steps) {
                coming_k = 0;
                coming += gridDim.x;
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    #pragma unroll
    for (int i = 0; i < AHEAD; ++i) fetch();
    float d[128];
    int stage = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (int k = 0; k < steps; ++k) {
            asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
#if HAS_WGMMA
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
            __syncthreads();
            // What this overwrites was multiplied STAGES - AHEAD rounds ago, and that has been waited for.
            fetch();
            const unsigned from = base + stage * STAGE_BYTES;
            multiply_stage(d, from, from + A_BYTES, k == 0);
#if HAS_WGMMA
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
#endif
            stage = (stage + 1) % STAGES;
        }
#if HAS_WGMMA
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
        const int lane = threadIdx.x % 32, part = lane % 4;
        const long long row = (long long)(tile % across) * M + threadIdx.x / 32 * 16 + lane / 4;
        const unsigned column = tile / across * N_TILE + part * 2;
        const bool is_whole = (long long)(tile / across + 1) * N_TILE <= N;
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            float best = -__int_as_float(0x7f800000);
            unsigned at = 0xffffffffu;
            #pragma unroll
            for (int j = 0; j < 64; ++j) {
                const float score = d[j / 2 * 4 + half * 2 + j % 2];
                const unsigned index = column + j / 2 * 8 + j % 2;
                // NaN never wins.
                if (score > best && (is_whole || index < N)) {
                    best = score;
                    at = index;
                }
            }
            const long long query = row + half * 8;
            if (query < Q) out[query * (EACH * along) + tile / across * EACH + part] = ordered(best, at);
        }
    }
}
