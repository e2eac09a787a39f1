// raw_edges.cu -- what rows of edges come to: the last row of each edge decides.
//
// Part of     batches that are made on the device
// Caller      gpu_core/cuda/raw_edges.py        Host twin   gpu_core/host/last_rows.py
// Way         bounds_of_ids -> pack_edges -> radix sort -> mark_turns -> count_kept -> list_kept ->
//             count_edge_rows -> group_edges
// Keys        narrow: src | dst | tail, relative to the smallest ids, `dst_bits` and `tail_bits` wide
//             wide: src alone, and `wide_dst` the destinations by row
// Tail        position of the row << 1 | is insert; what of it nobody asks for is left out. It is the
//             low bits of the key, or, where it does not fit, `tails` beside the keys
// Order       sorted by edge and, within an edge, by position: the sort is stable
#include "sorting.cuh"
#include "tiles.cuh"

struct Sorted {
    const u64* keys;
    const u32* tails;
    const i64* wide_dst;
    i64 count;
    i64 src_low;
    i64 dst_low;
    u32 dst_bits;
    u32 tail_bits;
    u32 all_inserts;

    __device__ __forceinline__ u32 tail(i64 i) const {
        return tails ? tails[i] : static_cast<u32>(keys[i] & ((u64(1) << tail_bits) - 1));
    }
    __device__ __forceinline__ bool is_insert(i64 i) const { return all_inserts || (tail(i) & 1); }
    __device__ __forceinline__ i64 src(i64 i) const {
        const u64 edge = keys[i] >> tail_bits;
        return static_cast<i64>((wide_dst ? edge : edge >> dst_bits) + static_cast<u64>(src_low));
    }
    __device__ __forceinline__ i64 dst(i64 i) const {
        if (wide_dst) return wide_dst[tail(i) >> 1];
        const u64 offset = keys[i] >> tail_bits & ((u64(1) << dst_bits) - 1);
        return static_cast<i64>(offset + static_cast<u64>(dst_low));
    }
    __device__ __forceinline__ bool same(i64 i, i64 j) const {
        if (keys[i] >> tail_bits != keys[j] >> tail_bits) return false;
        return !wide_dst || dst(i) == dst(j);
    }
    // Last row of the edge of row i, by steps that double and then halve.
    __device__ __forceinline__ i64 last_of(i64 i) const {
        i64 step = 1;
        while (i + step < count && same(i, i + step)) step *= 2;
        i64 last = i + step / 2;
        i64 beyond = min(i + step, count);
        if (step == 1) last = i;
        while (beyond - last > 1) {
            const i64 middle = last + (beyond - last) / 2;
            if (same(i, middle)) last = middle;
            else beyond = middle;
        }
        return last;
    }
    __device__ __forceinline__ i64 first_of(i64 i) const {
        i64 step = 1;
        while (i - step >= 0 && same(i, i - step)) step *= 2;
        i64 first = step == 1 ? i : i - step / 2;
        i64 before = max(i - step, i64(-1));
        while (first - before > 1) {
            const i64 middle = before + (first - before) / 2;
            if (same(i, middle)) first = middle;
            else before = middle;
        }
        return first;
    }
};

// Smallest and largest source, smallest and largest destination. `partial` i64[blocks * 4].
extern "C" __global__ void __launch_bounds__(TILE_THREADS) bounds_of_ids(
        const i64* src, const i64* dst, i64 count, i64* partial, i64* bounds, u32* ticket) {
    constexpr i64 LEAST = i64(1) << 63;
    // Of numbers turned round, the largest is the smallest.
    i64 most[4] = {LEAST, LEAST, LEAST, LEAST};
    for (i64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        most[0] = max(most[0], ~src[i]);
        most[1] = max(most[1], src[i]);
        most[2] = max(most[2], ~dst[i]);
        most[3] = max(most[3], dst[i]);
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

// Keys of rows, and the first digit counted (sorting.cuh). `op` null: all are inserts. `order` null:
// rows as they are; otherwise the tails of rows that are sorted by destination already.
extern "C" __global__ void __launch_bounds__(SORT_THREADS) pack_edges(
        const signed char* op, const i64* src, const i64* dst, const u32* order, i64 count, i64 src_low,
        i64 dst_low, i64 dst_bits, i64 tail_bits, u64* keys, u32* tails, i64 portion, Pass pass) {
    begin_counting();
    const i64 end = min((blockIdx.x + i64(1)) * portion, count);
#pragma unroll 4
    for (i64 at = blockIdx.x * portion + threadIdx.x; at < end; at += SORT_THREADS) {
        const i64 row = order ? order[at] >> 1 : at;
        u64 key = 0;
        if (src) key = static_cast<u64>(src[row]) - static_cast<u64>(src_low);
        if (dst) {
            const u64 offset = static_cast<u64>(dst[row]) - static_cast<u64>(dst_low);
            key = src ? key << dst_bits | offset : offset;
        }
        const u64 tail = static_cast<u64>(row) << 1 | (!op || op[row] > 0);
        if (tail_bits == 1) key = key << 1 | (tail & 1);
        else if (tail_bits) key = key << tail_bits | tail;
        keys[at] = key;
        if (tails) tails[at] = static_cast<u32>(tail);
        if (pass.counts) count_digit(pass.digit.of(key));
    }
    if (pass.counts) end_counting(pass);
}

#define SORTED_PARAMETERS                                                                         \
    const u64 *keys, const u32 *tails, const i64 *wide_dst, i64 count, i64 src_low, i64 dst_low,  \
            u32 dst_bits, u32 tail_bits, u32 all_inserts
#define SORTED_ROWS \
    Sorted { keys, tails, wide_dst, count, src_low, dst_low, dst_bits, tail_bits, all_inserts }

// Where inserts and deletes of an edge take turns: turns[last row of the edge] becomes 1 + the row
// before its last turn. `turns` is 0 before.
extern "C" __global__ void mark_turns(SORTED_PARAMETERS, u32* turns) {
    const Sorted rows = SORTED_ROWS;
    const i64 i = thread_of_grid();
    if (i + 1 >= count || rows.is_insert(i) == rows.is_insert(i + 1) || !rows.same(i, i + 1)) return;
    atomicMax(&turns[rows.last_of(i)], static_cast<u32>(i + 1));
}

constexpr u32 LOST = 0;
constexpr u32 KEPT_PUT = 1;
constexpr u32 KEPT_DELETE = 2;
constexpr u32 LOOP = 3;

// What becomes of row i.
__device__ __forceinline__ u32 fate_of(const Sorted& rows, u32 keep_loops, i64 i) {
    if (i >= rows.count) return LOST;
    if (!keep_loops && rows.src(i) == rows.dst(i)) return LOOP;
    if (i + 1 < rows.count && rows.same(i, i + 1)) return LOST;
    return rows.is_insert(i) ? KEPT_PUT : KEPT_DELETE;
}

// Of each tile: puts kept, deletes kept (both: before the tile, once the last block is through).
// totals u32[4]: puts, deletes, loops dropped, deletes of edges that the batch inserts before.
extern "C" __global__ void __launch_bounds__(TILE_THREADS) count_kept(
        SORTED_PARAMETERS, u32 keep_loops, const u32* turns, u32* tiles, u32* totals, u32* ticket) {
    const Sorted rows = SORTED_ROWS;
    u32 found[4] = {0, 0, 0, 0};
    for (int item = 0; item < TILE_ITEMS; ++item) {
        const i64 i = static_cast<i64>(blockIdx.x) * TILE_ENTRIES + item * TILE_THREADS + threadIdx.x;
        const u32 fate = fate_of(rows, keep_loops, i);
        found[0] += fate == KEPT_PUT;
        found[1] += fate == KEPT_DELETE;
        found[2] += fate == LOOP;
        found[3] += fate == KEPT_DELETE && turns[i] != 0;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const u32 sum = block_sum<u32, TILE_THREADS>(found[k]);
        if (threadIdx.x == 0) tiles[blockIdx.x * i64(4) + k] = sum;
    }
    if (!is_last_block(ticket)) return;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        u32 before = 0;
        for (u32 first = 0; first < gridDim.x; first += TILE_THREADS) {
            const u32 tile = first + threadIdx.x;
            u32* own = &tiles[tile * i64(4) + k];
            u32 total;
            const u32 place = block_exclusive_sum<u32, TILE_THREADS>(
                    tile < gridDim.x ? __ldcg(own) : 0, total);
            if (tile < gridDim.x) *own = before + place;
            before += total;
        }
        if (threadIdx.x == 0) totals[k] = before;
    }
}

// Rows (by place in the order) of the puts and of the deletes that are kept.
extern "C" __global__ void __launch_bounds__(TILE_THREADS) list_kept(
        SORTED_PARAMETERS, u32 keep_loops, const u32* tiles, u32* put_at, u32* delete_at) {
    const Sorted rows = SORTED_ROWS;
    u32 puts = tiles[blockIdx.x * i64(4)];
    u32 deletes = tiles[blockIdx.x * i64(4) + 1];
    for (int item = 0; item < TILE_ITEMS; ++item) {
        const i64 i = static_cast<i64>(blockIdx.x) * TILE_ENTRIES + item * TILE_THREADS + threadIdx.x;
        const u32 fate = fate_of(rows, keep_loops, i);
        // Two counts in one sum: neither exceeds the threads of a block.
        u32 total;
        const u32 below = block_exclusive_sum<u32, TILE_THREADS>(
                (fate == KEPT_PUT) | (fate == KEPT_DELETE) << 16, total);
        if (fate == KEPT_PUT) put_at[puts + (below & 0xFFFF)] = static_cast<u32>(i);
        if (fate == KEPT_DELETE) delete_at[deletes + (below >> 16)] = static_cast<u32>(i);
        puts += total & 0xFFFF;
        deletes += total >> 16;
    }
}

__device__ __forceinline__ bool starts_row(const Sorted& rows, const u32* at, i64 i) {
    return i == 0 || rows.src(at[i]) != rows.src(at[i - 1]);
}

// tiles[t] = sources that begin before tile t of the kept rows `at`; *row_count = all of them.
extern "C" __global__ void __launch_bounds__(TILE_THREADS) count_edge_rows(
        SORTED_PARAMETERS, const u32* at, i64 kept, u32* tiles, u32* row_count, u32* ticket) {
    const Sorted rows = SORTED_ROWS;
    u32 found = 0;
    for (int item = 0; item < TILE_ITEMS; ++item) {
        const i64 i = static_cast<i64>(blockIdx.x) * TILE_ENTRIES + item * TILE_THREADS + threadIdx.x;
        if (i < kept) found += starts_row(rows, at, i);
    }
    found = block_sum<u32, TILE_THREADS>(found);
    if (threadIdx.x == 0) tiles[blockIdx.x] = found;
    if (!is_last_block(ticket)) return;
    u32 before = 0;
    for (u32 first = 0; first < gridDim.x; first += TILE_THREADS) {
        const u32 tile = first + threadIdx.x;
        u32 total;
        const u32 place = block_exclusive_sum<u32, TILE_THREADS>(
                tile < gridDim.x ? __ldcg(&tiles[tile]) : 0, total);
        if (tile < gridDim.x) tiles[tile] = before + place;
        before += total;
    }
    if (threadIdx.x == 0) *row_count = before;
}

// The kept rows as a CSR. `ids_are_narrow`: out_rows and columns are u32, and *beyond becomes 1 + the
// largest of them (0 before); else i64. `positions`: of the deciding row; `firsts`, `resets`: of the first insert after the edge's last delete, and whether
// there is such a delete (null where not asked for).
extern "C" __global__ void __launch_bounds__(TILE_THREADS) group_edges(
        SORTED_PARAMETERS, const u32* turns, const u32* at, i64 kept, const u32* tiles,
        u32 ids_are_narrow, void* out_rows, u32* indptr, void* columns, u32* positions,
        u32* firsts, u8* resets, u32* beyond) {
    const Sorted rows = SORTED_ROWS;
    u32 before = tiles[blockIdx.x];
    u32 most = 0;
    for (int item = 0; item < TILE_ITEMS; ++item) {
        const i64 i = static_cast<i64>(blockIdx.x) * TILE_ENTRIES + item * TILE_THREADS + threadIdx.x;
        const bool starts = i < kept && starts_row(rows, at, i);
        u32 total;
        const u32 row = before + block_exclusive_sum<u32, TILE_THREADS>(starts, total) + starts - 1;
        before += total;
        if (i >= kept) continue;
        const i64 place = at[i];
        const i64 src = rows.src(place);
        const i64 dst = rows.dst(place);
        most = max(most, static_cast<u32>(max(src, dst)) + 1);
        if (ids_are_narrow) static_cast<u32*>(columns)[i] = static_cast<u32>(dst);
        else static_cast<i64*>(columns)[i] = dst;
        if (starts) {
            if (ids_are_narrow) static_cast<u32*>(out_rows)[row] = static_cast<u32>(src);
            else static_cast<i64*>(out_rows)[row] = src;
            indptr[row] = static_cast<u32>(i);
        }
        if (i == kept - 1) indptr[row + 1] = static_cast<u32>(kept);
        if (positions) positions[i] = rows.tail(place) >> 1;
        if (firsts) {
            const i64 first = turns && turns[place] ? turns[place] : rows.first_of(place);
            firsts[i] = rows.tail(first) >> 1;
            resets[i] = turns && turns[place] != 0;
        }
    }
    most = block_max<u32, TILE_THREADS>(most);
    if (ids_are_narrow && threadIdx.x == 0) atomicMax(beyond, most);
}
