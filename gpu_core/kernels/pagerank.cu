// pagerank.cu -- power iteration of PageRank, pulled over in-edges, converged on the device.
//
//     x' = alpha (P^T x + m w) + (1 - alpha) p        P = D^-1 A,  m = sum of x over dangling vertices
//
// Caller      gpu_core/cuda/pagerank.py
// Host twin   gpu_core/host/pagerank.py, same formulas in the same precision
// Rows        slices (slices.cuh): a lane sums up a row, so it needs no barrier and no shared memory
// Ranks       are kept as shares alone: what a vertex gives to each out-neighbour, x / strength, and x
//             itself where it is dangling, as nobody gathers that. `end_ranks` turns them back. So a row
//             costs a step 16 bytes of vectors, and |x' - x| is the strength times what the share changed.
// Order       a row is summed up in an order of its own (slices.cuh). The step's residual and the next m
//             are sums of integers, multiples of 2^-62, so no order of rows shows in them. Such a sum is
//             off by 2^-63 a row at most; both are below 4, as x sums to 1.
// End         every block of a step looks at the residual of the step before. Once it is small enough,
//             launches change nothing: the answer does not depend on how many there were.
//
// Source: Beamer, Asanović, Patterson, "Reducing PageRank Communication via Propagation Blocking",
// IPDPS 2017 (the pull baseline); the dangling term is networkx'.
#include "hubs.cuh"
#include "slices.cuh"

// Blocks a multiprocessor: leaves a thread the registers to wait for a round of values at a time.
constexpr int BLOCKS = 5;
constexpr int WEIGHTED_BLOCKS = 3;
// Threads of the one block of a multiprocessor whose shared memory holds the shares of hubs.
constexpr int HUB_THREADS = 1024;
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

// What the host sees of the iteration while it goes on, in its own memory; `pagerank.py: REPORT_DTYPE` is
// its twin. Residuals of the newest steps are there before the number of steps says so.
struct Report {
    u64 residual[SLOTS];
    i64 steps;
};

__device__ __forceinline__ void tell(u64* report_words, i64 steps, u64 residual) {
    volatile Report* report = reinterpret_cast<Report*>(report_words);
    report->residual[steps % SLOTS] = residual;
    __threadfence_system();
    report->steps = steps;
}

__device__ __forceinline__ void add_fixed(u64* sum, double value) {
    if (value != 0.0) atomicAdd(sum, fixed(value));
}

// Number of entries of each row.
//
// Launch      one thread a vertex
extern "C" __global__ void count_degrees(const u32* __restrict__ image, const Shape shape,
                                         u32* __restrict__ degrees) {
    const i64 vertex = thread_of_grid();
    if (vertex >= shape.vertex_count) return;
    degrees[vertex] = image[record_of(shape, vertex) + shape.degree_word];
}

// Sum of the weights of each row; NaN where one is negative.
//
// Launch      as slices.cuh says
extern "C" __global__ void __launch_bounds__(SLICE_THREADS, BLOCKS) sum_weights(
        const u32* lengths, const i64* starts, const i64 rows, const u64* chunk_words,
        const u32* chunk_count, const i64 chunk_blocks, double* chunk_sums, u32* tickets,
        const float* __restrict__ weight, double* __restrict__ strengths) {
    const Slices slices{lengths, starts, rows, chunk_words, chunk_count, chunk_blocks};
    sum_rows(slices, slices.open(), {chunk_sums, tickets},
             [&](i64 entry) { return __ldcs(&weight[entry]); },
             [&](float own) {
                 // By its bits: a comparison takes the smallest numbers for 0.
                 const bool negative = __float_as_uint(own) > 0x80000000u;
                 return negative ? nan("") : static_cast<double>(own);
             },
             [](i64) { return 0; },
             [&](i64 row, double sum, int) { strengths[row] = sum; });
}

// What a vertex shares out among its out-edges: their number, or the sum of their weights.
struct Strengths {
    const u32* degrees;      // u32[n], of an unweighted graph
    const double* weighted;  // f64[n], null there

    __device__ __forceinline__ double of(i64 vertex) const {
        return weighted ? weighted[vertex] : static_cast<double>(degrees[vertex]);
    }
};

// Start of the iteration.
//
// Launch      256 threads a block, one a vertex
// Reads       lengths  u32[n] of slices.cuh; degrees u32[n], or strengths f64[n]
//             start    f64[n], sum 1, 0 for absent vertices; null: `uniform` for all present ones
//             hub_choice, hub_groups  `Hubs` of hubs.cuh
// Writes      shares   f64[n], absent vertices left out
//             hub_shares  f64[slots], those of the hubs
//             state    mass of step 0; it was all 0
extern "C" __global__ void begin_ranks(const u32* __restrict__ lengths, const i64 count,
                                       const u32* __restrict__ degrees,
                                       const double* __restrict__ strengths,
                                       const double* __restrict__ start, const double uniform,
                                       const u32* hub_choice, const u64* __restrict__ hub_groups,
                                       double* __restrict__ shares, double* __restrict__ hub_shares,
                                       u64* words) {
    State* state = state_in(words);
    const Hubs hubs{hub_choice, hub_groups};
    const i64 vertex = thread_of_grid();
    u64 dangling = 0;
    if (vertex < count && !(lengths[vertex] & ABSENT_BIT)) {
        const double rank = start ? start[vertex] : uniform;
        const double strength = Strengths{degrees, strengths}.of(vertex);
        const double share = strength > 0 ? rank / strength : rank;
        shares[vertex] = share;
        if (hubs.count()) {
            const u32 slot = hubs.slot_of(vertex);
            if (slot != NO_SLOT) hub_shares[slot] = share;
        }
        if (!(strength > 0)) dangling = fixed(rank);
    }
    const u64 mass = block_sum<u64, 256>(dangling);
    if (threadIdx.x == 0 && mass) atomicAdd(&state->mass[0], mass);
}

// Ranks of shares, after the last step that was made.
//
// Launch      one thread a vertex
// Reads       shares, other_shares  f64[n], after steps of even and of odd numbers
// Writes      x  f64[n], ABSENT where the vertex is
//             report  `Report` of the last step, unless a step has told it
extern "C" __global__ void end_ranks(const u32* __restrict__ lengths, const i64 count,
                                     const u32* __restrict__ degrees,
                                     const double* __restrict__ strengths,
                                     const double* __restrict__ shares,
                                     const double* __restrict__ other_shares, u64* words,
                                     u64* report, double* __restrict__ x) {
    const State* state = state_in(words);
    const i64 vertex = thread_of_grid();
    if (vertex == 0 && !state->ended) {
        tell(report, state->steps, state->residual[state->steps % SLOTS]);
    }
    if (vertex >= count) return;
    const u32 length = lengths[vertex];
    if (state->steps % 2) shares = other_shares;
    if (length & ABSENT_BIT) {
        x[vertex] = ABSENT;
        return;
    }
    const double strength = Strengths{degrees, strengths}.of(vertex);
    x[vertex] = strength > 0 ? shares[vertex] * strength : shares[vertex];
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
// Launch      as slices.cuh says
// Reads       indices  u32[entries], weight f32[entries] (pull_weighted)
//             shares   f64[n], after the last step
//             degrees  u32[n], or strengths f64[n] (pull_weighted), of the out-edges
//             teleport, dangling  f64[n], p and w; null: `uniform` for all present vertices
// Writes      next_shares  f64[n], absent vertices left out
// Cost        reads 4 bytes an entry (8), gathers 8 from L2 an entry; 16 bytes read (20) and 8 written
//             a row, 4 fewer where degrees and lengths are one array
struct Pull {
    const double* teleport;
    const double* dangling;
    double uniform;
    double alpha;
    double threshold;
    i64 step;
    const double* shares;
    double* next_shares;
    State* state;
    u64* report;
};

// What a row needs but its sum.
struct Row {
    double strength;
    double share;
};

// Look whether the step before was the last one; the first thread of the grid says what follows, and tells
// the host of that step.
__device__ __forceinline__ bool is_over(const Pull& pull) {
    State* state = pull.state;
    const u64 last = state->residual[(pull.step - 1) % SLOTS];
    const bool was_over = state->ended;
    const bool has_ended = was_over || (pull.step > 1 && unfixed(last) <= pull.threshold);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        if (!was_over && pull.step > 1) tell(pull.report, pull.step - 1, last);
        if (has_ended) {
            state->ended = 1;
        } else {
            state->steps = pull.step;
            state->residual[(pull.step + 1) % SLOTS] = 0;
            state->mass[(pull.step + 1) % SLOTS] = 0;
        }
    }
    return has_ended;
}

// What a thread does with the sums of its rows.
class Step {
  public:
    __device__ __forceinline__ explicit Step(const Pull& pull)
        : pull_(pull), mass_(unfixed(pull.state->mass[(pull.step - 1) % SLOTS])) {}

    // x' = alpha (P^T x + m w) + (1 - alpha) p; adds |x' - x|, and x' where it is dangling. Returns the
    // share.
    __device__ __forceinline__ double finish(i64 vertex, double gathered, const Row& row) {
        const double w = pull_.dangling ? pull_.dangling[vertex] : pull_.uniform;
        const double p = pull_.teleport ? pull_.teleport[vertex] : pull_.uniform;
        const double x = pull_.alpha * (gathered + mass_ * w) + (1.0 - pull_.alpha) * p;
        const bool is_dangling = !(row.strength > 0);
        const double strength = is_dangling ? 1.0 : row.strength;
        const double share = x / strength;
        pull_.next_shares[vertex] = share;
        residual_ += fixed(fabs(share - row.share) * strength);
        if (is_dangling) next_mass_ += fixed(x);
        return share;
    }

    // Add what the threads of a block have found to the step's sums. All threads call, once.
    template <int THREADS>
    __device__ __forceinline__ void add_up() {
        constexpr int WARPS = THREADS / WARP;
        __shared__ u64 residuals[WARPS];
        __shared__ u64 masses[WARPS];
        u64 residual = warp_sum(residual_);
        u64 next_mass = warp_sum(next_mass_);
        if (lane_of_thread() == 0) {
            residuals[warp_of_thread()] = residual;
            masses[warp_of_thread()] = next_mass;
        }
        __syncthreads();
        if (threadIdx.x != 0) return;
        for (int warp = 1; warp < WARPS; ++warp) {
            residual += residuals[warp];
            next_mass += masses[warp];
        }
        const int slot = static_cast<int>(pull_.step % SLOTS);
        if (residual) atomicAdd(&pull_.state->residual[slot], residual);
        if (next_mass) atomicAdd(&pull_.state->mass[slot], next_mass);
    }

  private:
    const Pull& pull_;
    double mass_;
    u64 residual_ = 0;
    u64 next_mass_ = 0;
};

template <class Load, class Value>
__device__ __forceinline__ void pull_rows(const Slices& slices, const ChunkSums& chunk_sums,
                                          const Strengths& strengths, const Pull& pull, Load load,
                                          Value value) {
    const SliceRow own = slices.open();
    Step step(pull);
    if (is_over(pull)) return;
    sum_rows(slices, own, chunk_sums, load, value,
             [&](i64 vertex) { return Row{strengths.of(vertex), pull.shares[vertex]}; },
             [&](i64 vertex, double sum, const Row& row) { step.finish(vertex, sum, row); });
    step.add_up<SLICE_THREADS>();
}

extern "C" __global__ void __launch_bounds__(SLICE_THREADS, BLOCKS) pull(
        const u32* lengths, const i64* starts, const i64 rows, const u64* chunk_words,
        const u32* chunk_count, const i64 chunk_blocks, double* chunk_sums, u32* tickets,
        const u32* __restrict__ indices, const u32* __restrict__ degrees,
        const double* __restrict__ teleport, const double* __restrict__ dangling,
        const double uniform, const double alpha, const double threshold, const i64 step,
        const double* __restrict__ shares, double* __restrict__ next_shares, u64* words, u64* report) {
    pull_rows({lengths, starts, rows, chunk_words, chunk_count, chunk_blocks}, {chunk_sums, tickets},
              {degrees, nullptr},
              {teleport, dangling, uniform, alpha, threshold, step, shares, next_shares,
               state_in(words), report},
              [&](i64 entry) { return __ldcs(&indices[entry]); },
              [&](u32 source) { return shares[source]; });
}

struct WeightedEntry {
    u32 source;
    float weight;
};

extern "C" __global__ void __launch_bounds__(SLICE_THREADS, WEIGHTED_BLOCKS) pull_weighted(
        const u32* lengths, const i64* starts, const i64 rows, const u64* chunk_words,
        const u32* chunk_count, const i64 chunk_blocks, double* chunk_sums, u32* tickets,
        const u32* __restrict__ indices, const float* __restrict__ weight,
        const double* __restrict__ strengths, const double* __restrict__ teleport,
        const double* __restrict__ dangling, const double uniform, const double alpha,
        const double threshold, const i64 step, const double* __restrict__ shares,
        double* __restrict__ next_shares, u64* words, u64* report) {
    pull_rows({lengths, starts, rows, chunk_words, chunk_count, chunk_blocks}, {chunk_sums, tickets},
              {nullptr, strengths},
              {teleport, dangling, uniform, alpha, threshold, step, shares, next_shares,
               state_in(words), report},
              [&](i64 entry) {
                  return WeightedEntry{__ldcs(&indices[entry]), __ldcs(&weight[entry])};
              },
              [&](const WeightedEntry& entry) {
                  return shares[entry.source] * static_cast<double>(entry.weight);
              });
}

// As `pull`, of a graph with hubs, whose shares lie in shared memory.
//
// Launch      HUB_THREADS threads a block, a block a multiprocessor; 8 bytes of shared memory a hub
// Reads       indices     u32[entries], a hub by its slot
//             hub_shares  f64[slots], after the last step
// Writes      next_hub_shares
// Cost        8 bytes a hub and multiprocessor, and as `pull` for entries that name no hub
extern "C" __global__ void __launch_bounds__(HUB_THREADS, 1) pull_with_hubs(
        const u32* lengths, const i64* starts, const i64 rows, const u64* chunk_words,
        const u32* chunk_count, const i64 chunk_blocks, double* chunk_sums, u32* tickets,
        const u32* __restrict__ indices, const u32* __restrict__ degrees,
        const double* __restrict__ teleport, const double* __restrict__ dangling,
        const double uniform, const double alpha, const double threshold, const i64 step_number,
        const double* __restrict__ shares, double* __restrict__ next_shares, u64* words, u64* report,
        const u32* hub_choice, const u64* __restrict__ hub_groups,
        const double* __restrict__ hub_shares, double* __restrict__ next_hub_shares) {
    const Slices slices{lengths, starts, rows, chunk_words, chunk_count, chunk_blocks};
    const Hubs hubs{hub_choice, hub_groups};
    const Strengths strengths{degrees, nullptr};
    const Pull pull{teleport, dangling, uniform, alpha, threshold, step_number, shares, next_shares,
                    state_in(words), report};
    Step step(pull);
    if (is_over(pull)) return;
    extern __shared__ double held[];
    __shared__ u32 taken;
    Turns turns(&taken);
    const u32 count = hubs.count();
#pragma unroll 8
    for (u32 slot = threadIdx.x; slot < count; slot += HUB_THREADS) held[slot] = hub_shares[slot];
    __syncthreads();

    const auto load = [&](i64 entry) { return __ldcs(&indices[entry]); };
    const auto value = [&](u32 source) {
        return source & SLOT_BIT ? held[source & ~SLOT_BIT] : shares[source];
    };
    struct HubRow {
        Row row;
        u32 slot;
    };
    const auto prepare = [&](i64 vertex) {
        return HubRow{{strengths.of(vertex), pull.shares[vertex]}, hubs.slot_of(vertex)};
    };
    const auto finish = [&](i64 vertex, double sum, const HubRow& own) {
        const double share = step.finish(vertex, sum, own.row);
        if (own.slot != NO_SLOT) next_hub_shares[own.slot] = share;
    };
    // Once its chunks are taken, the block takes slices; a warp asks for its next one ahead.
    const i64 chunk_turns = slices.chunks_of_block(gridDim.x);
    const auto slice_of = [&](u32 turn) { return blockIdx.x + (turn - chunk_turns) * gridDim.x; };
    i64 slice = slice_of(
        sum_long_rows(slices, gridDim.x, turns, {chunk_sums, tickets}, load, value, prepare, finish));
    SliceRow own = slices.open(slice);
    while (slice * WARP < rows) {
        const i64 next_slice = slice_of(turns.take());
        const SliceRow next = slices.open(next_slice);
        sum_short_rows(own, load, value, prepare, finish);
        slice = next_slice;
        own = next;
    }
    step.add_up<HUB_THREADS>();
}
