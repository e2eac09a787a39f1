// paged_rows.cu -- CSR copy of rows that lie on pages.
//
// Caller      gpu_core/cuda/queries/paged_rows.py
// Host twin   gpu_core/host/queries/export.py
//
// Rows are those of all vertices by index, or of the vertices `selected` (null: all); indptr their
// degrees summed up. measure_pages -> list_pages -> copy_entries: once the pages of all rows are listed,
// an entry is found without a walk, so the work is cut by entries, wherever rows begin.
#include "pages.cuh"
#include "tile_items.cuh"

constexpr int ROW_ITEMS = 8;
constexpr int TILE_ROWS = THREADS * ROW_ITEMS;
constexpr int TILE = 8 * THREADS;

// Launch      THREADS threads, a block for TILE_ROWS rows
// Writes      page_at     i64[rows]: pages of the rows of the tile before
//             block_sums  i64[blocks]: pages of the tiles before
// Ticket      u32, 0 before and after
extern "C" __global__ void __launch_bounds__(THREADS) measure_pages(
        const Shape shape, const i64* __restrict__ indptr, const i64 rows, i64* __restrict__ page_at,
        i64* block_sums, u32* ticket) {
    scan_rows<THREADS, ROW_ITEMS>(
        rows, block_sums, ticket, [&](i64 row) { return pages_of(shape, indptr[row + 1] - indptr[row]); },
        [&](i64 row, i64 begin, i64) { page_at[row] = begin; });
}

// Launch      one thread a row
// Writes      page_at: sums over all rows before; pages
// Cost        reads of pages that depend on one another (pages.cuh: list_many_pages)
extern "C" __global__ void __launch_bounds__(THREADS) list_pages(
        const u32* __restrict__ image, const Shape shape, const u32* __restrict__ selected,
        const i64* __restrict__ indptr, const i64 rows, const i64* __restrict__ block_sums,
        i64* __restrict__ page_at, u32* __restrict__ pages) {
    const i64 row = thread_of_grid();
    i64 at = 0;
    i64 count = 0;
    u32 first = 0;
    if (row < rows) {
        at = page_at[row] + block_sums[row / TILE_ROWS];
        page_at[row] = at;
        count = pages_of(shape, indptr[row + 1] - indptr[row]);
        const i64 vertex = selected ? static_cast<i64>(selected[row]) : row;
        if (count > 0) first = image[record_of(shape, vertex) + shape.first_word];
    }
    list_pages_of_lanes(image, shape, first, count, pages + at);
}

// Launch      THREADS threads, a block for TILE entries
// Writes      indices  u32[entries]: neighbors; null: not asked for
//             words    u32[entries]: word `word` of each entry; null: not asked for
extern "C" __global__ void __launch_bounds__(THREADS) copy_entries(
        const u32* __restrict__ image, const Shape shape, const i64* __restrict__ indptr,
        const i64 rows, const i64 entries, const i64* __restrict__ page_at,
        const u32* __restrict__ pages, const i64 word, u32* __restrict__ indices,
        u32* __restrict__ words) {
    const i64 begin = static_cast<i64>(blockIdx.x) * TILE;
    const i64 end = min(begin + TILE, entries);
    const TileItems tile = items_of_tile(indptr, rows, begin, end);
    const u32 on_page = static_cast<u32>(page_entries(shape));
    const i64 step = entry_step(shape);
    const i64 field = entry_field(shape, on_page);
#pragma unroll 4
    for (i64 i = begin + threadIdx.x; i < end; i += THREADS) {
        const i64 row = tile.at(indptr, i);
        const u32 position = static_cast<u32>(i - indptr[row]);
        const i64 page = pages[page_at[row] + position / on_page];
        const u32* entry = image + page_base(shape, page) + position % on_page * step;
        if (indices) indices[i] = entry[0];
        if (words) words[i] = entry[word * field];
    }
}
