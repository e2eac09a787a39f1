// rows.cuh -- rows of a batch and what becomes of their entries: shared by all kernels of an update.
//
// Part of     the apply path: halves -> plan -> serve_demand -> commit
// Host twin   gpu_core/host/plan.py: plan_rows (what becomes of an entry), is_settled
//
// A half of a batch is a CSR: rows of vertices, entries sorted by (column, kind) within a row.
// Rows come in lengths, by their old degree and by their entries in the batch:
//
//     kept     few entries of the batch, and what the  a few lanes a row, or a  kept_rows.cuh
//              lanes keep has place for all entries    warp
//     short    up to SHORT_DEGREE and SHORT_ENTRIES    LANES_SHORT lanes a row  staged_rows.cuh
//     medium   up to LONG_DEGREE and LONG_ENTRIES      a warp a row             staged_rows.cuh
//     long     all others                              many blocks              long_rows.cu
//     large    of the long ones: settled, up to        a block a row            large_rows.cuh
//              LARGE_DEGREE and LONG_ENTRIES; or
//              fresh, up to FRESH_ENTRIES
//
// Kept rows, which only entries of one word have, are changed in registers, entry by entry. Fresh
// rows are copied. The others are merged by the formula below: short, medium and large ones straight
// from shared memory, into which the old entries are staged; for other long rows position, code and
// sum of each entry of the batch are left in scratch.
//
//     entry e of the batch is put at     position(e) + sum of delta over entries before e
//     old entry i moves to               i + sum of delta over entries with position <= i
//
// position: old entries whose neighbour is below the column (behind the gap where the old entry of
// this column was taken away before); delta: +1 a new entry, -1 an entry taken away.
#pragma once
#include "block.cuh"
#include "free_runs.cuh"

static_assert(ENTRY_WORDS >= 1 && ENTRY_WORDS <= 7, "words of an entry");

typedef unsigned short u16;

constexpr int BLOCK = 256;
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
#ifndef LONG_ENTRIES
#define LONG_ENTRIES 512
#endif
#ifndef LARGE_DEGREE
#define LARGE_DEGREE 4096
#endif
#ifndef FRESH_ENTRIES
#define FRESH_ENTRIES 131072
#endif

// One direction's entries (cuda/halves.py: Half); cuda/plan.py passes it by value.
struct Half {
    const u32* rows;       // vertex of each row, distinct
    const u32* indptr;     // rows + 1
    const u32* row_count;  // one number, at most max_rows
    const u32* columns;
    const u8* kinds;       // null: all are `kind`
    const u32* source;     // number of the put of each entry; null: the entry's own number
    const u8* clear;       // of each row; null: no row is cleared
    i64 max_rows;
    i64 kind;
    i64 puts;              // whether there may be puts, and deletes or mentions
    i64 deletes;
    i64 number;            // 0: the first half of the batch, which its report counts
};

// A row too long for one group of lanes, listed by `find_long`.
struct LongRow {
    u32 half;
    u32 row;
    u32 begin;
    u32 count;
    u32 degree;
    u32 clear;
    u32 tiles;     // of entries, and the first of them; a large row has none
    u32 tile_at;
    u32 old_at;    // first of its tiles of old entries
    u32 done;      // tiles of entries that have been searched
    i64 staging;   // first word of its old entries in `staging`
    u32 vertex;
    u32 first;     // as its record says before it is written
    u32 room;
};

// What is known of a batch before anything is written; cuda/plan.py passes it by value.
struct Plan {
    u32* words;          // plan word of each row of the half
    u32* counts;         // [CLASSES][stride]: rows that outgrow their run; then those before the tile
    i64* need;           // [CLASSES]: runs to be taken
    i64 tile_shift;      // rows a tile are 2^tile_shift, BLOCK at least
    i64 first_tile;      // of this half
    i64 tiles;           // of all halves, at most MOST_TILES
    i64 stride;          // of the classes in `counts`, a multiple of 4
    // Long rows; null where none are expected.
    LongRow* long_rows;
    u32* entry_tiles;    // long row of each tile of entries
    u32* old_tiles;      // long row of each tile of old entries
    i32* tile_sums;      // of each tile of entries: sum of delta over the row's tiles before it
    u32* after;          // [rows of the half] degree after, or MERGED_IN_BLOCK; filled for long rows
    u32* positions;      // [entries of the half] filled for long rows, as are the next two
    i32* sums;           // sum of delta over the entries before within the tile
    u8* codes;
    u32* staging;        // old entries of long rows that stay where they are
    i64 staging_words;
};

static_assert(sizeof(LongRow) == 64, "as cuda/plan.py allots it");

constexpr int MOST_TILES = 2048;

// A tile of a long row: this many entries, or old entries.
constexpr u32 ENTRY_TILE = BLOCK;
#ifndef OLD_TILE
#define OLD_TILE 2048
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
constexpr u32 CODE_MENTIONED = 6;  // taken away with its neighbour
constexpr int CODE_BITS = 3;
constexpr u32 CODE_MASK = 7;

__device__ __forceinline__ bool is_new(u32 code) {
    return code == CODE_NEW || code == CODE_AGAIN;
}
__device__ __forceinline__ bool is_found(u32 code) {
    return code == CODE_FOUND || code == CODE_RESET;
}
__device__ __forceinline__ bool is_taken(u32 code) {
    return code == CODE_DELETED || code == CODE_MENTIONED;
}
__device__ __forceinline__ i32 delta_of(u32 code) {
    return static_cast<i32>(is_new(code)) - static_cast<i32>(is_taken(code));
}

// A row of a half, and its vertex's record. Degree and room are 0 beyond the vertex table.
struct Row {
    u32 vertex;
    u32 begin;
    u32 count;
    u32 degree;
    u32 first;
    u32 room;
    bool clear;
};

// What the half says of a row, number < max_rows. Beyond the half's rows it is nonsense, which may be
// asked for before it is known how many there are.
__device__ __forceinline__ Row row_of_half(const Half& half, u32 number) {
    Row row;
    row.vertex = half.rows[number];
    row.begin = half.indptr[number];
    row.count = half.indptr[number + 1] - row.begin;
    row.clear = half.clear != nullptr && half.clear[number] != 0;
    row.degree = row.first = row.room = 0;
    return row;
}

// What the record of its vertex says of it.
__device__ __forceinline__ void read_record(const u32* image, const Shape& shape, Row& row) {
    if (row.vertex >= shape.vertex_count) return;
    const u32* record = image + record_of(shape, row.vertex);
    row.room = room_of(shape, record[STATE_WORD]);
    row.first = record[shape.first_word];
    row.degree = record[shape.degree_word];
}

__device__ __forceinline__ Row open_row(
        const u32* image, const Shape& shape, const Half& half, u32 number) {
    Row row = row_of_half(half, number);
    read_record(image, shape, row);
    return row;
}

// A listed row as it was before the batch, whatever its record says meanwhile.
__device__ __forceinline__ Row row_of_item(const LongRow& item) {
    return Row{item.vertex, item.begin, item.count, item.degree, item.first, item.room,
               item.clear != 0};
}

__device__ __forceinline__ bool is_short(u32 degree, u32 count) {
    return degree <= SHORT_DEGREE && count <= SHORT_ENTRIES;
}
// Whether a row has no old entries and its entries of the batch are of one kind: puts are copied.
__device__ __forceinline__ bool is_fresh(const Half& half, u32 degree) {
    return degree == 0 && half.kinds == nullptr;
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
__device__ __forceinline__ bool is_settled(const Shape& shape, const Half& half, const Row& row) {
    const u32 entries = capacity_of(shape, row.room);
    const i64 high = row.degree + (half.puts ? i64(row.count) : 0);
    const i64 low = row.degree - (half.deletes ? i64(row.count) : 0);
    if (row.clear || high > entries || low < 1) return false;
    return room_after(shape, row.room, low) == static_cast<int>(row.room);
}

// Of long rows: whether one block writes it, and nobody has to ask before what its entries meet.
__device__ __forceinline__ bool is_large(const Shape& shape, const Half& half, const Row& row) {
    if (is_fresh(half, row.degree)) return row.count <= FRESH_ENTRIES;
    return row.degree <= LARGE_DEGREE && row.count <= LONG_ENTRIES && is_settled(shape, half, row);
}

// Of a row that grows within its run, and is not cleared: whether all its entries of the batch are behind the
// old ones, the last of which lay at `last`. The row may be written meanwhile, or have been: unless that
// word stays, it goes from one column to another neither of which is below the first entry's.
__device__ __forceinline__ bool is_appended(const u32* last, const Half& half, u32 begin) {
    return *last < half.columns[begin];
}

// Word of entry 0 of the run of a row; any word where it has none.
__device__ __forceinline__ i64 base_of(const Shape& shape, u32 first, u32 room) {
    return segment_base(shape, first, segment_pages(static_cast<int>(room)));
}

__device__ __forceinline__ u32 kind_of(const Half& half, u32 entry) {
    return half.kinds != nullptr ? half.kinds[entry] : static_cast<u32>(half.kind);
}

// Whether the old entry of this column is taken away by the entry before, a mention: at most two
// entries of a row have one column.
__device__ __forceinline__ bool is_gone(
        const Half& half, u32 begin, u32 entry, u32 column, u32 kind, bool there) {
    return there && half.kinds != nullptr && kind != KIND_MENTION && entry > begin &&
           half.kinds[entry - 1] == KIND_MENTION && half.columns[entry - 1] == column;
}

// `lost`: the old entry of this column has been taken away already.
__device__ __forceinline__ u32 code_of(u32 kind, bool there, bool lost) {
    if (kind == KIND_PUT) {
        if (!there) return CODE_NEW;
        return lost ? CODE_AGAIN : CODE_FOUND;
    }
    if (!there || lost) return CODE_NOTHING;
    return kind == KIND_DELETE ? CODE_DELETED : CODE_MENTIONED;
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
