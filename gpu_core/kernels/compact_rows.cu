// compact_rows.cu -- compact rows: a CSR copy of adjacencies, made for one call, and cut into windows.
//
// Caller      gpu_core/cuda/compact_rows.py
// Host twin   gpu_core/host/compact_rows.py
//
// Rows are those of all vertices by index, or of the vertices `selected` (null: all). The way is
// measure_rows -> add_block_sums (indptr) -> cut_windows -> copy_rows; nothing is read back.
#include "windows.cuh"

constexpr int SCAN_THREADS = 256;
constexpr int SCAN_ITEMS = 8;
constexpr int SCAN_ROWS = SCAN_THREADS * SCAN_ITEMS;

__device__ __forceinline__ i64 vertex_of(const u32* selected, i64 row) {
    return selected ? static_cast<i64>(selected[row]) : row;
}

// Degrees of rows, and sums of them within each block of SCAN_ROWS rows.
//
// Launch      SCAN_THREADS threads, a block for SCAN_ROWS rows
// Writes      indptr  i64[rows + 1]: item row + 1 is the sum from the block's first row to this one
//             block_sums  i64[blocks], sums of the blocks before
// Ticket      u32, 0 before and after
// Cost        reads a sector a vertex record, writes 8 bytes a row
extern "C" __global__ void measure_rows(const u32* __restrict__ image, const Shape shape,
                                        const u32* __restrict__ selected, const i64 rows,
                                        i64* __restrict__ indptr, i64* block_sums, u32* ticket) {
    const i64 first = static_cast<i64>(blockIdx.x) * SCAN_ROWS + threadIdx.x * SCAN_ITEMS;
    i64 upto[SCAN_ITEMS];
    i64 own = 0;
#pragma unroll
    for (int i = 0; i < SCAN_ITEMS; ++i) {
        if (first + i < rows) {
            const i64 vertex = vertex_of(selected, first + i);
            if (vertex < shape.vertex_count) {
                own += image[record_of(shape, vertex) + shape.degree_word];
            }
        }
        upto[i] = own;
    }
    i64 total;
    const i64 before = block_exclusive_sum<i64, SCAN_THREADS>(own, total);
#pragma unroll
    for (int i = 0; i < SCAN_ITEMS; ++i) {
        if (first + i < rows) indptr[first + i + 1] = before + upto[i];
    }
    if (threadIdx.x == 0) block_sums[blockIdx.x] = total;
    if (!is_last_block(ticket)) return;
    sums_before<SCAN_THREADS>(block_sums, gridDim.x);
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
    // First row that begins at or behind the target.
    i64 row = 0;
    i64 left = rows;
    while (left > 0) {
        const i64 half = left >> 1;
        if (cost_before(indptr, row + half) < target) {
            row += half + 1;
            left -= half + 1;
        } else {
            left = half;
        }
    }
    i64 entry = 0;
    if (row > 0) {
        const i64 start = indptr[row - 1];
        const i64 inside = target - cost_before(indptr, row - 1) - ROW_COST;
        entry = start + min(max(inside, i64(0)), indptr[row] - start);
    }
    window_rows[number] = row;
    window_entries[number] = entry;
}

// Copy the neighbours, and one more word of each entry, out of the image.
//
// Launch      WINDOW_THREADS threads, a block a window
// Writes      indices  u32[entries]; null: not asked for
//             words    u32[entries]: word `word` of each entry; null: not asked for
// Cost        reads and writes 4 bytes (8) an entry, 20 bytes and two offsets a row
extern "C" __global__ void __launch_bounds__(WINDOW_THREADS) copy_rows(
        const u32* __restrict__ image, const Shape shape, const u32* __restrict__ selected,
        const i64* indptr, const i64* window_rows, const i64* window_entries, const i64 word,
        u32* __restrict__ indices, u32* __restrict__ words) {
    const Windows windows{indptr, window_rows, window_entries};
    __shared__ u32 cuts[WINDOW_ROWS + 2];
    __shared__ i64 bases[WINDOW_ROWS + 1];
    __shared__ i64 fields[WINDOW_ROWS + 1];
    const Window window = windows.open(blockIdx.x, cuts);
    const int pieces = window.pieces();
    const i64 step = entry_step(shape);
    for (int q = threadIdx.x; q < pieces; q += WINDOW_THREADS) {
        const i64 row = window.row + q - 1;
        if (cuts[q] == cuts[q + 1]) continue;
        const Adjacency row_here = open_adjacency(image, shape, vertex_of(selected, row));
        // Entries of the row before this piece.
        const i64 skipped = window.entry + cuts[q] - windows.indptr[row];
        bases[q] = row_here.base + skipped * step;
        fields[q] = row_here.field;
    }
    __syncthreads();
    for_pieces(cuts, pieces, [&](int piece, u32 begin, u32 end, int lane, int lanes) {
        if (begin == end) return;
        const i64 base = bases[piece];
        if (indices) {
            for (u32 i = begin + lane; i < end; i += lanes) {
                indices[window.entry + i] = image[base + (i - begin) * step];
            }
        }
        if (words) {
            const i64 place = base + word * fields[piece];
            for (u32 i = begin + lane; i < end; i += lanes) {
                words[window.entry + i] = image[place + (i - begin) * step];
            }
        }
    });
}

// Keys of all entries, in order of the rows: target << 32 | row; or row << row_shift | target, where
// `row_shift` is not 0.
//
// Launch      WINDOW_THREADS threads, a block a window
extern "C" __global__ void __launch_bounds__(WINDOW_THREADS) make_keys(
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

// Sorted keys as rows: where each target's row begins, and its sources.
//
// Launch      one thread an item of indptr or an entry, whichever are more
extern "C" __global__ void rows_of_keys(const u64* __restrict__ keys, const i64 entries,
                                        const i64 rows, i64* __restrict__ indptr,
                                        u32* __restrict__ indices) {
    const i64 i = thread_of_grid();
    if (i < entries) indices[i] = static_cast<u32>(keys[i]);
    if (i > rows) return;
    i64 low = 0;
    i64 left = entries;
    while (left > 0) {
        const i64 half = left >> 1;
        if (static_cast<i64>(keys[low + half] >> 32) < i) {
            low += half + 1;
            left -= half + 1;
        } else {
            left = half;
        }
    }
    indptr[i] = low;
}
