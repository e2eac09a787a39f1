// pagerank.cu -- power iteration of PageRank, pulled over in-edges, converged on the device.
//
//     x' = alpha (P^T x + m w) + (1 - alpha) p        P = D^-1 A,  m = sum of x over dangling vertices
//
// Caller      gpu_core/cuda/pagerank.py
// Host twin   gpu_core/host/pagerank.py, same formulas in the same precision
// Encoding    inverse[v] is 1 / strength; 0: dangling; -1: the vertex is absent, as is x[v] then
// Order       a row is summed up in the order of its windows (windows.cuh). The step's residual and the
//             next m are sums of integers, multiples of 2^-62, so no order of blocks shows in them.
//             Such a sum is off by 2^-63 a window at most; both are below 4, as x sums to 1.
// End         the last block of a step compares the residual. Steps that are launched afterwards do
//             nothing: the answer does not depend on how many were.
//
// Source: Beamer, Asanović, Patterson, "Reducing PageRank Communication via Propagation Blocking",
// IPDPS 2017 (the pull baseline); the dangling term is networkx'.
#include "windows.cuh"

constexpr double ABSENT = -1.0;
constexpr double FIXED_ONE = 4611686018427387904.0;  // 2^62

__device__ __forceinline__ u64 fixed(double value) {
    return static_cast<u64>(value * FIXED_ONE + 0.5);
}
__device__ __forceinline__ double unfixed(u64 value) {
    return static_cast<double>(value) * (1.0 / FIXED_ONE);
}

// What is kept from step to step; 0 before the first. `pagerank.py: STATE_DTYPE` is its twin.
struct State {
    double mass;       // m: rank on dangling vertices
    double residual;   // of the last step
    i64 steps;         // made so far
    i64 ended;         // 1: converged or made `max_steps`
    u64 residual_sum;  // of the step under way, fixed point
    u64 mass_sum;
    u64 other_sum;
    u32 ticket;
    u32 moved;
};

static_assert(sizeof(State) == 64, "State is passed as u64[8]");
__device__ __forceinline__ State* state_in(u64* words) { return reinterpret_cast<State*>(words); }

__device__ __forceinline__ void add_fixed(u64* sum, double value) {
    if (value != 0.0) atomicAdd(sum, fixed(value));
}

// Number of entries of each row, as strengths where all edges count alike.
//
// Launch      one thread a vertex
extern "C" __global__ void count_strengths(const u32* __restrict__ image, const Shape shape,
                                           double* __restrict__ strengths) {
    const i64 vertex = thread_of_grid();
    if (vertex >= shape.vertex_count) return;
    strengths[vertex] = image[record_of(shape, vertex) + shape.degree_word];
}

// Sum of the weights of each row; NaN where one is negative.
//
// Launch      WINDOW_THREADS threads, a block a window
extern "C" __global__ void __launch_bounds__(WINDOW_THREADS) sum_weights(
        const i64* indptr, const i64* window_rows, const i64* window_entries,
        const float* __restrict__ weight, double* gone_on, double* carried, u32* tickets,
        double* __restrict__ strengths) {
    const auto finish = [&](i64 row, double sum) { strengths[row] = sum; };
    sum_rows({indptr, window_rows, window_entries}, {gone_on, carried, tickets}, blockIdx.x,
             [&](i64 entry) {
                 const float own = __ldcs(&weight[entry]);
                 return own >= 0.0f ? static_cast<double>(own) : nan("");
             },
             finish, finish);
}

// Start of the iteration.
//
// Launch      256 threads a block, one a vertex
// Reads       strengths  f64[n]
//             start      f64[n], sum 1, 0 for absent vertices; null: `uniform` for all present ones
// Writes      inverse, x, shares, next_shares  f64[n]
//             state      mass; it was all 0
extern "C" __global__ void begin_ranks(const u32* __restrict__ image, const Shape shape,
                                       const double* __restrict__ strengths,
                                       const double* __restrict__ start, const double uniform,
                                       double* __restrict__ inverse, double* __restrict__ x,
                                       double* __restrict__ shares,
                                       double* __restrict__ next_shares, u64* words) {
    State* state = state_in(words);
    const i64 vertex = thread_of_grid();
    double dangling = 0;
    if (vertex < shape.vertex_count) {
        const bool is_present = image[record_of(shape, vertex)] & PRESENT_BIT;
        const double strength = strengths[vertex];
        const double rank = !is_present ? 0.0 : start ? start[vertex] : uniform;
        const double own = !is_present ? ABSENT : strength > 0 ? 1.0 / strength : 0.0;
        inverse[vertex] = own;
        x[vertex] = is_present ? rank : ABSENT;
        shares[vertex] = own > 0 ? rank * own : 0.0;
        next_shares[vertex] = 0.0;
        if (own == 0) dangling = rank;
    }
    const double mass = block_sum<double, 256>(dangling);
    if (threadIdx.x == 0) add_fixed(&state->mass_sum, mass);
    if (!is_last_block(&state->ticket)) return;
    if (threadIdx.x == 0) {
        state->mass = unfixed(__ldcg(&state->mass_sum));
        state->mass_sum = 0;
    }
}

// Ranks of an earlier result by the indices of now; 1/n where the vertex is new.
//
// Launch      256 threads a block, one a vertex of now or of then, whichever are more
// Reads       earlier     f64[earlier_count], negative: absent
//             earlier_ids, ids  i64 users' ids of each index then and now; null: they are the indices
// Writes      start       f64[n], not divided by its sum yet; 0 for absent vertices
//             state       other_sum: the sum; moved: how many vertices of then are not at their index
extern "C" __global__ void keep_ranks(const u32* __restrict__ image, const Shape shape,
                                      const double* __restrict__ earlier, const i64 earlier_count,
                                      const i64* __restrict__ earlier_ids,
                                      const i64* __restrict__ ids, const double uniform,
                                      double* __restrict__ start, u64* words) {
    State* state = state_in(words);
    const i64 vertex = thread_of_grid();
    const bool is_present =
        vertex < shape.vertex_count && image[record_of(shape, vertex)] & PRESENT_BIT;
    const bool was_present = vertex < earlier_count && earlier[vertex] >= 0;
    const bool is_same =
        is_present && was_present && (!ids || ids[vertex] == earlier_ids[vertex]);
    const double rank = is_same ? earlier[vertex] : is_present ? uniform : 0.0;
    if (vertex < shape.vertex_count) start[vertex] = rank;
    const double sum = block_sum<double, 256>(rank);
    const u32 moved = block_sum<u32, 256>(was_present && !is_same);
    if (threadIdx.x == 0) {
        add_fixed(&state->other_sum, sum);
        if (moved) atomicAdd(&state->moved, moved);
    }
}

// Divide by the sum; where all the rank was on vertices that are gone, begin at 1/n.
//
// Launch      one thread a vertex
extern "C" __global__ void normalise_ranks(const u32* __restrict__ image, const Shape shape,
                                           const double uniform, double* __restrict__ start,
                                           u64* words) {
    const State* state = state_in(words);
    const i64 vertex = thread_of_grid();
    if (vertex >= shape.vertex_count) return;
    const bool is_present = image[record_of(shape, vertex)] & PRESENT_BIT;
    const double sum = unfixed(state->other_sum);
    start[vertex] = !is_present ? 0.0 : sum > 0 ? start[vertex] / sum : uniform;
}

// One step, unless the iteration has ended.
//
// Launch      WINDOW_THREADS threads, a block a window
// Reads       indices  u32[entries], weight f32[entries] (pull_weighted)
//             shares   f64[n], x / strength of the last step
//             teleport, dangling  f64[n], p and w; null: `uniform` for all present vertices
// Writes      x        f64[n]
//             next_shares  f64[n], absent vertices left out
// Cost        reads 4 bytes an entry (8), gathers 8 from L2 an entry; 16 bytes of offsets, 16 read
//             and 16 written a row
template <class Value>
__device__ __forceinline__ void pull_rows(const i64* indptr, const i64* window_rows,
                                          const i64* window_entries, double* gone_on,
                                          double* carried, u32* tickets, const double* inverse,
                                          const double* teleport, const double* dangling,
                                          double uniform, double alpha, double threshold,
                                          i64 max_steps, double* x, double* next_shares,
                                          State* state, Value value) {
    if (state->ended) return;
    const double mass = state->mass;
    double residual = 0;
    double next_mass = 0;
    // x' = alpha (P^T x + m w) + (1 - alpha) p; returns |x' - x|, and x' where it is dangling.
    const auto enter = [&](i64 vertex, double gathered, double& change, double& left_over) {
        const double own = inverse[vertex];
        if (own < 0) return;
        const double w = dangling ? dangling[vertex] : uniform;
        const double p = teleport ? teleport[vertex] : uniform;
        const double rank = alpha * (gathered + mass * w) + (1.0 - alpha) * p;
        change += fabs(rank - x[vertex]);
        x[vertex] = rank;
        next_shares[vertex] = rank * own;
        if (own == 0) left_over += rank;
    };
    sum_rows({indptr, window_rows, window_entries}, {gone_on, carried, tickets}, blockIdx.x, value,
             [&](i64 row, double sum) { enter(row, sum, residual, next_mass); },
             [&](i64 row, double sum) {
                 // Which block comes here differs from run to run: not a part of its own sums.
                 double change = 0;
                 double left_over = 0;
                 enter(row, sum, change, left_over);
                 add_fixed(&state->residual_sum, change);
                 add_fixed(&state->mass_sum, left_over);
             });
    residual = block_sum<double, WINDOW_THREADS>(residual);
    next_mass = block_sum<double, WINDOW_THREADS>(next_mass);
    if (threadIdx.x == 0) {
        add_fixed(&state->residual_sum, residual);
        add_fixed(&state->mass_sum, next_mass);
    }
    if (!is_last_block(&state->ticket)) return;
    if (threadIdx.x == 0) {
        const double change = unfixed(__ldcg(&state->residual_sum));
        state->mass = unfixed(__ldcg(&state->mass_sum));
        state->residual = change;
        state->residual_sum = 0;
        state->mass_sum = 0;
        state->steps += 1;
        if (change <= threshold || state->steps >= max_steps) state->ended = 1;
    }
}

extern "C" __global__ void __launch_bounds__(WINDOW_THREADS) pull(
        const i64* indptr, const i64* window_rows, const i64* window_entries,
        const u32* __restrict__ indices, double* gone_on, double* carried, u32* tickets,
        const double* __restrict__ shares, const double* __restrict__ inverse,
        const double* __restrict__ teleport, const double* __restrict__ dangling,
        const double uniform, const double alpha, const double threshold, const i64 max_steps,
        double* __restrict__ x, double* __restrict__ next_shares, u64* words) {
    pull_rows(indptr, window_rows, window_entries, gone_on, carried, tickets, inverse, teleport,
              dangling, uniform, alpha, threshold, max_steps, x, next_shares, state_in(words),
              [&](i64 entry) { return shares[__ldcs(&indices[entry])]; });
}

extern "C" __global__ void __launch_bounds__(WINDOW_THREADS) pull_weighted(
        const i64* indptr, const i64* window_rows, const i64* window_entries,
        const u32* __restrict__ indices, const float* __restrict__ weight, double* gone_on,
        double* carried, u32* tickets, const double* __restrict__ shares,
        const double* __restrict__ inverse, const double* __restrict__ teleport,
        const double* __restrict__ dangling, const double uniform, const double alpha,
        const double threshold, const i64 max_steps, double* __restrict__ x,
        double* __restrict__ next_shares, u64* words) {
    pull_rows(indptr, window_rows, window_entries, gone_on, carried, tickets, inverse, teleport,
              dangling, uniform, alpha, threshold, max_steps, x, next_shares, state_in(words),
              [&](i64 entry) {
                  return shares[__ldcs(&indices[entry])] *
                         static_cast<double>(__ldcs(&weight[entry]));
              });
}
