// sums.cu -- sums of f64 in the one order that every engine keeps: by halves.
//
// Caller      gpu_core/cuda/analytics/parts/reductions/sums.py
// Host twin   gpu_core/algorithms/shared/sums.py: the same bits
//
// Order       the upper half is added to the lower one, item by item, until one item is left. Several of
//             these steps are made in a launch, as item i meets only those at a distance of a multiple of
//             how many are left
#include "block.cuh"

constexpr int SUM_THREADS = 256;
constexpr int LAST_THREADS = 1024;
// Items that a thread makes one of: five steps.
constexpr int HALVED = 32;

// Add HALVED items to one, as many times as there are items left.
//
// Launch      SUM_THREADS threads, a thread an item that is left
// Reads       values  f64[size]
// Writes      sums    f64[left], left a power of two, HALVED left >= size
extern "C" __global__ void __launch_bounds__(SUM_THREADS) add_halves(
        const double* __restrict__ values, const i64 size, const i64 left, double* __restrict__ sums) {
    const i64 i = thread_of_grid();
    if (i >= left) return;
    double own[HALVED];
#pragma unroll
    for (int k = 0; k < HALVED; ++k) own[k] = i + k * left < size ? values[i + k * left] : 0.0;
    // Unrolled to the end, so that items are in registers.
#pragma unroll
    for (int step = 1; step < HALVED; step *= 2) {
        const int half = HALVED / 2 / step;
#pragma unroll
        for (int k = 0; k < HALVED / 2; ++k) {
            // Nothing is added where there is nothing: also -0.0 stays what it is.
            if (k < half && i + (k + half) * left < size) own[k] += own[(k + half) % HALVED];
        }
    }
    sums[i] = own[0];
}

// Add what is left.
//
// Launch      one block of LAST_THREADS threads
// Reads       values  f64[size], size <= LAST_THREADS
// Writes      sum     f64[1]
extern "C" __global__ void __launch_bounds__(LAST_THREADS) end_halves(
        const double* __restrict__ values, const i64 size, double* __restrict__ sum) {
    __shared__ double sums[LAST_THREADS];
    const int i = threadIdx.x;
    if (i < size) sums[i] = values[i];
    __syncthreads();
    for (int half = LAST_THREADS / 2; half > 0; half /= 2) {
        if (i < half && i + half < size) sums[i] += sums[i + half];
        __syncthreads();
    }
    if (i == 0) *sum = size > 0 ? sums[0] : 0.0;
}
