// sorting.cu -- stable LSD radix sort of 64-bit keys.
//
// Part of     the apply path: deltas (rows of a batch in order), and batches of raw edges
// Caller      gpu_core/cuda/device/sorting/sorting.py           Host twin   gpu_core/host/update/parallel_sort.py
// Launch      a pass is count_digits and scatter_*, or the first count is made by the kernel that
//             writes the keys (sorting.cuh); up to BLOCK_KEYS keys: sort_block, all passes in one
// Reads       keys u64[count], values u32[count] or null
// Writes      the same, sorted by the digit, to the other pair of arrays
// Keeps       the order of keys whose digits agree: within a tile by rank, tiles by prefix sums
// Order       no atomic decides a position: results do not depend on scheduling
// Cost        a pass reads the keys twice and writes them once; positions within a tile are found in
//             shared memory, so that writes of one digit are neighbors
//
// Source      Satish, Harris, Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs",
//             IPDPS 2009; ranks by ballots as in CUB's BlockRadixRankMatch.
#include "sort_tiles.cuh"

// Keys a thread holds: in a pass over many blocks, in one over few, and where one block is all. With
// 8 the registers suffice for four blocks a multiprocessor, and tiles of 2048 keys still write 64
// bytes of a digit at a time.
constexpr int MANY = 8;
constexpr int FEW = 4;
constexpr int ALL = 16;
extern "C" __global__ void __launch_bounds__(SORT_THREADS) count_digits(
        const u64* keys, i64 count, i64 portion, Pass pass) {
    follow_previous_launch();
    begin_counting();
    const i64 begin = blockIdx.x * portion;
    const i64 end = min(begin + portion, count);
#pragma unroll 8
    for (i64 i = begin + threadIdx.x; i < end; i += SORT_THREADS) count_digit(pass.digit.of(keys[i]));
    end_counting(pass);
}

template <int ITEMS, bool VALUES>
__device__ __forceinline__ void scatter(
        const u64* keys, const u32* values, i64 count, i64 portion, const Pass& pass, u64* out,
        u32* out_values) {
    const Digit digit = pass.digit;
    using Keys = SortTile<ITEMS>;
    __shared__ u64 sorted[Keys::KEYS];
    __shared__ typename Keys::Counters counters;
    __shared__ u32 target[DIGITS];
    u32 next = pass.counts[static_cast<i64>(blockIdx.x) * DIGITS + threadIdx.x] +
               pass.groups[blockIdx.x / GROUP_BLOCKS * DIGITS + threadIdx.x];
    const i64 end = min((blockIdx.x + i64(1)) * portion, count);
    for (i64 begin = blockIdx.x * portion; begin < end; begin += Keys::KEYS) {
        const int here = static_cast<int>(min(end - begin, i64(Keys::KEYS)));
        u64 own[ITEMS];
        u32 positions[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const int at = Keys::position(i);
            own[i] = at < here ? keys[begin + at] : 0;
        }
        u32 start;
        const u32 found = Keys::rank(own, positions, here, digit, start, counters);
        target[threadIdx.x] = next - start;
        next += found;
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            if (Keys::position(i) < here) sorted[positions[i]] = own[i];
        }
        __syncthreads();
        u32 to[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const int at = i * SORT_THREADS + threadIdx.x;
            if (at < here) {
                const u64 key = sorted[at];
                to[i] = target[digit.of(key)] + at;
                out[to[i]] = key;
            }
        }
        __syncthreads();
        if (VALUES) {
            u32* sorted_values = reinterpret_cast<u32*>(sorted);
#pragma unroll
            for (int i = 0; i < ITEMS; ++i) {
                const int at = Keys::position(i);
                if (at < here) sorted_values[positions[i]] = values[begin + at];
            }
            __syncthreads();
#pragma unroll
            for (int i = 0; i < ITEMS; ++i) {
                const int at = i * SORT_THREADS + threadIdx.x;
                if (at < here) out_values[to[i]] = sorted_values[at];
            }
            __syncthreads();
        }
    }
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS, 4) scatter_many(
        const u64* keys, i64 count, i64 portion, Pass pass, u64* out) {
    follow_previous_launch();
    scatter<MANY, false>(keys, nullptr, count, portion, pass, out, nullptr);
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS) scatter_few(
        const u64* keys, i64 count, i64 portion, Pass pass, u64* out) {
    follow_previous_launch();
    scatter<FEW, false>(keys, nullptr, count, portion, pass, out, nullptr);
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS, 4) scatter_many_pairs(
        const u64* keys, i64 count, i64 portion, Pass pass, u64* out, const u32* values,
        u32* out_values) {
    follow_previous_launch();
    scatter<MANY, true>(keys, values, count, portion, pass, out, out_values);
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS) scatter_few_pairs(
        const u64* keys, i64 count, i64 portion, Pass pass, u64* out, const u32* values,
        u32* out_values) {
    follow_previous_launch();
    scatter<FEW, true>(keys, values, count, portion, pass, out, out_values);
}

// All passes over one tile, in registers and shared memory: bits [low_bit, high_bit) of the keys.
template <int ITEMS>
__device__ __forceinline__ void sort_tile(
        u64* keys, u32* values, int count, u32 low_bit, u32 high_bit) {
    using Keys = SortTile<ITEMS>;
    __shared__ u64 sorted[Keys::KEYS];
    __shared__ typename Keys::Counters counters;
    u64 own[ITEMS];
    u32 positions[ITEMS];
    u32 carried[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const int at = Keys::position(i);
        own[i] = at < count ? keys[at] : 0;
        carried[i] = values && at < count ? values[at] : 0;
    }
    for (u32 shift = low_bit; shift < high_bit; shift += 8) {
        const u32 bits = min(8u, high_bit - shift);
        u32 start;
        Keys::rank(own, positions, count, Digit{shift, (1u << bits) - 1}, start, counters);
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            if (Keys::position(i) < count) sorted[positions[i]] = own[i];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) own[i] = sorted[Keys::position(i)];
        __syncthreads();
        if (values) {
            u32* sorted_values = reinterpret_cast<u32*>(sorted);
#pragma unroll
            for (int i = 0; i < ITEMS; ++i) {
                if (Keys::position(i) < count) sorted_values[positions[i]] = carried[i];
            }
            __syncthreads();
#pragma unroll
            for (int i = 0; i < ITEMS; ++i) carried[i] = sorted_values[Keys::position(i)];
            __syncthreads();
        }
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const int at = Keys::position(i);
        if (at < count) keys[at] = own[i];
        if (at < count && values) values[at] = carried[i];
    }
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS, 1) sort_block(
        u64* keys, u32* values, i64 count, i64 low_bit, i64 high_bit) {
    follow_previous_launch();
    sort_tile<ALL>(keys, values, static_cast<int>(count), low_bit, high_bit);
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS) sort_block_few(
        u64* keys, u32* values, i64 count, i64 low_bit, i64 high_bit) {
    follow_previous_launch();
    sort_tile<FEW>(keys, values, static_cast<int>(count), low_bit, high_bit);
}
