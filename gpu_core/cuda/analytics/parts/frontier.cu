// frontier.cu -- the rows of vertices, queued for operators along their edges.
//
// Caller      gpu_core/cuda/analytics/parts/frontier.py
#include "frontier.cuh"

// Launch      THREADS threads, a thread a vertex
// Reads       vertices  u32[count]; null: 0 … count - 1
//             degree    u32 by vertex
// Writes      tail      end of the queue, 0 before
extern "C" __global__ void __launch_bounds__(THREADS) queue_frontier(
        const u32* __restrict__ vertices, const u64 count, const u32* __restrict__ degree, u64* tail,
        u64* queue) {
    const u64 at = thread_of_grid();
    u32 vertex = static_cast<u32>(at);
    if (vertices && at < count) vertex = vertices[at];
    queue_vertices(at < count, vertex, at < count ? degree[vertex] : 0, tail, queue);
}
