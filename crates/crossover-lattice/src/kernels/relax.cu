// Relaxation of a distance field on a lattice: every free vertex takes one more than its nearest neighbour, where that is less than what
// it has. A block relaxes its tile until nothing in it changes, so that one round carries distances across a tile and not one step.
//
// Contract: dist and out are row-major, one int per vertex; -1 is blocked and stays, FAR is not reached yet. layout holds whether axes are rings,
// then the size of each axis. n < 2^31. What a tile ends with is its own fixed point given its surroundings as they were, whatever the
// order of threads.
// Launch: 1024 threads, one block per tile: 32 by 32 along the last two axes, or 1024 along the only one. Shared memory: 4 KiB, declared here.
// Bytes: 8 per vertex and round, and 4 for each neighbour outside of the tile.

constexpr int FAR = 0x7fffffff / 2;
constexpr int SIDE = 32;

__device__ void nearer(int near, int& best)
{
    if (near >= 0 && near + 1 < best) best = near + 1;
}

extern "C" __global__ void __launch_bounds__(SIDE * SIDE) lattice_relax(
    const int* dist, const long long* layout, int* out, long long n, long long entries)
{
    __shared__ int tile[SIDE * SIDE];
    const int axes = (int)entries - 1;
    const bool ring = layout[0] != 0;
    const unsigned columns = (unsigned)layout[axes];
    const unsigned rows = axes > 1 ? (unsigned)layout[axes - 1] : 1;
    const unsigned width = axes > 1 ? SIDE : SIDE * SIDE, height = axes > 1 ? SIDE : 1;
    const unsigned across = (columns + width - 1) / width, down = (rows + height - 1) / height;
    const unsigned plane = blockIdx.x / (across * down);
    const unsigned x0 = blockIdx.x % across * width, y0 = blockIdx.x / across % down * height;
    const unsigned tx = threadIdx.x % width, ty = threadIdx.x / width;
    const unsigned x = x0 + tx, y = y0 + ty;
    const bool inside = x < columns && y < rows;
    const unsigned vertex = (plane * rows + y) * columns + x;
    const int now = inside ? dist[vertex] : -1;
    // Sources stay, and so does what is blocked.
    const bool open = now > 0;
    int value = now < 0 ? FAR : now;
    if (open) {
        unsigned rest = vertex, stride = 1;
        for (int axis = axes; axis >= 1; --axis) {
            const unsigned size = (unsigned)layout[axis];
            const unsigned at = rest % size;
            rest /= size;
            const unsigned around = (size - 1) * stride;
            // Neighbours in the tile change while it is relaxed; these do not.
            const bool last = axis == axes, second = axis == axes - 1;
            const bool before = last ? tx > 0 : second && ty > 0;
            const bool after = last ? tx + 1 < width && x + 1 < columns : second && ty + 1 < height && y + 1 < rows;
            if (!before && (at > 0 || (ring && size > 2))) nearer(dist[at > 0 ? vertex - stride : vertex + around], value);
            if (!after && (at + 1 < size || (ring && size > 2))) {
                nearer(dist[at + 1 < size ? vertex + stride : vertex - around], value);
            }
            stride *= size;
        }
    }
    const unsigned me = threadIdx.x;
    tile[me] = value;
    for (int step = 0; step < SIDE * SIDE; ++step) {
        __syncthreads();
        int best = value;
        if (open) {
            if (tx > 0) nearer(tile[me - 1], best);
            if (tx + 1 < width) nearer(tile[me + 1], best);
            if (ty > 0) nearer(tile[me - width], best);
            if (ty + 1 < height) nearer(tile[me + width], best);
        }
        // All have read before any writes.
        if (!__syncthreads_or(best < value)) break;
        value = best;
        tile[me] = value;
    }
    if (inside) out[vertex] = now < 0 ? now : value;
}
