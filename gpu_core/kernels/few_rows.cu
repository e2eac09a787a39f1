// few_rows.cu -- a batch of few rows, all of it in one launch: planned, served and written.
//
// Part of     the apply path: halves -> **plan -> serve_demand -> commit**
// Caller      gpu_core/cuda/batch_launches.py
// Reads       one half of a batch, which is all of it, without long rows (rows.cuh)
// Writes      what plan_rows, serve_demand and commit_rows write, by the code that they share with it
//
// What a launch costs, and its way through the device, is what a small batch takes; its blocks are so
// few that they can meet, within one block or one cluster of them. The first block serves the demand.
#include "commit_rows.cuh"
#include "lowest_runs.cuh"
#include "plan_rows.cuh"

// Blocks of a cluster, on devices that have such, and rows that they take.
constexpr u32 CLUSTER_BLOCKS = 8;
constexpr u32 MOST_ROWS = CLUSTER_BLOCKS * BLOCK;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define IN_CLUSTER __cluster_dims__(CLUSTER_BLOCKS, 1, 1)
#else
#define IN_CLUSTER
#endif

static_assert(BLOCK == SERVE_THREADS, "a block of rows serves their demand");

// What the threads of a block share while it serves.
struct Serving {
    Ledger ledger;
    Levels levels;
    u32 lists[2][MOST_ROWS];
};

// What they share, one after the other.
union Shared {
    planning::Tile tile;
    Serving serving;
    committing::Written written;
};

// All threads of all blocks meet, and see what any of them wrote before.
template <bool CLUSTER>
__device__ __forceinline__ void meet() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (CLUSTER) {
        asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
        return;
    }
#endif
    __syncthreads();
}

// Numbers of a class by tile become sums of those before; returns the sum of all. One thread a class.
__device__ __forceinline__ u32 need_of_tiles(const Plan& plan) {
    u32* counts = plan.counts + threadIdx.x * plan.stride;
    u32 need = 0;
    for (i64 tile = 0; tile < plan.tiles; ++tile) {
        const u32 of_tile = __ldcg(counts + tile);
        counts[tile] = need;
        need += of_tile;
    }
    return need;
}

// Hand out the runs that the planned rows need, as `serve_demand` does: `need` of its class a thread,
// 0 behind the classes. Returns whether there are enough. All threads of one block.
__device__ __forceinline__ bool serve_rows(
        i64* header, const Stock& stock, const Plan& plan, u32 need, i64* service, u32* taken,
        u32* tree, const i64* geometry, i64 trees, Serving& serving) {
    if (threadIdx.x < CLASSES) plan.need[threadIdx.x] = need;
    if (!__syncthreads_or(need > 0)) return true;
    Ledger& ledger = serving.ledger;
    Cut* cuts = cuts_of(service);
    if (!open_ledger(ledger, cuts, stock, need, MOST_ROWS)) {
        if (threadIdx.x == 0) header[BATCH_FIELD_STATUS] = BATCH_STATUS_NEEDS_HOST;
        return false;
    }
    for (int size_class = 0; size_class < trees; ++size_class) {
        if (ledger.spent[size_class] == 0) continue;
        if (warp_of_thread() == 0) open_levels(serving.levels, geometry, size_class);
        __syncthreads();
        take_lowest(ledger, serving.levels, tree, geometry, size_class, taken, serving.lists[0],
                    serving.lists[1]);
        __syncthreads();
    }
    if (threadIdx.x < CLASSES) leave_service(ledger, service);
    close_ledger(ledger, cuts, header, tree, geometry, taken);
    return true;
}

// Apply the rows of the half, BLOCK of them a block.
template <bool CLUSTER>
__device__ __forceinline__ void apply_rows(
        u32* image, const Shape& shape, const Half& half, const Plan& plan,
        const Properties& properties, i64* service, u32* taken, u32* tree, const i64* geometry,
        i64 trees, i64 sides, i64* report) {
    __shared__ Shared shared;
    i64* header = header_of(image);
    const u32 number = static_cast<u32>(thread_of_grid());
    Row row{};
    if (number < half.max_rows) row = row_of_half(half, number);
    const u32 row_count = *half.row_count;
    follow_previous_launch();
    const Stock stock = open_stock(header, tree, shape.vertex_count);
    planning::plan_tile(image, shape, half, plan, blockIdx.x, shared.tile);
    // What one block knows by itself it does not ask the memory for.
    bool goes_on = shared.tile.goes_on;
    u32 need = threadIdx.x < CLASSES ? shared.tile.counts[threadIdx.x] : 0;
    if (threadIdx.x < CLASSES && blockIdx.x < plan.tiles) {
        plan.counts[threadIdx.x * plan.stride + blockIdx.x] = CLUSTER ? need : 0;
    }
    meet<CLUSTER>();
    if (CLUSTER) goes_on = __ldcg(header + BATCH_FIELD_STATUS) == BATCH_STATUS_OK;
    if (goes_on && blockIdx.x == 0) {
        if (CLUSTER && threadIdx.x < CLASSES) need = need_of_tiles(plan);
        goes_on = serve_rows(header, stock, plan, need, service, taken, tree, geometry, trees,
                             shared.serving);
    }
    meet<CLUSTER>();
    if (CLUSTER) goes_on = __ldcg(header + BATCH_FIELD_STATUS) == BATCH_STATUS_OK;
    if (goes_on) {
        committing::begin_block(shared.written);
        __syncthreads();
        const u32 word = number < row_count ? plan.words[number] : 0;
        committing::commit_block(image, shape, half, plan, properties,
                                 Runs{service, taken, tree, geometry}, number, row, word, row_count,
                                 shared.written);
    }
    u32* ticket = reinterpret_cast<u32*>(header + BATCH_FIELD_TICKETS) + TICKET_COMMIT;
    if (CLUSTER) {
        if (!is_last_block(ticket)) return;
    } else {
        __syncthreads();
    }
    close_batch(header, counts_of(tree), sides, 0, report);
}

// Launch    one block; up to BLOCK rows
// Status    NEEDS_SCRATCH and NEEDS_HOST, and nothing else is changed, as the kernels named above
extern "C" __global__ void __launch_bounds__(BLOCK, 1) apply_few_rows(
        u32* image, Shape shape, Half half, Plan plan, Properties properties, i64* service,
        u32* taken, u32* tree, const i64* __restrict__ geometry, i64 trees, i64 sides, i64* report) {
    apply_rows<false>(image, shape, half, plan, properties, service, taken, tree, geometry, trees,
                      sides, report);
}

// Launch    one cluster of CLUSTER_BLOCKS; up to MOST_ROWS rows. Elsewhere as `apply_few_rows`
extern "C" __global__ void __launch_bounds__(BLOCK, 1) IN_CLUSTER apply_cluster_of_rows(
        u32* image, Shape shape, Half half, Plan plan, Properties properties, i64* service,
        u32* taken, u32* tree, const i64* __restrict__ geometry, i64 trees, i64 sides, i64* report) {
    apply_rows<true>(image, shape, half, plan, properties, service, taken, tree, geometry, trees,
                     sides, report);
}
