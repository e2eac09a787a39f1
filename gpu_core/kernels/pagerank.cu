// pagerank.cu -- power iteration of PageRank, pulled over in-edges, converged on the device.
//
//     G x = alpha (P^T x + m w) + (1 - alpha) p       P = D^-1 A,  m = sum of x over dangling vertices
//
// Caller      gpu_core/cuda/pagerank.py
// Host twin   gpu_core/host/pagerank.py, same formulas in the same precision
// Rows        slices (slices.cuh): a lane sums up a row, so it needs no barrier and no shared memory
// Ranks       are kept as shares alone: what a vertex gives to each out-neighbour, x / strength, and x
//             itself where it is dangling, as nobody gathers that. `end_ranks` turns them back. So a row
//             costs a step 16 bytes of vectors, and |G x - x| is the strength times what the share changed.
// Beyond      on undirected graphs a step goes beyond the plain one, G x, and away from the vector before
//             x (chebyshev.cuh). What is returned is the last plain one, so the vector before must be there
//             still: shares lie in three arrays in turns. Entries may be negative on the way.
// Order       a row is summed up in an order of its own (slices.cuh). The step's residual and the next m
//             are sums of integers, multiples of 2^-60, so no order of rows shows in them. Such a sum is
//             off by 2^-61 a row at most; both are within 8 of 0, as x sums to 1 and a step goes beyond
//             the plain one only from a residual of at most 2, which becomes 6 at most.
// End         every block of a step looks at the residual of the step before. Once it is small enough,
//             launches change nothing: the answer does not depend on how many there were.
//
// Source: Beamer, Asanović, Patterson, "Reducing PageRank Communication via Propagation Blocking",
// IPDPS 2017 (the pull baseline); the dangling term is networkx'.
#include "chebyshev.cuh"
#include "hubs.cuh"
#include "slices.cuh"

// Blocks a multiprocessor: leaves a thread the registers to wait for a round of values at a time.
constexpr int BLOCKS = 5;
constexpr int WEIGHTED_BLOCKS = 3;
// Threads of the one block of a multiprocessor whose shared memory holds the shares of hubs.
constexpr int HUB_THREADS = 1024;
constexpr double ABSENT = -1.0;
constexpr double FIXED_ONE = 1152921504606846976.0;  // 2^60
// One row's part of a step's energy at most, so that it can be converted.
constexpr double MOST_ENERGY = 2.0;

// Fixed point numbers have a sign; sums of them are those of unsigned integers.
__device__ __forceinline__ u64 fixed(double value) {
    return static_cast<u64>(static_cast<i64>(value * FIXED_ONE + copysign(0.5, value)));
}
__device__ __forceinline__ double unfixed(u64 value) {
    return static_cast<double>(static_cast<i64>(value)) * (1.0 / FIXED_ONE);
}

// Sums of a step stand where a later one does not need the place: step k adds to slot k % SLOTS (chebyshev.cuh),
// reads slots k - 1 and k - 2, and empties slot k + 1.
// What is kept from step to step; 0 before the first. `pagerank.py: STATE_DTYPE` is its twin.
struct State {
    u64 residual[SLOTS];  // |G x - x| of a step, fixed point
    u64 mass[SLOTS];      // rank on dangling vertices after it
    u64 energy[SLOTS];    // of a step, fixed point, divided by the square of the residual before
    Foreseen foreseen[SLOTS];
    float beyond[SLOTS];  // how far a step went beyond the plain one
    i64 steps;            // made so far, but for launches that changed nothing
    i64 ended;            // 1: they change nothing from here on
    u64 start_sum;        // of keep_ranks
    u64 moved;
};
static_assert(sizeof(State) == 272, "State is passed as u64[34]");
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
// Reads       shares_0, shares_1, shares_2  f64[n], after step k in number k % 3; k % 2 where the third is null
// Writes      x  f64[n], the last plain step; ABSENT where the vertex is. Nothing else is negative: the ranks
//                that x comes near to are not, so 0 is nearer to them than what is below it
//             report  `Report` of the last step, unless a step has told it
extern "C" __global__ void end_ranks(const u32* __restrict__ lengths, const i64 count,
                                     const u32* __restrict__ degrees,
                                     const double* __restrict__ strengths,
                                     const double* __restrict__ shares_0,
                                     const double* __restrict__ shares_1,
                                     const double* __restrict__ shares_2, u64* words, u64* report,
                                     double* __restrict__ x) {
    const State* state = state_in(words);
    const i64 vertex = thread_of_grid();
    const i64 steps = state->steps;
    if (vertex == 0 && !state->ended) tell(report, steps, state->residual[steps % SLOTS]);
    if (vertex >= count) return;
    const u32 length = lengths[vertex];
    if (length & ABSENT_BIT) {
        x[vertex] = ABSENT;
        return;
    }
    const auto shares_after = [&](i64 step) {
        const i64 number = step % (shares_2 ? 3 : 2);
        return (number == 0 ? shares_0 : number == 1 ? shares_1 : shares_2)[vertex];
    };
    double share = shares_after(steps);
    const double beyond = state->beyond[steps % SLOTS];
    if (beyond != 0) share = plain_of(share, shares_after(steps - 2), beyond);
    const double strength = Strengths{degrees, strengths}.of(vertex);
    x[vertex] = fmax(strength > 0 ? share * strength : share, 0.0);
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
//             older    f64[n], before the last step; null: the step is a plain one
//             teleport, dangling  f64[n], p and w; null: `uniform` for all present vertices
//             least_strength  of all that are not 0, or less
// Writes      next_shares  f64[n], absent vertices left out
// Cost        reads 4 bytes an entry (8), gathers 8 from L2 an entry; 16 bytes read (20) and 8 written
//             a row, 8 more with `older`, 4 fewer where degrees and lengths are one array
struct Pull {
    const double* teleport;
    const double* dangling;
    double uniform;
    double alpha;
    double least_strength;
    double threshold;
    i64 step;
    const double* shares;
    const double* older;
    double* next_shares;
    State* state;
    u64* report;
};

// What a row needs but its sum; the strength is a degree or a sum of weights.
template <class Strength>
struct Row {
    Strength strength;
    double share;

    __device__ __forceinline__ static Row of(const Strength* strengths, const Pull& pull, i64 vertex) {
        return {strengths[vertex], pull.shares[vertex]};
    }
};

// What is known of the spectrum when this step begins.
__device__ __forceinline__ Spectrum spectrum_before(const Pull& pull) {
    const State* state = pull.state;
    const int last = static_cast<int>((pull.step - 1) % SLOTS);
    return look_ahead(state->foreseen[pull.step % SLOTS], unfixed(state->residual[last]),
                      unfixed(state->energy[last]), static_cast<float>(pull.alpha * pull.alpha));
}

// What residuals of this step are multiplied by, twice, before they are added to its energy.
__device__ __forceinline__ float energy_scale(const Pull& pull) {
    const double last = unfixed(pull.state->residual[(pull.step - 1) % SLOTS]);
    return last > ROUNDING ? 1.0f / static_cast<float>(last) : 0.0f;
}

// Keep what the next step needs: by the first thread of the grid, of slots that the others do not read.
__device__ __forceinline__ void foresee(const Pull& pull) {
    State* state = pull.state;
    const i64 step = pull.step;
    const double last = unfixed(state->residual[(step - 1) % SLOTS]);
    const double older = unfixed(state->residual[(step + 2) % SLOTS]);
    const double energy = unfixed(state->energy[(step - 1) % SLOTS]);
    const double fall = last / older;
    const Spectrum found = spectrum_before(pull);
    state->beyond[step % SLOTS] = found.beyond;
    state->foreseen[(step + 1) % SLOTS] = {
        energy > 0 ? static_cast<float>(fall * fall / energy) : 0.0f,
        state->beyond[(step - 1) % SLOTS], found.radius, (1 + found.beyond) / 4,
        bound_of(found, static_cast<float>(pull.alpha * pull.alpha)),
        most_residual(state->foreseen[step % SLOTS], last)};
}

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
            state->energy[(pull.step + 1) % SLOTS] = 0;
            if (pull.older) foresee(pull);
        }
    }
    return has_ended;
}

// What rows add to the sums of a step, fixed point.
struct Sums {
    u64 residual = 0;
    u64 mass = 0;
    u64 energy = 0;

    __device__ __forceinline__ void operator+=(const Sums& other) {
        residual += other.residual;
        mass += other.mass;
        energy += other.energy;
    }
};

// What a thread does with the sums of its rows.
template <int THREADS>
class Step {
  public:
    // `of_warps` is shared memory: `Sums` of each warp.
    __device__ __forceinline__ Step(const Pull& pull, u64 (&of_warps)[3 * THREADS / WARP])
        : pull_(pull), of_warps_(of_warps), mass_(unfixed(pull.state->mass[(pull.step - 1) % SLOTS])) {
        if (lane_of_thread() == 0) of_warp() = Sums{};
    }

    // G x = alpha (P^T x + m w) + (1 - alpha) p; adds |G x - x|, its energy, and what comes after x where it
    // is dangling. Returns the share of that.
    template <class Strength>
    __device__ __forceinline__ double finish(i64 vertex, double gathered, const Row<Strength>& row) {
        const double w = pull_.dangling ? pull_.dangling[vertex] : pull_.uniform;
        const double p = pull_.teleport ? pull_.teleport[vertex] : pull_.uniform;
        const double x = pull_.alpha * (gathered + mass_ * w) + (1.0 - pull_.alpha) * p;
        const bool is_dangling = !(row.strength > 0);
        const double strength = is_dangling ? 1.0 : static_cast<double>(row.strength);
        const double plain = x / strength;
        const double change = plain - row.share;
        const double residual = fabs(change) * strength;
        double share = plain;
        own_.residual += fixed(residual);
        // What is looked at here, and no sooner, takes no registers from the gathers.
        if (pull_.older) {
            share += spectrum_before(pull_).beyond * (plain - pull_.older[vertex]);
            const double scale = energy_scale(pull_);
            const double energy = residual * scale * (fabs(change) * scale) * pull_.least_strength;
            own_.energy += fixed(fmin(energy, MOST_ENERGY));
        }
        pull_.next_shares[vertex] = share;
        if (is_dangling) own_.mass += fixed(share);
        return share;
    }

    // Put away what one lane of the warp has found: a loop need not keep it in registers.
    __device__ __forceinline__ void put_away() {
        of_warp() += own_;
        own_ = Sums{};
    }

    // Add what the threads of a block have found to the step's sums. All threads call, once.
    __device__ __forceinline__ void add_up() {
        own_ = {warp_sum(own_.residual), warp_sum(own_.mass), warp_sum(own_.energy)};
        if (lane_of_thread() == 0) put_away();
        __syncthreads();
        if (threadIdx.x != 0) return;
        Sums sums = of_warp();
        for (int warp = 1; warp < THREADS / WARP; ++warp) sums += of_warp(warp);
        const int slot = static_cast<int>(pull_.step % SLOTS);
        if (sums.residual) atomicAdd(&pull_.state->residual[slot], sums.residual);
        if (sums.mass) atomicAdd(&pull_.state->mass[slot], sums.mass);
        if (sums.energy) atomicAdd(&pull_.state->energy[slot], sums.energy);
    }

  private:
    const Pull& pull_;
    u64* of_warps_;
    double mass_;
    Sums own_;

    __device__ __forceinline__ Sums& of_warp(u32 warp = warp_of_thread()) {
        return reinterpret_cast<Sums*>(of_warps_)[warp];
    }
};

template <class Strength, class Load, class Value>
__device__ __forceinline__ void pull_rows(const Slices& slices, const ChunkSums& chunk_sums,
                                          const Strength* strengths, const Pull& pull, Load load,
                                          Value value) {
    const SliceRow own = slices.open();
    __shared__ u64 of_warps[3 * SLICE_THREADS / WARP];
    Step<SLICE_THREADS> step(pull, of_warps);
    if (is_over(pull)) return;
    sum_rows(slices, own, chunk_sums, load, value,
             [&](i64 vertex) { return Row<Strength>::of(strengths, pull, vertex); },
             [&](i64 vertex, double sum, const Row<Strength>& row) {
                 step.finish(vertex, sum, row);
                 if (slices.takes_chunks()) step.put_away();
             });
    step.add_up();
}

extern "C" __global__ void __launch_bounds__(SLICE_THREADS, BLOCKS) pull(
        const u32* lengths, const i64* starts, const i64 rows, const u64* chunk_words,
        const u32* chunk_count, const i64 chunk_blocks, double* chunk_sums, u32* tickets,
        const u32* __restrict__ indices, const u32* __restrict__ degrees,
        const double* __restrict__ teleport, const double* __restrict__ dangling,
        const double uniform, const double alpha, const double least_strength, const double threshold,
        const i64 step, const double* __restrict__ shares, const double* __restrict__ older,
        double* __restrict__ next_shares, u64* words, u64* report) {
    pull_rows({lengths, starts, rows, chunk_words, chunk_count, chunk_blocks}, {chunk_sums, tickets},
              degrees,
              {teleport, dangling, uniform, alpha, least_strength, threshold, step, shares, older,
               next_shares, state_in(words), report},
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
        const double least_strength, const double threshold, const i64 step,
        const double* __restrict__ shares, const double* __restrict__ older,
        double* __restrict__ next_shares, u64* words, u64* report) {
    pull_rows({lengths, starts, rows, chunk_words, chunk_count, chunk_blocks}, {chunk_sums, tickets},
              strengths,
              {teleport, dangling, uniform, alpha, least_strength, threshold, step, shares, older,
               next_shares, state_in(words), report},
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
        const double uniform, const double alpha, const double least_strength, const double threshold,
        const i64 step_number, const double* __restrict__ shares, const double* __restrict__ older,
        double* __restrict__ next_shares, u64* words, u64* report,
        const u32* hub_choice, const u64* __restrict__ hub_groups,
        const double* __restrict__ hub_shares, double* __restrict__ next_hub_shares) {
    const Slices slices{lengths, starts, rows, chunk_words, chunk_count, chunk_blocks};
    const Hubs hubs{hub_choice, hub_groups};
    const Pull pull{teleport, dangling, uniform, alpha, least_strength, threshold, step_number, shares,
                    older, next_shares, state_in(words), report};
    __shared__ u64 of_warps[3 * HUB_THREADS / WARP];
    Step<HUB_THREADS> step(pull, of_warps);
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
        Row<u32> row;
        u32 slot;
    };
    const auto prepare = [&](i64 vertex) {
        return HubRow{Row<u32>::of(degrees, pull, vertex), hubs.slot_of(vertex)};
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
    step.add_up();
}
