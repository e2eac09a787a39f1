// sorting.cu -- stable radix sort of 64-bit keys, least significant digit first.
//
// Part of     the apply path: halves (rows of a batch in order), and batches of raw edges
// Caller      gpu_core/cuda/sorting.py           Host twin   gpu_core/host/sorting.py
// Launch      a pass is count_digits and scatter_*, or the first count is made by the kernel that
//             writes the keys (sorting.cuh); up to BLOCK_KEYS keys: sort_block, all passes in one;
//             in buckets: one pass by the uppermost digit, and sort_buckets for all below it
// Reads       keys u64[count], values u32[count] or null
// Writes      the same, sorted by the digit, to the other pair of arrays
// Keeps       the order of keys whose digits agree: within a tile by rank, tiles by prefix sums
// Order       no atomic decides a place: results do not depend on scheduling
// Cost        a pass reads the keys twice and writes them once; places within a tile are found in
//             shared memory, so that writes of one digit are neighbours
//
// Source      Satish, Harris, Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs",
//             IPDPS 2009; ranks by ballots as in CUB's BlockRadixRankMatch.
#include "sorting.cuh"

constexpr int SORT_WARPS = SORT_THREADS / WARP;
// Keys a thread holds: in a pass over many blocks, in one over few, and where one block is all. With
// 8 the registers suffice for four blocks a multiprocessor, and tiles of 2048 keys still write 64
// bytes of a digit at a time.
constexpr int MANY = 8;
constexpr int FEW = 4;
constexpr int ALL = 16;
// The same of the largest bucket that a block sorts: two blocks a multiprocessor, so that those of 256
// buckets run at once.
constexpr int BUCKET = 20;

// Lanes of the warp whose digit is the same; lanes that are not valid are in nobody's.
__device__ __forceinline__ u32 same_digit(u32 digit, bool valid, u32 mask) {
    u32 same = __ballot_sync(FULL_WARP, valid);
    for (u32 bit = 1; bit <= mask; bit <<= 1) {
        const u32 set = __ballot_sync(FULL_WARP, digit & bit);
        same &= digit & bit ? set : ~set;
    }
    return same;
}

// A tile of SORT_THREADS * ITEMS keys. Thread t holds, as item i, the key at place
// (t / 32) * 32 * ITEMS + i * 32 + t % 32: a warp's items are neighbours, in order.
template <int ITEMS>
struct Tile {
    static constexpr int KEYS = SORT_THREADS * ITEMS;

    // Where this thread's item lies in the tile, of whose items `items` are in use.
    static __device__ __forceinline__ int place(int item, int items = ITEMS) {
        return (warp_of_thread() * items + item) * WARP + lane_of_thread();
    }

    // Rank the tile's keys by digit. `places[i]` becomes the place of item i in the sorted tile.
    // Returns the number of keys whose digit is the thread's number; `start` is their first place.
    static __device__ __forceinline__ u32 rank(
            const u64 (&keys)[ITEMS], u32 (&places)[ITEMS], int count, Digit digit, u32& start,
            int items = ITEMS) {
        __shared__ u32 before[SORT_WARPS][DIGITS];
        for (int warp = 0; warp < SORT_WARPS; ++warp) before[warp][threadIdx.x] = 0;
        __syncthreads();
        u32* own = before[warp_of_thread()];
        const u32 below = (1u << lane_of_thread()) - 1;
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            if (i >= items) break;
            const bool valid = place(i, items) < count;
            const u32 value = digit.of(keys[i]);
            const u32 same = same_digit(value, valid, digit.mask);
            const u32 counted = own[value];
            places[i] = counted + __popc(same & below);
            __syncwarp();
            if (valid && (same & below) == 0) own[value] = counted + __popc(same);
            __syncwarp();
        }
        __syncthreads();
        u32 sum = 0;
        for (int warp = 0; warp < SORT_WARPS; ++warp) {
            const u32 found = before[warp][threadIdx.x];
            before[warp][threadIdx.x] = sum;
            sum += found;
        }
        u32 total;
        start = block_exclusive_sum<u32, SORT_THREADS>(sum, total);
        for (int warp = 0; warp < SORT_WARPS; ++warp) before[warp][threadIdx.x] += start;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) places[i] += own[digit.of(keys[i])];
        __syncthreads();
        return sum;
    }
};

extern "C" __global__ void __launch_bounds__(SORT_THREADS) count_digits(
        const u64* keys, i64 count, i64 portion, Pass pass) {
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
    using Keys = Tile<ITEMS>;
    __shared__ u64 sorted[Keys::KEYS];
    __shared__ u32 target[DIGITS];
    u32 next = pass.counts[static_cast<i64>(blockIdx.x) * DIGITS + threadIdx.x] +
               pass.groups[blockIdx.x / GROUP_BLOCKS * DIGITS + threadIdx.x];
    const i64 end = min((blockIdx.x + i64(1)) * portion, count);
    for (i64 begin = blockIdx.x * portion; begin < end; begin += Keys::KEYS) {
        const int here = static_cast<int>(min(end - begin, i64(Keys::KEYS)));
        u64 own[ITEMS];
        u32 places[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const int at = Keys::place(i);
            own[i] = at < here ? keys[begin + at] : 0;
        }
        u32 start;
        const u32 found = Keys::rank(own, places, here, digit, start);
        target[threadIdx.x] = next - start;
        next += found;
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            if (Keys::place(i) < here) sorted[places[i]] = own[i];
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
                const int at = Keys::place(i);
                if (at < here) sorted_values[places[i]] = values[begin + at];
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

extern "C" __global__ void __launch_bounds__(SORT_THREADS) scatter_many(
        const u64* keys, i64 count, i64 portion, Pass pass, u64* out) {
    scatter<MANY, false>(keys, nullptr, count, portion, pass, out, nullptr);
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS) scatter_few(
        const u64* keys, i64 count, i64 portion, Pass pass, u64* out) {
    scatter<FEW, false>(keys, nullptr, count, portion, pass, out, nullptr);
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS) scatter_many_pairs(
        const u64* keys, i64 count, i64 portion, Pass pass, u64* out, const u32* values,
        u32* out_values) {
    scatter<MANY, true>(keys, values, count, portion, pass, out, out_values);
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS) scatter_few_pairs(
        const u64* keys, i64 count, i64 portion, Pass pass, u64* out, const u32* values,
        u32* out_values) {
    scatter<FEW, true>(keys, values, count, portion, pass, out, out_values);
}

// All passes over one tile, in registers and shared memory: bits [low_bit, high_bit) of the keys.
template <int ITEMS>
__device__ __forceinline__ void sort_tile(
        u64* keys, u32* values, int count, u32 low_bit, u32 high_bit) {
    using Keys = Tile<ITEMS>;
    __shared__ u64 sorted[Keys::KEYS];
    u64 own[ITEMS];
    u32 places[ITEMS];
    u32 carried[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const int at = Keys::place(i);
        own[i] = at < count ? keys[at] : 0;
        carried[i] = values && at < count ? values[at] : 0;
    }
    for (u32 shift = low_bit; shift < high_bit; shift += 8) {
        const u32 bits = min(8u, high_bit - shift);
        u32 start;
        Keys::rank(own, places, count, Digit{shift, (1u << bits) - 1}, start);
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            if (Keys::place(i) < count) sorted[places[i]] = own[i];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) own[i] = sorted[Keys::place(i)];
        __syncthreads();
        if (values) {
            u32* sorted_values = reinterpret_cast<u32*>(sorted);
#pragma unroll
            for (int i = 0; i < ITEMS; ++i) {
                if (Keys::place(i) < count) sorted_values[places[i]] = carried[i];
            }
            __syncthreads();
#pragma unroll
            for (int i = 0; i < ITEMS; ++i) carried[i] = sorted_values[Keys::place(i)];
            __syncthreads();
        }
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const int at = Keys::place(i);
        if (at < count) keys[at] = own[i];
        if (at < count && values) values[at] = carried[i];
    }
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS, 1) sort_block(
        u64* keys, u32* values, i64 count, i64 low_bit, i64 high_bit) {
    sort_tile<ALL>(keys, values, static_cast<int>(count), low_bit, high_bit);
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS) sort_block_few(
        u64* keys, u32* values, i64 count, i64 low_bit, i64 high_bit) {
    sort_tile<FEW>(keys, values, static_cast<int>(count), low_bit, high_bit);
}

// Keys that one pass has dealt by the digit above `low_bit`, `pass`: each block sorts one bucket, by the
// bits from `low_bit` up to that digit.
//
// Launch    a block for each value of the digit
// Fault     BUCKET_OVERFULL: a bucket has more than BUCKET * SORT_THREADS keys, and stays as it is
extern "C" __global__ void __launch_bounds__(SORT_THREADS, 2) sort_buckets(
        u64* keys, i64 count, i64 low_bit, Pass pass, u32* faults) {
    using Keys = Tile<BUCKET>;
    __shared__ u32 sorted[Keys::KEYS];  // half of each key at a time
    const u32 begin = pass.groups[blockIdx.x];
    const u32 end = blockIdx.x + 1 < gridDim.x ? pass.groups[blockIdx.x + 1] : static_cast<u32>(count);
    const int here = static_cast<int>(end - begin);
    if (here > Keys::KEYS) {
        if (threadIdx.x == 0) atomicOr(faults, BUCKET_OVERFULL);
        return;
    }
    if (here <= 1) return;
    keys += begin;
    const int items = (here + SORT_THREADS - 1) / SORT_THREADS;
    u64 own[BUCKET];
    u32 places[BUCKET];
#pragma unroll
    for (int i = 0; i < BUCKET; ++i) {
        const int at = Keys::place(i, items);
        own[i] = i < items && at < here ? keys[at] : 0;
    }
    const u32 bits = pass.digit.shift - static_cast<u32>(low_bit);
    const u32 width = (bits + (bits + 7) / 8 - 1) / ((bits + 7) / 8);
    for (u32 shift = static_cast<u32>(low_bit); shift < pass.digit.shift; shift += width) {
        const u32 mask = (1u << min(width, pass.digit.shift - shift)) - 1;
        u32 start;
        Keys::rank(own, places, here, Digit{shift, mask}, start, items);
#pragma unroll
        for (int half = 0; half < 64; half += 32) {
#pragma unroll
            for (int i = 0; i < BUCKET; ++i) {
                if (i < items && Keys::place(i, items) < here) {
                    sorted[places[i]] = static_cast<u32>(own[i] >> half);
                }
            }
            __syncthreads();
#pragma unroll
            for (int i = 0; i < BUCKET; ++i) {
                const int at = Keys::place(i, items);
                if (i < items && at < here) {
                    const u64 other = half == 0 ? own[i] >> 32 << 32 : own[i] & 0xFFFFFFFFu;
                    own[i] = other | u64(sorted[at]) << half;
                }
            }
            __syncthreads();
        }
    }
#pragma unroll
    for (int i = 0; i < BUCKET; ++i) {
        const int at = Keys::place(i, items);
        if (i < items && at < here) keys[at] = own[i];
    }
}
