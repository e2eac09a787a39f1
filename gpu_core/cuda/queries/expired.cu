// expired.cu -- edges whose last time is a given one or earlier, in rows of any layout.
//
// Caller      gpu_core/cuda/queries/expired.py
// Host twin   gpu_core/host/queries/expired.py
#include "pages.cuh"
#include "tile_items.cuh"

constexpr int OWN_ENTRIES = 8;
constexpr int TILE = OWN_ENTRIES * THREADS;

// Launch      THREADS threads, a block for TILE entries of all rows, one after the other
// Reads       indptr   i64[rows + 1]: degrees summed up
//             page_at  i64[rows], pages u32[]: pages of rows, of layouts of pages (paged_rows.cu)
// Writes      sources, targets  u32[room]: ends of the edges, in no order, as far as there is room
//             count             i64[1], 0 before: how many there are
// Undirected  an edge has two entries: that in the row of its lower index is listed
// Cost        8 bytes an entry; the search of its row is in cache
extern "C" __global__ void __launch_bounds__(THREADS) list_expired(
        const u32* __restrict__ image, const Shape shape, const i64* __restrict__ indptr,
        const i64 rows, const i64 entries, const i64* __restrict__ page_at,
        const u32* __restrict__ pages, const i64 until, const i64 directed, const i64 room,
        u32* __restrict__ sources, u32* __restrict__ targets, i64* count) {
    __shared__ i64 start;
    const i64 begin = static_cast<i64>(blockIdx.x) * TILE;
    const i64 end = min(begin + TILE, entries);
    const TileItems tile = items_of_tile(indptr, rows, begin, end);
    const bool paged = is_paged(shape);
    const i64 on_page = paged ? page_entries(shape) : 1;
    const i64 step = entry_step(shape);
    u32 source[OWN_ENTRIES];
    u32 target[OWN_ENTRIES];
    u32 expired = 0;  // a bit an entry
#pragma unroll
    for (int k = 0; k < OWN_ENTRIES; ++k) {
        const i64 i = begin + k * THREADS + threadIdx.x;
        if (i >= end) continue;
        const i64 row = tile.at(indptr, i);
        const i64 position = i - indptr[row];
        const u32* entry;
        i64 field;
        if (paged) {
            entry = image + page_base(shape, pages[page_at[row] + position / on_page])
                    + position % on_page * step;
            field = entry_field(shape, on_page);
        } else {
            const Adjacency found = open_adjacency(image, shape, row);
            entry = image + found.base + position * step;
            field = found.field;
        }
        const u64 low = entry[LAST_WORD * field];
        const u64 high = entry[(LAST_WORD + 1) * field];
        if (static_cast<i64>(low | high << 32) > until) continue;
        source[k] = static_cast<u32>(row);
        target[k] = entry[0];
        if (directed || target[k] > source[k]) expired |= 1u << k;
    }
    i64 all;
    const i64 before = block_exclusive_sum<i64, THREADS>(__popc(expired), all);
    if (all == 0) return;
    if (threadIdx.x == 0) {
        start = static_cast<i64>(atomicAdd(reinterpret_cast<u64*>(count), static_cast<u64>(all)));
    }
    __syncthreads();
    i64 to = start + before;
#pragma unroll
    for (int k = 0; k < OWN_ENTRIES; ++k) {
        if (!(expired >> k & 1u)) continue;
        if (to < room) {
            sources[to] = source[k];
            targets[to] = target[k];
        }
        ++to;
    }
}
