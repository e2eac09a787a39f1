// personalized_pagerank.cu -- steps of PageRank from LANES sources at once, pulled over in-edges.
//
// Caller      gpu_core/cuda/analytics/centrality/personalized_pagerank.py
// Host twin   gpu_core/host/analytics/centrality/personalized_pagerank.py
//
// Vectors     f64[vertices][LANES]: LANES neighboring threads have one vertex, so that what they read of a
//             neighbor lies in two sectors
// Rows        of up to BLOCK_ENTRIES entries are a warp's, longer ones, which the host has listed, a block's
// Sums        of a row by every GROUPS-th entry, then over the groups; over vertices in blocks of MEASURED, then over
//             these. All in a fixed order
// Totals      f64[SUMS][LANES], of a step: L1 norm of the change; rank on dangling vertices; entries that were added
//             up times rank, which bounds the rounding
#include "row_arguments.cuh"

constexpr int LANES = 8;
constexpr u32 BLOCK_ENTRIES = 1024;
constexpr int WARP_GROUPS = WARP / LANES;
constexpr int BLOCK_GROUPS = THREADS / LANES;
constexpr i64 MEASURED = 1024;
constexpr int SUMS = 3;
constexpr int MASS = 1;

// Sum of the shares of every `groups`-th in-neighbor, from `group` on, times the weight of the edge.
template <bool HAS_WEIGHTS>
__device__ __forceinline__ double sum_entries(const WeightedRows& in, i64 row, u32 group, u32 groups,
                                              u32 lane, const double* shares) {
    const u32 entries = in.rows.degree[row];
    const u32* const columns = in.rows.columns + in.rows.begin[row];
    const i64 weights = HAS_WEIGHTS ? in.weights_of(row) : 0;
    double sum = 0;
#pragma unroll 4
    for (u32 i = group; i < entries; i += groups) {
        const i64 position = i * in.rows.step;
        const double share = shares[static_cast<i64>(__ldg(&columns[position])) * LANES + lane];
        sum += HAS_WEIGHTS ? share * in.weight_at(weights + position) : share;
    }
    return sum;
}

__device__ __forceinline__ double sum_row(const WeightedRows& in, i64 row, u32 group, u32 groups,
                                          u32 lane, const double* shares) {
    return in.has_weights() ? sum_entries<true>(in, row, group, groups, lane, shares)
                            : sum_entries<false>(in, row, group, groups, lane, shares);
}

// x' = alpha (P^T x + m s) + (1 - alpha) s
__device__ __forceinline__ double new_rank(i64 row, double gathered, double alpha, i64 source, double mass) {
    return row == source ? alpha * (gathered + mass) + (1.0 - alpha) : alpha * gathered;
}

// One step for rows that are not long.
//
// Launch      a warp a row
// Reads       shares   f64[rows][LANES], ranks over strengths
//             sources  i64[LANES], vertices, or -1: no source; masses f64[LANES], rank on dangling vertices
// Writes      next     f64[rows][LANES]
extern "C" __global__ void __launch_bounds__(THREADS, 6) pull_rows(
        const WeightedRows weighted, const i64 rows, const double alpha,
        const i64* __restrict__ sources, const double* __restrict__ masses,
        const double* __restrict__ shares, double* __restrict__ next) {
    const i64 row = thread_of_grid() / WARP;
    if (row >= rows || weighted.rows.degree[row] > BLOCK_ENTRIES) return;
    const u32 lane = lane_of_thread() % LANES;
    double sum = sum_row(weighted, row, lane_of_thread() / LANES, WARP_GROUPS, lane, shares);
    for (int distance = LANES; distance < static_cast<int>(WARP); distance *= 2) {
        sum += __shfl_xor_sync(FULL_WARP, sum, distance);
    }
    if (lane_of_thread() < LANES) {
        next[row * LANES + lane] = new_rank(row, sum, alpha, sources[lane], masses[lane]);
    }
}

// One step for long rows.
//
// Launch      a block a row
// Reads       listed   u32[blocks], the rows; others as of `pull_rows`
extern "C" __global__ void __launch_bounds__(THREADS) pull_long_rows(
        const WeightedRows weighted, const u32* __restrict__ listed, const double alpha,
        const i64* __restrict__ sources, const double* __restrict__ masses,
        const double* __restrict__ shares, double* __restrict__ next) {
    __shared__ double sums[THREADS];
    const i64 row = listed[blockIdx.x];
    const u32 lane = threadIdx.x % LANES;
    sums[threadIdx.x] = sum_row(weighted, row, threadIdx.x / LANES, BLOCK_GROUPS, lane, shares);
    __syncthreads();
    if (threadIdx.x >= LANES) return;
    double sum = 0;
    for (int group = 0; group < BLOCK_GROUPS; ++group) sum += sums[group * LANES + lane];
    next[row * LANES + lane] = new_rank(row, sum, alpha, sources[lane], masses[lane]);
}

// Set the vectors of sources, which were 0.
//
// Launch      LANES threads
// Reads       sources, inverse, as below
// Writes      x, shares  f64[rows][LANES]
//             totals
extern "C" __global__ void __launch_bounds__(LANES) begin_lanes(
        const i64* __restrict__ sources, const double* __restrict__ inverse, double* __restrict__ x,
        double* __restrict__ shares, double* __restrict__ totals) {
    const int lane = threadIdx.x;
    const i64 source = sources[lane];
    totals[MASS * LANES + lane] = source >= 0 && inverse[source] == 0 ? 1 : 0;
    if (source < 0) return;
    x[source * LANES + lane] = 1;
    shares[source * LANES + lane] = inverse[source];
}

// Sum up what a step has changed and left on dangling vertices, and write the shares for the next one.
//
// Launch      THREADS threads, a block for MEASURED vertices
// Reads       x, next  f64[rows][LANES], before and after the step
//             inverse  f64[rows], one over the strength; 0 of dangling and absent vertices
//             in_degree u32[rows]; out_degree likewise where weights were added up, else null
// Writes      shares   f64[rows][LANES]
//             sums     f64[blocks][SUMS][LANES]
extern "C" __global__ void __launch_bounds__(THREADS) measure_step(
        const double* __restrict__ x, const double* __restrict__ next, const double* __restrict__ inverse,
        const u32* __restrict__ in_degree, const u32* __restrict__ out_degree, const i64 rows,
        double* __restrict__ shares, double* __restrict__ sums) {
    __shared__ double of_threads[SUMS][THREADS];
    const u32 lane = threadIdx.x % LANES;
    const i64 first = static_cast<i64>(blockIdx.x) * MEASURED;
    const i64 end = min(first + MEASURED, rows);
    double own[SUMS] = {};
    for (i64 vertex = first + threadIdx.x / LANES; vertex < end; vertex += BLOCK_GROUPS) {
        const i64 position = vertex * LANES + lane;
        const double value = next[position];
        const double additions = static_cast<double>(in_degree[vertex]) + (out_degree ? out_degree[vertex] : 0);
        own[0] += fabs(value - x[position]);
        shares[position] = value * inverse[vertex];
        if (inverse[vertex] == 0) own[MASS] += value;
        own[2] += additions * value;
    }
    for (int which = 0; which < SUMS; ++which) of_threads[which][threadIdx.x] = own[which];
    __syncthreads();
    if (threadIdx.x >= SUMS * LANES) return;
    const double* const summed = of_threads[threadIdx.x / LANES] + lane;
    double sum = 0;
    for (int group = 0; group < BLOCK_GROUPS; ++group) sum += summed[group * LANES];
    sums[blockIdx.x * SUMS * LANES + threadIdx.x] = sum;
}

// Add up the sums of all blocks.
//
// Launch      one block of THREADS threads
// Writes      totals
extern "C" __global__ void __launch_bounds__(THREADS) add_up_step(
        const double* __restrict__ sums, const i64 blocks, double* __restrict__ totals) {
    constexpr int COLUMNS = SUMS * LANES;
    constexpr int GROUPS = THREADS / COLUMNS;
    __shared__ double of_groups[GROUPS][COLUMNS];
    const int column = threadIdx.x % COLUMNS, group = threadIdx.x / COLUMNS;
    if (group < GROUPS) {
        double sum = 0;
        for (i64 block = group; block < blocks; block += GROUPS) sum += sums[block * COLUMNS + column];
        of_groups[group][column] = sum;
    }
    __syncthreads();
    if (threadIdx.x >= COLUMNS) return;
    double sum = 0;
    for (int each = 0; each < GROUPS; ++each) sum += of_groups[each][column];
    totals[column] = sum;
}

// Ranks of one lane.
//
// Launch      one thread a vertex
// Reads       present  of `Rows`
// Writes      ranks    f64[rows]; -1: the vertex is absent
extern "C" __global__ void copy_lane(const double* __restrict__ x, const u8* __restrict__ present,
                                     const i64 rows, const i64 lane, double* __restrict__ ranks) {
    const i64 vertex = thread_of_grid();
    if (vertex < rows) ranks[vertex] = present[vertex] ? x[vertex * LANES + lane] : -1;
}
