// One pass of a stable radix sort, 8 bits at a time, over lines of equal length.
//
// Contract: keys and what goes with them lie line after line; tiles of TILE elements, one block of 256 threads each,
// blocks = lines * tiles. `radix_count` counts digits per tile, `radix_scan` adds the tiles of a digit up (one warp per
// line and digit), `radix_place` writes a tile's elements where they belong. Inside a tile, elements are ranked warp by
// warp in order, so equal digits keep theirs. Bytes per pass: keys twice in, keys and companions once each way more.
constexpr int RADIX = 256;
constexpr int WARPS = 8;
constexpr int TILE = 32 * WARPS * ITEMS;

__device__ __forceinline__ unsigned xo_digit(key_t key, int shift) { return (unsigned)(key >> shift) & (RADIX - 1); }

// The sum of what threads before this one hold; 256 threads. `room` has 256 entries and is free afterwards.
__device__ __forceinline__ unsigned xo_before(unsigned value, unsigned* room) {
    const unsigned t = threadIdx.x;
    unsigned sum = value;
    for (unsigned distance = 1; distance < 256; distance *= 2) {
        room[t] = sum;
        __syncthreads();
        if (t >= distance) sum += room[t - distance];
        __syncthreads();
    }
    return sum - value;
}

extern "C" __global__ void __launch_bounds__(256) radix_count(
    const key_t* __restrict__ keys, unsigned* counts, index_t length, index_t tiles, int shift)
{
    __shared__ unsigned bins[RADIX];
    bins[threadIdx.x] = 0;
    __syncthreads();
    const index_t line = blockIdx.x / tiles, tile = blockIdx.x - line * tiles;
    for (int k = 0; k < TILE; k += 256) {
        const index_t at = tile * TILE + k + threadIdx.x;
        if (at < length) atomicAdd(&bins[xo_digit(keys[line * length + at], shift)], 1u);
    }
    __syncthreads();
    counts[(line * RADIX + threadIdx.x) * tiles + tile] = bins[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(32) radix_scan(unsigned* counts, unsigned* totals, index_t tiles) {
    const unsigned lane = threadIdx.x;
    unsigned* row = counts + (index_t)blockIdx.x * tiles;
    unsigned carry = 0;
    for (index_t start = 0; start < tiles; start += 32) {
        const index_t at = start + lane;
        const unsigned value = at < tiles ? row[at] : 0;
        unsigned sum = value;
        #pragma unroll
        for (unsigned distance = 1; distance < 32; distance *= 2) {
            const unsigned other = __shfl_up_sync(0xffffffffu, sum, distance);
            if (lane >= distance) sum += other;
        }
        if (at < tiles) row[at] = carry + sum - value;
        carry += __shfl_sync(0xffffffffu, sum, 31);
    }
    if (lane == 0) totals[blockIdx.x] = carry;
}

extern "C" __global__ void __launch_bounds__(256) radix_place(
    const key_t* __restrict__ keys, const pay_t* __restrict__ pays, key_t* keys_to, pay_t* pays_to,
    const unsigned* __restrict__ counts, const unsigned* __restrict__ totals, index_t length, index_t tiles, int shift)
{
    __shared__ unsigned warp_counts[WARPS][RADIX];
    __shared__ unsigned starts[RADIX], bases[RADIX];
    __shared__ key_t key_room[TILE];
    __shared__ pay_t pay_room[TILE];
    const unsigned t = threadIdx.x, warp = t / 32, lane = t % 32;
    const index_t line = blockIdx.x / tiles, tile = blockIdx.x - line * tiles;
    const index_t first = tile * TILE;
    const index_t present = length - first < TILE ? length - first : TILE;
    const key_t* from = keys + line * length + first;
    #pragma unroll
    for (int w = 0; w < WARPS; ++w) warp_counts[w][t] = 0;
    __syncthreads();
    key_t key[ITEMS];
    unsigned rank[ITEMS];
    #pragma unroll
    for (int r = 0; r < ITEMS; ++r) {
        const index_t at = (index_t)(warp * ITEMS + r) * 32 + lane;
        const bool here = at < present;
        key[r] = here ? from[at] : key_t();
        const unsigned digit = here ? xo_digit(key[r], shift) : RADIX;
        const unsigned equal = __match_any_sync(0xffffffffu, digit);
        const unsigned before = __popc(equal & ((1u << lane) - 1u));
        rank[r] = here ? warp_counts[warp][digit] + before : 0;
        __syncwarp();
        if (here && before == 0) warp_counts[warp][digit] += __popc(equal);
        __syncwarp();
    }
    __syncthreads();
    unsigned total = 0;
    #pragma unroll
    for (int w = 0; w < WARPS; ++w) {
        const unsigned count = warp_counts[w][t];
        warp_counts[w][t] = total;
        total += count;
    }
    // `key_room` is not in use yet.
    unsigned* room = reinterpret_cast<unsigned*>(key_room);
    starts[t] = xo_before(total, room);
    bases[t] = xo_before(totals[line * RADIX + t], room) + counts[(line * RADIX + t) * tiles + tile];
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < ITEMS; ++r) {
        const index_t at = (index_t)(warp * ITEMS + r) * 32 + lane;
        if (at >= present) continue;
        const unsigned digit = xo_digit(key[r], shift);
        const unsigned place = starts[digit] + warp_counts[warp][digit] + rank[r];
        key_room[place] = key[r];
        pay_room[place] = pays[line * length + first + at];
    }
    __syncthreads();
    for (index_t i = t; i < present; i += 256) {
        const key_t value = key_room[i];
        const unsigned digit = xo_digit(value, shift);
        const index_t to = line * length + bases[digit] + ((unsigned)i - starts[digit]);
        keys_to[to] = value;
        pays_to[to] = pay_room[i];
    }
}
