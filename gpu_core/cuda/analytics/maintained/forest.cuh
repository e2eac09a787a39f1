// forest.cuh -- state of maintained components: roots, levels, and queues of rows of both directions.
//
// Level       u32 by vertex index; UNPROVEN: the vertex has no neighbor below it, or none that is proven.
//             A compare-and-swap gives or takes a level, so one thread alone has done it, and a thread that reads a
//             level may build on it. Roots and levels are read past the L1 cache.
#pragma once
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

// All 0 before.
struct State {
    Queue queues[4];
    // Whether the repair is broken off, a level would not fit, and roots were hooked.
    u64 broken;
    u64 too_high;
    u64 hooked;
    u64 ticket;
};

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

// Make what was queued the frontier. One thread calls, after all others.
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
    add_up<SIZE>(entries, &graph.state->queues[number].entries);
}

__device__ __forceinline__ bool is_last(const Graph& graph) {
    return ends_round(&graph.state->ticket);
}

// Call visit(has_entry, entry, neighbor) for the entries of items of a queue, of either direction.
template <int SIZE, class Visit>
__device__ __forceinline__ void for_neighbors(const Graph& graph, u32 number, const u64* begin,
                                              const u64* end, Visit visit) {
    for (u32 direction = 0; direction < graph.directions; ++direction) {
        const Rows rows = rows_of(graph, direction);
        for_edges<SIZE>(rows, items_of(graph, number, direction),
                          begin ? __ldcg(&begin[direction]) : 0, __ldcg(&end[direction]),
                          [&](bool has_entry, const Entry& entry) {
                              visit(has_entry, entry, has_entry ? rows.columns[entry.position] : 0);
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
