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

// From word `from` in a run of `room` to word `to` in one of `to_room`; `moves`: to another run.
__device__ __forceinline__ Move move_between(
        u32* image, const Shape& shape, i64 from, u32 room, i64 to, u32 to_room, bool moves) {
    Move move;
    move.from = image + from;
    move.to = image + to;
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
    const u32 rank = plan.counts[size_class * plan.stride + tile] + (word >> PLAN_RANK_SHIFT);
    return static_cast<u32>(run_of_rank(runs.service, runs.taken, size_class, rank));
}

// What became of the entries that a thread has seen (`host/plan.py: Tally`): five numbers of
// TALLY_BITS each, in the order of the header. Of short and medium rows a thread sees fewer entries.
typedef u64 Tally;
constexpr int TALLY_BITS = 12;
constexpr int TALLIES = 5;
constexpr u32 MOST_SEEN = 2048;
constexpr u64 TALLY_ADDED = 1;
constexpr u64 TALLY_FOUND_PUT = u64(1) << TALLY_BITS;
constexpr u64 TALLY_FOUND_DELETE = u64(1) << 2 * TALLY_BITS;
constexpr u64 TALLY_REMOVED = u64(1) << 3 * TALLY_BITS;
constexpr u64 TALLY_REPLACED = u64(1) << 4 * TALLY_BITS;

__device__ __forceinline__ void count_code(Tally& tally, u32 code) {
    u64 counted = 0;
    if (code == CODE_NEW) counted = TALLY_ADDED;
    if (code == CODE_AGAIN) counted = TALLY_ADDED | TALLY_REPLACED;
    if (is_found(code)) counted = TALLY_FOUND_PUT;
    if (code == CODE_DELETED) counted = TALLY_FOUND_DELETE | TALLY_REMOVED;
    if (code == CODE_MENTIONED) counted = TALLY_REMOVED;
    tally += counted;
}

// Add the tallies of a block to the header. All threads.
__device__ __forceinline__ void add_tally(i64* header, Tally tally) {
    __shared__ u32 sums[TALLIES];
    if (threadIdx.x < TALLIES) sums[threadIdx.x] = 0;
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < TALLIES; ++i) {
        const u32 own = static_cast<u32>(tally >> i * TALLY_BITS) & ((1 << TALLY_BITS) - 1);
        const u32 sum = __reduce_add_sync(FULL_WARP, own);
        if (lane_of_thread() == 0 && sum != 0) atomicAdd(&sums[i], sum);
    }
    __syncthreads();
    if (threadIdx.x < TALLIES && sums[threadIdx.x] != 0) {
        atomicAdd(reinterpret_cast<u64*>(header + BATCH_FIELD_ADDED + threadIdx.x),
                  u64(sums[threadIdx.x]));
    }
}

// --- short and medium rows ------------------------------------------------------------------------

// A lane's entry of the batch as the lanes of its row ask for it: position, code, and the sum of
// delta over the entries up to it. Sorted by position; lanes without an entry are behind all others.
constexpr int SUM_BITS = 11;
constexpr i32 SUM_BIAS = 1 << (SUM_BITS - 1);
constexpr int PASSED_CODE_SHIFT = SUM_BITS;
constexpr int PASSED_POSITION_SHIFT = SUM_BITS + CODE_BITS;
static_assert(LONG_ENTRIES < SUM_BIAS, "a sum fits its bits");
static_assert(LONG_DEGREE < 1 << (32 - PASSED_POSITION_SHIFT), "a position fits its bits");

__device__ __forceinline__ u32 passed_of(const Met& met) {
    if (met.mark == ~0u) return ~0u;
    const i32 sum = met.before + delta_of(met.mark & CODE_MASK);
    return met.mark << PASSED_CODE_SHIFT | static_cast<u32>(sum + SUM_BIAS);
}

// Merge a row's old entries and its entries of the batch: LANES lanes a row, all lanes of the warp
// call; a group without a row has degree and count 0. Returns the change of the degree.
template <int LANES>
__device__ __forceinline__ i32 merge_row(
        const Half& half, const Properties& properties, u32 begin, u32 count, u32 degree,
        bool clear, const Move& move, u32 step, u32* stage, Tally& tally) {
    const u32 lane = lane_of_group<LANES>();
    const u8* reset = ENTRY_WORDS > FIRST_WORD ? properties.reset : nullptr;
    const u32 first_column = column_of_chunk<LANES>(half, begin, count, 0);
    stage_row<LANES>(stage, move.from, step, degree);
    __syncwarp();
    const u32 old = clear ? 0 : degree;
    const u32 chunks = __reduce_max_sync(FULL_WARP, (count + LANES - 1) / LANES);
    i32 sum_of_first = 0;
    const Met first = meet_entries<LANES>(half, reset, begin, count, degree, clear, stage, 0,
                                          first_column, sum_of_first);
    const u32 unchanged = min(__shfl_sync(FULL_WARP, first.mark, 0, LANES) >> CODE_BITS, old);
    i32 change = 0;
    #pragma unroll 1
    for (int word = 0; word < ENTRY_WORDS; ++word) {
        const u32* source = stage;
        if (word > 0) {
            u32* plane = stage + PLANE_WORDS;
            __syncwarp();
            stage_row<LANES>(plane, move.from + word * move.from_field, step, old);
            __syncwarp();
            source = plane;
        }
        u32* to = move.to + word * move.to_field;
        // Nothing is in its place yet.
        const bool copies = !move.stays || (move.restrides && word > 0);
        u32 cursor = copies ? 0 : unchanged;
        u32 passed_before = SUM_BIAS;  // the last entry of the chunk before
        i32 sum = 0;
        for (u32 chunk = 0; chunk == 0 || chunk < chunks; ++chunk) {
            Met met = first;
            if (chunk == 0) {
                sum = sum_of_first;
            } else {
                const u32 column = column_of_chunk<LANES>(half, begin, count, chunk);
                met = meet_entries<LANES>(half, reset, begin, count, degree, clear, stage, chunk,
                                          column, sum);
            }
            const u32 code = met.mark & CODE_MASK;
            if (word == 0) count_code(tally, code);
            if (writes_word(code, word)) {
                const u32 slot = (met.mark >> CODE_BITS) + met.before;
                to[static_cast<size_t>(slot) * step] =
                    word == 0 ? met.column
                              : put_word(properties, word, put_of(half, begin + chunk * LANES + lane));
            }
            // Old entries before the position of the chunk's last entry: the entries of later
            // chunks do not move them.
            const u32 own = passed_of(met);
            const u32 last = __shfl_sync(FULL_WARP, own, LANES - 1, LANES);
            const bool final = (chunk + 1) * LANES >= count;
            const u32 stop = final ? old : min(last >> PASSED_POSITION_SHIFT, old);
            const u32 waiting = stop > cursor ? stop - cursor : 0;
            const u32 turns = __reduce_max_sync(FULL_WARP, (waiting + LANES - 1) / LANES);
            for (u32 turn = 0; turn < turns; ++turn) {
                const u32 i = cursor + turn * LANES + lane;
                // The last entry with a position up to i.
                u32 passed = passed_before;
                u32 below = 0;
                #pragma unroll
                for (u32 reach = LANES / 2; reach > 0; reach /= 2) {
                    const u32 other = __shfl_sync(FULL_WARP, own, below + reach - 1, LANES);
                    if ((other >> PASSED_POSITION_SHIFT) <= i) {
                        below += reach;
                        passed = other;
                    }
                }
                const u32 other = __shfl_sync(FULL_WARP, own, below, LANES);
                if ((other >> PASSED_POSITION_SHIFT) <= i) passed = other;
                const i32 shift = static_cast<i32>(passed & ((1 << SUM_BITS) - 1)) - SUM_BIAS;
                const bool meets = (passed >> PASSED_POSITION_SHIFT) == i;
                const u32 met_code = meets ? passed >> PASSED_CODE_SHIFT & CODE_MASK : CODE_NOTHING;
                if (i < stop && keeps_word(met_code, word) && (copies || shift != 0)) {
                    to[static_cast<size_t>(i + shift) * step] = source[i];
                }
            }
            cursor = max(cursor, stop);
            passed_before = last;
        }
        change = sum;
    }
    __syncwarp();
    return change;
}

// Rows of a block, as their lanes see them.
struct Rows {
    u32 vertex[BLOCK];
    u32 begin[BLOCK];
    u32 count[BLOCK];
    u32 before[BLOCK];
    u32 degree[BLOCK];  // before, and then after
    u32 first[BLOCK];
    u32 to_first[BLOCK];
    u32 state[BLOCK];   // room, room after << 8, and the flags below
    i64 from[BLOCK];    // words where the row lies before and after
    i64 to[BLOCK];
    u8 medium[BLOCK];   // numbers of the medium rows
    u32 mediums;
};

constexpr u32 ROOM_MASK = 0xFF;
constexpr int TO_ROOM_SHIFT = 8;
constexpr u32 ROW_CLEAR = 1u << 16;
constexpr u32 ROW_MOVES = 1u << 17;
constexpr u32 ROW_SHORT = 1u << 18;
constexpr u32 ROW_LONG = 1u << 19;
constexpr u32 ROW_THERE = 1u << 20;

template <int LANES>
__device__ __forceinline__ void commit_row(
        u32* image, const Shape& shape, const Half& half, const Properties& properties, Rows& rows,
        u32* stage, u32 at, bool active, Tally& tally) {
    const u32 state = active ? rows.state[at] : 0;
    const u32 begin = active ? rows.begin[at] : 0;
    const u32 count = active ? rows.count[at] : 0;
    const u32 degree = active ? rows.degree[at] : 0;
    const bool clear = state & ROW_CLEAR;
    const Move move = move_between(image, shape, active ? rows.from[at] : 0, state & ROOM_MASK,
                                   active ? rows.to[at] : 0, state >> TO_ROOM_SHIFT & ROOM_MASK,
                                   state & ROW_MOVES);
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
extern "C" __global__ void __launch_bounds__(BLOCK, ENTRY_WORDS == 1 ? 5 : 4) commit_rows(
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

    Tally tally = 0;
    const i64 first_number = i64(blockIdx.x) * block_rows;
    rows.state[at] = 0;
    if (at < block_rows && first_number + at < *half.row_count) {
        const u32 number = static_cast<u32>(first_number) + at;
        const Row row = open_row(image, shape, half, number);
        // Rows beyond the vertex table have deletes alone, which find nothing.
        if (row.vertex < shape.vertex_count) {
            const u32 word = plan.words[number];
            const u32 to_room = word & PLAN_ROOM;
            u32 state = row.room | to_room << TO_ROOM_SHIFT | ROW_THERE;
            const i64 from = base_of(shape, row.first, row.room);
            u32 to_first = row.first;
            i64 to = from;
            if (word & PLAN_GROWS) {
                to_first = run_of_row(plan, runs, number, word);
                to = base_of(shape, to_first, to_room);
                state |= ROW_MOVES;
            }
            if (row.clear) state |= ROW_CLEAR;
            if (word & PLAN_LONG) {
                state |= ROW_LONG;
                if (row.clear && half.number == 0) {
                    atomicAdd(reinterpret_cast<u64*>(header + BATCH_FIELD_REMOVED), u64(row.degree));
                }
            } else if (row.clear) {
                tally = row.degree * TALLY_REMOVED;
            }
            if (word & PLAN_LONG) {
                // `commit_long` has written it.
            } else if (is_short(row.degree, row.count)) {
                state |= ROW_SHORT;
            } else {
                rows.medium[atomicAdd(&rows.mediums, 1u)] = static_cast<u8>(at);
            }
            rows.vertex[at] = row.vertex;
            rows.begin[at] = row.begin;
            rows.count[at] = row.count;
            rows.before[at] = rows.degree[at] = row.degree;
            rows.first[at] = row.first;
            rows.to_first[at] = to_first;
            rows.from[at] = from;
            rows.to[at] = to;
            rows.state[at] = state;
        }
    }
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
    const u32 state = rows.state[at];
    if (state & ROW_THERE) {
        const u32 room = state & ROOM_MASK;
        const u32 to_room = state >> TO_ROOM_SHIFT & ROOM_MASK;
        const u32 degree = state & ROW_LONG ? plan.after[first_number + at] : rows.degree[at];
        u32* record = image + record_of(shape, rows.vertex[at]);
        if (degree != rows.before[at]) record[shape.degree_word] = degree;
        if (to_room != room) {
            // The run that is left: the old one, or the half of it that is not kept.
            const bool halves = to_room > 0 && to_room < room;
            const int left = static_cast<int>(halves ? to_room : room) - 1;
            u32 to_first = rows.to_first[at];
            if (halves) to_first += 1u << left;
            record[shape.first_word] = to_room > 0 ? to_first : 0;
            // The two directions share the state word, and may be written side by side.
            reinterpret_cast<u8*>(record + STATE_WORD)[shape.class_shift >> 3] =
                static_cast<u8>(to_room);
            if (left >= 0) {
                enter_run(runs.tree, runs.geometry, rows.first[at], left);
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
    const u32 to_room = word & PLAN_ROOM;
    const i64 from = base_of(shape, row.first, row.room);
    const bool moves = word & PLAN_GROWS;
    const i64 to = moves ? base_of(shape, run_of_row(plan, runs, number, word), to_room) : from;
    return move_between(image, shape, from, row.room, to, to_room, moves);
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
    Tally tally = 0;
    u32 turn = 0;
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        if (++turn % MOST_SEEN == 0) {
            if (half.number == 0) add_tally(header, tally);
            tally = 0;
        }
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
