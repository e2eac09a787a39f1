// closing.cuh -- the end of a batch: its report.
#pragma once
#include "rows.cuh"

// The batch is done, or could not be done: add up what it came to, copy the header and the numbers of
// free runs (`counts`) to `report` in memory of the host, which sees them when it has waited for the
// launch, and leave the fields of the batch at 0. One block. `more_vertices` of the host's own doing;
// those that kernels have entered are counted in the header. No load depends on another one.
__device__ __forceinline__ void report_batch(
        i64* header, const i64* counts, i64 entries_per_edge, i64 more_vertices, i64* report) {
    const u32 at = threadIdx.x;
    const bool of_header = at < HEADER_FIELDS;
    const bool done = __ldcg(header + BATCH_FIELD_STATUS) == BATCH_STATUS_OK;
    // An entry that is lost and put again counts in both.
    const i64 more = __ldcg(header + BATCH_FIELD_ADDED) - __ldcg(header + BATCH_FIELD_REMOVED);
    const i64 created = __ldcg(header + BATCH_FIELD_CREATED);
    const i64 before = of_header ? __ldcg(header + at) : 0;
    const i64 runs = at >= HEADER_FIELDS && at < HEADER_FIELDS + CLASSES
                         ? __ldcg(counts + at - HEADER_FIELDS) : 0;
    __syncthreads();  // all of the header has been read
    if (of_header) {
        i64 after = before;
        if (done && at == FIELD_NUM_EDGES) after += more / entries_per_edge;
        if (done && at == FIELD_NUM_VERTICES) after += more_vertices + created;
        if (done && at == FIELD_BATCHES) after += 1;
        report[at] = after;
        if (at >= BATCH_FIELD_STATUS) after = 0;
        if (after != before) header[at] = after;
    } else if (at < HEADER_FIELDS + CLASSES) {
        report[at] = runs;
    }
}

// Numbers of free runs by class: the begin of their table.
__device__ __forceinline__ const i64* free_run_counts(const i64* header) {
    const i64* table = header + FIELD_TABLES + 2 * IMAGE_TABLE_FREE_TREE;
    const i64 pages = table[0] + (i64(1) << table[1]);
    const u32* image = reinterpret_cast<const u32*>(header);
    return reinterpret_cast<const i64*>(
        image + header[FIELD_PAGE_END] - pages * header[FIELD_PAGE_WORDS]);
}
