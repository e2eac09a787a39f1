// sorting.cuh -- digit counts of a radix pass, to be fused into other kernels.
//
// Launch      SORT_THREADS threads a block; block b owns keys [b * portion, (b + 1) * portion)
// Scratch     counts   u32[blocks * DIGITS]     groups  u32[groups of GROUP_BLOCKS blocks * DIGITS]
//             tickets  u32[1 + groups], 0 before and after
//
// After a launch, keys of digit d of block b begin at groups[b / GROUP_BLOCKS][d] + counts[b][d].
#pragma once
#include "block.cuh"

// One pass: the digit is (key >> shift) & mask.
struct Digit {
    u32 shift;
    u32 mask;
    __device__ __forceinline__ u32 of(u64 key) const {
        return static_cast<u32>(key >> shift) & mask;
    }
};

// A pass, and where its counts are; passed by value. `counts` null: nothing is counted.
struct Pass {
    Digit digit;
    u32* counts;
    u32* groups;
    u32* tickets;
};

// Counters of a block, one for each digit.
__device__ __forceinline__ u32* digit_counters() {
    __shared__ u32 counters[DIGITS];
    return counters;
}

__device__ __forceinline__ void begin_counting() {
    digit_counters()[threadIdx.x] = 0;
    __syncthreads();
}

__device__ __forceinline__ void count_digit(u32 digit) { atomicAdd(&digit_counters()[digit], 1u); }

// Turn the counts of all blocks into positions, once the last block is through.
//
// The last block of a group sums up its group, the last of these sums up the groups: each reads a
// few rows of counters that lie side by side, instead of one block all of them.
__device__ __forceinline__ void end_counting(const Pass& pass) {
    u32* const counts = pass.counts;
    u32* const groups = pass.groups;
    u32* const tickets = pass.tickets;
    const u32 digit = threadIdx.x;
    __syncthreads();
    counts[static_cast<i64>(blockIdx.x) * DIGITS + digit] = digit_counters()[digit];

    const u32 group = blockIdx.x / GROUP_BLOCKS;
    const u32 first = group * GROUP_BLOCKS;
    const u32 members = min(u32(GROUP_BLOCKS), gridDim.x - first);
    if (!is_last_of(&tickets[1 + group], members)) return;
    // All that is read is asked for before any of it is written: each wait is one for many numbers.
    u32 found[GROUP_BLOCKS];
    const auto read = [&](const u32* numbers, u32 count) {
#pragma unroll
        for (u32 i = 0; i < GROUP_BLOCKS; ++i) {
            found[i] = i < count ? __ldcg(&numbers[static_cast<i64>(i) * DIGITS + digit]) : 0;
        }
    };
    // Each becomes the sum of `position` and of those before it; returns that of all.
    const auto write_sums = [&](u32* numbers, u32 count, u32 position) {
#pragma unroll
        for (u32 i = 0; i < GROUP_BLOCKS; ++i) {
            if (i < count) numbers[static_cast<i64>(i) * DIGITS + digit] = position;
            position += found[i];
        }
        return position;
    };
    u32* const own = counts + static_cast<i64>(first) * DIGITS;
    read(own, members);
    groups[group * DIGITS + digit] = write_sums(own, members, 0);

    const u32 all = (gridDim.x + GROUP_BLOCKS - 1) / GROUP_BLOCKS;
    if (!is_last_of(&tickets[0], all)) return;
    u32 total = 0;
    for (u32 i = 0; i < all; i += GROUP_BLOCKS) {
        read(groups + i * DIGITS, all - i);
#pragma unroll
        for (u32 each = 0; each < GROUP_BLOCKS; ++each) total += found[each];
    }
    u32 everything;
    u32 position = block_exclusive_sum<u32, SORT_THREADS>(total, everything);
    for (u32 i = 0; i < all; i += GROUP_BLOCKS) {
        read(groups + i * DIGITS, all - i);
        position = write_sums(groups + i * DIGITS, all - i, position);
    }
}
