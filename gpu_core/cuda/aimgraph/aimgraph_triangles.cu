// aimgraph_triangles.cu -- triangles as in the thesis: of two neighbors one is searched in the other's row.
//
// Part of     `graphtide study triangles`, which compares them with ours
// Caller      gpu_core/cuda/aimgraph/aimgraph_triangles.py
// Source      M. Winter, Fully-dynamic aimGraph, thesis, 2017: section 7.2.1
// Form        SORTED 1: rows are in the order of neighbors, and a search ends at the first larger one; 0: it
//             ends where it finds, or at the end of the row. LANES: as of aimgraph.cuh
//
// A graph has each edge in both rows, and a triangle is counted once: at its least vertex. No row is
// read otherwise than from its first page on (7.2.1: such a layout has no random access).
#include "aimgraph.cuh"

// Whether a row has an entry.
__device__ bool has_entry(const Memory& m, u32 vertex, u32 target) {
    const u32* record = record_at(m, vertex);
    const u32* page = nullptr;
    for (u32 before = 0; before < record[NEIGHBORS]; before += page_entries(m)) {
        page = page_at(m, before == 0 ? record[FIRST_PAGE] : page[page_entries(m)]);
        const u32 here = min(page_entries(m), record[NEIGHBORS] - before);
        for (u32 i = 0; i < here; ++i) {
            if (page[i] == target) return true;
            if (SORTED && page[i] > target) return false;
        }
    }
    return false;
}

// Triangles of a vertex, a larger neighbor of it, and one that is larger than both.
__device__ u32 triangles_of(const Memory& m, u32 vertex, u32 neighbor) {
    const u32* record = record_at(m, vertex);
    const u32* page = nullptr;
    u32 found = 0;
    for (u32 before = 0; before < record[NEIGHBORS]; before += page_entries(m)) {
        page = page_at(m, before == 0 ? record[FIRST_PAGE] : page[page_entries(m)]);
        const u32 here = min(page_entries(m), record[NEIGHBORS] - before);
        for (u32 i = 0; i < here; ++i) {
            if (page[i] > neighbor && has_entry(m, neighbor, page[i])) ++found;
        }
    }
    return found;
}

// Triangles of a vertex and those larger neighbors of it that a page has, by LANES threads.
__device__ u64 triangles_on(const Memory& m, u32 vertex, const u32* page, i64 entries) {
    u64 found = 0;
    for (i64 i = threadIdx.x % LANES; i < entries; i += LANES) {
        if (page[i] > vertex) found += triangles_of(m, vertex, page[i]);
    }
    return found;
}

// An item is a row, page by page: a thread (naive) or a warp (warpsized) for each.
//
// Launch      LANES threads a vertex
// Writes      total  u64[1], which it adds to
extern "C" __global__ void count_by_rows(const Memory m, const i64 vertices, u64* total) {
    const i64 vertex = thread_of_grid() / LANES;
    if (vertex >= vertices) return;
    const u32* record = record_at(m, static_cast<u32>(vertex));
    const u32* page = nullptr;
    u64 found = 0;
    for (u32 before = 0; before < record[NEIGHBORS]; before += page_entries(m)) {
        page = page_at(m, before == 0 ? record[FIRST_PAGE] : page[page_entries(m)]);
        const u32 here = min(page_entries(m), record[NEIGHBORS] - before);
        found += triangles_on(m, static_cast<u32>(vertex), page, here);
    }
    if (found > 0) atomicAdd(total, found);
}

// An item is a page: a thread (balanced) or a warp (combined) for each.
//
// Launch      LANES threads a page
// Reads       pages_before, row_of, pages  as `list_pages_of_rows` wrote them, of all vertices
// Writes      total  u64[1], which it adds to
extern "C" __global__ void count_by_pages(
        const Memory m, const i64* __restrict__ pages_before, const u32* __restrict__ row_of,
        const u32* __restrict__ pages, const i64 page_count, u64* total) {
    const i64 item = thread_of_grid() / LANES;
    if (item >= page_count) return;
    const u32 vertex = row_of[item];
    const i64 before = (item - pages_before[vertex]) * page_entries(m);
    const i64 here = min(i64(page_entries(m)), record_at(m, vertex)[NEIGHBORS] - before);
    const u64 found = triangles_on(m, vertex, page_at(m, pages[item]), here);
    if (found > 0) atomicAdd(total, found);
}
