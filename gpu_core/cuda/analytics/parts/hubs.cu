// hubs.cu -- choose the hubs of a graph and number their slots (hubs.cuh).
//
// Caller      gpu_core/cuda/analytics/parts/hubs.py
//
// Launches    choose_hubs -> list_hubs; nothing is read back
// Order       which hub has which slot depends on scheduling, which vertices are hubs does not.
#include "hubs.cuh"

constexpr int CHOOSE_THREADS = 512;
static_assert(DEGREE_CLASSES <= CHOOSE_THREADS, "the last block has a thread for each class");
constexpr int LIST_THREADS = 256;
// Bits of a degree, after its first, that its class goes by.
constexpr int CLASS_BITS = 4;
// A degree may come with the bit of an absent vertex (slices.cuh), which has none.
constexpr u32 DEGREE_MASK = 0x7FFFFFFFu;

// Classes of all degrees that have more than CLASS_BITS bits, without gaps.
__device__ __forceinline__ u32 any_class_of(u32 degree) {
    const u32 shift = 31 - __clz(degree) - CLASS_BITS;
    return (shift << CLASS_BITS) + (degree >> shift);
}
__device__ __forceinline__ u32 class_of(u32 degree) {
    return any_class_of(degree) - any_class_of(LEAST_HUB_DEGREE);
}
__device__ __forceinline__ u32 least_degree_of(u32 degree_class) {
    const u32 number = degree_class + any_class_of(LEAST_HUB_DEGREE);
    constexpr u32 firsts = 1u << CLASS_BITS;
    return (firsts + number % firsts) << (number / firsts - 1);
}

// Count degrees by class, and make the highest classes hubs, as many as there are slots for.
//
// Launch      CHOOSE_THREADS threads, any number of blocks
// Reads       degrees  u32[vertices]
// Writes      choice   but for `listed`. `count` is 0 where the hubs' degrees are less than `least_named` in sum,
//             counted as if each were the least of its class
//             report   i64 in memory of the host: `count`
// Ticket      u32, 0 before and after
extern "C" __global__ void __launch_bounds__(CHOOSE_THREADS) choose_hubs(
        const u32* __restrict__ degrees, const i64 vertices, const i64 slots, const i64 least_named,
        u32* choice_words, i64* report, u32* ticket) {
    HubChoice* choice = reinterpret_cast<HubChoice*>(choice_words);
    __shared__ u32 classes[DEGREE_CLASSES];
    const u32 thread = threadIdx.x;
    if (thread < DEGREE_CLASSES) classes[thread] = 0;
    __syncthreads();
    for (i64 vertex = thread_of_grid(); vertex < vertices; vertex += threads_of_grid()) {
        const u32 degree = degrees[vertex] & DEGREE_MASK;
        if (degree >= LEAST_HUB_DEGREE) atomicAdd(&classes[class_of(degree)], 1u);
    }
    __syncthreads();
    if (thread < DEGREE_CLASSES && classes[thread]) atomicAdd(&choice->classes[thread], classes[thread]);
    if (!is_last_block(ticket)) return;

    // The first thread has the highest class.
    const bool has_class = thread < DEGREE_CLASSES;
    const u32 own_class = DEGREE_CLASSES - 1 - thread;
    const i64 own = has_class ? __ldcg(&choice->classes[own_class]) : 0;
    i64 all;
    const i64 above = block_exclusive_sum<i64, CHOOSE_THREADS>(own, all);
    const bool is_taken = has_class && above + own <= slots;
    const i64 count = block_sum<i64, CHOOSE_THREADS>(is_taken ? own : 0);
    const i64 named = block_sum<i64, CHOOSE_THREADS>(is_taken ? own * least_degree_of(own_class) : 0);
    const u32 taken = block_sum<u32, CHOOSE_THREADS>(is_taken);
    if (thread != 0) return;
    const i64 hubs = named >= least_named ? count : 0;
    *report = hubs;
    choice->count = static_cast<u32>(hubs);
    choice->least_degree = least_degree_of(DEGREE_CLASSES - taken);
}

// Give each hub a slot.
//
// Launch      LIST_THREADS threads, one a vertex
// Reads       degrees, of choose_hubs; choice
// Writes      groups  of `Hubs`
//             listed  grows from 0
extern "C" __global__ void __launch_bounds__(LIST_THREADS) list_hubs(
        const u32* __restrict__ degrees, const i64 vertices, u32* choice_words,
        u64* __restrict__ groups) {
    HubChoice* choice = reinterpret_cast<HubChoice*>(choice_words);
    if (choice->count == 0) return;
    const i64 vertex = thread_of_grid();
    const u32 degree = vertex < vertices ? degrees[vertex] & DEGREE_MASK : 0;
    const u32 bits = __ballot_sync(FULL_WARP, degree >= choice->least_degree);
    const bool is_first = lane_of_thread() == 0;
    u32 all;
    u32 slot = block_exclusive_sum<u32, LIST_THREADS>(is_first ? __popc(bits) : 0, all);
    __shared__ u32 first_slot;
    if (threadIdx.x == 0 && all) first_slot = atomicAdd(&choice->listed, all);
    __syncthreads();
    if (!is_first || vertex >= vertices) return;
    slot += first_slot;
    groups[vertex / WARP] = static_cast<u64>(slot) << 32 | bits;
}
