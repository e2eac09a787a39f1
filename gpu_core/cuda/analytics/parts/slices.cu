// slices.cu -- temporary sliced copy of adjacency lists (slices.cuh).
//
// Caller      gpu_core/cuda/analytics/parts/slices.py
//
// They are made of `Rows` (gpu_core/rows.py): measure_slices -> list_chunks -> copy_slices, or of rows that
// stay in place list_in_place alone; nothing is read back.
#include "hubs.cuh"
#include "slices.cuh"

constexpr int MEASURED_SLICES = 8;  // of a warp
constexpr int MEASURED_ROWS = THREADS * MEASURED_SLICES;

// Lengths of rows, and where slices begin, counted from the first row of their block.
//
// Launch      THREADS threads, a block for MEASURED_ROWS rows
// Reads       degree, present  of `Rows`
// Writes      lengths  u32[rows], starts  i64[slices], chunk_count  0
//             block_sums  i64[blocks], entries of the blocks before
// Ticket      u32, 0 before and after
// Cost        reads 5 bytes a row (with hubs 8), writes 4
extern "C" __global__ void __launch_bounds__(THREADS) measure_slices(
        const u32* __restrict__ degree, const u8* __restrict__ present, const i64 rows,
        const HubArrays hub_arrays, u32* __restrict__ lengths, i64* __restrict__ starts,
        i64* block_sums, u32* chunk_count, u32* ticket) {
    const Hubs hubs(hub_arrays);
    const i64 used_rows = hubs.count() ? hubs.rows() : rows;
    const u32 lane = lane_of_thread();
    const i64 first_slice =
        (blockIdx.x * i64(BLOCK_SLICES) + warp_of_thread()) * MEASURED_SLICES;
    u32 own[MEASURED_SLICES];
#pragma unroll
    for (int i = 0; i < MEASURED_SLICES; ++i) {
        const i64 row = (first_slice + i) * WARP + lane;
        own[i] = 0;
        if (row >= rows) continue;
        own[i] = ABSENT_BIT;
        if (row < used_rows) {
            const i64 vertex = hubs.vertex_of(row);
            if (hubs.count() || present[vertex]) own[i] = degree[vertex];
        }
        lengths[row] = own[i];
    }
    // Lane i has the entries of slice i of its warp.
    i64 entries = 0;
#pragma unroll
    for (int i = 0; i < MEASURED_SLICES; ++i) {
        const i64 all = warp_sum<i64>(own[i] & ~ABSENT_BIT);
        if (lane == static_cast<u32>(i)) entries = all;
    }
    i64 total;
    const i64 before = block_exclusive_sum<i64, THREADS>(entries, total);
    const i64 slice = first_slice + lane;
    if (lane < MEASURED_SLICES && slice * WARP < rows) starts[slice] = before;
    if (threadIdx.x == 0) block_sums[blockIdx.x] = total;
    if (!is_last_block(ticket)) return;
    if (threadIdx.x == 0) *chunk_count = 0;
    sums_before<THREADS>(block_sums, gridDim.x);
}

// List the chunks of a long row, a row a thread; others have no `long_length`. All threads of the block call.
//
// The chunks of a row lie one after the other, rows in any order; `listed` counts them. Their tickets
// become 0.
__device__ __forceinline__ void list_row(i64 row, i64 first, u32 long_length, u64* chunk_words,
                                         u32* listed, u32* __restrict__ tickets) {
    const u32 parts = (long_length + CHUNK_ENTRIES - 1) / CHUNK_ENTRIES;
    u32 all;
    u32 position = block_exclusive_sum<u32, THREADS>(parts, all);
    if (all == 0) return;
    __shared__ u32 first_position;
    if (threadIdx.x == 0) first_position = atomicAdd(listed, all);
    __syncthreads();
    position += first_position;
    Chunk* chunks = reinterpret_cast<Chunk*>(chunk_words);
    for (u32 part = 0; part < parts; ++part) {
        const u32 skipped = part * CHUNK_ENTRIES;
        chunks[position + part] = {first + skipped, static_cast<u32>(row),
                                min(CHUNK_ENTRIES, long_length - skipped), part, parts};
        tickets[position + part] = 0;
    }
}

// Make the starts of slices those among all entries, and list the chunks of long rows.
//
// Launch      THREADS threads, one a row
// Writes      starts, chunks and their tickets
//             chunk_count  grows from 0
extern "C" __global__ void __launch_bounds__(THREADS) list_chunks(
        const u32* __restrict__ lengths, const i64 rows, const i64* __restrict__ block_sums,
        i64* __restrict__ starts, u64* chunk_words, u32* chunk_count, u32* __restrict__ tickets) {
    const i64 row = thread_of_grid();
    const i64 slice = row / WARP;
    const u32 length = row < rows ? lengths[row] & ~ABSENT_BIT : 0;
    const u32 short_length = length <= SHORT_LENGTH ? length : 0;
    const u32 long_length = length - short_length;
    const u32 interleaved = warp_sum(short_length);
    const i64 before = warp_inclusive_sum<i64>(long_length) - long_length;
    i64 start = 0;
    if (slice * WARP < rows) start = starts[slice] + block_sums[row / MEASURED_ROWS];
    __syncwarp();
    if (lane_of_thread() == 0 && slice * WARP < rows) starts[slice] = start;
    list_row(row, start + interleaved + before, long_length, chunk_words, chunk_count, tickets);
}

// Lengths of rows that are read in place, and the chunks of the long ones.
//
// Launch      THREADS threads; blocks share the rows
// Reads       degree, present, begin  of `Rows`
// Writes      lengths  u32[rows], chunks and their tickets, chunk_count
// Counter     u32, 0 before and after: chunks listed so far; ticket likewise
// Cost        reads 5 bytes a row, 13 of a long one; writes 4, and 28 a chunk
extern "C" __global__ void __launch_bounds__(THREADS) list_in_place(
        const u32* __restrict__ degree, const u8* __restrict__ present,
        const i64* __restrict__ begin, const i64 rows, u32* __restrict__ lengths, u64* chunk_words,
        u32* chunk_count, u32* __restrict__ tickets, u32* counter, u32* ticket) {
    // Whole blocks walk on together.
    for (i64 row = thread_of_grid(); row - threadIdx.x < rows; row += threads_of_grid()) {
        u32 length = 0;
        if (row < rows) {
            length = degree[row];
            lengths[row] = present[row] ? length : ABSENT_BIT;
        }
        const u32 long_length = length > SHORT_LENGTH ? length : 0;
        const i64 first = long_length ? begin[row] : 0;
        list_row(row, first, long_length, chunk_words, counter, tickets);
    }
    if (!is_last_block(ticket) || threadIdx.x > 0) return;
    *chunk_count = __ldcg(counter);
    *counter = 0;
}

// Weights, which are copied as they are: float32, or float64 in rows of step 1.
#ifndef WIDE_WEIGHTS
#define WIDE_WEIGHTS 0
#endif
#if WIDE_WEIGHTS
typedef u64 WeightBits;
#else
typedef u32 WeightBits;
#endif
// Of copy_slices, a multiprocessor.
constexpr int COPY_BLOCKS = WIDE_WEIGHTS ? 4 : 6;

// Copy the neighbors, and the weight of each entry.
//
// Launch      as slices.cuh says
// Reads       columns, begin, step, in_pairs, row_weights, weight_begin  of `Rows`
// Writes      indices  u32[entries]: the neighbors' rows
//             weights  f32[entries] or f64[entries]; null: not asked for
// Cost        reads and writes 4 bytes (8; of float64 12) an entry
extern "C" __global__ void __launch_bounds__(THREADS, COPY_BLOCKS) copy_slices(
        const u32* __restrict__ columns, const i64* __restrict__ begin, const i64 step,
        const i64 in_pairs, const WeightBits* __restrict__ row_weights,
        const i64* __restrict__ weight_begin, const Slices slices, const HubArrays hub_arrays,
        u32* __restrict__ indices, WeightBits* __restrict__ weights) {
    const Hubs hubs(hub_arrays);
    const u32 lane = lane_of_thread();
    const u32 stride = static_cast<u32>(step);
    if (slices.takes_chunks()) {
        __shared__ u32 taken;
        WorkQueue work_queue(&taken);
        const u32 blocks = static_cast<u32>(slices.chunk_blocks);
        slices.for_chunks(blocks, work_queue, [&](u32, const Chunk& chunk) {
            const i64 skipped = static_cast<i64>(chunk.part) * CHUNK_ENTRIES * step;
            const i64 vertex = hubs.vertex_of(chunk.row);
            const u32* from = columns + begin[vertex] + skipped;
            u32* to = indices + chunk.start;
            for (u32 first = lane; first < chunk.entries; first += ROUND * WARP) {
                u32 neighbors[ROUND];
                // One position after the other: multiples of the stride would take too many registers.
                const u32* next = from + first * stride;
#pragma unroll
                for (int i = 0; i < ROUND; ++i, next += WARP * stride) {
                    if (first + i * WARP < chunk.entries) neighbors[i] = *next;
                }
#pragma unroll
                for (int i = 0; i < ROUND; ++i) {
                    const u32 at = first + i * WARP;
                    if (at < chunk.entries) to[at] = hubs.row_of(neighbors[i]);
                }
            }
            if (!weights) return;
            const WeightBits* own_weights = row_weights + weight_begin[vertex] + skipped;
            WeightBits* copied = weights + chunk.start;
#pragma unroll 4
            for (u32 at = lane; at < chunk.entries; at += WARP) copied[at] = own_weights[at * stride];
        });
        return;
    }
    const SliceRow own = slices.open();
    const u32 length = own.is_short() ? own.length : 0;
    const u32 longest = warp_max(length);
    if (longest == 0) return;
    const i64 vertex = length ? hubs.vertex_of(own.row) : 0;
    const u32* own_columns = columns + (length ? begin[vertex] : 0);
    const WeightBits* own_weights = row_weights + (length && weights ? weight_begin[vertex] : 0);
    // Two neighbors at a time: what a multiprocessor looks up in its cache in a cycle is one line.
    const bool pairs = in_pairs && !weights;
    Interleaved walk;
    for (u32 first = 0; first < longest; first += ROUND) {
        u32 neighbors[ROUND];
        WeightBits others[ROUND];
        if (pairs) {
#pragma unroll
            for (int i = 0; i < ROUND; i += 2) {
                if (first + i >= length) continue;
                const u64 both = *reinterpret_cast<const u64*>(own_columns + first + i);
                neighbors[i] = static_cast<u32>(both);
                neighbors[i + 1] = static_cast<u32>(both >> 32);
            }
        } else {
#pragma unroll
            for (int i = 0; i < ROUND; ++i) {
                if (first + i >= length) continue;
                neighbors[i] = own_columns[(first + i) * stride];
                if (weights) others[i] = own_weights[(first + i) * stride];
            }
        }
#pragma unroll
        for (int i = 0; i < ROUND; ++i) {
            const u32 position = walk.position(first + i < length);
            if (first + i >= length) continue;
            indices[own.start + position] = hubs.row_of(neighbors[i]);
            if (weights) weights[own.start + position] = others[i];
        }
    }
}
