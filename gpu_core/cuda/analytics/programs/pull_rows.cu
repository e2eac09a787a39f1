// pull_rows.cu -- rows that pull supersteps read: in an order of vertices, remapped column by column.
//
// Caller      gpu_core/cuda/analytics/programs/pull_rows.py
//
// Order       measure_degrees -> key_rows -> a stable sort by the upper word -> take_in_order
// Remapping   measure_slices -> prefix sums of the capacities -> lay_out
//
// Sources: Zhong et al., "Optimizing Graph Processing on GPUs", IEEE TPDS 28(4), 2017, sections 4.1 and
// 4.2; what differs: gpu_core/programs/vertex_order.py.
#include "row_arguments.cuh"

// What no entry is named by: padding, which no lane reads.
constexpr u32 NO_NEIGHBOR = 0xFFFFFFFFu;

// Shortest and longest row, and how many are longer than `short_row`.
//
// Launch      THREADS threads, any number of blocks
// Writes      measured  u32[3], 0 before: ~shortest, longest, long rows
extern "C" __global__ void __launch_bounds__(THREADS) measure_degrees(
        const u32* __restrict__ degree, const i64 rows, const u32 short_row, u32* measured) {
    u32 complement = 0, longest = 0, longs = 0;
    for (i64 row = thread_of_grid(); row < rows; row += threads_of_grid()) {
        const u32 length = degree[row];
        complement = max(complement, ~length);
        longest = max(longest, length);
        longs += length > short_row;
    }
    complement = warp_max(complement);
    longest = warp_max(longest);
    longs = warp_sum(longs);
    if (lane_of_thread() > 0) return;
    atomicMax(&measured[0], complement);
    atomicMax(&measured[1], longest);
    atomicAdd(&measured[2], longs);
}

// Keys that vertices are sorted by: whether the row is long, then its bucket; below them the vertex.
//
// Launch      THREADS threads, one a row
// Parameters  buckets   of the linear projection; 0: one for each number of bits of a degree
//             long_bit  added to the bucket of long rows, above all buckets
// Needs       least < most where `buckets` is not 0
extern "C" __global__ void __launch_bounds__(THREADS) key_rows(
        const u32* __restrict__ degree, const i64 rows, const u32 short_row, const u32 least,
        const u32 most, const u32 buckets, const u32 long_bit, u64* __restrict__ keys) {
    const i64 row = thread_of_grid();
    if (row >= rows) return;
    const u32 length = degree[row];
    // A product of 32 bits would wrap around from 4.3 million entries on.
    u64 bucket = buckets ? static_cast<u64>(length - least) * (buckets - 1) / (most - least)
                         : 32 - __clz(length);
    if (length > short_row) bucket += long_bit;
    keys[row] = bucket << 32 | static_cast<u64>(row);
}

// Where the rows begin and how long they are, in the order of sorted keys.
//
// Launch      THREADS threads, one a row
// Writes      order  u32[rows]: vertex of each row
//             weight_begins  null where `weight_begin` is
extern "C" __global__ void __launch_bounds__(THREADS) take_in_order(
        const u64* __restrict__ keys, const i64 rows, const i64* __restrict__ begin,
        const u32* __restrict__ degree, const i64* __restrict__ weight_begin, u32* __restrict__ order,
        i64* __restrict__ begins, u32* __restrict__ lengths, i64* __restrict__ weight_begins) {
    const i64 at = thread_of_grid();
    if (at >= rows) return;
    const u32 vertex = static_cast<u32>(keys[at]);
    order[at] = vertex;
    begins[at] = begin[vertex];
    lengths[at] = degree[vertex];
    if (weight_begin) weight_begins[at] = weight_begin[vertex];
}

// Entries that a slice has room for: 32 for each of those that its longest short row has.
//
// Launch      THREADS threads, one a row
// Writes      capacities  u32[slices]
extern "C" __global__ void __launch_bounds__(THREADS) measure_slices(
        const u32* __restrict__ degree, const i64 rows, const u32 short_row,
        u32* __restrict__ capacities) {
    const i64 row = thread_of_grid();
    const u32 length = row < rows ? degree[row] : 0;
    const u32 longest = warp_max(length <= short_row ? length : 0);
    if (lane_of_thread() == 0 && row < rows) capacities[row / WARP] = WARP * longest;
}

// Copy short rows: entry j of the row of lane l lies at the slice's start + 32 j + l.
//
// Launch      THREADS threads, one a row
// Reads       starts   i64[slices + 1]: sums of the capacities
// Writes      begins   i64[rows]; of a long row of no meaning
//             laid_columns, laid_narrow, laid_wide; null: not asked for
extern "C" __global__ void __launch_bounds__(THREADS) lay_out(
        const WeightedRows given, const i64 count, const u32 short_row,
        const i64* __restrict__ starts, i64* __restrict__ begins, u32* __restrict__ laid_columns,
        float* __restrict__ laid_narrow, double* __restrict__ laid_wide) {
    const i64 row = thread_of_grid();
    const i64 slice = row / WARP;
    if (slice * WARP >= count) return;
    const i64 start = starts[slice] + lane_of_thread();
    const u32 longest = static_cast<u32>((starts[slice + 1] - starts[slice]) / WARP);
    u32 length = 0;
    i64 weights = 0;
    if (row < count) {
        begins[row] = start;
        length = given.rows.degree[row] <= short_row ? given.rows.degree[row] : 0;
        if (length) weights = given.weights_of(row);
    }
    for (u32 i = 0; i < longest; ++i) {
        const bool has_entry = i < length;
        const i64 laid = start + i * i64(WARP);
        laid_columns[laid] = has_entry ? given.rows.neighbor(row, i) : NO_NEIGHBOR;
        if (laid_narrow) laid_narrow[laid] = has_entry ? given.narrow[weights + i * given.rows.step] : 0.0f;
        if (laid_wide) laid_wide[laid] = has_entry ? given.wide[weights + i * given.rows.step] : 0.0;
    }
}
