// pairs.cuh -- common neighbors of pairs of vertices: the shorter row is read, the longer one searched.
//
// Part of     common_neighbors.cu, maintained_triangles.cu
// Caller      gpu_core/cuda/analytics/parts/pairs.py
//
// Keys        u64 of each pair: one vertex above 32 bits, the other below
// Starts      i64[pairs + 1]: entries of the shorter rows before each pair. Put end to end, the entries are
//             cut into tiles of PAIR_ENTRIES, one a block: a pair of hubs is spread over many
// Rows        of gpu_core/rows.py
#pragma once
#include "image.cuh"
#include "tile_items.cuh"

constexpr int PAIR_THREADS = 256;
constexpr i64 PAIR_ENTRIES = 1024;

// The vertex above, which is the lower end of an edge, and the one below.
__device__ __forceinline__ u32 lower_end(u64 key) { return static_cast<u32>(key >> 32); }
__device__ __forceinline__ u32 higher_end(u64 key) { return static_cast<u32>(key); }

struct Pairs {
    const u64* keys;
    const i64* starts;
    i64 count;
};

struct PairRows {
    const i64* begin;
    const u32* degree;
    const u32* columns;
    i64 step;
};

// An entry of a shorter row: of which pair, its two vertices, the neighbor, and whether both have it.
struct PairEntry {
    i64 pair;
    u32 u;
    u32 v;
    u32 w;
    bool is_common;
};

// Call visit(entry, number) for every entry of the block's tile, by whole warps: lanes behind the end go with
// the last pair, and have nothing in common. `number` is that of the pair within the tile.
//
// Launch      PAIR_THREADS threads, a block for PAIR_ENTRIES entries of the shorter rows; all threads call
// Cost        a binary search in the longer row an entry
template <class Visit>
__device__ __forceinline__ void for_pair_entries(const Pairs& pairs, const PairRows& rows, Visit visit) {
    const i64 first = blockIdx.x * PAIR_ENTRIES;
    const i64 end = min(first + PAIR_ENTRIES, pairs.starts[pairs.count]);
    const TileItems items = items_of_tile(pairs.starts, pairs.count, first, end);
    for (i64 from = first; from < end; from += PAIR_THREADS) {
        const i64 place = from + threadIdx.x;
        const bool is_there = place < end;
        PairEntry entry{};
        entry.pair = is_there ? items.at(pairs.starts, place) : items.high;
        entry.u = lower_end(pairs.keys[entry.pair]);
        entry.v = higher_end(pairs.keys[entry.pair]);
        if (is_there) {
            const bool is_lower_short = rows.degree[entry.u] <= rows.degree[entry.v];
            const u32 shorter = is_lower_short ? entry.u : entry.v;
            const u32 longer = is_lower_short ? entry.v : entry.u;
            const i64 within = place - pairs.starts[entry.pair];
            entry.w = rows.columns[rows.begin[shorter] + within * rows.step];
            const i64 length = rows.degree[longer];
            const i64 at = lower_bound(rows.columns, rows.begin[longer], rows.step, length, entry.w);
            entry.is_common =
                at < length && rows.columns[rows.begin[longer] + at * rows.step] == entry.w;
        }
        visit(entry, static_cast<u32>(entry.pair - items.low));
    }
}

// How many lanes of the same number have found something: in the first of them; 0 in the others.
//
// Lanes of one number are neighbors. All lanes of the warp call.
__device__ __forceinline__ u32 found_by_number(u32 number, bool is_found) {
    const u32 lane = lane_of_thread();
    const u32 before = __shfl_up_sync(FULL_WARP, number, 1);
    const u32 heads = __ballot_sync(FULL_WARP, lane == 0 || before != number);
    const u32 found_lanes = __ballot_sync(FULL_WARP, is_found);
    if (!(heads >> lane & 1)) return 0;
    const u32 from_here = FULL_WARP << lane;
    const u32 later_heads = heads & from_here & (from_here << 1);
    const u32 own_lanes = from_here & ~(later_heads ? FULL_WARP << (__ffs(later_heads) - 1) : 0);
    return __popc(found_lanes & own_lanes);
}
