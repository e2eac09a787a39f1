// maintained_components.cu -- levels that prove connectivity, checked, repaired and joined.
//
// Caller      gpu_core/cuda/analytics/maintained/maintained_components.py: which kernels follow one another
// Meaning     of roots and levels: gpu_core/algorithms/maintained/maintained_components.py
//
// Loops       `spread` and `climb` go through levels of a queue, as of frontier.cuh, until there is
//             nothing left. The host starts all kernels of a repair without looking: each ends at
//             once where a loop before it has more to do, or where the repair is broken off.
// Order       levels, roots and queues depend on scheduling; which vertices have the same root does not
#include "forest.cuh"

// Have an unproven vertex be a component of its own.
__device__ __forceinline__ void separate(const Graph& graph, u32 vertex) {
    atomicSub(&graph.size[__ldcg(&graph.root[vertex])], 1u);
    graph.root[vertex] = vertex;
    graph.size[vertex] = 1;
    graph.level[vertex] = 0;
}

__device__ __forceinline__ bool has_entries(const Graph& graph, u32 vertex) {
    return graph.out.degree[vertex] || (graph.directions > 1 && graph.into.degree[vertex]);
}

// Take the levels of vertices, one a lane, and queue them. All lanes of the warp call.
__device__ __forceinline__ void lose(const Graph& graph, bool is_lost, u32 vertex, u32 level,
                                     u64& entries) {
    is_lost = is_lost && atomicCAS(&graph.level[vertex], level, UNPROVEN) == level;
    if (is_lost) {
        graph.was[vertex] = level;
        if (!has_entries(graph, vertex)) {
            // Nothing can be reached from it, and no queue has rows without entries.
            separate(graph, vertex);
            is_lost = false;
        }
    }
    queue_rows(graph, LOST, is_lost, vertex, entries);
}

// Find the ends of removed edges that have no neighbor below them any more.
//
// Launch      THREADS threads, a thread an edge
// Reads       removed  u64[edges], keys as of gpu_core/changes.py
extern "C" __global__ void __launch_bounds__(THREADS) list_lost(const Graph graph,
                                                                       const u64* __restrict__ removed,
                                                                       const u64 edges) {
    const u64 number = thread_of_grid();
    u32 vertex = 0, level = 0;
    if (number < edges) {
        const u32 one = static_cast<u32>(removed[number] >> 32);
        const u32 other = static_cast<u32>(removed[number]);
        const u32 ones = __ldcg(&graph.level[one]);
        const u32 others = __ldcg(&graph.level[other]);
        bool is_other = ones < others || (ones == others && one < other);
        // An unproven end has been found by another thread, and says nothing of what it was: so the
        // other end is looked at.
        if (max(ones, others) == UNPROVEN) is_other = !is_other;
        vertex = is_other ? other : one;
        level = one == other ? 0 : is_other ? others : ones;
    }
    // Level 0: a root, or a vertex that has become one.
    const bool is_asked = level != 0 && level != UNPROVEN;
    const bool is_found = is_held(graph, is_asked, vertex, level);
    u64 entries = 0;
    lose(graph, is_asked && !is_found, vertex, level, entries);
    add_entries<THREADS>(graph, LOST, entries);
    if (is_last(graph)) end_level(graph, &graph.state->queues[LOST]);
}

// Find the vertices without a level, of a graph that was searched from the root of all vertices.
//
// Launch      THREADS threads, a thread a vertex
extern "C" __global__ void __launch_bounds__(THREADS) list_unproven(const Graph graph,
                                                                           const u32 first) {
    const u64 vertex = thread_of_grid();
    const bool is_lost = vertex < graph.count && graph.level[vertex] == UNPROVEN;
    const bool is_alone = is_lost && !has_entries(graph, static_cast<u32>(vertex));
    if (is_alone) {
        graph.root[vertex] = static_cast<u32>(vertex);
        graph.size[vertex] = 1;
        graph.level[vertex] = 0;
    }
    // There may be as many as vertices: a block counts its own.
    const u32 alone = block_sum<u32, THREADS>(is_alone);
    if (threadIdx.x == 0 && alone) atomicSub(&graph.size[first], alone);
    u64 entries = 0;
    queue_rows(graph, LOST, is_lost && !is_alone, static_cast<u32>(vertex), entries);
}

// Find the vertices above the frontier that have no proven neighbor below them.
template <int SIZE>
__device__ __forceinline__ void spread_level(const Graph& graph) {
    const Queue* const queue = &graph.state->queues[LOST];
    u64 entries = 0;
    for_neighbors<SIZE>(
        graph, LOST, queue->first, queue->end,
        [&](bool has_entry, const Entry& entry, u32 neighbor) {
            const u32 level = has_entry ? __ldcg(&graph.level[neighbor]) : UNPROVEN;
            bool is_asked = level != UNPROVEN;
            if (is_asked) {
                const u32 was = __ldcg(&graph.was[entry.vertex]);
                is_asked = (level > was || (level == was && neighbor > entry.vertex)) &&
                           __ldcg(&graph.root[neighbor]) == __ldcg(&graph.root[entry.vertex]);
            }
            if (!__any_sync(FULL_WARP, is_asked)) return;
            const bool is_found = is_held(graph, is_asked, neighbor, level);
            lose(graph, is_asked && !is_found, neighbor, level, entries);
        });
    add_entries<SIZE>(graph, LOST, entries);
}

// Give vertices levels above a proven neighbor of theirs, and queue them. All lanes of the warp call.
__device__ __forceinline__ void raise(const Graph& graph, u32 number, bool has_entry, u32 vertex,
                                      u32 below, u64& entries) {
    bool is_raised = false;
    if (has_entry && __ldcg(&graph.level[vertex]) == UNPROVEN) {
        const u32 level = __ldcg(&graph.level[below]);
        if (level != UNPROVEN && __ldcg(&graph.root[below]) == __ldcg(&graph.root[vertex])) {
            if (level > HIGHEST) {
                graph.state->too_high = 1;
            } else {
                is_raised = atomicCAS(&graph.level[vertex], UNPROVEN, level + 1) == UNPROVEN;
            }
        }
    }
    queue_rows(graph, number, is_raised, vertex, entries);
}

// Give levels to the unproven neighbors of the frontier.
template <int SIZE>
__device__ __forceinline__ void climb_level(const Graph& graph, u32 number) {
    const Queue* const queue = &graph.state->queues[number];
    u64 entries = 0;
    for_neighbors<SIZE>(graph, number, queue->first, queue->end,
                        [&](bool has_entry, const Entry& entry, u32 neighbor) {
                            raise(graph, number, has_entry, neighbor, entry.vertex, entries);
                        });
    add_entries<SIZE>(graph, number, entries);
}

// Go through one level after the other, while each has at most so many entries: `large_level` does not.
template <class Level>
__device__ __forceinline__ void small_levels(const Graph& graph, u32 number, u64 most, Level level) {
    if (waits(graph.state, number)) return;
    Queue* const queue = &graph.state->queues[number];
    meet_rounds([&] { return __ldcg(&queue->heavy) > 0 && __ldcg(&queue->heavy) <= most; }, level,
                [&] { end_level(graph, queue); });
}

template <class Level>
__device__ __forceinline__ void large_level(const Graph& graph, u32 number, Level level) {
    Queue* const queue = &graph.state->queues[number];
    if (waits(graph.state, number) || __ldcg(&queue->heavy) == 0) return;
    level();
    if (is_last(graph)) end_level(graph, queue);
}

// Launch      `spread_small`, `climb_small`: SMALL_THREADS threads, as many blocks as can wait for one
//             another; `spread_large`, `climb_large`: THREADS threads, as many blocks as the device
//             runs at once
// Parameters  number  of the queue
//             most    entries of a small level
extern "C" __global__ void __launch_bounds__(SMALL_THREADS, 1) IN_CLUSTER
spread_small(const Graph graph, const u32 number, const u64 most) {
    small_levels(graph, number, most, [&] { spread_level<SMALL_THREADS>(graph); });
}

extern "C" __global__ void __launch_bounds__(THREADS, 4) spread_large(const Graph graph,
                                                                          const u32 number) {
    large_level(graph, number, [&] { spread_level<THREADS>(graph); });
}

extern "C" __global__ void __launch_bounds__(SMALL_THREADS, 1) IN_CLUSTER
climb_small(const Graph graph, const u32 number, const u64 most) {
    small_levels(graph, number, most, [&] { climb_level<SMALL_THREADS>(graph, number); });
}

extern "C" __global__ void __launch_bounds__(THREADS, 4) climb_large(const Graph graph,
                                                                         const u32 number) {
    large_level(graph, number, [&] { climb_level<THREADS>(graph, number); });
}

// Give levels to the vertices of a queue that have a proven neighbor in their component.
//
// Launch      THREADS threads; as many blocks as the device runs at once
// Parameters  from  of the queue, LOST or JOINED; those that climb are queued in the next one
extern "C" __global__ void __launch_bounds__(THREADS) begin_to_climb(const Graph graph,
                                                                            const u32 from) {
    const u32 number = from + 1;
    if (waits(graph.state, number)) return;
    u64 entries = 0;
    for_neighbors<THREADS>(graph, from, nullptr, graph.state->queues[from].tail,
                                 [&](bool has_entry, const Entry& entry, u32 neighbor) {
                                     raise(graph, number, has_entry, entry.vertex, neighbor,
                                           entries);
                                 });
    add_entries<THREADS>(graph, number, entries);
    if (is_last(graph)) end_level(graph, &graph.state->queues[number]);
}

// Have the vertices that were not reached be components of their own.
//
// Launch      THREADS threads; as many blocks as the device runs at once
extern "C" __global__ void __launch_bounds__(THREADS) separate_cut(const Graph graph) {
    if (waits(graph.state, JOINED)) return;
    for (u32 direction = 0; direction < graph.directions; ++direction) {
        const u64* const items = items_of(graph, LOST, direction);
        const u64 tail = graph.state->queues[LOST].tail[direction];
        for (u64 at = thread_of_grid(); at < tail; at += threads_of_grid()) {
            const u32 vertex = static_cast<u32>(items[at]);
            // It is queued for each piece of its rows: the first one to come takes it.
            if (atomicCAS(&graph.level[vertex], UNPROVEN, 0u) == UNPROVEN) separate(graph, vertex);
        }
    }
}

// Hook the root of the smaller of two components under the other one; of equal ones that with the larger
// index. So a root that is hooked under another has a larger index, and there are no cycles.
__device__ __forceinline__ void hook(const Graph& graph, u32 one, u32 other) {
    u32 over = __ldcg(&graph.root[one]);
    u32 under = __ldcg(&graph.root[other]);
    while (over != under) {
        const u32 overs = graph.size[over];
        const u32 unders = graph.size[under];
        if (overs < unders || (overs == unders && over > under)) {
            const u32 smaller = over;
            over = under;
            under = smaller;
        }
        const u32 above = __ldcg(&graph.root[under]);
        if (above == over) return;
        if (above == under && atomicCAS(&graph.root[under], under, over) == under) {
            graph.state->hooked = 1;
            return;
        }
        under = __ldcg(&graph.root[__ldcg(&graph.root[under])]);
        over = __ldcg(&graph.root[over]);
    }
}

// Hook by all edges of the vertices that have become components.
//
// Launch      THREADS threads; as many blocks as the device runs at once
extern "C" __global__ void __launch_bounds__(THREADS) hook_cut(const Graph graph) {
    if (waits(graph.state, JOINED)) return;
    for_neighbors<THREADS>(graph, LOST, nullptr, graph.state->queues[LOST].tail,
                                 [&](bool has_entry, const Entry& entry, u32 neighbor) {
                                     if (has_entry && graph.level[entry.vertex] == 0) {
                                         hook(graph, entry.vertex, neighbor);
                                     }
                                 });
}

// Hook by added edges.
//
// Launch      THREADS threads, a thread an edge
extern "C" __global__ void __launch_bounds__(THREADS) hook_added(const Graph graph,
                                                                        const u64* __restrict__ added,
                                                                        const u64 edges) {
    const u64 number = thread_of_grid();
    if (waits(graph.state, JOINED) || number >= edges) return;
    hook(graph, static_cast<u32>(added[number] >> 32), static_cast<u32>(added[number]));
}

// Give the vertices of components that were hooked their new root, and take their levels.
//
// Launch      THREADS threads, a thread a vertex
extern "C" __global__ void __launch_bounds__(THREADS) list_joined(const Graph graph) {
    if (waits(graph.state, JOINED) || graph.state->hooked == 0) return;
    const u64 index = thread_of_grid();
    const u32 vertex = static_cast<u32>(index);
    bool is_joined = false;
    if (index < graph.count) {
        const u32 before = __ldcg(&graph.root[vertex]);
        u32 root = before;
        for (u32 above = __ldcg(&graph.root[root]); above != root;) {
            root = above;
            above = __ldcg(&graph.root[root]);
        }
        // What was a root has level 0, and another root now.
        const bool was_root = before != vertex && graph.level[vertex] == 0;
        is_joined = was_root || root != before;
        if (was_root) atomicAdd(&graph.size[root], graph.size[vertex]);
        if (is_joined) {
            graph.root[vertex] = root;
            graph.level[vertex] = UNPROVEN;
        }
    }
    u64 entries = 0;
    queue_rows(graph, JOINED, is_joined, vertex, entries);
    add_entries<THREADS>(graph, JOINED, entries);
    if (is_last(graph) && __ldcg(&graph.state->queues[JOINED].entries) > graph.most) {
        graph.state->broken = 1;
    }
}

// Mark for every vertex whether it is no root, and has no neighbor below it.
//
// Launch      THREADS threads, a thread a vertex
// Writes      unproven  u8[count]
extern "C" __global__ void __launch_bounds__(THREADS, 4) mark_unproven(const Graph graph,
                                                                           u8* __restrict__ unproven) {
    const u64 index = thread_of_grid();
    const u32 vertex = static_cast<u32>(index);
    const u32 level = index < graph.count ? graph.level[vertex] : 0;
    const bool is_asked = index < graph.count && (level != 0 || graph.root[vertex] != vertex);
    const bool is_found = is_held(graph, is_asked, vertex, level);
    if (index < graph.count) unproven[index] = is_asked && !is_found;
}
