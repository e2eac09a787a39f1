// component_names.cu -- label components by the first of their vertices, in the order of ids.
//
// Caller      gpu_core/cuda/analytics/components/component_names.py
// Host twin   gpu_core/host/analytics/components/component_names.py
//
// Root        u32 by vertex index: the same index for all vertices of a component, of one of them
#include "block.cuh"

constexpr u32 NO_ROOT = 0xFFFFFFFFu;

// Find the first vertex of every component, in the order of users' ids.
//
// Launch      THREADS threads, a thread a vertex that is there
// Reads       order    u32[vertices]; null: 0, 1, 2 …
//             root     u32 by vertex index
// Writes      first    u32 by root, all bits set before: position in the order
extern "C" __global__ void __launch_bounds__(THREADS) find_first(const u32* __restrict__ order,
                                                                       const u64 vertices,
                                                                       const u32* __restrict__ root,
                                                                       u32* first) {
    const u64 position = thread_of_grid();
    const bool is_there = position < vertices;
    const u32 own = is_there ? root[order ? order[position] : position] : NO_ROOT;
    // The lane before has a position before: where most vertices are of one component, few lanes go on.
    const u32 before = __shfl_up_sync(FULL_WARP, own, 1);
    if (!is_there || (lane_of_thread() > 0 && before == own)) return;
    // Nearly all positions are after one that was seen before.
    if (__ldcg(&first[own]) > position) atomicMin(&first[own], static_cast<u32>(position));
}

// Call every vertex by the first of its component.
//
// Launch      THREADS threads, a thread a vertex
// Writes      root     the position of that vertex in the order; all bits set for absent ones
extern "C" __global__ void __launch_bounds__(THREADS) name_components(const u64 count,
                                                                            const u32* __restrict__ first,
                                                                            u32* root) {
    const u64 vertex = thread_of_grid();
    if (vertex < count) root[vertex] = first[root[vertex]];
}
