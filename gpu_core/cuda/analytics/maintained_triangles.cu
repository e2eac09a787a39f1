// maintained_triangles.cu -- triangles of changed edges: common neighbors of their ends, by search.
//
// Caller      gpu_core/cuda/analytics/maintained_triangles.py
// Host twin   gpu_core/host/analytics/maintained_triangles.py
// Reads       keys    u64[pairs], lower end << 32 | higher end, increasing: the edges
//             rows    of a graph that has all of these edges (gpu_core/rows.py)
#include "image.cuh"
#include "tile_items.cuh"

constexpr int PAIR_THREADS = 256;
constexpr i64 PAIR_ENTRIES = 1024;

__device__ __forceinline__ u32 lower_end(u64 key) { return static_cast<u32>(key >> 32); }
__device__ __forceinline__ u32 higher_end(u64 key) { return static_cast<u32>(key); }

// Length of the shorter of the two rows of each edge.
//
// Launch      one thread an edge
extern "C" __global__ void shorter_lengths(const u64* __restrict__ keys, const i64 pairs,
                                           const u32* __restrict__ degree,
                                           u32* __restrict__ lengths) {
    const i64 pair = thread_of_grid();
    if (pair < pairs) {
        lengths[pair] = min(degree[lower_end(keys[pair])], degree[higher_end(keys[pair])]);
    }
}

// Whether the edge of two vertices is among keys[0 … number - 1].
__device__ __forceinline__ bool is_counted_before(
        const u64* __restrict__ keys, i64 number, u32 one, u32 other) {
    const u64 key = static_cast<u64>(min(one, other)) << 32 | max(one, other);
    if (key >= keys[number]) return false;
    i64 low = 0;
    for (i64 high = number; low < high;) {
        const i64 middle = (low + high) >> 1;
        if (keys[middle] < key) low = middle + 1;
        else high = middle;
    }
    return keys[low] == key;
}

// Add `sign` to the corners of each triangle that has one of the edges, once: at the smallest one.
//
// Launch      PAIR_THREADS threads, a block for PAIR_ENTRIES entries of the shorter rows
// Reads       starts     i64[pairs + 1]: entries of the shorter rows before each edge
// Adds to     triangles  u64[vertices]
// Cost        a binary search in the longer row an entry; an atomic a triangle, and two a warp and edge
extern "C" __global__ void __launch_bounds__(PAIR_THREADS)
count_common(const u64* __restrict__ keys, const i64* __restrict__ starts, const i64 pairs,
             const i64* __restrict__ begin, const u32* __restrict__ degree,
             const u32* __restrict__ columns, const i64 step, const i64 sign,
             u64* __restrict__ triangles) {
    const i64 first = blockIdx.x * PAIR_ENTRIES;
    const i64 end = min(first + PAIR_ENTRIES, starts[pairs]);
    const TileItems items = items_of_tile(starts, pairs, first, end);
    const u32 lane = lane_of_thread();
    for (i64 from = first; from < end; from += PAIR_THREADS) {
        const i64 place = from + threadIdx.x;
        // Threads behind the end go with the last edge, and find nothing.
        const bool is_there = place < end;
        const i64 pair = is_there ? items.at(starts, place) : items.high;
        const u32 u = lower_end(keys[pair]);
        const u32 v = higher_end(keys[pair]);
        bool is_found = false;
        if (is_there) {
            const bool is_lower_short = degree[u] <= degree[v];
            const u32 shorter = is_lower_short ? u : v;
            const u32 longer = is_lower_short ? v : u;
            const u32 w = columns[begin[shorter] + (place - starts[pair]) * step];
            const i64 length = degree[longer];
            const i64 at = lower_bound(columns, begin[longer], step, length, w);
            is_found = at < length && columns[begin[longer] + at * step] == w &&
                       !is_counted_before(keys, pair, u, w) && !is_counted_before(keys, pair, v, w);
            if (is_found) atomicAdd(&triangles[w], static_cast<u64>(sign));
        }
        // Lanes of one edge are neighbors: the first of them adds for both ends.
        const u32 number = static_cast<u32>(pair - items.low);
        const u32 before = __shfl_up_sync(FULL_WARP, number, 1);
        const u32 heads = __ballot_sync(FULL_WARP, lane == 0 || before != number);
        const u32 found_lanes = __ballot_sync(FULL_WARP, is_found);
        if (!(heads >> lane & 1)) continue;
        const u32 from_here = FULL_WARP << lane;
        const u32 later_heads = heads & from_here & (from_here << 1);
        const u32 own_lanes = from_here & ~(later_heads ? FULL_WARP << (__ffs(later_heads) - 1) : 0);
        const u64 found = __popc(found_lanes & own_lanes);
        if (found) {
            atomicAdd(&triangles[u], static_cast<u64>(sign) * found);
            atomicAdd(&triangles[v], static_cast<u64>(sign) * found);
        }
    }
}
