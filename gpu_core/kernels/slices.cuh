// slices.cuh -- rows of 32 neighbouring vertices, interleaved so that every lane sums up its own row.
//
// Part of     slices.cu, pagerank.cu
// Caller      gpu_core/cuda/slices.py
// Launch      SLICE_THREADS threads a block, `chunk_blocks` blocks and one for every BLOCK_SLICES slices
//
// A slice is the rows of 32 vertices, a lane each. First lie the entries of its short rows: entry 0 of
// every row that has one, in the order of the lanes, then entry 1, and so on. So lanes read side by side
// what they sum up for themselves, nothing is padded, and no barrier is met. Behind them lie the long
// rows, one after the other, cut into chunks: the first `chunk_blocks` blocks, as many as the device
// holds, take chunks in turn, a warp each, so a hub is spread over the whole device.
//
//     lanes 0 … 3 have 3, 1, 0, 2 entries      a0 b0 d0  a1 d1  a2
//
// Order       a short row is summed up entry by entry; a chunk lane by lane, a row of several chunks over
//             its chunks: the order depends on the row alone.
//
// Sources: Kreutzer et al., "A Unified Sparse Matrix Data Format for Efficient General Sparse Matrix-Vector
// Multiplication on Modern Processors with Wide SIMD Units", SIAM J. Sci. Comput. 2014 (slices); Saad,
// "Krylov Subspace Methods on Supercomputers", 1989 (jagged diagonals, which need no padding).
#pragma once
#include "block.cuh"

constexpr int SLICE_THREADS = 256;
constexpr int BLOCK_SLICES = SLICE_THREADS / WARP;
// Entries of a short row, and of a chunk of a long one, at most.
constexpr u32 SHORT_LENGTH = 32;
constexpr u32 CHUNK_ENTRIES = 1024;
// Entries that a lane asks for before it looks at the first.
constexpr int ROUND = 6;
// Bit of a row's length: the vertex is absent, and the row empty.
constexpr u32 ABSENT_BIT = 0x80000000u;

// A part of a long row. `slices.py: CHUNK_DTYPE` is its twin.
struct Chunk {
    i64 start;
    u32 row;
    u32 entries;
    u32 part;   // chunks of the row before this one
    u32 parts;  // chunks of the row
};
static_assert(sizeof(Chunk) == 24, "Chunk is passed as u64[3]");

// A lane's row, and where the slice begins.
struct SliceRow {
    i64 row;
    i64 start;
    u32 length;

    __device__ __forceinline__ bool is_short() const { return length <= SHORT_LENGTH; }
};

struct Slices {
    const u32* lengths;      // u32[rows], entries; ABSENT_BIT
    const i64* starts;       // i64[slices], first entry
    i64 rows;
    const u64* chunk_words;  // Chunk[chunks]; the chunks of a row lie one after the other
    const u32* chunk_count;
    i64 chunk_blocks;

    __device__ __forceinline__ const Chunk& chunk(i64 number) const {
        return reinterpret_cast<const Chunk*>(chunk_words)[number];
    }
    // Call work(number) for each chunk that this warp takes.
    template <class Work>
    __device__ __forceinline__ void for_chunks(Work work) const {
        const i64 count = *chunk_count;
        const i64 step = chunk_blocks * BLOCK_SLICES;
        for (i64 i = blockIdx.x * i64(BLOCK_SLICES) + warp_of_thread(); i < count; i += step) work(i);
    }
    __device__ __forceinline__ bool takes_chunks() const { return blockIdx.x < chunk_blocks; }
    // This lane's row of the slice that its warp has: an absent one, without entries, where the block
    // takes chunks and behind the last row.
    __device__ __forceinline__ SliceRow open() const {
        const i64 slice = (blockIdx.x - chunk_blocks) * BLOCK_SLICES + warp_of_thread();
        SliceRow found{slice * WARP + lane_of_thread(), 0, ABSENT_BIT};
        if (slice < 0 || slice * WARP >= rows) return found;
        found.start = starts[slice];
        if (found.row < rows) found.length = lengths[found.row];
        return found;
    }
};

// Walk through interleaved entries: where each lane's next one lies in the slice. All lanes call.
class Interleaved {
  public:
    __device__ __forceinline__ u32 place(bool has_entry) {
        const u32 lanes = __ballot_sync(FULL_WARP, has_entry);
        const u32 place = next_ + __popc(lanes & ((1u << lane_of_thread()) - 1));
        next_ += __popc(lanes);
        return place;
    }

  private:
    u32 next_ = 0;
};

// Sums of long rows that have several chunks.
struct ChunkSums {
    double* sums;   // f64[chunks]
    u32* tickets;   // u32[chunks], 0 before and after: chunks summed so far, at the row's first one
};

// Sum value(load(entry)) over each row: finish(row, sum, prepare(row)), by some thread, for every row
// that is there. `own` is what `slices.open()` returned, which callers may ask for ahead of other reads.
//
// Memory is waited for as seldom as can be: what `load` returns is asked for of up to ROUND entries of a
// thread before the first `value`, and what `prepare` returns before all of them.
template <class Load, class Value, class Prepare, class Finish>
__device__ __forceinline__ void sum_rows(const Slices& slices, const SliceRow& own,
                                         const ChunkSums& chunk_sums, Load load, Value value,
                                         Prepare prepare, Finish finish) {
    const u32 lane = lane_of_thread();
    if (!slices.takes_chunks()) {
        decltype(prepare(own.row)) prepared;
        if (own.is_short()) prepared = prepare(own.row);
        const u32 entries = own.is_short() ? own.length : 0;
        const u32 longest = warp_max(entries);
        Interleaved walk;
        double sum = 0;
        for (u32 first = 0; first < longest; first += ROUND) {
            decltype(load(i64(0))) loaded[ROUND];
            double found[ROUND];
#pragma unroll
            for (int i = 0; i < ROUND; ++i) {
                const u32 place = walk.place(first + i < entries);
                if (first + i < entries) loaded[i] = load(own.start + place);
            }
#pragma unroll
            for (int i = 0; i < ROUND; ++i) found[i] = first + i < entries ? value(loaded[i]) : 0.0;
#pragma unroll
            for (int i = 0; i < ROUND; ++i) sum += found[i];
        }
        if (own.is_short()) finish(own.row, sum, prepared);
        return;
    }
    slices.for_chunks([&](i64 number) {
        const Chunk chunk = slices.chunk(number);
        decltype(prepare(i64(0))) prepared;
        if (lane == 0) prepared = prepare(chunk.row);
        double sum = 0;
        for (u32 first = lane; first < chunk.entries; first += ROUND * WARP) {
            decltype(load(i64(0))) loaded[ROUND];
            double found[ROUND];
#pragma unroll
            for (int i = 0; i < ROUND; ++i) {
                const u32 at = first + i * WARP;
                if (at < chunk.entries) loaded[i] = load(chunk.start + at);
            }
#pragma unroll
            for (int i = 0; i < ROUND; ++i) {
                found[i] = first + i * WARP < chunk.entries ? value(loaded[i]) : 0.0;
            }
#pragma unroll
            for (int i = 0; i < ROUND; ++i) sum += found[i];
        }
        sum = warp_sum(sum);
        if (chunk.parts > 1) {
            // Whoever is last with a chunk of a row adds them all up.
            const i64 row_chunk = number - chunk.part;
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
