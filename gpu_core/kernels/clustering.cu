// clustering.cu -- what is counted at every vertex as columns by users' ids, and their quotient.
//
// Caller      gpu_core/cuda/clustering.py
// Host twin   gpu_core/host/clustering.py: the same bits, as whole numbers are divided once
#include "block.cuh"

// Local clustering coefficients; and counts in the order of users' ids, where it is another.
//
// Launch      one thread a vertex of the graph
// Reads       order      u32[n], vertex indices in the order of users' ids; null: 0, 1, 2 …
//             degrees    u32[vertex_count], and so on: of triangles.cu
//             edges      ordered pairs of neighbours with an edge; null: twice the triangles
// Writes      degree, triangles  u32[n], u64[n]; not written without an order
//             coefficients       f64[n]
extern "C" __global__ void write_columns(const u32* __restrict__ order, const i64 n,
                                         const u32* __restrict__ degrees,
                                         const u64* __restrict__ counts,
                                         const u64* __restrict__ edges, u32* __restrict__ degree,
                                         u64* __restrict__ triangles,
                                         double* __restrict__ coefficients) {
    const i64 i = thread_of_grid();
    if (i >= n) return;
    const i64 vertex = order ? order[i] : i;
    const u64 neighbours = degrees[vertex];
    const u64 found = counts[vertex];
    if (order) {
        degree[i] = static_cast<u32>(neighbours);
        triangles[i] = found;
    }
    const u64 pairs = neighbours < 2 ? 0 : neighbours * (neighbours - 1);
    const u64 linked = edges ? edges[vertex] : 2 * found;
    coefficients[i] = pairs ? static_cast<double>(linked) / static_cast<double>(pairs) : 0.0;
}
