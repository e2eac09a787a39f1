// edge_buckets.cu -- raw edges by buckets: a block sorts, deduplicates and groups a bucket.
//
// Part of     batches that are made on the device
// Caller      gpu_core/cuda/convert/raw_edges.py
// Host twin   gpu_core/batch/net_effect/edge_buckets.py
// Way         pack_edges -> one or two passes of the radix sort -> group_buckets
// Needs       keys in the order of their uppermost bits, which are the source's alone: all rows of a
//             source lie in one bucket. No bucket holds more than KEYS
// Fault       BUCKET_OVERFULL: one does, and what is written is no batch
// Order       where the edges of a bucket go is the sum of what the buckets before it keep. Blocks take
//             buckets in the order in which they begin: all of these have begun, and none waits before
//             it has published its sums
//
// Source      Merrill, Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016; here
//             every block adds up all that come before, which are few: words of the L2 cache.
#include "key_buckets.cuh"
#include "raw_edges.cuh"

static_assert(Bucket::KEYS < 1 << 13, "numbers of a bucket are packed into 13 bits");
// Positions of keys in the tile, as they are listed.
typedef unsigned short Position;

// What a bucket keeps, of puts (0) and deletes (1), or all buckets before it.
struct Sums {
    u32 kept[2];
    u32 rows[2];
};

// A word a bucket, 0 before: published with one store.
__device__ __forceinline__ u64 packed(const Sums& sums) {
    return PUBLISHED<u64> | u64(sums.kept[0]) | u64(sums.kept[1]) << 13 | u64(sums.rows[0]) << 26 |
           u64(sums.rows[1]) << 39;
}

// Sums of the buckets before; the whole block calls.
__device__ __forceinline__ Sums buckets_before(const u64* buckets, u32 bucket) {
    const u64 mask = (1 << 13) - 1;
    u64 kept = 0, rows = 0;
    for_published<BUCKET_THREADS>(buckets, 0, bucket, [&](u64 found) {
        kept += (found & mask) | (found >> 13 & mask) << 32;
        rows += (found >> 26 & mask) | (found >> 39 & mask) << 32;
    });
    const u64 all_kept = block_sum<u64, BUCKET_THREADS>(kept);
    const u64 all_rows = block_sum<u64, BUCKET_THREADS>(rows);
    return {{static_cast<u32>(all_kept), static_cast<u32>(all_kept >> 32)},
            {static_cast<u32>(all_rows), static_cast<u32>(all_rows >> 32)}};
}

// List the positions of the keys that are kept: puts, and the deletes after them. Returns how many of
// either, and counts loops that are dropped.
__device__ __forceinline__ Sums list_kept(
        const Sorted& rows, const u64* sorted, int here, bool keep_loops, Position* kept, u32* loops) {
    const int items = (here + BUCKET_THREADS - 1) / BUCKET_THREADS;
    // Bit i: item i is kept.
    u32 is_put = 0, is_delete = 0;
    u32 dropped = 0;
    // Both kinds in one number, as below: neither exceeds the keys of a bucket.
    u32 of_warp = 0;
    for (int i = 0; i < items; ++i) {
        const int at = Bucket::position(i, items);
        bool put = false, removes = false;
        if (at < here) {
            const u64 key = sorted[at];
            const bool is_loop = !keep_loops && rows.src_of(key) == rows.dst_of(key);
            const bool is_last = at + 1 == here || rows.edge_of(sorted[at + 1]) != rows.edge_of(key);
            const bool inserts = rows.is_insert_key(key);
            dropped += is_loop;
            put = is_last && !is_loop && inserts;
            removes = is_last && !is_loop && !inserts;
        }
        is_put |= u32(put) << i;
        is_delete |= u32(removes) << i;
        of_warp += __popc(__ballot_sync(FULL_WARP, put));
        of_warp += __popc(__ballot_sync(FULL_WARP, removes)) << 16;
    }
    dropped = block_sum<u32, BUCKET_THREADS>(dropped);
    if (threadIdx.x == 0 && dropped) atomicAdd(loops, dropped);
    __shared__ u32 warps[Bucket::WARPS];
    if (lane_of_thread() == 0) warps[warp_of_thread()] = of_warp;
    __syncthreads();
    u32 total;
    u32 before = sum_of_warps_below<u32, Bucket::WARPS>(warps, total);
    const u32 puts = total & 0xFFFF;
    before += puts << 16;
    const u32 below = (1u << lane_of_thread()) - 1;
    for (int i = 0; i < items; ++i) {
        const bool put = is_put >> i & 1, removes = is_delete >> i & 1;
        const u32 put_lanes = __ballot_sync(FULL_WARP, put);
        const u32 delete_lanes = __ballot_sync(FULL_WARP, removes);
        const Position at = static_cast<Position>(Bucket::position(i, items));
        if (put) kept[(before & 0xFFFF) + __popc(put_lanes & below)] = at;
        if (removes) kept[(before >> 16) + __popc(delete_lanes & below)] = at;
        before += __popc(put_lanes) + (__popc(delete_lanes) << 16);
    }
    __syncthreads();
    return {{puts, total >> 16}, {0, 0}};
}

// Kept keys of one kind in their order, of which `count` are there.
struct Listed {
    const Sorted& rows;
    const u64* sorted;
    const Position* kept;
    int count;

    __device__ __forceinline__ u64 key(int i) const { return sorted[kept[i]]; }
    __device__ __forceinline__ bool starts_row(int i) const {
        return i < count && (i == 0 || rows.src_of(key(i)) != rows.src_of(key(i - 1)));
    }
    // The position after the last row of the edge that does not do what its deciding row does, or 0.
    __device__ __forceinline__ int after_switch(int i) const {
        const u64 deciding = key(i);
        for (int at = kept[i] - 1; at >= 0; --at) {
            if (rows.edge_of(sorted[at]) != rows.edge_of(deciding)) return 0;
            if (rows.is_insert_key(sorted[at]) != rows.is_insert_key(deciding)) return at + 1;
        }
        return 0;
    }
    // Position of the first row of the edge.
    __device__ __forceinline__ int first(int i) const {
        const u64 edge = rows.edge_of(key(i));
        int at = kept[i];
        while (at > 0 && rows.edge_of(sorted[at - 1]) == edge) --at;
        return at;
    }
    // Rows that begin in this thread's warp; all lanes call.
    __device__ __forceinline__ u32 rows_of_warp() const {
        const int items = (count + BUCKET_THREADS - 1) / BUCKET_THREADS;
        u32 found = 0;
        for (int i = 0; i < items; ++i) {
            found += __popc(__ballot_sync(FULL_WARP, starts_row(Bucket::position(i, items))));
        }
        return found;
    }
    // Write the CSR from entry `begin` and row `row`, the first ones of this bucket and of this
    // warp; returns the largest id + 1 and counts edges whose operations alternate.
    __device__ __forceinline__ u32 write(
            const OutputList& list, bool ids_are_narrow, u32 begin, u32 row, u32& switched) const {
        const int items = (count + BUCKET_THREADS - 1) / BUCKET_THREADS;
        const u32 upto = FULL_WARP >> (WARP - 1 - lane_of_thread());
        u32 most = 0;
        for (int i = 0; i < items; ++i) {
            const int at = Bucket::position(i, items);
            const bool starts = starts_row(at);
            const u32 lanes = __ballot_sync(FULL_WARP, starts);
            if (at < count) {
                write_entry(list, ids_are_narrow, at, begin + at, switched);
                const i64 src = rows.src_of(key(at));
                most = max(most, static_cast<u32>(max(src, rows.dst_of(key(at)))) + 1);
                if (starts) {
                    const u32 own_row = row + __popc(lanes & upto) - 1;
                    if (ids_are_narrow) static_cast<u32*>(list.rows)[own_row] = static_cast<u32>(src);
                    else static_cast<i64*>(list.rows)[own_row] = src;
                    list.indptr[own_row] = begin + at;
                }
            }
            row += __popc(lanes);
        }
        return most;
    }
    __device__ __forceinline__ void write_entry(
            const OutputList& list, bool ids_are_narrow, int at, u32 entry, u32& switched) const {
        const i64 dst = rows.dst_of(key(at));
        if (ids_are_narrow) static_cast<u32*>(list.columns)[entry] = static_cast<u32>(dst);
        else static_cast<i64*>(list.columns)[entry] = dst;
        if (list.positions) list.positions[entry] = rows.tail_of(key(at)) >> 1;
        if (!list.switched) return;
        const int switch_at = after_switch(at);
        switched += switch_at != 0;
        list.switched[entry] = switch_at != 0;
        if (list.firsts) list.firsts[entry] = rows.tail_of(sorted[switch_at ? switch_at : first(at)]) >> 1;
    }
};

// `buckets` u64[number of buckets], 0 before; `block_numbers` u32, 0 before and after.
//
// Launch    a block a bucket
extern "C" __global__ void __launch_bounds__(BUCKET_THREADS, 2) group_buckets(
        Sorted rows, Partition partition, OutputList puts, OutputList deletes, i64 keep_loops,
        i64 ids_are_narrow, u64* buckets, u32* block_numbers, Report report) {
    follow_previous_launch();
    __shared__ u64 sorted[Bucket::KEYS];
    // Counters of the sort, and after it the positions of what is kept.
    __shared__ union {
        Bucket::Counters counters;
        Position kept[Bucket::KEYS];
    } lists;
    const u32 bucket = take_bucket(block_numbers);
    const u32 last = gridDim.x - 1;
    i64 bounds[2];
    find_bucket(partition, rows.keys, rows.count, bucket, bounds);
    const i64 begin = bounds[0];
    const bool is_overfull = bounds[1] - begin > Bucket::KEYS;
    if (is_overfull && threadIdx.x == 0) atomicOr(report.faults, BUCKET_OVERFULL);
    const int here = is_overfull ? 0 : static_cast<int>(bounds[1] - begin);
    sort_bucket(rows.keys + begin, here, static_cast<u32>(rows.tail_bits),
                static_cast<u32>(partition.shift), sorted, lists.counters);
    Sums own = list_kept(rows, sorted, here, keep_loops, lists.kept, &report.counts->loops);
    const Listed listed[2] = {
        {rows, sorted, lists.kept, static_cast<int>(own.kept[0])},
        {rows, sorted, lists.kept + own.kept[0], static_cast<int>(own.kept[1])},
    };
    // Rows of either kind that begin in the warps before.
    u32 rows_below[2];
#pragma unroll
    for (int kind = 0; kind < 2; ++kind) {
        __shared__ u32 warps[2][Bucket::WARPS];
        const u32 found = listed[kind].rows_of_warp();
        if (lane_of_thread() == 0) warps[kind][warp_of_thread()] = found;
        __syncthreads();
        rows_below[kind] = sum_of_warps_below<u32, Bucket::WARPS>(warps[kind], own.rows[kind]);
    }
    if (threadIdx.x == 0) *static_cast<volatile u64*>(&buckets[bucket]) = packed(own);
    const Sums before = buckets_before(buckets, bucket);
#pragma unroll
    for (int kind = 0; kind < 2; ++kind) {
        const OutputList& list = kind ? deletes : puts;
        const u32 entries = before.kept[kind] + own.kept[kind];
        u32 switched = 0;
        u32 most = listed[kind].write(list, ids_are_narrow, before.kept[kind],
                                      before.rows[kind] + rows_below[kind], switched);
        if (bucket == last && threadIdx.x == 0) {
            const u32 all_rows = before.rows[kind] + own.rows[kind];
            (kind ? report.counts->deletes : report.counts->puts) = entries;
            report.counts->rows[kind] = all_rows;
            list.indptr[all_rows] = entries;
        }
        most = block_max<u32, BUCKET_THREADS>(most);
        if (ids_are_narrow && threadIdx.x == 0) atomicMax(&report.counts->beyond[kind], most);
        if (kind == 0) continue;
        switched = block_sum<u32, BUCKET_THREADS>(switched);
        if (threadIdx.x == 0 && switched) atomicAdd(&report.counts->revoked, switched);
    }
    report.finish();
}
