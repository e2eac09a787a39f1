// plan.cu -- plan of a batch: new degree and capacity of each row, computed before any write.
//
// Part of     the apply path: map ids -> deltas -> **plan** -> allocate -> commit
// Caller      gpu_core/cuda/update/rows/row_launches.py    Host twin   gpu_core/host/update/plan.py
// Reads       the vertex records and rows, and one delta of a batch (rows.cuh)
// Writes      the plan word of each row; by class and tile of rows, how many outgrow their run, and
//             from that `need`: runs to be taken by class. Nothing of the image but header fields.
// Keeps       the demand is exact before the first word of the graph changes, and the order of runs
//             within a class is that of the rows, so that both engines allocate the same pages
//
// Long rows (rows.cuh) are looked for only where the caller expects some: `find_long` lists them,
// `search_long` looks up their entries. Where they are met without being expected, the status says
// NEEDS_SCRATCH and the caller begins again.
#include "plan_rows.cuh"

// u32 counters within TICKETS; [0] is for kernels that need one ticket a launch.
constexpr int TICKET_PLAN = 6;
constexpr int CLASSES_USED = 7;

__device__ __forceinline__ u32* tickets_of(i64* header) {
    return reinterpret_cast<u32*>(header + BATCH_FIELD_TICKETS);
}

// Blocks of `plan_rows` on a multiprocessor: five leave too few registers before Hopper.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr int BLOCKS_AT_ONCE = 5;
#else
constexpr int BLOCKS_AT_ONCE = 4;
#endif

// Numbers of a class by tile: each becomes the sum of those before it. A warp; returns the sum of
// all. Each lane has tiles that lie side by side, four a load.
__device__ __forceinline__ u32 sum_over_tiles(u32* counts, u32 tiles) {
    constexpr u32 LOADS = 4;
    const u32 share = (tiles + 4 * WARP - 1) / (4 * WARP);
    uint4* quads = reinterpret_cast<uint4*>(counts) + lane_of_thread() * share;
    const u32 first = lane_of_thread() * share * 4;
    u32 own = 0;
    for (u32 begin = 0; begin < share; begin += LOADS) {
        #pragma unroll
        for (u32 load = 0; load < LOADS; ++load) {
            const u32 tile = first + (begin + load) * 4;
            if (begin + load >= share || tile >= tiles) continue;
            const uint4 quad = __ldcg(quads + begin + load);
            own += quad.x + (tile + 1 < tiles ? quad.y : 0) + (tile + 2 < tiles ? quad.z : 0) +
                   (tile + 3 < tiles ? quad.w : 0);
        }
    }
    u32 total;
    u32 sum = warp_exclusive_sum(own, total);
    for (u32 begin = 0; begin < share; begin += LOADS) {
        uint4 quad[LOADS];
        #pragma unroll
        for (u32 load = 0; load < LOADS; ++load) {
            const bool there = begin + load < share && first + (begin + load) * 4 < tiles;
            quad[load] = there ? __ldcg(quads + begin + load) : make_uint4(0, 0, 0, 0);
        }
        #pragma unroll
        for (u32 load = 0; load < LOADS; ++load) {
            const uint4 number = quad[load];
            const uint4 before = make_uint4(sum, sum + number.x, sum + number.x + number.y,
                                            sum + number.x + number.y + number.z);
            sum = before.w + number.w;
            if (begin + load < share && first + (begin + load) * 4 < tiles) {
                quads[begin + load] = before;
            }
        }
    }
    return total;
}

// Launch    one block a tile of 2^tile_shift rows; `last`: this is the last delta that is launched
// Writes    plan words, counts; by the last block `need`
// Cost      rows, indptr and records of all rows (20 to 32 bytes each), what is unsettled of the
//           adjacencies, 4 bytes a row written
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS_AT_ONCE) plan_rows(
        u32* image, Shape shape, Delta delta, Plan plan, i64 last) {
    __shared__ planning::Tile tile;
    // Beside `search_long`, where one delta is all: then only rows that it looks into wait for it. Where
    // no long rows are expected, the second delta beside the first.
    const bool finds_long = plan.long_rows != nullptr;
    const bool beside = last && finds_long == (delta.number == 0);
    if (beside) run_beside_previous_launch();
    else if (!finds_long && !last) follow_and_lead();
    else follow_previous_launch();
    i64* header = header_of(image);
    planning::plan_tile(image, shape, delta, plan, blockIdx.x, tile);
    const u32 warp = warp_of_thread();
    const u32 lane = lane_of_thread();
    if (warp == 0) {
        const u32 count = tile.counts[lane];
        plan.counts[lane * plan.stride + plan.first_tile + blockIdx.x] = count;
        const u32 used = __ballot_sync(FULL_WARP, count > 0);
        if (lane == 0 && used != 0) atomicOr(tickets_of(header) + CLASSES_USED, used);
    }
    if (!last || !is_last_block(tickets_of(header) + TICKET_PLAN)) return;
    await_previous_launch();

    const u32 used = __ldcg(tickets_of(header) + CLASSES_USED);
    // The classes in use go round the warps.
    u32 number = 0;
    for (u32 size_class = 0; size_class < CLASSES; ++size_class) {
        if ((used >> size_class & 1) == 0) {
            if (threadIdx.x == 0) plan.need[size_class] = 0;
            continue;
        }
        if (number++ % WARPS != warp) continue;
        const u32 sum = sum_over_tiles(plan.counts + size_class * plan.stride,
                                       static_cast<u32>(plan.tiles));
        if (lane == 0) plan.need[size_class] = sum;
    }
    __syncthreads();  // all have read what is in use
    if (threadIdx.x == 0) tickets_of(header)[CLASSES_USED] = 0;
}
