// pagerank.cu -- PageRank: power iteration that pulls over in-edges, with the convergence test.
//
//     G x = alpha (P^T x + m w) + (1 - alpha) p       P = D^-1 A,  m = sum of x over dangling vertices
//     x' = G x + b (G x - x_before)                   b = 0 on directed graphs: power iteration
//
// Caller      gpu_core/cuda/analytics/centrality/pagerank.py
// Host twin   gpu_core/host/analytics/centrality/pagerank.py, same formulas in the same precision
// A step      pagerank_step.cuh, but for the sums of rows
// Rows        slices (slices.cuh): a lane sums up a row, so it needs no barrier and no shared memory. Of a graph
//             with hubs they have an order of their own (hubs.cuh); lengths and shares are by row
// Ranks       are kept as shares alone: what a vertex gives to each out-neighbor, x / strength, and x
//             itself where it is dangling, as no row gathers that. `end_ranks` turns them back. So a row
//             costs a step 16 bytes of vectors, and |G x - x| is the strength times what the share changed.
// Beyond      on undirected graphs a step goes beyond the plain one, G x, away from x_before (chebyshev.cuh).
//             It is stored where x' will be, so a row costs 8 bytes more. Entries may be negative on the way.
// Order       a row is summed up in an order of its own (slices.cuh). The step's residual and the next m
//             are sums of integers, multiples of 2^-56, so no order of rows shows in them. Such a sum is
//             off by 2^-57 a row at most. Of plain steps both are at most 2; others end (chebyshev.cuh) long
//             before 128.
// End         every block of a step looks at the residual of the step before. Once it is small enough, and
//             that step a plain one, launches change nothing: the answer does not depend on how many there
//             were.
//
// Source: Beamer, Asanović, Patterson, "Reducing PageRank Communication via Propagation Blocking",
// IPDPS 2017 (the pull baseline); the dangling term is networkx'.
#include "hubs.cuh"
#include "pagerank_step.cuh"
#include "slices.cuh"

// Blocks a multiprocessor: leaves a thread the registers to wait for a round of values at a time.
constexpr int BLOCKS = 5;
constexpr int WEIGHTED_BLOCKS = 3;
// Threads of the one block of a multiprocessor whose shared memory holds the shares of hubs.
constexpr int HUB_THREADS = 1024;
constexpr double ABSENT = -1.0;

// Weights of edges; whether one is below 0, by its bits: see floats.cuh.
#ifndef WIDE_WEIGHTS
#define WIDE_WEIGHTS 0
#endif
#if WIDE_WEIGHTS
typedef double Weight;
__device__ __forceinline__ bool is_negative(double weight) {
    return static_cast<u64>(__double_as_longlong(weight)) > 0x8000000000000000ull;
}
#else
typedef float Weight;
__device__ __forceinline__ bool is_negative(float weight) {
    return __float_as_uint(weight) > 0x80000000u;
}
#endif

// Sum of the weights of each row; NaN where one is negative, or the sum cannot be shared.
//
// Launch      as slices.cuh says
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) sum_weights(
        const Slices slices, const ChunkSums chunk_sums, const Weight* __restrict__ weight,
        double* __restrict__ strengths) {
    sum_rows(slices, slices.open(), chunk_sums,
             [&](i64 entry) { return __ldcs(&weight[entry]); },
             [&](Weight own) {
                 return is_negative(own) ? nan("") : widened(own);
             },
             [](i64) { return 0; },
             [&](i64 row, double sum, int) {
                 strengths[row] = can_be_shared(sum) ? sum : nan("");
             });
}

// Start of the iteration.
//
// Launch      THREADS threads, one a vertex
// Reads       lengths  u32[n] of slices.cuh; degrees u32[n], or strengths f64[n]. Where degrees are the
//                      lengths they are by row
//             start    f64[n], sum 1, 0 for absent vertices; null: `uniform` for all present ones
// Writes      shares   f64[n], absent vertices left out
//             state    mass of step 0, linked; it was all 0
extern "C" __global__ void begin_ranks(const u32* __restrict__ lengths, const i64 count,
                                       const u32* __restrict__ degrees,
                                       const double* __restrict__ strengths,
                                       const double* __restrict__ start, const double uniform,
                                       const HubArrays hub_arrays, double* __restrict__ shares,
                                       State* state) {
    const Hubs hubs(hub_arrays);
    const i64 row = thread_of_grid();
    u64 dangling = 0;
    bool is_linked = false;
    if (row < count && !(lengths[row] & ABSENT_BIT)) {
        const i64 vertex = hubs.vertex_of(row);
        const double rank = start ? start[vertex] : uniform;
        const double strength = Strengths{degrees, strengths}.of(degrees == lengths ? row : vertex);
        shares[row] = strength > 0 ? rank / strength : rank;
        is_linked = strength > 0;
        if (!is_linked) dangling = fixed(rank);
    }
    const u64 mass = block_sum<u64, THREADS>(dangling);
    const u32 linked = block_sum<u32, THREADS>(is_linked);
    if (threadIdx.x == 0) {
        if (mass) atomicAdd(&state->mass[0], mass);
        if (linked) atomicAdd(&state->linked, static_cast<u64>(linked));
    }
}

// Ranks of shares, after the last step that was made.
//
// Launch      one thread a vertex
// Reads       lengths, degrees, strengths  as begin_ranks
//             shares, other_shares  f64[n], after steps of even and of odd numbers
// Writes      x  f64[n], ABSENT where the vertex is. Nothing else is negative: no rank of the solution is, so
//                0 is nearer to it than what is below
//             report  `Report` of the last step, unless a step has written it
extern "C" __global__ void end_ranks(const u32* __restrict__ lengths, const i64 count,
                                     const u32* __restrict__ degrees,
                                     const double* __restrict__ strengths,
                                     const HubArrays hub_arrays, const double* __restrict__ shares,
                                     const double* __restrict__ other_shares, const State* state,
                                     volatile Report* report, double* __restrict__ x) {
    const i64 vertex = thread_of_grid();
    if (vertex == 0 && !state->ended) {
        write_report(report, state->steps, state->residual[step_slot(state->steps)], false);
    }
    if (vertex >= count) return;
    const u32 row = Hubs(hub_arrays).row_of(static_cast<u32>(vertex));
    if (state->steps % 2) shares = other_shares;
    if (row == NO_ROW || lengths[row] & ABSENT_BIT) {
        x[vertex] = ABSENT;
        return;
    }
    const double strength = Strengths{degrees, strengths}.of(degrees == lengths ? row : vertex);
    x[vertex] = fmax(strength > 0 ? shares[row] * strength : shares[row], 0.0);
}

// Additions behind each rank, times the rank, in units of 1 / ADDITION, rounded up; see
// algorithms/shared/pagerank_bound.py.
//
// Launch      THREADS threads, one a row
// Reads       lengths     u32[n] of slices.cuh
//             out_degree  u32[n], weights behind each strength; strengths f64[n]; null: no weights
//             ranks       f64[n]
// Adds to     found  u64[2]: the sum; 1 where a strength is `extreme` or more
constexpr double ADDITION = 16777216.0;  // 2^24: sums of up to 2^33 fit

extern "C" __global__ void add_roundings(const u32* __restrict__ lengths, const i64 count,
                                         const u32* __restrict__ out_degree,
                                         const double* __restrict__ strengths,
                                         const HubArrays hub_arrays,
                                         const double* __restrict__ ranks, const double extreme,
                                         u64* found) {
    const i64 row = thread_of_grid();
    u64 own = 0;
    if (row < count && !(lengths[row] & ABSENT_BIT)) {
        const i64 vertex = Hubs(hub_arrays).vertex_of(row);
        const double additions = static_cast<double>(lengths[row]) +
                                 (out_degree ? static_cast<double>(out_degree[vertex]) : 0.0);
        own = static_cast<u64>(ceil(additions * ranks[vertex] * ADDITION));
        if (strengths && !(strengths[vertex] < extreme)) found[1] = 1;
    }
    const u64 sum = block_sum<u64, THREADS>(own);
    if (threadIdx.x == 0 && sum) atomicAdd(&found[0], sum);
}

// Step number `step`, unless the one before was the last.
//
// Launch      as slices.cuh says
// Reads       indices  u32[entries], weight f32[entries] or f64[entries] (pull_weighted)
//             degrees  u32[n], or strengths f64[n] (pull_weighted), of the out-edges
//             pull     see pagerank_step.cuh
// Cost        reads 4 bytes an entry (8), gathers 8 from L2 an entry; 16 bytes read (20) and 8 written
//             a row, 8 more where it goes beyond, 4 fewer where degrees and lengths are one array
template <class Walk = Interleaved, class Load, class Value>
__device__ __forceinline__ void pull_rows(const Slices& slices, const ChunkSums& chunk_sums,
                                          const Strengths& strengths, const Pull& pull, Load load,
                                          Value value) {
    const SliceRow own = Walk::open(slices, slices.slice_of_warp());
    Step step(pull);
    if (is_over(pull)) return;
    sum_rows<Walk>(slices, own, chunk_sums, load, value,
                   [&](i64 vertex) { return step.prepare(strengths.of(vertex), vertex); },
                   [&](i64 vertex, double sum, const Row& row) { step.finish(vertex, vertex, sum, row); });
    step.add_up<THREADS>();
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) pull(
        const Slices slices, const ChunkSums chunk_sums, const u32* __restrict__ indices,
        const u32* __restrict__ degrees, const Pull pull) {
    pull_rows(slices, chunk_sums, {degrees, nullptr}, pull,
              [&](i64 entry) { return __ldcs(&indices[entry]); },
              [&](u32 source) { return __ldg(&pull.shares[source]); });
}

// As `pull`, of rows where they are; `indices` are those of all rows.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) pull_in_place(
        const Slices slices, const ChunkSums chunk_sums, const u32* __restrict__ indices,
        const u32* __restrict__ degrees, const Pull pull) {
    pull_rows<InPlace>(slices, chunk_sums, {degrees, nullptr}, pull,
                       [&](i64 entry) { return indices[entry]; },
                       [&](u32 source) { return __ldg(&pull.shares[source]); });
}

struct WeightedEntry {
    u32 source;
    Weight weight;
};

extern "C" __global__ void __launch_bounds__(THREADS, WEIGHTED_BLOCKS) pull_weighted(
        const Slices slices, const ChunkSums chunk_sums, const u32* __restrict__ indices,
        const Weight* __restrict__ weight, const double* __restrict__ strengths, const Pull pull) {
    pull_rows(slices, chunk_sums, {nullptr, strengths}, pull,
              [&](i64 entry) {
                  return WeightedEntry{__ldcs(&indices[entry]), __ldcs(&weight[entry])};
              },
              [&](const WeightedEntry& entry) {
                  return __ldg(&pull.shares[entry.source]) * widened(entry.weight);
              });
}

// As `pull`, of a graph with hubs, whose shares lie in shared memory.
//
// Launch      HUB_THREADS threads a block, a block a multiprocessor; 8 bytes of shared memory a hub
// Reads       indices  u32[entries], rows
//             degrees  u32[n] by vertex, or the lengths
// Cost        8 bytes a hub and multiprocessor, and as `pull` for entries that name no hub; 4 a row more where
//             anything is read by vertex
extern "C" __global__ void __launch_bounds__(HUB_THREADS, 1) pull_with_hubs(
        Slices slices, const ChunkSums chunk_sums, const u32* __restrict__ indices,
        const u32* __restrict__ degrees, const Pull pull, const HubArrays hub_arrays) {
    const Hubs hubs(hub_arrays);
    slices.rows = hubs.rows();  // fewer than there is room for, and known on the device alone
    const Strengths strengths{degrees, nullptr};
    Step step(pull);
    if (is_over(pull)) return;
    extern __shared__ double held[];
    __shared__ u32 taken;
    WorkQueue work_queue(&taken);
    const u32 count = hubs.count();
#pragma unroll 8
    for (u32 hub = threadIdx.x; hub < count; hub += HUB_THREADS) held[hub] = pull.shares[hub];
    __syncthreads();

    const auto load = [&](i64 entry) { return __ldcs(&indices[entry]); };
    const auto value = [&](u32 source) {
        return source < count ? held[source] : __ldg(&pull.shares[source]);
    };
    const bool has_degrees = degrees != slices.lengths;
    const bool is_by_vertex = has_degrees || pull.teleport || pull.dangling;
    struct VertexRow {
        Row row;
        u32 vertex;
    };
    const auto prepare = [&](i64 row) {
        const i64 vertex = is_by_vertex ? hubs.vertex_of(row) : row;
        return VertexRow{step.prepare(strengths.of(has_degrees ? vertex : row), row),
                         static_cast<u32>(vertex)};
    };
    const auto finish = [&](i64 row, double sum, const VertexRow& own) {
        step.finish(row, own.vertex, sum, own.row);
    };
    sum_rows_from_queue<Interleaved>(slices, work_queue, chunk_sums, load, value, prepare, finish);
    step.add_up<HUB_THREADS>();
}
