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
#include "block.cuh"
#include "floats.cuh"

constexpr int LANES = 8;
constexpr u32 BLOCK_ENTRIES = 1024;
constexpr int WARP_GROUPS = WARP / LANES;
constexpr int BLOCK_GROUPS = THREADS / LANES;
constexpr i64 MEASURED = 1024;
constexpr int SUMS = 3;
constexpr int MASS = 1;

// As `WeightedRows` of row_arguments.cuh, but kernels are given the fields one by one: as one argument, R-MAT graphs
// took 45 to 69 ms instead of 34.
struct InRows {
    const i64* begin;
    const u32* degree;
    const u32* columns;
    i64 step;
    const float* narrow;
    const double* wide;
    const i64* weight_begin;

    // Sum of the shares of every `groups`-th neighbor, from `group` on.
    __device__ __forceinline__ double sum(i64 row, int group, int groups, u32 lane, const double* shares) const {
        const i64 entries = degree[row];
        double sum = 0;
        for (i64 i = group; i < entries; i += groups) {
            const double share = shares[static_cast<i64>(columns[begin[row] + i * step]) * LANES + lane];
            if (wide) {
                sum += share * wide[weight_begin[row] + i * step];
            } else if (narrow) {
                sum += share * widened(narrow[weight_begin[row] + i * step]);
            } else {
                sum += share;
            }
        }
        return sum;
    }
};

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
        const i64* __restrict__ begin, const u32* __restrict__ degree, const u32* __restrict__ columns,
        const i64 step, const float* __restrict__ narrow, const double* __restrict__ wide,
        const i64* __restrict__ weight_begin, const i64 rows, const double alpha,
        const i64* __restrict__ sources, const double* __restrict__ masses,
        const double* __restrict__ shares, double* __restrict__ next) {
    const i64 row = thread_of_grid() / WARP;
    if (row >= rows || degree[row] > BLOCK_ENTRIES) return;
    const InRows in{begin, degree, columns, step, narrow, wide, weight_begin};
    const u32 lane = lane_of_thread() % LANES;
    double sum = in.sum(row, static_cast<int>(lane_of_thread() / LANES), WARP_GROUPS, lane, shares);
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
        const i64* __restrict__ begin, const u32* __restrict__ degree, const u32* __restrict__ columns,
        const i64 step, const float* __restrict__ narrow, const double* __restrict__ wide,
        const i64* __restrict__ weight_begin, const u32* __restrict__ listed, const double alpha,
        const i64* __restrict__ sources, const double* __restrict__ masses,
        const double* __restrict__ shares, double* __restrict__ next) {
    __shared__ double sums[THREADS];
    const InRows in{begin, degree, columns, step, narrow, wide, weight_begin};
    const i64 row = listed[blockIdx.x];
    const u32 lane = threadIdx.x % LANES;
    sums[threadIdx.x] = in.sum(row, static_cast<int>(threadIdx.x / LANES), BLOCK_GROUPS, lane, shares);
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
