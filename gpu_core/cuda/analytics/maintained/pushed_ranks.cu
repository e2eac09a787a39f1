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
//             needed they end at once. Or residuals of the ranks before have followed the batch
//             (residual_repair.cu): the same bits, and push_rounds is the first
// Beyond      of undirected graphs, what is pushed goes beyond the residual by some of what was pushed in the
//             round before, as the steps of chebyshev.cuh do: 12 rounds on a grid for 18
// Rows        of in-neighbors in place (slices.cuh), of out-neighbors as `Rows` (gpu_core/rows.py)
//
// Source: Andersen, Chung, Lang, "Local Graph Partitioning using PageRank Vectors", FOCS 2006 (pushes).
#include "push_rounds.cuh"
#include "slices.cuh"

// Blocks a multiprocessor.
constexpr int PULL_BLOCKS = 5;
constexpr int CACHED_PULL_THREADS = 1024;
constexpr int BEGIN_BLOCKS = 4;
constexpr int BEGIN_THREADS = 256;

// y of earlier ranks by index, and, where degrees say something of ranks, by what has become of degrees.
//
// Launch      BEGIN_THREADS threads; blocks share the vertices
// Reads       present, degree  of the rows of out-neighbors
// Writes      masses i64[n], shares f64[n], and those of hubs; residuals i64[n] of absent vertices
//             state    sums of y, and of r but for b: of all entries of a vertex c arrives somewhere. b, if it is
//             given; the largest degree
extern "C" __global__ void __launch_bounds__(BEGIN_THREADS, BEGIN_BLOCKS) begin_masses(
        const u8* __restrict__ present, const u32* __restrict__ degree, const i64 count, const Earlier earlier,
        const i64 is_based, const i64 base, const double alpha, i64* __restrict__ masses,
        double* __restrict__ shares, i64* __restrict__ residuals, u64* words, const HubCache cache) {
    State* const state = state_in(words);
    if (thread_of_grid() == 0) {
        state->is_based = is_based;
        state->base = base;
    }
    u64 sums[2] = {};
    u32 longest = 0;
    for (i64 vertex = thread_of_grid(); vertex < count; vertex += threads_of_grid()) {
        const bool is_there = present[vertex];
        const u32 edges = degree[vertex];
        longest = max(longest, edges);
        // Read before it is known whether the vertex is there: so they are waited for together.
        const i64 first = first_mass(earlier, vertex, edges);
        const i64 mass = is_there ? first : 0;
        if (!is_there) residuals[vertex] = 0;
        masses[vertex] = is_there ? mass : ABSENT_MASS;
        sums[0] += static_cast<u64>(mass);
        sums[1] += put_share(shares, cache, vertex, mass, edges, alpha);
    }
    block_sums<u64, BEGIN_THREADS>(sums);
    longest = block_max<u32, BEGIN_THREADS>(longest);
    if (threadIdx.x != 0) return;
    if (sums[0]) atomicAdd(&state->masses[MASS], sums[0]);
    if (sums[1]) atomicAdd(&state->unbased, sums[1]);
    if (longest) atomicMax(&state->longest, u64(longest));
}

// The rest of a round that is pulled: vertices that push_rounds did not select make their step, too, and all have
// new shares.
//
// Launch      as begin_masses
// Reads       pushed   of this round
//             residuals  of vertices that have not pushed
// Writes      masses, last, pushed, shares, and those of hubs
extern "C" __global__ void __launch_bounds__(BEGIN_THREADS, BEGIN_BLOCKS) step_masses(
        const u32* __restrict__ degree, const i64 count,
        const double alpha, i64* __restrict__ masses, double* __restrict__ shares,
        const i64* __restrict__ residuals, i64* __restrict__ last, u8* __restrict__ pushed, u64* words,
        const HubCache cache) {
    State* const state = state_in(words);
    if (state->round.end != NEEDS_PULL) return;
    const double ahead = 1 + state->round.stepped;
    u64 sums[MASS_SUMS + 1] = {};
    for (i64 vertex = thread_of_grid(); vertex < count; vertex += threads_of_grid()) {
        const i64 residual = residuals[vertex], before = masses[vertex];
        const u32 edges = degree[vertex];
        i64 mass = before;
        if (before == ABSENT_MASS) {
            mass = 0;
        } else if (!pushed[vertex]) {
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

// Whether residuals are to be pulled: at first, or where a round is. A pull that was started ahead in vain is not.
__device__ __forceinline__ bool is_pull_due(const State* state) {
    const PushRound& round = state->round;
    return round.end == NEEDS_PULL || (round.number == 0 && round.end == GOES_ON);
}

// b with which residuals sum to about 0.
__device__ __forceinline__ i64 chosen_base(const State* state, i64 vertices) {
    return -(static_cast<i64>(state->unbased) / vertices);
}

// r from nothing. Unless there is one, b is chosen so that they sum to about 0.
//
// Launch      pull_residuals: THREADS threads, as many blocks as the device holds; pull_cached_residuals, of a
//             graph with hubs: CACHED_PULL_THREADS threads, a block a multiprocessor, and shared memory of hub_cache.cuh
// Reads       indices of `Slices` in place, masses, shares
// Writes      residuals, absent vertices left out, and the sums that are of them
// Cost        reads 4 bytes an entry, gathers 8 from L2 but for hubs
template <int THREADS, class ShareOf>
__device__ __forceinline__ void pull_shares(const Slices& slices, const ChunkSums& chunk_sums, WorkQueue& work_queue,
                                            const u32* __restrict__ indices, const i64* __restrict__ masses,
                                            i64* __restrict__ residuals, const i64 vertices, State* state,
                                            ShareOf share_of_source) {
    const i64 base = state->is_based ? state->base : chosen_base(state, vertices);
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
    if (thread_of_grid() < MASS_SUMS) state->masses_then[thread_of_grid()] = state->masses[thread_of_grid()];
    if (thread_of_grid() == 0 && !state->is_based) state->base = chosen_base(state, vertices);
}

extern "C" __global__ void __launch_bounds__(THREADS, PULL_BLOCKS) pull_residuals(
        const Slices slices, const ChunkSums chunk_sums, const u32* __restrict__ indices,
        const i64* __restrict__ masses, const double* __restrict__ shares,
        i64* __restrict__ residuals, const i64 vertices, u64* words) {
    State* const state = state_in(words);
    if (!is_pull_due(state)) return;
    __shared__ u32 taken;
    WorkQueue work_queue(&taken);
    pull_shares<THREADS>(slices, chunk_sums, work_queue, indices, masses, residuals, vertices,
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

// Push residuals, one round after the other, until they are small, one is to be pulled, or it is too much; ranks of
// y, if they are small. Nothing is done where it has ended before.
//
// Launch      ROUND_THREADS threads, blocks that are at work together
// Reads       begin, degree, columns; residuals and masses of the kernels before. Residuals that were repaired
//             (residual_repair.cu) are measured first
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
    u64 signed_sum = state->unbased + static_cast<u64>(state->base * pushes.vertices);
    // Not by `masses`: other blocks may have added to them already.
    if (!round.measures && are_small(pushes, state->masses_then, absolute, signed_sum)) {
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
        // What a pull that comes next adds to; it chooses b again.
        state->unbased = 0;
        state->is_based = 0;
        Report* const report = reinterpret_cast<Report*>(pushes.report);
        report->end = round.end;
        report->rounds = round.rounds;
        report->pulls = round.pulls;
        for (u32 i = 0; i < MASS_SUMS; ++i) report->masses[i] = state->masses[i];
        report->absolute = absolute;
        report->signed_sum = signed_sum;
        report->base = state->base;
        report->longest = state->longest;
    }
    if (round.end != IS_DONE) return;
    const double all = static_cast<double>(state->masses[MASS]);
    bool is_rounded = false;
    for (i64 vertex = thread_of_grid(); vertex < pushes.count; vertex += threads_of_grid()) {
        const i64 mass = pushes.masses[vertex];
        const bool is_there = mass != ABSENT_MASS;
        is_rounded |= is_there && (mass < 0 || mass >= static_cast<i64>(WHOLE));
        pushes.ranks[vertex] = is_there ? static_cast<double>(above(mass)) / all : ABSENT;
    }
    if (is_rounded) reinterpret_cast<Report*>(pushes.report)->is_rounded = 1;
}
