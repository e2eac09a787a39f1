// segmented.cuh -- rows of a batch whose adjacencies lie on pages: what planning and writing share.
//
// Part of     segmented_plan.cu, segmented_settled.cu, segmented_commit.cu
// Caller      gpu_core/cuda/update/segmented_launches.py
// Host twin   gpu_core/host/update/plan.py, commit.py: the same pages for the same batch
//
// A row is *settled* if it has one page and keeps it whatever its entries meet: most rows of most
// batches. It is merged by a few lanes, and nothing is planned for it. All other rows are *listed*, in
// the order of the delta; their entries and their old entries are then worked on one by one, in tiles
// of equal size, wherever a row begins and ends: no row belongs to one block.
//
//     entry e of the batch is put at     position(e) + sum of changes over the row's entries before e
//     old entry i moves to               i + sum of changes over entries with position <= i
//
// with the positions, codes and changes of rows.cuh. Old entries from a row's first position on are
// staged before any word of the row is written.
#pragma once
#include "free_runs.cuh"
#include "pages.cuh"
#include "tallies.cuh"

namespace segmented {

// Entries of a tile: of the batch, or old ones.
constexpr u32 TILE = 8 * BLOCK;

// A listed row.
struct Item {
    u32 vertex;
    u32 begin;       // its entries in the delta
    u32 count;
    u32 degree;      // before
    u32 clear;
    u32 after;       // degree
    u32 start;       // old entries before this one stay as they are
    u32 page_at;     // its old pages, among those of all listed rows
    u32 entry_at;    // its entries, likewise
    u32 grown_at;    // its new pages, among those taken: of the tile's rows first, then of all deltas'
    u32 freed_at;    // the pages that it leaves, likewise, but of the delta
    u32 unused;
};

// Of the listed rows of a delta.
struct Totals {
    i64 items;
    i64 entries;
    i64 old_entries;
    i64 pages;       // before
    i64 grown;       // pages to be taken
    i64 freed;       // pages that are left
    i64 staged;      // old entries that may move
    i64 tally[TALLIES];
    i64 fates[3];    // rows that moved, were appended to, were merged
    i64 unused;
};

// What is known of a delta before anything is written; passed by value.
struct ListedPlan {
    Totals* totals;      // [deltas]
    Item* items;
    u32* entry_at;       // [items + 1]: `Item.entry_at`
    i64* staged_at;      // [items + 1]: staged entries of the rows before
    u32* pages;          // of each listed row, as they lie before the batch
    u32* marks;          // [entries]: position << CODE_BITS | code
    i32* sums;           // [entries]: sum of changes over the tile's entries before
    i64* tile_sums;      // [tiles]: sum of changes over the tiles before
    i64* row_sums;       // [4][row_tiles]: of tiles of rows, then of items
    u32* staging;        // [ENTRY_WORDS][old_room]: planes of old entries
    i64 row_tiles;
    i64 tile_rows;       // a multiple of BLOCK
    i64 items_room;      // of items, of entries, of old entries
    i64 entries_room;
    i64 old_room;
};

// Pages handed out for a batch, in the order of their ranks: from the page queue, then free runs.
struct Pages {
    const u32* queue;    // page of rank r is queue[(front + r) & mask], while there are any
    i64 mask;
    i64 front;
    i64 queued;
    const i64* allocation;  // as `run_of_rank` takes them
    const u32* taken;
};

__device__ __forceinline__ i64 page_of_rank(const Pages& pages, i64 rank) {
    if (rank < pages.queued) return pages.queue[(pages.front + rank) & pages.mask];
    return run_of_rank(pages.allocation, pages.taken, 0, rank - pages.queued);
}

__device__ __forceinline__ bool keeps_page(const Shape& shape, const Delta& delta, const Row& row) {
    const i64 high = row.degree + (delta.puts ? i64(row.count) : 0);
    const i64 low = row.degree - (delta.deletes ? i64(row.count) : 0);
    return !row.clear && low >= 1 && high <= page_entries(shape) && !is_long(row.degree, row.count);
}

// Exclusive sums of `count` numbers, by one block; returns the sum of all.
__device__ __forceinline__ i64 scan_sums(i64* sums, i64 count) {
    i64 running = 0;
    for (i64 start = 0; start < count; start += BLOCK) {
        const i64 at = start + threadIdx.x;
        i64 all;
        const i64 here = block_exclusive_sum<i64, BLOCK>(at < count ? __ldcg(&sums[at]) : 0, all);
        if (at < count) sums[at] = running + here;
        running += all;
    }
    __syncthreads();
    return running;
}

// Sum of changes over all entries of the delta's listed rows before entry e.
__device__ __forceinline__ i64 sum_before(const ListedPlan& plan, i64 e) {
    return plan.tile_sums[e / TILE] + plan.sums[e];
}

// The same, entry e included.
__device__ __forceinline__ i64 sum_upto(const ListedPlan& plan, i64 e) {
    return sum_before(plan, e) + change_of(plan.marks[e] & CODE_MASK);
}

__device__ __forceinline__ u32* ticket_of(i64* header) {
    return reinterpret_cast<u32*>(header + BATCH_FIELD_TICKETS);
}

}  // namespace segmented
