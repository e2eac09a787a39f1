// tile_lists.cuh -- items of one kind, listed in their order: counted tile by tile in one launch, written in
// the next.
//
// Launch      LIST_THREADS threads, a block for a tile of LIST_ITEMS items, both times
// Before      i64[blocks + 1]: items of the kind in the tiles before each, and in all
#pragma once
#include "block.cuh"

constexpr int LIST_THREADS = 256;
constexpr int LIST_ITEMS = 4 * LIST_THREADS;

// Fill `before`; is_of_kind(item) is called once for each item. Ticket: u32, 0 before and after.
template <class Test>
__device__ __forceinline__ void count_in_tiles(i64 items, i64* before, u32* ticket, Test is_of_kind) {
    const i64 first = static_cast<i64>(blockIdx.x) * LIST_ITEMS;
    const i64 end = min(first + LIST_ITEMS, items);
    i64 own = 0;
    for (i64 item = first + threadIdx.x; item < end; item += LIST_THREADS) own += is_of_kind(item);
    const i64 total = block_sum<i64, LIST_THREADS>(own);
    if (threadIdx.x == 0) before[blockIdx.x] = total;
    if (!is_last_block(ticket)) return;
    const i64 all = sums_before<LIST_THREADS>(before, gridDim.x);
    if (threadIdx.x == 0) before[gridDim.x] = all;
}

// Call write(item, position) for each item that is_of_kind(item) says is to be listed; `listed` is how many
// are in the tiles before.
template <class Test, class Write>
__device__ __forceinline__ void for_listed(i64 items, i64 listed, Test is_of_kind, Write write) {
    const i64 first = static_cast<i64>(blockIdx.x) * LIST_ITEMS;
    const i64 end = min(first + LIST_ITEMS, items);
    for (i64 from = first; from < end; from += LIST_THREADS) {
        const i64 item = from + threadIdx.x;
        const bool is_listed = item < end && is_of_kind(item);
        u32 all;
        const u32 position = block_exclusive_sum<u32, LIST_THREADS>(is_listed, all);
        if (is_listed) write(item, listed + position);
        listed += all;
    }
}
