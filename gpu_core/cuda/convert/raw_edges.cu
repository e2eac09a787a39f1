// raw_edges.cu -- net effect of raw edge rows: the last row of each edge decides.
//
// Part of     batches that are made on the device
// Caller      gpu_core/cuda/convert/raw_edges.py
// Host twin   gpu_core/batch/net_effect/last_rows.py
// Way         bounds_of_ids -> pack_edges -> radix sort -> mark_switches -> count_kept -> list_kept ->
//             count_edge_rows -> group_edges; after one pass of the sort edge_buckets.cu, where rows
//             are partitioned into buckets
// Sizes       what is kept is counted on the device; the host launches for as many as there are rows
#include "raw_edges.cuh"
#include "sorting.cuh"
#include "tiles.cuh"

// Smallest and largest source, smallest and largest destination. `partial` i64[blocks * 4].
template <class Id>
__device__ __forceinline__ void find_bounds(
        const Id* src, const Id* dst, i64 count, i64* partial, i64* bounds, u32* ticket) {
    constexpr i64 LEAST = i64(1) << 63;
    // Of negated numbers, the largest is the smallest.
    i64 most[4] = {LEAST, LEAST, LEAST, LEAST};
#pragma unroll 4
    for (i64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        const i64 from = static_cast<i64>(src[i]), to = static_cast<i64>(dst[i]);
        most[0] = max(most[0], ~from);
        most[1] = max(most[1], from);
        most[2] = max(most[2], ~to);
        most[3] = max(most[3], to);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const i64 found = block_max<i64, TILE_THREADS>(most[k]);
        if (threadIdx.x == 0) partial[blockIdx.x * i64(4) + k] = found;
    }
    if (!is_last_block(ticket)) return;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        i64 found = LEAST;
        for (u32 i = threadIdx.x; i < gridDim.x; i += TILE_THREADS) {
            found = max(found, __ldcg(&partial[i * i64(4) + k]));
        }
        found = block_max<i64, TILE_THREADS>(found);
        if (threadIdx.x == 0) bounds[k] = k % 2 == 0 ? ~found : found;
    }
}

extern "C" __global__ void __launch_bounds__(TILE_THREADS) bounds_of_ids(
        const i64* src, const i64* dst, i64 count, i64* partial, i64* bounds, u32* ticket) {
    find_bounds(src, dst, count, partial, bounds, ticket);
}

extern "C" __global__ void __launch_bounds__(TILE_THREADS) bounds_of_narrow_ids(
        const u32* src, const u32* dst, i64 count, i64* partial, i64* bounds, u32* ticket) {
    find_bounds(src, dst, count, partial, bounds, ticket);
}

// How the keys of rows are made; passed by value.
struct Packing {
    // Null: all are inserts.
    const signed char* op;
    // Null: rows as they are; otherwise the tails of rows that are sorted by destination already.
    const u32* order;
    i64 count;
    // Smallest id, and how far above it the largest may be.
    i64 src_low;
    u64 src_span;
    i64 dst_low;
    u64 dst_span;
    i64 dst_bits;
    i64 tail_bits;
    // Whether an edge is folded to src <= dst.
    i64 folds;
    u64* keys;
    u32* tails;
    i64 portion;
    // Zeros that later launches count from: u32[cleared], and of each row, if not null.
    u32* zeros;
    i64 cleared;
    u32* row_zeros;
    u32* faults;
};

// Keys of rows, and the first digit counted (sorting.cuh). `src` or `dst` null: not part of the key.
template <class Id>
__device__ __forceinline__ void pack_rows(
        const Packing& to, const Id* src, const Id* dst, const Pass& pass) {
    follow_previous_launch();
    begin_counting();
    if (blockIdx.x == 0) {
        for (i64 i = threadIdx.x; i < to.cleared; i += SORT_THREADS) to.zeros[i] = 0;
    }
    u32 faults = 0;
    const i64 end = min((blockIdx.x + i64(1)) * to.portion, to.count);
#pragma unroll 4
    for (i64 at = blockIdx.x * to.portion + threadIdx.x; at < end; at += SORT_THREADS) {
        const i64 row = to.order ? to.order[at] >> 1 : at;
        i64 from = src ? static_cast<i64>(src[row]) : to.src_low;
        i64 onto = dst ? static_cast<i64>(dst[row]) : to.dst_low;
        if (src && dst && to.folds && from > onto) {
            const i64 larger = from;
            from = onto;
            onto = larger;
        }
        const u64 src_offset = static_cast<u64>(from) - static_cast<u64>(to.src_low);
        const u64 dst_offset = static_cast<u64>(onto) - static_cast<u64>(to.dst_low);
        if (src_offset > to.src_span || dst_offset > to.dst_span) faults |= OUT_OF_BOUNDS;
        const int op = to.op ? to.op[row] : 1;
        // Either offset is 0 where it is no part of the key.
        u64 key = src && dst ? src_offset << to.dst_bits | dst_offset : src_offset | dst_offset;
        const u64 tail = static_cast<u64>(row) << 1 | (op > 0);
        if (to.tail_bits == 1) key = key << 1 | (tail & 1);
        else if (to.tail_bits) key = key << to.tail_bits | tail;
        to.keys[at] = key;
        if (to.tails) to.tails[at] = static_cast<u32>(tail);
        if (to.row_zeros) to.row_zeros[at] = 0;
        if (pass.counts) count_digit(pass.digit.of(key));
    }
    if (faults) atomicOr(to.faults, faults);
    if (pass.counts) end_counting(pass);
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS, 4) pack_edges(
        Packing to, const i64* src, const i64* dst, Pass pass) {
    pack_rows(to, src, dst, pass);
}

extern "C" __global__ void __launch_bounds__(SORT_THREADS, 4) pack_narrow_edges(
        Packing to, const u32* src, const u32* dst, Pass pass) {
    pack_rows(to, src, dst, pass);
}

// Where inserts and deletes of an edge alternate: switches[last row of the edge] becomes 1 + the row
// before the last change of operation. `switches` is 0 before.
extern "C" __global__ void mark_switches(Sorted rows, u32* switches) {
    follow_previous_launch();
    const i64 i = thread_of_grid();
    if (i + 1 >= rows.count || rows.is_insert(i) == rows.is_insert(i + 1) || !rows.same(i, i + 1)) return;
    atomicMax(&switches[rows.last_of(i)], static_cast<u32>(i + 1));
}

constexpr u32 LOST = 0;
constexpr u32 KEPT_PUT = 1;
constexpr u32 KEPT_DELETE = 2;
constexpr u32 LOOP = 3;

// What becomes of row i.
__device__ __forceinline__ u32 fate_of(const Sorted& rows, i64 keep_loops, i64 i) {
    if (i >= rows.count) return LOST;
    if (!keep_loops && rows.src(i) == rows.dst(i)) return LOOP;
    if (i + 1 < rows.count && rows.same(i, i + 1)) return LOST;
    return rows.is_insert(i) ? KEPT_PUT : KEPT_DELETE;
}

// Row that a thread of tile `tile` looks at as its item `item`.
__device__ __forceinline__ i64 row_of_item(i64 tile, int item) {
    return tile * TILE_ENTRIES + item * TILE_THREADS + threadIdx.x;
}

// tiles u32[tiles * 2]: puts kept, deletes kept, both before each tile, once the last block is
// through; counts: all of them, loops dropped, deletes of edges that the batch inserts before.
extern "C" __global__ void __launch_bounds__(TILE_THREADS) count_kept(
        Sorted rows, i64 keep_loops, const u32* switches, u32* tiles, Counts* counts, u32* ticket) {
    follow_previous_launch();
    // Two counts in one sum: neither exceeds the rows of a tile.
    u32 kept = 0;
    u32 others = 0;
#pragma unroll
    for (int item = 0; item < TILE_ITEMS; ++item) {
        const i64 i = row_of_item(blockIdx.x, item);
        const u32 fate = fate_of(rows, keep_loops, i);
        kept += (fate == KEPT_PUT) | (fate == KEPT_DELETE) << 16;
        others += (fate == LOOP) | (fate == KEPT_DELETE && switches[i] != 0) << 16;
    }
    kept = block_sum<u32, TILE_THREADS>(kept);
    others = block_sum<u32, TILE_THREADS>(others);
    if (threadIdx.x == 0) {
        tiles[blockIdx.x * i64(2)] = kept & 0xFFFF;
        tiles[blockIdx.x * i64(2) + 1] = kept >> 16;
        if (others & 0xFFFF) atomicAdd(&counts->loops, others & 0xFFFF);
        if (others >> 16) atomicAdd(&counts->revoked, others >> 16);
    }
    if (!is_last_block(ticket)) return;
    const u32 puts = sums_before<TILE_THREADS>(tiles, gridDim.x, 2);
    const u32 deletes = rows.all_inserts ? 0 : sums_before<TILE_THREADS>(tiles + 1, gridDim.x, 2);
    if (threadIdx.x == 0) counts->puts = puts;
    if (threadIdx.x == 0) counts->deletes = deletes;
}

// Rows (by position in the order) of the puts and of the deletes that are kept.
extern "C" __global__ void __launch_bounds__(TILE_THREADS) list_kept(
        Sorted rows, i64 keep_loops, const u32* tiles, u32* put_at, u32* delete_at) {
    follow_previous_launch();
    u32 puts = tiles[blockIdx.x * i64(2)];
    u32 deletes = tiles[blockIdx.x * i64(2) + 1];
    for (int item = 0; item < TILE_ITEMS; ++item) {
        const i64 i = row_of_item(blockIdx.x, item);
        const u32 fate = fate_of(rows, keep_loops, i);
        u32 total;
        const u32 below = block_exclusive_sum<u32, TILE_THREADS>(
                (fate == KEPT_PUT) | (fate == KEPT_DELETE) << 16, total);
        if (fate == KEPT_PUT) put_at[puts + (below & 0xFFFF)] = static_cast<u32>(i);
        if (fate == KEPT_DELETE) delete_at[deletes + (below >> 16)] = static_cast<u32>(i);
        puts += total & 0xFFFF;
        deletes += total >> 16;
    }
}

// The two lists in parallel: the first half of the grid's blocks works on the puts, the second on the
// deletes. `tiles` are the blocks of a half.
struct ListOfBlock {
    int number;
    i64 tile;
    __device__ __forceinline__ explicit ListOfBlock(i64 tiles)
        : number(blockIdx.x >= tiles), tile(blockIdx.x - number * tiles) {}
    __device__ __forceinline__ i64 kept(const Counts* counts) const {
        return number ? counts->deletes : counts->puts;
    }
};

__device__ __forceinline__ bool starts_row(const Sorted& rows, const u32* at, i64 i) {
    return i == 0 || rows.src(at[i]) != rows.src(at[i - 1]);
}

extern "C" __global__ void __launch_bounds__(TILE_THREADS) count_edge_rows(
        Sorted rows, OutputList puts, OutputList deletes, i64 tiles, Counts* counts, u32* ticket) {
    follow_previous_launch();
    const ListOfBlock own(tiles);
    const OutputList list = own.number ? deletes : puts;
    const i64 kept = own.kept(counts);
    u32 found = 0;
    if (own.tile * TILE_ENTRIES < kept) {
#pragma unroll
        for (int item = 0; item < TILE_ITEMS; ++item) {
            const i64 i = row_of_item(own.tile, item);
            if (i < kept) found += starts_row(rows, list.at, i);
        }
        found = block_sum<u32, TILE_THREADS>(found);
        if (threadIdx.x == 0) list.tiles[own.tile] = found;
    }
    if (!is_last_block(ticket)) return;
    const u32 put_rows = sums_before<TILE_THREADS>(puts.tiles, tiles_of(counts->puts));
    const u32 delete_rows = sums_before<TILE_THREADS>(deletes.tiles, tiles_of(counts->deletes));
    if (threadIdx.x == 0) counts->rows[0] = put_rows;
    if (threadIdx.x == 0) counts->rows[1] = delete_rows;
}

// Rows of a tile of a list, as a CSR.
__device__ __forceinline__ void group_tile(
        const Sorted& rows, const OutputList& list, const ListOfBlock& own, i64 kept,
        const u32* switches,
        i64 ids_are_narrow, u32* beyond) {
    u32 before = list.tiles[own.tile];
    u32 most = 0;
    for (int item = 0; item < TILE_ITEMS; ++item) {
        const i64 i = row_of_item(own.tile, item);
        const bool starts = i < kept && starts_row(rows, list.at, i);
        u32 total;
        const u32 row = before + block_exclusive_sum<u32, TILE_THREADS>(starts, total) + starts - 1;
        before += total;
        if (i >= kept) continue;
        const i64 position = list.at[i];
        const i64 src = rows.src(position);
        const i64 dst = rows.dst(position);
        most = max(most, static_cast<u32>(max(src, dst)) + 1);
        if (ids_are_narrow) static_cast<u32*>(list.columns)[i] = static_cast<u32>(dst);
        else static_cast<i64*>(list.columns)[i] = dst;
        if (starts) {
            if (ids_are_narrow) static_cast<u32*>(list.rows)[row] = static_cast<u32>(src);
            else static_cast<i64*>(list.rows)[row] = src;
            list.indptr[row] = static_cast<u32>(i);
        }
        if (i == kept - 1) list.indptr[row + 1] = static_cast<u32>(kept);
        if (list.positions) list.positions[i] = rows.tail(position) >> 1;
        const u32 switch_row = switches ? switches[position] : 0;
        if (list.switched) list.switched[i] = switch_row != 0;
        if (list.firsts) list.firsts[i] = rows.tail(switch_row ? switch_row : rows.first_of(position)) >> 1;
    }
    most = block_max<u32, TILE_THREADS>(most);
    if (ids_are_narrow && threadIdx.x == 0) atomicMax(beyond, most);
}

// The kept rows as CSRs. `ids_are_narrow`: rows and columns are u32; else i64. With fewer registers than
// four blocks a multiprocessor leave it, it spills.
extern "C" __global__ void __launch_bounds__(TILE_THREADS, 4) group_edges(
        Sorted rows, OutputList puts, OutputList deletes, i64 tiles, const u32* switches,
        i64 ids_are_narrow, Report report) {
    follow_previous_launch();
    const ListOfBlock own(tiles);
    const OutputList list = own.number ? deletes : puts;
    const i64 kept = own.kept(report.counts);
    if (own.tile == 0 && kept == 0 && threadIdx.x == 0) list.indptr[0] = 0;
    if (own.tile * TILE_ENTRIES < kept) {
        u32* beyond = &report.counts->beyond[own.number];
        group_tile(rows, list, own, kept, switches, ids_are_narrow, beyond);
    }
    report.finish();
}
