// compact_rows.cu -- temporary CSR copy of adjacency lists, cut into windows of equal cost.
//
// Caller      gpu_core/cuda/analytics/parts/compact_rows.py
// Host twin   gpu_core/host/analytics/parts/compact_rows.py
//
// They are made of `Rows` (gpu_core/rows.py): measure_rows -> add_block_sums (indptr) -> cut_windows ->
// copy_rows; nothing is read back.
#include "search.cuh"
#include "windows.cuh"

constexpr int SCAN_ITEMS = 8;
constexpr int SCAN_ROWS = THREADS * SCAN_ITEMS;

// Sums of the degrees of rows within each block of SCAN_ROWS rows.
//
// Launch      THREADS threads, a block for SCAN_ROWS rows
// Writes      indptr  i64[rows + 1]: item row + 1 is the sum from the block's first row to this one
//             block_sums  i64[blocks], sums of the blocks before
// Ticket      u32, 0 before and after
// Cost        reads 4 bytes a row, writes 8
extern "C" __global__ void measure_rows(const u32* __restrict__ degree, const i64 rows,
                                        i64* __restrict__ indptr, i64* block_sums, u32* ticket) {
    scan_rows<THREADS, SCAN_ITEMS>(
        rows, block_sums, ticket, [&](i64 row) { return degree[row]; },
        [&](i64 row, i64, i64 end) { indptr[row + 1] = end; });
}

// Make the sums within blocks of measure_rows sums over all rows before.
//
// Launch      one thread a row, and one
extern "C" __global__ void add_block_sums(const i64* __restrict__ block_sums, const i64 rows,
                                          i64* __restrict__ indptr) {
    const i64 i = thread_of_grid();
    if (i > rows) return;
    indptr[i] = i == 0 ? 0 : indptr[i] + block_sums[(i - 1) / SCAN_ROWS];
}

// First row and first entry of each window, and of the end (window number `windows`).
//
// Launch      one thread a window, and one; WINDOW_COST * windows >= indptr[rows] + ROW_COST * rows
// Cost        a binary search in indptr each
extern "C" __global__ void cut_windows(const i64* __restrict__ indptr, const i64 rows,
                                       const i64 windows, i64* __restrict__ window_rows,
                                       i64* __restrict__ window_entries) {
    const i64 number = thread_of_grid();
    if (number > windows) return;
    const i64 target = number * WINDOW_COST;
    // First row that begins at or after the target.
    const i64 row = first_not_before(0, rows, [&](i64 at) { return cost_before(indptr, at) < target; });
    i64 entry = 0;
    if (row > 0) {
        const i64 start = indptr[row - 1];
        const i64 inside = target - cost_before(indptr, row - 1) - ROW_COST;
        entry = start + min(max(inside, i64(0)), indptr[row] - start);
    }
    window_rows[number] = row;
    window_entries[number] = entry;
}

// Copy the entries of rows one after the other, and one more word of each.
//
// Launch      THREADS threads, a block a window
// Reads       columns, begin, step  `Rows`
//             words, word_begin     likewise, of the other word
// Writes      indices  u32[entries]; null: not asked for
//             copied   u32[entries]: the other word of each entry; null: not asked for
// Cost        reads and writes 4 bytes (8) an entry, 8 bytes and two offsets a row
extern "C" __global__ void __launch_bounds__(THREADS) copy_rows(
        const u32* __restrict__ columns, const i64* __restrict__ begin, const u32* __restrict__ words,
        const i64* __restrict__ word_begin, const i64 step, const i64* indptr,
        const i64* window_rows, const i64* window_entries, u32* __restrict__ indices,
        u32* __restrict__ copied) {
    const Windows windows{indptr, window_rows, window_entries};
    __shared__ u32 cuts[WINDOW_ROWS + 2];
    __shared__ i64 bases[WINDOW_ROWS + 1];
    __shared__ i64 word_bases[WINDOW_ROWS + 1];
    const Window window = windows.open(blockIdx.x, cuts);
    const int pieces = window.pieces();
    for (int q = threadIdx.x; q < pieces; q += THREADS) {
        const i64 row = window.row + q - 1;
        if (cuts[q] == cuts[q + 1]) continue;
        // Entries of the row before this piece.
        const i64 skipped = window.entry + cuts[q] - windows.indptr[row];
        if (indices) bases[q] = begin[row] + skipped * step;
        if (copied) word_bases[q] = word_begin[row] + skipped * step;
    }
    __syncthreads();
    for_pieces(cuts, pieces, [&](int piece, u32 first, u32 end, int lane, int lanes) {
        if (first == end) return;
        if (indices) {
            const u32* from = columns + bases[piece];
            for (u32 i = first + lane; i < end; i += lanes) {
                indices[window.entry + i] = from[(i - first) * step];
            }
        }
        if (copied) {
            const u32* from = words + word_bases[piece];
            for (u32 i = first + lane; i < end; i += lanes) {
                copied[window.entry + i] = from[(i - first) * step];
            }
        }
    });
}

// Keys of all entries, in order of the rows: target << 32 | row; or row << row_shift | target, where
// `row_shift` is not 0.
//
// Launch      THREADS threads, a block a window
extern "C" __global__ void __launch_bounds__(THREADS) make_keys(
        const i64* indptr, const i64* window_rows, const i64* window_entries,
        const u32* __restrict__ indices, const u32 row_shift, u64* __restrict__ keys) {
    const Windows windows{indptr, window_rows, window_entries};
    __shared__ u32 cuts[WINDOW_ROWS + 2];
    const Window window = windows.open(blockIdx.x, cuts);
    for_pieces(cuts, window.pieces(), [&](int piece, u32 begin, u32 end, int lane, int lanes) {
        const u64 row = window.row + piece - 1;
        for (u32 i = begin + lane; i < end; i += lanes) {
            const u64 target = indices[window.entry + i];
            keys[window.entry + i] = row_shift ? row << row_shift | target : target << 32 | row;
        }
    });
}

// Number of the first key of a row, or of a later one, from `low` on.
__device__ __forceinline__ i64 first_key(const u64* keys, i64 low, i64 entries, i64 row) {
    return first_not_before(low, entries, [&](i64 at) { return static_cast<i64>(keys[at] >> 32) < row; });
}

// Sorted keys as rows: where each target's row begins, how long it is, and its sources.
//
// Launch      one thread an item of indptr or an entry, whichever are more
extern "C" __global__ void rows_of_keys(const u64* __restrict__ keys, const i64 entries,
                                        const i64 rows, i64* __restrict__ indptr,
                                        u32* __restrict__ degree, u32* __restrict__ indices) {
    const i64 i = thread_of_grid();
    if (i < entries) indices[i] = static_cast<u32>(keys[i]);
    if (i > rows) return;
    const i64 first = first_key(keys, 0, entries, i);
    indptr[i] = first;
    if (i < rows) degree[i] = static_cast<u32>(first_key(keys, first, entries, i + 1) - first);
}
