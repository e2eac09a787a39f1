// kernel_blocks.cu -- kernels that hand out what the functions of the headers answer.
//
// BLOCK_SIZE is defined by who compiles; T is u32 or u64 as WIDE says.
#include "block.cuh"

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 64
#endif
#ifdef WIDE
typedef u64 T;
#else
typedef u32 T;
#endif

// Twice at once, one after the other: the second must not disturb the first's answers.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) scan(const T* values, T* below, T* totals, T* below_twice) {
    const i64 i = thread_of_grid();
    T total, total_twice;
    below[i] = block_exclusive_sum<T, BLOCK_SIZE>(values[i], total);
    below_twice[i] = block_exclusive_sum<T, BLOCK_SIZE>(2 * values[i], total_twice);
    totals[i] = total_twice - total;
}

extern "C" __global__ void reduce(const T* values, T* sums, T* largest, T* warp_answers) {
    const i64 i = thread_of_grid();
    const T sum = block_sum<T, BLOCK_SIZE>(values[i]);
    sums[i] = block_sum<T, BLOCK_SIZE>(2 * values[i]) - sum;
    const T most = block_max<T, BLOCK_SIZE>(values[i]);
    largest[i] = most + block_max<T, BLOCK_SIZE>(2 * values[i]) - 2 * most;
    T total;
    warp_answers[4 * i] = warp_sum(values[i]);
    warp_answers[4 * i + 1] = warp_max(values[i]);
    warp_answers[4 * i + 2] = warp_inclusive_sum(values[i]);
    warp_answers[4 * i + 3] = warp_exclusive_sum(values[i], total) + total;
}

// Sums of those before, with one number a thread at once and with four.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) before(T* by_one, T* by_four, i64 count, int stride, T* totals) {
    const T all = sums_before<BLOCK_SIZE>(by_one, count, stride);
    const T same = sums_before<BLOCK_SIZE, 4>(by_four, count, stride);
    if (threadIdx.x == 0) totals[0] = all;
    if (threadIdx.x == 0) totals[1] = same;
}

extern "C" __global__ void sort_warps(const u32* values, u32* sorted) {
    const i64 i = thread_of_grid();
    sorted[i] = warp_sort(values[i]);
}

// Every block writes its number, by another thread than the one that asks for the ticket; the last
// one sums what all have written.
extern "C" __global__ void last_block(u32* ticket, u32* written, u32* sum, u32* answers) {
    if (threadIdx.x == blockDim.x - 1) written[blockIdx.x] = blockIdx.x + 1;
    if (!is_last_block(ticket)) return;
    atomicAdd(answers, 1u);
    u32 mine = 0;
    for (u32 block = threadIdx.x; block < gridDim.x; block += blockDim.x) mine += written[block];
    mine = block_sum<u32, BLOCK_SIZE>(mine);
    if (threadIdx.x == 0) *sum = mine;
}

// A thread a question: vertex, room and degree -> what the layout answers.
extern "C" __global__ void layout(Shape shape, const u32* image, const i64* vertices,
                                  const i64* rooms, const i64* degrees, i64* answers, i64 count) {
    for (i64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        const Adjacency found = open_adjacency(image, shape, vertices[i]);
        i64* answer = answers + 10 * i;
        answer[0] = found.segment;
        answer[1] = found.degree;
        answer[2] = found.entries;
        answer[3] = found.room;
        answer[4] = found.base;
        answer[5] = found.step;
        answer[6] = found.field;
        answer[7] = room_after(shape, static_cast<int>(rooms[i]), degrees[i]);
        answer[8] = segment_entries(shape, static_cast<int>(rooms[i]));
        answer[9] = segment_pages(static_cast<int>(rooms[i]));
    }
}

extern "C" __global__ void search(const u32* image, i64 base, i64 step, i64 degree,
                                  const u32* columns, i64* positions, i64 count) {
    for (i64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        positions[i] = lower_bound(image, base, step, degree, columns[i]);
    }
}

// Arguments of every kind, as the kernel sees them.
extern "C" __global__ void arguments(i64* seen, u8 small, const u32* none, Shape shape, i32 number,
                                     const u64* empty, double real, u32 word, float half, bool yes) {
    seen[0] = small;
    seen[1] = none == nullptr;
    seen[2] = shape.layout;
    seen[3] = shape.soa;
    seen[4] = number;
    seen[5] = empty == nullptr;
    seen[6] = static_cast<i64>(real * 4);
    seen[7] = word;
    seen[8] = static_cast<i64>(half * 4);
    seen[9] = yes;
}

extern "C" __global__ void packed(i64* seen, Shape shape, i64 number, const u32* none) {
    seen[0] = shape.layout;
    seen[1] = shape.soa;
    seen[2] = number;
    seen[3] = none == nullptr;
    seen[4] = seen[5] = 0;
}

extern "C" __global__ void numbers(i64* seen) {
    seen[0] = FIELD_PAGE_BUMP;
    seen[1] = IMAGE_TABLE_PAGE_QUEUE;
    seen[2] = NONE;
    seen[3] = static_cast<i64>(MAGIC);
    seen[4] = KIND_PUT;
    seen[5] = LAST_WORD;
    seen[6] = LAYOUT_CHAIN;
    seen[7] = sizeof(Shape);
}

// --- what must not be written, for the emulator to find ------------------------------------------

// Half of the warps wait at one barrier, half at another.
extern "C" __global__ void two_barriers(u32* out) {
    if (threadIdx.x < 32) {
        out[0] = 1;
        __syncthreads();
    } else {
        __syncthreads();
    }
}

// Lanes that a mask names never come.
extern "C" __global__ void lanes_missing(u32* out) {
    if (threadIdx.x % 32 < 16) out[0] = __shfl_sync(FULL_WARP, 1u, 0);
    __syncthreads();
}

// The answer is whose atomic came last.
extern "C" __global__ void order_shows(u32* out) { atomicExch(out, blockIdx.x * BLOCK_SIZE + threadIdx.x); }

// The first warp may write its second answer before others have read the first.
extern "C" __global__ void barrier_missing(u32* out) {
    __shared__ u32 said;
    for (u32 round = 0; round < 2; ++round) {
        if (threadIdx.x == 0) said = round;
        __syncthreads();
        out[round * BLOCK_SIZE + threadIdx.x] = said;
    }
}

// Lanes that have ended are not waited for, and give nothing.
extern "C" __global__ void __launch_bounds__(WARP, 2) ended_lanes(u32* out) {
    if (threadIdx.x >= 20) return;
    out[threadIdx.x] = __ballot_sync(FULL_WARP, threadIdx.x % 2 == 0);
    const u32 sum = __reduce_add_sync(FULL_WARP, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) out[1] = sum;
}

// What the intrinsics of a warp answer, and the numbers.
extern "C" __global__ void intrinsics(u32* out) {
    const u32 lane = threadIdx.x;
    u32* mine = out + 24 * lane;
    mine[0] = __shfl_sync(FULL_WARP, lane * 3, 5);
    mine[1] = __shfl_sync(FULL_WARP, lane * 3, lane + 1);
    mine[2] = __shfl_up_sync(FULL_WARP, lane, 3);
    mine[3] = __shfl_down_sync(FULL_WARP, lane, 3);
    mine[4] = __shfl_xor_sync(FULL_WARP, lane, 9);
    mine[5] = __shfl_up_sync(FULL_WARP, lane, 3, 8);
    mine[6] = __shfl_sync(FULL_WARP, lane, 2, 8);
    mine[7] = __ballot_sync(FULL_WARP, lane % 3 == 0);
    mine[8] = __any_sync(FULL_WARP, lane == 9);
    mine[9] = __all_sync(FULL_WARP, lane != 9);
    mine[10] = __match_any_sync(FULL_WARP, lane / 5);
    mine[11] = __reduce_add_sync(FULL_WARP, lane);
    mine[12] = __reduce_min_sync(FULL_WARP, lane + 7);
    mine[13] = __reduce_max_sync(FULL_WARP, lane);
    mine[14] = __popc(lane * 0x01010101u) + __popcll(lane * 0x100000001ull);
    mine[15] = __ffs(lane) * 256 + __ffsll(static_cast<i64>(lane) << 32);
    mine[16] = __clz(lane) * 256 + __clzll(lane);
    mine[17] = __brev(lane);
    mine[18] = min(lane, 7u) * 256 + max(lane, 7u);
    mine[19] = __syncthreads_count(lane % 4 == 0);
    mine[20] = __syncthreads_or(lane == 40) * 2 + __syncthreads_and(lane < 32);
    __shared__ u32 counters[32];
    u32* counter = counters + lane;
    *counter = lane;
    mine[21] = atomicAdd(counter, 2u);
    mine[21] += *counter * 256;
    mine[22] = atomicCAS(counter, lane + 2, 77u);
    mine[22] += *counter * 256;
    mine[23] = atomicMin(counter, 3u);
    mine[23] += *counter * 256;
}

// Rounds in which each block passes the number that it has to the next one, and adds 1: `numbers`, T[2][blocks].
struct Passing {
    T* numbers;
    u64* met;
    i64 rounds;
};
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) pass_round(const Passing passing) {
    for (i64 round = 0; round < passing.rounds; ++round) {
        T* const from = passing.numbers + round % 2 * gridDim.x;
        T* const to = passing.numbers + (round + 1) % 2 * gridDim.x;
        // A barrier that lets a block through early shows where one is slow.
        for (u32 i = 0; i < blockIdx.x % 7 * 100; ++i) __threadfence_block();
        if (threadIdx.x == BLOCK_SIZE - 1) to[(blockIdx.x + 1) % gridDim.x] = from[blockIdx.x] + 1;
        meet_in_grid(passing.met);
    }
}
