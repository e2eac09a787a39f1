// oriented_edges.cu -- orient the edges of the undirected simple graph from lower to higher degree.
//
// Caller      gpu_core/cuda/analytics/parts/oriented_edges.py
// Host twin   gpu_core/host/analytics/triangles/triangles.py, same orientation
// Encoding    oriented_edges.cuh
//
// The rows of a graph are read in windows, and each target is appended to its row as it is found. Of
// a directed graph both directions are read: entries that are in both are found first, by binary
// search, and the second direction leaves them out.
//
// Source: Latapy, "Main-memory triangle computations for very large (sparse (power-law)) graphs",
// TCS 2008 (the orientation).
#include "oriented_edges.cuh"
#include "search.cuh"
#include "windows.cuh"

// Which entries of the rows (a) are also entries of the other direction's (b): bit 31 is set there.
//
// Launch      THREADS threads, a block a window of a
// Reads       b_indptr, b  the other rows, bits 31 do not matter
// Writes      a            u32[entries]
//             degree       u32[n], grows by the entries of a row without itself: all of them, or
//                          (`new_only`) those without bit 31
//             both_ways    u32[n], grows by the entries with bit 31 but for itself; null: not counted
extern "C" __global__ void __launch_bounds__(THREADS) mark_mutual(
        const i64* indptr, const i64* window_rows, const i64* window_entries, u32* __restrict__ a,
        const i64* __restrict__ b_indptr, const u32* __restrict__ b, const i64 new_only,
        u32* __restrict__ degree, u32* __restrict__ both_ways) {
    __shared__ u32 cuts[WINDOW_ROWS + 2];
    const Windows windows{indptr, window_rows, window_entries};
    const Window window = windows.open(blockIdx.x, cuts);
    for_pieces(cuts, window.pieces(), [&](int piece, u32 begin, u32 end, int lane, int lanes) {
        const i64 row = window.row + piece - 1;
        u32 counted = 0;
        u32 mutual = 0;
        if (begin < end) {
            const i64 low = b_indptr[row], high = b_indptr[row + 1];
            for (u32 i = begin + lane; i < end; i += lanes) {
                const u32 target = a[window.entry + i];
                const i64 first =
                    first_not_before(low, high, [&](i64 at) { return (b[at] & INDEX) < target; });
                const bool is_mutual = first < high && (b[first] & INDEX) == target;
                if (is_mutual) a[window.entry + i] = target | MUTUAL;
                counted += target != row && !(new_only && is_mutual);
                mutual += target != row && is_mutual;
            }
        }
        for (int distance = lanes / 2; distance > 0; distance /= 2) {
            counted += __shfl_xor_sync(FULL_WARP, counted, distance);
            mutual += __shfl_xor_sync(FULL_WARP, mutual, distance);
        }
        if (lane == 0 && counted) atomicAdd(&degree[row], counted);
        if (lane == 0 && mutual && both_ways) atomicAdd(&both_ways[row], mutual);
    });
}

// Empty rows of targets, each with room for all neighbors; counts of 0; and degrees, where rows are whole.
//
// Launch      one thread a vertex
// Reads       other_indptr  of the other direction's rows; null: an undirected graph
// Writes      edges  u64[n], null for an undirected graph
//             sizes  u32[4] of count_small
extern "C" __global__ void begin_targets(const i64* __restrict__ indptr,
                                         const i64* __restrict__ other_indptr, const i64 count,
                                         u32* __restrict__ degree, u64* __restrict__ rows,
                                         u64* __restrict__ triangles, u64* __restrict__ edges,
                                         u32* __restrict__ sizes) {
    const i64 vertex = thread_of_grid();
    if (vertex < 4) sizes[vertex] = 0;
    if (vertex >= count) return;
    const i64 start = indptr[vertex] + (other_indptr ? other_indptr[vertex] : 0);
    rows[vertex] = static_cast<u64>(start) << LENGTH_BITS;
    triangles[vertex] = 0;
    if (edges) edges[vertex] = 0;
    if (!other_indptr) degree[vertex] = static_cast<u32>(indptr[vertex + 1] - indptr[vertex]);
}

// Append the neighbors of higher (degree, index) to the rows of targets.
//
// Launch      THREADS threads, a block a window
// Reads       columns, begin, step  `Rows`, that are read where they lie
//             words   u32[entries], with bits 31 of mark_mutual: read in their place; null: none
//             append  1: other launches add to the same rows
//             new_only  1: leave out entries with bit 31
// Cost        reads 4 bytes an entry, gathers 4 from L2, writes 4 for every second one
extern "C" __global__ void __launch_bounds__(THREADS) orient_rows(
        const u32* __restrict__ columns, const i64* __restrict__ row_begin, const i64 row_step,
        const i64* indptr, const i64* window_rows, const i64* window_entries, const u32* __restrict__ words,
        const u32* __restrict__ degree, const i64 append, const i64 new_only,
        u64* __restrict__ rows, u32* __restrict__ targets) {
    __shared__ u32 cuts[WINDOW_ROWS + 2];
    const Windows windows{indptr, window_rows, window_entries};
    const Window window = windows.open(blockIdx.x, cuts);
    const int pieces = window.pieces();
    const bool goes_on = windows.goes_on(window);
    for_pieces(cuts, pieces, [&](int piece, u32 begin, u32 end, int lane, int lanes) {
        const i64 vertex = window.row + piece - 1;
        const bool is_shared = append || piece == 0 || (goes_on && piece == pieces - 1);
        const bool is_there = begin < end;
        const u32 own = is_there ? degree[vertex] : 0;
        const i64 start = is_there ? start_of(rows[vertex]) : 0;
        const u32* own_words = words + window.entry + begin;
        i64 step = 1;
        if (!words && is_there) {
            step = row_step;
            own_words = columns + row_begin[vertex] +
                        (window.entry + begin - windows.indptr[vertex]) * step;
        }
        const int group = lane_of_thread() - lane;
        const u32 lanes_mask = (lanes == static_cast<int>(WARP) ? FULL_WARP : (1u << lanes) - 1)
                               << group;
        u32 kept = 0;
        for (u32 first = begin; __any_sync(FULL_WARP, first < end); first += lanes) {
            const u32 i = first + lane;
            u32 word = 0;
            bool keep = false;
            if (i < end) {
                word = __ldcs(&own_words[(i - begin) * step]);
                const u32 other = word & INDEX;
                const u32 others = degree[other];
                keep = others > own || (others == own && other > vertex);
                keep &= !(new_only && (word & MUTUAL));
            }
            const u32 kept_lanes = __ballot_sync(FULL_WARP, keep) & lanes_mask;
            const u32 here = __popc(kept_lanes);
            u32 at = kept;
            if (is_shared && lane == 0 && here) {
                at = length_of(atomicAdd(&rows[vertex], static_cast<u64>(here)));
            }
            at = __shfl_sync(FULL_WARP, at, group);
            kept += here;
            const u32 below = kept_lanes & ((1u << lane_of_thread()) - 1);
            if (keep) targets[start + at + __popc(below)] = word;
        }
        if (is_there && !is_shared && lane == 0) rows[vertex] |= kept;
    });
}
