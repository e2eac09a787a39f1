// search.cuh -- binary search, by any test that holds for the first items of a range and no others.
//
// Part of     kernels that look for a key among keys in order
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
