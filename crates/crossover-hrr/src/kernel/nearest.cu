// The best of every group of items: a matrix product whose scores are never written. nearest_hopper.cu does the same where there is wgmma.
//
// Contract: queries [Q, K] and items [N, K] in f16 in `scratch`, K a multiple of 8; groups are written there, as ordered.cuh says.
//
// Launch: 256 threads and any number of blocks (one per multiprocessor is best: each takes tiles of 128 queries by 256 items in turn, and loads run
// ahead across tiles); shared memory: STAGES stages of 48 KiB, and 1 KiB to align them.
// Arithmetic: 2·Q·N·K on tensor cores; bytes: operands in f16, 1/8 byte per score.
//
// Defined before this text: STAGES, AHEAD, of which less than STAGES are fetched ahead.

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

// One stage of the product: 64 of K for the 16 rows (of 128) by 256 columns of each warp.
__device__ __forceinline__ void multiply_stage(float (&d)[128], const unsigned a, const unsigned b, const bool first)
{
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
}

extern "C" __global__ void __launch_bounds__(256, 1) hrr_nearest(
    const float*, const float*, unsigned long long*, unsigned char* scratch, long long Q, long long N, long long K)
{
    extern __shared__ unsigned char memory[];
    const unsigned short* queries = rounded_queries(scratch, Q, N);
    const unsigned short* items = rounded_items(scratch, Q, N, K);
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
            __syncthreads();
            // What this overwrites was multiplied STAGES - AHEAD rounds ago, and that has been waited for.
            fetch();
            const unsigned from = base + stage * STAGE_BYTES;
            multiply_stage(d, from, from + A_BYTES, k == 0);
            stage = (stage + 1) % STAGES;
        }
        keep_best(d, (unsigned long long*)scratch, (long long)(tile % across) * M, tile / across, Q, N);
    }
}
