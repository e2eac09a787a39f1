// core_number.cu -- core numbers: each round peels off all vertices of least degree.
//
// Caller      gpu_core/cuda/analytics/components/core_number.py
// Host twin   gpu_core/host/analytics/components/core_number.py: the same numbers
//
// Degrees     u32 by vertex index: edges to vertices that are not peeled off yet; of a vertex that is, its
//             core number. Threads that meet at a vertex may take one edge too many, and give it back: what
//             is read meanwhile is at most the core number, and so tells the same.
// Queues      one for each direction (frontier.cuh); a vertex is queued in both, once, when it is peeled
// Alive       a list of vertices that may not be peeled yet, looked through when no neighbor of a peeled
//             vertex has come down to k: those of degree k are queued, those below are dropped
// Peeling     where it stands; between two rounds one thread makes up what comes next (`end_round`)
//
// Sources     Dasari, Desh, Zubair, "ParK: An Efficient Algorithm for k-core Decomposition on Multicore
//             Processors", IEEE BigData 2014; Kabir, Madduri, "Parallel k-core Decomposition on Multicore
//             Platforms", IPDPSW 2017 (PKC)
#include "frontier.cuh"

constexpr u32 NO_VERTEX = 0xFFFFFFFFu;
constexpr u64 NONE_LEFT = ~u64(0);

struct Peeling {
    // Ends of the queues, entries that were put there in this round.
    u64 tails[2];
    u64 entries;
    // Vertices that stay alive in this round, and their least degree.
    u64 kept;
    u64 least;
    // This round: items of the queues; or, where it looks for vertices, those that are alive, in which of
    // the two lists; entries or vertices to look at, 0: the end; core number.
    u64 firsts[2];
    u64 ends[2];
    u64 alive;
    u64 side;
    u64 looks;
    u64 heavy;
    u64 core;
    u64 ticket;
};

// What is worked on.
struct Graph {
    Peeling* peeling;
    u32* degree;
    u64* queues;  // two, of `queue_items`
    u64* lists;   // two, of `rows`
    u64 queue_items;
    u64 rows;
    u64 directions;  // 1 of undirected graphs

    __device__ __forceinline__ u64* queue(u64 direction) const { return queues + direction * queue_items; }
    __device__ __forceinline__ u64* list(u64 side) const { return lists + side * rows; }
};

// Make the round that was written the next one. One thread calls, after all others.
__device__ __forceinline__ void end_round(const Graph& graph) {
    Peeling* const peeling = graph.peeling;
    const bool looked = peeling->looks;
    bool has_items = false;
    for (u64 direction = 0; direction < graph.directions; ++direction) {
        peeling->firsts[direction] = peeling->ends[direction];
        peeling->ends[direction] = __ldcg(&peeling->tails[direction]);
        has_items |= peeling->ends[direction] > peeling->firsts[direction];
    }
    const u64 least = __ldcg(&peeling->least);
    if (looked) {
        peeling->alive = __ldcg(&peeling->kept);
        peeling->side ^= 1;
        peeling->kept = 0;
        peeling->least = NONE_LEFT;
    }
    peeling->looks = !has_items;
    peeling->heavy = has_items ? __ldcg(&peeling->entries) : peeling->alive;
    peeling->entries = 0;
    // Most often there are vertices of the next degree. Where none was found, the least one is known.
    if (!has_items) peeling->core = looked ? least : peeling->core + 1;
}

// Queue vertices that are peeled off, one a lane, in each direction. All lanes of the warp call.
__device__ __forceinline__ void queue_peeled(bool is_peeled, u32 vertex, const BothWays& rows,
                                             const Graph& graph, u64& entries) {
    if (!__any_sync(FULL_WARP, is_peeled)) return;
    for (u64 direction = 0; direction < graph.directions; ++direction) {
        queue_rows(is_peeled, vertex, rows.of(direction).degree, &graph.peeling->tails[direction],
                   graph.queue(direction), entries);
    }
}

// Take an edge from every neighbor of the vertices that were peeled off.
template <int SIZE>
__device__ __forceinline__ void peel(const BothWays& rows, const Graph& graph) {
    Peeling* const peeling = graph.peeling;
    const u32 core = static_cast<u32>(__ldcg(&peeling->core));
    u64 entries = 0;
    for (u64 direction = 0; direction < graph.directions; ++direction) {
        const Rows& walked = rows.of(direction);
        for_edges<SIZE>(
            walked, graph.queue(direction), __ldcg(&peeling->firsts[direction]),
            __ldcg(&peeling->ends[direction]),
            [&](bool has_entry, const Entry& entry) {
                const u32 neighbor = has_entry ? walked.columns[entry.position] : 0;
                bool is_peeled = false;
                if (has_entry && __ldcg(&graph.degree[neighbor]) > core) {
                    const u32 before = atomicSub(&graph.degree[neighbor], 1u);
                    is_peeled = before == core + 1;
                    if (before <= core) atomicAdd(&graph.degree[neighbor], 1u);
                }
                queue_peeled(is_peeled, neighbor, rows, graph, entries);
            });
    }
    add_up<SIZE>(entries, &peeling->entries);
}

// Look for vertices of degree `core` among those that are alive.
template <int SIZE>
__device__ __forceinline__ void look(const BothWays& rows, const Graph& graph) {
    Peeling* const peeling = graph.peeling;
    const u64 alive = __ldcg(&peeling->alive), core = __ldcg(&peeling->core);
    const u64 side = __ldcg(&peeling->side);
    const u64* const list = graph.list(side);
    u64 entries = 0, least = NONE_LEFT;
    for_vertices<SIZE>(alive, [&](bool has_vertex, u64 at) {
        const u32 vertex = has_vertex ? static_cast<u32>(__ldcg(&list[at])) : 0;
        const u64 degree = has_vertex ? __ldcg(&graph.degree[vertex]) : 0;
        const bool is_kept = has_vertex && degree > core;
        if (is_kept) least = min(least, degree);
        queue_peeled(has_vertex && degree == core, vertex, rows, graph, entries);
        queue_vertices(is_kept, vertex, 1, &peeling->kept, graph.list(side ^ 1));
    });
    take_least<SIZE>(least, NONE_LEFT, &peeling->least);
    add_up<SIZE>(entries, &peeling->entries);
}

template <int SIZE>
__device__ __forceinline__ void work(const BothWays& rows, const Graph& graph) {
    if (__ldcg(&graph.peeling->looks)) {
        look<SIZE>(rows, graph);
    } else {
        peel<SIZE>(rows, graph);
    }
}

// Smallest vertex with an edge to itself.
//
// Launch      THREADS threads, a thread a vertex
// Writes      found    u32[1], all bits set before
extern "C" __global__ void __launch_bounds__(THREADS) find_loop(
        const Rows rows, const u64 count, u32* found) {
    const u64 vertex = thread_of_grid();
    if (vertex >= count) return;
    const u32 own = static_cast<u32>(vertex);
    if (has_loop(rows, own)) atomicMin(found, own);
}

// Have all vertices alive, and those of degree 0 looked for.
//
// Launch      THREADS threads, a thread a vertex
// Reads       graph    its peeling is 0 before
extern "C" __global__ void __launch_bounds__(THREADS) begin_peeling(
        const u32* __restrict__ out_degree, const u32* __restrict__ into_degree, const Graph graph) {
    const u64 vertex = thread_of_grid();
    if (vertex < graph.rows) {
        graph.degree[vertex] = out_degree[vertex] + (graph.directions > 1 ? into_degree[vertex] : 0);
        graph.list(0)[vertex] = vertex;
    }
    if (vertex > 0) return;
    graph.peeling->least = NONE_LEFT;
    graph.peeling->alive = graph.rows;
    graph.peeling->heavy = graph.rows;
    graph.peeling->looks = 1;
}

// Do what comes next, if there is anything.
//
// Launch      THREADS threads; as many blocks as the device runs at once
extern "C" __global__ void __launch_bounds__(THREADS, 4) peeling_round(
        const BothWays rows, const Graph graph) {
    if (__ldcg(&graph.peeling->heavy) == 0) return;
    work<THREADS>(rows, graph);
    if (ends_round(&graph.peeling->ticket)) end_round(graph);
}

// Do one round after the other, while each has little to do.
//
// Launch      SMALL_THREADS threads, and as many blocks as can wait for one another
// Parameters  most  entries or vertices of a round that is done here
extern "C" __global__ void __launch_bounds__(SMALL_THREADS, 1) IN_CLUSTER peel_small_rounds(
        const BothWays rows, const Graph graph, const u64 most) {
    meet_rounds(
        [&] { return __ldcg(&graph.peeling->heavy) > 0 && __ldcg(&graph.peeling->heavy) <= most; },
        [&] { work<SMALL_THREADS>(rows, graph); }, [&] { end_round(graph); });
}
