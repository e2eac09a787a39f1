// katz_centrality.cu -- steps of Katz centrality, pulled over slices of in-neighbors, ended by the device.
//
// Caller      gpu_core/cuda/analytics/centrality/katz_centrality.py
// Host twin   gpu_core/host/analytics/centrality/katz_centrality.py
//
// Values      f64 by vertex index, after steps of even and of odd numbers in two arrays; absent vertices
//             have 0 in both
// Measured    what a step has changed is summed up by a launch of its own, in fixed blocks: which block
//             makes a row of slices depends on scheduling. Once that is below the threshold, or no number,
//             launches change nothing: the host starts several before it looks
#include "slices.cuh"

constexpr int MEASURED = 4096;

// `katz_centrality.py: STATE_DTYPE` is its twin.
struct State {
    i64 steps;
    i64 ended;
    double residual;
    double norm;
};

// One step: x' = alpha A^T x + beta.
//
// Launch      as slices.cuh says
// Reads       indices  u32[entries]; weights f32[entries], wide_weights f64[entries]: one or none, others null
//             x        f64[rows]
// Writes      next     f64[rows], absent vertices left out
extern "C" __global__ void __launch_bounds__(SLICE_THREADS) pull_values(
        const u32* lengths, const i64* starts, const i64 rows, const u64* chunk_words,
        const u32* chunk_count, const i64 chunk_blocks, double* chunk_sums, u32* tickets,
        const u32* __restrict__ indices, const double alpha, const double beta,
        const double* __restrict__ x, double* __restrict__ next, const u64* state_words) {
    if (reinterpret_cast<const State*>(state_words)->ended) return;
    const Slices slices{lengths, starts, rows, chunk_words, chunk_count, chunk_blocks};
    sum_rows(slices, slices.open(), {chunk_sums, tickets},
             [&](i64 entry) { return __ldcs(&indices[entry]); },
             [&](u32 source) { return x[source]; },
             [](i64) { return 0; },
             [&](i64 row, double sum, int) { next[row] = alpha * sum + beta; });
}

struct WeightedEntry {
    u32 source;
    double weight;
};

extern "C" __global__ void __launch_bounds__(SLICE_THREADS) pull_weighted_values(
        const u32* lengths, const i64* starts, const i64 rows, const u64* chunk_words,
        const u32* chunk_count, const i64 chunk_blocks, double* chunk_sums, u32* tickets,
        const u32* __restrict__ indices, const double alpha, const double beta,
        const double* __restrict__ x, double* __restrict__ next, const u64* state_words,
        const float* __restrict__ weights, const double* __restrict__ wide_weights) {
    if (reinterpret_cast<const State*>(state_words)->ended) return;
    const Slices slices{lengths, starts, rows, chunk_words, chunk_count, chunk_blocks};
    sum_rows(slices, slices.open(), {chunk_sums, tickets},
             [&](i64 entry) {
                 const double weight =
                     wide_weights ? __ldcs(&wide_weights[entry]) : static_cast<double>(__ldcs(&weights[entry]));
                 return WeightedEntry{__ldcs(&indices[entry]), weight};
             },
             [&](const WeightedEntry& entry) { return x[entry.source] * entry.weight; },
             [](i64) { return 0; },
             [&](i64 row, double sum, int) { next[row] = alpha * sum + beta; });
}

// Sum up what the step has changed, and decide whether it was the last one.
//
// Launch      SLICE_THREADS threads, a block for MEASURED vertices
// Reads       x, next  f64[rows], before and after the step
// Writes      sums     f64[2 blocks]: L1 norm of the change, and squares of the values, of each block
//             state
extern "C" __global__ void __launch_bounds__(SLICE_THREADS) measure_step(
        const double* __restrict__ x, const double* __restrict__ next, const i64 rows,
        const double threshold, double* sums, u64* state_words, u32* ticket) {
    State* const state = reinterpret_cast<State*>(state_words);
    if (state->ended) return;
    const i64 first = static_cast<i64>(blockIdx.x) * MEASURED;
    double change = 0, squares = 0;
    for (i64 i = threadIdx.x; i < MEASURED && first + i < rows; i += SLICE_THREADS) {
        const double value = next[first + i];
        change += fabs(value - x[first + i]);
        squares += value * value;
    }
    change = block_sum<double, SLICE_THREADS>(change);
    squares = block_sum<double, SLICE_THREADS>(squares);
    if (threadIdx.x == 0) {
        sums[2 * blockIdx.x] = change;
        sums[2 * blockIdx.x + 1] = squares;
    }
    if (!is_last_block(ticket)) return;
    change = squares = 0;
    for (u32 block = threadIdx.x; block < gridDim.x; block += SLICE_THREADS) {
        change += __ldcg(&sums[2 * block]);
        squares += __ldcg(&sums[2 * block + 1]);
    }
    change = block_sum<double, SLICE_THREADS>(change);
    squares = block_sum<double, SLICE_THREADS>(squares);
    if (threadIdx.x > 0) return;
    state->steps += 1;
    state->residual = change;
    state->norm = sqrt(squares);
    // Neither above nor below: it is no number.
    state->ended = !(change >= threshold) || change > 1.7e308;
}

// Divide by the norm.
//
// Launch      one thread a vertex
extern "C" __global__ void divide_values(const i64 rows, const double norm, double* __restrict__ x) {
    const i64 vertex = thread_of_grid();
    if (vertex < rows) x[vertex] /= norm;
}
