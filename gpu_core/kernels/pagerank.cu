// pagerank.cu -- power iteration of PageRank, pulled over in-edges, converged on the device.
//
//     x' = alpha (P^T x + m w) + (1 - alpha) p        P = D^-1 A,  m = sum of x over dangling vertices
//
// Caller      gpu_core/cuda/pagerank.py
// Host twin   gpu_core/host/pagerank.py, same formulas in the same precision
// Encoding    inverse[v] is 1 / strength; 0: dangling; -1: the vertex is absent, as is x[v] then
// Order       a row is summed up in the order of its windows (windows.cuh). The step's residual and
//             the next m are sums of integers, multiples of 2^-62, so no order of blocks shows in
//             them. Such a sum is off by 2^-63 a window at most; both are below 4, as x sums to 1.
// End         every block of a step looks at the residual of the step before. Once it is small enough,
//             launches change nothing: the answer does not depend on how many there were.
//
// Source: Beamer, Asanović, Patterson, "Reducing PageRank Communication via Propagation Blocking",
// IPDPS 2017 (the pull baseline); the dangling term is networkx'.
#include "windows.cuh"

// Blocks a multiprocessor: leaves a thread the registers to wait for eight values at a time.
constexpr int BLOCKS = 5;
constexpr double ABSENT = -1.0;
constexpr double FIXED_ONE = 4611686018427387904.0;  // 2^62

__device__ __forceinline__ u64 fixed(double value) {
    return static_cast<u64>(value * FIXED_ONE + 0.5);
}
__device__ __forceinline__ double unfixed(u64 value) {
    return static_cast<double>(value) * (1.0 / FIXED_ONE);
}

// Sums of a step stand where a later one does not need the place: step k adds to slot k % SLOTS,
// reads slot k - 1, and empties slot k + 1.
constexpr int SLOTS = 4;

// What is kept from step to step; 0 before the first. `pagerank.py: STATE_DTYPE` is its twin.
struct State {
    u64 residual[SLOTS];  // |x' - x| of a step, fixed point
    u64 mass[SLOTS];      // rank on dangling vertices after it
    i64 steps;            // made so far, but for launches that changed nothing
    i64 ended;            // 1: they change nothing from here on
    u64 start_sum;        // of keep_ranks
    u64 moved;
};
static_assert(sizeof(State) == 96, "State is passed as u64[12]");
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
extern "C" __global__ void __launch_bounds__(WINDOW_THREADS, BLOCKS) sum_weights(
        const i64* indptr, const i64* window_rows, const i64* window_entries,
        const float* __restrict__ weight, double* gone_on, double* carried, u32* tickets,
        double* __restrict__ strengths) {
    const Windows windows{indptr, window_rows, window_entries};
    sum_rows(windows, {gone_on, carried, tickets}, windows.read(blockIdx.x),
             [&](i64 entry) { return __ldcs(&weight[entry]); },
             [&](float own) {
                 // By its bits: a comparison takes the smallest numbers for 0.
                 const bool negative = __float_as_uint(own) > 0x80000000u;
                 return negative ? nan("") : static_cast<double>(own);
             },
             [](i64) { return 0; },
             [&](i64 row, double sum, int) { strengths[row] = sum; },
             [&](i64 row, double sum) { strengths[row] = sum; });
}

// Start of the iteration.
//
// Launch      256 threads a block, one a vertex
// Reads       strengths  f64[n]
//             start      f64[n], sum 1, 0 for absent vertices; null: `uniform` for all present ones
// Writes      inverse, x, shares, next_shares  f64[n]
//             state      mass of step 0; it was all 0
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
    if (threadIdx.x == 0) add_fixed(&state->mass[0], mass);
}

// Ranks of an earlier result by the indices of now; 1/n where the vertex is new.
//
// Launch      256 threads a block, one a vertex of now or of then, whichever are more
// Reads       earlier     f64[earlier_count], negative: absent
//             earlier_ids, ids  i64 users' ids of each index then and now; null: they are the indices
// Writes      start       f64[n], not divided by its sum yet; 0 for absent vertices
//             state       start_sum: the sum; moved: how many vertices of then are not at their index
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
        add_fixed(&state->start_sum, sum);
        if (moved) atomicAdd(&state->moved, static_cast<u64>(moved));
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
    const double sum = unfixed(state->start_sum);
    start[vertex] = !is_present ? 0.0 : sum > 0 ? start[vertex] / sum : uniform;
}

// Step number `step`, unless the one before was the last.
//
// Launch      WINDOW_THREADS threads, a block a window
// Reads       indices  u32[entries], weight f32[entries] (pull_weighted)
//             shares   f64[n], x / strength after the last step
//             teleport, dangling  f64[n], p and w; null: `uniform` for all present vertices
// Writes      x        f64[n]
//             next_shares  f64[n], absent vertices left out
// Cost        reads 4 bytes an entry (8), gathers 8 from L2 an entry; 8 bytes of offsets, 16 read
//             and 16 written a row
struct Pull {
    const double* inverse;
    const double* teleport;
    const double* dangling;
    double uniform;
    double alpha;
    double threshold;
    i64 step;
    double* x;
    double* next_shares;
    State* state;
};

// What a row needs but its sum.
struct Rank {
    double inverse;
    double before;
};

template <class Load, class Value>
__device__ __forceinline__ void pull_rows(const Windows& windows, const Crossings& crossings,
                                          const Pull& pull, Load load, Value value) {
    State* state = pull.state;
    const Window window = windows.read(blockIdx.x);
    const double mass = unfixed(state->mass[(pull.step - 1) % SLOTS]);
    const double last = unfixed(state->residual[(pull.step - 1) % SLOTS]);
    const bool has_ended = state->ended || (pull.step > 1 && last <= pull.threshold);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (has_ended) {
            state->ended = 1;
        } else {
            state->steps = pull.step;
            state->residual[(pull.step + 1) % SLOTS] = 0;
            state->mass[(pull.step + 1) % SLOTS] = 0;
        }
    }
    if (has_ended) return;

    double residual = 0;
    double next_mass = 0;
    const auto prepare = [&](i64 vertex) { return Rank{pull.inverse[vertex], pull.x[vertex]}; };
    // x' = alpha (P^T x + m w) + (1 - alpha) p; adds |x' - x|, and x' where it is dangling.
    const auto enter = [&](i64 vertex, double gathered, const Rank& rank, double& change,
                           double& left_over) {
        if (rank.inverse < 0) return;
        const double w = pull.dangling ? pull.dangling[vertex] : pull.uniform;
        const double p = pull.teleport ? pull.teleport[vertex] : pull.uniform;
        const double x = pull.alpha * (gathered + mass * w) + (1.0 - pull.alpha) * p;
        change += fabs(x - rank.before);
        pull.x[vertex] = x;
        pull.next_shares[vertex] = x * rank.inverse;
        if (rank.inverse == 0) left_over += x;
    };
    const int slot = static_cast<int>(pull.step % SLOTS);
    sum_rows(windows, crossings, window, load, value, prepare,
             [&](i64 row, double sum, const Rank& rank) {
                 enter(row, sum, rank, residual, next_mass);
             },
             [&](i64 row, double sum) {
                 // Which block comes here differs from run to run: not a part of its own sums.
                 double change = 0;
                 double left_over = 0;
                 enter(row, sum, prepare(row), change, left_over);
                 add_fixed(&state->residual[slot], change);
                 add_fixed(&state->mass[slot], left_over);
             });

    __shared__ double residuals[WINDOW_WARPS];
    __shared__ double masses[WINDOW_WARPS];
    residual = warp_sum(residual);
    next_mass = warp_sum(next_mass);
    if (lane_of_thread() == 0) {
        residuals[warp_of_thread()] = residual;
        masses[warp_of_thread()] = next_mass;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int warp = 1; warp < WINDOW_WARPS; ++warp) {
        residual += residuals[warp];
        next_mass += masses[warp];
    }
    add_fixed(&state->residual[slot], residual);
    add_fixed(&state->mass[slot], next_mass);
}

extern "C" __global__ void __launch_bounds__(WINDOW_THREADS, BLOCKS) pull(
        const i64* indptr, const i64* window_rows, const i64* window_entries,
        const u32* __restrict__ indices, double* gone_on, double* carried, u32* tickets,
        const double* __restrict__ shares, const double* __restrict__ inverse,
        const double* __restrict__ teleport, const double* __restrict__ dangling,
        const double uniform, const double alpha, const double threshold, const i64 step,
        double* __restrict__ x, double* __restrict__ next_shares, u64* words) {
    pull_rows({indptr, window_rows, window_entries}, {gone_on, carried, tickets},
              {inverse, teleport, dangling, uniform, alpha, threshold, step, x, next_shares,
               state_in(words)},
              [&](i64 entry) { return __ldcs(&indices[entry]); },
              [&](u32 source) { return shares[source]; });
}

struct WeightedEntry {
    u32 source;
    float weight;
};

extern "C" __global__ void __launch_bounds__(WINDOW_THREADS, BLOCKS) pull_weighted(
        const i64* indptr, const i64* window_rows, const i64* window_entries,
        const u32* __restrict__ indices, const float* __restrict__ weight, double* gone_on,
        double* carried, u32* tickets, const double* __restrict__ shares,
        const double* __restrict__ inverse, const double* __restrict__ teleport,
        const double* __restrict__ dangling, const double uniform, const double alpha,
        const double threshold, const i64 step, double* __restrict__ x,
        double* __restrict__ next_shares, u64* words) {
    pull_rows({indptr, window_rows, window_entries}, {gone_on, carried, tickets},
              {inverse, teleport, dangling, uniform, alpha, threshold, step, x, next_shares,
               state_in(words)},
              [&](i64 entry) {
                  return WeightedEntry{__ldcs(&indices[entry]), __ldcs(&weight[entry])};
              },
              [&](const WeightedEntry& entry) {
                  return shares[entry.source] * static_cast<double>(entry.weight);
              });
}
