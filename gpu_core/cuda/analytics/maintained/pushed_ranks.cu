// pushed_ranks.cu -- PageRank of a graph that has changed a little: residuals of the ranks before, pushed to
// neighbors until they are small.
//
//     y = b + alpha P^T y       r(v) = b + sum of c(u) over edges u -> v - y(v)       c(u) = alpha y(u) / d(u)
//
// Caller      gpu_core/cuda/analytics/maintained/pushed_ranks.py
// Formulas    gpu_core/algorithms/maintained/maintained_pagerank.py. All are whole numbers below 2^53, which
//             float64 adds up without rounding: no order of sums, or of atomic operations, shows in the ranks
// Launches    begin_masses -> pull_residuals -> (select_residuals -> push_residuals) ... -> end_masses. Once
//             residuals are small enough, or too many would be pushed, launches change nothing: the host
//             starts several rounds before it looks
// Beyond      of undirected graphs, what is pushed goes beyond the residual by some of what was pushed in the
//             round before, as the steps of chebyshev.cuh do: 12 rounds on a grid for 18
// Rows        of in-neighbors in place (slices.cuh), of out-neighbors as `Rows` (gpu_core/rows.py)
//
// Source: Andersen, Chung, Lang, "Local Graph Partitioning using PageRank Vectors", FOCS 2006 (pushes).
#include "chebyshev.cuh"
#include "slices.cuh"

// Blocks a multiprocessor of the kernels that share work.
constexpr int PULL_BLOCKS = 5;
constexpr int PUSH_BLOCKS = 8;
constexpr int PUSH_THREADS = 256;
// Of a selection; residuals that a thread reads before it looks at the first.
constexpr int SELECT_BLOCKS = 2;
constexpr int SELECT_THREADS = 512;
constexpr u32 OWN_VERTICES = 4;
// Lanes that push along a row, and entries of a part of one: an item of the queue.
constexpr u32 TEAM = 8;
constexpr u32 PART = 256;
// Rounds at most: a few vertices that pass residuals to and fro have many.
constexpr i64 MOST_SELECTIONS = 128;
// Ranks are multiples of 2^-51 of all rank: masses of new vertices beside those before have room.
constexpr double WHOLE = 2251799813685248.0;  // 2^51
constexpr double ABSENT = -1.0;
constexpr i64 LARGEST = 0x7FFFFFFFFFFFFFFF;

constexpr i64 GOES_ON = 0;
constexpr i64 IS_DONE = 1;
constexpr i64 IS_TOO_MUCH = 2;

// Sums of a selection over all vertices; those of y are of all selections, all others 0 before each.
constexpr u32 MASS = 0;      // y where it is above 0
constexpr u32 BELOW = 1;     // -y where it is below
constexpr u32 ABSOLUTE = 2;  // |r|
constexpr u32 SIGNED = 3;    // r
constexpr u32 PUSHED = 4;    // vertices that push, and entries of their rows
constexpr u32 SUMS = 5;

// What is kept from launch to launch; 0 before the first.
struct State {
    u64 pulled;        // sum of r but for b
    u64 sums[SUMS];
    u64 items[2];      // of the queue, of selections of even and of odd numbers
    i64 selections;
    i64 measures;      // whether the next selection only measures, as residuals seem small enough
    double beyond;     // how far it goes beyond residuals
    i64 rounds;        // selections of which some have pushed
    i64 work;          // sum of PUSHED
    i64 end;
};

// What the host sees at the end.
struct Report {
    i64 end;
    i64 rounds;
    u64 sums[SUMS];
};

// What ends the rounds.
struct Ending {
    double tolerance;    // A + |S| + 4 N + rounding may be at most this times Y
    double rounding;
    double most_radius;  // chebyshev.cuh; 0: rounds push residuals alone
    i64 least;           // what is no more than this is not pushed
    i64 most_pushed;     // of one round, and of all of them
    i64 most_work;
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
// Launch      PUSH_THREADS threads; blocks share the vertices
// Reads       present, degree  of the rows of out-neighbors
//             earlier  f64[earlier_count], negative: the vertex was absent
// Writes      masses i64[n], shares f64[n]; residuals i64[n] of absent vertices
//             their sum in state
extern "C" __global__ void __launch_bounds__(PUSH_THREADS) begin_masses(
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
    const u64 sum = block_sum<u64, PUSH_THREADS>(own);
    if (threadIdx.x == 0 && sum) atomicAdd(&state_in(words)->sums[MASS], sum);
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

// Whether the last selection, whose sums are complete, ends the rounds; what comes after it. One thread of
// the grid calls.
__device__ __forceinline__ void end_selection(State* state, const Ending& ending, i64 vertices, i64 entries,
                                              u64* report_words) {
    u64 sums[SUMS];
#pragma unroll
    for (u32 i = 0; i < SUMS; ++i) sums[i] = __ldcg(&state->sums[i]);
#pragma unroll
    for (u32 i = BELOW + 1; i < SUMS; ++i) state->sums[i] = 0;
    const i64 off = static_cast<i64>(sums[ABSOLUTE]) + magnitude(static_cast<i64>(sums[SIGNED]));
    const bool is_small = static_cast<double>(off) + 4.0 * static_cast<double>(sums[BELOW]) +
                              ending.rounding <=
                          ending.tolerance * static_cast<double>(sums[MASS]);
    const i64 pushed = static_cast<i64>(sums[PUSHED]);
    if (is_small && pushed == 0) {
        state->end = IS_DONE;
    } else if (!is_small && pushed == 0 && !state->measures) {
        state->end = IS_TOO_MUCH;  // what is left lies all over the graph
    } else if (pushed > ending.most_pushed || state->work + pushed > ending.most_work ||
               state->selections == MOST_SELECTIONS) {
        state->end = IS_TOO_MUCH;
    }
    const double radius = ending.most_radius * random_radius(vertices, entries);
    state->beyond = pushed > 0 ? momentum(radius, state->beyond > 0 ? state->beyond : 1.0) : 0.0;
    state->measures = is_small;
    state->work += pushed;
    state->rounds += pushed > 0;
    state->selections += 1;
    state->items[state->selections % 2] = 0;
    if (state->end == GOES_ON) return;
    Report* const report = reinterpret_cast<Report*>(report_words);
    report->rounds = state->rounds;
    for (u32 i = 0; i < SUMS; ++i) report->sums[i] = sums[i];
    report->end = state->end;
}

// Select the vertices that push: y += p, r -= p; what becomes of c is to be pushed. At first b is added, by
// which residuals sum to about 0.
//
// Launch      SELECT_THREADS threads; blocks share the vertices
// Reads       residuals; of vertices that push degree, of out-neighbors, and masses; at first present
// Reads and   last    i64[n]: p of the round before, of vertices that have pushed there
// writes      pushed  u8[n]: whether it has
// Writes      masses, residuals, more i64[n] (change of c) of vertices that push alone
//             queue  u64[]: vertex << 32 | part of its row
//             state, report
// Cost        reads 9 bytes a vertex
extern "C" __global__ void __launch_bounds__(SELECT_THREADS, SELECT_BLOCKS) select_residuals(
        const u8* __restrict__ present, const u32* __restrict__ degree, const i64 count,
        const i64 vertices, const i64 entries, const double alpha, const Ending ending,
        i64* __restrict__ masses, i64* __restrict__ residuals, i64* __restrict__ last,
        u8* __restrict__ pushed, i64* __restrict__ more, u64* __restrict__ queue, u64* words,
        u64* report, u32* ticket) {
    State* const state = state_in(words);
    if (state->end != GOES_ON) return;
    const bool is_first = state->selections == 0, measures = state->measures;
    const double beyond = state->beyond;
    const i64 base = is_first ? -(static_cast<i64>(state->pulled) / vertices) : 0;
    u64* const items = &state->items[state->selections % 2];
    u64 sums[SUMS] = {};
    const u32 lane = lane_of_thread();
    const i64 all = threads_of_grid();
    // What is pushed is less than twice the residual, but for what is pushed once more.
    const i64 near = ending.least / 2;
    // Whole warps walk on together.
    for (i64 first = thread_of_grid(); first - lane < count; first += OWN_VERTICES * all) {
        i64 found[OWN_VERTICES];
        u8 has_pushed[OWN_VERTICES];
#pragma unroll
        for (u32 i = 0; i < OWN_VERTICES; ++i) {
            const i64 vertex = first + i * all;
            found[i] = vertex < count ? residuals[vertex] : 0;
            has_pushed[i] = vertex < count && !is_first ? pushed[vertex] : 0;
            if (!is_first || vertex >= count) continue;
            if (present[vertex]) residuals[vertex] = found[i] += base;
            pushed[vertex] = 0;
        }
        u32 waiting = 0;
#pragma unroll
        for (u32 i = 0; i < OWN_VERTICES; ++i) {
            sums[ABSOLUTE] += static_cast<u64>(magnitude(found[i]));
            sums[SIGNED] += static_cast<u64>(found[i]);
            waiting |= static_cast<u32>(has_pushed[i] || magnitude(found[i]) > near) << i;
        }
        if (measures) waiting = 0;
        // Each lane goes on to its next vertex that may push.
        for (; __any_sync(FULL_WARP, waiting != 0); waiting &= waiting - 1) {
            const i64 vertex = first + (__ffs(waiting) - 1) * all;
            u32 parts = 0;
            if (waiting) {
                const i64 residual = residuals[vertex], before = masses[vertex];
                // Read in vain where nothing was pushed, and nothing may be there yet.
                const i64 last_one = last[vertex];
                const u32 edges = degree[vertex];
                const bool goes_on = pushed[vertex];
                const double more_of_last = goes_on ? beyond * static_cast<double>(last_one) : 0.0;
                const i64 own =
                    __double2ll_rn((1 + beyond) * static_cast<double>(residual) + more_of_last);
                const bool pushes = magnitude(own) > ending.least;
                if (pushes != goes_on) pushed[vertex] = pushes;
                if (pushes) {
                    const i64 mass = before + own;
                    masses[vertex] = mass;
                    residuals[vertex] = residual - own;
                    last[vertex] = own;
                    more[vertex] =
                        __double2ll_rn(share_of(mass, edges, alpha) - share_of(before, edges, alpha));
                    sums[MASS] += static_cast<u64>(above(mass) - above(before));
                    sums[BELOW] += static_cast<u64>(above(-mass) - above(-before));
                    sums[PUSHED] += 1 + edges;
                    parts = (edges + PART - 1) / PART;
                }
            }
            if (!__any_sync(FULL_WARP, parts > 0)) continue;
            u32 of_warp;
            u64 position = warp_exclusive_sum(parts, of_warp);
            u64 start = 0;
            if (lane == 0) start = atomicAdd(items, u64(of_warp));
            position += __shfl_sync(FULL_WARP, start, 0);
            for (u32 part = 0; part < parts; ++part) {
                queue[position + part] = static_cast<u64>(vertex) << 32 | part;
            }
        }
    }
    block_sums<u64, SELECT_THREADS>(sums);
    if (threadIdx.x == 0) {
#pragma unroll
        for (u32 i = 0; i < SUMS; ++i) {
            if (sums[i]) atomicAdd(&state->sums[i], sums[i]);
        }
    }
    if (is_last_block(ticket) && threadIdx.x == 0) end_selection(state, ending, vertices, entries, report);
}

// Push: add what has become of c to the residuals of out-neighbors.
//
// Launch      PUSH_THREADS threads; blocks share the queue
// Reads       rows of out-neighbors, more, queue
// Adds to     residuals
// Cost        an atomic operation an entry
extern "C" __global__ void __launch_bounds__(PUSH_THREADS) push_residuals(
        const i64* __restrict__ begin, const u32* __restrict__ degree,
        const u32* __restrict__ columns, const i64 step, const i64* __restrict__ more,
        const u64* __restrict__ queue, u64* __restrict__ residuals, const u64* words) {
    const State* const state = reinterpret_cast<const State*>(words);
    if (state->end != GOES_ON) return;
    const u64 items = state->items[(state->selections - 1) % 2];
    const u32 lane = threadIdx.x % TEAM;
    const u64 teams = static_cast<u64>(threads_of_grid()) / TEAM;
    for (u64 item = static_cast<u64>(thread_of_grid()) / TEAM; item < items; item += teams) {
        const u32 vertex = static_cast<u32>(queue[item] >> 32), part = static_cast<u32>(queue[item]);
        const u32 from = part * PART, end = min(degree[vertex], from + PART);
        const u64 change = static_cast<u64>(more[vertex]);
        const i64 row = begin[vertex];
        for (u32 i = from + lane; i < end; i += TEAM) {
            atomicAdd(&residuals[columns[row + i * step]], change);
        }
    }
}

// Ranks of y, once residuals are small.
//
// Launch      one thread a vertex
// Writes      ranks  f64[n], ABSENT where the vertex is; nothing else is negative
extern "C" __global__ void end_masses(const u8* __restrict__ present, const i64 count,
                                      const i64* __restrict__ masses, const u64* words,
                                      double* __restrict__ ranks) {
    const State* const state = reinterpret_cast<const State*>(words);
    const i64 vertex = thread_of_grid();
    if (vertex >= count || state->end != IS_DONE) return;
    const i64 own = masses[vertex];
    const double mass = static_cast<double>(state->sums[MASS]);
    ranks[vertex] = present[vertex] ? static_cast<double>(own > 0 ? own : 0) / mass : ABSENT;
}
