// pairs.cu -- work that the common neighbors of pairs take (pairs.cuh).
//
// Caller      gpu_core/cuda/analytics/parts/pairs.py
#include "pairs.cuh"

// Length of the shorter of the two rows of each pair.
//
// Launch      one thread a pair
extern "C" __global__ void __launch_bounds__(THREADS)
shorter_lengths(const u64* __restrict__ keys, const i64 pairs, const u32* __restrict__ degree,
                u32* __restrict__ lengths) {
    const i64 pair = thread_of_grid();
    if (pair < pairs) {
        lengths[pair] = min(degree[lower_end(keys[pair])], degree[higher_end(keys[pair])]);
    }
}
