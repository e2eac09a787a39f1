// tallies.cuh -- counts of inserted, updated, deleted and missing entries of a batch.
//
// Host twin   gpu_core/host/update/tally.py: Tally
#pragma once
#include "rows.cuh"

// What became of the entries that a thread has seen (`host/update/tally.py: Tally`): five numbers of
// TALLY_BITS each, in the order of the header. Of short and medium rows a thread sees fewer entries.
typedef u64 Tally;
constexpr int TALLY_BITS = 12;
constexpr int TALLIES = 5;
constexpr u32 MOST_SEEN = 2048;
constexpr u64 TALLY_ADDED = 1;
constexpr u64 TALLY_FOUND_PUT = u64(1) << TALLY_BITS;
constexpr u64 TALLY_FOUND_DELETE = u64(1) << 2 * TALLY_BITS;
constexpr u64 TALLY_REMOVED = u64(1) << 3 * TALLY_BITS;
constexpr u64 TALLY_REPLACED = u64(1) << 4 * TALLY_BITS;

__device__ __forceinline__ void count_code(Tally& tally, u32 code) {
    u64 counted = 0;
    if (code == CODE_NEW) counted = TALLY_ADDED;
    if (code == CODE_AGAIN) counted = TALLY_ADDED | TALLY_REPLACED;
    if (is_found(code)) counted = TALLY_FOUND_PUT;
    if (code == CODE_DELETED) counted = TALLY_FOUND_DELETE | TALLY_REMOVED;
    if (code == CODE_DANGLED) counted = TALLY_REMOVED;
    tally += counted;
}

// Add the tallies of a block to the header. All threads.
__device__ __forceinline__ void add_tally(i64* header, Tally tally) {
    __shared__ u32 sums[TALLIES];
    if (threadIdx.x < TALLIES) sums[threadIdx.x] = 0;
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < TALLIES; ++i) {
        const u32 own = static_cast<u32>(tally >> i * TALLY_BITS) & ((1 << TALLY_BITS) - 1);
        const u32 sum = __reduce_add_sync(FULL_WARP, own);
        if (lane_of_thread() == 0 && sum != 0) atomicAdd(&sums[i], sum);
    }
    __syncthreads();
    if (threadIdx.x < TALLIES && sums[threadIdx.x] != 0) {
        atomicAdd(reinterpret_cast<u64*>(header + BATCH_FIELD_ADDED + threadIdx.x),
                  u64(sums[threadIdx.x]));
    }
}

// Add the tallies of a block to five numbers. All threads.
__device__ __forceinline__ void add_tally_to(i64* numbers, Tally tally) {
    #pragma unroll
    for (int i = 0; i < TALLIES; ++i) {
        const u32 own = static_cast<u32>(tally >> i * TALLY_BITS) & ((1 << TALLY_BITS) - 1);
        const u32 sum = __reduce_add_sync(FULL_WARP, own);
        if (lane_of_thread() == 0 && sum != 0) {
            atomicAdd(reinterpret_cast<u64*>(numbers + i), u64(sum));
        }
    }
}
