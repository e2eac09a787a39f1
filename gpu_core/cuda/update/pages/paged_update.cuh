// paged_update.cuh -- updates of rows on pages: what planning and writing share.
//
// Caller      gpu_core/cuda/update/pages/page_launches.py
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
// staged before any word of the row is written. Where few rows are listed, one block works on them, in
// two launches instead of seven.
#pragma once
#include "free_runs.cuh"
#include "pages.cuh"
#include "tallies.cuh"

namespace paged {

// Tiles of listed entries.
__device__ __forceinline__ i64 tiles_of(i64 entries) { return (entries + LISTED_TILE - 1) / LISTED_TILE; }

__device__ __forceinline__ i64 page_of_rank(const TakenPages& pages, i64 rank) {
    if (rank < pages.queued) return pages.queue[(pages.front + rank) & pages.mask];
    return run_of_rank(pages.allocation, pages.taken, 0, rank - pages.queued);
}

__device__ __forceinline__ bool keeps_page(const Shape& shape, const Delta& delta, const Row& row) {
    const i64 high = row.degree + (delta.puts ? i64(row.count) : 0);
    const i64 low = row.degree - (delta.deletes ? i64(row.count) : 0);
    return !row.clear && low >= 1 && high <= page_entries(shape) && !is_long(row.degree, row.count);
}

// Rows of numbers, `stride` apart, become the sums of those before, a warp a row; `all`: their sums.
template <int ROWS>
__device__ __forceinline__ void scan_sums(i64* sums, i64 stride, i64 count, i64 (&all)[ROWS]) {
    constexpr int OWN = 4;
    __shared__ i64 found[ROWS];
    i64* row = sums + warp_of_thread() * stride;
    if (warp_of_thread() < ROWS) {
        i64 running = 0;
        for (i64 start = 0; start < count; start += OWN * WARP) {
            const i64 first = start + OWN * lane_of_thread();
            i64 own[OWN];
            i64 sum = 0;
            #pragma unroll
            for (int i = 0; i < OWN; ++i) sum += own[i] = first + i < count ? __ldcg(row + first + i) : 0;
            i64 passed;
            i64 before = running + warp_exclusive_sum(sum, passed);
            running += passed;
            #pragma unroll
            for (int i = 0; i < OWN; ++i) {
                if (first + i < count) row[first + i] = before;
                before += own[i];
            }
        }
        if (lane_of_thread() == 0) found[warp_of_thread()] = running;
    }
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < ROWS; ++i) all[i] = found[i];
    __syncthreads();
}

// Sum of changes over all entries of the delta's listed rows before entry e.
__device__ __forceinline__ i64 sum_before(const ListedPlan& plan, i64 e) {
    return plan.tile_sums[e / LISTED_TILE] + plan.sums[e];
}

// The same, entry e included.
__device__ __forceinline__ i64 sum_upto(const ListedPlan& plan, i64 e) {
    return sum_before(plan, e) + change_of(plan.marks[e] & CODE_MASK);
}

__device__ __forceinline__ u32* ticket_of(i64* header) {
    return reinterpret_cast<u32*>(header + BATCH_FIELD_TICKETS);
}

}  // namespace paged
