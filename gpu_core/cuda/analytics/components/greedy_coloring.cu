// greedy_coloring.cu -- greedy coloring: each vertex gets the least color that no earlier neighbor has.
//
// Caller      gpu_core/cuda/analytics/components/greedy_coloring.py
// Host twin   gpu_core/host/analytics/components/greedy_coloring.py: the same colors
//
// Order       of vertices: by degree, the largest first, then by position in the order of users' ids
// Waiting     u32 by vertex: neighbors before it that have no color yet. A vertex is colored when it waits
//             for none, by the thread that finds so: which gives the colors of the order, whatever the
//             scheduling was
// Taken       bits of the colors that neighbors before a vertex have, as many as there are such neighbors
//             and one: one of them stays free
//
// Source      Jones, Plassmann, "A Parallel Graph Coloring Heuristic", SIAM J. Sci. Comput. 14, 1993
#include "frontier.cuh"

constexpr u32 WORD_BITS = 32;

struct Coloring {
    // Of all rounds: items of the queue, entries of their rows. Each vertex is queued once.
    u64 tail;
    u64 entries;
    // The frontier, the vertices that were colored in the last round: its items; its entries, 0: the end.
    u64 first;
    u64 end;
    u64 known_entries;
    u64 heavy;
    // Largest color.
    u64 most;
    u64 ticket;
};

// What is worked on, by vertex index.
struct Graph {
    Coloring* coloring;
    u64* queue;
    const u32* degree;
    const u32* position;
    u32* waiting;
    u32* words;          // of `taken`
    const i64* starts;   // where these begin
    u32* taken;
    u32* color;

    __device__ __forceinline__ bool is_before(u32 one, u32 other) const {
        const u32 own = degree[one], others = degree[other];
        return own > others || (own == others && position[one] < position[other]);
    }
};

// Make the vertices that were queued the frontier. One thread calls, after all others.
__device__ __forceinline__ void end_round(Coloring* coloring) {
    coloring->first = coloring->end;
    coloring->end = __ldcg(&coloring->tail);
    const u64 entries = __ldcg(&coloring->entries);
    coloring->heavy = entries - coloring->known_entries;
    coloring->known_entries = entries;
}

// Queue vertices that have their color, one a lane. All lanes of the warp call.
__device__ __forceinline__ void queue_colored(bool is_colored, u32 vertex, const Graph& graph,
                                              u64& entries) {
    queue_rows(is_colored, vertex, graph.degree, &graph.coloring->tail, graph.queue, entries);
}

// Take a color that a neighbor before has, and color the vertex if that was the last; returns whether.
__device__ __forceinline__ bool is_last_before(const Graph& graph, u32 vertex, u32 color) {
    u32* const taken = graph.taken + graph.starts[vertex];
    // A larger one is none that the vertex could get.
    if (color / WORD_BITS < graph.words[vertex]) {
        atomicOr(&taken[color / WORD_BITS], 1u << color % WORD_BITS);
    }
    __threadfence();  // what is taken is seen by the thread that colors
    if (atomicSub(&graph.waiting[vertex], 1u) != 1) return false;
    __threadfence();
    u32 word = 0;
    while (~__ldcg(&taken[word]) == 0) ++word;
    const u32 least = word * WORD_BITS + __ffs(~__ldcg(&taken[word])) - 1;
    graph.color[vertex] = least;
    if (__ldcg(&graph.coloring->most) < least) atomicMax(&graph.coloring->most, u64(least));
    return true;
}

// Send the colors of the frontier to the neighbors after it.
template <int SIZE>
__device__ __forceinline__ void color_round_of(const Rows& rows, const Graph& graph) {
    u64 entries = 0;
    for_edges<SIZE>(rows, graph.queue, __ldcg(&graph.coloring->first), __ldcg(&graph.coloring->end),
                      [&](bool has_entry, const Entry& entry) {
                          const u32 neighbor = has_entry ? rows.columns[entry.position] : 0;
                          const bool is_colored =
                              has_entry && graph.is_before(entry.vertex, neighbor) &&
                              is_last_before(graph, neighbor, __ldcg(&graph.color[entry.vertex]));
                          queue_colored(is_colored, neighbor, graph, entries);
                      });
    add_up<SIZE>(entries, &graph.coloring->entries);
}

// Count the neighbors before each vertex.
//
// Launch      THREADS threads; as many blocks as the device runs at once
// Reads       tail, queue  all rows
// Adds to     waiting      0 before
extern "C" __global__ void __launch_bounds__(THREADS) count_before(
        const Rows rows, const u64* __restrict__ tail,
        const Graph graph) {
    for_edges<THREADS>(
        rows, graph.queue, 0, *tail,
        [&](bool has_entry, const Entry& entry) {
            if (!has_entry || !graph.is_before(rows.columns[entry.position], entry.vertex)) return;
            atomicAdd(&graph.waiting[entry.vertex], 1u);
        });
}

// Give vertices that wait for none the first color, and all others bits for theirs.
//
// Launch      THREADS threads, a thread a vertex
// Writes      words, color, queue
extern "C" __global__ void __launch_bounds__(THREADS) begin_coloring(const u64 count,
                                                                           const Graph graph) {
    const u64 at = thread_of_grid();
    const u32 vertex = static_cast<u32>(at);
    bool is_first = false;
    if (at < count) {
        const u32 waiting = graph.waiting[vertex];
        is_first = waiting == 0;
        graph.words[vertex] = is_first ? 0 : waiting / WORD_BITS + 1;
        if (is_first) graph.color[vertex] = 0;
    }
    u64 entries = 0;
    queue_colored(is_first, vertex, graph, entries);
    add_up<THREADS>(entries, &graph.coloring->entries);
    if (ends_round(&graph.coloring->ticket)) end_round(graph.coloring);
}

// Do the next round, if there is one.
//
// Launch      THREADS threads; as many blocks as the device runs at once
extern "C" __global__ void __launch_bounds__(THREADS, 4) color_round(
        const Rows rows, const Graph graph) {
    if (__ldcg(&graph.coloring->heavy) == 0) return;
    color_round_of<THREADS>(rows, graph);
    if (ends_round(&graph.coloring->ticket)) end_round(graph.coloring);
}

// Do one round after the other, while each has few entries.
//
// Launch      SMALL_THREADS threads, and as many blocks as can wait for one another
// Parameters  most  entries of a round that is done here
extern "C" __global__ void __launch_bounds__(SMALL_THREADS, 1) IN_CLUSTER color_small_rounds(
        const Rows rows, const Graph graph, const u64 most) {
    meet_rounds(
        [&] { return __ldcg(&graph.coloring->heavy) > 0 && __ldcg(&graph.coloring->heavy) <= most; },
        [&] { color_round_of<SMALL_THREADS>(rows, graph); },
        [&] { end_round(graph.coloring); });
}
