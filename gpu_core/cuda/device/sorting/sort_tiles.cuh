// sort_tiles.cuh -- keys in the registers of a block, ranked by a digit.
//
// Keeps       the order of keys whose digits agree
#pragma once
#include "sorting.cuh"

// Lanes of the warp whose digit is the same; lanes that are not valid are in no group.
__device__ __forceinline__ u32 same_digit(u32 digit, bool valid, u32 mask) {
    u32 same = __ballot_sync(FULL_WARP, valid);
    for (u32 bit = 1; bit <= mask; bit <<= 1) {
        const u32 set = __ballot_sync(FULL_WARP, digit & bit);
        same &= digit & bit ? set : ~set;
    }
    return same;
}

// A tile of THREADS * ITEMS keys, for blocks of THREADS threads, at least one a digit. Thread t holds, as item
// i, the key at position (t / 32) * 32 * ITEMS + i * 32 + t % 32: a warp's items are neighbors, in order.
// A Count is large enough for the keys.
template <int ITEMS, int THREADS = SORT_THREADS, class Count = u32>
struct SortTile {
    static constexpr int KEYS = THREADS * ITEMS;
    static constexpr int WARPS = THREADS / WARP;
    // How often each warp has met each digit.
    typedef Count Counters[WARPS][DIGITS];

    // Where this thread's item lies in the tile, of whose items `items` are in use.
    static __device__ __forceinline__ int position(int item, int items = ITEMS) {
        return (warp_of_thread() * items + item) * WARP + lane_of_thread();
    }

    // Rank the tile's keys by digit. `positions[i]` becomes the position of item i in the sorted tile.
    // Returns the number of keys whose digit is the thread's number, if there is such a digit; `start` is their
    // first position.
    static __device__ __forceinline__ u32 rank(
            const u64 (&keys)[ITEMS], u32 (&positions)[ITEMS], int count, Digit digit, u32& start,
            Counters& counters, int items = ITEMS) {
        for (u32 i = threadIdx.x; i < WARPS * DIGITS; i += THREADS) (&counters[0][0])[i] = 0;
        __syncthreads();
        Count* own = counters[warp_of_thread()];
        const u32 below = (1u << lane_of_thread()) - 1;
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            if (i >= items) break;
            const bool valid = position(i, items) < count;
            const u32 value = digit.of(keys[i]);
            const u32 same = same_digit(value, valid, digit.mask);
            const u32 counted = own[value];
            positions[i] = counted + __popc(same & below);
            __syncwarp();
            if (valid && (same & below) == 0) own[value] = static_cast<Count>(counted + __popc(same));
            __syncwarp();
        }
        __syncthreads();
        const bool is_digit = threadIdx.x < DIGITS;
        u32 sum = 0;
        for (int warp = 0; warp < WARPS && is_digit; ++warp) {
            const u32 found = counters[warp][threadIdx.x];
            counters[warp][threadIdx.x] = static_cast<Count>(sum);
            sum += found;
        }
        u32 total;
        start = block_exclusive_sum<u32, THREADS>(sum, total);
        for (int warp = 0; warp < WARPS && is_digit; ++warp) {
            counters[warp][threadIdx.x] += static_cast<Count>(start);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) positions[i] += own[digit.of(keys[i])];
        __syncthreads();
        return sum;
    }
};
