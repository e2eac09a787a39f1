// block.cuh -- reductions and scans within a warp and a block; what blocks tell one another: which is the
// last one, what others have published, that all have come this far.
//
// Needs       every thread of the block calls; blockDim.x == SIZE, a multiple of 32, <= 1024;
//             the block is one-dimensional. `warp_*` functions: all 32 lanes of the warp call.
// Reuse       a function may be called again at once: it ends with a barrier where it must.
// Order       results do not depend on scheduling (integers: any order of sums is the same sum).
#pragma once
#include "image.cuh"

constexpr u32 WARP = 32;
constexpr u32 FULL_WARP = 0xFFFFFFFFu;
// Threads of a block, of kernels that have no reason for another number.
constexpr int THREADS = 256;

__device__ __forceinline__ u32 lane_of_thread() { return threadIdx.x & (WARP - 1); }
__device__ __forceinline__ u32 warp_of_thread() { return threadIdx.x / WARP; }

// Index of the thread in the grid, and threads in the grid: grid-stride loops.
__device__ __forceinline__ i64 thread_of_grid() {
    return static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ i64 threads_of_grid() {
    return static_cast<i64>(gridDim.x) * blockDim.x;
}

// Sum over the warp, in every lane: in pairs, lanes 16 apart first, an order that sums of floating-point
// numbers keep.
template <class T>
__device__ __forceinline__ T warp_sum(T value) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(FULL_WARP, value, distance);
    }
    return value;
}

template <class T>
__device__ __forceinline__ T warp_max(T value) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        const T other = __shfl_xor_sync(FULL_WARP, value, distance);
        value = other > value ? other : value;
    }
    return value;
}

// Sum over this lane and the lanes below.
template <class T>
__device__ __forceinline__ T warp_inclusive_sum(T value) {
    const u32 lane = lane_of_thread();
    for (u32 distance = 1; distance < WARP; distance *= 2) {
        const T below = __shfl_up_sync(FULL_WARP, value, distance);
        if (lane >= distance) value += below;
    }
    return value;
}

// Sum over the lanes below; `total` is the warp's sum, in every lane.
template <class T>
__device__ __forceinline__ T warp_exclusive_sum(T value, T& total) {
    const T inclusive = warp_inclusive_sum(value);
    total = __shfl_sync(FULL_WARP, inclusive, WARP - 1);
    return inclusive - value;
}

// Values of the warp in increasing order, one a lane (Batcher's bitonic sort).
__device__ __forceinline__ u32 warp_sort(u32 value) {
    const u32 lane = lane_of_thread();
    #pragma unroll
    for (u32 run = 2; run <= WARP; run *= 2) {
        #pragma unroll
        for (u32 distance = run / 2; distance > 0; distance /= 2) {
            const u32 other = __shfl_xor_sync(FULL_WARP, value, distance);
            const bool takes_lower = ((lane & distance) == 0) == ((lane & run) == 0);
            value = takes_lower ? min(value, other) : max(value, other);
        }
    }
    return value;
}

// Sums of the warps of a block -> sum of the warps below this one, and of all. All lanes call.
template <class T, int WARPS>
__device__ __forceinline__ T sum_of_warps_below(const T* sums, T& total) {
    const u32 own = warp_of_thread();
    if constexpr (WARPS <= 4) {
        T below = 0;
        total = 0;
        for (u32 warp = 0; warp < WARPS; ++warp) {
            if (warp < own) below += sums[warp];
            total += sums[warp];
        }
        return below;
    } else {
        const u32 lane = lane_of_thread();
        const T sum = lane < WARPS ? sums[lane] : T(0);
        const T below = warp_exclusive_sum(sum, total);
        return __shfl_sync(FULL_WARP, below, own);
    }
}

// Sum over the threads below in the block; `total` is the block's sum, in every thread.
template <class T, int SIZE>
__device__ __forceinline__ T block_exclusive_sum(T value, T& total) {
    static_assert(SIZE % WARP == 0 && SIZE <= 1024, "whole warps, at most 32");
    __shared__ T sums[SIZE / WARP];
    const T inclusive = warp_inclusive_sum(value);
    if (lane_of_thread() == WARP - 1) sums[warp_of_thread()] = inclusive;
    __syncthreads();
    const T below = sum_of_warps_below<T, SIZE / WARP>(sums, total);
    __syncthreads();  // the sums have been read: they may be written again
    return below + inclusive - value;
}

// Sums over the block of several values, in every thread.
template <class T, int SIZE, int COUNT>
__device__ __forceinline__ void block_sums(T (&values)[COUNT]) {
    static_assert(SIZE % WARP == 0 && SIZE <= 1024, "whole warps, at most 32");
    __shared__ T sums[COUNT][SIZE / WARP];
    const u32 lane = lane_of_thread();
    #pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        values[k] = warp_sum(values[k]);
        if (lane == 0) sums[k][warp_of_thread()] = values[k];
    }
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < COUNT; ++k) values[k] = warp_sum(lane < SIZE / WARP ? sums[k][lane] : T(0));
    __syncthreads();
}

// Sum over the block, in every thread.
template <class T, int SIZE>
__device__ __forceinline__ T block_sum(T value) {
    T values[] = {value};
    block_sums<T, SIZE>(values);
    return values[0];
}

// Largest value of the block, in every thread.
template <class T, int SIZE>
__device__ __forceinline__ T block_max(T value) {
    static_assert(SIZE % WARP == 0 && SIZE <= 1024, "whole warps, at most 32");
    __shared__ T largest[SIZE / WARP];
    value = warp_max(value);
    if (lane_of_thread() == 0) largest[warp_of_thread()] = value;
    __syncthreads();
    const u32 lane = lane_of_thread();
    value = warp_max(largest[lane < SIZE / WARP ? lane : 0]);
    __syncthreads();
    return value;
}

// True in every thread of the block that asks last of `blocks` blocks, false in all others; the last block
// sees what the others wrote before they asked, and leaves the ticket at 0 for the next launch.
//
// `ticket` is u32, 0 before the launch; each of these blocks asks once.
__device__ __forceinline__ bool is_last_of(u32* ticket, u32 blocks) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        // What the threads wrote before the barrier is visible before the ticket counts their block:
        // a fence of one thread also orders what it has learnt of by a barrier.
        __threadfence();
        last = atomicAdd(ticket, 1u) == blocks - 1;
        if (last) *ticket = 0;
    }
    __syncthreads();
    const bool answer = last;
    if (answer) __threadfence();  // what others wrote before their tickets is read after this
    __syncthreads();
    return answer;
}

// The same of all blocks of the grid.
__device__ __forceinline__ bool is_last_block(u32* ticket) { return is_last_of(ticket, gridDim.x); }

// All blocks of the grid wait here, and see what the others have written before: of a launch whose blocks are
// at work together (`device.Device.launch_together`). `met` is 0 before it, and counts those that have come.
__device__ __forceinline__ void meet_in_grid(u64* met) {
    __syncthreads();
    if (threadIdx.x == 0) {
        // As in `is_last_of`, for all threads of the block.
        __threadfence();
        const u64 came = atomicAdd(met, u64(1));
        const u64 all = (came / gridDim.x + 1) * gridDim.x;
        const volatile u64* counted = met;
        while (*counted < all) {
        }
        __threadfence();
    }
    __syncthreads();
}

// Numbers, `stride` apart, become the sums of those before; returns the sum of all. The whole block calls,
// and each thread asks for OWN numbers at once.
//
// They may have been written by other blocks, if this one has learnt so: they are read past the L1 cache.
template <int SIZE, int OWN = 1, class T>
__device__ __forceinline__ T sums_before(T* numbers, i64 count, int stride = 1) {
    T running = 0;
    for (i64 start = 0; start < count; start += OWN * SIZE) {
        const i64 first = start + OWN * threadIdx.x;
        T own[OWN];
        T sum = 0;
        #pragma unroll
        for (int i = 0; i < OWN; ++i) {
            own[i] = first + i < count ? __ldcg(&numbers[(first + i) * stride]) : T(0);
        }
        #pragma unroll
        for (int i = 0; i < OWN; ++i) sum += own[i];
        T all;
        T before = running + block_exclusive_sum<T, SIZE>(sum, all);
        running += all;
        #pragma unroll
        for (int i = 0; i < OWN; ++i) {
            if (first + i < count) numbers[(first + i) * stride] = before;
            before += own[i];
        }
    }
    return running;
}

// Bit of a word that a block publishes with one store: it is there.
template <class Word>
constexpr Word PUBLISHED = Word(1) << (8 * sizeof(Word) - 1);

// Call add(word) for words `from` ... `to` - 1, without that bit, once each is published. The whole block
// calls, after it has published its own; blocks that publish these have begun, and await none that has not.
template <int SIZE, class Word, class Add>
__device__ __forceinline__ void for_published(const Word* words, u32 from, u32 to, Add add) {
    for (u32 i = from + threadIdx.x; i < to; i += SIZE) {
        const volatile Word* word = words + i;
        Word found = *word;
        while (!(found & PUBLISHED<Word>)) found = *word;
        add(found & ~PUBLISHED<Word>);
    }
}

// Put the items of rows end to end, a block a tile of SIZE * ITEMS rows: put(row, begin, end) is called with
// where those of each row, which are items_of(row), lie among those of its tile.
//
// `before`, i64[blocks], has the items of the tiles before when the launch ends. Ticket: u32, 0 before and
// after.
template <int SIZE, int ITEMS, class ItemsOf, class Put>
__device__ __forceinline__ void scan_rows(i64 rows, i64* before, u32* ticket, ItemsOf items_of, Put put) {
    const i64 first = (i64(blockIdx.x) * SIZE + threadIdx.x) * ITEMS;
    i64 upto[ITEMS];
    i64 own = 0;
    #pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if (first + i < rows) own += items_of(first + i);
        upto[i] = own;
    }
    i64 total;
    const i64 below = block_exclusive_sum<i64, SIZE>(own, total);
    #pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if (first + i < rows) put(first + i, i == 0 ? below : below + upto[i - 1], below + upto[i]);
    }
    if (threadIdx.x == 0) before[blockIdx.x] = total;
    if (is_last_block(ticket)) sums_before<SIZE>(before, gridDim.x);
}
