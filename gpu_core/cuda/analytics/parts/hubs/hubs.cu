// hubs.cu -- choose the hubs and the warm vertices of a graph, and give vertices their rows (hubs.cuh).
//
// Caller      gpu_core/cuda/analytics/parts/hubs/hubs.py
//
// Launches    choose_hubs -> order_rows; nothing is read back
// Order       which vertex has which row of its class depends on scheduling, its class does not.
#include "hubs.cuh"

constexpr int CHOOSE_THREADS = 512;
static_assert(DEGREE_CLASSES <= CHOOSE_THREADS, "the last block has a thread for each class");
constexpr int ORDER_THREADS = 256;
constexpr int ORDER_WARPS = ORDER_THREADS / WARP;
constexpr int ORDERED_GROUPS = 8;  // of a warp
constexpr int ORDERED = ORDER_THREADS * ORDERED_GROUPS;
// Bits of a degree, after its first, that its class goes by.
constexpr int CLASS_BITS = 4;
// Degrees of which each lane counts its own vertices.
constexpr u32 LOW_DEGREES = CHOOSE_THREADS / WARP;
static_assert(LOW_DEGREES <= 2u << CLASS_BITS, "each of them is a class");

__device__ __forceinline__ u32 class_of(u32 degree) {
    const int shift = max(31 - __clz(degree) - CLASS_BITS, 0);
    return (shift << CLASS_BITS) + (degree >> shift);
}
__device__ __forceinline__ u32 least_degree_of(u32 degree_class) {
    constexpr u32 firsts = 1u << CLASS_BITS;
    if (degree_class < 2 * firsts) return degree_class;
    return (firsts + degree_class % firsts) << (degree_class / firsts - 1);
}

// Count degrees by class. Make the highest classes hubs, as many as there are slots for, and the next ones
// warm, as many as are wanted.
//
// Launch      CHOOSE_THREADS threads, any number of blocks
// Reads       degrees  u32[vertices], 0 of absent ones
// Writes      choice   but for `listed`. `hubs` is 0 where the hubs' degrees are less than `least_named` in sum,
//             counted as if each were the least of its class
//             report   i64 in memory of the host: `hubs`
// Ticket      u32, 0 before and after
extern "C" __global__ void __launch_bounds__(CHOOSE_THREADS) choose_hubs(
        const u32* __restrict__ degrees, const i64 vertices, const i64 present, const i64 slots,
        const i64 most_warm, const i64 least_named, u32* choice_words, i64* report, u32* ticket) {
    HubChoice* choice = reinterpret_cast<HubChoice*>(choice_words);
    __shared__ u32 classes[DEGREE_CLASSES];
    // Most vertices have low degrees: lanes would wait for each other.
    __shared__ u32 low[LOW_DEGREES][WARP];
    const u32 thread = threadIdx.x;
    const u32 lane = lane_of_thread();
    if (thread < DEGREE_CLASSES) classes[thread] = 0;
    low[warp_of_thread()][lane] = 0;
    __syncthreads();
    for (i64 vertex = thread_of_grid(); vertex < vertices; vertex += threads_of_grid()) {
        const u32 degree = degrees[vertex];
        if (degree) atomicAdd(degree < LOW_DEGREES ? &low[degree][lane] : &classes[class_of(degree)], 1u);
    }
    __syncthreads();
    const u32 of_degree = warp_sum(low[warp_of_thread()][lane]);
    if (lane == 0) classes[warp_of_thread()] += of_degree;
    __syncthreads();
    if (thread < DEGREE_CLASSES && classes[thread]) atomicAdd(&choice->classes[thread], classes[thread]);
    if (!is_last_block(ticket)) return;

    // The first thread has the highest class; degree 0 has none.
    const bool has_class = thread < DEGREE_CLASSES - 1;
    const u32 own_class = DEGREE_CLASSES - 1 - thread;
    const i64 own = has_class ? __ldcg(&choice->classes[own_class]) : 0;
    i64 all;
    const i64 with_own = block_exclusive_sum<i64, CHOOSE_THREADS>(own, all) + own;
    const bool is_hub = has_class && own_class >= class_of(LEAST_HUB_DEGREE) && with_own <= slots;
    const i64 count = block_sum<i64, CHOOSE_THREADS>(is_hub ? own : 0);
    const i64 named = block_sum<i64, CHOOSE_THREADS>(is_hub ? own * least_degree_of(own_class) : 0);
    const u32 hub_classes = block_sum<u32, CHOOSE_THREADS>(is_hub);
    const bool is_taken = is_hub || (has_class && with_own <= count + most_warm);
    const i64 taken = block_sum<i64, CHOOSE_THREADS>(is_taken ? own : 0);
    const u32 taken_classes = block_sum<u32, CHOOSE_THREADS>(is_taken);
    if (thread != 0) return;
    const i64 hubs = named >= least_named ? count : 0;
    *report = hubs;
    choice->hubs = static_cast<u32>(hubs);
    choice->warm = static_cast<u32>(taken - count);
    choice->least_hub = least_degree_of(DEGREE_CLASSES - hub_classes);
    choice->least_warm = least_degree_of(DEGREE_CLASSES - taken_classes);
    choice->rows = static_cast<u32>(present);
}

// Give each vertex its row.
//
// Launch      ORDER_THREADS threads, a block for ORDERED vertices
// Reads       degrees, of choose_hubs; present  u8[vertices]; choice
// Writes      groups, order  of `Hubs`
//             listed  grows from 0
// Cost        reads 5 bytes a vertex, writes 4.5
extern "C" __global__ void __launch_bounds__(ORDER_THREADS) order_rows(
        const u32* __restrict__ degrees, const u8* __restrict__ present, const i64 vertices,
        u32* choice_words, u64* __restrict__ groups, u32* __restrict__ order) {
    HubChoice* choice = reinterpret_cast<HubChoice*>(choice_words);
    const u32 hubs = choice->hubs;
    if (hubs == 0) return;
    const u32 least_hub = choice->least_hub;
    const u32 least_warm = choice->least_warm;
    const u32 lane = lane_of_thread();
    const i64 first_group = (blockIdx.x * i64(ORDER_WARPS) + warp_of_thread()) * ORDERED_GROUPS;
    // Lane i has group i of its warp.
    RowGroup own{0, 0, 0};
#pragma unroll
    for (int i = 0; i < ORDERED_GROUPS; ++i) {
        const i64 vertex = (first_group + i) * WARP + lane;
        const bool is_there = vertex < vertices && present[vertex];
        const u32 degree = is_there ? degrees[vertex] : 0;
        const bool is_high = is_there && degree >= least_warm;
        const u32 low = __ballot_sync(FULL_WARP, is_there && (!is_high || degree >= least_hub));
        const u32 high = __ballot_sync(FULL_WARP, is_high);
        if (lane == static_cast<u32>(i)) own = {low, high, 0};
    }
    // A number of 16 bits for each class.
    const u64 numbers = static_cast<u64>(__popc(own.low & own.high)) |
                        static_cast<u64>(__popc(own.high & ~own.low)) << 16 |
                        static_cast<u64>(__popc(own.low & ~own.high)) << 32;
    u64 all;
    const u64 before = block_exclusive_sum<u64, ORDER_THREADS>(numbers, all);
    __shared__ u32 first_rows[3];
    if (threadIdx.x < 3) {
        const u32 number = static_cast<u32>(all >> 16 * threadIdx.x) & 0xFFFFu;
        const u32 first = threadIdx.x == 0 ? 0 : threadIdx.x == 1 ? hubs : hubs + choice->warm;
        first_rows[threadIdx.x] = first + (number ? atomicAdd(&choice->listed[threadIdx.x], number) : 0);
    }
    __syncthreads();
    own.firsts = firsts_of(first_rows[0] + (before & 0xFFFFu), first_rows[1] + (before >> 16 & 0xFFFFu),
                           first_rows[2] + (before >> 32));
    const i64 group = first_group + lane;
    if (lane < ORDERED_GROUPS && group * WARP < vertices) {
        groups[2 * group] = static_cast<u64>(own.high) << 32 | own.low;
        groups[2 * group + 1] = own.firsts;
    }
#pragma unroll
    for (int i = 0; i < ORDERED_GROUPS; ++i) {
        const RowGroup other{__shfl_sync(FULL_WARP, own.low, i), __shfl_sync(FULL_WARP, own.high, i),
                             __shfl_sync(FULL_WARP, own.firsts, i)};
        const u32 row = row_in(other, 1u << lane);
        if (row != NO_ROW) order[row] = static_cast<u32>((first_group + i) * WARP + lane);
    }
}
