// frontier.cu -- the rows of vertices, queued for operators along their edges.
//
// Caller      gpu_core/cuda/analytics/parts/frontier.py
#include "frontier.cuh"

// Vertices that a thread queues together: every warp adds to the same tail.
constexpr int QUEUED_TOGETHER = 4;

// Launch      THREADS threads, one for QUEUED_TOGETHER vertices
// Reads       vertices  u32[count]; null: 0 … count - 1
//             degree    u32 by vertex
// Writes      tail      end of the queue, 0 before
extern "C" __global__ void __launch_bounds__(THREADS) queue_frontier(
        const u32* __restrict__ vertices, const u64 count, const u32* __restrict__ degree, u64* tail,
        u64* queue) {
    const u64 first = static_cast<u64>(blockIdx.x) * THREADS * QUEUED_TOGETHER + threadIdx.x;
    u32 queued[QUEUED_TOGETHER], degrees[QUEUED_TOGETHER];
#pragma unroll
    for (int k = 0; k < QUEUED_TOGETHER; ++k) {
        const u64 at = first + k * THREADS;
        queued[k] = vertices && at < count ? vertices[at] : static_cast<u32>(at);
        degrees[k] = at < count ? degree[queued[k]] : 0;
    }
    queue_vertices(queued, degrees, tail, queue);
}
