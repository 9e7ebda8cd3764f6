// One round of relaxation of a distance field on a lattice: every free vertex takes one more than its nearest neighbour, where
// that is less than what it has.
//
// Contract: dist and out are row-major, one int per vertex; -1 is blocked and stays, FAR is not reached yet. layout holds whether
// axes are rings, then the size of each axis. One thread per vertex, no shared memory. n < 2^31.
// Bytes: 8 per vertex and round from memory or second-level cache; neighbours along the last axis come from the first level.

extern "C" __global__ void lattice_relax(
    const int* dist, const long long* layout, int* out, long long n, long long entries)
{
    const unsigned vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= (unsigned)n) return;
    const int now = dist[vertex];
    if (now <= 0) {
        // Blocked, or a source.
        out[vertex] = now;
        return;
    }
    const bool ring = layout[0] != 0;
    int best = now;
    unsigned rest = vertex, stride = 1;
    for (int axis = (int)entries - 1; axis >= 1; --axis) {
        const unsigned size = (unsigned)layout[axis];
        const unsigned at = rest % size;
        rest /= size;
        const unsigned around = (size - 1) * stride;
        if (at > 0 || (ring && size > 2)) {
            const int near = dist[at > 0 ? vertex - stride : vertex + around];
            if (near >= 0 && near + 1 < best) best = near + 1;
        }
        if (at + 1 < size || (ring && size > 2)) {
            const int near = dist[at + 1 < size ? vertex + stride : vertex - around];
            if (near >= 0 && near + 1 < best) best = near + 1;
        }
        stride *= size;
    }
    out[vertex] = best;
}
