// bfs.cu -- direction-optimizing breadth-first search: a level is pushed through a queue, or pulled.
//
// Caller      gpu_core/cuda/analytics/traversal/bfs.py
// Host twin   gpu_core/host/analytics/traversal/bfs.py: the same distances, and the same choice of push or
//             pull, but of small levels (`reach_small_levels`)
//
// Distances   u32 by vertex index; UNREACHED, or the level in which the vertex was reached
// Queue       see frontier.cuh. Each vertex is queued once, when it is reached, so the queue holds all
//             levels, one after the other, and the *frontier*, the newest level, is a range of it.
//             Within a level the order depends on scheduling; distances do not.
// Parent      u32 by vertex index: found after the search, see `offer_parents`
// Search      counters that only grow, and the frontier, which is made of them between two levels
//             (`end_level`), so that the host need not know where a level ends. Of small levels each block
//             makes it for itself: levels count by turns in two places, so that one level can be read
//             while the next is written, and blocks need to meet only once a level
//
// Source      Beamer, Asanović, Patterson, "Direction-Optimizing Breadth-First Search", SC 2012
#include "frontier.cuh"

constexpr u32 UNREACHED = 0xFFFFFFFFu;
// Entries that a lane looks at by itself when it pulls; the rest of a row is for the whole warp.
constexpr u32 LANE_ENTRIES = 8;

// What levels have reached: items of the queue, vertices, entries of their rows.
struct Counts {
    u64 tail;
    u64 vertices;
    u64 entries;
};

struct Frontier {
    // Vertices, entries, distance, and whether the next level is pulled.
    u64 size;
    u64 heavy;
    u64 level;
    u64 pulls;
    // The items `first` … `end - 1` of the queue.
    u64 first;
    u64 end;
    // Of all levels up to this one; and the part of it that is not counted where the next level counts.
    u64 vertices;
    u64 entries;
    Counts apart;

    // Where the next level counts.
    __device__ __forceinline__ u64 side() const { return level & 1; }
};

struct Search {
    // Of every second level each, those that are being written included.
    Counts reached[2];
    Frontier frontier;
    u64 ticket;
};

// Where the next level is pulled: see the host twin.
struct Choice {
    // All rows, and their entries.
    u64 rows;
    u64 entries;
    // `PUSH_SHARE`, or 0: never; `PULL_SHARE`.
    u64 push_share;
    u64 pull_share;
};

// What a search writes.
struct Found {
    Search* search;
    u32* distance;
    u64* queue;
    // Degrees in the direction of the search.
    const u32* degree;
};

// What a thread has reached in this level.
struct Reached {
    u64 vertices = 0;
    u64 entries = 0;
};

// Make the level that was written the frontier, once all threads have written it.
__device__ __forceinline__ void end_level(const Search* search, const Choice& choice, Frontier& frontier) {
    const Counts* const counts = &search->reached[frontier.side()];
    const Counts here{__ldcg(&counts->tail), __ldcg(&counts->vertices), __ldcg(&counts->entries)};
    const u64 vertices = here.vertices + frontier.apart.vertices;
    const u64 entries = here.entries + frontier.apart.entries;
    const u64 before = frontier.size;
    const u64 size = vertices - frontier.vertices;
    const u64 heavy = entries - frontier.entries;
    const bool begins = size > before && heavy * choice.push_share > choice.entries - entries;
    const bool goes_on = size >= before || size * choice.pull_share >= choice.rows;
    frontier.size = size;
    frontier.heavy = heavy;
    frontier.level += 1;
    frontier.pulls = frontier.pulls ? goes_on : begins;
    frontier.first = frontier.end;
    frontier.end = here.tail + frontier.apart.tail;
    frontier.vertices = vertices;
    frontier.entries = entries;
    frontier.apart = here;
}

// Queue the vertices that lanes have reached, COUNT a lane: of degree 0, none. All lanes of the warp call.
template <int COUNT>
__device__ __forceinline__ void queue_reached(const u32 (&vertices)[COUNT], const u32 (&degrees)[COUNT],
                                              const Frontier& frontier, const Found& found) {
    queue_vertices(vertices, degrees, &found.search->reached[frontier.side()].tail,
                   found.queue + frontier.apart.tail);
}

// The same, one a lane, with what it adds to `reached`.
__device__ __forceinline__ void queue_reached(bool is_reached, u32 vertex, const Frontier& frontier,
                                              const Found& found, Reached& reached) {
    if (!__any_sync(FULL_WARP, is_reached)) return;
    const u32 vertices[] = {vertex}, degrees[] = {is_reached ? found.degree[vertex] : 0};
    reached.vertices += is_reached;
    reached.entries += degrees[0];
    queue_reached(vertices, degrees, frontier, found);
}

// Add up what the threads of a block have reached. All of them call.
template <int SIZE>
__device__ __forceinline__ void add_reached(const Reached& reached, const Frontier& frontier,
                                            const Found& found) {
    u64 sums[] = {reached.vertices, reached.entries};
    block_sums<u64, SIZE>(sums);
    if (threadIdx.x > 0 || sums[0] == 0) return;
    Counts* const counts = &found.search->reached[frontier.side()];
    atomicAdd(&counts->vertices, sums[0]);
    atomicAdd(&counts->entries, sums[1]);
}

// Give every neighbor of the frontier that has no distance the next one.
template <int SIZE>
__device__ __forceinline__ void push_level(const Rows& out, const Frontier& frontier,
                                           const Found& found) {
    constexpr int COUNT = TOGETHER<SIZE>;
    const u32 next = static_cast<u32>(frontier.level) + 1;
    Reached reached;
    // Each step is made for all entries before the next one: so their reads wait together.
    for_edges_together<SIZE, COUNT>(
        out, found.queue, frontier.first, frontier.end, [&](const Entries<COUNT>& entries) {
            u32 neighbors[COUNT], before[COUNT], degrees[COUNT];
            #pragma unroll
            for (int k = 0; k < COUNT; ++k) {
                neighbors[k] = out.columns[entries.at[k].position];
            }
            #pragma unroll
            for (int k = 0; k < COUNT; ++k) {
                before[k] = __ldcg(&found.distance[neighbors[k]]);
            }
            #pragma unroll
            for (int k = 0; k < COUNT; ++k) {
                degrees[k] = 0;
                if (!entries.has[k] || before[k] != UNREACHED) continue;
                // Read before it is known whether another entry comes first.
                degrees[k] = found.degree[neighbors[k]];
                before[k] = atomicCAS(&found.distance[neighbors[k]], UNREACHED, next);
            }
            #pragma unroll
            for (int k = 0; k < COUNT; ++k) {
                const bool is_reached = entries.has[k] && before[k] == UNREACHED;
                degrees[k] = is_reached ? degrees[k] : 0;
                reached.vertices += is_reached;
                reached.entries += degrees[k];
            }
            queue_reached(neighbors, degrees, frontier, found);
        });
    add_reached<SIZE>(reached, frontier, found);
}

// Give every vertex without a distance that has an in-neighbor in the frontier the next one.
//
// A vertex is its own thread's; of long rows the whole warp reads.
template <int SIZE>
__device__ __forceinline__ void pull_level(const Rows& back, const Frontier& frontier,
                                           const Found& found, u64 rows) {
    const u32 level = static_cast<u32>(frontier.level);
    const u32 lane = lane_of_thread();
    Reached reached;
    for_vertices<SIZE>(rows, [&](bool has_vertex, u64 vertex) {
        u32 degree = 0;
        i64 begin = 0;
        if (has_vertex && found.distance[vertex] == UNREACHED) {
            degree = back.degree[vertex];
            begin = back.begin[vertex];
        }
        bool is_reached = false;
        for (u32 i = 0; i < min(degree, LANE_ENTRIES) && !is_reached; ++i) {
            is_reached = found.distance[back.columns[begin + i * back.step]] == level;
        }
        u32 waiting = __ballot_sync(FULL_WARP, !is_reached && degree > LANE_ENTRIES);
        while (waiting) {
            const int owner = __ffs(waiting) - 1;
            waiting &= waiting - 1;
            const u32 length = __shfl_sync(FULL_WARP, degree, owner);
            const i64 row = __shfl_sync(FULL_WARP, begin, owner);
            bool is_met = false;
            for (u32 i = LANE_ENTRIES; i < length && !is_met; i += WARP) {
                const bool here = i + lane < length &&
                                  found.distance[back.columns[row + (i + lane) * back.step]] == level;
                is_met = __any_sync(FULL_WARP, here);
            }
            if (static_cast<int>(lane) == owner) is_reached = is_met;
        }
        if (is_reached) found.distance[vertex] = level + 1;
        queue_reached(is_reached, static_cast<u32>(vertex), frontier, found, reached);
    });
    add_reached<SIZE>(reached, frontier, found);
}

// Reach the sources, at level 0.
//
// Launch      THREADS threads, a thread a source
// Reads       sources   u32[count], each once
// Writes      distance  u32[rows], UNREACHED before
//             queue
//             state     a Search; all 0 before
extern "C" __global__ void __launch_bounds__(THREADS) reach_sources(
        const u32* __restrict__ sources, const u64 count, const u32* __restrict__ degree,
        const Choice choice, u64* state, u32* distance, u64* queue) {
    Search* const search = reinterpret_cast<Search*>(state);
    const Found found{search, distance, queue, degree};
    const u64 i = thread_of_grid();
    const u32 source = i < count ? sources[i] : 0;
    // So that the first level is never pulled, and is level 0.
    Frontier frontier{};
    frontier.size = ~u64(0);
    frontier.level = ~u64(0);
    Reached reached;
    if (i < count) distance[source] = 0;
    queue_reached(i < count, source, frontier, found, reached);
    add_reached<THREADS>(reached, frontier, found);
    if (!ends_round(&search->ticket)) return;
    end_level(search, choice, frontier);
    search->frontier = frontier;
}

// Reach the next level, if there is one.
//
// Launch      THREADS threads; as many blocks as the device runs at once
extern "C" __global__ void __launch_bounds__(THREADS, 4) reach_level(
        const Rows out, const Rows back, const Choice choice, u64* state, u32* distance, u64* queue) {
    Search* const search = reinterpret_cast<Search*>(state);
    const Frontier frontier = search->frontier;
    if (frontier.size == 0) return;
    const Found found{search, distance, queue, out.degree};
    if (frontier.pulls) {
        pull_level<THREADS>(back, frontier, found, choice.rows);
    } else {
        push_level<THREADS>(out, frontier, found);
    }
    if (ends_round(&search->ticket)) end_level(search, choice, search->frontier);
}

// Reach one level after the other, while each has few entries.
//
// A level of a few thousand entries takes less than the launch of a kernel, and a grid has thousands of
// such levels. They are pushed even where the choice is to pull, as is made again and again among the last
// levels of a grid: that looks at all rows.
//
// Launch      SMALL_THREADS threads, and as many blocks as can wait for one another
// Parameters  most  entries of a level that is reached here
extern "C" __global__ void __launch_bounds__(SMALL_THREADS, 1) IN_CLUSTER reach_small_levels(
        const Rows out, const u64 most, const Choice choice,
        u64* state, u32* distance, u64* queue) {
    Search* const search = reinterpret_cast<Search*>(state);
    const Found found{search, distance, queue, out.degree};
    // Of this block; those of all blocks are the same.
    __shared__ Frontier frontier;
    if (threadIdx.x == 0) frontier = search->frontier;
    __syncthreads();
    while (frontier.size > 0 && frontier.heavy <= most) {
        push_level<SMALL_THREADS>(out, frontier, found);
        meet();
        if (threadIdx.x == 0) end_level(search, choice, frontier);
        __syncthreads();
    }
    if (thread_of_grid() == 0) search->frontier = frontier;
}

// Offer every vertex that was reached as parent to its neighbors one hop farther.
//
// Launch      THREADS threads; as many blocks as the device runs at once
// Reads       state, queue, distance   after the search
//             position  u32 by vertex index; null: the index itself
// Writes      parent    u32 by vertex index, all bits set before: the least position offered
extern "C" __global__ void __launch_bounds__(THREADS) offer_parents(
        const Rows out, const u64* __restrict__ state,
        const u64* __restrict__ queue, const u32* __restrict__ distance,
        const u32* __restrict__ position, u32* parent) {
    const u64 items = reinterpret_cast<const Search*>(state)->frontier.end;
    for_edges<THREADS>(
        out, queue, 0, items,
        [&](bool has_entry, const Entry& entry) {
            if (!has_entry) return;
            const u32 neighbor = out.columns[entry.position];
            if (distance[neighbor] != distance[entry.vertex] + 1) return;
            const u32 own = position ? position[entry.vertex] : entry.vertex;
            // Nearly all come after one that was offered before.
            if (__ldcg(&parent[neighbor]) > own) atomicMin(&parent[neighbor], own);
        });
}
