// windows.cuh -- compact rows (a CSR by vertex index) cut into windows of equal cost.
//
// Part of     compact_rows.cu, pagerank.cu, triangles.cu
// Host twin   gpu_core/host/compact_rows.py
// Launch      WINDOW_THREADS threads a block, a block a window
//
// A row costs ROW_COST and one for each entry; put end to end, the rows are a line that is cut every
// WINDOW_COST units (merge path: Merrill, Garland, "Merge-based Parallel Sparse Matrix-Vector
// Multiplication", SC 2016). Where the cuts fall depends on the rows alone, so sums that are taken
// window by window have the same order on every device. A row that a cut goes through belongs to the
// window that it begins in; a row of a million entries lies in five hundred windows.
//
// A window's entries are cut into *pieces*, one a row: piece 0 is what lies here of the row before
// the first that begins here (often nothing), piece q > 0 is of row `row + q - 1`.
#pragma once
#include "block.cuh"

constexpr int WINDOW_THREADS = 256;
constexpr int WINDOW_COST = 2048;
constexpr int ROW_COST = 4;
constexpr int WINDOW_ROWS = WINDOW_COST / ROW_COST;
constexpr int WINDOW_WARPS = WINDOW_THREADS / WARP;
// Entries of a piece that one lane takes at most; longer pieces go to a whole warp.
constexpr int LANE_ENTRIES = 16;

// Where row `row` begins on the line of costs.
__device__ __forceinline__ i64 cost_before(const i64* indptr, i64 row) {
    return indptr[row] + ROW_COST * row;
}

struct Window {
    i64 number;
    // Rows that begin here, and entries that lie here.
    i64 row;
    i64 row_end;
    i64 entry;
    i64 entry_end;
    __device__ __forceinline__ int pieces() const { return static_cast<int>(row_end - row) + 1; }
    __device__ __forceinline__ int entries() const { return static_cast<int>(entry_end - entry); }
};

// Rows cut into windows: first row and first entry of each window, and of the end behind the last.
struct Windows {
    const i64* indptr;
    const i64* rows;
    const i64* entries;

    __device__ __forceinline__ Window read(i64 number) const {
        Window window;
        window.number = number;
        window.row = rows[number];
        window.row_end = rows[number + 1];
        window.entry = entries[number];
        window.entry_end = entries[number + 1];
        return window;
    }

    // Places of a window's pieces: piece q is entries cuts[q] … cuts[q + 1] - 1 of the window. All
    // threads of the block call; `cuts` is shared, u32[WINDOW_ROWS + 2]; ends with a barrier.
    __device__ __forceinline__ void cut(const Window& window, u32* cuts) const {
        const int pieces = window.pieces();
        for (int q = threadIdx.x; q <= pieces; q += WINDOW_THREADS) {
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

    // Whether the window has entries of a row that began earlier; whether its last row goes on.
    __device__ __forceinline__ bool is_carried(const Window& window) const {
        return window.entry < window.entry_end && indptr[window.row] > window.entry;
    }
    __device__ __forceinline__ bool goes_on(const Window& window) const {
        return window.row_end > window.row && indptr[window.row_end] > window.entry_end;
    }
    // Window that a row begins in, and windows that it lies in.
    __device__ __forceinline__ i64 owner(i64 row) const {
        return cost_before(indptr, row) / WINDOW_COST;
    }
    __device__ __forceinline__ i64 members(i64 row) const {
        return (cost_before(indptr, row + 1) - 1) / WINDOW_COST - owner(row) + 1;
    }
};

// Call work(piece, begin, end, lane, lanes) for every piece of a window: `lanes` neighbouring lanes
// of a warp take a piece together, as many as the pieces leave, or the whole warp where the piece is
// long. All lanes of a warp call at the same time, some of them with an empty piece that is `pieces`
// or beyond. All threads of the block call; ends without a barrier.
template <class Work>
__device__ __forceinline__ void for_pieces(const u32* cuts, int pieces, Work work) {
    __shared__ u32 long_pieces[WINDOW_COST / LANE_ENTRIES];
    __shared__ u32 long_count;
    int shift = 0;  // lanes = 2^shift
    while ((2 << shift) <= static_cast<int>(WARP) && (pieces << (shift + 1)) <= WINDOW_THREADS) {
        ++shift;
    }
    const int lanes = 1 << shift;
    if (threadIdx.x == 0) long_count = 0;
    __syncthreads();
    const int lane = threadIdx.x & (lanes - 1);
    for (int first = 0; first < pieces; first += WINDOW_THREADS >> shift) {
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

// Sums of a window's pieces of rows that other windows have pieces of, too.
struct Crossings {
    double* gone_on;   // f64[windows]: of the last row, where it goes on
    double* carried;   // f64[windows]: of piece 0
    u32* tickets;      // u32[windows], 0 before and after: pieces that the window's last row has so far
};

// Sum value(load(entry)) over each row: finish(row, sum, prepare(row)) for a row that lies in one
// window, by some thread; finish_crossing(row, sum) for others, by some thread of the block that is
// through with it last.
//
// Memory is waited for as seldom as can be: what `load` returns is asked for of all entries of a
// thread before the first `value`, and what `prepare` returns before the values are there.
//
// The order of a sum depends on the rows alone: within a piece lane by lane, then over the row's
// windows. All threads of the block call.
template <class Load, class Value, class Prepare, class Finish, class FinishCrossing>
__device__ __forceinline__ void sum_rows(const Windows& windows, const Crossings& crossings,
                                         const Window& window, Load load, Value value,
                                         Prepare prepare, Finish finish,
                                         FinishCrossing finish_crossing) {
    __shared__ u32 cuts[WINDOW_ROWS + 2];
    // Values of the entries; then the sum of each piece that has any, in the place of its first.
    __shared__ double values[WINDOW_COST];
    const i64 number = window.number;
    const int pieces = window.pieces();

    constexpr int ROUNDS = WINDOW_COST / WINDOW_THREADS;
    const int entries = window.entries();
    decltype(load(i64(0))) loaded[ROUNDS];
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        const int i = round * WINDOW_THREADS + threadIdx.x;
        if (i < entries) loaded[round] = load(window.entry + i);
    }
    windows.cut(window, cuts);
    const bool is_carried = windows.is_carried(window);
    const bool goes_on = windows.goes_on(window);
    const int whole_end = goes_on ? pieces - 1 : pieces;
    const int own = threadIdx.x;
    decltype(prepare(i64(0))) prepared;
    if (own > 0 && own < whole_end) prepared = prepare(window.row + own - 1);
    double found[ROUNDS];
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        const int i = round * WINDOW_THREADS + threadIdx.x;
        found[round] = i < entries ? value(loaded[round]) : 0.0;
    }
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        values[round * WINDOW_THREADS + threadIdx.x] = found[round];
    }
    __syncthreads();

    for_pieces(cuts, pieces, [&](int piece, u32 begin, u32 end, int lane, int lanes) {
        double sum = 0;
        for (u32 i = begin + lane; i < end; i += lanes) sum += values[i];
        for (int distance = lanes / 2; distance > 0; distance /= 2) {
            sum += __shfl_xor_sync(FULL_WARP, sum, distance);
        }
        if (lane == 0 && begin < end) values[begin] = sum;
    });
    __syncthreads();

    for (int q = own; q < pieces; q += WINDOW_THREADS) {
        const double sum = cuts[q] < cuts[q + 1] ? values[cuts[q]] : 0.0;
        const i64 row = window.row + q - 1;
        if (q == 0) {
            if (is_carried) crossings.carried[number] = sum;
        } else if (q < whole_end) {
            if (q >= WINDOW_THREADS) prepared = prepare(row);
            finish(row, sum, prepared);
        } else {
            crossings.gone_on[number] = sum;
        }
    }
    if (!is_carried && !goes_on) return;

    // Whoever is last with a piece of a row adds up all its pieces.
    __threadfence();
    __syncthreads();
    const u32 warp = warp_of_thread();
    if (warp == 0 ? !is_carried : warp == 1 ? !goes_on : true) return;
    const i64 row = warp == 0 ? window.row - 1 : window.row_end - 1;
    const i64 owner = windows.owner(row);
    const i64 members = windows.members(row);
    u32 before = 0;
    if (lane_of_thread() == 0) before = atomicAdd(&crossings.tickets[owner], 1u);
    before = __shfl_sync(FULL_WARP, before, 0);
    if (before != members - 1) return;
    __threadfence();
    double sum = 0;
    for (i64 i = lane_of_thread(); i < members; i += WARP) {
        sum += __ldcg(i == 0 ? &crossings.gone_on[owner] : &crossings.carried[owner + i]);
    }
    sum = warp_sum(sum);
    if (lane_of_thread() == 0) {
        crossings.tickets[owner] = 0;
        finish_crossing(row, sum);
    }
}
