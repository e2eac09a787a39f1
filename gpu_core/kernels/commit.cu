// commit.cu -- write one half of a batch: rows and vertex records, and the runs that rows leave.
//
// Part of     the apply path: halves -> plan -> serve_demand -> **commit**
// Caller      gpu_core/cuda/commit.py          Host twin   gpu_core/host/commit.py, entries.py
// Reads       one half of a batch, its plan (plan.cu), the runs handed out for it (free_runs.cu)
// Writes      rows and vertex records of the half, bits and counts of freed runs; what became of
//             the entries of the first half in the header (ADDED … REPLACED), and by the last block
//             of the last launch NUM_VERTICES, NUM_EDGES and BATCHES
// Keeps       rows sorted by neighbour; a row's room is what the plan says. No word of a row is
//             written before all old entries that are needed of it have been read
//
// A row that shrinks keeps the half at the low address: its upper pages, where it begins already.
// Entries of several words go plane by plane, a plane being one word of all entries; planes are
// disjoint, and one that moves down (`soa`, a smaller run) meets only planes that were read before.
#include "rows.cuh"

static_assert(ENTRY_WORDS > 0, "compiled for each record");

constexpr int TICKET_COMMIT = 5;

// Properties of the batch's puts, as words; null where they are not kept.
struct Properties {
    const u32* weight;
    const u32* type;
    const u32* first;  // two words a put, low word first
    const u32* last;
    const u8* reset;
};

// Runs handed out (free_runs.cuh: run_of_rank), and the trees that freed ones are entered in.
struct Runs {
    const i64* service;
    const u32* taken;
    u32* tree;
    const i64* geometry;
};

// Word `word` of the entry of a put.
__device__ __forceinline__ u32 put_word(const Properties& properties, int word, u32 put) {
    if (word == WEIGHT_WORD) return properties.weight[put];
    if (word == TYPE_WORD) return properties.type[put];
    const size_t at = 2 * static_cast<size_t>(put);
    if (word < LAST_WORD) return properties.first[at + word - FIRST_WORD];
    return properties.last[at + word - LAST_WORD];
}

// Whether an entry of the batch writes this word of its entry of the adjacency: a put that finds
// its edge keeps the neighbour, and the first time unless that is reset.
__device__ __forceinline__ bool writes_word(u32 code, int word) {
    if (is_new(code)) return true;
    if (word == 0 || !is_found(code)) return false;
    return word < FIRST_WORD || word >= LAST_WORD || code == CODE_RESET;
}

// Whether an old entry goes on in this word; `code` is of the entry of the batch that it met.
__device__ __forceinline__ bool keeps_word(u32 code, int word) {
    return !is_taken(code) && !(is_found(code) && writes_word(code, word));
}

__device__ __forceinline__ u32 put_of(const Half& half, u32 entry) {
    return half.source != nullptr ? half.source[entry] : entry;
}

// Where a row lies before and after. Word w of entry i: from[i * step + w * from_field], …
struct Move {
    const u32* from;
    u32* to;
    i64 from_field;
    i64 to_field;
    bool stays;      // in the same run
    bool restrides;  // there, but its planes move
};

// `to_first`: first page of the run of a row that moves.
__device__ __forceinline__ Move move_of(
        u32* image, const Shape& shape, u32 first, u32 room, u32 to_first, u32 to_room, bool moves) {
    Move move;
    move.from = image + base_of(shape, first, room);
    move.to = moves ? image + base_of(shape, to_first, to_room) : image + base_of(shape, first, room);
    move.from_field = entry_field(shape, ENTRY_WORDS == 1 ? 0 : capacity_of(shape, room));
    move.to_field = entry_field(shape, ENTRY_WORDS == 1 ? 0 : capacity_of(shape, to_room));
    move.stays = !moves;
    move.restrides = ENTRY_WORDS > 1 && !moves && move.from_field != move.to_field;
    return move;
}

// First page of the run that a row gets which outgrows its own.
__device__ __forceinline__ u32 run_of_row(const Plan& plan, const Runs& runs, u32 number, u32 word) {
    const int size_class = static_cast<int>(word & PLAN_ROOM) - 1;
    const u32 tile = static_cast<u32>(plan.first_tile) + number / static_cast<u32>(plan.tile_rows);
    const u32 rank = plan.counts[size_class * plan.tiles + tile] + (word >> PLAN_RANK_SHIFT);
    return static_cast<u32>(run_of_rank(runs.service, runs.taken, size_class, rank));
}

// What became of the entries that a thread has seen (`host/plan.py: Tally`).
struct Tally {
    u32 added;
    u32 found_puts;
    u32 found_deletes;
    u32 removed;
    u32 replaced;
};

__device__ __forceinline__ void count_code(Tally& tally, u32 code) {
    tally.added += is_new(code);
    tally.replaced += code == CODE_AGAIN;
    tally.found_puts += is_found(code);
    tally.found_deletes += code == CODE_DELETED;
    tally.removed += is_taken(code);
}

// Add the tallies of a block to the header. All threads.
__device__ __forceinline__ void add_tally(i64* header, const Tally& tally) {
    __shared__ u32 sums[5];
    if (threadIdx.x < 5) sums[threadIdx.x] = 0;
    __syncthreads();
    const u32 own[5] = {tally.added, tally.found_puts, tally.found_deletes, tally.removed,
                        tally.replaced};
    #pragma unroll
    for (int i = 0; i < 5; ++i) {
        const u32 sum = __reduce_add_sync(FULL_WARP, own[i]);
        if (lane_of_thread() == 0 && sum != 0) atomicAdd(&sums[i], sum);
    }
    __syncthreads();
    if (threadIdx.x < 5 && sums[threadIdx.x] != 0) {
        atomicAdd(reinterpret_cast<u64*>(header + BATCH_FIELD_ADDED + threadIdx.x),
                  u64(sums[threadIdx.x]));
    }
}

// --- short and medium rows ------------------------------------------------------------------------

// Merge a row's old entries and its entries of the batch: LANES lanes a row, all lanes of the warp
// call; a group without a row has degree and count 0. Returns the change of the degree.
template <int LANES>
__device__ __forceinline__ i32 merge_row(
        const Half& half, const Properties& properties, u32 begin, u32 count, u32 degree,
        bool clear, const Move& move, u32 entry_step, u32* stage, Tally& tally) {
    const u32 lane = lane_of_group<LANES>();
    const u8* reset = ENTRY_WORDS > FIRST_WORD ? properties.reset : nullptr;
    stage_row<LANES>(stage, move.from, entry_step, degree);
    __syncwarp();
    const u32 old = clear ? 0 : degree;
    const u32 chunks = __reduce_max_sync(FULL_WARP, (count + LANES - 1) / LANES);
    i32 sum_of_first = 0;
    const Met first = meet_entries<LANES>(half, reset, begin, count, degree, clear, stage, 0,
                                          sum_of_first);
    const u32 unchanged = min(__shfl_sync(FULL_WARP, first.mark, 0, LANES) >> CODE_BITS, old);
    i32 change = 0;
    #pragma unroll 1
    for (int word = 0; word < ENTRY_WORDS; ++word) {
        const u32* source = stage;
        if (word > 0) {
            u32* plane = stage + PLANE_WORDS;
            __syncwarp();
            stage_row<LANES>(plane, move.from + word * move.from_field, entry_step, old);
            __syncwarp();
            source = plane;
        }
        u32* to = move.to + word * move.to_field;
        // Nothing is in its place yet.
        const bool copies = !move.stays || (move.restrides && word > 0);
        u32 cursor = copies ? 0 : unchanged;
        u32 mark_before = CODE_NOTHING;  // of the last entry of the chunk before
        i32 sum = 0;
        for (u32 chunk = 0; chunk == 0 || chunk < chunks; ++chunk) {
            const i32 sum_before = sum;
            Met met = first;
            if (chunk == 0) sum = sum_of_first;
            else met = meet_entries<LANES>(half, reset, begin, count, degree, clear, stage, chunk, sum);
            const u32 code = met.mark & CODE_MASK;
            if (word == 0) count_code(tally, code);
            if (writes_word(code, word)) {
                const u32 slot = (met.mark >> CODE_BITS) + met.before;
                to[static_cast<size_t>(slot) * entry_step] =
                    word == 0 ? met.column
                              : put_word(properties, word, put_of(half, begin + chunk * LANES + lane));
            }
            // Old entries before the position of the chunk's last entry: the entries of later
            // chunks do not move them.
            const u32 last_mark = __shfl_sync(FULL_WARP, met.mark, LANES - 1, LANES);
            const bool final = (chunk + 1) * LANES >= count;
            const u32 stop = final ? old : min(last_mark >> CODE_BITS, old);
            const i32 sum_with = met.before + delta_of(code);
            const u32 waiting = stop > cursor ? stop - cursor : 0;
            const u32 turns = __reduce_max_sync(FULL_WARP, (waiting + LANES - 1) / LANES);
            for (u32 turn = 0; turn < turns; ++turn) {
                const u32 i = cursor + turn * LANES + lane;
                // Entries of the chunk with a position up to i.
                u32 passed = 0;
                #pragma unroll
                for (u32 reach = LANES / 2; reach > 0; reach /= 2) {
                    const u32 mark = __shfl_sync(FULL_WARP, met.mark, passed + reach - 1, LANES);
                    if ((mark >> CODE_BITS) <= i) passed += reach;
                }
                if ((__shfl_sync(FULL_WARP, met.mark, passed, LANES) >> CODE_BITS) <= i) ++passed;
                u32 mark = __shfl_sync(FULL_WARP, met.mark, passed - 1, LANES);
                i32 shift = __shfl_sync(FULL_WARP, sum_with, passed - 1, LANES);
                if (passed == 0) {
                    mark = mark_before;
                    shift = sum_before;
                }
                const u32 met_code = (mark >> CODE_BITS) == i ? mark & CODE_MASK : CODE_NOTHING;
                if (i < stop && keeps_word(met_code, word) && (copies || shift != 0)) {
                    to[static_cast<size_t>(i + shift) * entry_step] = source[i];
                }
            }
            cursor = max(cursor, stop);
            mark_before = last_mark;
        }
        change = sum;
    }
    __syncwarp();
    return change;
}

// Rows of a block, as their lanes see them.
struct Rows {
    u32 begin[BLOCK];
    u32 count[BLOCK];
    u32 degree[BLOCK];  // before, and then after
    u32 first[BLOCK];
    u32 to_first[BLOCK];
    u32 state[BLOCK];   // room, room after << 8, and the flags below
    u8 medium[BLOCK];   // numbers of the medium rows
    u32 mediums;
};

constexpr u32 ROOM_MASK = 0xFF;
constexpr int TO_ROOM_SHIFT = 8;
constexpr u32 ROW_CLEAR = 1u << 16;
constexpr u32 ROW_MOVES = 1u << 17;
constexpr u32 ROW_SHORT = 1u << 18;
constexpr u32 ROW_MEDIUM = 1u << 19;

template <int LANES>
__device__ __forceinline__ void commit_row(
        u32* image, const Shape& shape, const Half& half, const Properties& properties, Rows& rows,
        u32* stage, u32 at, bool active, Tally& tally) {
    const u32 state = active ? rows.state[at] : 0;
    const u32 begin = active ? rows.begin[at] : 0;
    const u32 count = active ? rows.count[at] : 0;
    const u32 degree = active ? rows.degree[at] : 0;
    const bool clear = state & ROW_CLEAR;
    const u32 first = active ? rows.first[at] : 0;
    const u32 to_first = active ? rows.to_first[at] : 0;
    const Move move = move_of(image, shape, first, state & ROOM_MASK, to_first,
                              state >> TO_ROOM_SHIFT & ROOM_MASK, state & ROW_MOVES);
    const i32 change = merge_row<LANES>(half, properties, begin, count, degree, clear, move,
                                        static_cast<u32>(entry_step(shape)), stage, tally);
    if (active && lane_of_group<LANES>() == 0) rows.degree[at] = (clear ? 0 : degree) + change;
}

// The batch is done, or could not be done: add up what it came to, copy the header to `report` and
// leave the fields of the batch at 0. One block.
__device__ __forceinline__ void close_batch(
        i64* header, i64 sides, i64 more_vertices, i64* report) {
    if (threadIdx.x == 0 && __ldcg(header + BATCH_FIELD_STATUS) == BATCH_STATUS_OK) {
        // An entry that is lost and put again counts in both.
        const i64 more = __ldcg(header + BATCH_FIELD_ADDED) - __ldcg(header + BATCH_FIELD_REMOVED);
        header[FIELD_NUM_EDGES] += more / sides;
        header[FIELD_NUM_VERTICES] += more_vertices;
        header[FIELD_BATCHES] += 1;
    }
    __syncthreads();
    if (threadIdx.x < HEADER_FIELDS) {
        report[threadIdx.x] = __ldcg(header + threadIdx.x);
        if (threadIdx.x >= BATCH_FIELD_STATUS) header[threadIdx.x] = 0;
    }
}

// Launch    one block, after all else of a batch
extern "C" __global__ void __launch_bounds__(BLOCK) finish_batch(
        u32* image, i64 sides, i64 more_vertices, i64* report) {
    close_batch(header_of(image), sides, more_vertices, report);
}

// Launch    one block for each `block_rows` rows, a power of two up to BLOCK. `report`, i64[64]: this
//           is the last launch of the batch, and does what `finish_batch` does; null: it is not
// Cost      plan word, row, indptr and record of each row; entries of the batch; rows read once,
//           and written from the first change on
extern "C" __global__ void __launch_bounds__(BLOCK, ENTRY_WORDS == 1 ? 4 : 3) commit_rows(
        u32* image, Shape shape, Half half, Plan plan, Properties properties, Runs runs,
        i32 block_rows, i64 sides, i64 more_vertices, i64* report) {
    __shared__ u32 stage[STAGE_WORDS];
    __shared__ Rows rows;
    __shared__ u32 freed[CLASSES];
    i64* header = header_of(image);
    u32* ticket = reinterpret_cast<u32*>(header + BATCH_FIELD_TICKETS) + TICKET_COMMIT;
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) {
        if (report != nullptr && is_last_block(ticket)) {
            close_batch(header, sides, more_vertices, report);
        }
        return;
    }
    const u32 at = threadIdx.x;
    if (at < CLASSES) freed[at] = 0;
    if (at == 0) rows.mediums = 0;
    __syncthreads();

    Tally tally{};
    const i64 number = i64(blockIdx.x) * block_rows + at;
    Row row{};
    u32 word = 0;
    u32 state = 0;
    u32 to_first = 0;
    if (at < block_rows && number < *half.row_count) {
        row = open_row(image, shape, half, static_cast<u32>(number));
        word = plan.words[number];
        const u32 to_room = word & PLAN_ROOM;
        to_first = row.first;
        if (word & PLAN_GROWS) to_first = run_of_row(plan, runs, static_cast<u32>(number), word);
        state = row.room | to_room << TO_ROOM_SHIFT | (row.clear ? ROW_CLEAR : 0) |
                (word & PLAN_GROWS ? ROW_MOVES : 0);
        // Rows beyond the vertex table have deletes alone, which find nothing.
        if (row.vertex >= shape.vertex_count) word = PLAN_LONG;
        else if (row.clear) tally.removed = row.degree;
        if (!(word & PLAN_LONG)) state |= is_short(row.degree, row.count) ? ROW_SHORT : ROW_MEDIUM;
    }
    rows.begin[at] = row.begin;
    rows.count[at] = row.count;
    rows.degree[at] = row.degree;
    rows.first[at] = row.first;
    rows.to_first[at] = to_first;
    rows.state[at] = state;
    if (state & ROW_MEDIUM) rows.medium[atomicAdd(&rows.mediums, 1u)] = static_cast<u8>(at);
    __syncthreads();

    u32* warp_stage = stage + warp_of_thread() * PLANES * PLANE_WORDS;
    u32* group_stage = warp_stage + lane_of_thread() / LANES_SHORT * SHORT_STRIDE;
    for (u32 i = at / LANES_SHORT; i - lane_of_thread() / LANES_SHORT < block_rows; i += GROUPS) {
        const bool active = i < block_rows && (rows.state[i & (BLOCK - 1)] & ROW_SHORT);
        if (!__any_sync(FULL_WARP, active)) continue;
        commit_row<LANES_SHORT>(image, shape, half, properties, rows, group_stage, i, active, tally);
    }
    const u32 mediums = rows.mediums;
    for (u32 i = warp_of_thread(); i < mediums; i += WARPS) {
        commit_row<WARP>(image, shape, half, properties, rows, warp_stage, rows.medium[i], true, tally);
    }
    __syncthreads();

    // Records, and the runs that are left.
    if (at < block_rows && number < *half.row_count && row.vertex < shape.vertex_count) {
        const u32 room = row.room;
        const u32 to_room = state >> TO_ROOM_SHIFT & ROOM_MASK;
        const u32 degree = word & PLAN_LONG ? plan.after[number] : rows.degree[at];
        u32* record = image + record_of(shape, row.vertex);
        if (degree != row.degree) record[shape.degree_word] = degree;
        if (to_room != room) {
            int left = -1;  // class of the run that is left, from its first page on
            if (to_room > room) {
                left = static_cast<int>(room) - 1;
            } else if (to_room > 0) {
                left = static_cast<int>(to_room) - 1;
                to_first = row.first + (1u << left);
            } else {
                left = static_cast<int>(room) - 1;
                to_first = 0;
            }
            record[shape.first_word] = to_first;
            // The two directions share the state word, and may be written side by side.
            reinterpret_cast<u8*>(record + STATE_WORD)[shape.class_shift >> 3] =
                static_cast<u8>(to_room);
            if (left >= 0) {
                enter_run(runs.tree, runs.geometry, row.first, left);
                atomicAdd(&freed[left], 1u);
            }
        }
    }
    __syncthreads();
    if (at < CLASSES && freed[at] != 0) count_free_runs(runs.tree, header, at, freed[at]);
    if (half.number == 0) add_tally(header, tally);
    if (report != nullptr && is_last_block(ticket)) close_batch(header, sides, more_vertices, report);
}

// --- long rows --------------------------------------------------------------------------------------

// Where a long row lies before and after; its old entries are read from `staging` if they are there.
__device__ __forceinline__ Move move_of_long(
        u32* image, const Shape& shape, const Plan& plan, const Runs& runs, const Row& row,
        u32 number) {
    const u32 word = plan.words[number];
    const bool moves = word & PLAN_GROWS;
    const u32 to_first = moves ? run_of_row(plan, runs, number, word) : row.first;
    return move_of(image, shape, row.first, row.room, to_first, word & PLAN_ROOM, moves);
}

// Launch    any number of blocks; a block a tile of old entries in turn
// Writes    staging: old entries, plane by plane, of long rows that stay and are not `is_direct`
extern "C" __global__ void __launch_bounds__(BLOCK, 4) stage_long(
        u32* image, Shape shape, Half half, Plan plan, Runs runs) {
    const i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const u32 tiles = static_cast<u32>(header[BATCH_FIELD_LONG_TILES] >> 32);
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const LongRow& item = plan.long_rows[plan.old_tiles[tile]];
        if (item.half != half.number || item.clear || is_direct(item.degree, item.count)) continue;
        const Row row = open_row(image, shape, half, item.row);
        const Move move = move_of_long(image, shape, plan, runs, row, item.row);
        if (!move.stays) continue;
        const u32 begin = (tile - item.old_at) * OLD_TILE;
        const u32 end = min(begin + OLD_TILE, row.degree);
        // What lies before the first entry of the batch stays where it is.
        if (!move.restrides && (item.count == 0 || end <= plan.positions[item.begin])) continue;
        const i64 step = entry_step(shape);
        for (int word = 0; word < ENTRY_WORDS; ++word) {
            const u32* from = move.from + word * move.from_field;
            u32* to = plan.staging + item.staging + i64(word) * row.degree;
            #pragma unroll 4
            for (u32 i = begin + threadIdx.x; i < end; i += BLOCK) to[i] = from[i * step];
        }
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

// Launch    any number of blocks; a block a tile of old entries in turn, then one of entries
// Writes    the rows of long rows; their records are left to `commit_rows`, which comes after
extern "C" __global__ void __launch_bounds__(BLOCK, 4) commit_long(
        u32* image, Shape shape, Half half, Plan plan, Properties properties, Runs runs) {
    __shared__ u32 values[OLD_TILE];
    __shared__ u32 range[2];
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const i64 step = entry_step(shape);
    const u64 both = static_cast<u64>(header[BATCH_FIELD_LONG_TILES]);
    const u32 old_tiles = static_cast<u32>(both >> 32);
    for (u32 tile = blockIdx.x; tile < old_tiles; tile += gridDim.x) {
        const LongRow& item = plan.long_rows[plan.old_tiles[tile]];
        if (item.half != half.number || item.clear) continue;
        const Row row = open_row(image, shape, half, item.row);
        const Move move = move_of_long(image, shape, plan, runs, row, item.row);
        const bool direct = move.stays && is_direct(item.degree, item.count);
        const bool staged = move.stays && !direct;
        const u32 begin = (tile - item.old_at) * OLD_TILE;
        const u32 end = min(begin + OLD_TILE, row.degree);
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
                const u32* from = staged ? plan.staging + item.staging + i64(word) * row.degree
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
    const u32 tiles = static_cast<u32>(both);
    Tally tally{};
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const LongRow& item = plan.long_rows[plan.entry_tiles[tile]];
        if (item.half != half.number) continue;
        const u32 number = (tile - item.tile_at) * ENTRY_TILE + threadIdx.x;
        if (number >= item.count) continue;
        count_code(tally, plan.codes[item.begin + number]);
        const Row row = open_row(image, shape, half, item.row);
        const Move move = move_of_long(image, shape, plan, runs, row, item.row);
        // A row without old entries has no tile of them.
        if (move.stays && item.degree > 0 && !item.clear && is_direct(item.degree, item.count)) continue;
        for (int word = 0; word < ENTRY_WORDS; ++word) {
            put_entry(half, plan, properties, item, move, step, number, word);
        }
    }
    if (half.number == 0) add_tally(header, tally);
}
