// pushed_ranks.cu -- PageRank of a graph that has changed a little: residuals of the ranks before, pushed to
// neighbors, or pulled by them, until they are small.
//
//     y = b + alpha P^T y       r(v) = b + sum of c(u) over edges u -> v - y(v)       c(u) = alpha y(u) / d(u)
//
// Caller      gpu_core/cuda/analytics/maintained/pushed_ranks.py
// Formulas    gpu_core/algorithms/maintained/maintained_pagerank.py. All are whole numbers below 2^53, which
//             float64 adds up without rounding: no order of sums, or of atomic operations, shows in the ranks
// Launches    begin_masses -> pull_residuals -> push_rounds: one launch for all rounds, whose blocks wait for one
//             another twice in each, so that neither is the host waited for, nor a round started in vain.
//             Where residuals lie all over the graph one round is pulled instead: step_masses ->
//             pull_residuals -> push_rounds, which goes on. The host starts these ahead; where they are not
//             needed they end at once
// Beyond      of undirected graphs, what is pushed goes beyond the residual by some of what was pushed in the
//             round before, as the steps of chebyshev.cuh do: 12 rounds on a grid for 18
// Rows        of in-neighbors in place (slices.cuh), of out-neighbors as `Rows` (gpu_core/rows.py)
//
// Source: Andersen, Chung, Lang, "Local Graph Partitioning using PageRank Vectors", FOCS 2006 (pushes).
#include "chebyshev.cuh"
#include "hub_cache.cuh"
#include "slices.cuh"

// Blocks a multiprocessor, of kernels that share work; of the last one, whose blocks are at work together.
constexpr int PULL_BLOCKS = 5;
constexpr int CACHED_PULL_THREADS = 1024;
constexpr int BEGIN_BLOCKS = 4;
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
// Rounds at most: a few vertices that pass residuals to and fro have many. Of those that are pulled: more of them
// take longer than steps of pagerank.cu, which read a copy of the rows.
constexpr i64 MOST_SELECTIONS = 128;
constexpr i64 MOST_PULLS = 4;
// Residuals that so many pulls can be expected to make small, as multiples of what is.
constexpr double MOST_PULLED = 10;
// Ranks are multiples of 2^-51 of all rank: masses of new vertices beside those before have room.
constexpr double WHOLE = 2251799813685248.0;  // 2^51
constexpr double ABSENT = -1.0;

constexpr i64 GOES_ON = 0;
constexpr i64 IS_DONE = 1;
constexpr i64 IS_TOO_MUCH = 2;
constexpr i64 NEEDS_PULL = 3;

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

// What all blocks know of a round alike; of the first, all 0.
struct PushRound {
    i64 number;
    i64 measures;    // it only measures, as residuals seem small enough
    double beyond;   // how far it goes beyond residuals
    // Of the last round that did more than measure: how far it went, |r| before it and before the one before it
    // (0: there was none), and the radius by these.
    double stepped;
    double absolute;
    double older;
    double estimate;
    i64 rounds;      // rounds so far in which some have pushed
    i64 pulls;       // of them, those that were pulled
    i64 work;        // sum of PUSHED
    i64 end;
};

// What blocks add to, and what is kept from launch to launch; 0 before the first.
struct State {
    u64 unbased;            // sum of r but for b
    u64 masses[MASS_SUMS];  // sums of y
    u64 absolute;           // sum of |r| of residuals that were pulled
    u64 even[SUMS];         // of rounds of even numbers, without those of y
    u64 odd[SUMS];
    u64 met;                // for `meet_in_grid`
    PushRound round;        // the next one
};

// What the host sees at the end.
struct Report {
    i64 end;
    i64 rounds;  // those in which some have pushed
    i64 pulls;   // of them, those that were pulled
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
    double most_residual;  // A, as a share of Y, beyond which the graph has changed too much
    i64 least;           // what is no more than this is not pushed
    i64 most_pushed;     // of one round, which is pulled beyond, and of all of them
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

__device__ __forceinline__ State* state_in(u64* words) { return reinterpret_cast<State*>(words); }
__device__ __forceinline__ i64 magnitude(i64 value) { return value < 0 ? -value : value; }
__device__ __forceinline__ i64 above(i64 value) { return value > 0 ? value : 0; }

// c of a vertex: what it passes on to each out-neighbor.
__device__ __forceinline__ double share_of(i64 mass, u32 degree, double alpha) {
    return degree ? rint(alpha * static_cast<double>(mass) / static_cast<double>(degree)) : 0.0;
}
// A vertex has new y, and so c; returns what both add to the sum of r but for b.
__device__ __forceinline__ u64 put_share(double* __restrict__ shares, const HubCache& cache, i64 vertex, i64 mass,
                                         u32 degree, double alpha) {
    const double share = share_of(mass, degree, alpha);
    shares[vertex] = share;
    cache.put(static_cast<u32>(vertex), share);
    return static_cast<u64>(__double2ll_rn(share) * degree - mass);
}

// What is known of ranks by degrees (host/analytics/centrality/pagerank_start.py).
struct MeanField {
    const u32* earlier_degree;  // u32[earlier_count]; null: degrees say nothing
    double isolated;            // rank of a new vertex, but for its edges
    double edge;                // what an edge adds to a rank, and what each takes where there are more
    double shrinks;
};

// y of earlier ranks by index, and, where degrees say something of ranks, by what has become of degrees.
//
// Launch      BEGIN_THREADS threads; blocks share the vertices
// Reads       present, degree  of the rows of out-neighbors
//             earlier  f64[earlier_count], negative: the vertex was absent
// Writes      masses i64[n], shares f64[n], and those of hubs; residuals i64[n] of absent vertices
//             state    sums of y, and of r but for b: of all entries of a vertex c arrives somewhere
extern "C" __global__ void __launch_bounds__(BEGIN_THREADS, BEGIN_BLOCKS) begin_masses(
        const u8* __restrict__ present, const u32* __restrict__ degree, const i64 count,
        const double* __restrict__ earlier, const i64 earlier_count, const MeanField field,
        const double alpha, i64* __restrict__ masses, double* __restrict__ shares,
        i64* __restrict__ residuals, u64* words, const HubCache cache) {
    u64 sums[2] = {};
    for (i64 vertex = thread_of_grid(); vertex < count; vertex += threads_of_grid()) {
        // Read before it is known whether the vertex is there: so they are waited for together.
        const bool is_there = present[vertex], may_be_known = vertex < earlier_count;
        const double before = may_be_known ? earlier[vertex] : ABSENT;
        const u32 edges = degree[vertex];
        const bool is_known = before >= 0;
        double rank = is_known ? before : field.isolated;
        if (field.earlier_degree) {
            const u32 edges_before = may_be_known ? field.earlier_degree[vertex] : 0;
            const double more = static_cast<double>(edges) - (is_known ? static_cast<double>(edges_before) : 0.0);
            rank = fmax(rank + field.edge * more - field.shrinks * static_cast<double>(edges), 0.0);
        }
        const i64 mass = is_there ? __double2ll_rn(rank * WHOLE) : 0;
        if (!is_there) residuals[vertex] = 0;
        masses[vertex] = mass;
        sums[0] += static_cast<u64>(mass);
        sums[1] += put_share(shares, cache, vertex, mass, edges, alpha);
    }
    block_sums<u64, BEGIN_THREADS>(sums);
    if (threadIdx.x != 0) return;
    State* const state = state_in(words);
    if (sums[0]) atomicAdd(&state->masses[MASS], sums[0]);
    if (sums[1]) atomicAdd(&state->unbased, sums[1]);
}

// The rest of a round that is pulled: vertices that push_rounds did not select make their step, too, and all have
// new shares.
//
// Launch      as begin_masses
// Reads       pushed   of this round
//             residuals  of vertices that have not pushed
// Writes      masses, last, pushed, shares, and those of hubs
extern "C" __global__ void __launch_bounds__(BEGIN_THREADS, BEGIN_BLOCKS) step_masses(
        const u8* __restrict__ present, const u32* __restrict__ degree, const i64 count,
        const double alpha, i64* __restrict__ masses, double* __restrict__ shares,
        const i64* __restrict__ residuals, i64* __restrict__ last, u8* __restrict__ pushed, u64* words,
        const HubCache cache) {
    State* const state = state_in(words);
    if (state->round.end != NEEDS_PULL) return;
    const double ahead = 1 + state->round.stepped;
    u64 sums[MASS_SUMS + 1] = {};
    for (i64 vertex = thread_of_grid(); vertex < count; vertex += threads_of_grid()) {
        const bool is_there = present[vertex];
        const i64 residual = residuals[vertex], before = masses[vertex];
        const u32 edges = degree[vertex];
        i64 mass = before;
        if (is_there && !pushed[vertex]) {
            const i64 own = __double2ll_rn(ahead * static_cast<double>(residual));
            masses[vertex] = mass = before + own;
            last[vertex] = own;
            pushed[vertex] = 1;
            sums[MASS] += static_cast<u64>(above(mass) - above(before));
            sums[BELOW] += static_cast<u64>(above(-mass) - above(-before));
        }
        sums[MASS_SUMS] += put_share(shares, cache, vertex, mass, edges, alpha);
    }
    block_sums<u64, BEGIN_THREADS>(sums);
    if (threadIdx.x == 0) {
#pragma unroll
        for (u32 i = 0; i <= MASS_SUMS; ++i) {
            if (sums[i]) atomicAdd(i < MASS_SUMS ? &state->masses[i] : &state->unbased, sums[i]);
        }
    }
    if (thread_of_grid() < SUMS) state->even[thread_of_grid()] = state->odd[thread_of_grid()] = 0;
    if (thread_of_grid() == 0) state->absolute = 0;
}

// r from nothing. b is chosen so that they sum to about 0.
//
// Launch      pull_residuals: SLICE_THREADS threads, as many blocks as the device holds; pull_cached_residuals, of a
//             graph with hubs: CACHED_PULL_THREADS threads, a block a multiprocessor, and shared memory of hub_cache.cuh
// Reads       indices of `Slices` in place, masses, shares
// Writes      residuals, absent vertices left out, and their sums
// Cost        reads 4 bytes an entry, gathers 8 from L2 but for hubs
__device__ __forceinline__ bool is_pull_due(const State* state) {
    return state->round.number == 0 || state->round.end == NEEDS_PULL;
}

template <int THREADS, class ShareOf>
__device__ __forceinline__ void pull_shares(const Slices& slices, const ChunkSums& chunk_sums, WorkQueue& work_queue,
                                            const u32* __restrict__ indices, const i64* __restrict__ masses,
                                            i64* __restrict__ residuals, const i64 vertices, State* state,
                                            ShareOf share_of_source) {
    const i64 base = -(static_cast<i64>(state->unbased) / vertices);
    u64 own = 0;
    sum_rows_from_queue<InPlace>(
        slices, work_queue, chunk_sums, [&](i64 entry) { return indices[entry]; }, share_of_source,
        [&](i64 row) { return masses[row]; },
        [&](i64 row, double sum, i64 mass) {
            const i64 residual = __double2ll_rn(sum) - mass + base;
            residuals[row] = residual;
            own += static_cast<u64>(magnitude(residual));
        });
    const u64 sum = block_sum<u64, THREADS>(own);
    if (threadIdx.x == 0 && sum) atomicAdd(&state->absolute, sum);
}

extern "C" __global__ void __launch_bounds__(SLICE_THREADS, PULL_BLOCKS) pull_residuals(
        const Slices slices, const ChunkSums chunk_sums, const u32* __restrict__ indices,
        const i64* __restrict__ masses, const double* __restrict__ shares,
        i64* __restrict__ residuals, const i64 vertices, u64* words) {
    State* const state = state_in(words);
    if (!is_pull_due(state)) return;
    __shared__ u32 taken;
    WorkQueue work_queue(&taken);
    pull_shares<SLICE_THREADS>(slices, chunk_sums, work_queue, indices, masses, residuals, vertices,
                               state, [&](u32 source) { return shares[source]; });
}

extern "C" __global__ void __launch_bounds__(CACHED_PULL_THREADS, 1) pull_cached_residuals(
        const Slices slices, const ChunkSums chunk_sums, const u32* __restrict__ indices,
        const i64* __restrict__ masses, const double* __restrict__ shares,
        i64* __restrict__ residuals, const i64 vertices, u64* words, const HubCache cache) {
    State* const state = state_in(words);
    if (!is_pull_due(state)) return;
    extern __shared__ double held[];
    __shared__ u32 taken;
    WorkQueue work_queue(&taken);
    const HeldHubs<CACHED_PULL_THREADS> hubs(cache, held);
    pull_shares<CACHED_PULL_THREADS>(slices, chunk_sums, work_queue, indices, masses, residuals, vertices,
                                     state, [&](u32 source) { return hubs.value(source, shares); });
}

// Select the vertices that push: y += p, r -= p; what becomes of c is to be pushed.
//
// Each vertex has its thread, the same in all rounds. Adds to the sums of the round, and to those of y.
__device__ __forceinline__ void select_residuals(const Pushes& pushes, const PushRound& round, u64* of_round) {
    State* const state = state_in(pushes.state);
    const bool is_first = round.number == 0;
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
            if (is_first && vertex < count) pushes.pushed[vertex] = 0;
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

// How far the next round goes, as steps of chebyshev.cuh do; this one goes on.
__device__ __forceinline__ void plan_next(const Pushes& pushes, PushRound& round, double absolute) {
    double radius = pushes.most_radius * random_radius(pushes.vertices, pushes.entries);
    if (round.older > 0) {
        const double estimate =
            (absolute + round.stepped * round.older) / ((1 + round.stepped) * round.absolute);
        const double least = round.estimate > 0 ? fmin(estimate, round.estimate) : estimate;
        radius = fmax(radius, fmin(least, pushes.most_radius));
        round.estimate = estimate;
    }
    round.older = round.absolute;
    round.absolute = absolute;
    round.stepped = round.beyond;
    round.beyond = momentum(radius, round.beyond > 0 ? round.beyond : 1.0);
}

// Whether residuals with these sums are small enough.
__device__ __forceinline__ bool are_small(const Pushes& pushes, u64 absolute, u64 signed_sum) {
    const State* const state = state_in(pushes.state);
    const i64 off = static_cast<i64>(absolute) + magnitude(static_cast<i64>(signed_sum));
    return static_cast<double>(off) + 4.0 * static_cast<double>(state->masses[BELOW]) + pushes.rounding <=
           pushes.tolerance * static_cast<double>(state->masses[MASS]);
}

// What comes after a selection whose sums are complete: the round after it, a pull, or the end.
__device__ __forceinline__ PushRound round_after(const Pushes& pushes, PushRound round, const u64* sums) {
    const State* const state = state_in(pushes.state);
    const i64 pushed = static_cast<i64>(sums[PUSHED]);
    const double absolute = static_cast<double>(sums[ABSOLUTE]);
    const double all = static_cast<double>(state->masses[MASS]);
    const bool is_small = are_small(pushes, sums[ABSOLUTE], sums[SIGNED]);
    const bool selects = !round.measures;
    const bool is_near = absolute <= MOST_PULLED * pushes.tolerance * all;
    // Residuals lie all over the graph: many are large, or none is, or what has been pushed did not make them
    // smaller. In few places a round leaves `alpha` of them at most.
    const bool is_spread = pushed == 0 || pushed > pushes.most_pushed;
    const bool is_slow = !is_small && round.absolute > 0 && absolute > (1 + pushes.alpha) / 2 * round.absolute;
    if (is_small && pushed == 0) {
        round.end = IS_DONE;
    } else if (round.number == MOST_SELECTIONS || round.work + pushed > pushes.most_work ||
               absolute > pushes.most_residual * all) {
        round.end = IS_TOO_MUCH;
    } else if (selects && (is_spread || (is_slow && is_near))) {
        round.end = is_near && round.pulls < MOST_PULLS ? NEEDS_PULL : IS_TOO_MUCH;
    }
    const bool is_pulled = round.end == NEEDS_PULL;
    if (selects) plan_next(pushes, round, absolute);
    round.measures = is_small;
    round.work += is_pulled ? 0 : pushed;
    round.rounds += pushed > 0 || is_pulled;
    round.pulls += is_pulled;
    round.number += 1;
    return round;
}

// Push residuals, one round after the other, until they are small, one is to be pulled, or it is too much; ranks of
// y, if they are small. Nothing is done where it has ended before.
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
    if (threadIdx.x == 0) {
        round = state->round;
        if (round.end == NEEDS_PULL) round.end = GOES_ON;
    }
    __syncthreads();
    if (round.end != GOES_ON) return;
    u64 absolute = state->absolute;
    u64 signed_sum = static_cast<u64>(static_cast<i64>(state->unbased) % pushes.vertices);
    if (are_small(pushes, absolute, signed_sum)) {
        // All have read the round.
        meet_in_grid(&state->met);
        if (threadIdx.x == 0) round.end = IS_DONE;
        __syncthreads();
    }
    while (round.end == GOES_ON) {
        u64* const sums = round.number % 2 ? state->odd : state->even;
        select_residuals(pushes, round, sums);
        meet_in_grid(&state->met);
        if (threadIdx.x == 0) round = round_after(pushes, round, sums);
        __syncthreads();
        absolute = sums[ABSOLUTE];
        signed_sum = sums[SIGNED];
        if (round.end != GOES_ON) break;
        push_residuals(pushes, sums[ITEMS]);
        // Those of the round before, which all blocks have read.
        u64* const empty = round.number % 2 ? state->odd : state->even;
        if (thread_of_grid() < SUMS) empty[thread_of_grid()] = 0;
        meet_in_grid(&state->met);
    }
    if (thread_of_grid() == 0) {
        state->round = round;
        // As far as it is pulled next.
        state->unbased = 0;
        Report* const report = reinterpret_cast<Report*>(pushes.report);
        report->end = round.end;
        report->rounds = round.rounds;
        report->pulls = round.pulls;
        for (u32 i = 0; i < MASS_SUMS; ++i) report->masses[i] = state->masses[i];
        report->absolute = absolute;
        report->signed_sum = signed_sum;
    }
    if (round.end != IS_DONE) return;
    const double all = static_cast<double>(state->masses[MASS]);
    for (i64 vertex = thread_of_grid(); vertex < pushes.count; vertex += threads_of_grid()) {
        const double mass = static_cast<double>(above(pushes.masses[vertex]));
        pushes.ranks[vertex] = pushes.present[vertex] ? mass / all : ABSENT;
    }
}
