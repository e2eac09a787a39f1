// commit_rows.cuh -- write the rows of a tile, their records and the runs that they leave, by one block.
//
// Reads       one delta of a batch, its plan (plan_rows.cuh), the runs allocated for it
// Writes      as `commit_rows` (commit.cu)
//
// A row that shrinks keeps the half at the low address: its upper pages, where it begins already.
// Entries of several words go plane by plane, a plane being one word of all entries; planes are
// disjoint, and one that moves down (`soa`, a smaller run) meets only planes that were read before.
#pragma once
#include "closing.cuh"
#include "kept_rows.cuh"
#include "merge_rows.cuh"

static_assert(ENTRY_WORDS > 0, "compiled for each record");

namespace committing {

constexpr int LISTS = 5;

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
    // Numbers of the rows of each length: narrow rows are listed by each warp for itself.
    u8 listed[LISTS][BLOCK];
    u32 listed_count[LISTS];
};

// Lengths of rows that a block writes, and how many lanes each gets. A warp writes the narrow ones of
// its own rows as soon as it has opened them; the others are shared out among the block.
constexpr int NARROW = 0;  // kept by LANES_KEPT lanes
constexpr int WIDE = 1;    // kept by twice as many
constexpr int BROAD = 2;   // kept by a warp
constexpr int SHORT = 3;
constexpr int MEDIUM = 4;

constexpr u32 ROOM_MASK = 0xFF;
constexpr int TO_ROOM_SHIFT = 8;
constexpr u32 ROW_CLEAR = 1u << 16;
constexpr u32 ROW_MOVES = 1u << 17;
constexpr u32 ROW_LONG = 1u << 18;
constexpr u32 ROW_THERE = 1u << 19;

// How a row is written that is not long.
__device__ __forceinline__ int list_of_row(const Delta& delta, const Row& row, bool aligned) {
    if (ENTRY_WORDS == 1 && aligned && !row.clear) {
        const u32 most = row.degree + (delta.puts ? row.count : 0);
        if (most <= capacity_of_lanes(LANES_KEPT)) return NARROW;
        if (most <= capacity_of_lanes(2 * LANES_KEPT)) return WIDE;
        const bool broad = most <= min(capacity_of_lanes(WARP), u32(LONG_DEGREE));
        if (broad && row.count <= WARP_ENTRIES) return BROAD;
    }
    return is_short(row.degree, row.count) ? SHORT : MEDIUM;
}

// Write a kept row. All lanes of the warp call; a group that is not `active` has no row.
template <int LANES, int ENTRIES>
__device__ __forceinline__ void commit_kept_row(
        u32* image, const Delta& delta, Rows& rows, u32 at, bool active, Tally& tally) {
    const u32 degree = active ? rows.degree[at] : 0;
    Coming<LANES> coming(delta, rows.begin[at], active ? rows.count[at] : 0);
    u32 kept[KEPT];
    keep_row<LANES>(kept, image + rows.from[at], degree);
    const u32 first = coming.first();
    const Changed changed = apply_entries<LANES, ENTRIES>(kept, coming, degree);
    __syncwarp();  // all lanes have read the degree that one of them replaces
    if (!active) return;
    const bool moves = rows.state[at] & ROW_MOVES;
    if (moves || changed.added + changed.removed > 0) {
        write_kept<LANES>(kept, image + rows.to[at], changed.degree, moves ? 0 : first);
    }
    if (lane_of_group<LANES>() == 0) {
        rows.degree[at] = changed.degree;
        tally += tally_of(changed);
    }
}

// Write listed rows, from `first` on, `step` from one iteration of the warp to the next.
template <int LANES, int ENTRIES>
__device__ __forceinline__ void commit_kept_rows(
        u32* image, const Delta& delta, Rows& rows, const u8* listed, u32 count, u32 first, u32 step,
        Tally& tally) {
    for (u32 i = first; i < count; i += step) {
        const u32 position = i + lane_of_thread() / LANES;
        const u32 row = listed[min(position, count - 1)];
        commit_kept_row<LANES, ENTRIES>(image, delta, rows, row, position < count, tally);
    }
}

// The same, by what entries the delta has.
template <int LANES>
__device__ __forceinline__ void commit_kept(
        u32* image, const Delta& delta, Rows& rows, const u8* listed, u32 count, u32 first, u32 step,
        Tally& tally) {
    if (delta.kind == KIND_PUT) {
        commit_kept_rows<LANES, ONLY_PUTS>(image, delta, rows, listed, count, first, step, tally);
    } else if (delta.kind == KIND_DELETE) {
        commit_kept_rows<LANES, ONLY_DELETES>(image, delta, rows, listed, count, first, step, tally);
    } else {
        commit_kept_rows<LANES, MIXED>(image, delta, rows, listed, count, first, step, tally);
    }
}

template <int LANES>
__device__ __forceinline__ void commit_row(
        u32* image, const Shape& shape, const Delta& delta, const Properties& properties, Rows& rows,
        u32* stage, u32 at, bool active, Tally& tally) {
    const u32 state = active ? rows.state[at] : 0;
    const u32 begin = active ? rows.begin[at] : 0;
    const u32 count = active ? rows.count[at] : 0;
    const u32 degree = active ? rows.degree[at] : 0;
    const bool clear = state & ROW_CLEAR;
    const Move move = move_between(image, shape, active ? rows.from[at] : 0, state & ROOM_MASK,
                                   active ? rows.to[at] : 0, state >> TO_ROOM_SHIFT & ROOM_MASK,
                                   state & ROW_MOVES);
    const i32 change = merge_row<LANES>(delta, properties, begin, count, degree, clear, move,
                                        static_cast<u32>(entry_step(shape)), stage, tally);
    if (active && lane_of_group<LANES>() == 0) rows.degree[at] = (clear ? 0 : degree) + change;
}

// What becomes of rows, in the order of the header (`host/update/tally.py: Tally`).
constexpr int MOVED = 0;
constexpr int APPENDED = 1;
constexpr int MERGED = 2;
constexpr int FATES = 3;
static_assert(BATCH_FIELD_MERGED_ROWS - BATCH_FIELD_MOVED_ROWS == MERGED - MOVED, "side by side");

// What the threads of the block share.
struct Written {
    Rows rows;
    u32 freed[CLASSES];
    u32 fates[FATES];  // of its rows whose degree changes
    u32 stage[STAGE_WORDS];
};

// What became of the thread's row, written by now; -1 where its degree stays, or where it is large, and
// counted by the block that merges it.
__device__ __forceinline__ int fate_of(
        const u32* image, const Shape& shape, const Delta& delta, const Plan& plan, const Rows& rows,
        u32 number) {
    const u32 at = threadIdx.x;
    const u32 state = rows.state[at];
    if (!(state & ROW_THERE)) return -1;
    if (state & ROW_MOVES) return MOVED;
    const u32 degree = state & ROW_LONG ? plan.after[number] : rows.degree[at];
    if (degree == rows.before[at] || degree == MERGED_IN_BLOCK) return -1;
    if (degree < rows.before[at] || state & ROW_CLEAR) return MERGED;
    const u32* last = image + rows.to[at] + i64(rows.before[at] - 1) * entry_step(shape);
    return is_appended(last, delta, rows.begin[at]) ? APPENDED : MERGED;
}

// Before `commit_block`, and a barrier between. All threads of the block.
__device__ __forceinline__ void begin_block(Written& written) {
    if (threadIdx.x < CLASSES) written.freed[threadIdx.x] = 0;
    if (threadIdx.x < FATES) written.fates[threadIdx.x] = 0;
    if (threadIdx.x < LISTS) written.rows.listed_count[threadIdx.x] = 0;
}

// Write row `number` of the delta, one a thread: `row` is its data in the delta, `word` its plan
// word; `valid`: there is such a row. All threads of the block.
__device__ __forceinline__ void commit_block(
        u32* image, const Shape& shape, const Delta& delta, const Plan& plan,
        const Properties& properties, const Runs& runs, u32 number, Row& row, u32 word, u32 row_count,
        Written& written) {
    Rows& rows = written.rows;
    i64* header = header_of(image);
    const u32 at = threadIdx.x;
    Tally tally = 0;
    rows.state[at] = 0;
    const bool aligned = quads_are_aligned(shape);
    int list = -1;
    if (number < row_count) {
        // Rows beyond the vertex table have deletes alone, which find nothing.
        if (row.vertex < shape.vertex_count) {
            read_record(image, shape, delta, row);
            const u32 to_room = word & PLAN_ROOM;
            u32 state = row.room | to_room << TO_ROOM_SHIFT | ROW_THERE;
            const i64 from = base_of(shape, row.first, row.room);
            if (!(word & PLAN_LONG)) list = list_of_row(delta, row, aligned);
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
                if (row.clear && delta.number == 0) {
                    atomicAdd(reinterpret_cast<u64*>(header + BATCH_FIELD_REMOVED), u64(row.degree));
                }
            } else if (row.clear) {
                tally = row.degree * TALLY_REMOVED;
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
    #pragma unroll
    for (int i = WIDE; i <= MEDIUM; ++i) {
        append(rows.listed[i], rows.listed_count[i], at, list == i);
    }
    const u32 warp = warp_of_thread();
    const u32 lane = lane_of_thread();
    if (ENTRY_WORDS == 1) {
        u8* narrow = rows.listed[NARROW] + warp * WARP;
        const u32 count = list_in_warp(narrow, at, list == NARROW, row.count);
        commit_kept<LANES_KEPT>(
            image, delta, rows, narrow, count, 0, WARP / LANES_KEPT, tally);
    }
    // The rows of the block are listed, and the narrow ones written.
    if (__syncthreads_or(list > NARROW)) {
        if (ENTRY_WORDS == 1) {
            commit_kept<WARP>(
                image, delta, rows, rows.listed[BROAD], rows.listed_count[BROAD], warp, WARPS, tally);
            constexpr u32 AT_ONCE = WARP / (2 * LANES_KEPT);
            commit_kept<2 * LANES_KEPT>(image, delta, rows, rows.listed[WIDE], rows.listed_count[WIDE],
                                        warp * AT_ONCE, WARPS * AT_ONCE, tally);
        }
        const u32 short_count = rows.listed_count[SHORT];
        const u32 medium_count = rows.listed_count[MEDIUM];
        u32* warp_stage = written.stage + warp * PLANES * PLANE_WORDS;
        u32* group_stage = warp_stage + lane / LANES_SHORT * SHORT_STRIDE;
        for (u32 i = warp * GROUPS_OF_WARP; i < short_count; i += GROUPS) {
            const u32 position = i + lane / LANES_SHORT;
            const bool active = position < short_count;
            const u32 row = rows.listed[SHORT][active ? position : i];
            commit_row<LANES_SHORT>(
                image, shape, delta, properties, rows, group_stage, row, active, tally);
        }
        for (u32 i = warp; i < medium_count; i += WARPS) {
            const u32 row = rows.listed[MEDIUM][i];
            commit_row<WARP>(image, shape, delta, properties, rows, warp_stage, row, true, tally);
        }
        __syncthreads();
    }

    // Records, and the runs that are left.
    const u32 state = rows.state[at];
    if (state & ROW_THERE) {
        const u32 room = state & ROOM_MASK;
        const u32 to_room = state >> TO_ROOM_SHIFT & ROOM_MASK;
        const u32 degree = state & ROW_LONG ? plan.after[number] : rows.degree[at];
        u32* record = image + record_of(shape, rows.vertex[at]);
        if (degree != rows.before[at] && degree != MERGED_IN_BLOCK) record[shape.degree_word] = degree;
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
                atomicAdd(&written.freed[left], 1u);
            }
        }
    }
    const int fate = fate_of(image, shape, delta, plan, rows, number);
    #pragma unroll
    for (int i = 0; i < FATES; ++i) {
        const u32 lanes = __ballot_sync(FULL_WARP, fate == i);
        if (lane == 0 && lanes != 0) atomicAdd(&written.fates[i], __popc(lanes));
    }
    __syncthreads();
    if (at < CLASSES && written.freed[at] != 0) count_free_runs(runs.tree, header, at, written.freed[at]);
    if (at < FATES && written.fates[at] != 0) {
        atomicAdd(reinterpret_cast<u64*>(header + BATCH_FIELD_MOVED_ROWS + at), u64(written.fates[at]));
    }
    if (delta.number == 0) add_tally(header, tally);
}

}  // namespace committing
