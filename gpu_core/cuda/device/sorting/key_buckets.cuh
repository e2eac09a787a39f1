// key_buckets.cuh -- buckets of keys that one block sorts in registers and shared memory.
//
// Needs       keys in the order of their uppermost bits, by which they are partitioned
// Host side   gpu_core/cuda/device/sorting/key_buckets.py
#pragma once
#include "search.cuh"
#include "sort_tiles.cuh"

// Keys a thread holds of the largest bucket; two blocks a multiprocessor, so that 256 run at once.
constexpr int BUCKET_ITEMS = BUCKET_KEYS / BUCKET_THREADS;
using Bucket = SortTile<BUCKET_ITEMS, BUCKET_THREADS, unsigned short>;

// The bucket that the block takes, in the order in which blocks begin: those before it have begun. The
// last block to ask leaves 0. All threads.
__device__ __forceinline__ u32 take_bucket(u32* block_numbers) {
    __shared__ u32 number;
    if (threadIdx.x == 0) {
        number = atomicAdd(block_numbers, 1u);
        if (number == gridDim.x - 1) *block_numbers = 0;
    }
    __syncthreads();
    return number;
}

// Which bucket a key is in; passed by value.
struct Partition {
    i64 shift;
    u64 mask;
    __device__ __forceinline__ u64 bucket_of(u64 key) const { return key >> shift & mask; }

    // Keys of the buckets before, for a whole warp.
    __device__ __forceinline__ i64 keys_before(const u64* keys, i64 count, u64 bucket) const {
        return warp_first_not_before(count, [&](i64 at) { return bucket_of(keys[at]) < bucket; });
    }
};

// Where the keys of a bucket begin and end. All threads.
__device__ __forceinline__ void find_bucket(
        const Partition& partition, const u64* keys, i64 count, u32 bucket, i64 (&bounds)[2]) {
    __shared__ i64 found[2];
    if (warp_of_thread() < 2) {
        const u32 side = warp_of_thread();
        const i64 position = partition.keys_before(keys, count, bucket + side);
        if (lane_of_thread() == 0) found[side] = position;
    }
    __syncthreads();
    bounds[0] = found[0];
    bounds[1] = found[1];
}

// Sort the `here` keys of a bucket into `sorted`, by bits [low_bit, high_bit).
__device__ __forceinline__ void sort_bucket(
        const u64* keys, int here, u32 low_bit, u32 high_bit, u64* sorted, Bucket::Counters& counters) {
    const int items = (here + BUCKET_THREADS - 1) / BUCKET_THREADS;
    u64 own[BUCKET_ITEMS];
    u32 positions[BUCKET_ITEMS];
#pragma unroll
    for (int i = 0; i < BUCKET_ITEMS; ++i) {
        const int at = Bucket::position(i, items);
        own[i] = i < items && at < here ? keys[at] : 0;
    }
    const u32 bits = high_bit - low_bit;
    // Without bits one pass leaves them as they are.
    const u32 passes = max(1u, (bits + 7) / 8);
    const u32 width = (bits + passes - 1) / passes;
    for (u32 shift = low_bit;; shift += width) {
        const u32 mask = (1u << min(width, high_bit - shift)) - 1;
        u32 start;
        Bucket::rank(own, positions, here, Digit{shift, mask}, start, counters, items);
#pragma unroll
        for (int i = 0; i < BUCKET_ITEMS; ++i) {
            if (i < items && Bucket::position(i, items) < here) sorted[positions[i]] = own[i];
        }
        __syncthreads();
        if (shift + width >= high_bit) break;
#pragma unroll
        for (int i = 0; i < BUCKET_ITEMS; ++i) {
            const int at = Bucket::position(i, items);
            if (i < items && at < here) own[i] = sorted[at];
        }
    }
}
