// rows.cuh -- one row of an adjacency meets its entries of a batch: shared by plan.cu and commit.cu.
//
// Part of     the apply path: halves -> plan -> serve_demand -> commit
// Host twin   gpu_core/host/plan.py: plan_rows (what becomes of an entry), is_settled
//
// A half of a batch is a CSR: rows of vertices, entries sorted by (column, kind) within a row.
// Rows come in three lengths, by their old degree and by their entries in the batch:
//
//     short    up to SHORT_DEGREE and SHORT_ENTRIES    LANES_SHORT lanes a row
//     medium   up to LONG_DEGREE and LONG_ENTRIES      a warp a row
//     long     all others                              cut into tiles for many blocks
//
// Short and medium rows are merged by the formula below straight from shared memory, into which the
// old entries were staged; for long rows position, code and sum of each entry are kept in scratch.
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

#ifndef LANES_SHORT
#define LANES_SHORT 4
#endif
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

constexpr int GROUPS = BLOCK / LANES_SHORT;
constexpr int GROUPS_OF_WARP = WARP / LANES_SHORT;

// Stage of a warp: the old columns of its row or rows, and one more plane of them where entries
// have properties. Groups lie LANES_SHORT words apart in the banks, so that they do not collide.
constexpr int SHORT_STRIDE = (SHORT_DEGREE + 31) / 32 * 32 + LANES_SHORT;
constexpr int PLANES = ENTRY_WORDS == 1 ? 1 : 2;
constexpr int PLANE_WORDS = GROUPS_OF_WARP * SHORT_STRIDE > LONG_DEGREE
                                ? GROUPS_OF_WARP * SHORT_STRIDE
                                : LONG_DEGREE;
constexpr int STAGE_WORDS = WARPS * PLANES * PLANE_WORDS;

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
    u32 tiles;     // of entries, and the first of them
    u32 tile_at;
    u32 old_at;    // first of its tiles of old entries
    u32 done;      // tiles of entries that have been searched
    i64 staging;   // first word of its old entries in `staging`
};

// What is known of a batch before anything is written; cuda/plan.py passes it by value.
struct Plan {
    u32* words;          // plan word of each row of the half
    u32* counts;         // [CLASSES][stride]: rows that outgrow their run; then those before the tile
    i64* need;           // [CLASSES]: runs to be taken
    i64 tile_rows;       // rows a tile, a multiple of BLOCK
    i64 first_tile;      // of this half
    i64 tiles;           // of all halves, at most MOST_TILES
    i64 stride;          // of the classes in `counts`, a multiple of 4
    // Long rows; null where none are expected.
    LongRow* long_rows;
    u32* entry_tiles;    // long row of each tile of entries
    u32* old_tiles;      // long row of each tile of old entries
    i32* tile_sums;      // of each tile of entries: sum of delta over the row's tiles before it
    u32* after;          // [rows of the half] degree after, filled for long rows
    u32* positions;      // [entries of the half] filled for long rows, as are the next two
    i32* sums;           // sum of delta over the entries before within the tile
    u8* codes;
    u32* staging;        // old entries of long rows that stay where they are
    i64 staging_words;
};

constexpr int MOST_TILES = 2048;

// A tile of a long row: this many entries, or old entries.
constexpr u32 ENTRY_TILE = BLOCK;
#ifndef OLD_TILE
#define OLD_TILE 4096
#endif

// Plan word: room after, whether the row is long, whether it outgrows its run, and then its rank
// among the rows of its tile that need a run of the same class.
constexpr u32 PLAN_ROOM = 0x3F;
constexpr u32 PLAN_LONG = 0x40;
constexpr u32 PLAN_GROWS = 0x80;
constexpr int PLAN_RANK_SHIFT = 8;

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

__device__ __forceinline__ Row open_row(
        const u32* image, const Shape& shape, const Half& half, u32 number) {
    Row row;
    row.vertex = half.rows[number];
    row.begin = half.indptr[number];
    row.count = half.indptr[number + 1] - row.begin;
    row.clear = half.clear != nullptr && half.clear[number] != 0;
    row.degree = row.first = row.room = 0;
    if (row.vertex < shape.vertex_count) {
        const u32* record = image + record_of(shape, row.vertex);
        row.room = room_of(shape, record[STATE_WORD]);
        row.first = record[shape.first_word];
        row.degree = record[shape.degree_word];
    }
    return row;
}

__device__ __forceinline__ bool is_short(u32 degree, u32 count) {
    return degree <= SHORT_DEGREE && count <= SHORT_ENTRIES;
}
__device__ __forceinline__ bool is_long(u32 degree, u32 count) {
    return degree > LONG_DEGREE || count > LONG_ENTRIES;
}

// Whether the old entries of a long row that stays in place fit the shared memory of one block,
// which then also writes its entries of the batch: no staging.
__device__ __forceinline__ bool is_direct(u32 degree, u32 count) {
    return degree <= OLD_TILE && count <= OLD_TILE;
}

// Entries that a run of a room holds. Rooms of 2^32 words and more are as good as endless.
__device__ __forceinline__ u32 capacity_of(const Shape& shape, u32 room) {
    const i64 entries = segment_entries(shape, static_cast<int>(room));
    return static_cast<u32>(min(entries, i64(NONE)));
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

// --- short and medium rows: LANES lanes a row, all lanes of a warp call --------------------------

// An entry of the batch and what it met: one a lane. Lanes without an entry have mark ~0.
struct Met {
    u32 column;
    u32 mark;    // position << CODE_BITS | code
    i32 before;  // sum of delta over the row's entries before this one
};

template <int LANES>
__device__ __forceinline__ u32 lane_of_group() {
    return threadIdx.x & (LANES - 1);
}

// Old columns, or another plane of the old entries, of the lanes' row. Loads go out LOADS at a time.
template <int LANES>
__device__ __forceinline__ void stage_row(u32* stage, const u32* from, u32 step, u32 degree) {
    constexpr int LOADS = 8;
    for (u32 begin = lane_of_group<LANES>(); begin < degree; begin += LOADS * LANES) {
        u32 value[LOADS];
        #pragma unroll
        for (int load = 0; load < LOADS; ++load) {
            const u32 i = begin + load * LANES;
            value[load] = i < degree ? from[i * static_cast<size_t>(step)] : 0;
        }
        #pragma unroll
        for (int load = 0; load < LOADS; ++load) {
            const u32 i = begin + load * LANES;
            if (i < degree) stage[i] = value[load];
        }
    }
}

// Position of the first staged column that is not below `column`.
__device__ __forceinline__ u32 position_in(const u32* stage, u32 degree, u32 column) {
    u32 low = 0;
    for (u32 length = degree; length > 0;) {
        const u32 half = length >> 1;
        const bool below = stage[low + half] < column;
        low = below ? low + half + 1 : low;
        length = below ? length - half - 1 : half;
    }
    return low;
}

// Column of the lane's entry among entries chunk * LANES … of a row.
template <int LANES>
__device__ __forceinline__ u32 column_of_chunk(const Half& half, u32 begin, u32 count, u32 chunk) {
    const u32 number = chunk * LANES + lane_of_group<LANES>();
    return number < count ? half.columns[begin + number] : NONE;
}

// Look up these entries in the staged row; `carry` is the sum of delta over all entries before, and
// moves on.
template <int LANES>
__device__ __forceinline__ Met meet_entries(
        const Half& half, const u8* reset, u32 begin, u32 count, u32 degree, bool clear,
        const u32* stage, u32 chunk, u32 column, i32& carry) {
    const u32 lane = lane_of_group<LANES>();
    const u32 number = chunk * LANES + lane;
    Met met{column, ~0u, 0};
    i32 sum = 0;
    if (number < count) {
        const u32 entry = begin + number;
        const u32 kind = kind_of(half, entry);
        u32 position = position_in(stage, degree, column);
        const bool there = position < degree && stage[position] == column;
        const bool gone = is_gone(half, begin, entry, column, kind, there);
        u32 code = code_of(kind, there, clear || gone);
        if (reset != nullptr && code == CODE_FOUND) {
            if (reset[half.source != nullptr ? half.source[entry] : entry]) code = CODE_RESET;
        }
        position = clear ? 0 : position + gone;
        met.mark = position << CODE_BITS | code;
        sum = delta_of(code);
    }
    const i32 delta = sum;
    #pragma unroll
    for (u32 distance = 1; distance < LANES; distance *= 2) {
        const i32 below = __shfl_up_sync(FULL_WARP, sum, distance, LANES);
        if (lane >= distance) sum += below;
    }
    met.before = carry + sum - delta;
    carry += __shfl_sync(FULL_WARP, sum, LANES - 1, LANES);
    return met;
}
