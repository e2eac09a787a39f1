// maintained_triangles.cu -- triangles of changed edges: common neighbors of their ends, by search.
//
// Caller      gpu_core/cuda/analytics/maintained/maintained_triangles.py
// Host twin   gpu_core/host/analytics/maintained/maintained_triangles.py
// Reads       keys    u64[pairs], lower end << 32 | higher end, increasing: the edges
//             rows    of a graph that has all of these edges (gpu_core/rows.py)
#include "pairs.cuh"

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
// Launch      as of `for_pair_entries`
// Adds to     triangles  u64[vertices]
// Cost        an atomic a triangle, and two a warp and edge
extern "C" __global__ void __launch_bounds__(PAIR_THREADS)
count_common(const u64* __restrict__ keys, const i64* __restrict__ starts, const i64 pairs,
             const i64* __restrict__ begin, const u32* __restrict__ degree,
             const u32* __restrict__ columns, const i64 step, const i64 sign,
             u64* __restrict__ triangles) {
    for_pair_entries(
        Pairs{keys, starts, pairs}, PairRows{begin, degree, columns, step},
        [&](const PairEntry& entry, u32 number) {
            const bool is_found = entry.is_common &&
                                  !is_counted_before(keys, entry.pair, entry.u, entry.w) &&
                                  !is_counted_before(keys, entry.pair, entry.v, entry.w);
            if (is_found) atomicAdd(&triangles[entry.w], static_cast<u64>(sign));
            const u64 found = found_by_number(number, is_found);
            if (found) {
                atomicAdd(&triangles[entry.u], static_cast<u64>(sign) * found);
                atomicAdd(&triangles[entry.v], static_cast<u64>(sign) * found);
            }
        });
}
