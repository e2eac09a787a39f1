// row_buckets.cu -- bucket sort of a delta: a block sorts and groups the entries of a bucket of rows.
//
// Part of     the apply path: map ids -> **deltas** -> plan -> allocate -> commit
// Caller      gpu_core/cuda/update/deltas/delta_launches.py          Host twin   gpu_core/host/update/deltas.py
// Way         pack_lists -> one or two passes of the radix sort -> group_rows
// Needs       keys in the order of their uppermost bits, which are the row's alone: all entries of a
//             row lie in one bucket
// Status      OVERFULL where a bucket has more keys than a block holds: then the arrays are nonsense
// Order       where the rows of a bucket go is the sum of those before. Blocks take buckets as they
//             begin, so all of these have begun, and none waits before it has published its own number
// Cost        8 bytes read and 4 to 9 written an entry; positions within a bucket in shared memory
#include "deltas.cuh"
#include "key_buckets.cuh"

// Rows that begin in the buckets before. All threads.
__device__ __forceinline__ u32 rows_before(const u64* published, u32 bucket) {
    u32 rows = 0;
    for_published<BUCKET_THREADS>(published, 0, bucket, [&](u64 found) { rows += static_cast<u32>(found); });
    return block_sum<u32, BUCKET_THREADS>(rows);
}

// `published` u64[buckets], 0 before; `block_numbers` 0 before and after; keys are sorted by the bits
// from `low_bit` on. `ordered`: the keys of a row are in order then; else they are put in order here.
//
// Launch    a block a bucket
extern "C" __global__ void __launch_bounds__(BUCKET_THREADS, 2) group_rows(
        u32* image, const u64* keys, i64 count, Layout layout, Partition partition, i64 low_bit,
        u64* published, u32* block_numbers, Grouped to, u32* row_count, i64 ordered) {
    follow_previous_launch();
    __shared__ u64 sorted[Bucket::KEYS];
    __shared__ Bucket::Counters counters;
    __shared__ u32 warps[Bucket::WARPS];
    i64* header = header_of(image);
    const u32 bucket = take_bucket(block_numbers);
    i64 bounds[2];
    find_bucket(partition, keys, count, bucket, bounds);
    const bool is_overfull = bounds[1] - bounds[0] > Bucket::KEYS;
    if (is_overfull && threadIdx.x == 0 && header[BATCH_FIELD_STATUS] == BATCH_STATUS_OK) {
        header[BATCH_FIELD_STATUS] = BATCH_STATUS_OVERFULL;
    }
    const i64 begin = bounds[0];
    const int here = is_overfull ? 0 : static_cast<int>(bounds[1] - begin);
    sort_bucket(keys + begin, here, static_cast<u32>(low_bit), static_cast<u32>(partition.shift), sorted,
                counters);

    const int items = (here + BUCKET_THREADS - 1) / BUCKET_THREADS;
    // Bit i: item i begins a row.
    u32 starts = 0;
    u32 of_warp = 0;
    for (int i = 0; i < items; ++i) {
        const int at = Bucket::position(i, items);
        const bool is_start =
            at < here && (at == 0 || layout.row_of(sorted[at]) != layout.row_of(sorted[at - 1]));
        starts |= u32(is_start) << i;
        of_warp += __popc(__ballot_sync(FULL_WARP, is_start));
    }
    if (lane_of_thread() == 0) warps[warp_of_thread()] = of_warp;
    __syncthreads();
    u32 own_rows;
    u32 row = sum_of_warps_below<u32, Bucket::WARPS>(warps, own_rows);
    if (threadIdx.x == 0) *static_cast<volatile u64*>(&published[bucket]) = PUBLISHED<u64> | own_rows;
    const u32 before = rows_before(published, bucket);
    row += before;

    const u32 upto = FULL_WARP >> (WARP - 1 - lane_of_thread());
    for (int i = 0; i < items; ++i) {
        const int at = Bucket::position(i, items);
        const bool is_start = starts >> i & 1;
        const u32 lanes = __ballot_sync(FULL_WARP, is_start);
        if (at < here) {
            const u64 key = sorted[at];
            if (is_start) {
                const u32 own = row + __popc(lanes & upto) - 1;
                to.rows[own] = layout.row_of(key);
                to.indptr[own] = static_cast<u32>(begin + at);
            }
            const i64 position = ordered ? at : position_in_row(sorted, here, layout.row_shift(), at);
            to.write_entry(layout, key, begin + position, layout.number_of(key));
        }
        row += __popc(lanes);
    }
    if (bucket == gridDim.x - 1 && threadIdx.x == 0) {
        to.indptr[before + own_rows] = static_cast<u32>(count);
        *row_count = before + own_rows;
    }
}
