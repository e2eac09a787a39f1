// plan.cu -- what a batch will do to each row that it touches, found without touching anything.
//
// Part of     the apply path: halves -> **plan** -> serve_demand -> commit
// Caller      gpu_core/cuda/plan.py            Host twin   gpu_core/host/plan.py
// Reads       the vertex records and rows, and one half of a batch (rows.cuh)
// Writes      the plan word of each row; by class and tile of rows, how many outgrow their run, and
//             from that `need`: runs to be taken by class. Nothing of the image but header fields.
// Keeps       the demand is exact before the first word of the graph changes, and the order of runs
//             within a class is that of the rows, so that both engines hand out the same pages
//
// A row is *settled* if its room stays as it is whatever its entries meet. Its record tells that;
// most rows of most batches are, and are not looked into here.
//
// Long rows (rows.cuh) are looked for only where the caller expects some: `find_long` lists them,
// `search_long` looks up their entries. Where they are met without being expected, the status says
// NEEDS_SCRATCH and the caller begins again.
#include "rows.cuh"

static_assert(ENTRY_WORDS > 0, "compiled for each record");

// u32 counters within TICKETS; [0] is for whoever needs one ticket for one launch.
constexpr int TICKET_PLAN = 6;
constexpr int CLASSES_USED = 7;

__device__ __forceinline__ u32* tickets_of(i64* header) {
    return reinterpret_cast<u32*>(header + BATCH_FIELD_TICKETS);
}

// Whether the room stays as it is even if all entries are new, or all of them are taken away.
__device__ __forceinline__ bool is_settled(const Shape& shape, const Half& half, const Row& row) {
    const u32 entries = capacity_of(shape, row.room);
    const i64 high = row.degree + (half.puts ? i64(row.count) : 0);
    const i64 low = row.degree - (half.deletes ? i64(row.count) : 0);
    if (row.clear || high > entries || low < 1) return false;
    return room_after(shape, row.room, low) == static_cast<int>(row.room);
}

// Launch    one thread a row
// Writes    long_rows, entry_tiles, old_tiles; their numbers and the staging that they need in
//           LONG_ROWS, LONG_TILES (entries, old entries << 32) and SCRATCH_BYTES of the header
// Order     the list is in no particular order, and none of what follows depends on it
extern "C" __global__ void __launch_bounds__(BLOCK, 4) find_long(
        u32* image, Shape shape, Half half, Plan plan) {
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

// Launch    any number of blocks; a block a tile of entries in turn
// Writes    positions, codes and sums of the entries of long rows, tile_sums; by the last tile of a
//           row its degree after and its plan word
extern "C" __global__ void __launch_bounds__(BLOCK, 4) search_long(
        u32* image, Shape shape, Half half, Plan plan, const u8* reset) {
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    if (header[BATCH_FIELD_SCRATCH_BYTES] > plan.staging_words * i64(sizeof(u32))) {
        if (threadIdx.x == 0) header[BATCH_FIELD_STATUS] = BATCH_STATUS_NEEDS_SCRATCH;
        return;
    }
    __shared__ bool last;
    const u32 tiles = static_cast<u32>(header[BATCH_FIELD_LONG_TILES]);
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        LongRow& item = plan.long_rows[plan.entry_tiles[tile]];
        if (item.half != half.number) continue;
        const Row row = open_row(image, shape, half, item.row);
        const Adjacency old = adjacency_at(shape, row.first, static_cast<int>(row.room), row.degree);
        const u32 at = (tile - item.tile_at) * ENTRY_TILE + threadIdx.x;
        const u32 entry = row.begin + at;
        i32 delta = 0;
        if (at < row.count) {
            const u32 column = half.columns[entry];
            const u32 kind = kind_of(half, entry);
            const u32 position = position_of(image, old.base, old.step, row.degree, column);
            const bool there =
                position < row.degree && image[old.base + position * old.step] == column;
            const bool gone = is_gone(half, row.begin, entry, column, kind, there);
            u32 code = code_of(kind, there, row.clear || gone);
            if (reset != nullptr && code == CODE_FOUND) {
                if (reset[half.source != nullptr ? half.source[entry] : entry]) code = CODE_RESET;
            }
            plan.positions[entry] = row.clear ? 0 : position + gone;
            plan.codes[entry] = static_cast<u8>(code);
            delta = delta_of(code);
        }
        i32 total;
        const i32 before = block_exclusive_sum<i32, BLOCK>(delta, total);
        if (at < row.count) plan.sums[entry] = before;
        if (threadIdx.x == 0) {
            plan.tile_sums[tile] = total;
            __threadfence();
            last = atomicAdd(&item.done, 1u) == item.tiles - 1;
        }
        __syncthreads();
        if (!last) continue;
        __threadfence();
        const i32 sum = sum_over_row(plan.tile_sums + item.tile_at, item.tiles);
        if (threadIdx.x == 0) {
            const u32 after = (row.clear ? 0 : row.degree) + sum;
            plan.after[item.row] = after;
            plan.words[item.row] =
                PLAN_LONG | static_cast<u32>(room_after(shape, static_cast<int>(row.room), after));
        }
    }
}

// Rows of one pass of a block: each thread opens ITEMS of them, so that their loads overlap.
constexpr int ITEMS = 2;
constexpr u32 PASS_ROWS = BLOCK * ITEMS;

// As the lanes of unsettled rows see them.
struct Rows {
    u32 begin[PASS_ROWS];
    u32 count[PASS_ROWS];
    u32 degree[PASS_ROWS];  // before, and then after
    u32 first[PASS_ROWS];
    u16 room[PASS_ROWS];    // ROW_CLEAR: and the row is cleared
    u16 unsettled[2][PASS_ROWS];  // numbers of short and of medium rows to be looked into
    u32 unsettled_count[2];
};
constexpr u32 ROW_CLEAR = 0x100;

// Degree after of one row a group of LANES lanes; `at` >= PASS_ROWS: this group has none.
template <int LANES>
__device__ __forceinline__ void count_after(
        const u32* image, const Shape& shape, const Half& half, Rows& rows, u32* stage, u32 at) {
    const bool active = at < PASS_ROWS;
    const u32 begin = active ? rows.begin[at] : 0;
    const u32 count = active ? rows.count[at] : 0;
    const u32 degree = active ? rows.degree[at] : 0;
    const u32 room = active ? rows.room[at] : 0;
    const bool clear = room & ROW_CLEAR;
    u32 column = column_of_chunk<LANES>(half, begin, count, 0);
    if (degree > 0) {
        stage_row<LANES>(stage, image + base_of(shape, rows.first[at], room & PLAN_ROOM),
                         static_cast<u32>(entry_step(shape)), degree);
    }
    __syncwarp();
    const u32 chunks = __reduce_max_sync(FULL_WARP, (count + LANES - 1) / LANES);
    i32 sum = 0;
    for (u32 chunk = 0; chunk < chunks; ++chunk) {
        if (chunk > 0) column = column_of_chunk<LANES>(half, begin, count, chunk);
        meet_entries<LANES>(half, nullptr, begin, count, degree, clear, stage, chunk, column, sum);
    }
    __syncwarp();
    if (active && lane_of_group<LANES>() == 0) rows.degree[at] = (clear ? 0 : degree) + sum;
}

// Enter row `at` in a list of the block, in no particular order.
__device__ __forceinline__ void list_row(Rows& rows, int list, u32 at, bool listed) {
    const u32 lanes = __ballot_sync(FULL_WARP, listed);
    if (lanes == 0) return;
    u32 first = 0;
    if (lane_of_thread() == 0) first = atomicAdd(&rows.unsettled_count[list], __popc(lanes));
    first = __shfl_sync(FULL_WARP, first, 0);
    const u32 below = __popc(lanes & ((1u << lane_of_thread()) - 1));
    if (listed) rows.unsettled[list][first + below] = static_cast<u16>(at);
}

// Numbers of a class by tile: each becomes the sum of those before it. A warp; returns the sum of
// all. Each lane has tiles that lie side by side, four a load.
__device__ __forceinline__ u32 sum_over_tiles(u32* counts, u32 tiles) {
    constexpr u32 LOADS = 4;
    const u32 share = (tiles + 4 * WARP - 1) / (4 * WARP);
    uint4* quads = reinterpret_cast<uint4*>(counts) + lane_of_thread() * share;
    const u32 first = lane_of_thread() * share * 4;
    u32 own = 0;
    for (u32 begin = 0; begin < share; begin += LOADS) {
        #pragma unroll
        for (u32 load = 0; load < LOADS; ++load) {
            const u32 tile = first + (begin + load) * 4;
            if (begin + load >= share || tile >= tiles) continue;
            const uint4 quad = __ldcg(quads + begin + load);
            own += quad.x + (tile + 1 < tiles ? quad.y : 0) + (tile + 2 < tiles ? quad.z : 0) +
                   (tile + 3 < tiles ? quad.w : 0);
        }
    }
    u32 total;
    u32 sum = warp_exclusive_sum(own, total);
    for (u32 begin = 0; begin < share; begin += LOADS) {
        uint4 quad[LOADS];
        #pragma unroll
        for (u32 load = 0; load < LOADS; ++load) {
            const bool there = begin + load < share && first + (begin + load) * 4 < tiles;
            quad[load] = there ? __ldcg(quads + begin + load) : make_uint4(0, 0, 0, 0);
        }
        #pragma unroll
        for (u32 load = 0; load < LOADS; ++load) {
            const uint4 number = quad[load];
            const uint4 before = make_uint4(sum, sum + number.x, sum + number.x + number.y,
                                            sum + number.x + number.y + number.z);
            sum = before.w + number.w;
            if (begin + load < share && first + (begin + load) * 4 < tiles) {
                quads[begin + load] = before;
            }
        }
    }
    return total;
}

// Launch    one block a tile of `tile_rows` rows; `last`: this is the last half that is launched
// Writes    plan words, counts; by the last block `need` and MOVED_ROWS
// Cost      rows, indptr and records of all rows (20 to 32 bytes each), what is unsettled of the
//           adjacencies, 4 bytes a row written
extern "C" __global__ void __launch_bounds__(BLOCK, 4) plan_rows(
        u32* image, Shape shape, Half half, Plan plan, i32 last) {
    __shared__ u32 stage[WARPS * PLANE_WORDS];
    __shared__ Rows rows;
    __shared__ u32 tile_counts[CLASSES];
    __shared__ u32 warp_counts[ITEMS * WARPS][CLASSES];
    // Another block may set the status meanwhile: the block asks once.
    __shared__ i64 row_count;
    i64* header = header_of(image);
    const u32 warp = warp_of_thread();
    const u32 lane = lane_of_thread();
    u32* warp_stage = stage + warp * PLANE_WORDS;
    u32* group_stage = warp_stage + lane / LANES_SHORT * SHORT_STRIDE;
    if (threadIdx.x < CLASSES) tile_counts[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        row_count = header[BATCH_FIELD_STATUS] == BATCH_STATUS_OK ? *half.row_count : 0;
    }
    __syncthreads();

    const i64 tile_begin = blockIdx.x * plan.tile_rows;
    const i64 tile_end = min(row_count, tile_begin + plan.tile_rows);
    for (i64 pass = tile_begin; pass < tile_end; pass += PASS_ROWS) {
        u32 word[ITEMS];
        u32 room[ITEMS];
        bool unsettled[ITEMS];
        if (threadIdx.x < 2) rows.unsettled_count[threadIdx.x] = 0;
        __syncthreads();
        #pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            const u32 at = item * BLOCK + threadIdx.x;
            const i64 number = pass + at;
            const bool valid = number < tile_end;
            Row row{};
            if (valid) row = open_row(image, shape, half, static_cast<u32>(number));
            const bool longer = is_long(row.degree, row.count);
            unsettled[item] = valid && !longer && !is_settled(shape, half, row);
            room[item] = word[item] = row.room;
            if (unsettled[item] && row.degree == 0 && half.kinds == nullptr) {
                // A row of no entries: all puts are new.
                const u32 after = half.kind == KIND_PUT ? row.count : 0;
                word[item] = static_cast<u32>(room_after(shape, static_cast<int>(row.room), after));
                unsettled[item] = false;
            }
            if (longer) {
                if (plan.long_rows != nullptr) word[item] = plan.words[number];
                else header[BATCH_FIELD_STATUS] = BATCH_STATUS_NEEDS_SCRATCH;
            }
            if (unsettled[item]) {
                rows.begin[at] = row.begin;
                rows.count[at] = row.count;
                rows.degree[at] = row.degree;
                rows.first[at] = row.first;
                rows.room[at] = static_cast<u16>(row.room | (row.clear ? ROW_CLEAR : 0));
            }
            const bool shorter = is_short(row.degree, row.count);
            list_row(rows, 0, at, unsettled[item] && shorter);
            list_row(rows, 1, at, unsettled[item] && !shorter);
            warp_counts[item * WARPS + warp][lane] = 0;
        }
        __syncthreads();

        const u32 shorts = rows.unsettled_count[0];
        const u32 groups_before = warp * GROUPS_OF_WARP;
        for (u32 i = groups_before; i < shorts; i += GROUPS) {
            const u32 number = i + lane / LANES_SHORT;
            count_after<LANES_SHORT>(image, shape, half, rows, group_stage,
                                     number < shorts ? rows.unsettled[0][number] : PASS_ROWS);
        }
        const u32 mediums = rows.unsettled_count[1];
        for (u32 i = warp; i < mediums; i += WARPS) {
            count_after<WARP>(image, shape, half, rows, warp_stage, rows.unsettled[1][i]);
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
                warp_counts[item * WARPS + warp][to_room - 1] = __popc(same);
            }
        }
        if (__syncthreads_or(some)) {
            if (threadIdx.x < CLASSES) {
                u32 sum = tile_counts[threadIdx.x];
                for (int i = 0; i < ITEMS * WARPS; ++i) {
                    const u32 own = warp_counts[i][threadIdx.x];
                    warp_counts[i][threadIdx.x] = sum;
                    sum += own;
                }
                tile_counts[threadIdx.x] = sum;
            }
            __syncthreads();
            #pragma unroll
            for (int item = 0; item < ITEMS; ++item) {
                if ((word[item] & PLAN_GROWS) == 0) continue;
                rank[item] += warp_counts[item * WARPS + warp][(word[item] & PLAN_ROOM) - 1];
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
    if (warp == 0) {
        const u32 count = tile_counts[lane];
        plan.counts[lane * plan.stride + plan.first_tile + blockIdx.x] = count;
        const u32 used = __ballot_sync(FULL_WARP, count > 0);
        if (lane == 0 && used != 0) atomicOr(tickets_of(header) + CLASSES_USED, used);
    }
    if (!last || !is_last_block(tickets_of(header) + TICKET_PLAN)) return;

    const u32 used = __ldcg(tickets_of(header) + CLASSES_USED);
    __shared__ u64 moved;
    if (threadIdx.x == 0) moved = 0;
    __syncthreads();
    // The classes in use go round the warps.
    u32 turn = 0;
    for (u32 size_class = 0; size_class < CLASSES; ++size_class) {
        if ((used >> size_class & 1) == 0) {
            if (threadIdx.x == 0) plan.need[size_class] = 0;
            continue;
        }
        if (turn++ % WARPS != warp) continue;
        const u32 sum = sum_over_tiles(plan.counts + size_class * plan.stride,
                                       static_cast<u32>(plan.tiles));
        if (lane == 0) {
            plan.need[size_class] = sum;
            atomicAdd(&moved, u64(sum));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        header[BATCH_FIELD_MOVED_ROWS] = static_cast<i64>(moved);
        tickets_of(header)[CLASSES_USED] = 0;
    }
}
