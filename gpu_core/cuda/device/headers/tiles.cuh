// tiles.cuh -- entries of a CSR cut into tiles of equal size, and the row of each entry.
//
// Rows        of any length: one of a million entries is spread over many blocks
// Launch      TILE_THREADS threads a block, a block a tile
// Needs       indptr[0] == 0, no row empty
#pragma once
#include "block.cuh"

constexpr int TILE_WORDS = TILE_ENTRIES / WARP;
static_assert(TILE_WORDS == 2 * WARP, "a lane sums up two words");

// Blocks for so many entries; the launcher computes the same.
__device__ __forceinline__ i64 tiles_of(i64 entries) {
    return (entries + TILE_ENTRIES - 1) / TILE_ENTRIES;
}

// A tile of a CSR: entries [begin, end), rows from `first` on.
struct Tile {
    i64 begin;
    i64 end;
    // Row of entry `begin`.
    i64 first;
    // Rows that begin in this tile: [row_begin, row_end).
    i64 row_begin;
    i64 row_end;
};

// A bit for each entry of the tile that begins a row, but for the first entry; and how many such
// bits stand before each word.
__device__ __forceinline__ u32* tile_starts() {
    __shared__ u32 starts[TILE_WORDS];
    return starts;
}
__device__ __forceinline__ u32* tile_starts_before() {
    __shared__ u32 before[TILE_WORDS];
    return before;
}

// Last row that begins at or before entry `at`, for a whole warp: 32 rows are asked at a time.
template <class Offset>
__device__ __forceinline__ i64 row_of_entry(const Offset* indptr, i64 rows, i64 at) {
    i64 low = 0;
    while (rows > 1) {
        const i64 step = (rows + WARP - 1) / WARP;
        const i64 probe = lane_of_thread() * step;
        const bool before = probe < rows && static_cast<i64>(indptr[low + probe]) <= at;
        const i64 skipped = (__popc(__ballot_sync(FULL_WARP, before)) - 1) * step;
        low += skipped;
        rows = min(step, rows - skipped);
    }
    return low;
}

// Find the rows of a tile. All threads of the block call; ends with a barrier.
template <class Offset>
__device__ __forceinline__ Tile open_tile(const Offset* indptr, i64 rows, i64 entries, i64 number) {
    __shared__ i64 found;
    u32* starts = tile_starts();
    u32* before = tile_starts_before();
    Tile tile;
    tile.begin = number * TILE_ENTRIES;
    tile.end = min(tile.begin + TILE_ENTRIES, entries);
    __syncthreads();  // an earlier tile of this block has been read
    if (threadIdx.x < TILE_WORDS) starts[threadIdx.x] = 0;
    if (warp_of_thread() == TILE_THREADS / WARP - 1) {
        const i64 row = row_of_entry(indptr, rows, tile.begin);
        if (lane_of_thread() == 0) found = row;
    }
    __syncthreads();
    tile.first = found;
    for (i64 row = tile.first + 1 + threadIdx.x; row < rows; row += TILE_THREADS) {
        const i64 position = static_cast<i64>(indptr[row]) - tile.begin;
        if (position >= tile.end - tile.begin) break;
        atomicOr(&starts[position / WARP], 1u << (position % WARP));
    }
    __syncthreads();
    if (threadIdx.x < WARP) {
        const u32 low = __popc(starts[2 * threadIdx.x]);
        u32 total;
        const u32 sum = warp_exclusive_sum(low + __popc(starts[2 * threadIdx.x + 1]), total);
        before[2 * threadIdx.x] = sum;
        before[2 * threadIdx.x + 1] = sum + low;
    }
    __syncthreads();
    const u32 more = before[TILE_WORDS - 1] + __popc(starts[TILE_WORDS - 1]);
    tile.row_begin = tile.first + (static_cast<i64>(indptr[tile.first]) != tile.begin);
    tile.row_end = tile.first + 1 + more;
    return tile;
}

// Row of the entry at a position of the tile.
__device__ __forceinline__ i64 row_at(const Tile& tile, int position) {
    const int word = position / static_cast<int>(WARP);
    const u32 upto = 0xFFFFFFFFu >> (WARP - 1 - position % WARP);
    return tile.first + tile_starts_before()[word] + __popc(tile_starts()[word] & upto);
}
