// long_rows.cu -- rows of a batch that are too long for one group of lanes: cut into tiles.
//
// Part of     the apply path: find_long, search_long -> plan_rows -> serve_demand
//                             -> stage_long, commit_long -> commit_rows
// Caller      gpu_core/cuda/plan.py, gpu_core/cuda/commit.py
// Reads       one half of a batch, its plan (rows.cuh: Plan), the runs handed out for it
// Writes      before the demand is served: what each entry of these rows meets, their degree and
//             room after; then the rows. Their records are left to `commit_rows`, which comes after
//
// A tile is ENTRY_TILE entries of the batch, or OLD_TILE old entries. Old entries that move within
// their run are put aside first (`stage_long`), unless the row is `is_direct`.
#include "merge_rows.cuh"

static_assert(ENTRY_WORDS > 0, "compiled for each record");

// Launch    one thread a row
// Writes    long_rows, entry_tiles, old_tiles; their numbers and the staging that they need in
//           LONG_ROWS, LONG_TILES (entries, old entries << 32) and SCRATCH_BYTES of the header
// Order     the list is in no particular order, and none of what follows depends on it
extern "C" __global__ void __launch_bounds__(BLOCK, 4) find_long(
        u32* image, Shape shape, Half half, Plan plan) {
    follow_previous_launch();
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const i64 number = thread_of_grid();
    Row row{};
    if (number < *half.row_count) row = open_row(image, shape, half, number);
    const bool found = is_long(row.degree, row.count);
    if (!__syncthreads_or(found)) return;

    const u32 tiles = max(1u, (row.count + ENTRY_TILE - 1) / ENTRY_TILE);
    const u32 old_tiles = (row.degree + OLD_TILE - 1) / OLD_TILE;
    const u64 words = is_direct(row.degree, row.count) ? 0 : u64(row.degree) * ENTRY_WORDS;
    constexpr int TILES_AT = 16, OLD_AT = 40;  // rows, tiles and old tiles of a block in one sum
    u64 sums, staging;
    const u64 before = block_exclusive_sum<u64, BLOCK>(
        found ? 1 | u64(tiles) << TILES_AT | u64(old_tiles) << OLD_AT : 0, sums);
    const u64 staging_before = block_exclusive_sum<u64, BLOCK>(found ? words : 0, staging);
    __shared__ u64 first_row, first_tiles, first_word;
    if (threadIdx.x == 0) {
        u64* fields = reinterpret_cast<u64*>(header);
        const u64 both = (sums >> TILES_AT & 0xFFFFFF) | sums >> OLD_AT << 32;
        first_row = atomicAdd(fields + BATCH_FIELD_LONG_ROWS, sums & 0xFFFF);
        first_tiles = atomicAdd(fields + BATCH_FIELD_LONG_TILES, both);
        first_word = atomicAdd(fields + BATCH_FIELD_SCRATCH_BYTES, staging * sizeof(u32)) / sizeof(u32);
    }
    __syncthreads();
    const u32 at = static_cast<u32>(first_row + (before & 0xFFFF));
    const u32 tile_at = static_cast<u32>(first_tiles + (before >> TILES_AT & 0xFFFFFF));
    const u32 old_at = static_cast<u32>((first_tiles >> 32) + (before >> OLD_AT));
    if (found) {
        plan.long_rows[at] = LongRow{
            static_cast<u32>(half.number), static_cast<u32>(number), row.begin, row.count,
            row.degree, row.clear, tiles, tile_at, old_at, 0,
            static_cast<i64>(first_word + staging_before)};
    }
    // A warp together writes the tiles of its rows, one row after another.
    for (u32 rows = __ballot_sync(FULL_WARP, found); rows != 0; rows &= rows - 1) {
        const int lane = __ffs(rows) - 1;
        const u32 index = __shfl_sync(FULL_WARP, at, lane);
        const u32 begin = __shfl_sync(FULL_WARP, tile_at, lane);
        const u32 end = begin + __shfl_sync(FULL_WARP, tiles, lane);
        const u32 old_begin = __shfl_sync(FULL_WARP, old_at, lane);
        const u32 old_end = old_begin + __shfl_sync(FULL_WARP, old_tiles, lane);
        for (u32 i = begin + lane_of_thread(); i < end; i += WARP) plan.entry_tiles[i] = index;
        for (u32 i = old_begin + lane_of_thread(); i < old_end; i += WARP) {
            plan.old_tiles[i] = index;
        }
    }
}

// Position of the first of `degree` sorted entries whose neighbour is not below `column`. Three
// probes at once: half as many reads wait for one another as in binary search.
__device__ __forceinline__ u32 position_of(
        const u32* image, i64 base, i64 step, u32 degree, u32 column) {
    u32 low = 0;
    u32 length = degree;
    while (length > 3) {
        const u32 quarter = length >> 2;
        u32 below = 0;
        #pragma unroll
        for (u32 probe = 1; probe <= 3; ++probe) {
            below += image[base + (i64(low) + probe * quarter) * step] < column;
        }
        length = below == 3 ? length - 3 * quarter - 1 : quarter - (below > 0);
        low += below > 0 ? below * quarter + 1 : 0;
    }
    for (; length > 0 && image[base + i64(low) * step] < column; --length) ++low;
    return low;
}

// Numbers of the tiles of a row: each becomes the sum of those before it. A block; returns the sum.
__device__ __forceinline__ i32 sum_over_row(i32* sums, u32 tiles) {
    constexpr u32 LOADS = 8;
    i32 sum = 0;
    for (u32 begin = 0; begin < tiles; begin += BLOCK * LOADS) {
        const u32 first = begin + threadIdx.x * LOADS;
        i32 own[LOADS];
        i32 total = 0;
        #pragma unroll
        for (u32 load = 0; load < LOADS; ++load) {
            own[load] = first + load < tiles ? __ldcg(sums + first + load) : 0;
        }
        #pragma unroll
        for (u32 load = 0; load < LOADS; ++load) total += own[load];
        i32 all;
        i32 below = sum + block_exclusive_sum<i32, BLOCK>(total, all);
        #pragma unroll
        for (u32 load = 0; load < LOADS; ++load) {
            if (first + load < tiles) sums[first + load] = below;
            below += own[load];
        }
        sum += all;
    }
    return sum;
}

// Look up an entry of a long row, and leave what it meets. Returns its delta.
__device__ __forceinline__ i32 search_entry(
        const u32* image, const Shape& shape, const Half& half, const Plan& plan, const u8* reset,
        const Row& row, u32 entry) {
    const i64 base = base_of(shape, row.first, row.room);
    const i64 step = entry_step(shape);
    const u32 column = half.columns[entry];
    const u32 kind = kind_of(half, entry);
    const u32 position = position_of(image, base, step, row.degree, column);
    const bool there = position < row.degree && image[base + position * step] == column;
    const bool gone = is_gone(half, row.begin, entry, column, kind, there);
    u32 code = code_of(kind, there, row.clear || gone);
    if (reset != nullptr && code == CODE_FOUND) {
        if (reset[half.source != nullptr ? half.source[entry] : entry]) code = CODE_RESET;
    }
    plan.positions[entry] = row.clear ? 0 : position + gone;
    plan.codes[entry] = static_cast<u8>(code);
    return delta_of(code);
}

// Leave what a row will be: all its entries have been looked up, `sum` is that of their deltas.
__device__ __forceinline__ void plan_long(
        const Shape& shape, const Plan& plan, const Row& row, u32 number, i32 sum) {
    const u32 after = (row.clear ? 0 : row.degree) + sum;
    plan.after[number] = after;
    plan.words[number] =
        PLAN_LONG | static_cast<u32>(room_after(shape, static_cast<int>(row.room), after));
}

// Whether one warp looks up the entries of a row; others have a block for each of their tiles.
__device__ __forceinline__ bool is_of_warp(const LongRow& item) { return item.count <= WARP; }

// Launch    any number of blocks: a warp a row of few entries in turn, then a block a tile of others
// Writes    positions, codes and sums of the entries of long rows, tile_sums; by the last tile of a
//           row its degree after and its plan word
extern "C" __global__ void __launch_bounds__(BLOCK, 4) search_long(
        u32* image, Shape shape, Half half, Plan plan, const u8* reset) {
    follow_previous_launch();
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    if (header[BATCH_FIELD_SCRATCH_BYTES] > plan.staging_words * i64(sizeof(u32))) {
        if (threadIdx.x == 0) header[BATCH_FIELD_STATUS] = BATCH_STATUS_NEEDS_SCRATCH;
        return;
    }
    __shared__ u32 listed[BLOCK];
    __shared__ u32 listed_count;
    __shared__ bool last;
    const u32 row_count = static_cast<u32>(header[BATCH_FIELD_LONG_ROWS]);
    for (u32 i = blockIdx.x * WARPS + warp_of_thread(); i < row_count; i += gridDim.x * WARPS) {
        const LongRow& item = plan.long_rows[i];
        if (item.half != half.number || !is_of_warp(item)) continue;
        const Row row = open_row(image, shape, half, item.row);
        const u32 entry = row.begin + lane_of_thread();
        const bool there = lane_of_thread() < row.count;
        const i32 delta = there ? search_entry(image, shape, half, plan, reset, row, entry) : 0;
        i32 sum;
        const i32 before = warp_exclusive_sum(delta, sum);
        if (there) plan.sums[entry] = before;
        if (lane_of_thread() == 0) {
            plan.tile_sums[item.tile_at] = 0;
            plan_long(shape, plan, row, item.row, sum);
        }
    }
    const u32 tiles = static_cast<u32>(header[BATCH_FIELD_LONG_TILES]);
    for (u32 first = blockIdx.x; first < tiles; first += gridDim.x * BLOCK) {
        // Of the next tiles of the block, those that it has to look into.
        if (threadIdx.x == 0) listed_count = 0;
        __syncthreads();
        const u32 own = first + threadIdx.x * gridDim.x;
        bool is_own = false;
        if (own < tiles) {
            const LongRow& item = plan.long_rows[plan.entry_tiles[own]];
            is_own = item.half == half.number && !is_of_warp(item);
        }
        append(listed, listed_count, own, is_own);
        __syncthreads();
        for (u32 i = 0; i < listed_count; ++i) {
            const u32 tile = listed[i];
            LongRow& item = plan.long_rows[plan.entry_tiles[tile]];
            const Row row = open_row(image, shape, half, item.row);
            const u32 at = (tile - item.tile_at) * ENTRY_TILE + threadIdx.x;
            const u32 entry = row.begin + at;
            const bool there = at < row.count;
            const i32 delta = there ? search_entry(image, shape, half, plan, reset, row, entry) : 0;
            i32 total;
            const i32 before = block_exclusive_sum<i32, BLOCK>(delta, total);
            if (there) plan.sums[entry] = before;
            if (threadIdx.x == 0) {
                plan.tile_sums[tile] = total;
                __threadfence();
                last = atomicAdd(&item.done, 1u) == item.tiles - 1;
            }
            __syncthreads();
            if (!last) continue;
            __threadfence();
            const i32 sum = sum_over_row(plan.tile_sums + item.tile_at, item.tiles);
            if (threadIdx.x == 0) plan_long(shape, plan, row, item.row, sum);
        }
        __syncthreads();
    }
}

// Where a long row lies before and after; its old entries are read from `staging` if they are there.
__device__ __forceinline__ Move move_of_long(
        u32* image, const Shape& shape, const Half& half, const Plan& plan, const Runs& runs,
        u32 number) {
    const Row row = open_row(image, shape, half, number);
    const u32 word = plan.words[number];
    const u32 to_room = word & PLAN_ROOM;
    const i64 from = base_of(shape, row.first, row.room);
    const bool moves = word & PLAN_GROWS;
    const i64 to = moves ? base_of(shape, run_of_row(plan, runs, number, word), to_room) : from;
    return move_between(image, shape, from, row.room, to, to_room, moves);
}

// Whether the block that moves the old entries of a row, in place, also writes those of the batch.
__device__ __forceinline__ bool is_direct_in(const Plan& plan, const LongRow& item) {
    const bool moves = plan.words[item.row] & PLAN_GROWS;
    return !moves && item.degree > 0 && !item.clear && is_direct(item.degree, item.count);
}

// A tile of old entries, opened.
struct OldTile {
    Move move;
    u32 item;   // number of its long row
    u32 begin;  // of its old entries
    u32 end;
};

// Tiles that a block opens at once, one a thread, so that what it asks for on the way overlaps.
constexpr u32 OPEN_TILES = WARP;

struct OldTiles {
    OldTile tiles[OPEN_TILES];
    u32 count;
};

// Open those of tiles `first`, `first + gridDim.x`, … that the block has something to do with, in no
// particular order. All threads; `staged`: only those whose entries are to be put aside.
__device__ __forceinline__ void open_tiles(
        OldTiles& opened, u32* image, const Shape& shape, const Half& half, const Plan& plan,
        const Runs& runs, u32 first, u32 tiles, bool staged) {
    if (threadIdx.x == 0) opened.count = 0;
    __syncthreads();
    const u32 tile = first + threadIdx.x * gridDim.x;
    if (threadIdx.x < OPEN_TILES && tile < tiles) {
        const u32 number = plan.old_tiles[tile];
        const LongRow& item = plan.long_rows[number];
        bool is_own = item.half == half.number && !item.clear;
        if (staged) is_own &= !is_direct(item.degree, item.count);
        if (is_own) {
            OldTile own;
            own.move = move_of_long(image, shape, half, plan, runs, item.row);
            own.item = number;
            own.begin = (tile - item.old_at) * OLD_TILE;
            own.end = min(own.begin + OLD_TILE, item.degree);
            if (own.move.stays || !staged) opened.tiles[atomicAdd(&opened.count, 1u)] = own;
        }
    }
    __syncthreads();
}

// Launch    any number of blocks; a block a tile of old entries in turn
// Writes    staging: old entries, plane by plane, of long rows that stay and are not `is_direct`
extern "C" __global__ void __launch_bounds__(BLOCK, 4) stage_long(
        u32* image, Shape shape, Half half, Plan plan, Runs runs) {
    __shared__ OldTiles opened;
    follow_previous_launch();
    const i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const u32 tiles = static_cast<u32>(header[BATCH_FIELD_LONG_TILES] >> 32);
    for (u32 first = blockIdx.x; first < tiles; first += gridDim.x * OPEN_TILES) {
        open_tiles(opened, image, shape, half, plan, runs, first, tiles, true);
        for (u32 number = 0; number < opened.count; ++number) {
            const OldTile& tile = opened.tiles[number];
            const LongRow& item = plan.long_rows[tile.item];
            const Move& move = tile.move;
            // What lies before the first entry of the batch stays where it is.
            const bool stays = item.count == 0 || tile.end <= plan.positions[item.begin];
            if (!move.restrides && stays) continue;
            const i64 step = entry_step(shape);
            for (int word = 0; word < ENTRY_WORDS; ++word) {
                const u32* from = move.from + word * move.from_field;
                u32* to = plan.staging + item.staging + i64(word) * item.degree;
                #pragma unroll 4
                for (u32 i = tile.begin + threadIdx.x; i < tile.end; i += BLOCK) {
                    to[i] = from[i * step];
                }
            }
        }
        __syncthreads();
    }
}

// Entries of a long row with a position up to `place`: a warp searches, 32 places at a time.
__device__ __forceinline__ u32 entries_up_to(const u32* positions, u32 count, u32 place) {
    u32 low = 0;
    u32 high = count;
    while (low < high) {
        const u32 stride = (high - low + WARP - 1) / WARP;
        const u32 probe = low + lane_of_thread() * stride;
        const bool passed = probe < high && positions[probe] <= place;
        const u32 probes = __popc(__ballot_sync(FULL_WARP, passed));
        if (probes == 0) return low;
        high = min(high, low + probes * stride);
        low += (probes - 1) * stride + 1;
    }
    return low;
}

// Sum of delta over the entries of a long row up to entry `number`, which is included.
__device__ __forceinline__ i32 sum_with(const Plan& plan, const LongRow& item, u32 number) {
    const u32 entry = item.begin + number;
    return plan.tile_sums[item.tile_at + number / ENTRY_TILE] + plan.sums[entry] +
           delta_of(plan.codes[entry]);
}

// Write word `word` of an entry of the batch.
__device__ __forceinline__ void put_entry(
        const Half& half, const Plan& plan, const Properties& properties, const LongRow& item,
        const Move& move, i64 step, u32 number, int word) {
    const u32 entry = item.begin + number;
    const u32 code = plan.codes[entry];
    if (!writes_word(code, word)) return;
    const i64 slot = i64(plan.positions[entry]) +
                     plan.tile_sums[item.tile_at + number / ENTRY_TILE] + plan.sums[entry];
    move.to[word * move.to_field + slot * step] =
        word == 0 ? half.columns[entry] : put_word(properties, word, put_of(half, entry));
}

// Move the old entries of a tile; those of the batch too, where the row is direct. A block.
__device__ __forceinline__ void commit_tile(
        const Shape& shape, const Half& half, const Plan& plan, const Properties& properties,
        const OldTile& tile, u32* values, u32* range) {
    const LongRow& item = plan.long_rows[tile.item];
    const Move move = tile.move;
    const i64 step = entry_step(shape);
    const u32 begin = tile.begin;
    const u32 end = tile.end;
    const bool direct = move.stays && is_direct(item.degree, item.count);
    const bool staged = move.stays && !direct;
    const u32* positions = plan.positions + item.begin;
    if (warp_of_thread() < 2) {
        const u32 place = warp_of_thread() == 0 ? begin : end - 1;
        const u32 passed = entries_up_to(positions, item.count, place);
        if (lane_of_thread() == 0) range[warp_of_thread()] = passed;
    }
    __syncthreads();
    const u32 range_begin = range[0];
    const u32 range_end = range[1];
    #pragma unroll 1
    for (int word = 0; word < ENTRY_WORDS; ++word) {
        const bool copies = !move.stays || (move.restrides && word > 0);
        if (range_end > 0 || copies) {
            const u32* from = staged ? plan.staging + item.staging + i64(word) * item.degree
                                     : move.from + word * move.from_field;
            const i64 from_step = staged ? 1 : step;
            #pragma unroll 4
            for (u32 i = begin + threadIdx.x; i < end; i += BLOCK) {
                values[i - begin] = from[i * from_step];
            }
            if (direct) __syncthreads();
            u32* to = move.to + word * move.to_field;
            for (u32 i = begin + threadIdx.x; i < end; i += BLOCK) {
                // Entries of the batch with a position up to i.
                u32 low = range_begin;
                u32 high = range_end;
                while (low < high) {
                    const u32 middle = (low + high) >> 1;
                    if (positions[middle] <= i) low = middle + 1;
                    else high = middle;
                }
                i32 shift = 0;
                bool keeps = true;
                if (low > 0) {
                    shift = sum_with(plan, item, low - 1);
                    if (positions[low - 1] == i) {
                        keeps = keeps_word(plan.codes[item.begin + low - 1], word);
                    }
                }
                if (keeps && (copies || shift != 0)) to[(i64(i) + shift) * step] = values[i - begin];
            }
        }
        if (direct) {
            for (u32 i = threadIdx.x; i < item.count; i += BLOCK) {
                put_entry(half, plan, properties, item, move, step, i, word);
            }
            __syncthreads();
        }
    }
    __syncthreads();  // before `range` is written again
}

// Launch    any number of blocks; a block a tile of old entries in turn, then a warp a row of few
//           entries, then a block a tile of entries of the others
// Writes    the rows of long rows; their records are left to `commit_rows`, which comes after
extern "C" __global__ void __launch_bounds__(BLOCK, 4) commit_long(
        u32* image, Shape shape, Half half, Plan plan, Properties properties, Runs runs) {
    __shared__ u32 values[OLD_TILE];
    __shared__ OldTiles opened;
    __shared__ u32 range[2];
    follow_previous_launch();
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const u64 both = static_cast<u64>(header[BATCH_FIELD_LONG_TILES]);
    const u32 old_tiles = static_cast<u32>(both >> 32);
    for (u32 first = blockIdx.x; first < old_tiles; first += gridDim.x * OPEN_TILES) {
        open_tiles(opened, image, shape, half, plan, runs, first, old_tiles, false);
        for (u32 number = 0; number < opened.count; ++number) {
            commit_tile(shape, half, plan, properties, opened.tiles[number], values, range);
        }
        __syncthreads();
    }

    Tally tally = 0;
    u32 turn = 0;
    const auto write_entry = [&](const LongRow& item, u32 number) {
        count_code(tally, plan.codes[item.begin + number]);
        if (is_direct_in(plan, item)) return;
        const Move move = move_of_long(image, shape, half, plan, runs, item.row);
        for (int word = 0; word < ENTRY_WORDS; ++word) {
            put_entry(half, plan, properties, item, move, entry_step(shape), number, word);
        }
    };
    const auto end_turn = [&]() {
        if (++turn % MOST_SEEN != 0) return;
        if (half.number == 0) add_tally(header, tally);
        tally = 0;
    };
    const u32 row_count = static_cast<u32>(header[BATCH_FIELD_LONG_ROWS]);
    for (u32 first = blockIdx.x * WARPS; first < row_count; first += gridDim.x * WARPS) {
        const u32 i = first + warp_of_thread();
        if (i < row_count) {
            const LongRow& item = plan.long_rows[i];
            const bool is_own = item.half == half.number && is_of_warp(item);
            if (is_own && lane_of_thread() < item.count) write_entry(item, lane_of_thread());
        }
        end_turn();
    }
    const u32 tiles = static_cast<u32>(both);
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const LongRow& item = plan.long_rows[plan.entry_tiles[tile]];
        const u32 number = (tile - item.tile_at) * ENTRY_TILE + threadIdx.x;
        const bool is_own = item.half == half.number && !is_of_warp(item);
        if (is_own && number < item.count) write_entry(item, number);
        end_turn();
    }
    if (half.number == 0) add_tally(header, tally);
}
