// long_rows_commit.cu -- write rows too long for one group of lanes, tile by tile.
//
// Part of     the apply path: find_long, search_long -> plan_rows -> allocate_demand
//                             -> **commit_long**, commit_rows
// Caller      gpu_core/cuda/update/rows/row_launches.py
// Reads       one delta of a batch, its plan (long_rows_plan.cu), the runs allocated for it
// Writes      the rows. Their records are left to `commit_rows`, but for the degree of rows that a
//             block merges, which is known when it has done so
#include "large_rows.cuh"
#include "search.cuh"

// Where a long row lies before and after; its old entries are read from `staging` if they are there.
__device__ __forceinline__ Move move_of_long(
        u32* image, const Shape& shape, const Plan& plan, const Runs& runs, const LongRow& item) {
    const Row row = row_of_item(item);
    const u32 word = plan.words[item.row];
    const u32 to_room = word & PLAN_ROOM;
    const i64 from = base_of(shape, row.first, row.room);
    const bool moves = word & PLAN_GROWS;
    const i64 to = moves ? base_of(shape, run_of_row(plan, runs, item.row, word), to_room) : from;
    return move_between(image, shape, from, row.room, to, to_room, moves);
}

// A tile of old entries, opened.
struct OldTile {
    Move move;
    u32 item;   // number of its long row
    u32 begin;  // of its old entries
    u32 end;
};

// Tiles, or large rows, that a block opens at once, one a thread, so that its loads on the way
// overlaps.
constexpr u32 OPENED = WARP;

struct OldTiles {
    OldTile tiles[OPENED];
    u32 count;
};

struct LargeRows {
    LongRow items[OPENED];
    u32 count;
};

// Open those of tiles `first`, `first + gridDim.x`, … that the block has something to do with, in no
// particular order. All threads.
__device__ __forceinline__ void open_tiles(
        OldTiles& opened, u32* image, const Shape& shape, const Delta& delta, const Plan& plan,
        const Runs& runs, u32 first, u32 tiles) {
    if (threadIdx.x == 0) opened.count = 0;
    __syncthreads();
    const u32 tile = first + threadIdx.x * gridDim.x;
    if (threadIdx.x < OPENED && tile < tiles) {
        const u32 number = plan.old_tiles[tile];
        const LongRow& item = plan.long_rows[number];
        if (item.delta == delta.number && !item.clear) {
            OldTile own;
            own.move = move_of_long(image, shape, plan, runs, item);
            own.item = number;
            own.begin = (tile - item.old_at) * OLD_TILE;
            own.end = min(own.begin + OLD_TILE, item.degree);
            opened.tiles[atomicAdd(&opened.count, 1u)] = own;
        }
    }
    __syncthreads();
}

// The same of large rows.
__device__ __forceinline__ void open_large(
        LargeRows& opened, const Delta& delta, const Plan& plan, u32 first, u32 rows) {
    if (threadIdx.x == 0) opened.count = 0;
    __syncthreads();
    const u32 own = first + threadIdx.x * gridDim.x;
    if (threadIdx.x < OPENED && own < rows) {
        const LongRow& item = plan.long_rows[own];
        if (item.delta == delta.number && item.tiles == 0) {
            opened.items[atomicAdd(&opened.count, 1u)] = item;
        }
    }
    __syncthreads();
}

// Sum of changes over the entries of a long row up to entry `number`, which is included.
__device__ __forceinline__ i32 sum_with(const Plan& plan, const LongRow& item, u32 number) {
    const u32 entry = item.begin + number;
    return plan.tile_sums[item.tile_at + number / ENTRY_TILE] + plan.sums[entry] +
           change_of(plan.codes[entry]);
}

// Write word `word` of an entry of the batch.
__device__ __forceinline__ void put_entry(
        const Delta& delta, const Plan& plan, const Properties& properties, const LongRow& item,
        const Move& move, i64 step, u32 number, int word) {
    const u32 entry = item.begin + number;
    const u32 code = plan.codes[entry];
    if (!writes_word(code, word)) return;
    const i64 slot = i64(plan.positions[entry]) +
                     plan.tile_sums[item.tile_at + number / ENTRY_TILE] + plan.sums[entry];
    move.to[word * move.to_field + slot * step] =
        word == 0 ? delta.columns[entry] : put_word(properties, word, put_of(delta, entry));
}

// What entries of the batch do to an old entry of a tile: how many are new at its position, and above
// MET_SHIFT the code of the one that meets it.
constexpr int MET_SHIFT = 32 - CODE_BITS;

// Old entries of a tile as its threads have them: each warp a part, side by side.
constexpr u32 OLD_EACH = OLD_TILE / BLOCK;
static_assert(OLD_TILE % BLOCK == 0, "each thread has as many old entries of a tile");

// Entries of the batch whose positions lie in a tile, and the sum of changes over those before.
struct Range {
    u32 begin;
    u32 end;
    i32 before;
};

// Move the old entries of a tile. A block.
__device__ __forceinline__ void commit_tile(
        const Shape& shape, const Plan& plan, const OldTile& tile, u32* marks, Range& range) {
    const LongRow& item = plan.long_rows[tile.item];
    const Move move = tile.move;
    const i64 step = entry_step(shape);
    const u32* positions = plan.positions + item.begin;
    const u32 first = warp_of_thread() * (OLD_EACH * WARP) + lane_of_thread();
    const u32 length = tile.end - tile.begin;
    u32 value[OLD_EACH];
    const auto load = [&](int word) {
        const u32* from = move.stays ? plan.staging + item.staging + i64(word) * item.degree
                                     : move.from + word * move.from_field;
        const i64 from_step = move.stays ? 1 : step;
        #pragma unroll
        for (u32 k = 0; k < OLD_EACH; ++k) {
            const u32 i = first + k * WARP;
            value[k] = i < length ? from[(tile.begin + i) * from_step] : 0;
        }
    };
    load(0);
    if (warp_of_thread() < 2) {
        const bool is_first = warp_of_thread() == 0;
        const u32 limit = is_first ? tile.begin : tile.end;
        const u32 below = warp_first_not_before(item.count, [&](u32 at) { return positions[at] < limit; });
        if (lane_of_thread() == 0) {
            if (is_first) {
                range.begin = below;
                range.before = below > 0 ? sum_with(plan, item, below - 1) : 0;
            } else {
                range.end = below;
            }
        }
    }
    for (u32 i = threadIdx.x; i < length; i += BLOCK) marks[i] = 0;
    __syncthreads();
    for (u32 i = range.begin + threadIdx.x; i < range.end; i += BLOCK) {
        const u32 code = plan.codes[item.begin + i];
        u32 mark = is_new(code);
        if (is_taken(code) || is_found(code)) mark = code << MET_SHIFT;
        atomicAdd(&marks[positions[i] - tile.begin], mark);
    }
    __syncthreads();
    i32 shift[OLD_EACH];
    i32 sum = 0;
    #pragma unroll
    for (u32 k = 0; k < OLD_EACH; ++k) {
        const u32 i = first + k * WARP;
        const u32 mark = i < length ? marks[i] : 0;
        const i32 own_change = static_cast<i32>(mark & ((1u << MET_SHIFT) - 1)) - is_taken(mark >> MET_SHIFT);
        shift[k] = sum + warp_inclusive_sum(own_change);
        sum = __shfl_sync(FULL_WARP, shift[k], WARP - 1);
    }
    i32 total;
    const i32 of_warp = lane_of_thread() == 0 ? sum : 0;
    i32 before = block_exclusive_sum<i32, BLOCK>(of_warp, total);
    before = range.before + __shfl_sync(FULL_WARP, before, 0);
    #pragma unroll 1
    for (int word = 0; word < ENTRY_WORDS; ++word) {
        const bool copies = !move.stays || (move.restrides && word > 0);
        if (word > 0) load(word);
        u32* to = move.to + word * move.to_field;
        #pragma unroll
        for (u32 k = 0; k < OLD_EACH; ++k) {
            const u32 i = first + k * WARP;
            if (i >= length || (!copies && before + shift[k] == 0)) continue;
            if (!keeps_word(marks[i] >> MET_SHIFT, word)) continue;
            to[(i64(tile.begin) + i + before + shift[k]) * step] = value[k];
        }
    }
    __syncthreads();  // before `marks` and `range` are written again
}

// Write a large row. A block.
__device__ __forceinline__ void commit_large(
        u32* image, const Shape& shape, const Delta& delta, const Plan& plan,
        const Properties& properties, const Runs& runs, const LongRow& item, u32* stage,
        Tally& tally) {
    const Row row = row_of_item(item);
    i32 change;
    if (is_fresh(delta, row.degree)) {
        const Move move = move_of_long(image, shape, plan, runs, item);
        change = write_fresh(shape, delta, properties, row, move);
        if (threadIdx.x == 0 && delta.number == 0) {
            atomicAdd(reinterpret_cast<u64*>(header_of(image) + BATCH_FIELD_ADDED), u64(change));
        }
    } else {
        change = merge_in_block(image, shape, delta, properties, row, stage, tally);
        if (threadIdx.x == 0 && change != 0) {
            image[record_of(shape, row.vertex) + shape.degree_word] = row.degree + change;
            const bool appended = change > 0 && first_position(stage) == row.degree;
            u64* header = reinterpret_cast<u64*>(header_of(image));
            atomicAdd(header + (appended ? BATCH_FIELD_APPENDED_ROWS : BATCH_FIELD_MERGED_ROWS), 1);
        }
    }
    __syncthreads();  // before the stage is written again
}

// Launch    any number of blocks: a block a tile of old entries after the other, then a block a large
//           row, then a warp a row of few entries, then a block a tile of entries of the others
// Writes    the rows of long rows, and the degree of those that a block has merged; all other records
//           are left to `commit_rows`, which may run beside this
// Beside    the launch that enters vertices, which it awaits at the end
extern "C" __global__ void __launch_bounds__(BLOCK, ENTRY_WORDS == 1 ? 5 : 3) commit_long(
        u32* image, Shape shape, Delta delta, Plan plan, Properties properties, Runs runs, i64 beside) {
    __shared__ u32 stage[LARGE_STAGE_WORDS > OLD_TILE ? LARGE_STAGE_WORDS : OLD_TILE];
    __shared__ OldTiles opened;
    __shared__ LargeRows large;
    __shared__ Range range;
    if (beside) run_beside_previous_launch();
    else follow_and_lead();
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) {
        await_previous_launch();
        return;
    }
    const u64 both = static_cast<u64>(header[BATCH_FIELD_LONG_TILES]);
    const u32 old_tiles = static_cast<u32>(both >> 32);
    for (u32 first = blockIdx.x; first < old_tiles; first += gridDim.x * OPENED) {
        open_tiles(opened, image, shape, delta, plan, runs, first, old_tiles);
        for (u32 number = 0; number < opened.count; ++number) {
            commit_tile(shape, plan, opened.tiles[number], stage, range);
        }
        __syncthreads();
    }

    Tally tally = 0;
    u32 seen = 0;
    const auto end_turn = [&](u32 entries) {  // of a thread, at most
        seen += entries;
        if (seen < MOST_SEEN) return;
        if (delta.number == 0) add_tally(header, tally);
        tally = 0;
        seen = 0;
    };
    const u32 row_count = static_cast<u32>(header[BATCH_FIELD_LONG_ROWS]);
    for (u32 first = blockIdx.x; first < row_count; first += gridDim.x * OPENED) {
        open_large(large, delta, plan, first, row_count);
        for (u32 i = 0; i < large.count; ++i) {
            commit_large(image, shape, delta, plan, properties, runs, large.items[i], stage, tally);
            end_turn((LONG_ENTRIES + BLOCK - 1) / BLOCK);
        }
        __syncthreads();
    }
    const auto write_entry = [&](const LongRow& item, u32 number) {
        count_code(tally, plan.codes[item.begin + number]);
        const Move move = move_of_long(image, shape, plan, runs, item);
        for (int word = 0; word < ENTRY_WORDS; ++word) {
            put_entry(delta, plan, properties, item, move, entry_step(shape), number, word);
        }
    };
    for (u32 first = blockIdx.x * WARPS; first < row_count; first += gridDim.x * WARPS) {
        const u32 i = first + warp_of_thread();
        if (i < row_count) {
            const LongRow& item = plan.long_rows[i];
            const bool is_own = item.delta == delta.number && is_of_warp(item);
            if (is_own && lane_of_thread() < item.count) write_entry(item, lane_of_thread());
        }
        end_turn(1);
    }
    const u32 tiles = static_cast<u32>(both);
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const LongRow& item = plan.long_rows[plan.entry_tiles[tile]];
        const u32 number = (tile - item.tile_at) * ENTRY_TILE + threadIdx.x;
        const bool is_own = item.delta == delta.number && !is_of_warp(item);
        if (is_own && number < item.count) write_entry(item, number);
        end_turn(1);
    }
    if (delta.number == 0) add_tally(header, tally);
    await_previous_launch();
}
