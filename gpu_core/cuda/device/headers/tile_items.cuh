// tile_items.cuh -- items of any length cut into tiles of equal size: the item at a position.
//
// Needs       `starts`, which grow, or stay where an item is empty; item i has the positions from
//             starts[i] to starts[i + 1] - 1
#pragma once
#include "block.cuh"

// Last item whose start is not above `at`, among items [low, high]: of equal ones the last has it.
template <class Offset>
__device__ __forceinline__ i64 item_of(const Offset* starts, i64 low, i64 high, i64 at) {
    while (low < high) {
        const i64 middle = (low + high + 1) >> 1;
        if (static_cast<i64>(starts[middle]) <= at) low = middle;
        else high = middle - 1;
    }
    return low;
}

// First and last item of a tile.
struct TileItems {
    i64 low;
    i64 high;

    // The item that has a position of the tile.
    template <class Offset>
    __device__ __forceinline__ i64 at(const Offset* starts, i64 position) const {
        return item_of(starts, low, high, position);
    }
};

// Items of the tile of positions [begin, end). All threads of a block of 64 or more.
template <class Offset>
__device__ __forceinline__ TileItems items_of_tile(
        const Offset* starts, i64 items, i64 begin, i64 end) {
    __shared__ TileItems found;
    __syncthreads();  // an earlier answer has been read
    const i64 last = items - 1;
    if (threadIdx.x == 0) found.low = begin == 0 ? 0 : item_of(starts, 0, last, begin);
    if (threadIdx.x == WARP) found.high = starts[items] == end ? last : item_of(starts, 0, last, end - 1);
    __syncthreads();
    return found;
}
