// search.cuh -- binary search, by any test that holds for the first items of a range and no others.
#pragma once
#include "block.cuh"

// First of low ... high - 1 of which `is_before` does not hold; high: it holds of all.
template <class IsBefore>
__device__ __forceinline__ i64 first_not_before(i64 low, i64 high, IsBefore is_before) {
    while (low < high) {
        const i64 middle = (low + high) >> 1;
        if (is_before(middle)) low = middle + 1;
        else high = middle;
    }
    return low;
}

// The same of 0 ... count - 1 for a whole warp, which asks 32 at a time. All lanes call.
template <class Number, class IsBefore>
__device__ __forceinline__ Number warp_first_not_before(Number count, IsBefore is_before) {
    Number low = 0;
    Number high = count;
    while (low < high) {
        const Number step = (high - low + WARP - 1) / WARP;
        const Number probe = low + lane_of_thread() * step;
        const bool here = probe < high && is_before(probe);
        const Number before = __popc(__ballot_sync(FULL_WARP, here));
        if (before == 0) break;
        high = min(low + before * step, high);
        low += (before - 1) * step + 1;
    }
    return low;
}
