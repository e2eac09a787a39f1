// clustering.cu -- counts by vertex as columns by users' ids, and their quotient.
//
// Caller      gpu_core/cuda/analytics/triangles/clustering.py
// Host twin   gpu_core/host/analytics/triangles/clustering.py: the same bits, as whole numbers are divided once
#include "block.cuh"


// Local clustering coefficients; and counts in the order of users' ids, where it is another.
//
// Launch      one thread a vertex of the graph
// Reads       order      u32[n], vertex indices in the order of users' ids; null: 0, 1, 2 …
//             degrees    u32[vertex_count], and so on: of triangles.cu
//             links      ordered pairs of neighbors with an edge; null: twice the triangles; with
//                        both_ways directed triangles
//             both_ways  u32[vertex_count], neighbors with edges both ways; null: they count once
// Writes      degree, triangles  u32[n], u64[n]; not written without an order
//             coefficients       f64[n]
extern "C" __global__ void write_columns(const u32* __restrict__ order, const i64 n,
                                         const u32* __restrict__ degrees,
                                         const u64* __restrict__ counts,
                                         const u64* __restrict__ links,
                                         const u32* __restrict__ both_ways,
                                         u32* __restrict__ degree,
                                         u64* __restrict__ triangles,
                                         double* __restrict__ coefficients) {
    const i64 i = thread_of_grid();
    if (i >= n) return;
    const i64 vertex = order ? order[i] : i;
    const u64 neighbors = degrees[vertex];
    const u64 found = counts[vertex];
    if (order) {
        degree[i] = static_cast<u32>(neighbors);
        triangles[i] = found;
    }
    const u64 both = both_ways ? both_ways[vertex] : 0;
    const u64 ends = neighbors + both;
    // A pair of edges to one neighbor, there and back, is a side of no triangle.
    const u64 pairs = ends < 2 ? 0 : ends * (ends - 1) - 2 * both;
    const u64 linked = links ? links[vertex] : 2 * found;
    coefficients[i] = pairs ? static_cast<double>(linked) / static_cast<double>(pairs) : 0.0;
}

// Triangles at all vertices, and ordered pairs of their neighbors.
//
// Launch      THREADS threads
// Reads       degree  u32[n]; triangles  u64[n]
// Writes      totals  u64[2], 0 before
extern "C" __global__ void __launch_bounds__(THREADS) add_counts(
        const u32* __restrict__ degree, const u64* __restrict__ triangles, const i64 n, u64* totals) {
    u64 sums[2] = {};
    for (i64 i = thread_of_grid(); i < n; i += threads_of_grid()) {
        const u64 neighbors = degree[i];
        sums[0] += triangles[i];
        sums[1] += neighbors ? neighbors * (neighbors - 1) : 0;
    }
    block_sums<u64, THREADS>(sums);
    if (threadIdx.x > 0) return;
    atomicAdd(&totals[0], sums[0]);
    atomicAdd(&totals[1], sums[1]);
}
