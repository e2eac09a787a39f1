// vertex_order.cu -- indices of the vertices that are in the graph: count_present -> list_present.
//
// Caller      gpu_core/cuda/queries/vertex_order.py
#include "block.cuh"

// Indices of a block: as many as threads, several times.
constexpr int LIST_THREADS = 256;
constexpr int LISTED = 2048;
constexpr int LISTED_WORDS = LISTED / WARP;

// Which vertices are there, and how many before each block.
//
// Launch      LIST_THREADS threads, a block for LISTED indices
// Writes      words   u32[ceil(count / 32)], a bit an index
//             before  i64[blocks], vertices of the blocks before
// Ticket      u32, 0 before and after
// Cost        reads a sector a vertex record
extern "C" __global__ void __launch_bounds__(LIST_THREADS) count_present(
        const u32* __restrict__ image, const Shape shape, const i64 count, u32* __restrict__ words,
        i64* before, u32* ticket) {
    const i64 first = static_cast<i64>(blockIdx.x) * LISTED;
    i64 own = 0;
#pragma unroll
    for (int i = threadIdx.x; i < LISTED; i += LIST_THREADS) {
        const i64 vertex = first + i;
        const bool is_present = vertex < count && image[record_of(shape, vertex)] & PRESENT_BIT;
        const u32 word = __ballot_sync(FULL_WARP, is_present);
        if (lane_of_thread() != 0 || vertex >= count) continue;
        words[vertex / WARP] = word;
        own += __popc(word);
    }
    own = block_sum<i64, LIST_THREADS>(own);
    if (threadIdx.x == 0) before[blockIdx.x] = own;
    if (is_last_block(ticket)) sums_before<LIST_THREADS>(before, gridDim.x);
}

// List them.
//
// Launch      as `count_present`
// Reads       words, before, as it wrote them
// Writes      order  u32[vertices], increasing
extern "C" __global__ void __launch_bounds__(LIST_THREADS) list_present(
        const u32* __restrict__ words, const i64* __restrict__ before, const i64 count,
        u32* __restrict__ order) {
    static_assert(LISTED_WORDS <= LIST_THREADS, "a thread a word");
    __shared__ u32 held[LISTED_WORDS];
    __shared__ u32 below[LISTED_WORDS];
    const i64 first = static_cast<i64>(blockIdx.x) * LISTED;
    const i64 own = first / WARP + threadIdx.x;
    const u32 word = threadIdx.x < LISTED_WORDS && own * WARP < count ? words[own] : 0;
    u32 all;
    const u32 sum = block_exclusive_sum<u32, LIST_THREADS>(__popc(word), all);
    if (threadIdx.x < LISTED_WORDS) {
        held[threadIdx.x] = word;
        below[threadIdx.x] = sum;
    }
    __syncthreads();
    u32* to = order + before[blockIdx.x];
#pragma unroll
    for (int i = threadIdx.x; i < LISTED; i += LIST_THREADS) {
        const u32 bits = held[i / WARP], bit = 1u << lane_of_thread();
        if (bits & bit) to[below[i / WARP] + __popc(bits & (bit - 1))] = static_cast<u32>(first + i);
    }
}
