// staged_rows.cuh -- rows merged in shared memory.
//
// Launch      LANES lanes a row, all lanes of a warp call; short rows: LANES_SHORT, medium: a warp;
//             large ones are staged by a block (large_rows.cuh)
// Method      entries of the batch are looked up LANES at a time; the old entries up to the last of
//             them then move to their positions, and so on. The formula: rows.cuh
#pragma once
#include "rows.cuh"

#ifndef LANES_SHORT
#define LANES_SHORT 4
#endif
constexpr int GROUPS = BLOCK / LANES_SHORT;
constexpr int GROUPS_OF_WARP = WARP / LANES_SHORT;

// Stage of a warp: the old columns of its row or rows, and one more plane of them where entries
// have properties. Groups lie LANES_SHORT words apart in the banks, so that they do not collide.
constexpr int SHORT_STRIDE = (SHORT_DEGREE + 31) / 32 * 32 + LANES_SHORT;
constexpr int PLANES = ENTRY_WORDS == 1 ? 1 : 2;
constexpr int PLANE_WORDS = GROUPS_OF_WARP * SHORT_STRIDE > LONG_DEGREE
                                ? GROUPS_OF_WARP * SHORT_STRIDE
                                : LONG_DEGREE;
constexpr int STAGE_WORDS = WARPS * PLANES * PLANE_WORDS;

// An entry of the batch and what it met: one a lane. Lanes without an entry have mark ~0.
struct Met {
    u32 column;
    u32 mark;    // position << CODE_BITS | code
    i32 before;  // sum of changes over the row's entries before this one
};

// Old columns, or another plane of the old entries, of the lanes' row. Loads go out LOADS at a time.
template <int LANES>
__device__ __forceinline__ void stage_row(u32* stage, const u32* from, u32 step, u32 degree) {
    constexpr int LOADS = 8;
    for (u32 begin = lane_of_group<LANES>(); begin < degree; begin += LOADS * LANES) {
        u32 value[LOADS];
        #pragma unroll
        for (int load = 0; load < LOADS; ++load) {
            const u32 i = begin + load * LANES;
            value[load] = i < degree ? from[i * static_cast<size_t>(step)] : 0;
        }
        #pragma unroll
        for (int load = 0; load < LOADS; ++load) {
            const u32 i = begin + load * LANES;
            if (i < degree) stage[i] = value[load];
        }
    }
}

// Position of the first staged column that is not below `column`.
__device__ __forceinline__ u32 position_in(const u32* stage, u32 degree, u32 column) {
    u32 low = 0;
    for (u32 length = degree; length > 0;) {
        const u32 delta = length >> 1;
        const bool below = stage[low + delta] < column;
        low = below ? low + delta + 1 : low;
        length = below ? length - delta - 1 : delta;
    }
    return low;
}

// Column of the lane's entry among entries chunk * LANES … of a row.
template <int LANES>
__device__ __forceinline__ u32 column_of_chunk(const Delta& delta, u32 begin, u32 count, u32 chunk) {
    const u32 number = chunk * LANES + lane_of_group<LANES>();
    return number < count ? delta.columns[begin + number] : NONE;
}

// Look up an entry of the batch in the staged row: position << CODE_BITS | code.
__device__ __forceinline__ u32 mark_of_entry(
        const Delta& delta, const u8* reset, u32 begin, u32 entry, u32 column, u32 degree, bool clear,
        const u32* stage) {
    const u32 kind = kind_of(delta, entry);
    const u32 position = position_in(stage, degree, column);
    const bool there = position < degree && stage[position] == column;
    bool gone;
    const u32 code = code_of_entry(delta, reset, begin, entry, column, kind, there, clear, gone);
    return (clear ? 0 : position + gone) << CODE_BITS | code;
}

// Look up these entries in the staged row; `carry` is the sum of changes over all entries before, and
// moves on.
template <int LANES>
__device__ __forceinline__ Met meet_entries(
        const Delta& delta, const u8* reset, u32 begin, u32 count, u32 degree, bool clear,
        const u32* stage, u32 chunk, u32 column, i32& carry) {
    const u32 lane = lane_of_group<LANES>();
    const u32 number = chunk * LANES + lane;
    Met met{column, ~0u, 0};
    i32 sum = 0;
    if (number < count) {
        met.mark = mark_of_entry(delta, reset, begin, begin + number, column, degree, clear, stage);
        sum = change_of(met.mark & CODE_MASK);
    }
    const i32 own_change = sum;
    #pragma unroll
    for (u32 distance = 1; distance < LANES; distance *= 2) {
        const i32 below = __shfl_up_sync(FULL_WARP, sum, distance, LANES);
        if (lane >= distance) sum += below;
    }
    met.before = carry + sum - own_change;
    carry += __shfl_sync(FULL_WARP, sum, LANES - 1, LANES);
    return met;
}
