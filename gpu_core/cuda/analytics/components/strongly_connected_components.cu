// strongly_connected_components.cu -- trimming, then forward and backward searches of many components.
//
// Caller      gpu_core/cuda/analytics/components/strongly_connected_components.py
//
// Trimming    a vertex without an in-neighbor, or without an out-neighbor, that still has no component is
//             one of its own. Vertices that are trimmed take an edge from their neighbors, which
//             may be trimmed then.
// Colors      a search begins at *seeds*, each of a color of its own, and goes forward over vertices without
//             a component; where colors meet the least one goes on. A seed that kept its color is the root
//             of a component: the vertices of its color from which it is reached, backward. For what is
//             reached forward has its color or a smaller one; and had one of them a smaller color, the
//             root would have been reached by it.
// Seeds       first one vertex of many neighbors, which is most often of the largest component; then all
//             that are left, in an order that is shuffled for each search: where components lie one after
//             the other, a few of any path are roots, and not the first alone.
// Component   u32 by vertex index: the index of one of its vertices, or NO_VERTEX. Which one depends
//             on scheduling, the vertices of a component do not.
// Rounds      of all three: what was queued in one round is worked on in the next; between two one thread
//             makes up what comes next (`end_round`), so that the host need not know
//
// Sources     Slota, Rajamanickam, Madduri, "BFS and Coloring-based Parallel Algorithms for Strongly
//             Connected Components and Related Problems", IPDPS 2014; McLendon et al., "Finding Strongly
//             Connected Components in Distributed Graphs", JPDC 2005 (trimming)
#include "frontier.cuh"

constexpr u32 NO_VERTEX = 0xFFFFFFFFu;

// What is done in a round; `strongly_connected_components.py` has the same.
constexpr u32 TRIMS = 0, GOES_FORWARD = 1, GOES_BACK = 2;

struct Rounds {
    // Queues of the next round, by direction: items; entries of both.
    u64 tails[2];
    u64 entries;
    // This round: items; which of the two queues of a direction has them; entries to look at, 0: the end.
    u64 ends[2];
    u64 side;
    u64 heavy;
    // From 1 on.
    u64 round;
    // The first seed: neighbors above 32 bits, below them what is larger for smaller indices.
    u64 best;
    u64 ticket;
};

// What is worked on. Directions: 0 out, 1 in.
struct Graph {
    Rounds* rounds;
    u64* queues;      // two for each direction, of `queue_items`
    u32* component;
    u32* color;
    u32* queued_for;  // by vertex: the last round that it was queued for
    u32* left_out;    // by vertex: out-neighbors that are not trimmed, itself left out
    u32* left_in;     // likewise of in-neighbors
    u64 queue_items;
    u64 rows;

    __device__ __forceinline__ u64* queue(u32 direction, u64 side) const {
        return queues + (2 * direction + side) * queue_items;
    }
};

// Make the round that was written the next one. One thread calls, after all others.
__device__ __forceinline__ void end_round(Rounds* rounds) {
    bool has_items = false;
    for (u32 direction = 0; direction < 2; ++direction) {
        rounds->ends[direction] = __ldcg(&rounds->tails[direction]);
        rounds->tails[direction] = 0;
        has_items |= rounds->ends[direction] > 0;
    }
    rounds->heavy = has_items ? __ldcg(&rounds->entries) : 0;
    rounds->entries = 0;
    rounds->side ^= 1;
    rounds->round += 1;
}

// Queue vertices for the next round, one a lane, in one direction. All lanes of the warp call.
__device__ __forceinline__ void queue_next(bool is_queued, u32 vertex, u32 direction,
                                           const BothWays& rows, const Graph& graph, u64& entries) {
    queue_rows(is_queued, vertex, rows.of(direction).degree, &graph.rounds->tails[direction],
               graph.queue(direction, __ldcg(&graph.rounds->side) ^ 1), entries);
}

// Whether a vertex has no component yet.
__device__ __forceinline__ bool is_open(const Graph& graph, u32 vertex) {
    return __ldcg(&graph.component[vertex]) == NO_VERTEX;
}

// Give a vertex a component, if no other thread does; returns whether.
__device__ __forceinline__ bool settles(const Graph& graph, u32 vertex, u32 component) {
    return atomicCAS(&graph.component[vertex], NO_VERTEX, component) == NO_VERTEX;
}

// Each of the three: go to an open neighbor, by an edge of the direction; returns whether it is queued.

__device__ __forceinline__ bool is_trimmed(const Graph& graph, u32 direction, u32 neighbor) {
    u32* const left = direction ? graph.left_out : graph.left_in;
    return atomicSub(&left[neighbor], 1u) == 1 && settles(graph, neighbor, neighbor);
}

__device__ __forceinline__ bool is_colored(const Graph& graph, u32 vertex, u32 neighbor) {
    const u32 color = __ldcg(&graph.color[vertex]);
    const u32 round = static_cast<u32>(__ldcg(&graph.rounds->round));
    return __ldcg(&graph.color[neighbor]) > color &&
           atomicMin(&graph.color[neighbor], color) > color &&
           atomicExch(&graph.queued_for[neighbor], round) != round;
}

__device__ __forceinline__ bool is_of_root(const Graph& graph, u32 vertex, u32 neighbor) {
    return graph.color[neighbor] == graph.color[vertex] &&
           settles(graph, neighbor, __ldcg(&graph.component[vertex]));
}

// Work on what was queued for this round.
template <int SIZE>
__device__ __forceinline__ void work(const BothWays& rows, const Graph& graph, u32 what) {
    u64 entries = 0;
    for (u32 direction = 0; direction < 2; ++direction) {
        const Rows& walked = rows.of(direction);
        for_edges<SIZE>(
            walked, graph.queue(direction, __ldcg(&graph.rounds->side)), 0,
            __ldcg(&graph.rounds->ends[direction]), [&](bool has_entry, const Entry& entry) {
                const u32 neighbor = has_entry ? walked.columns[entry.position] : 0;
                bool is_queued = has_entry && is_open(graph, neighbor);
                if (is_queued) {
                    is_queued = what == TRIMS          ? is_trimmed(graph, direction, neighbor)
                                : what == GOES_FORWARD ? is_colored(graph, entry.vertex, neighbor)
                                                       : is_of_root(graph, entry.vertex, neighbor);
                }
                if (what != GOES_BACK) queue_next(is_queued, neighbor, 0, rows, graph, entries);
                if (what != GOES_FORWARD) queue_next(is_queued, neighbor, 1, rows, graph, entries);
            });
    }
    add_up<SIZE>(entries, &graph.rounds->entries);
}

// Color of a seed of search `number`: a different one for each, in another order for each search.
__device__ __forceinline__ u32 color_of(u32 vertex, u32 number) {
    if (number == 0) return 0;
    u32 mixed = vertex + number * 0x9E3779B9u;
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6Bu;
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35u;
    return mixed ^ mixed >> 16;
}

// Whether a vertex is one of the seeds of search `number`.
__device__ __forceinline__ bool is_seed(const Graph& graph, u32 vertex, u32 number) {
    if (!is_open(graph, vertex)) return false;
    return number > 0 || vertex == NO_VERTEX - static_cast<u32>(__ldcg(&graph.rounds->best));
}

// Count neighbors, and trim the vertices that have none in a direction.
//
// Launch      THREADS threads, a thread a vertex
// Reads       graph    its rounds are 0 before
// Writes      component, queued_for, left
extern "C" __global__ void __launch_bounds__(THREADS) begin_trimming(
        const BothWays rows, const Graph graph) {
    const u64 at = thread_of_grid();
    const u32 vertex = static_cast<u32>(at);
    bool is_trimmed = false;
    if (at < graph.rows) {
        const u32 loops = has_loop(rows.out, vertex);
        const u32 left_out = rows.out.degree[vertex] - loops, left_in = rows.into.degree[vertex] - loops;
        graph.left_out[vertex] = left_out;
        graph.left_in[vertex] = left_in;
        is_trimmed = left_out == 0 || left_in == 0;
        graph.component[vertex] = is_trimmed ? vertex : NO_VERTEX;
        graph.queued_for[vertex] = 0;
    }
    u64 entries = 0;
    queue_next(is_trimmed, vertex, 0, rows, graph, entries);
    queue_next(is_trimmed, vertex, 1, rows, graph, entries);
    add_up<THREADS>(entries, &graph.rounds->entries);
    if (ends_round(&graph.rounds->ticket)) end_round(graph.rounds);
}

// Choose the vertex without a component of most neighbors, of the direction in which it has fewer.
//
// Launch      THREADS threads, a thread a vertex
extern "C" __global__ void __launch_bounds__(THREADS) choose_seed(const Graph graph) {
    const u64 vertex = thread_of_grid();
    u64 own = 0;
    if (vertex < graph.rows && is_open(graph, static_cast<u32>(vertex))) {
        own = static_cast<u64>(min(graph.left_out[vertex], graph.left_in[vertex])) << 32 |
              (NO_VERTEX - vertex);
    }
    own = block_max<u64, THREADS>(own);
    if (threadIdx.x == 0 && own > __ldcg(&graph.rounds->best)) atomicMax(&graph.rounds->best, own);
}

// Give seeds their colors, and queue them.
//
// Launch      THREADS threads, a thread a vertex
// Parameters  number   of the search; 0: from one seed
extern "C" __global__ void __launch_bounds__(THREADS) begin_search(
        const BothWays rows, const Graph graph, const u32 number) {
    const u64 at = thread_of_grid();
    const u32 vertex = static_cast<u32>(at);
    const bool is_first = at < graph.rows && is_seed(graph, vertex, number);
    if (at < graph.rows) graph.color[vertex] = is_first ? color_of(vertex, number) : NO_VERTEX;
    u64 entries = 0;
    queue_next(is_first, vertex, 0, rows, graph, entries);
    add_up<THREADS>(entries, &graph.rounds->entries);
    if (ends_round(&graph.rounds->ticket)) end_round(graph.rounds);
}

// Make seeds that kept their colors roots, and queue them backward.
//
// Launch      THREADS threads, a thread a vertex
extern "C" __global__ void __launch_bounds__(THREADS) begin_return(
        const BothWays rows, const Graph graph, const u32 number) {
    const u64 at = thread_of_grid();
    const u32 vertex = static_cast<u32>(at);
    const bool is_root = at < graph.rows && is_seed(graph, vertex, number) &&
                         graph.color[vertex] == color_of(vertex, number);
    if (is_root) graph.component[vertex] = vertex;
    u64 entries = 0;
    queue_next(is_root, vertex, 1, rows, graph, entries);
    add_up<THREADS>(entries, &graph.rounds->entries);
    if (ends_round(&graph.rounds->ticket)) end_round(graph.rounds);
}

// Do the next round, if there is one.
//
// Launch      THREADS threads; as many blocks as the device runs at once
extern "C" __global__ void __launch_bounds__(THREADS, 4) search_round(
        const BothWays rows, const Graph graph, const u32 what) {
    if (__ldcg(&graph.rounds->heavy) == 0) return;
    work<THREADS>(rows, graph, what);
    if (ends_round(&graph.rounds->ticket)) end_round(graph.rounds);
}

// Do one round after the other, while each has few entries.
//
// Launch      SMALL_THREADS threads, and as many blocks as can wait for one another
// Parameters  most  entries of a round that is done here
extern "C" __global__ void __launch_bounds__(SMALL_THREADS, 1) IN_CLUSTER search_small_rounds(
        const BothWays rows, const Graph graph, const u32 what, const u64 most) {
    meet_rounds([&] { return __ldcg(&graph.rounds->heavy) > 0 && __ldcg(&graph.rounds->heavy) <= most; },
                [&] { work<SMALL_THREADS>(rows, graph, what); }, [&] { end_round(graph.rounds); });
}
