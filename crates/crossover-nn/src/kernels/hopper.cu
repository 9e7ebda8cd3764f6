// Attention of 16-bit elements on Hopper: tiles come by the copy engine, products are wgmma's, and warpgroups take turns.
//
// Launch: one block for each multiprocessor, 128 * (CONSUMERS + 1) threads, which takes tiles of 64 * CONSUMERS queries until there are none.
// Shared memory: SHARED_BYTES. Tensor maps of q, k, v and out (batch, place, head, element) with rows of 64 elements, mixed within 128 bytes. The first warpgroup
// copies; each of the others has 64 rows of a tile. While one multiplies, another makes weights of its scores: turns are passed through
// named barriers; and within a warpgroup the scores of the next keys are computed while weights gather values.

constexpr int KEYS = 128;
constexpr int STAGES = 2;
constexpr int ROWS = 64 * CONSUMERS;
constexpr int PANELS = HEAD / 64;
constexpr int PANEL = 128;

// Tiles in shared memory: panels of rows of 128 bytes.
struct Room {
    unsigned char q[PANELS][ROWS * PANEL];
    unsigned char k[STAGES][PANELS][KEYS * PANEL];
    unsigned char v[STAGES][PANELS][KEYS * PANEL];
    unsigned char out[CONSUMERS][PANELS][PACKED ? 16 : 64 * PANEL];
    unsigned long long q_full, q_empty, k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
    int tile;
};

__device__ __forceinline__ unsigned address(const void* shared) {
    return (unsigned)__cvta_generic_to_shared(shared);
}

__device__ __forceinline__ void barrier_make(unsigned long long& barrier, const int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&barrier)), "r"(count) : "memory");
}

__device__ __forceinline__ void barrier_wait(unsigned long long& barrier, const unsigned phase) {
    asm volatile("{ .reg .pred p;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@p bra done; bra again; done: }" ::"r"(address(&barrier)),
                 "r"(phase)
                 : "memory");
}

__device__ __forceinline__ void barrier_arrive(unsigned long long& barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&barrier)) : "memory");
}

__device__ __forceinline__ void barrier_expect(unsigned long long& barrier, const int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&barrier)), "r"(bytes) : "memory");
}

// Copies one panel of rows of a head from (column, row) on.
__device__ __forceinline__ void copy_in(
    void* to, const xo_tensor_map& map, const int column, const int row, const int head, const int batch,
    unsigned long long& barrier)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(
                     address(to)),
                 "l"(&map), "r"(column), "r"(head), "r"(row), "r"(batch), "r"(address(&barrier))
                 : "memory");
}

__device__ __forceinline__ void copy_out(
    const void* from, const xo_tensor_map& map, const int column, const int row, const int head, const int batch)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(&map), "r"(column),
                 "r"(head), "r"(row), "r"(batch), "r"(address(from))
                 : "memory");
}

__device__ __forceinline__ void group_sync(const int name, const int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

__device__ __forceinline__ void group_arrive(const int name, const int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

__device__ __forceinline__ unsigned pair(const float low, const float high) {
    unsigned out;
    if (BRAIN) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    } else {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    }
    return out;
}

// The tile of a number: heads in order, in each the tiles with most keys first.
__device__ __forceinline__ Place tile_place(const Problem& p, const int tile) {
    const int tiles = (p.queries + ROWS - 1) / ROWS, both = tile / tiles;
    Place out;
    out.split = 0;
    out.first = (tiles - 1 - tile % tiles) * ROWS;
    out.batch = both / p.heads;
    out.head = both % p.heads;
    out.length = p.keys;
    find_rows(p, out);
    return out;
}

// Tiles that blocks have taken beyond their first, and blocks that found none left. Launches run one after another, and the last block of
// each leaves zeros.
__device__ int taken = 0, ended = 0;

// The thread that copies.
__device__ __forceinline__ void produce(
    Room& room, const Problem& p, const xo_tensor_map& q, const xo_tensor_map& k, const xo_tensor_map& v)
{
    const int all = (int)(p.rows / p.queries) * ((p.queries + ROWS - 1) / ROWS);
    int tile = blockIdx.x, block = 0;
    for (unsigned turn = 0;; ++turn) {
        barrier_wait(room.q_empty, turn % 2 ^ 1);
        if (tile >= all) {
            room.tile = -1;
            barrier_arrive(room.q_full);
            if (atomicAdd(&ended, 1) == (int)gridDim.x - 1) taken = ended = 0;
            return;
        }
        const int then = (int)gridDim.x + atomicAdd(&taken, 1);
        const Place at = tile_place(p, tile);
        // Parts lie behind one another along the axis of heads.
        const int k_head = (int)p.k_first + at.head / p.group, v_head = (int)p.v_first + at.head / p.group;
        const Band range = blocks(p, at, ROWS, KEYS);
        room.tile = tile;
        barrier_expect(room.q_full, ROWS * HEAD * 2);
        for (int i = 0; i < PANELS; ++i) copy_in(room.q[i], q, 64 * i, at.first, at.head, at.batch, room.q_full);
        // Values come one block behind the keys, as they are used.
        for (int n = range.high - 1; n >= range.low - 1; --n) {
            if (n >= range.low) {
                const int stage = block % STAGES;
                barrier_wait(room.k_empty[stage], block / STAGES % 2 ^ 1);
                barrier_expect(room.k_full[stage], KEYS * HEAD * 2);
                for (int i = 0; i < PANELS; ++i) {
                    copy_in(room.k[stage][i], k, 64 * i, n * KEYS, k_head, at.batch, room.k_full[stage]);
                }
                ++block;
            }
            if (n + 1 < range.high) {
                const int before = n >= range.low ? block - 2 : block - 1, stage = before % STAGES;
                barrier_wait(room.v_empty[stage], before / STAGES % 2 ^ 1);
                barrier_expect(room.v_full[stage], KEYS * HEAD * 2);
                for (int i = 0; i < PANELS; ++i) {
                    copy_in(room.v[stage][i], v, 64 * i, (n + 1) * KEYS, v_head, at.batch, room.v_full[stage]);
                }
            }
        }
        tile = then;
    }
}

// What one thread knows of its two rows.
struct Rows {
    float o[HEAD / 2];
    float largest[2], sum[2];
};

__device__ __forceinline__ void scores(float (&s)[KEYS / 2], const unsigned q, const unsigned k) {
#pragma unroll
    for (int i = 0; i < HEAD / 16; ++i) {
        const unsigned long long a = tile_at(q + i / 4 * ROWS * PANEL + i % 4 * 32, 16);
        const unsigned long long b = tile_at(k + i / 4 * KEYS * PANEL + i % 4 * 32, 16);
        Wgmma<KEYS>::rows(s, a, b, i > 0);
    }
}

__device__ __forceinline__ void gather(float (&o)[HEAD / 2], const unsigned (&weights)[KEYS / 16][4], const unsigned v) {
#pragma unroll
    for (int i = 0; i < KEYS / 16; ++i) {
        Wgmma<HEAD>::columns(o, weights[i], tile_at(v + i * 16 * PANEL, KEYS * PANEL), 1);
    }
}

__device__ __forceinline__ void hide(float (&s)[KEYS / 2], const Band (&seen)[2], const int key) {
#pragma unroll
    for (int i = 0; i < KEYS / 2; ++i) {
        const int column = key + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2, r = i / 2 % 2;
        s[i] = column >= seen[r].low && column < seen[r].high ? s[i] : minus_infinity();
    }
}

// Scores become weights; returns by what the gathered values are to be multiplied.
__device__ __forceinline__ void soften(float (&s)[KEYS / 2], Rows& rows, float (&old)[2], const float scale) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float top = rows.largest[r];
#pragma unroll
        for (int i = 2 * r; i < KEYS / 2; i += 4) top = most(top, most(s[i], s[i + 1]));
        top = most(top, __shfl_xor_sync(0xffffffff, top, 1));
        top = most(top, __shfl_xor_sync(0xffffffff, top, 2));
        const float base = reference(top) * scale;
        old[r] = exp2_fast(fmaf(rows.largest[r], scale, -base));
        rows.largest[r] = top;
        float total[2] = {};
#pragma unroll
        for (int i = 2 * r; i < KEYS / 2; i += 4) {
            s[i] = exp2_fast(fmaf(s[i], scale, -base));
            s[i + 1] = exp2_fast(fmaf(s[i + 1], scale, -base));
            total[0] += s[i];
            total[1] += s[i + 1];
        }
        rows.sum[r] = fmaf(rows.sum[r], old[r], total[0] + total[1]);
    }
}

__device__ __forceinline__ void rescale(Rows& rows, const float (&old)[2]) {
#pragma unroll
    for (int i = 0; i < HEAD / 2; ++i) rows.o[i] *= old[i / 2 % 2];
}

__device__ __forceinline__ void pack(unsigned (&weights)[KEYS / 16][4], const float (&s)[KEYS / 2]) {
#pragma unroll
    for (int i = 0; i < KEYS / 16; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) weights[i][j] = pair(s[8 * i + 2 * j], s[8 * i + 2 * j + 1]);
    }
}

// Writes the results of a warpgroup's rows.
__device__ __forceinline__ void finish(
    Room& room, const Problem& p, const Place& at, Rows& rows, const xo_tensor_map& out, const int group)
{
    const int lane = threadIdx.x % 32, local = threadIdx.x % 128 / 32 * 16 + lane / 4;
    const int first = at.first + 64 * group;
    if (!PACKED) {
        // The copy before must have read its rows.
        if (threadIdx.x % 128 == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        group_sync(4 + group, 128);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float sum = rows.sum[r];
        sum += __shfl_xor_sync(0xffffffff, sum, 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        const float factor = sum > 0.0f || sum != sum ? 1.0f / sum : 0.0f;
        const int row = local + 8 * r, query = first + row;
        if (PACKED) {
            if (query < p.queries) {
                if (lane % 4 == 0) write_log_sum(p, at, query, log_sum(sum, reference(rows.largest[r]) * p.scale));
                float* const to = float_row(p, at, query);
#pragma unroll
                for (int j = 0; j < HEAD / 8; ++j) {
                    const int column = 8 * j + lane % 4 * 2;
                    if (column < p.head_size) {
                        to[column] = rows.o[4 * j + 2 * r] * factor;
                        to[column + 1] = rows.o[4 * j + 2 * r + 1] * factor;
                    }
                }
            }
        } else {
#pragma unroll
            for (int j = 0; j < HEAD / 8; ++j) {
                unsigned char* const to =
                    room.out[group][j / 8] + row * PANEL + ((j % 8 ^ row % 8) * 16) + lane % 4 * 4;
                *(unsigned*)to = pair(rows.o[4 * j + 2 * r] * factor, rows.o[4 * j + 2 * r + 1] * factor);
            }
        }
    }
    if (!PACKED) {
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        group_sync(4 + group, 128);
        if (threadIdx.x % 128 == 0 && first < p.queries) {
            for (int i = 0; i < PANELS; ++i) copy_out(room.out[group][i], out, 64 * i, first, at.head, at.batch);
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
}

// A warpgroup that computes.
__device__ __forceinline__ void consume(Room& room, const Problem& p, const xo_tensor_map& out) {
    const int group = threadIdx.x / 128 - 1, lane = threadIdx.x % 32;
    const int next = (group + 1) % CONSUMERS;
    const unsigned q = address(room.q) + group * 64 * PANEL;
    const auto done = [&](unsigned long long& barrier) {
        __syncwarp();
        if (lane == 0) barrier_arrive(barrier);
    };
    // The first turn is the first warpgroup's.
    if (group == CONSUMERS - 1) group_arrive(1, 256);
    int block = 0;
    for (unsigned turn = 0;; ++turn) {
        barrier_wait(room.q_full, turn % 2);
        const int tile = room.tile;
        if (tile < 0) break;
        const Place at = tile_place(p, tile);
        const Band range = blocks(p, at, ROWS, KEYS);
        const int row = at.first + 64 * group + threadIdx.x % 128 / 32 * 16 + lane / 4;
        const Band seen[2] = {band(p, row, at.length), band(p, row + 8, at.length)};
        const int certain_low = band(p, at.first + 64 * group + 63, at.length).low;
        const int certain_high = band(p, at.first + 64 * group, at.length).high;
        const auto unsure = [&](int n) { return n * KEYS < certain_low || (n + 1) * KEYS > certain_high; };
        Rows rows;
#pragma unroll
        for (int i = 0; i < HEAD / 2; ++i) rows.o[i] = 0.0f;
        rows.largest[0] = rows.largest[1] = minus_infinity();
        rows.sum[0] = rows.sum[1] = 0.0f;
        if (range.low < range.high) {
            float s[KEYS / 2], old[2];
            unsigned weights[KEYS / 16][4];
            int n = range.high - 1, stage = block % STAGES;
            barrier_wait(room.k_full[stage], block / STAGES % 2);
            wgmma_fence();
            scores(s, q, address(room.k[stage]));
            wgmma_commit();
            wgmma_wait<0>();
            done(room.k_empty[stage]);
            if (unsure(n)) hide(s, seen, n * KEYS);
            soften(s, rows, old, p.scale);
            pack(weights, s);
            for (--n; n >= range.low; --n) {
                const int before = stage, phase = block / STAGES % 2;
                ++block;
                stage = block % STAGES;
                barrier_wait(room.k_full[stage], block / STAGES % 2);
                group_sync(1 + group, 256);
                wgmma_fence();
                scores(s, q, address(room.k[stage]));
                wgmma_commit();
                barrier_wait(room.v_full[before], phase);
                gather(rows.o, weights, address(room.v[before]));
                wgmma_commit();
                group_arrive(1 + next, 256);
                wgmma_wait<1>();
                done(room.k_empty[stage]);
                if (unsure(n)) hide(s, seen, n * KEYS);
                soften(s, rows, old, p.scale);
                wgmma_wait<0>();
                done(room.v_empty[before]);
                rescale(rows, old);
                pack(weights, s);
            }
            done(room.q_empty);
            barrier_wait(room.v_full[stage], block / STAGES % 2);
            wgmma_fence();
            gather(rows.o, weights, address(room.v[stage]));
            wgmma_commit();
            wgmma_wait<0>();
            done(room.v_empty[stage]);
            ++block;
        } else {
            done(room.q_empty);
        }
        finish(room, p, at, rows, out, group);
    }
    if (threadIdx.x % 128 == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__device__ __forceinline__ void attend(
    const Problem& p, unsigned char* shared, const xo_tensor_map& q, const xo_tensor_map& k, const xo_tensor_map& v,
    const xo_tensor_map& out)
{
    Room& room = *(Room*)(shared + (1024 - address(shared) % 1024) % 1024);
    if (threadIdx.x == 0) {
        barrier_make(room.q_full, 1);
        barrier_make(room.q_empty, 4 * CONSUMERS);
        for (int i = 0; i < STAGES; ++i) {
            barrier_make(room.k_full[i], 1);
            barrier_make(room.v_full[i], 1);
            barrier_make(room.k_empty[i], 4 * CONSUMERS);
            barrier_make(room.v_empty[i], 4 * CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(CONSUMERS == 2 ? 24 : 32));
        if (threadIdx.x == 0) produce(room, p, q, k, v);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMERS == 2 ? 240 : 160));
        consume(room, p, out);
    }
}
