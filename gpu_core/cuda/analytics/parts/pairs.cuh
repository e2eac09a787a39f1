// pairs.cuh -- common neighbors of pairs: entries of the shorter row, searched for in the longer one.
//
// Caller      gpu_core/cuda/analytics/parts/pairs.py
//
// Keys        u64 of each pair: one vertex above 32 bits, the other below; in the order of the pairs, or
//             where `numbers` says
// Starts      i64[pairs + 1]: entries of the shorter rows before each pair. Put end to end, the entries are
//             cut into tiles of PAIR_ENTRIES, one a block: a pair of hubs is spread over many
// Rows        of gpu_core/rows.py, of one direction (`PairRows`) or of both (`PairRowsOfBoth`): the row of a
//             vertex is then that of its out-neighbors and, after it, that of its in-neighbors
#pragma once
#include "row_arguments.cuh"
#include "tile_items.cuh"

constexpr i64 PAIR_ENTRIES = 1024;

// The vertex above, which is the lower end of an edge, and the one below.
__device__ __forceinline__ u32 lower_end(u64 key) { return static_cast<u32>(key >> 32); }
__device__ __forceinline__ u32 higher_end(u64 key) { return static_cast<u32>(key); }

struct Pairs {
    const u64* keys;
    const i64* starts;
    i64 count;
    const u32* numbers = nullptr;  // where the key of each pair is; null: in the order of the pairs
    i64 first = 0;                 // entry to begin with
};

struct PairRows : Rows {
    __device__ __forceinline__ u32 length(u32 vertex) const { return degree[vertex]; }
    __device__ __forceinline__ u32 at(u32 vertex, i64 position) const { return neighbor(vertex, position); }
    // 1 where the row of the vertex has an entry, 0 elsewhere.
    __device__ __forceinline__ u32 entries(u32 vertex, u32 entry) const {
        const i64 length = degree[vertex];
        const i64 position = lower_bound(columns, begin[vertex], step, length, entry);
        return position < length && neighbor(vertex, position) == entry;
    }
    // As `entries`, of the entry at a position of the row.
    __device__ __forceinline__ u32 entries_at(u32, i64, u32) const { return 1; }
};

struct PairRowsOfBoth {
    PairRows out;
    PairRows into;

    __device__ __forceinline__ u32 length(u32 vertex) const {
        return out.length(vertex) + into.length(vertex);
    }
    __device__ __forceinline__ u32 at(u32 vertex, i64 position) const {
        const i64 own = out.length(vertex);
        return position < own ? out.at(vertex, position) : into.at(vertex, position - own);
    }
    // Edges that join two vertices, 0 to 2; a vertex is not joined to itself.
    __device__ __forceinline__ u32 entries(u32 vertex, u32 entry) const {
        return vertex == entry ? 0 : out.entries(vertex, entry) + into.entries(vertex, entry);
    }
    // Likewise; 0 of an in-neighbor that has been met among the out-neighbors.
    __device__ __forceinline__ u32 entries_at(u32 vertex, i64 position, u32 entry) const {
        if (vertex == entry) return 0;
        if (position < out.length(vertex)) return 1 + into.entries(vertex, entry);
        return 1 - out.entries(vertex, entry);
    }
};

// An entry of a shorter row: of which pair, its two vertices, the neighbor, and whether both have it;
// where they do, how many edges join it to either.
struct PairEntry {
    i64 pair;
    i64 key;  // where its key is
    u32 u;
    u32 v;
    u32 w;
    bool is_common;
    u32 edges_of_u;
    u32 edges_of_v;
};

// Call visit(entry, number) for every entry of a tile, by whole warps: lanes after the end go with the last
// pair, and have nothing in common. `number` is that of the pair within the tile.
//
// Launch      THREADS threads; all of the block call. A tile is PAIR_ENTRIES entries of the shorter rows
// Cost        a binary search in the longer row an entry; in each direction, where there are two
template <class Rows, class Visit>
__device__ __forceinline__ void for_pair_entries(const Pairs& pairs, const Rows& rows, i64 tile,
                                                 Visit visit) {
    const i64 first = pairs.first + tile * PAIR_ENTRIES;
    const i64 end = min(first + PAIR_ENTRIES, pairs.starts[pairs.count]);
    const TileItems items = items_of_tile(pairs.starts, pairs.count, first, end);
    for (i64 from = first; from < end; from += THREADS) {
        const i64 position = from + threadIdx.x;
        const bool is_there = position < end;
        PairEntry entry{};
        entry.pair = is_there ? items.at(pairs.starts, position) : items.high;
        entry.key = pairs.numbers ? pairs.numbers[entry.pair] : entry.pair;
        entry.u = lower_end(pairs.keys[entry.key]);
        entry.v = higher_end(pairs.keys[entry.key]);
        if (is_there) {
            const bool is_lower_short = rows.length(entry.u) <= rows.length(entry.v);
            const u32 shorter = is_lower_short ? entry.u : entry.v;
            const u32 longer = is_lower_short ? entry.v : entry.u;
            const i64 within = position - pairs.starts[entry.pair];
            entry.w = rows.at(shorter, within);
            const u32 far = rows.entries(longer, entry.w);
            const u32 near = far ? rows.entries_at(shorter, within, entry.w) : 0;
            entry.is_common = near > 0;
            entry.edges_of_u = is_lower_short ? near : far;
            entry.edges_of_v = is_lower_short ? far : near;
        }
        visit(entry, static_cast<u32>(entry.pair - items.low));
    }
}

// Lanes of the same number, for the first of them; none for the others.
//
// Lanes of one number are neighbors. All lanes of the warp call.
__device__ __forceinline__ u32 lanes_of_number(u32 number) {
    const u32 lane = lane_of_thread();
    const u32 before = __shfl_up_sync(FULL_WARP, number, 1);
    const u32 heads = __ballot_sync(FULL_WARP, lane == 0 || before != number);
    if (!(heads >> lane & 1)) return 0;
    const u32 from_here = FULL_WARP << lane;
    const u32 later_heads = heads & from_here & (from_here << 1);
    return from_here & ~(later_heads ? FULL_WARP << (__ffs(later_heads) - 1) : 0);
}

// Sum over such lanes of values below 2^BITS; 0 for others than the first of them. All lanes call.
template <int BITS>
__device__ __forceinline__ u32 sum_of_lanes(u32 lanes, u32 value) {
    u32 sum = 0;
#pragma unroll
    for (int bit = 0; bit < BITS; ++bit) {
        sum += __popc(__ballot_sync(FULL_WARP, value >> bit & 1) & lanes) << bit;
    }
    return sum;
}
