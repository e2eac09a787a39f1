// common_neighbors.cu -- common neighbors of many pairs.
//
// Caller      gpu_core/cuda/analytics/triangles/common_neighbors.py
// Host twin   gpu_core/host/analytics/triangles/common_neighbors.py
#include "pairs.cuh"

// Make the keys of pairs, and measure their rows.
//
// Launch      one thread a pair
// Writes      keys     u64[pairs]
//             shorter  u32[pairs], length of the shorter row
//             shared   u64[2][pairs]: 0, and the lengths of both
extern "C" __global__ void __launch_bounds__(THREADS)
measure_pairs(const u32* __restrict__ sources, const u32* __restrict__ targets, const i64 pairs,
              const u32* __restrict__ degree, u64* __restrict__ keys, u32* __restrict__ shorter,
              u64* __restrict__ shared) {
    const i64 pair = thread_of_grid();
    if (pair >= pairs) return;
    const u32 source = sources[pair], target = targets[pair];
    keys[pair] = static_cast<u64>(source) << 32 | target;
    shorter[pair] = min(degree[source], degree[target]);
    shared[pair] = 0;
    shared[pairs + pair] = static_cast<u64>(degree[source]) + degree[target];
}

// Count the common neighbors of each pair.
//
// Launch      THREADS threads, a block a tile
// Adds to     counts   u64[pairs]
// Cost        an atomic a warp and pair
extern "C" __global__ void __launch_bounds__(THREADS)
count_shared(const u64* __restrict__ keys, const i64* __restrict__ starts, const i64 pairs,
             const PairRows rows, u64* __restrict__ counts) {
    for_pair_entries(Pairs{keys, starts, pairs}, rows, blockIdx.x,
                     [&](const PairEntry& entry, u32 number) {
                         const u32 lanes = lanes_of_number(number);
                         const u64 found = sum_of_lanes<1>(lanes, entry.is_common);
                         if (found) atomicAdd(&counts[entry.pair], found);
                     });
}
