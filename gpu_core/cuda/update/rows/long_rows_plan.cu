// long_rows_plan.cu -- find rows too long for one group of lanes, and cut them into tiles.
//
// Part of     the apply path: **find_long, search_long** -> plan_rows -> allocate_demand
//                             -> commit_long, commit_rows
// Caller      gpu_core/cuda/update/rows/row_launches.py
// Reads       one delta of a batch, the vertex records and rows
// Writes      what each entry of these rows meets, their degree and room after (rows.cuh: Plan)
//
// A tile is ENTRY_TILE entries of the batch, or OLD_TILE old entries. Old entries that may move within
// their run are put aside while entries of the batch are looked up.
#include "rows.cuh"

static_assert(ENTRY_WORDS > 0, "compiled for each record");

// Launch    one thread a row
// Writes    long_rows, entry_tiles, old_tiles; their numbers and the staging that they need in
//           LONG_ROWS, LONG_TILES (entries, old entries << 32) and SCRATCH_BYTES of the header; the
//           plan words of large rows
// Order     the list is in no particular order, and none of what follows depends on it
extern "C" __global__ void __launch_bounds__(BLOCK, 4) find_long(
        u32* image, Shape shape, Delta delta, Plan plan) {
    follow_previous_launch();
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const i64 number = thread_of_grid();
    Row row{};
    if (number < *delta.row_count) row = open_row(image, shape, delta, number);
    const bool found = is_long(row.degree, row.count);
    if (!__syncthreads_or(found)) return;

    const bool large = is_large(shape, delta, row);
    const u32 tiles = large ? 0 : max(1u, (row.count + ENTRY_TILE - 1) / ENTRY_TILE);
    const u32 old_tiles = large ? 0 : (row.degree + OLD_TILE - 1) / OLD_TILE;
    const u64 words = large || row.clear ? 0 : u64(row.degree) * ENTRY_WORDS;
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
            static_cast<u32>(delta.number), static_cast<u32>(number), row.begin, row.count,
            row.degree, row.clear, tiles, tile_at, old_at, 0,
            static_cast<i64>(first_word + staging_before), row.vertex, row.first, row.room};
        if (large) {
            // A settled row keeps its room; of a fresh one all puts are new.
            u32 room = row.room;
            u32 after = MERGED_IN_BLOCK;
            if (is_fresh(delta, row.degree)) {
                after = delta.kind == KIND_PUT ? row.count : 0;
                room = room_after(shape, static_cast<int>(room), after);
            }
            plan.words[number] = PLAN_LONG | room;
            plan.after[number] = after;
        }
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

// Position of the first of `degree` sorted entries whose neighbor is not below `column`. Three
// probes at once: delta as many reads wait for one another as in binary search.
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

// Look up an entry of a long row, and leave what it meets. Returns its change.
__device__ __forceinline__ i32 search_entry(
        const u32* image, const Shape& shape, const Delta& delta, const Plan& plan, const u8* reset,
        const Row& row, u32 entry) {
    const i64 base = base_of(shape, row.first, row.room);
    const i64 step = entry_step(shape);
    const u32 column = delta.columns[entry];
    const u32 kind = kind_of(delta, entry);
    const u32 position = position_of(image, base, step, row.degree, column);
    const bool there = position < row.degree && image[base + position * step] == column;
    bool gone;
    const u32 code = code_of_entry(delta, reset, row.begin, entry, column, kind, there, row.clear, gone);
    plan.positions[entry] = row.clear ? 0 : position + gone;
    plan.codes[entry] = static_cast<u8>(code);
    return change_of(code);
}

// Leave what a row will be: all its entries have been looked up, `sum` is that of their deltas.
__device__ __forceinline__ void plan_long(
        const Shape& shape, const Plan& plan, const Row& row, u32 number, i32 sum) {
    const u32 after = (row.clear ? 0 : row.degree) + sum;
    plan.after[number] = after;
    plan.words[number] =
        PLAN_LONG | static_cast<u32>(room_after(shape, static_cast<int>(row.room), after));
}

// Put aside a tile of the old entries of a long row, if they may move. A block.
__device__ __forceinline__ void stage_tile(
        const u32* image, const Shape& shape, const Delta& delta, const Plan& plan, u32 tile) {
    const LongRow& item = plan.long_rows[plan.old_tiles[tile]];
    if (item.delta != delta.number || item.clear) return;
    const Row row = row_of_item(item);
    const i64 step = entry_step(shape);
    const u32* from = image + base_of(shape, row.first, row.room);
    const u32 begin = (tile - item.old_at) * OLD_TILE;
    const u32 end = min(begin + OLD_TILE, row.degree);
    // Planes stay where they are if the room does. What lies before the first entry of the batch stays
    // there, too.
    const bool planes_stay = ENTRY_WORDS == 1 || is_settled(shape, delta, row);
    if (planes_stay && (row.count == 0 || from[(end - 1) * step] < delta.columns[row.begin])) return;
    const i64 field = entry_field(shape, ENTRY_WORDS == 1 ? 0 : capacity_of(shape, row.room));
    for (int word = 0; word < ENTRY_WORDS; ++word) {
        u32* to = plan.staging + item.staging + i64(word) * row.degree;
        #pragma unroll 8
        for (u32 i = begin + threadIdx.x; i < end; i += BLOCK) {
            to[i] = from[word * field + i * step];
        }
    }
}

// Launch    any number of blocks: a warp a row of few entries after the other, then a block a tile of
//           others, then a block a tile of old entries
// Writes    positions, codes and sums of the entries of long rows, tile_sums; by the last tile of a
//           row its degree after and its plan word; staging: old entries, plane by plane
extern "C" __global__ void __launch_bounds__(BLOCK, 4) search_long(
        u32* image, Shape shape, Delta delta, Plan plan, const u8* reset) {
    follow_and_lead();
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
        if (item.delta != delta.number || !is_of_warp(item)) continue;
        const Row row = row_of_item(item);
        const u32 entry = row.begin + lane_of_thread();
        const bool there = lane_of_thread() < row.count;
        const i32 own_change = there ? search_entry(image, shape, delta, plan, reset, row, entry) : 0;
        i32 sum;
        const i32 before = warp_exclusive_sum(own_change, sum);
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
            is_own = item.delta == delta.number && !is_of_warp(item);
        }
        append(listed, listed_count, own, is_own);
        __syncthreads();
        for (u32 i = 0; i < listed_count; ++i) {
            const u32 tile = listed[i];
            LongRow& item = plan.long_rows[plan.entry_tiles[tile]];
            const Row row = row_of_item(item);
            const u32 at = (tile - item.tile_at) * ENTRY_TILE + threadIdx.x;
            const u32 entry = row.begin + at;
            const bool there = at < row.count;
            const i32 own_change = there ? search_entry(image, shape, delta, plan, reset, row, entry) : 0;
            i32 total;
            const i32 before = block_exclusive_sum<i32, BLOCK>(own_change, total);
            if (there) plan.sums[entry] = before;
            if (threadIdx.x == 0) {
                plan.tile_sums[tile] = total;
                __threadfence();
                last = atomicAdd(&item.done, 1u) == item.tiles - 1;
            }
            __syncthreads();
            if (!last) continue;
            __threadfence();
            const i32 sum = sums_before<BLOCK, 8>(plan.tile_sums + item.tile_at, item.tiles);
            if (threadIdx.x == 0) plan_long(shape, plan, row, item.row, sum);
        }
        __syncthreads();
    }
    // The last blocks come first, as they have had the least to do.
    const u32 old_tiles = static_cast<u32>(u64(header[BATCH_FIELD_LONG_TILES]) >> 32);
    for (u32 tile = gridDim.x - 1 - blockIdx.x; tile < old_tiles; tile += gridDim.x) {
        stage_tile(image, shape, delta, plan, tile);
    }
}

// Rows were moved after they were listed, to other runs of the same room: say where they are.
//
// Launch    one thread a listed row, at most
extern "C" __global__ void __launch_bounds__(BLOCK) reopen_long(
        u32* image, Shape shape, Delta delta, Plan plan) {
    follow_previous_launch();
    const i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const i64 number = thread_of_grid();
    if (number >= header[BATCH_FIELD_LONG_ROWS]) return;
    LongRow& item = plan.long_rows[number];
    if (item.delta == delta.number) item.first = open_row(image, shape, delta, item.row).first;
}
