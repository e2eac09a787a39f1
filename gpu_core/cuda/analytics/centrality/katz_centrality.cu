// katz_centrality.cu -- steps of Katz centrality over sliced rows of in-neighbors, with the convergence test.
//
// Caller      gpu_core/cuda/analytics/centrality/katz_centrality.py
// Host twin   gpu_core/host/analytics/centrality/katz_centrality.py
//
// Rows        slices (slices.cuh), or in place where few steps are likely, with values of hubs in shared
//             memory (hub_cache.cuh); with the same bits
// Values      f64 by vertex index, after steps of even and of odd numbers in two arrays; absent vertices
//             have 0 in both
// Alike       as long as all vertices have the same value, a row's sum is that value times its entries:
//             nothing is gathered. What the steps before change is known: one launch makes them all
// Measured    what a step has changed is summed up in fixed blocks: of pulled steps by a launch of its own,
//             as which block makes a row of slices depends on scheduling. Once that is below the
//             threshold, or no number, launches change nothing: the host starts several before it looks
#include "hub_cache.cuh"
#include "slices.cuh"

constexpr int MEASURED = 1024;
constexpr int IN_PLACE_THREADS = 1024;

struct State {
    i64 steps;
    i64 ended;
    double residual;  // of the last step, and of the one before
    double previous;
    double norm;
};

// Where a step is summed up, and when steps end.
struct Ending {
    double threshold;
    double* sums;  // f64[2 blocks]: L1 norm of the change, and squares of the values, of each block
    State* state;
    u32* ticket;
};

// Add up what the threads of all blocks have changed, and decide whether the step was the last one. All
// threads of the launch call, once.
__device__ __forceinline__ void end_step(double change, double squares, const Ending& ending) {
    change = block_sum<double, THREADS>(change);
    squares = block_sum<double, THREADS>(squares);
    if (threadIdx.x == 0) {
        ending.sums[2 * blockIdx.x] = change;
        ending.sums[2 * blockIdx.x + 1] = squares;
    }
    if (!is_last_block(ending.ticket)) return;
    change = squares = 0;
    for (u32 block = threadIdx.x; block < gridDim.x; block += THREADS) {
        change += __ldcg(&ending.sums[2 * block]);
        squares += __ldcg(&ending.sums[2 * block + 1]);
    }
    change = block_sum<double, THREADS>(change);
    squares = block_sum<double, THREADS>(squares);
    if (threadIdx.x > 0) return;
    State* const state = ending.state;
    state->steps += 1;
    state->previous = state->residual;
    state->residual = change;
    state->norm = sqrt(squares);
    // Neither above nor below: it is no number.
    state->ended = !(change >= ending.threshold) || change > 1.7e308;
}

// The step from `common`, which all vertices have that are there, after `steps` of them.
//
// Launch      THREADS threads, a block for MEASURED vertices; it is the first one
// Reads       lengths  u32[rows] of slices.cuh
// Writes      next     f64[rows]; other  f64[rows]: absent vertices alone; cache, sums, state
extern "C" __global__ void __launch_bounds__(THREADS) step_alike(
        const u32* __restrict__ lengths, const i64 rows, const double alpha, const double beta,
        const double common, const i64 steps, double* __restrict__ next, double* __restrict__ other,
        const HubCache cache, const Ending ending) {
    // The block that ends the step sees what is written before any block's ticket.
    if (thread_of_grid() == 0) *ending.state = {steps, 0, 0, 0, 0};
    const auto value_of = [&](u32 length) {
        return length & ABSENT_BIT ? 0.0 : alpha * (common * length) + beta;
    };
    cache.fill([&](u32 hub) { return value_of(lengths[hub]); });
    const i64 first = static_cast<i64>(blockIdx.x) * MEASURED;
    double change = 0, squares = 0;
#pragma unroll
    for (i64 i = threadIdx.x; i < MEASURED; i += THREADS) {
        if (first + i >= rows) continue;
        const u32 length = lengths[first + i];
        const bool is_absent = length & ABSENT_BIT;
        const double value = value_of(length);
        next[first + i] = value;
        if (is_absent) other[first + i] = 0;
        else change += fabs(value - common);
        squares += value * value;
    }
    end_step(change, squares, ending);
}

// What a launch is given for its step, x' = alpha A^T x + beta.
struct Pulled {
    double alpha;
    double beta;
    const double* x;  // f64[rows]
    double* next;     // f64[rows]: absent vertices are left out
    const State* state;

    __device__ __forceinline__ void finish(i64 row, double sum) const { next[row] = alpha * sum + beta; }
};

// One step.
//
// Launch      as slices.cuh says; pull_in_place of rows in place: IN_PLACE_THREADS threads a block, a block a
//             multiprocessor, and shared memory of hub_cache.cuh
// Reads       indices  u32[entries]; weights f32[entries], wide_weights f64[entries]: one or none, others null
extern "C" __global__ void __launch_bounds__(THREADS) pull_values(
        const Slices slices, const ChunkSums chunk_sums, const u32* __restrict__ indices,
        const Pulled pulled) {
    if (pulled.state->ended) return;
    sum_rows(slices, slices.open(), chunk_sums,
             [&](i64 entry) { return __ldcs(&indices[entry]); },
             [&](u32 source) { return __ldg(&pulled.x[source]); },
             [](i64) { return 0; },
             [&](i64 row, double sum, int) { pulled.finish(row, sum); });
}

extern "C" __global__ void __launch_bounds__(IN_PLACE_THREADS, 1) pull_in_place(
        const Slices slices, const ChunkSums chunk_sums, const u32* __restrict__ indices,
        const Pulled pulled, const HubCache cache) {
    if (pulled.state->ended) return;
    extern __shared__ double held[];
    __shared__ u32 taken;
    WorkQueue work_queue(&taken);
    const HeldHubs<IN_PLACE_THREADS> hubs(cache, held);
    // A sector of a short row serves several of its loads: it stays in the cache.
    sum_rows_from_queue<InPlace>(slices, work_queue, chunk_sums,
                                 [&](i64 entry) { return indices[entry]; },
                                 [&](u32 source) { return hubs.value(source, pulled.x); },
                                 [](i64) { return 0; },
                                 [&](i64 row, double sum, int) { pulled.finish(row, sum); });
}

struct WeightedEntry {
    u32 source;
    double weight;
};

extern "C" __global__ void __launch_bounds__(THREADS) pull_weighted_values(
        const Slices slices, const ChunkSums chunk_sums, const u32* __restrict__ indices,
        const Pulled pulled, const float* __restrict__ weights,
        const double* __restrict__ wide_weights) {
    if (pulled.state->ended) return;
    sum_rows(slices, slices.open(), chunk_sums,
             [&](i64 entry) {
                 const double weight =
                     wide_weights ? __ldcs(&wide_weights[entry]) : widened(__ldcs(&weights[entry]));
                 return WeightedEntry{__ldcs(&indices[entry]), weight};
             },
             [&](const WeightedEntry& entry) { return __ldg(&pulled.x[entry.source]) * entry.weight; },
             [](i64) { return 0; },
             [&](i64 row, double sum, int) { pulled.finish(row, sum); });
}

// Measure a step that was pulled.
//
// Launch      THREADS threads, a block for MEASURED vertices
// Reads       x, next  f64[rows], before and after the step
// Writes      cache, sums, state
extern "C" __global__ void __launch_bounds__(THREADS) measure_step(
        const double* __restrict__ x, const double* __restrict__ next, const i64 rows,
        const HubCache cache, const Ending ending) {
    if (ending.state->ended) return;
    cache.fill([&](u32 hub) { return next[hub]; });
    const i64 first = static_cast<i64>(blockIdx.x) * MEASURED;
    double change = 0, squares = 0;
#pragma unroll
    for (i64 i = threadIdx.x; i < MEASURED; i += THREADS) {
        if (first + i >= rows) continue;
        const double value = next[first + i];
        change += fabs(value - x[first + i]);
        squares += value * value;
    }
    end_step(change, squares, ending);
}

// Values after the last step, divided by their norm where that is asked for and between the two.
//
// Launch      one thread a vertex; where steps have not ended, and more are allowed, it changes nothing
// Reads       even, odd  f64[rows], after steps of these numbers
extern "C" __global__ void end_values(
        const double* __restrict__ even, const double* __restrict__ odd, const i64 rows,
        const i64 was_last, const i64 normalized, const double least_norm, const double most_norm,
        const State* state, double* __restrict__ values) {
    if (!state->ended && !was_last) return;
    const i64 vertex = thread_of_grid();
    if (vertex >= rows) return;
    const bool divides = normalized && state->norm > least_norm && state->norm < most_norm;
    const double value = state->steps % 2 ? odd[vertex] : even[vertex];
    values[vertex] = divides ? value / state->norm : value;
}
