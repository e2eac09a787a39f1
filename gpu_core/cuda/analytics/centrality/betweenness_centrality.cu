// betweenness_centrality.cu -- Brandes: searches from many sources at once, then the backward passes.
//
// Caller      gpu_core/cuda/analytics/centrality/betweenness_centrality.py
// Host twin   gpu_core/host/analytics/centrality/betweenness_centrality.py: what is counted, and why it is enough
//
// Stages      of a level forward: its vertices reach those of the next one: they push to them, or all that
//             have not been reached by all sources pull, and those that were are listed. These then add up the
//             paths of their in-neighbors. Back, from the last level on: vertices add up the shares of the
//             out-neighbors after them. All sources of a batch go on level by level together, in bundles
//             (betweenness_stages.cuh)
//
// Source      Brandes, "A Faster Algorithm for Betweenness Centrality", J. Math. Sociology 25, 2001; many
//             sources at once: Sarıyüce, Saule, Kaya, Çatalyürek, "Regularizing Graph Centrality Computations",
//             JPDC 76, 2015; push or pull: Beamer, Asanović, Patterson, "Direction-Optimizing Breadth-First
//             Search", SC 2012
#include "betweenness_stages.cuh"

// Threads of a block of those that meet: with more, a thread has too few registers.
constexpr int MEETING_THREADS = 512;

// Whether the level is pulled after one of this cost.
__device__ __forceinline__ bool pulls(u64 cost, const Batch& batch) {
    const u64 entries = (cost & ~LONG_ROWS) * TEAM;
    return (cost & ~LONG_ROWS) > batch.small &&
           entries * batch.pull_share > batch.entries * bundles_of(batch.search->sources);
}

// Make the vertices that were reached the level that is worked on. One thread calls.
__device__ __forceinline__ void begin_level(const Batch& batch, u64 level, u64 first) {
    Search* const search = batch.search;
    search->level = level;
    search->first = first;
    search->size = __ldcg(&search->tail) - first;
    search->cost = __ldcg(&search->next_cost);
    search->next_cost = 0;
    batch.levels[level] = first;
    batch.costs[level] = search->cost;
}

// Make up the next stage. One thread calls, after all others.
__device__ __forceinline__ void end_stage(const Batch& batch) {
    Search* const search = batch.search;
    const u64 level = search->level;
    if (search->stage == PULLS) {
        search->stage = LISTS;
    } else if (search->stage == COUNTS) {
        search->stage = pulls(search->cost, batch) ? PULLS : PUSHES;
    } else if (search->stage != ADDS) {
        const u64 end = search->first + search->size;
        if (__ldcg(&search->tail) > end) {
            begin_level(batch, level + 1, end);
            search->stage = COUNTS;
        } else {
            batch.levels[level + 1] = end;
            search->last = level;
            search->stage = ADDS;
        }
    } else if (level == 0) {
        search->size = 0;
    } else {
        search->size = search->first - batch.levels[level - 1];
        search->first = batch.levels[level - 1];
        search->cost = batch.costs[level - 1];
        search->level = level - 1;
    }
}

// Do one stage of a kind.
template <u64 STAGE, int SIZE, bool MEETS>
__device__ __forceinline__ void do_stage(const Direction& direction, const Direction& opposite, const Batch& batch) {
    Stage<STAGE, MEETS> stage(direction, opposite, batch);
    stage.template work<SIZE>();
    if (STAGE == PUSHES || STAGE == LISTS) stage.listed.template add_up<SIZE>(batch.search);
}

// Do the stage that comes next. What is small is not pulled.
template <int SIZE, bool MEETS>
__device__ __forceinline__ void work(const Direction& out, const Direction& into, const Batch& batch) {
    const u64 stage = __ldcg(&batch.search->stage);
    if (stage == PUSHES) do_stage<PUSHES, SIZE, MEETS>(out, into, batch);
    else if (stage == COUNTS) do_stage<COUNTS, SIZE, MEETS>(into, out, batch);
    else if (stage == ADDS) do_stage<ADDS, SIZE, MEETS>(out, into, batch);
    else if constexpr (!MEETS) {
        if (stage == PULLS) do_stage<PULLS, SIZE, MEETS>(into, out, batch);
        else do_stage<LISTS, SIZE, MEETS>(out, into, batch);
    }
}

// List the parts of long rows.
//
// Launch      THREADS threads, a thread a row
// Writes      parts  of `Direction`; those of a row one after the other, rows in any order
//             part_count  grows from 0
extern "C" __global__ void __launch_bounds__(THREADS) list_parts(
        const u32* __restrict__ degree, const u64 rows, u64* __restrict__ parts, u32* part_count) {
    const u64 row = thread_of_grid();
    const u32 length = row < rows ? degree[row] : 0;
    const u32 own = length > PART_ENTRIES ? (length - 1) / PART_ENTRIES + 1 : 0;
    u32 all;
    u32 position = warp_exclusive_sum(own, all);
    if (all == 0) return;
    u32 first = 0;
    if (lane_of_thread() == 0) first = atomicAdd(part_count, all);
    position += __shfl_sync(FULL_WARP, first, 0);
    for (u32 part = 0; part < own; ++part) parts[position + part] = static_cast<u64>(part) << 32 | row;
}

// Begin the searches of a batch.
//
// Launch      THREADS threads, a thread a source
// Reads       sources   u32[count]
//             batch     `search`, `seen` and `fronts` are 0
extern "C" __global__ void __launch_bounds__(THREADS) begin_batch(
        const u32* __restrict__ sources, const u64 count, const u32* __restrict__ degree,
        const u32* __restrict__ back_degree, const Batch batch) {
    const u64 number = thread_of_grid();
    Listed listed;
    if (number < count) {
        const u32 source = sources[number];
        const u64 cell = number / SLOTS * batch.rows + source;
        const u32 slot = number % SLOTS;
        batch.list[number] = static_cast<u32>(cell);
        batch.masks[number] = static_cast<u16>(1u << slot);
        batch.seen[cell] = batch.front(0)[cell] = 1u << slot;
        batch.paths[cell * batch.slots + slot] = 1;
        listed.count(degree[source], back_degree[source]);
    }
    listed.add_up<THREADS>(batch.search);
    if (!ends_round(&batch.search->ticket)) return;
    batch.search->sources = count;
    batch.search->tail = count;
    begin_level(batch, 0, 0);
    batch.search->stage = pulls(batch.search->cost, batch) ? PULLS : PUSHES;
}

// Do the next stage, if there is one.
//
// Launch      THREADS threads; as many blocks as the device runs at once
extern "C" __global__ void __launch_bounds__(THREADS, WIDE_PATHS ? 2 : 3) batch_stage(
        const Direction out, const Direction into, const Batch batch) {
    if (__ldcg(&batch.search->size) == 0) return;
    work<THREADS, false>(out, into, batch);
    if (ends_round(&batch.search->ticket)) end_stage(batch);
}

// Do one stage after the other, while each is of a small level.
//
// Launch      MEETING_THREADS threads, and as many blocks as can wait for one another
extern "C" __global__ void __launch_bounds__(MEETING_THREADS, 1) IN_CLUSTER small_batch_stages(
        const Direction out, const Direction into, const Batch batch) {
    meet_rounds([&] { return __ldcg(&batch.search->size) > 0 && __ldcg(&batch.search->cost) <= batch.small; },
                [&] { work<MEETING_THREADS, true>(out, into, batch); }, [&] { end_stage(batch); });
}

// Add what the sources of a batch give to every vertex, in their order.
//
// Launch      THREADS threads, a thread a vertex
// Parameters  endpoints  1: the ends of a path are on it
// Adds to     total      f64[rows]
extern "C" __global__ void __launch_bounds__(THREADS) add_batch(
        const u32* __restrict__ sources, const u64 count, const Batch batch, const u32 endpoints,
        double* __restrict__ total) {
    const u64 vertex = thread_of_grid();
    if (vertex >= batch.rows) return;
    double sum = total[vertex];
    for (u64 first = 0; first < count; first += SLOTS) {
        const u64 cell = first / SLOTS * batch.rows + vertex;
        const double* const dependencies = batch.paths + cell * batch.slots;
        for (u32 seen = batch.seen[cell]; seen; seen &= seen - 1) {
            const u32 slot = __ffs(seen) - 1;
            if (sources[first + slot] != vertex) {
                sum += endpoints ? dependencies[slot] + 1.0 : dependencies[slot];
            } else if (endpoints) {
                // Behind a source is one for every vertex that it reaches, but for rounding.
                sum += rint(dependencies[slot]);
            }
        }
    }
    total[vertex] = sum;
}

// Multiply the sums of all vertices by one factor, of sources by another.
//
// Launch      THREADS threads, a thread a vertex
// Reads       is_source  u8[rows]
extern "C" __global__ void __launch_bounds__(THREADS) scale_sums(
        const unsigned char* __restrict__ is_source, const u64 rows, const double scale,
        const double scale_of_sources, double* __restrict__ total) {
    const u64 vertex = thread_of_grid();
    if (vertex < rows) total[vertex] *= is_source[vertex] ? scale_of_sources : scale;
}
