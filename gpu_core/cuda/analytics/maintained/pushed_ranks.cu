// pushed_ranks.cu -- PageRank of a graph that has changed a little: residuals of the ranks before, pushed to
// neighbors until they are small.
//
//     y = b + alpha P^T y       r(v) = b + sum of c(u) over edges u -> v - y(v)       c(u) = alpha y(u) / d(u)
//
// Caller      gpu_core/cuda/analytics/maintained/pushed_ranks.py
// Formulas    gpu_core/algorithms/maintained/maintained_pagerank.py. All are whole numbers below 2^53, which
//             float64 adds up without rounding: no order of sums, or of atomic operations, shows in the ranks
// Launches    begin_masses -> pull_residuals -> push_rounds: one launch for all rounds, whose blocks wait for one
//             another twice in each, so that neither is the host waited for, nor a round started in vain
// Beyond      of undirected graphs, what is pushed goes beyond the residual by some of what was pushed in the
//             round before, as the steps of chebyshev.cuh do: 12 rounds on a grid for 18
// Rows        of in-neighbors in place (slices.cuh), of out-neighbors as `Rows` (gpu_core/rows.py)
//
// Source: Andersen, Chung, Lang, "Local Graph Partitioning using PageRank Vectors", FOCS 2006 (pushes).
#include "chebyshev.cuh"
#include "slices.cuh"

// Blocks a multiprocessor, of kernels that share work; of the last one, whose blocks are at work together.
constexpr int PULL_BLOCKS = 5;
constexpr int BEGIN_BLOCKS = 8;
constexpr int BEGIN_THREADS = 256;
constexpr int ROUND_BLOCKS = 3;
constexpr int ROUND_THREADS = 256;
// Residuals that a thread reads before it looks at the first.
constexpr u32 OWN_VERTICES = 4;
// Lanes that push along a part of a row, and entries of a part: an item of the queue; entries that a lane reads
// before it looks at the first.
constexpr u32 TEAM = 4;
constexpr u32 PART = 256;
constexpr u32 OWN_ENTRIES = 4;
// Rounds at most: a few vertices that pass residuals to and fro have many.
constexpr i64 MOST_SELECTIONS = 128;
// Ranks are multiples of 2^-51 of all rank: masses of new vertices beside those before have room.
constexpr double WHOLE = 2251799813685248.0;  // 2^51
constexpr double ABSENT = -1.0;

constexpr i64 GOES_ON = 0;
constexpr i64 IS_DONE = 1;
constexpr i64 IS_TOO_MUCH = 2;

// Sums over all vertices: first those of y, of all rounds together, then those of a round's selection.
constexpr u32 MASS = 0;        // y where it is above 0
constexpr u32 BELOW = 1;       // -y where it is below
constexpr u32 MASS_SUMS = 2;
constexpr u32 ABSOLUTE = 2;    // |r|
constexpr u32 SIGNED = 3;      // r
constexpr u32 PUSHED = 4;      // vertices that push, and entries of their rows
constexpr u32 THREAD_SUMS = 5; // those that threads keep
constexpr u32 ITEMS = 5;       // of the queue
constexpr u32 SUMS = 6;

// A part of a row that is pushed along.
struct Item {
    i64 begin;    // of its entries in `columns`
    i64 change;   // of c
    u64 entries;
};

// What blocks add to; 0 before the first launch.
struct State {
    u64 pulled;             // sum of r but for b
    u64 masses[MASS_SUMS];  // sums of y
    u64 even[SUMS];         // of rounds of even numbers, without those of y
    u64 odd[SUMS];
    u64 met;                // for `meet_in_grid`
};

// What the host sees at the end.
struct Report {
    i64 end;
    i64 rounds;  // those in which some have pushed
    u64 masses[MASS_SUMS];
    u64 absolute;
    u64 signed_sum;
};

// What rounds read and write, and what ends them.
struct Pushes {
    // Rows of out-neighbors.
    const u8* present;
    const i64* begin;
    const u32* degree;
    const u32* columns;
    i64 step;
    i64 count;
    i64 vertices;
    i64 entries;
    double alpha;
    double most_radius;  // chebyshev.cuh; 0: rounds push residuals alone
    double tolerance;    // A + |S| + 4 N + rounding may be at most this times Y
    double rounding;
    i64 least;           // what is no more than this is not pushed
    i64 most_pushed;     // of one round, and of all of them
    i64 most_work;
    i64* masses;         // y
    i64* residuals;
    i64* last;           // i64[count]: p of the round before, of vertices that have pushed there
    u8* pushed;          // u8[count]: whether it has
    Item* queue;
    double* ranks;       // f64[count]
    u64* state;
    u64* report;
};

// What all blocks know of a round alike; of the first, all 0.
struct PushRound {
    i64 number;
    double beyond;  // how far it goes beyond residuals
    bool measures;  // it only measures, as residuals seem small enough
    i64 rounds;     // rounds before it in which some have pushed
    i64 work;       // sum of PUSHED
    i64 end;
};

__device__ __forceinline__ State* state_in(u64* words) { return reinterpret_cast<State*>(words); }
__device__ __forceinline__ i64 magnitude(i64 value) { return value < 0 ? -value : value; }
__device__ __forceinline__ i64 above(i64 value) { return value > 0 ? value : 0; }

// c of a vertex: what it passes on to each out-neighbor.
__device__ __forceinline__ double share_of(i64 mass, u32 degree, double alpha) {
    return degree ? rint(alpha * static_cast<double>(mass) / static_cast<double>(degree)) : 0.0;
}

// y of earlier ranks by index; 1/n for vertices without one.
//
// Launch      BEGIN_THREADS threads; blocks share the vertices
// Reads       present, degree  of the rows of out-neighbors
//             earlier  f64[earlier_count], negative: the vertex was absent
// Writes      masses i64[n], shares f64[n]; residuals i64[n] of absent vertices
//             their sum in state
extern "C" __global__ void __launch_bounds__(BEGIN_THREADS) begin_masses(
        const u8* __restrict__ present, const u32* __restrict__ degree, const i64 count,
        const double* __restrict__ earlier, const i64 earlier_count, const double uniform,
        const double alpha, i64* __restrict__ masses, double* __restrict__ shares,
        i64* __restrict__ residuals, u64* words) {
    u64 own = 0;
    for (i64 vertex = thread_of_grid(); vertex < count; vertex += threads_of_grid()) {
        // Read before it is known whether the vertex is there: so they are waited for together.
        const bool is_there = present[vertex];
        const double before = vertex < earlier_count ? earlier[vertex] : ABSENT;
        const u32 edges = degree[vertex];
        const i64 mass = is_there ? __double2ll_rn((before >= 0 ? before : uniform) * WHOLE) : 0;
        if (!is_there) residuals[vertex] = 0;
        masses[vertex] = mass;
        shares[vertex] = share_of(mass, edges, alpha);
        own += static_cast<u64>(mass);
    }
    const u64 sum = block_sum<u64, BEGIN_THREADS>(own);
    if (threadIdx.x == 0 && sum) atomicAdd(&state_in(words)->masses[MASS], sum);
}

// r but for b, from nothing.
//
// Launch      SLICE_THREADS threads, as many blocks as the device holds
// Reads       indices of `Slices` in place, masses, shares
// Writes      residuals, absent vertices left out; pulled
// Cost        reads 4 bytes an entry, gathers 8 from L2
extern "C" __global__ void __launch_bounds__(SLICE_THREADS, PULL_BLOCKS) pull_residuals(
        const Slices slices, const ChunkSums chunk_sums, const u32* __restrict__ indices,
        const i64* __restrict__ masses, const double* __restrict__ shares,
        i64* __restrict__ residuals, u64* words) {
    __shared__ u32 taken;
    WorkQueue work_queue(&taken);
    u64 own = 0;
    sum_rows_from_queue<InPlace>(
        slices, work_queue, chunk_sums, [&](i64 entry) { return indices[entry]; },
        [&](u32 source) { return shares[source]; }, [&](i64 row) { return masses[row]; },
        [&](i64 row, double sum, i64 mass) {
            const i64 residual = __double2ll_rn(sum) - mass;
            residuals[row] = residual;
            own += static_cast<u64>(residual);
        });
    const u64 sum = block_sum<u64, SLICE_THREADS>(own);
    if (threadIdx.x == 0 && sum) atomicAdd(&state_in(words)->pulled, sum);
}

// Select the vertices that push: y += p, r -= p; what becomes of c is to be pushed. At first b is added, by
// which residuals sum to about 0.
//
// Each vertex has its thread, the same in all rounds. Adds to the sums of the round, and to those of y.
__device__ __forceinline__ void select_residuals(const Pushes& pushes, const PushRound& round, u64* of_round) {
    State* const state = state_in(pushes.state);
    const bool is_first = round.number == 0;
    const i64 base = is_first ? -(static_cast<i64>(state->pulled) / pushes.vertices) : 0;
    u64 sums[THREAD_SUMS] = {};
    const u32 lane = lane_of_thread();
    const i64 all = threads_of_grid(), count = pushes.count;
    // What is pushed is less than twice the residual, but for what is pushed once more.
    const i64 near = pushes.least / 2;
    // Whole warps walk on together.
    for (i64 first = thread_of_grid(); first - lane < count; first += OWN_VERTICES * all) {
        i64 found[OWN_VERTICES];
        bool goes_on[OWN_VERTICES];
#pragma unroll
        for (u32 i = 0; i < OWN_VERTICES; ++i) {
            const i64 vertex = first + i * all;
            found[i] = vertex < count ? pushes.residuals[vertex] : 0;
            goes_on[i] = vertex < count && !is_first && pushes.pushed[vertex];
            if (!is_first || vertex >= count) continue;
            if (pushes.present[vertex]) pushes.residuals[vertex] = found[i] += base;
            pushes.pushed[vertex] = 0;
        }
        bool may_push = false;
#pragma unroll
        for (u32 i = 0; i < OWN_VERTICES; ++i) {
            sums[ABSOLUTE] += static_cast<u64>(magnitude(found[i]));
            sums[SIGNED] += static_cast<u64>(found[i]);
            may_push |= goes_on[i] || magnitude(found[i]) > near;
        }
        if (round.measures || !__any_sync(FULL_WARP, may_push)) continue;
        u32 edges[OWN_VERTICES];
        u32 parts = 0;
#pragma unroll
        for (u32 i = 0; i < OWN_VERTICES; ++i) {
            const i64 vertex = first + i * all;
            edges[i] = 0;
            if (!goes_on[i] && magnitude(found[i]) <= near) continue;
            const double more_of_last =
                goes_on[i] ? round.beyond * static_cast<double>(pushes.last[vertex]) : 0.0;
            const i64 own = __double2ll_rn((1 + round.beyond) * static_cast<double>(found[i]) + more_of_last);
            const bool is_pushed = magnitude(own) > pushes.least;
            if (is_pushed != goes_on[i]) pushes.pushed[vertex] = is_pushed;
            if (!is_pushed) continue;
            const i64 before = pushes.masses[vertex], mass = before + own;
            edges[i] = pushes.degree[vertex];
            pushes.masses[vertex] = mass;
            pushes.residuals[vertex] = found[i] - own;
            pushes.last[vertex] = own;
            found[i] = __double2ll_rn(share_of(mass, edges[i], pushes.alpha) -
                                      share_of(before, edges[i], pushes.alpha));
            sums[MASS] += static_cast<u64>(above(mass) - above(before));
            sums[BELOW] += static_cast<u64>(above(-mass) - above(-before));
            sums[PUSHED] += 1 + edges[i];
            parts += (edges[i] + PART - 1) / PART;
        }
        if (!__any_sync(FULL_WARP, parts > 0)) continue;
        u32 of_warp;
        u64 position = warp_exclusive_sum(parts, of_warp);
        u64 start = 0;
        if (lane == 0) start = atomicAdd(&of_round[ITEMS], u64(of_warp));
        position += __shfl_sync(FULL_WARP, start, 0);
#pragma unroll
        for (u32 i = 0; i < OWN_VERTICES; ++i) {
            if (!edges[i]) continue;
            const i64 begin = pushes.begin[first + i * all];
            for (u32 from = 0; from < edges[i]; from += PART) {
                pushes.queue[position++] = {begin + from * pushes.step, found[i], min(edges[i] - from, PART)};
            }
        }
    }
    block_sums<u64, ROUND_THREADS>(sums);
    if (threadIdx.x != 0) return;
#pragma unroll
    for (u32 i = 0; i < THREAD_SUMS; ++i) {
        if (sums[i]) atomicAdd(i < MASS_SUMS ? &state->masses[i] : &of_round[i], sums[i]);
    }
}

// Push: add what has become of c to the residuals of out-neighbors. Teams share the queue.
__device__ __forceinline__ void push_residuals(const Pushes& pushes, i64 items) {
    const u32 lane = threadIdx.x % TEAM;
    const i64 teams = threads_of_grid() / TEAM;
    for (i64 number = thread_of_grid() / TEAM; number < items; number += teams) {
        const Item item = pushes.queue[number];
        for (u32 first = lane; first < item.entries; first += TEAM * OWN_ENTRIES) {
            u32 neighbors[OWN_ENTRIES];
#pragma unroll
            for (u32 i = 0; i < OWN_ENTRIES; ++i) {
                const u32 entry = first + i * TEAM;
                if (entry < item.entries) neighbors[i] = pushes.columns[item.begin + entry * pushes.step];
            }
#pragma unroll
            for (u32 i = 0; i < OWN_ENTRIES; ++i) {
                if (first + i * TEAM >= item.entries) continue;
                atomicAdd(reinterpret_cast<u64*>(&pushes.residuals[neighbors[i]]), static_cast<u64>(item.change));
            }
        }
    }
}

// What comes after a selection whose sums are complete: the round after it, or the end.
__device__ __forceinline__ PushRound round_after(const Pushes& pushes, PushRound round, const u64* sums) {
    const State* const state = state_in(pushes.state);
    const i64 pushed = static_cast<i64>(sums[PUSHED]);
    const i64 off = static_cast<i64>(sums[ABSOLUTE]) + magnitude(static_cast<i64>(sums[SIGNED]));
    const bool is_small = static_cast<double>(off) + 4.0 * static_cast<double>(state->masses[BELOW]) +
                              pushes.rounding <=
                          pushes.tolerance * static_cast<double>(state->masses[MASS]);
    if (is_small && pushed == 0) {
        round.end = IS_DONE;
    } else if (!is_small && pushed == 0 && !round.measures) {
        round.end = IS_TOO_MUCH;  // what is left lies all over the graph
    } else if (pushed > pushes.most_pushed || round.work + pushed > pushes.most_work ||
               round.number == MOST_SELECTIONS) {
        round.end = IS_TOO_MUCH;
    }
    const double radius = pushes.most_radius * random_radius(pushes.vertices, pushes.entries);
    round.beyond = pushed > 0 ? momentum(radius, round.beyond > 0 ? round.beyond : 1.0) : 0.0;
    round.measures = is_small;
    round.work += pushed;
    round.rounds += pushed > 0;
    round.number += 1;
    return round;
}

// Push residuals, one round after the other, until they are small or it is too much; ranks of y, if they are.
//
// Launch      ROUND_THREADS threads, blocks that are at work together
// Reads       present, begin, degree, columns; residuals and masses of the kernels before
// Writes      ranks  ABSENT where the vertex is; nothing else is negative
//             report
// Cost        a round reads 9 bytes a vertex, and has an atomic operation an entry that is pushed
extern "C" __global__ void __launch_bounds__(ROUND_THREADS, ROUND_BLOCKS) push_rounds(const Pushes pushes) {
    // Not in registers, of which the selection takes all.
    __shared__ PushRound round;
    State* const state = state_in(pushes.state);
    if (threadIdx.x == 0) round = PushRound{};
    __syncthreads();
    while (true) {
        u64* const sums = round.number % 2 ? state->odd : state->even;
        select_residuals(pushes, round, sums);
        meet_in_grid(&state->met);
        if (threadIdx.x == 0) round = round_after(pushes, round, sums);
        __syncthreads();
        if (round.end != GOES_ON) break;
        push_residuals(pushes, sums[ITEMS]);
        // Those of the round before, which all blocks have read.
        u64* const empty = round.number % 2 ? state->odd : state->even;
        if (thread_of_grid() < SUMS) empty[thread_of_grid()] = 0;
        meet_in_grid(&state->met);
    }
    u64* const sums = round.number % 2 ? state->even : state->odd;
    if (thread_of_grid() == 0) {
        Report* const report = reinterpret_cast<Report*>(pushes.report);
        report->end = round.end;
        report->rounds = round.rounds;
        for (u32 i = 0; i < MASS_SUMS; ++i) report->masses[i] = state->masses[i];
        report->absolute = sums[ABSOLUTE];
        report->signed_sum = sums[SIGNED];
    }
    if (round.end != IS_DONE) return;
    const double all = static_cast<double>(state->masses[MASS]);
    for (i64 vertex = thread_of_grid(); vertex < pushes.count; vertex += threads_of_grid()) {
        const double mass = static_cast<double>(above(pushes.masses[vertex]));
        pushes.ranks[vertex] = pushes.present[vertex] ? mass / all : ABSENT;
    }
}
