// few_rows.cu -- a batch of few rows in one launch: planned, allocated and written by one block.
//
// Part of     the apply path: map ids -> deltas -> **plan -> allocate -> commit**
// Caller      gpu_core/cuda/update/rows/row_launches.py
// Reads       one delta of a batch, which is all of it, without long rows (rows.cuh)
// Writes      what plan_rows, allocate_demand and commit_rows write, by the code that they share with it
//
// What a launch costs, and its way through the device, is what a small batch takes; its rows are so few
// that one block has a thread for each.
#include "commit_rows.cuh"
#include "lowest_runs.cuh"
#include "plan_rows.cuh"

static_assert(BLOCK == ALLOCATE_THREADS, "a block of rows allocates their demand");

// What the threads of a block share while it allocates.
struct Allocating {
    Ledger ledger;
    Levels levels;
    u32 lists[2][BLOCK];
};

// What they share, one after the other.
union Shared {
    planning::Tile tile;
    Allocating allocating;
    committing::Written written;
};

// Hand out the runs that the planned rows need, as `allocate_demand` does: `need` of its class a thread,
// 0 after the classes. Returns whether there are enough. All threads of one block.
__device__ __forceinline__ bool allocate_rows(
        i64* header, const Stock& stock, const Plan& plan, u32 need, i64* allocation, u32* taken,
        u32* tree, const i64* geometry, i64 trees, Allocating& allocating) {
    if (threadIdx.x < CLASSES) plan.need[threadIdx.x] = need;
    if (!__syncthreads_or(need > 0)) return true;
    Ledger& ledger = allocating.ledger;
    Cut* cuts = cuts_of(allocation);
    if (!open_ledger(ledger, cuts, stock, need, BLOCK)) {
        if (threadIdx.x == 0) header[BATCH_FIELD_STATUS] = BATCH_STATUS_NEEDS_HOST;
        return false;
    }
    for (int size_class = 0; size_class < trees; ++size_class) {
        if (ledger.spent[size_class] == 0) continue;
        if (warp_of_thread() == 0) open_levels(allocating.levels, geometry, size_class);
        __syncthreads();
        take_lowest(ledger, allocating.levels, tree, geometry, size_class, taken, allocating.lists[0],
                    allocating.lists[1]);
        __syncthreads();
    }
    if (threadIdx.x < CLASSES) leave_allocation(ledger, allocation);
    close_ledger(ledger, cuts, header, tree, geometry, taken);
    return true;
}

// Launch    one block; up to BLOCK rows
// Status    NEEDS_SCRATCH and NEEDS_HOST, and nothing else is changed, as the kernels named above
extern "C" __global__ void __launch_bounds__(BLOCK, 1) apply_few_rows(
        u32* image, Shape shape, Delta delta, Plan plan, Properties properties, i64* allocation,
        u32* taken, u32* tree, const i64* __restrict__ geometry, i64 trees,
        i64 entries_per_edge, i64* report) {
    __shared__ Shared shared;
    i64* header = header_of(image);
    const u32 number = threadIdx.x;
    Row row{};
    if (number < delta.max_rows) row = row_of_delta(delta, number);
    const u32 row_count = *delta.row_count;
    follow_previous_launch();
    const Stock stock = open_stock(header, tree, shape.vertex_count);
    planning::plan_tile(image, shape, delta, plan, 0, shared.tile);
    // What the block can compute itself is not loaded from memory.
    bool goes_on = shared.tile.goes_on;
    const u32 need = threadIdx.x < CLASSES ? shared.tile.counts[threadIdx.x] : 0;
    if (threadIdx.x < CLASSES) plan.counts[threadIdx.x * plan.stride] = 0;
    __syncthreads();
    if (goes_on) {
        goes_on = allocate_rows(header, stock, plan, need, allocation, taken, tree, geometry, trees,
                             shared.allocating);
    }
    __syncthreads();
    if (goes_on) {
        committing::begin_block(shared.written);
        __syncthreads();
        const u32 word = number < row_count ? plan.words[number] : 0;
        committing::commit_block(image, shape, delta, plan, properties,
                                 Runs{allocation, taken, tree, geometry}, number, row, word, row_count,
                                 shared.written);
    }
    __syncthreads();
    report_batch(header, counts_of(tree), entries_per_edge, 0, report);
}
