// changes.cu -- keys of the edges that a batch changes.
//
// Caller      gpu_core/cuda/update/changes.py
// Host twin   gpu_core/host/update/changes.py
#include "block.cuh"

// Undirected edges as lower index << 32 | higher index, directed ones as source << 32 | target.
//
// Launch      one thread an edge
extern "C" __global__ void edge_keys(const u32* __restrict__ sources,
                                     const u32* __restrict__ targets, const i64 edges,
                                     const i64 directed, u64* __restrict__ keys) {
    const i64 edge = thread_of_grid();
    if (edge >= edges) return;
    const u32 source = sources[edge];
    const u32 target = targets[edge];
    const bool is_in_order = directed || source < target;
    const u32 first = is_in_order ? source : target;
    keys[edge] = static_cast<u64>(first) << 32 | (is_in_order ? target : source);
}
