// plan_rows.cuh -- plan the rows of a tile, by one block.
//
// Reads       the vertex records and rows, and one delta of a batch (rows.cuh)
// Writes      plan words; the batch's status where it meets a long row that was not expected
//
// A row is *settled* if its room stays as it is whatever its entries meet. Its record shows that;
// most rows of most batches are, and are not looked into here.
#pragma once
#include "kept_rows.cuh"
#include "staged_rows.cuh"

static_assert(ENTRY_WORDS > 0, "compiled for each record");

namespace planning {

// Rows of one pass of a block: each thread opens ITEMS of them, so that their loads overlap.
constexpr int ITEMS = 2;
constexpr u32 PASS_ROWS = BLOCK * ITEMS;

// Lengths of rows that a block looks into, and how many lanes each gets.
constexpr int NARROW = 0;  // kept by LANES_KEPT lanes
constexpr int WIDE = 1;    // kept by twice as many
constexpr int SHORT = 2;
constexpr int MEDIUM = 3;
constexpr int LISTS = 4;

// As the lanes of unsettled rows see them.
struct Rows {
    u32 begin[PASS_ROWS];
    u32 count[PASS_ROWS];
    u32 degree[PASS_ROWS];  // before, and then after
    u32 first[PASS_ROWS];
    u16 room[PASS_ROWS];    // ROW_CLEAR: and the row is cleared
    u16 listed[LISTS][PASS_ROWS];  // numbers of the rows of each length that are to be looked into
    u32 listed_count[LISTS];
};
constexpr u32 ROW_CLEAR = 0x100;

// Degree after of one row a group of LANES lanes; `at` >= PASS_ROWS: this group has none.
template <int LANES>
__device__ __forceinline__ void count_after(
        const u32* image, const Shape& shape, const Delta& delta, Rows& rows, u32* stage, u32 at) {
    const bool active = at < PASS_ROWS;
    const u32 begin = active ? rows.begin[at] : 0;
    const u32 count = active ? rows.count[at] : 0;
    const u32 degree = active ? rows.degree[at] : 0;
    const u32 room = active ? rows.room[at] : 0;
    const bool clear = room & ROW_CLEAR;
    u32 column = column_of_chunk<LANES>(delta, begin, count, 0);
    if (degree > 0) {
        stage_row<LANES>(stage, image + base_of(shape, rows.first[at], room & PLAN_ROOM),
                         static_cast<u32>(entry_step(shape)), degree);
    }
    __syncwarp();
    const u32 chunks = __reduce_max_sync(FULL_WARP, (count + LANES - 1) / LANES);
    i32 sum = 0;
    for (u32 chunk = 0; chunk < chunks; ++chunk) {
        if (chunk > 0) column = column_of_chunk<LANES>(delta, begin, count, chunk);
        meet_entries<LANES>(delta, nullptr, begin, count, degree, clear, stage, chunk, column, sum);
    }
    __syncwarp();
    if (active && lane_of_group<LANES>() == 0) rows.degree[at] = (clear ? 0 : degree) + sum;
}

// The same of a kept row; a group that is not `active` has none.
template <int LANES>
__device__ __forceinline__ void count_kept(
        const u32* image, const Shape& shape, const Delta& delta, Rows& rows, u32 at, bool active) {
    const u32 degree = active ? rows.degree[at] : 0;
    Coming<LANES> coming(delta, rows.begin[at], active ? rows.count[at] : 0);
    u32 kept[KEPT];
    keep_row<LANES>(kept, image + base_of(shape, rows.first[at], rows.room[at]), degree);
    const u32 after = degree_after<LANES>(kept, coming, degree);
    __syncwarp();  // all lanes have read the degree that one of them replaces
    if (active && lane_of_group<LANES>() == 0) rows.degree[at] = after;
}

// The same of all rows of a list, by all threads of the block.
template <int LANES, int LIST>
__device__ __forceinline__ void count_listed(
        const u32* image, const Shape& shape, const Delta& delta, Rows& rows) {
    for (u32 i = warp_of_thread() * (WARP / LANES); i < rows.listed_count[LIST]; i += BLOCK / LANES) {
        const u32 position = i + lane_of_thread() / LANES;
        const bool active = position < rows.listed_count[LIST];
        const u32 row = rows.listed[LIST][active ? position : i];
        count_kept<LANES>(image, shape, delta, rows, row, active);
    }
}

// How a row is looked into that is not settled and not long.
__device__ __forceinline__ int list_of_row(const Row& row, bool adjacent) {
    if (adjacent && !row.clear && row.count <= SHORT_ENTRIES) {
        if (row.degree <= capacity_of_lanes(LANES_KEPT)) return NARROW;
        if (row.degree <= capacity_of_lanes(2 * LANES_KEPT)) return WIDE;
    }
    return is_short(row.degree, row.count) ? SHORT : MEDIUM;
}

// What the threads of the block share.
struct Tile {
    u32 stage[WARPS * PLANE_WORDS];
    Rows rows;
    u32 counts[CLASSES];  // of its rows, by class: how many outgrow their run
    u32 warp_counts[ITEMS * WARPS][CLASSES];
    // Another block may set the status meanwhile: the block reads it once.
    i64 row_count;
    bool goes_on;  // the status is OK, and no long row was met that is not expected
};

// Plan the rows of tile `number` of the delta, and leave `tile.counts`. All threads of the block.
__device__ __forceinline__ void plan_tile(
        u32* image, const Shape& shape, const Delta& delta, const Plan& plan, u32 number_of_tile,
        Tile& tile) {
    Rows& rows = tile.rows;
    i64* header = header_of(image);
    const u32 warp = warp_of_thread();
    const u32 lane = lane_of_thread();
    u32* warp_stage = tile.stage + warp * PLANE_WORDS;
    u32* group_stage = warp_stage + lane / LANES_SHORT * SHORT_STRIDE;
    if (threadIdx.x < CLASSES) tile.counts[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        const i64 rows_there = *delta.row_count;
        tile.goes_on = header[BATCH_FIELD_STATUS] == BATCH_STATUS_OK;
        tile.row_count = tile.goes_on ? rows_there : 0;
    }

    const bool adjacent = entry_step(shape) == 1 && quads_are_aligned(shape);
    const i64 tile_begin = i64(number_of_tile) << plan.tile_shift;
    const i64 tile_most = min(delta.max_rows, tile_begin + (i64(1) << plan.tile_shift));
    for (i64 pass = tile_begin; pass < tile_most; pass += PASS_ROWS) {
        u32 word[ITEMS];
        u32 room[ITEMS];
        bool unsettled[ITEMS];
        // All loads are issued before any result is used: first the rows, then their records.
        Row opened[ITEMS];
        #pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            const i64 number = pass + item * BLOCK + threadIdx.x;
            opened[item] = number < tile_most ? row_of_delta(delta, static_cast<u32>(number)) : Row{};
        }
        if (threadIdx.x < LISTS) rows.listed_count[threadIdx.x] = 0;
        __syncthreads();
        const i64 tile_end = min(tile.row_count, tile_most);
        if (pass >= tile_end) break;
        #pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            if (pass + item * BLOCK + threadIdx.x < tile_end) read_record(image, shape, delta, opened[item]);
            else opened[item] = Row{};
        }
        #pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            const u32 at = item * BLOCK + threadIdx.x;
            const i64 number = pass + at;
            const bool valid = number < tile_end;
            const Row& row = opened[item];
            const bool longer = is_long(row.degree, row.count);
            unsettled[item] = valid && !longer && !is_settled(shape, delta, row);
            room[item] = word[item] = row.room;
            if (unsettled[item] && is_fresh(delta, row.degree)) {
                // All puts are new.
                const u32 after = delta.kind == KIND_PUT ? row.count : 0;
                word[item] = static_cast<u32>(room_after(shape, static_cast<int>(row.room), after));
                unsettled[item] = false;
            }
            if (longer) {
                if (plan.long_rows == nullptr) {
                    tile.goes_on = false;
                } else if (is_large(shape, delta, row)) {
                    word[item] = __ldcg(plan.words + number);
                } else {
                    await_previous_launch();
                    // There are words, unless the staging was too small.
                    if (__ldcg(header + BATCH_FIELD_STATUS) == BATCH_STATUS_OK) {
                        word[item] = __ldcg(plan.words + number);
                    }
                }
            }
            if (unsettled[item]) {
                rows.begin[at] = row.begin;
                rows.count[at] = row.count;
                rows.degree[at] = row.degree;
                rows.first[at] = row.first;
                rows.room[at] = static_cast<u16>(row.room | (row.clear ? ROW_CLEAR : 0));
            }
            const int list = unsettled[item] ? list_of_row(row, adjacent) : -1;
            #pragma unroll
            for (int i = 0; i < LISTS; ++i) {
                append(rows.listed[i], rows.listed_count[i], at, list == i);
            }
            tile.warp_counts[item * WARPS + warp][lane] = 0;
        }
        __syncthreads();

        // Each warp takes as many rows of a list at a time as it has groups.
        count_listed<LANES_KEPT, NARROW>(image, shape, delta, rows);
        count_listed<2 * LANES_KEPT, WIDE>(image, shape, delta, rows);
        for (u32 i = warp * GROUPS_OF_WARP; i < rows.listed_count[SHORT]; i += GROUPS) {
            const u32 position = i + lane / LANES_SHORT;
            const bool active = position < rows.listed_count[SHORT];
            count_after<LANES_SHORT>(image, shape, delta, rows, group_stage,
                                     active ? rows.listed[SHORT][position] : PASS_ROWS);
        }
        for (u32 i = warp; i < rows.listed_count[MEDIUM]; i += WARPS) {
            count_after<WARP>(image, shape, delta, rows, warp_stage, rows.listed[MEDIUM][i]);
        }
        __syncthreads();

        // Rank among the rows of the tile that need a run of this class, in order of the rows.
        bool some = false;
        u32 rank[ITEMS];
        #pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            if (unsettled[item]) {
                const u32 after = rows.degree[item * BLOCK + threadIdx.x];
                word[item] = static_cast<u32>(room_after(shape, static_cast<int>(room[item]), after));
            }
            const u32 to_room = word[item] & PLAN_ROOM;
            const bool grows = to_room > room[item];
            if (grows) word[item] |= PLAN_GROWS;
            some |= grows;
            const u32 same = __match_any_sync(FULL_WARP, grows ? to_room : 0);
            rank[item] = __popc(same & ((1u << lane) - 1));
            if (grows && rank[item] == 0) {
                tile.warp_counts[item * WARPS + warp][to_room - 1] = __popc(same);
            }
        }
        if (__syncthreads_or(some)) {
            if (threadIdx.x < CLASSES) {
                u32 sum = tile.counts[threadIdx.x];
                for (int i = 0; i < ITEMS * WARPS; ++i) {
                    const u32 own = tile.warp_counts[i][threadIdx.x];
                    tile.warp_counts[i][threadIdx.x] = sum;
                    sum += own;
                }
                tile.counts[threadIdx.x] = sum;
            }
            __syncthreads();
            #pragma unroll
            for (int item = 0; item < ITEMS; ++item) {
                if ((word[item] & PLAN_GROWS) == 0) continue;
                rank[item] += tile.warp_counts[item * WARPS + warp][(word[item] & PLAN_ROOM) - 1];
                word[item] |= rank[item] << PLAN_RANK_SHIFT;
            }
        }
        #pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            const i64 number = pass + item * BLOCK + threadIdx.x;
            if (number < tile_end) plan.words[number] = word[item];
        }
    }
    __syncthreads();
    if (threadIdx.x == 0 && tile.row_count > 0 && !tile.goes_on) {
        header[BATCH_FIELD_STATUS] = BATCH_STATUS_NEEDS_SCRATCH;
    }
}

}  // namespace planning
