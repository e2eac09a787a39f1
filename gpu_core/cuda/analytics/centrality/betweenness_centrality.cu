// betweenness_centrality.cu -- Brandes: searches from many sources at once, then the backward passes.
//
// Caller      gpu_core/cuda/analytics/centrality/betweenness_centrality.py
// Host twin   gpu_core/host/analytics/centrality/betweenness_centrality.py: what is counted, and why it is enough
//
// Positions    each source of a batch has arrays of its own: position `slot * rows + vertex` is that of a
//             vertex for the source `slot`. All searches go on level by level, together
// List        u32[positions]: positions in the order in which they were reached, level after level
// Levels      where each level begins in the list
// Stages      of a level forward: its vertices reach those of the next one; these then add up the paths of
//             their in-neighbors. Back, from the last level on: vertices add up the shares of the
//             out-neighbors behind them
// Order       a sum is that of one row, by a warp or a block, entry by entry in a fixed way: there are no
//             atomics of floating-point numbers, and scheduling makes no difference to any bit
//
// Source      Brandes, "A Faster Algorithm for Betweenness Centrality", J. Math. Sociology 25, 2001; many
//             sources at once: McLaughlin, Bader, "Scalable and High Performance Betweenness Centrality
//             on the GPU", SC 2014
#include "frontier.cuh"

constexpr u32 UNREACHED = 0xFFFFFFFFu;
constexpr int ROW_THREADS = 256;
constexpr u32 ROW_WARPS = ROW_THREADS / WARP;
// Entries of a row that a warp walks; longer rows are for the block.
constexpr u32 WARP_ENTRIES = 512;

constexpr u64 REACHES = 0, COUNTS = 1, ADDS = 2;

struct Search {
    // End of the list.
    u64 tail;
    // What this stage works on: list[first … first + size - 1]; 0: the end.
    u64 first;
    u64 size;
    u64 stage;
    // Of the vertices of that range.
    u64 level;
    u64 ticket;
};

// What is worked on; by position but for `reached`.
struct Batch {
    Search* search;
    u32* list;
    u64* levels;
    u32* distance;
    double* paths;
    double* share;
    double* behind;   // what lies behind each vertex
    u32* reached;     // by slot: vertices, without the source
    u64 rows;         // vertices of a slot
};

// Make up the next stage. One thread calls, behind all others.
__device__ __forceinline__ void end_stage(const Batch& batch) {
    Search* const search = batch.search;
    if (search->stage == REACHES) {
        const u64 end = search->first + search->size;
        const u64 tail = __ldcg(&search->tail);
        if (tail > end) {
            search->level += 1;
            search->first = end;
            search->size = tail - end;
            search->stage = COUNTS;
            batch.levels[search->level] = end;
        } else {
            search->stage = ADDS;  // nothing lies behind the vertices of the last level
        }
    } else if (search->stage == COUNTS) {
        search->stage = REACHES;
    } else if (search->level == 0) {
        search->size = 0;
    } else {
        search->level -= 1;
        search->size = search->first - batch.levels[search->level];
        search->first = batch.levels[search->level];
    }
}

// The row of a position, and what is made of its entries.
struct Walk {
    const Rows& rows;
    const Batch& batch;
    u64 stage;
    u32 level;

    // Look at an entry; returns what it adds to the sum of its row. All lanes of the warp call.
    __device__ __forceinline__ double visit(bool has_entry, u64 position, u32 slot, i64 at) const {
        const u64 other = has_entry ? slot * batch.rows + rows.columns[at] : 0;
        if (stage == REACHES) {
            const bool is_reached =
                has_entry && __ldcg(&batch.distance[other]) == UNREACHED &&
                atomicCAS(&batch.distance[other], UNREACHED, level + 1) == UNREACHED;
            const u32 count = append_vertices(is_reached, static_cast<u32>(other), &batch.search->tail,
                                              batch.list);
            if (count && lane_of_thread() == 0) atomicAdd(&batch.reached[slot], count);
            return 0;
        }
        if (!has_entry) return 0;
        const u32 wanted = stage == COUNTS ? level - 1 : level + 1;
        if (__ldcg(&batch.distance[other]) != wanted) return 0;
        return __ldcg(stage == COUNTS ? &batch.paths[other] : &batch.share[other]);
    }

    // Keep the sum of a row. One thread calls.
    __device__ __forceinline__ void keep(u64 position, double sum) const {
        if (stage == COUNTS) {
            batch.paths[position] = sum;
        } else if (stage == ADDS) {
            const double paths = __ldcg(&batch.paths[position]);
            const double behind = paths * sum;
            batch.behind[position] = behind;
            batch.share[position] = (1.0 + behind) / paths;
        }
    }
};

// Walk the rows of this stage: short ones by a warp each, long ones by the block.
__device__ __forceinline__ void walk_rows(const Rows& rows, const Batch& batch) {
    __shared__ u32 long_positions[ROW_WARPS];
    const Search* const search = batch.search;
    const u64 first = __ldcg(&search->first), size = __ldcg(&search->size);
    const Walk walk{rows, batch, __ldcg(&search->stage), static_cast<u32>(__ldcg(&search->level))};
    const u32 warp = warp_of_thread(), lane = lane_of_thread();
    for (u64 tile = static_cast<u64>(blockIdx.x) * ROW_WARPS; tile < size;
         tile += static_cast<u64>(gridDim.x) * ROW_WARPS) {
        const bool has_row = tile + warp < size;
        const u32 position = has_row ? __ldcg(&batch.list[first + tile + warp]) : 0;
        const u32 vertex = static_cast<u32>(position % batch.rows);
        const u32 degree = has_row ? rows.degree[vertex] : 0;
        const bool is_long = degree > WARP_ENTRIES;
        if (lane == 0) long_positions[warp] = is_long ? position : UNREACHED;
        if (has_row && !is_long) {
            const u32 slot = static_cast<u32>(position / batch.rows);
            const i64 begin = rows.begin[vertex];
            double sum = 0;
            for (u32 i = 0; i < degree; i += WARP) {
                sum += walk.visit(i + lane < degree, position, slot, begin + (i + lane) * rows.step);
            }
            if (walk.stage != REACHES) sum = warp_sum(sum);
            if (lane == 0) walk.keep(position, sum);
        }
        __syncthreads();
        for (u32 other = 0; other < ROW_WARPS; ++other) {
            const u32 long_position = long_positions[other];
            if (long_position == UNREACHED) continue;
            const u32 slot = static_cast<u32>(long_position / batch.rows);
            const u32 row = static_cast<u32>(long_position % batch.rows);
            const u32 length = rows.degree[row];
            const i64 begin = rows.begin[row];
            double sum = 0;
            for (u32 i = 0; i < length; i += ROW_THREADS) {
                const u32 at = i + threadIdx.x;
                sum += walk.visit(at < length, long_position, slot, begin + at * rows.step);
            }
            sum = block_sum<double, ROW_THREADS>(sum);
            if (threadIdx.x == 0) walk.keep(long_position, sum);
        }
        __syncthreads();  // the positions have been read: they may be written again
    }
}

// Rows of the stage: in-neighbors where paths are counted.
__device__ __forceinline__ void work(const Rows& out, const Rows& back, const Batch& batch) {
    if (__ldcg(&batch.search->stage) == COUNTS) {
        walk_rows(back, batch);
    } else {
        walk_rows(out, batch);
    }
}

// Begin the searches of a batch.
//
// Launch      ROW_THREADS threads, a thread a source
// Reads       sources   u32[count]
//             batch     `distance` is UNREACHED, `search` and `reached` are 0
extern "C" __global__ void __launch_bounds__(ROW_THREADS) begin_batch(const u32* __restrict__ sources,
                                                                      const u64 count,
                                                                      const Batch batch) {
    const u64 slot = thread_of_grid();
    if (slot >= count) return;
    const u64 position = slot * batch.rows + sources[slot];
    batch.list[slot] = static_cast<u32>(position);
    batch.distance[position] = 0;
    batch.paths[position] = 1;
    if (slot > 0) return;
    batch.levels[0] = 0;
    batch.search->tail = count;
    batch.search->size = count;
}

// Do the next stage, if there is one.
//
// Launch      ROW_THREADS threads; as many blocks as the device runs at once
extern "C" __global__ void __launch_bounds__(ROW_THREADS, 4) batch_stage(
        const i64* __restrict__ begin, const u32* __restrict__ degree,
        const u32* __restrict__ columns, const i64 step, const i64* __restrict__ back_begin,
        const u32* __restrict__ back_degree, const u32* __restrict__ back_columns,
        const i64 back_step, const Batch batch) {
    if (__ldcg(&batch.search->size) == 0) return;
    work(Rows{begin, degree, columns, step}, Rows{back_begin, back_degree, back_columns, back_step},
         batch);
    if (ends_round(&batch.search->ticket)) end_stage(batch);
}

// Do one stage after the other, while each has few rows.
//
// Launch      ROW_THREADS threads, and as many blocks as can wait for one another
// Parameters  most  rows of a stage that is done here
extern "C" __global__ void __launch_bounds__(ROW_THREADS, 1) IN_CLUSTER small_batch_stages(
        const i64* __restrict__ begin, const u32* __restrict__ degree,
        const u32* __restrict__ columns, const i64 step, const i64* __restrict__ back_begin,
        const u32* __restrict__ back_degree, const u32* __restrict__ back_columns,
        const i64 back_step, const Batch batch, const u64 most) {
    const Rows out{begin, degree, columns, step};
    const Rows back{back_begin, back_degree, back_columns, back_step};
    meet_rounds([&] { return __ldcg(&batch.search->size) > 0 && __ldcg(&batch.search->size) <= most; },
                [&] { work(out, back, batch); }, [&] { end_stage(batch); });
}

// Add what the sources of a batch give to every vertex, in their order.
//
// Launch      ROW_THREADS threads, a thread a vertex
// Parameters  endpoints  1: the ends of a path are on it
// Adds to     total      f64[rows]
extern "C" __global__ void __launch_bounds__(ROW_THREADS) add_batch(
        const u32* __restrict__ sources, const u64 count, const Batch batch, const u32 endpoints,
        double* __restrict__ total) {
    const u64 vertex = thread_of_grid();
    if (vertex >= batch.rows) return;
    double sum = total[vertex];
    for (u64 slot = 0; slot < count; ++slot) {
        const u64 position = slot * batch.rows + vertex;
        if (batch.distance[position] == UNREACHED) continue;
        if (sources[slot] == vertex) {
            if (endpoints) sum += batch.reached[slot];
        } else {
            sum += endpoints ? batch.behind[position] + 1.0 : batch.behind[position];
        }
    }
    total[vertex] = sum;
}

// Multiply the sums of all vertices by one factor, of sources by another.
//
// Launch      ROW_THREADS threads, a thread a vertex
// Reads       is_source  u8[rows]
extern "C" __global__ void __launch_bounds__(ROW_THREADS) scale_sums(
        const unsigned char* __restrict__ is_source, const u64 rows, const double scale,
        const double scale_of_sources, double* __restrict__ total) {
    const u64 vertex = thread_of_grid();
    if (vertex < rows) total[vertex] *= is_source[vertex] ? scale_of_sources : scale;
}
