// windows.cuh -- a CSR by vertex index cut into windows of equal cost, for one block each.
//
// Host twin   gpu_core/host/analytics/parts/compact_rows.py
// Launch      THREADS threads a block, a block a window
//
// A row costs ROW_COST and one for each entry; put end to end, the rows are a line that is cut every
// WINDOW_COST units (merge path: Merrill, Garland, "Merge-based Parallel Sparse Matrix-Vector
// Multiplication", SC 2016). A row that a cut goes through belongs to the window that it begins in; a
// row of a million entries lies in five hundred windows.
//
// A window's entries are cut into *pieces*, one a row: piece 0 is what lies here of the row before
// the first that begins here (often nothing), piece q > 0 is of row `row + q - 1`.
#pragma once
#include "block.cuh"

constexpr int WINDOW_COST = 2048;
constexpr int ROW_COST = 4;
constexpr int WINDOW_ROWS = WINDOW_COST / ROW_COST;
constexpr int WINDOW_WARPS = THREADS / WARP;
// Entries of a piece that one lane takes at most; longer pieces go to a whole warp.
constexpr int LANE_ENTRIES = 16;

// Where row `row` begins on the line of costs.
__device__ __forceinline__ i64 cost_before(const i64* indptr, i64 row) {
    return indptr[row] + ROW_COST * row;
}

struct Window {
    // Rows that begin here, and entries that lie here.
    i64 row;
    i64 row_end;
    i64 entry;
    i64 entry_end;
    __device__ __forceinline__ int pieces() const { return static_cast<int>(row_end - row) + 1; }
    __device__ __forceinline__ int entries() const { return static_cast<int>(entry_end - entry); }
};

// Rows cut into windows: first row and first entry of each window, and of the end after the last.
struct Windows {
    const i64* indptr;
    const i64* rows;
    const i64* entries;

    __device__ __forceinline__ Window read(i64 number) const {
        Window window;
        window.row = rows[number];
        window.row_end = rows[number + 1];
        window.entry = entries[number];
        window.entry_end = entries[number + 1];
        return window;
    }

    // Positions of a window's pieces: piece q is entries cuts[q] … cuts[q + 1] - 1 of the window. All
    // threads of the block call; `cuts` is shared, u32[WINDOW_ROWS + 2]; ends with a barrier.
    __device__ __forceinline__ void cut(const Window& window, u32* cuts) const {
        const int pieces = window.pieces();
        for (int q = threadIdx.x; q <= pieces; q += THREADS) {
            const i64 start = q == 0 ? window.entry : indptr[window.row + q - 1];
            cuts[q] = static_cast<u32>(min(start, window.entry_end) - window.entry);
        }
        __syncthreads();
    }

    // Both at once.
    __device__ __forceinline__ Window open(i64 number, u32* cuts) const {
        const Window window = read(number);
        cut(window, cuts);
        return window;
    }

    // Whether the window's last row goes on in the next one.
    __device__ __forceinline__ bool goes_on(const Window& window) const {
        return window.row_end > window.row && indptr[window.row_end] > window.entry_end;
    }
};

// Call work(piece, begin, end, lane, lanes) for every piece of a window: `lanes` neighboring lanes
// of a warp take a piece together, as many as the pieces leave, or the whole warp where the piece is
// long. All lanes of a warp call at the same time, some of them with an empty piece that is `pieces`
// or beyond. All threads of the block call; ends without a barrier.
template <class Work>
__device__ __forceinline__ void for_pieces(const u32* cuts, int pieces, Work work) {
    __shared__ u32 long_pieces[WINDOW_COST / LANE_ENTRIES];
    __shared__ u32 long_count;
    int shift = 0;  // lanes = 2^shift
    while ((2 << shift) <= static_cast<int>(WARP) && (pieces << (shift + 1)) <= THREADS) {
        ++shift;
    }
    const int lanes = 1 << shift;
    if (threadIdx.x == 0) long_count = 0;
    __syncthreads();
    const int lane = threadIdx.x & (lanes - 1);
    for (int first = 0; first < pieces; first += THREADS >> shift) {
        const int piece = first + (threadIdx.x >> shift);
        u32 begin = 0;
        u32 end = 0;
        if (piece < pieces) {
            begin = cuts[piece];
            end = cuts[piece + 1];
        }
        const bool is_long = end - begin > static_cast<u32>(LANE_ENTRIES * lanes);
        if (is_long && lane == 0) long_pieces[atomicAdd(&long_count, 1u)] = piece;
        work(is_long ? pieces : piece, begin, is_long ? begin : end, lane, lanes);
    }
    __syncthreads();
    // In whatever order they were listed: each is worked on for itself.
    const int listed = long_count;
    for (int i = warp_of_thread(); i < listed; i += WINDOW_WARPS) {
        const int piece = long_pieces[i];
        work(piece, cuts[piece], cuts[piece + 1], static_cast<int>(lane_of_thread()),
             static_cast<int>(WARP));
    }
}
