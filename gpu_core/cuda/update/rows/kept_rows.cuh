// kept_rows.cuh -- short rows of one-word entries, merged in registers.
//
// Launch      LANES lanes a row, KEPT columns a lane side by side, all lanes of a warp call
// Needs       columns side by side and quads of them aligned (`quads_are_aligned`)
// Method      entries of the batch are applied one by one, as in insertion sort. A new column goes
//             through all lanes at once: what it pushes out of a lane is the larger of the two, it
//             and the lane's last column, so each lane has what comes in without waiting.
// Cost        three instructions a column kept and entry; loads and stores of 16 bytes
#pragma once
#include "rows.cuh"
#include "tallies.cuh"

constexpr u32 KEPT = 8;
#ifndef LANES_KEPT
#define LANES_KEPT 4
#endif
// Entries of the batch up to which a warp keeps a row: it takes an iteration for each.
#ifndef WARP_ENTRIES
#define WARP_ENTRIES 32
#endif

// Columns of a row that a group of `lanes` lanes keeps.
__device__ constexpr u32 capacity_of_lanes(u32 lanes) { return lanes * KEPT; }

// Whether runs begin at multiples of 16 bytes, and end there.
__device__ __forceinline__ bool quads_are_aligned(const Shape& shape) {
    return ((shape.page_end | shape.page_words) & 3) == 0;
}

// Read the columns of a row; after the last one there are `NONE`s.
template <int LANES>
__device__ __forceinline__ void keep_row(u32 (&kept)[KEPT], const u32* from, u32 degree) {
    const u32 first = lane_of_group<LANES>() * KEPT;
    const uint4* quads = reinterpret_cast<const uint4*>(from + first);
    uint4 low = make_uint4(NONE, NONE, NONE, NONE);
    uint4 high = low;
    // The run holds whole quads: what lies after the last column is read and dropped.
    if (first < degree) low = quads[0];
    if (first + 4 < degree) high = quads[1];
    const u32 left = degree > first ? degree - first : 0;
    kept[0] = low.x;
    kept[1] = left > 1 ? low.y : NONE;
    kept[2] = left > 2 ? low.z : NONE;
    kept[3] = left > 3 ? low.w : NONE;
    kept[4] = high.x;
    kept[5] = left > 5 ? high.y : NONE;
    kept[6] = left > 6 ? high.z : NONE;
    kept[7] = left > 7 ? high.w : NONE;
}

// Whether the row of the lane's group has the column.
template <int LANES>
__device__ __forceinline__ bool group_has(const u32 (&kept)[KEPT], u32 column) {
    bool same = false;
    #pragma unroll
    for (u32 i = 0; i < KEPT; ++i) same |= kept[i] == column;
    constexpr u32 GROUP = LANES == WARP ? ~0u : (1u << LANES % WARP) - 1;
    const u32 own = GROUP << (lane_of_thread() & ~(LANES - 1));
    return (__ballot_sync(FULL_WARP, same) & own) != 0;
}

// The entries of the batch for the row of the lane's group, one after another.
template <int LANES>
struct Coming {
    const Delta& delta;
    u32 begin;
    u32 count;
    u32 ahead;  // columns of the next entries, one a lane

    __device__ __forceinline__ Coming(const Delta& entries, u32 first, u32 number)
            : delta(entries), begin(first), count(number) {
        load(0);
    }
    __device__ __forceinline__ void load(u32 first) {
        const u32 i = first + lane_of_group<LANES>();
        ahead = i < count ? delta.columns[begin + i] : NONE;
    }
    // Turns that the warp takes for all its rows.
    __device__ __forceinline__ u32 iterations() const { return __reduce_max_sync(FULL_WARP, count); }
    // Column of the first entry; `NONE` where there is none.
    __device__ __forceinline__ u32 first() const {
        return __shfl_sync(FULL_WARP, ahead, 0, LANES);
    }
    // Column of entry i; entries are read in order.
    __device__ __forceinline__ u32 column(u32 i) {
        if (i > 0 && i % LANES == 0) load(i);
        return __shfl_sync(FULL_WARP, ahead, i % LANES, LANES);
    }
    __device__ __forceinline__ u32 kind(u32 i) const {
        if (delta.kinds == nullptr) return static_cast<u32>(delta.kind);
        return i < count ? delta.kinds[begin + i] : KIND_DELETE;
    }
};

// Degree of a row once the entries have been applied to it; `kept` stays as it is.
template <int LANES>
__device__ __forceinline__ u32 degree_after(
        const u32 (&kept)[KEPT], Coming<LANES>& coming, u32 degree) {
    u32 gone = NONE;
    const u32 iterations = coming.iterations();
    for (u32 i = 0; i < iterations; ++i) {
        const u32 column = coming.column(i);
        const u32 kind = coming.kind(i);
        const bool there = group_has<LANES>(kept, column) && column != gone;
        if (i >= coming.count) continue;
        if (kind == KIND_PUT) {
            degree += !there;
        } else {
            degree -= there;
            if (there) gone = column;
        }
    }
    return degree;
}

// What entries a delta has: `apply_entries` is compiled for each.
constexpr int ONLY_PUTS = 0;
constexpr int ONLY_DELETES = 1;
constexpr int MIXED = 2;

// What `apply_entries` did to a row.
struct Changed {
    u32 degree;
    u32 added;
    u32 found_puts;
    u32 found_deletes;
    u32 removed;
    u32 replaced;
};

__device__ __forceinline__ Tally tally_of(const Changed& changed) {
    return changed.added * TALLY_ADDED + changed.found_puts * TALLY_FOUND_PUT +
           changed.found_deletes * TALLY_FOUND_DELETE + changed.removed * TALLY_REMOVED +
           changed.replaced * TALLY_REPLACED;
}

// List the rows of the lanes that are `listed`, and say how many they are. Those with few entries of
// the batch come first, as rows that are written together take as many iterations as the longest of
// them. All lanes of the warp; `row` is the lane's, that of lane 0 a multiple of WARP.
__device__ __forceinline__ u32 list_in_warp(u8* rows, u32 row, bool listed, u32 entries) {
    const u32 lane = lane_of_thread();
    const u32 sorted = warp_sort(listed ? entries * WARP + lane : ~0u);
    rows[lane] = static_cast<u8>(row - lane + sorted % WARP);
    __syncwarp();
    return __popc(__ballot_sync(FULL_WARP, listed));
}

// Insert the column; lanes that are not to do so insert `NONE`, which changes nothing.
template <int LANES>
__device__ __forceinline__ void insert_column(u32 (&kept)[KEPT], u32 column, bool comes) {
    const u32 pushed = __shfl_up_sync(FULL_WARP, kept[KEPT - 1], 1, LANES);
    u32 moving = max(lane_of_group<LANES>() == 0 ? 0 : pushed, column);
    moving = comes ? moving : NONE;
    #pragma unroll
    for (u32 k = 0; k < KEPT; ++k) {
        const u32 own = kept[k];
        kept[k] = min(own, moving);
        moving = max(own, moving);
    }
}

// Take the column out where it `goes`.
template <int LANES>
__device__ __forceinline__ void remove_column(u32 (&kept)[KEPT], u32 column, bool goes) {
    u32 pulled = __shfl_down_sync(FULL_WARP, kept[0], 1, LANES);
    if (lane_of_group<LANES>() == LANES - 1) pulled = NONE;
    const u32 from_column = goes ? column : NONE;
    #pragma unroll
    for (u32 k = 0; k < KEPT; ++k) {
        const u32 next = k + 1 < KEPT ? kept[(k + 1) % KEPT] : pulled;
        kept[k] = kept[k] >= from_column ? next : kept[k];
    }
}

// Apply the entries to the kept columns; they fit, if all of them are new.
template <int LANES, int ENTRIES>
__device__ __forceinline__ Changed apply_entries(
        u32 (&kept)[KEPT], Coming<LANES>& coming, u32 degree) {
    Changed changed{degree, 0, 0, 0, 0, 0};
    u32 gone = NONE;   // the column that a dangling reference took away
    u32 found = 0;
    const u32 iterations = coming.iterations();
    for (u32 i = 0; i < iterations; ++i) {
        const u32 column = coming.column(i);
        const bool active = i < coming.count;
        const bool there = group_has<LANES>(kept, column) && active;
        found += there;
        if (ENTRIES == ONLY_PUTS) {
            insert_column<LANES>(kept, column, !there);
        } else if (ENTRIES == ONLY_DELETES) {
            if (__any_sync(FULL_WARP, there)) remove_column<LANES>(kept, column, there);
        } else {
            const u32 kind = coming.kind(i);
            const bool comes = active && kind == KIND_PUT && !there;
            const bool goes = there && kind != KIND_PUT;
            if (__any_sync(FULL_WARP, comes)) insert_column<LANES>(kept, column, comes);
            if (__any_sync(FULL_WARP, goes)) remove_column<LANES>(kept, column, goes);
            changed.added += comes;
            changed.found_puts += there && kind == KIND_PUT;
            changed.replaced += comes && column == gone;
            changed.removed += goes;
            changed.found_deletes += goes && kind == KIND_DELETE;
            if (goes && kind == KIND_DANGLING) gone = column;
        }
    }
    if (ENTRIES == ONLY_PUTS) {
        changed.added = coming.count - found;
        changed.found_puts = found;
    }
    if (ENTRIES == ONLY_DELETES) changed.removed = changed.found_deletes = found;
    changed.degree += changed.added - changed.removed;
    return changed;
}

// Write the columns of a row from `from_column` on.
template <int LANES>
__device__ __forceinline__ void write_kept(
        const u32 (&kept)[KEPT], u32* to, u32 degree, u32 from_column) {
    const u32 first = lane_of_group<LANES>() * KEPT;
    uint4* quads = reinterpret_cast<uint4*>(to + first);
    if (first < degree && kept[3] >= from_column) {
        quads[0] = make_uint4(kept[0], kept[1], kept[2], kept[3]);
    }
    if (first + 4 < degree && kept[7] >= from_column) {
        quads[1] = make_uint4(kept[4], kept[5], kept[6], kept[7]);
    }
}
