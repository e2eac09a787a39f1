// pagerank_start.cu -- where the steps of PageRank start: at earlier ranks, or near the ranks by degrees alone.
//
// Caller      gpu_core/cuda/analytics/centrality/pagerank_start.py
// Host twin   gpu_core/host/analytics/centrality/pagerank_start.py, which has the formulas and says why
// Order       sums are of integers, or of a block in a fixed order and then of integers, multiples of 2^-56
#include "pagerank_step.cuh"
#include "row_arguments.cuh"
#include "twin_constants.cuh"

// Kinds of vertices, which are counted.
constexpr u32 LINKED = 0;    // it has edges, and is not of a pair
constexpr u32 PAIRED = 1;    // of a component of two vertices
constexpr u32 ISOLATED = 2;
constexpr u32 EARLIER = 3;   // earlier ranks are of it, whatever it is now
constexpr u32 KINDS = 4;
// Bits of a block's count of a kind.
constexpr u32 COUNT_BITS = 16;
// Sums over linked vertices: of their own likeness, of their neighbor's, of squares and of products.
constexpr u32 OWN = 0;
constexpr u32 NEIGHBOR = 1;
constexpr u32 OWN_SQUARE = 2;
constexpr u32 NEIGHBOR_SQUARE = 3;
constexpr u32 PRODUCT = 4;
constexpr u32 SUMS = 5;
constexpr double SUM_ONE = 2147483648.0;  // 2^31: a summand is 1/2 at most, and there are up to 2^32

// What is known of all vertices; 0 before.
struct Survey {
    u64 counts[KINDS];
    u64 sums[SUMS];  // fixed point
    u64 moved;       // vertices of then that are not at their index
    u64 start_sum;   // of the start before it is corrected, fixed point of pagerank_step.cuh
};
__device__ __forceinline__ Survey* survey_in(u64* words) { return reinterpret_cast<Survey*>(words); }

// Rows, and the size of their graph.
struct Graph {
    Rows rows;
    const u8* present;
    i64 count;
    i64 vertices;
    i64 entries;

    __device__ __forceinline__ bool has(i64 vertex) const { return vertex < count && present[vertex]; }
    __device__ __forceinline__ u32 degree(i64 vertex) const { return rows.degree[vertex]; }
    // Degree of neighbor `i`.
    __device__ __forceinline__ u32 degree_of(i64 vertex, i64 i) const {
        return rows.degree[rows.neighbor(vertex, i)];
    }
    __device__ __forceinline__ bool is_paired(i64 vertex) const {
        return degree(vertex) == 1 && degree_of(vertex, 0) == 1;
    }
    // From 1/2 for no edge to -1/2 for many, 0 for the mean degree.
    __device__ __forceinline__ double likeness(u32 own) const {
        const double mean = static_cast<double>(entries) / static_cast<double>(vertices);
        return mean / (mean + static_cast<double>(own)) - 0.5;
    }
};

// Ranks of an earlier graph, by index.
struct Earlier {
    const double* ranks;  // f64[count], negative: absent
    const u32* degree;    // u32[count]; null: not known
    i64 count;

    __device__ __forceinline__ bool has(i64 vertex) const {
        return vertex < count && ranks[vertex] >= 0;
    }
};

// What a start is made of; the formulas are in the host twin.
struct MeanField {
    bool is_known;    // ranks go by degrees
    bool is_used;     // otherwise ranks are as they were, those of new vertices 1/n
    double kept;      // vertices of the graph before for each of now
    double isolated;  // of an isolated vertex
    double paired;    // of a vertex of a pair
    double edge;      // of others, for each edge, beside what an isolated one has
    double entries;   // of others

    __device__ __forceinline__ MeanField(const Survey& survey, const Graph& graph, double alpha) {
        double counts[KINDS], sums[SUMS];
        for (u32 kind = 0; kind < KINDS; ++kind) counts[kind] = static_cast<double>(survey.counts[kind]);
        for (u32 sum = 0; sum < SUMS; ++sum) {
            sums[sum] = static_cast<double>(static_cast<i64>(survey.sums[sum])) / SUM_ONE;
        }
        const double linked = counts[LINKED];
        const double own = linked * sums[OWN_SQUARE] - sums[OWN] * sums[OWN];
        const double neighbor = linked * sums[NEIGHBOR_SQUARE] - sums[NEIGHBOR] * sums[NEIGHBOR];
        const double product = linked * sums[PRODUCT] - sums[OWN] * sums[NEIGHBOR];
        const double alike = MOST_ALIKE * sqrt(fmax(own * neighbor, 0.0));
        is_known = alpha > 0 && product <= fmax(alike, LEAST_COVARIANCE * linked * linked);
        const bool is_even = alpha > 0 && product <= MOST_EVEN * linked * linked;
        is_used = is_known || (is_even && counts[EARLIER] > 0);
        kept = counts[EARLIER] / static_cast<double>(graph.vertices);
        const double parts = static_cast<double>(graph.vertices) - alpha * counts[ISOLATED];
        paired = 1 / parts;
        isolated = (1 - alpha) / parts;
        entries = static_cast<double>(graph.entries) - counts[PAIRED];
        edge = entries > 0 ? alpha / parts * (linked / entries) : 0.0;
    }
};

// Count vertices by their kinds, and sum up how alike they and their middle neighbors are.
//
// Launch      THREADS threads, one a vertex of now or of then, whichever are more
// Reads       rows of an undirected graph, and earlier ranks, null: there are none
// Writes      survey  counts, sums
// Cost        reads 13 bytes a vertex, and gathers 4 from a row and 4 from L2
extern "C" __global__ void survey_degrees(const Graph graph,
                                          const Earlier earlier, u64* words) {
    const i64 vertex = thread_of_grid();
    u64 counted = 0;
    double own = 0, neighbor = 0;
    if (graph.has(vertex)) {
        const u32 edges = graph.degree(vertex);
        const u32 of_neighbor = edges > 0 ? graph.degree_of(vertex, edges / 2) : 0;
        const u32 kind = edges == 0 ? ISOLATED : edges == 1 && of_neighbor == 1 ? PAIRED : LINKED;
        counted = 1ull << (COUNT_BITS * kind);
        if (kind == LINKED) {
            own = graph.likeness(edges);
            neighbor = graph.likeness(of_neighbor);
        }
    }
    if (earlier.has(vertex)) counted += 1ull << (COUNT_BITS * EARLIER);
    Survey* survey = survey_in(words);
    const u64 counts = block_sum<u64, THREADS>(counted);
    if (threadIdx.x < KINDS) {
        const u64 count_of_kind = counts >> (COUNT_BITS * threadIdx.x) & ((1u << COUNT_BITS) - 1);
        if (count_of_kind) atomicAdd(&survey->counts[threadIdx.x], count_of_kind);
    }
    const double summands[SUMS] = {own, neighbor, own * own, neighbor * neighbor, own * neighbor};
    for (u32 each = 0; each < SUMS; ++each) {
        const u64 sum = block_sum<u64, THREADS>(static_cast<u64>(__double2ll_rn(summands[each] * SUM_ONE)));
        if (threadIdx.x == 0 && sum) atomicAdd(&survey->sums[each], sum);
    }
}

// The start, whose sum is not 1 yet.
//
// Launch      THREADS threads, one a vertex of now or of then, whichever are more
// Reads       rows of an undirected graph; where `alpha` is 0, so that degrees do not count, of any
//             survey      counts and sums, unless `alpha` is 0
//             earlier     ranks and degrees of the graph before; null: there was none
//             earlier_ids, ids  i64 users' ids of each index then and now; null: they are the indices
// Writes      start       f64[n]; 0 for absent vertices
//             survey      moved, start_sum
extern "C" __global__ void make_start(const Graph graph,
                                      const Earlier earlier, const i64* __restrict__ earlier_ids,
                                      const i64* __restrict__ ids, const double alpha,
                                      double* __restrict__ start, u64* words) {
    Survey* survey = survey_in(words);
    const MeanField field(*survey, graph, alpha);
    const i64 vertex = thread_of_grid();
    const bool is_present = graph.has(vertex), was_present = earlier.has(vertex);
    const bool is_same =
        is_present && was_present && (!ids || ids[vertex] == earlier_ids[vertex]);
    double rank = 0;
    if (!is_present) {
        rank = 0;
    } else if (!field.is_used) {
        rank = is_same ? earlier.ranks[vertex] : 1.0 / static_cast<double>(graph.vertices);
    } else if (graph.degree(vertex) == 0) {
        rank = field.isolated;
    } else if (graph.is_paired(vertex)) {
        rank = field.paired;
    } else {
        // A component keeps its part of all rank, which is its part of all vertices.
        const bool goes_on = is_same && field.kept <= MOST_EARLIER;
        const double before = goes_on ? earlier.ranks[vertex] * field.kept : field.isolated;
        const double edges = static_cast<double>(graph.degree(vertex)) -
                             (goes_on ? static_cast<double>(earlier.degree[vertex]) : 0.0);
        rank = fmax(before + field.edge * edges, 0.0);
    }
    if (vertex < graph.count) start[vertex] = rank;
    const double sum = block_sum<double, THREADS>(rank);
    const u32 moved = block_sum<u32, THREADS>(was_present && !is_same);
    if (threadIdx.x == 0) {
        add_fixed(&survey->start_sum, sum);
        if (moved) atomicAdd(&survey->moved, static_cast<u64>(moved));
    }
}

// Make the sum 1: by degrees, but for vertices whose rank is known; where degrees do not count by a factor, and
// where all the rank was on vertices that are gone, begin at 1/n.
//
// Launch      one thread a vertex
// Reads       as make_start
// Writes      start
//             found  f64[2], of `MeanField`: isolated and edge, where it is known; null: nobody asks
extern "C" __global__ void normalize_start(const Graph graph, const double alpha,
                                           double* __restrict__ start, u64* words, double* found) {
    const Survey* survey = survey_in(words);
    const MeanField field(*survey, graph, alpha);
    const i64 vertex = thread_of_grid();
    if (found && vertex == 0 && field.is_known) {
        found[0] = field.isolated;
        found[1] = field.edge;
    }
    if (!graph.has(vertex)) return;
    const double sum = unfixed(survey->start_sum);
    if (!field.is_used) {
        start[vertex] = sum > 0 ? start[vertex] / sum : 1.0 / static_cast<double>(graph.vertices);
    } else if (graph.degree(vertex) > 0 && !graph.is_paired(vertex)) {
        start[vertex] += (1 - sum) * (static_cast<double>(graph.degree(vertex)) / field.entries);
    }
}
