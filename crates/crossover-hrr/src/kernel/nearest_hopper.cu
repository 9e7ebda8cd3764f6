// The best of every group of items on Hopper: wgmma, operands fetched by the copy engine.
//
// Contract: queries [Q, K] and items [N, K] in f16 as the tensor maps say, K a multiple of 8; groups are written to `scratch`, as ordered.cuh says.
//
// Launch: 288 threads and any number of blocks (one per multiprocessor is best: each takes tiles of 128 queries by 256 items in turn). Eight warps
// multiply, the ninth fetches STAGES stages ahead, across tiles. Shared memory: STAGES stages of 48 KiB, and 1 KiB to align them.
// Arithmetic: 2·Q·N·K on tensor cores; bytes: operands in f16, 1/8 byte per score.
//
// Defined before this text: STAGES.

constexpr int M = 128, STEP = 64, CONSUMERS = 256;
constexpr unsigned A_BYTES = M * STEP * 2, STAGE_BYTES = A_BYTES + N_TILE * STEP * 2;

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

__device__ __forceinline__ void wait(const unsigned barrier, const unsigned parity)
{
    asm volatile(
        "{\n.reg .pred p;\nagain:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
        "@!p bra again;\n}\n" ::"r"(barrier), "r"(parity) : "memory");
}

__device__ __forceinline__ void fetch(const xo_tensor_map& map, const unsigned to, const unsigned barrier, const int k, const int row)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
        "l"(&map), "r"(barrier), "r"(k), "r"(row) : "memory");
}

extern "C" __global__ void __launch_bounds__(288, 1) hrr_nearest(
    const float*, const float*, unsigned long long*, unsigned char* scratch, long long Q, long long N, long long K,
    const __grid_constant__ xo_tensor_map queries, const __grid_constant__ xo_tensor_map items)
{
    extern __shared__ unsigned char memory[];
    __shared__ unsigned long long barriers[2 * STAGES];
    const unsigned base = ((unsigned)__cvta_generic_to_shared(memory) + 1023) & ~1023u;
    const unsigned full = (unsigned)__cvta_generic_to_shared(barriers), empty = full + 8 * STAGES;
    const int across = (int)((Q + M - 1) / M), tiles = across * (int)((N + N_TILE - 1) / N_TILE), steps = (int)((K + STEP - 1) / STEP);
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full + 8 * i) : "memory");
            // Two groups of four warps.
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(empty + 8 * i) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    int stage = 0;
    unsigned turn = 0;
    const auto next = [&]() {
        if (++stage == STAGES) {
            stage = 0;
            turn ^= 1;
        }
    };
    if (threadIdx.x >= CONSUMERS) {
        if (threadIdx.x > CONSUMERS) return;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            for (int k = 0; k < steps; ++k, next()) {
                const unsigned to = base + stage * STAGE_BYTES, barrier = full + 8 * stage;
                wait(empty + 8 * stage, turn ^ 1);
                // What lies outside is filled with zeros, and counts.
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(STAGE_BYTES) : "memory");
                fetch(queries, to, barrier, k * STEP, tile % across * M);
                fetch(items, to + A_BYTES, barrier, k * STEP, tile / across * N_TILE);
            }
        }
        return;
    }
    float d[128];
    const auto release = [&](const int which) {
        if (threadIdx.x % 128 == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(empty + 8 * which) : "memory");
    };
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int before = 0;
        for (int k = 0; k < steps; ++k, next()) {
            wait(full + 8 * stage, turn);
            const unsigned b = base + stage * STAGE_BYTES + A_BYTES, a = b - A_BYTES + threadIdx.x / 128 * 64 * 128;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int part = 0; part < STEP / 16; ++part) multiply(d, described(a + part * 32), described(b + part * 32), k > 0 || part > 0);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            // What the one before has read may be overwritten.
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            if (k > 0) release(before);
            before = stage;
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        release(before);
        keep_best(d, (unsigned long long*)scratch, (long long)(tile % across) * M, tile / across, Q, N);
    }
}
