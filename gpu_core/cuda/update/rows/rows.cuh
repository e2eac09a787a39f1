// rows.cuh -- rows of a batch and the positions of their entries: shared by all update kernels.
//
// Host twin   gpu_core/host/update/plan.py: plan_rows (what becomes of an entry), list_settled
//
// A delta of a batch is a CSR: rows of vertices, entries sorted by (column, kind) within a row.
// Rows come in lengths, by their old degree and by their entries in the batch:
//
//     kept     few entries of the batch, and what the  a few lanes a row, or a  kept_rows.cuh
//              lanes keep has room for all entries    warp
//     short    up to SHORT_DEGREE and SHORT_ENTRIES    LANES_SHORT lanes a row  staged_rows.cuh
//     medium   up to LONG_DEGREE and LONG_ENTRIES      a warp a row             staged_rows.cuh
//     long     all others                              many blocks              long_rows_*.cu
//     large    of the long ones: settled, up to        a block a row            large_rows.cuh
//              LARGE_DEGREE and LONG_ENTRIES; or
//              fresh, up to FRESH_ENTRIES
//
// Kept rows, which only entries of one word have, are changed in registers, entry by entry. Fresh
// rows are copied. The others are merged by the formula below: short, medium and large ones straight
// from shared memory, into which the old entries are staged; for other long rows position, code and
// sum of each entry of the batch are left in scratch.
//
//     entry e of the batch is put at     position(e) + sum of changes over entries before e
//     old entry i moves to               i + sum of changes over entries with position <= i
//
// position: old entries whose neighbor is below the column (after the gap where the old entry of
// this column was taken away before); change: +1 a new entry, -1 an entry taken away.
#pragma once
#include "block.cuh"

static_assert(ENTRY_WORDS >= 1 && ENTRY_WORDS <= 8, "words of an entry");

typedef unsigned short u16;

constexpr int WARPS = BLOCK / WARP;

#ifndef SHORT_DEGREE
#define SHORT_DEGREE 64
#endif
#ifndef SHORT_ENTRIES
#define SHORT_ENTRIES 64
#endif
#ifndef LONG_DEGREE
#define LONG_DEGREE (ENTRY_WORDS == 1 ? 512 : 256)
#endif
#ifndef LARGE_DEGREE
#define LARGE_DEGREE 4096
#endif
#ifndef FRESH_ENTRIES
#define FRESH_ENTRIES 131072
#endif

// Plan word: room after, whether the row is long, whether it outgrows its run, and then its rank
// among the rows of its tile that need a run of the same class.
constexpr u32 PLAN_ROOM = 0x3F;
constexpr u32 PLAN_LONG = 0x40;
constexpr u32 PLAN_GROWS = 0x80;
constexpr int PLAN_RANK_SHIFT = 8;

// Instead of a degree after: the block that merges the row finds and writes it.
constexpr u32 MERGED_IN_BLOCK = NONE;

// What becomes of an entry of the batch.
constexpr u32 CODE_NOTHING = 0;
constexpr u32 CODE_NEW = 1;
constexpr u32 CODE_AGAIN = 2;      // new, since the batch itself took the old one away
constexpr u32 CODE_FOUND = 3;      // put, and there: its properties change
constexpr u32 CODE_RESET = 4;      // the same, and its first time is reset
constexpr u32 CODE_DELETED = 5;
constexpr u32 CODE_DANGLED = 6;  // taken away with its neighbor
constexpr int CODE_BITS = 3;
constexpr u32 CODE_MASK = 7;

__device__ __forceinline__ bool is_new(u32 code) {
    return code == CODE_NEW || code == CODE_AGAIN;
}
__device__ __forceinline__ bool is_found(u32 code) {
    return code == CODE_FOUND || code == CODE_RESET;
}
__device__ __forceinline__ bool is_taken(u32 code) {
    return code == CODE_DELETED || code == CODE_DANGLED;
}
__device__ __forceinline__ i32 change_of(u32 code) {
    return static_cast<i32>(is_new(code)) - static_cast<i32>(is_taken(code));
}

// A row of a delta, and its vertex's record. Degree and room are 0 beyond the vertex table.
struct Row {
    u32 vertex;
    u32 begin;
    u32 count;
    u32 degree;
    u32 first;
    u32 room;
    bool clear;
};

// A row in the delta, number < max_rows. Beyond the delta's rows it is undefined, and may be
// loaded before their number is known.
__device__ __forceinline__ Row row_of_delta(const Delta& delta, u32 number) {
    Row row;
    row.vertex = delta.rows[number];
    row.begin = delta.indptr[number];
    row.count = delta.indptr[number + 1] - row.begin;
    row.degree = row.first = row.room = 0;
    row.clear = false;
    return row;
}

// The record of its vertex, and whether it is cleared.
__device__ __forceinline__ void read_record(
        const u32* image, const Shape& shape, const Delta& delta, Row& row) {
    if (row.vertex >= shape.vertex_count) return;
    // By `__ldg`: the usual load costs `commit_rows` registers that it does not have.
    row.clear = delta.clear != nullptr && __ldg(delta.clear + row.vertex) != 0;
    const u32* record = image + record_of(shape, row.vertex);
    row.room = room_of(shape, record[STATE_WORD]);
    row.first = record[shape.first_word];
    row.degree = record[shape.degree_word];
}

__device__ __forceinline__ Row open_row(
        const u32* image, const Shape& shape, const Delta& delta, u32 number) {
    Row row = row_of_delta(delta, number);
    read_record(image, shape, delta, row);
    return row;
}

// A listed row as it was before the batch, whatever its record is meanwhile.
__device__ __forceinline__ Row row_of_item(const LongRow& item) {
    return Row{item.vertex, item.begin, item.count, item.degree, item.first, item.room,
               item.clear != 0};
}

__device__ __forceinline__ bool is_short(u32 degree, u32 count) {
    return degree <= SHORT_DEGREE && count <= SHORT_ENTRIES;
}
// Whether a row has no old entries and its entries of the batch are of one kind: puts are copied.
__device__ __forceinline__ bool is_fresh(const Delta& delta, u32 degree) {
    return degree == 0 && delta.kinds == nullptr;
}
__device__ __forceinline__ bool is_long(u32 degree, u32 count) {
    return degree > LONG_DEGREE || count > LONG_ENTRIES;
}

// Entries that a run of a room holds. Rooms of 2^32 words and more are as good as endless.
__device__ __forceinline__ u32 capacity_of(const Shape& shape, u32 room) {
    const i64 entries = segment_entries(shape, static_cast<int>(room));
    return static_cast<u32>(min(entries, i64(NONE)));
}

// Whether the room stays as it is even if all entries are new, or all of them are taken away.
__device__ __forceinline__ bool is_settled(const Shape& shape, const Delta& delta, const Row& row) {
    const u32 entries = capacity_of(shape, row.room);
    const i64 high = row.degree + (delta.puts ? i64(row.count) : 0);
    const i64 low = row.degree - (delta.deletes ? i64(row.count) : 0);
    if (row.clear || high > entries || low < 1) return false;
    return room_after(shape, row.room, low) == static_cast<int>(row.room);
}

// Whether one warp looks up the entries of a row; others have a block for each of their tiles, or a
// block for all.
__device__ __forceinline__ bool is_of_warp(const LongRow& item) {
    return item.tiles > 0 && item.count <= WARP;
}

// Of long rows: whether one block writes it, without a look-up of its entries before.
__device__ __forceinline__ bool is_large(const Shape& shape, const Delta& delta, const Row& row) {
    if (is_fresh(delta, row.degree)) return row.count <= FRESH_ENTRIES;
    return row.degree <= LARGE_DEGREE && row.count <= LONG_ENTRIES && is_settled(shape, delta, row);
}

// Of a row that grows within its run, and is not cleared: whether all its entries of the batch are after the
// old ones, the last of which lay at `last`. The row may be written meanwhile, or have been: unless that
// word stays, it goes from one column to another neither of which is below the first entry's.
__device__ __forceinline__ bool is_appended(const u32* last, const Delta& delta, u32 begin) {
    return *last < delta.columns[begin];
}

// Word of entry 0 of the run of a row; any word where it has none.
__device__ __forceinline__ i64 base_of(const Shape& shape, u32 first, u32 room) {
    return segment_base(shape, first, segment_pages(static_cast<int>(room)));
}

__device__ __forceinline__ u32 kind_of(const Delta& delta, u32 entry) {
    return delta.kinds != nullptr ? delta.kinds[entry] : static_cast<u32>(delta.kind);
}

__device__ __forceinline__ u32 put_of(const Delta& delta, u32 entry) {
    return delta.source != nullptr ? delta.source[entry] : entry;
}

// Whether the old entry of this column is removed by the entry before it, a dangling reference: at most
// two entries of a row have one column.
__device__ __forceinline__ bool is_gone(
        const Delta& delta, u32 begin, u32 entry, u32 column, u32 kind, bool there) {
    return there && delta.kinds != nullptr && kind != KIND_DANGLING && entry > begin &&
           delta.kinds[entry - 1] == KIND_DANGLING && delta.columns[entry - 1] == column;
}

// `lost`: the old entry of this column has been taken away already.
__device__ __forceinline__ u32 code_of(u32 kind, bool there, bool lost) {
    if (kind == KIND_PUT) {
        if (!there) return CODE_NEW;
        return lost ? CODE_AGAIN : CODE_FOUND;
    }
    if (!there || lost) return CODE_NOTHING;
    return kind == KIND_DELETE ? CODE_DELETED : CODE_DANGLED;
}

// Code of an entry of the batch that has been looked up, in a row that is cleared or not: its column is
// `there`, or not. `gone`: as `is_gone`. `reset` null: no first time is reset.
__device__ __forceinline__ u32 code_of_entry(
        const Delta& delta, const u8* reset, u32 begin, u32 entry, u32 column, u32 kind, bool there,
        bool clear, bool& gone) {
    gone = is_gone(delta, begin, entry, column, kind, there);
    const u32 code = code_of(kind, there, clear || gone);
    if (ENTRY_WORDS > FIRST_WORD && reset != nullptr && code == CODE_FOUND) {
        if (reset[put_of(delta, entry)]) return CODE_RESET;
    }
    return code;
}

// Lane of the thread within its group, of LANES lanes that have one row.
template <int LANES>
__device__ __forceinline__ u32 lane_of_group() {
    return threadIdx.x & (LANES - 1);
}

// Append `value` to a list of the block if `listed`, in no particular order. All lanes of the warp.
template <class T>
__device__ __forceinline__ void append(T* list, u32& count, u32 value, bool listed) {
    const u32 lanes = __ballot_sync(FULL_WARP, listed);
    if (lanes == 0) return;
    u32 first = 0;
    if (lane_of_thread() == 0) first = atomicAdd(&count, __popc(lanes));
    first = __shfl_sync(FULL_WARP, first, 0);
    const u32 below = __popc(lanes & ((1u << lane_of_thread()) - 1));
    if (listed) list[first + below] = static_cast<T>(value);
}
