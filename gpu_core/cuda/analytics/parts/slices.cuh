// slices.cuh -- sliced CSR (SELL): 32 adjacent rows interleaved, so that each lane sums one row.
//
// Caller      gpu_core/cuda/analytics/parts/slices.py
// Launch      THREADS threads a block, `chunk_blocks` blocks and one for every BLOCK_SLICES slices
//
// A slice is 32 adjacent rows, a lane each: of adjacent vertices, or in the order of hubs.cuh. First lie the
// entries of its short rows: entry 0 of every row that has one, in the order of the lanes, then entry 1, and
// so on. So lanes read side by side what they sum up for themselves, nothing is padded, and no barrier is met.
// After them lie the long rows, one after the other, cut into chunks: the first `chunk_blocks` blocks, as many
// as the device holds, take chunks dynamically, a warp each, so a hub is spread over the whole device.
//
//     lanes 0 … 3 have 3, 1, 0, 2 entries      a0 b0 d0  a1 d1  a2
//
// Rows that are read a few times only may be walked in the same way where they are, without a copy: then
// every row has a start of its own, and entries of a row lie side by side (`InPlace`).
//
// Order       a short row is summed up entry by entry; a chunk lane by lane, a row of several chunks over
//             its chunks: the order depends on the row alone.
//
// Sources: Kreutzer et al., "A Unified Sparse Matrix Data Format for Efficient General Sparse Matrix-Vector
// Multiplication on Modern Processors with Wide SIMD Units", SIAM J. Sci. Comput. 2014 (slices); Saad,
// "Krylov Subspace Methods on Supercomputers", 1989 (jagged diagonals, which need no padding).
#pragma once
#include "block.cuh"
#include "floats.cuh"

constexpr int BLOCK_SLICES = THREADS / WARP;
// Entries of a short row, and of a chunk of a long one, at most.
constexpr u32 SHORT_LENGTH = 32;
constexpr u32 CHUNK_ENTRIES = 1024;
// Entries that a lane asks for before it looks at the first.
constexpr int ROUND = 6;
// Bit of a row's length: there is no vertex, and the row is empty.
constexpr u32 ABSENT_BIT = 0x80000000u;

// A part of a long row.
struct Chunk {
    i64 start;
    u32 row;
    u32 entries;
    u32 part;   // chunks of the row before this one
    u32 parts;  // chunks of the row
};

// A lane's row, and where the slice begins.
struct SliceRow {
    i64 row;
    i64 start;
    u32 length;

    __device__ __forceinline__ bool is_short() const { return length <= SHORT_LENGTH; }
};

// Pieces of work of a block, which its warps take dynamically, the next free warp each.
class WorkQueue {
  public:
    // `taken` is shared memory. All threads of the block call.
    __device__ __forceinline__ explicit WorkQueue(u32* taken) : taken_(taken) {
        if (threadIdx.x == 0) *taken_ = 0;
        __syncthreads();
    }
    // Number of the piece, from 0 on. All lanes call.
    __device__ __forceinline__ u32 take() {
        u32 number = 0;
        if (lane_of_thread() == 0) number = atomicAdd(taken_, 1u);
        return __shfl_sync(FULL_WARP, number, 0);
    }

  private:
    u32* taken_;
};

struct Slices {
    const u32* lengths;      // u32[rows], entries; ABSENT_BIT
    const i64* starts;       // i64[slices], first entry; in place i64[rows]
    i64 rows;
    const u64* chunk_words;  // Chunk[chunks]; the chunks of a row lie one after the other
    const u32* chunk_count;
    i64 chunk_blocks;

    __device__ __forceinline__ const Chunk& chunk(i64 number) const {
        return reinterpret_cast<const Chunk*>(chunk_words)[number];
    }
    // Chunks that this block takes where `blocks` blocks share them.
    __device__ __forceinline__ u32 chunks_of_block(u32 blocks) const {
        const u32 count = *chunk_count;
        return count > blockIdx.x ? (count - blockIdx.x - 1) / blocks + 1 : 0;
    }
    // Call work(number, chunk) for each of them that this warp takes; returns the number after them.
    template <class Work>
    __device__ __forceinline__ u32 for_chunks(u32 blocks, WorkQueue& work_queue, Work work) const {
        const u32 own = chunks_of_block(blocks);
        u32 piece = work_queue.take();
        for (; piece < own; piece = work_queue.take()) {
            const u32 number = blockIdx.x + piece * blocks;
            work(number, chunk(number));
        }
        return piece;
    }
    __device__ __forceinline__ bool takes_chunks() const { return blockIdx.x < chunk_blocks; }
    // The slice that a warp has, where the block takes no chunks, and this lane's row of it.
    __device__ __forceinline__ i64 slice_of_warp() const {
        return (blockIdx.x - chunk_blocks) * BLOCK_SLICES + warp_of_thread();
    }
    __device__ __forceinline__ SliceRow open() const { return open(slice_of_warp()); }
    // This lane's row of a slice: an absent one, without entries, where there is no such slice or row.
    __device__ __forceinline__ SliceRow open(i64 slice) const {
        SliceRow found{slice * WARP + lane_of_thread(), 0, ABSENT_BIT};
        if (slice < 0 || slice * WARP >= rows) return found;
        found.start = starts[slice];
        if (found.row < rows) found.length = lengths[found.row];
        return found;
    }
    // As `open`, of rows in place.
    __device__ __forceinline__ SliceRow open_in_place(i64 slice) const {
        const i64 row = slice * WARP + lane_of_thread();
        if (slice < 0 || row >= rows) return {row, 0, ABSENT_BIT};
        return {row, starts[row], lengths[row]};
    }
};

// Walk through interleaved entries: where each lane's next one lies in the slice. All lanes call.
class Interleaved {
  public:
    __device__ __forceinline__ static SliceRow open(const Slices& slices, i64 slice) {
        return slices.open(slice);
    }
    __device__ __forceinline__ u32 position(bool has_entry) {
        const u32 lanes = __ballot_sync(FULL_WARP, has_entry);
        const u32 position = next_ + __popc(lanes & ((1u << lane_of_thread()) - 1));
        next_ += __popc(lanes);
        return position;
    }

  private:
    u32 next_ = 0;
};

// Walk along rows in place: the same of every lane's row.
class InPlace {
  public:
    __device__ __forceinline__ static SliceRow open(const Slices& slices, i64 slice) {
        return slices.open_in_place(slice);
    }
    __device__ __forceinline__ u32 position(bool) { return next_++; }

  private:
    u32 next_ = 0;
};

// Sums of long rows that have several chunks.
struct ChunkSums {
    double* sums;   // f64[chunks]
    u32* tickets;   // u32[chunks], 0 before and after: chunks summed so far, at the row's first one
};

// Sum value(load(entry)) over rows: finish(row, sum, prepare(row)), by some thread, for every row that is
// there. Memory is waited for as seldom as can be: what `load` returns is asked for of up to ROUND entries of
// a thread before the first `value`, and what `prepare` returns before all of them.

// The short rows of a slice; `own` is what `slices.open` returned, which callers may ask for ahead.
template <class Walk = Interleaved, class Load, class Value, class Prepare, class Finish>
__device__ __forceinline__ void sum_short_rows(const SliceRow& own, Load load, Value value,
                                               Prepare prepare, Finish finish) {
    decltype(prepare(own.row)) prepared;
    if (own.is_short()) prepared = prepare(own.row);
    const u32 entries = own.is_short() ? own.length : 0;
    const u32 longest = warp_max(entries);
    Walk walk;
    double sum = 0;
    for (u32 first = 0; first < longest; first += ROUND) {
        decltype(load(i64(0))) loaded[ROUND];
        double found[ROUND];
#pragma unroll
        for (int i = 0; i < ROUND; ++i) {
            const u32 position = walk.position(first + i < entries);
            if (first + i < entries) loaded[i] = load(own.start + position);
        }
#pragma unroll
        for (int i = 0; i < ROUND; ++i) found[i] = first + i < entries ? value(loaded[i]) : 0.0;
#pragma unroll
        for (int i = 0; i < ROUND; ++i) sum += found[i];
    }
    if (own.is_short()) finish(own.row, sum, prepared);
}

// What `load` returned for a round of entries.
template <class Loaded>
struct Round {
    Loaded loaded[ROUND];
};

// The long rows of which this warp takes chunks; returns what `for_chunks` does.
template <class Load, class Value, class Prepare, class Finish>
__device__ __forceinline__ u32 sum_long_rows(const Slices& slices, u32 blocks, WorkQueue& work_queue,
                                             const ChunkSums& chunk_sums, Load load, Value value,
                                             Prepare prepare, Finish finish) {
    using Loaded = decltype(load(i64(0)));
    const u32 lane = lane_of_thread();
    const auto round_at = [&](const Chunk& chunk, u32 first) {
        Round<Loaded> round;
#pragma unroll
        for (int i = 0; i < ROUND; ++i) {
            const u32 at = first + i * WARP;
            if (at < chunk.entries) round.loaded[i] = load(chunk.start + at);
        }
        return round;
    };
    return slices.for_chunks(blocks, work_queue, [&](u32 number, const Chunk& chunk) {
        Round<Loaded> round = round_at(chunk, lane);
        decltype(prepare(i64(0))) prepared;
        if (lane == 0) prepared = prepare(chunk.row);
        double sum = 0;
        for (u32 first = lane;;) {
            double found[ROUND];
#pragma unroll
            for (int i = 0; i < ROUND; ++i) {
                found[i] = first + i * WARP < chunk.entries ? value(round.loaded[i]) : 0.0;
            }
            first += ROUND * WARP;
            const bool has_more = first - lane < chunk.entries;
            if (has_more) round = round_at(chunk, first);
#pragma unroll
            for (int i = 0; i < ROUND; ++i) sum += found[i];
            if (!has_more) break;
        }
        sum = warp_sum(sum);
        if (chunk.parts > 1) {
            // The last warp of a row's chunks adds them all up.
            const u32 row_chunk = number - chunk.part;
            u32 before = 0;
            if (lane == 0) {
                chunk_sums.sums[number] = sum;
                __threadfence();
                before = atomicAdd(&chunk_sums.tickets[row_chunk], 1u);
            }
            before = __shfl_sync(FULL_WARP, before, 0);
            if (before != chunk.parts - 1) return;
            __threadfence();
            sum = 0;
            for (u32 part = lane; part < chunk.parts; part += WARP) {
                sum += __ldcg(&chunk_sums.sums[row_chunk + part]);
            }
            sum = warp_sum(sum);
            if (lane == 0) chunk_sums.tickets[row_chunk] = 0;
        }
        if (lane == 0) finish(i64(chunk.row), sum, prepared);
    });
}

// All rows, in blocks that take either chunks or slices.
template <class Walk = Interleaved, class Load, class Value, class Prepare, class Finish>
__device__ __forceinline__ void sum_rows(const Slices& slices, const SliceRow& own,
                                         const ChunkSums& chunk_sums, Load load, Value value,
                                         Prepare prepare, Finish finish) {
    if (slices.takes_chunks()) {
        __shared__ u32 taken;
        WorkQueue work_queue(&taken);
        sum_long_rows(slices, static_cast<u32>(slices.chunk_blocks), work_queue, chunk_sums, load, value,
                      prepare, finish);
    } else {
        sum_short_rows<Walk>(own, load, value, prepare, finish);
    }
}

// All rows, in blocks that take their chunks first and then slices; a warp asks for its next slice ahead.
//
// Launch      as many blocks as the device holds, of any size; `Walk`: Interleaved, or InPlace
template <class Walk, class Load, class Value, class Prepare, class Finish>
__device__ __forceinline__ void sum_rows_from_queue(const Slices& slices, WorkQueue& work_queue,
                                                    const ChunkSums& chunk_sums, Load load,
                                                    Value value, Prepare prepare, Finish finish) {
    const i64 own_chunks = slices.chunks_of_block(gridDim.x);
    const auto slice_of = [&](u32 number) { return blockIdx.x + (number - own_chunks) * gridDim.x; };
    i64 slice = slice_of(
        sum_long_rows(slices, gridDim.x, work_queue, chunk_sums, load, value, prepare, finish));
    SliceRow own = Walk::open(slices, slice);
    while (slice * WARP < slices.rows) {
        const i64 next_slice = slice_of(work_queue.take());
        const SliceRow next = Walk::open(slices, next_slice);
        sum_short_rows<Walk>(own, load, value, prepare, finish);
        slice = next_slice;
        own = next;
    }
}
