// aimgraph_pagerank.cu -- a step of PageRank as in the thesis: contributions, summed by atomics.
//
// Part of     `graphtide study pagerank`, which compares it with ours
// Caller      gpu_core/cuda/aimgraph/aimgraph_pagerank.py
// Source      M. Winter, Fully-dynamic aimGraph, thesis, 2017: sections 2.3.2 (formula 2.5) and 7.2.2
//
// Each entry of each row is touched once: what its vertex gives to every neighbor is added to the sum of
// the one that it names. Sums depend on the order of threads, in their last bits.
#include "aimgraph.cuh"

// What a vertex gives to each neighbor; its row is not empty.
__device__ __forceinline__ double contribution_of(const double* ranks, i64 vertex, u32 neighbors) {
    return ranks[vertex] / static_cast<double>(neighbors);
}

// An item is a row, walked page by page (naive).
//
// Launch      LANES threads a vertex
// Reads       ranks  f64[vertices]
// Writes      sums   f64[vertices], which it adds to
extern "C" __global__ void contribute_rows(
        const Memory m, const i64 vertices, const double* __restrict__ ranks, double* sums) {
    const i64 vertex = thread_of_grid() / LANES;
    if (vertex >= vertices) return;
    const u32* record = record_at(m, static_cast<u32>(vertex));
    const u32 neighbors = record[NEIGHBORS];
    if (neighbors == 0) return;
    const double contribution = contribution_of(ranks, vertex, neighbors);
    const u32* page = nullptr;
    for (u32 before = 0; before < neighbors; before += page_entries(m)) {
        page = page_at(m, before == 0 ? record[FIRST_PAGE] : page[page_entries(m)]);
        const u32 here = min(page_entries(m), neighbors - before);
        for (u32 i = threadIdx.x % LANES; i < here; i += LANES) atomicAdd(&sums[page[i]], contribution);
    }
}

// An item is a page (balanced).
//
// Launch      LANES threads a page
// Reads       ranks  f64[vertices]
//             pages_before, row_of, pages  as `list_pages_of_rows` wrote them, of all vertices
// Writes      sums   f64[vertices], which it adds to
extern "C" __global__ void contribute_pages(
        const Memory m, const i64* __restrict__ pages_before, const u32* __restrict__ row_of,
        const u32* __restrict__ pages, const i64 page_count, const double* __restrict__ ranks,
        double* sums) {
    const i64 item = thread_of_grid() / LANES;
    if (item >= page_count) return;
    const u32 vertex = row_of[item];
    const u32 neighbors = record_at(m, vertex)[NEIGHBORS];
    const double contribution = contribution_of(ranks, vertex, neighbors);
    const i64 before = (item - pages_before[vertex]) * page_entries(m);
    const u32* page = page_at(m, pages[item]);
    const i64 here = min(i64(page_entries(m)), neighbors - before);
    for (i64 i = threadIdx.x % LANES; i < here; i += LANES) atomicAdd(&sums[page[i]], contribution);
}

// New ranks of the sums, which are 0 after it.
//
// Launch      one thread a vertex
extern "C" __global__ void end_step(
        const i64 vertices, const double alpha, double* __restrict__ sums, double* __restrict__ ranks) {
    const i64 vertex = thread_of_grid();
    if (vertex >= vertices) return;
    ranks[vertex] = (1.0 - alpha) + alpha * sums[vertex];
    sums[vertex] = 0.0;
}
