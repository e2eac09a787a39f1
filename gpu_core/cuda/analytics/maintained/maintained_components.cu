// maintained_components.cu -- levels that prove components: looked after, mended, and joined.
//
// Caller      gpu_core/cuda/analytics/maintained/maintained_components.py: which kernels follow one another
// Meaning     of roots and levels: gpu_core/algorithms/maintained/maintained_components.py
//
// Level       u32 by vertex index; UNPROVEN: the vertex has no neighbor below it, or none that is proven.
//             A compare-and-swap gives or takes a level, so one thread alone has done it, and whoever reads a
//             level may build on it. Roots and levels are read past the L1 cache.
// Loops       `spread` and `climb` go through levels of a queue, as of frontier.cuh, until there is
//             nothing left. The host starts all kernels of a repair without looking: each ends at
//             once where a loop before it has more to do, or where the repair is broken off.
// Order       levels, roots and queues depend on scheduling; which vertices have the same root does not
#include "frontier.cuh"

constexpr u32 UNPROVEN = 0xFFFFFFFFu;
// Levels above this are not given: they would not fit.
constexpr u32 HIGHEST = 0xFFFFFFF0u;
// Entries that a lane looks at by itself; the rest of a row is for the whole warp.
constexpr u32 LANE_ENTRIES = 8;

// Rows of either direction that were queued. The frontier has the items `first` … `end - 1`.
struct Queue {
    u64 tail[2];
    u64 first[2];
    u64 end[2];
    // Entries of all rows, of those up to the end of the frontier, and of the frontier.
    u64 entries;
    u64 known;
    u64 heavy;
};

// What was lost; what climbs from there; what was joined; what climbs from there.
constexpr u32 LOST = 0;
constexpr u32 JOINED = 2;

// All 0 before. `maintained_components.py: _STATE_DTYPE` is its twin.
struct State {
    Queue queues[4];
    // Whether the repair is broken off, a level would not fit, and roots were hooked.
    u64 broken;
    u64 too_high;
    u64 hooked;
    u64 ticket;
};

// `maintained_components.py: _GRAPH_DTYPE` is its twin.
struct Graph {
    // Rows of out-neighbors, and, where there are two directions, of in-neighbors.
    Rows out;
    Rows into;
    u64 directions;
    u64 count;
    // Items that a queue has for each direction.
    u64 queue_items;
    // Entries of rows that may be queued.
    u64 most;
    State* state;
    // u64[2][2][queue_items]: of a queue and the one that climbs from there, of each direction.
    u64* items;
    // u32 by vertex index; `was`: the level that an unproven vertex had.
    u32* root;
    u32* level;
    u32* size;
    u32* was;
};

__device__ __forceinline__ Rows rows_of(const Graph& graph, u32 direction) {
    return direction ? graph.into : graph.out;
}

__device__ __forceinline__ u64* items_of(const Graph& graph, u32 number, u32 direction) {
    return graph.items + ((number & 1) * 2 + direction) * graph.queue_items;
}

// Whether a loop before this one has more to do, or the repair is broken off. No kernel whose loop has
// this number changes that before all its threads have asked.
__device__ __forceinline__ bool waits(const State* state, u32 number) {
    bool answer = __ldcg(&state->broken) != 0;
    for (u32 before = 0; before < number; ++before) {
        answer |= __ldcg(&state->queues[before].heavy) != 0;
    }
    return answer;
}

// Make what was queued the frontier. One thread calls, behind all others.
__device__ __forceinline__ void end_level(const Graph& graph, Queue* queue) {
    for (u32 direction = 0; direction < 2; ++direction) {
        queue->first[direction] = queue->end[direction];
        queue->end[direction] = __ldcg(&queue->tail[direction]);
    }
    const u64 entries = __ldcg(&queue->entries);
    queue->heavy = entries - queue->known;
    queue->known = entries;
    if (entries > graph.most || __ldcg(&graph.state->too_high)) {
        graph.state->broken = 1;
        queue->heavy = 0;
    }
}

// Queue the rows of vertices, one a lane, in every direction. All lanes of the warp call.
__device__ __forceinline__ void queue_rows(const Graph& graph, u32 number, bool is_queued, u32 vertex,
                                           u64& entries) {
    if (!__any_sync(FULL_WARP, is_queued)) return;
    for (u32 direction = 0; direction < graph.directions; ++direction) {
        const u32 degree = is_queued ? rows_of(graph, direction).degree[vertex] : 0;
        entries += degree;
        queue_vertices(is_queued, vertex, degree, &graph.state->queues[number].tail[direction],
                       items_of(graph, number, direction));
    }
}

// Add up the entries that the threads of a block have queued. All of them call.
template <int SIZE>
__device__ __forceinline__ void add_entries(const Graph& graph, u32 number, u64 entries) {
    const u64 total = block_sum<u64, SIZE>(entries);
    if (threadIdx.x == 0 && total) atomicAdd(&graph.state->queues[number].entries, total);
}

__device__ __forceinline__ bool is_last(const Graph& graph) {
    return is_last_block(reinterpret_cast<u32*>(&graph.state->ticket)) && threadIdx.x == 0;
}

// Call visit(has_entry, entry, neighbor) for the entries of items of a queue, of either direction.
template <int SIZE, class Visit>
__device__ __forceinline__ void for_neighbors(const Graph& graph, u32 number, const u64* begin,
                                              const u64* end, Visit visit) {
    for (u32 direction = 0; direction < graph.directions; ++direction) {
        const Rows rows = rows_of(graph, direction);
        for_entries<SIZE>(rows, items_of(graph, number, direction),
                          begin ? __ldcg(&begin[direction]) : 0, __ldcg(&end[direction]),
                          [&](bool has_entry, const Entry& entry) {
                              visit(has_entry, entry, has_entry ? rows.columns[entry.place] : 0);
                          });
    }
}

// Whether a vertex is below another one of this root, level and index.
__device__ __forceinline__ bool is_below(const Graph& graph, u32 neighbor, u32 root, u32 level,
                                         u32 vertex) {
    const u32 other = __ldcg(&graph.level[neighbor]);
    if (other > level || (other == level && neighbor >= vertex)) return false;
    return __ldcg(&graph.root[neighbor]) == root;
}

// Whether each lane's vertex, of this level, has a neighbor below it. All lanes of the warp call.
__device__ __forceinline__ bool is_held(const Graph& graph, bool is_asked, u32 vertex, u32 level) {
    const u32 lane = lane_of_thread();
    const u32 root = is_asked ? __ldcg(&graph.root[vertex]) : 0;
    bool is_found = false;
    for (u32 direction = 0; direction < graph.directions; ++direction) {
        const Rows rows = rows_of(graph, direction);
        u32 degree = 0;
        i64 begin = 0;
        if (is_asked && !is_found) {
            degree = rows.degree[vertex];
            begin = rows.begin[vertex];
        }
        for (u32 i = 0; i < min(degree, LANE_ENTRIES) && !is_found; ++i) {
            is_found = is_below(graph, rows.columns[begin + i * rows.step], root, level, vertex);
        }
        u32 waiting = __ballot_sync(FULL_WARP, !is_found && degree > LANE_ENTRIES);
        while (waiting) {
            const int owner = __ffs(waiting) - 1;
            waiting &= waiting - 1;
            const u32 length = __shfl_sync(FULL_WARP, degree, owner);
            const i64 row = __shfl_sync(FULL_WARP, begin, owner);
            const u32 own_root = __shfl_sync(FULL_WARP, root, owner);
            const u32 own_level = __shfl_sync(FULL_WARP, level, owner);
            const u32 own = __shfl_sync(FULL_WARP, vertex, owner);
            bool is_met = false;
            for (u32 i = LANE_ENTRIES; i < length && !is_met; i += WARP) {
                const bool here =
                    i + lane < length && is_below(graph, rows.columns[row + (i + lane) * rows.step],
                                                  own_root, own_level, own);
                is_met = __any_sync(FULL_WARP, here);
            }
            if (static_cast<int>(lane) == owner) is_found = is_met;
        }
    }
    return is_found;
}

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
// Launch      LEVEL_THREADS threads, a thread an edge
// Reads       removed  u64[edges], keys as of gpu_core/changes.py
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) list_lost(const Graph graph,
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
    add_entries<LEVEL_THREADS>(graph, LOST, entries);
    if (is_last(graph)) end_level(graph, &graph.state->queues[LOST]);
}

// Find the vertices without a level, of a graph that was searched from the root of all vertices.
//
// Launch      LEVEL_THREADS threads, a thread a vertex
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) list_unproven(const Graph graph,
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
    const u32 alone = block_sum<u32, LEVEL_THREADS>(is_alone);
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
    while (true) {
        const u64 heavy = __ldcg(&queue->heavy);
        if (heavy == 0 || heavy > most) return;
        level();
        meet();
        if (thread_of_grid() == 0) end_level(graph, queue);
        meet();
    }
}

template <class Level>
__device__ __forceinline__ void large_level(const Graph& graph, u32 number, Level level) {
    Queue* const queue = &graph.state->queues[number];
    if (waits(graph.state, number) || __ldcg(&queue->heavy) == 0) return;
    level();
    if (is_last(graph)) end_level(graph, queue);
}

// Launch      `spread_small`, `climb_small`: SMALL_THREADS threads, as many blocks as can wait for one
//             another; `spread_large`, `climb_large`: LEVEL_THREADS threads, as many blocks as the device
//             runs at once
// Parameters  number  of the queue
//             most    entries of a small level
extern "C" __global__ void __launch_bounds__(SMALL_THREADS, 1) IN_CLUSTER
spread_small(const Graph graph, const u32 number, const u64 most) {
    small_levels(graph, number, most, [&] { spread_level<SMALL_THREADS>(graph); });
}

extern "C" __global__ void __launch_bounds__(LEVEL_THREADS, 4) spread_large(const Graph graph,
                                                                          const u32 number) {
    large_level(graph, number, [&] { spread_level<LEVEL_THREADS>(graph); });
}

extern "C" __global__ void __launch_bounds__(SMALL_THREADS, 1) IN_CLUSTER
climb_small(const Graph graph, const u32 number, const u64 most) {
    small_levels(graph, number, most, [&] { climb_level<SMALL_THREADS>(graph, number); });
}

extern "C" __global__ void __launch_bounds__(LEVEL_THREADS, 4) climb_large(const Graph graph,
                                                                         const u32 number) {
    large_level(graph, number, [&] { climb_level<LEVEL_THREADS>(graph, number); });
}

// Give levels to the vertices of a queue that have a proven neighbor in their component.
//
// Launch      LEVEL_THREADS threads; as many blocks as the device runs at once
// Parameters  from  of the queue, LOST or JOINED; those that climb are queued in the next one
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) begin_to_climb(const Graph graph,
                                                                            const u32 from) {
    const u32 number = from + 1;
    if (waits(graph.state, number)) return;
    u64 entries = 0;
    for_neighbors<LEVEL_THREADS>(graph, from, nullptr, graph.state->queues[from].tail,
                                 [&](bool has_entry, const Entry& entry, u32 neighbor) {
                                     raise(graph, number, has_entry, entry.vertex, neighbor,
                                           entries);
                                 });
    add_entries<LEVEL_THREADS>(graph, number, entries);
    if (is_last(graph)) end_level(graph, &graph.state->queues[number]);
}

// Have the vertices that nobody has reached be components of their own.
//
// Launch      LEVEL_THREADS threads; as many blocks as the device runs at once
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) separate_cut(const Graph graph) {
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
// index. So who is hooked under another comes behind it, and there are no circles.
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
// Launch      LEVEL_THREADS threads; as many blocks as the device runs at once
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) hook_cut(const Graph graph) {
    if (waits(graph.state, JOINED)) return;
    for_neighbors<LEVEL_THREADS>(graph, LOST, nullptr, graph.state->queues[LOST].tail,
                                 [&](bool has_entry, const Entry& entry, u32 neighbor) {
                                     if (has_entry && graph.level[entry.vertex] == 0) {
                                         hook(graph, entry.vertex, neighbor);
                                     }
                                 });
}

// Hook by added edges.
//
// Launch      LEVEL_THREADS threads, a thread an edge
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) hook_added(const Graph graph,
                                                                        const u64* __restrict__ added,
                                                                        const u64 edges) {
    const u64 number = thread_of_grid();
    if (waits(graph.state, JOINED) || number >= edges) return;
    hook(graph, static_cast<u32>(added[number] >> 32), static_cast<u32>(added[number]));
}

// Give the vertices of components that were hooked their new root, and take their levels.
//
// Launch      LEVEL_THREADS threads, a thread a vertex
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) list_joined(const Graph graph) {
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
    add_entries<LEVEL_THREADS>(graph, JOINED, entries);
    if (is_last(graph) && __ldcg(&graph.state->queues[JOINED].entries) > graph.most) {
        graph.state->broken = 1;
    }
}

// Tell for every vertex whether it is no root, and has no neighbor below it.
//
// Launch      LEVEL_THREADS threads, a thread a vertex
// Writes      unproven  u8[count]
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS, 4) tell_unproven(const Graph graph,
                                                                           u8* __restrict__ unproven) {
    const u64 index = thread_of_grid();
    const u32 vertex = static_cast<u32>(index);
    const u32 level = index < graph.count ? graph.level[vertex] : 0;
    const bool is_asked = index < graph.count && (level != 0 || graph.root[vertex] != vertex);
    const bool is_found = is_held(graph, is_asked, vertex, level);
    if (index < graph.count) unproven[index] = is_asked && !is_found;
}
