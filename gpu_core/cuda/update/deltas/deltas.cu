// deltas.cu -- a delta of a batch: entries packed into keys, sorted, grouped by row.
//
// Part of     the apply path: map ids -> **deltas** -> plan -> allocate -> commit
// Caller      gpu_core/cuda/update/deltas/delta_launches.py          Host twin   gpu_core/host/update/deltas.py
// Keys        see deltas.cuh
// Order       positions come from prefix sums: results do not depend on scheduling
// Cost        8 bytes written an entry to pack; 8 read and 4 to 9 written to group
#include "deltas.cuh"
#include "search.cuh"
#include "sorting.cuh"
#include "tiles.cuh"

// Keys of the lists of a batch, in this order: dangling, as they are; then puts and deletes, as they are,
// transposed (bit 0 of `orientation`), or both, one after the other (bit 1).
// Where `lists` names no rows, the number of an entry's row stands for its vertex. Also counts the
// first digit of the sort (sorting.cuh) unless `counts` is null, and clears `published`, u64[buckets].
extern "C" __global__ void __launch_bounds__(SORT_THREADS) pack_lists(
        const u32* dangling_rows, const u32* dangling_columns, i64 dangling, Lists<u32> lists,
        const u32* put_entry_rows, const u32* delete_entry_rows, i64 orientation, Layout layout,
        u64* keys, u32* values, i64 portion, Pass pass, u64* published, i64 buckets) {
    follow_previous_launch();
    for (i64 i = thread_of_grid(); i < buckets; i += i64(gridDim.x) * SORT_THREADS) published[i] = 0;
    const i64 puts = lists.puts;
    const i64 listed = puts + lists.deletes;
    const i64 total = dangling + (orientation & 2 ? 2 * listed : listed);
    begin_counting();
    const i64 end = min((blockIdx.x + i64(1)) * portion, total);
#pragma unroll 2
    for (i64 at = blockIdx.x * portion + threadIdx.x; at < end; at += SORT_THREADS) {
        u32 row, column, what;
        i64 number = at;
        if (at < dangling) {
            row = dangling_rows[at];
            column = dangling_columns[at];
            what = KIND_DANGLING;
        } else {
            number -= dangling;
            bool transposed = orientation & 1;
            if (number >= listed) {
                number -= listed;
                transposed = !transposed;
            }
            if (number < puts) {
                row = put_entry_rows[number];
                if (lists.put_rows) row = lists.put_rows[row];
                column = lists.put_columns[number];
                what = KIND_PUT;
            } else {
                number -= puts;
                row = delete_entry_rows[number];
                if (lists.delete_rows) row = lists.delete_rows[row];
                column = lists.delete_columns[number];
                what = KIND_DELETE;
            }
            if (transposed) {
                const u32 other = row;
                row = column;
                column = other;
            }
        }
        const u64 key = layout.pack(row, column, what, number);
        keys[at] = key;
        if (values) values[at] = static_cast<u32>(number);
        if (pass.counts) count_digit(pass.digit.of(key));
    }
    if (pass.counts) end_counting(pass);
}

// How many entries of a list whose rows increase come before (row, column), which is not among them.
__device__ __forceinline__ i64 entries_before(
        const u32* rows, const u32* indptr, i64 row_count, const u32* columns, u32 row, u32 column) {
    const i64 number = first_not_before(0, row_count, [&](i64 at) { return rows[at] < row; });
    const i64 begin = indptr[number];
    if (number == row_count || rows[number] != row) return begin;
    return first_not_before(begin, indptr[number + 1], [&](i64 at) { return columns[at] < column; });
}

// Merge the puts and deletes of a batch whose indices are in order, a thread an entry: keys go to their
// position in the merged order.
extern "C" __global__ void merge_lists(
        Lists<u32> lists, const u32* put_entry_rows, const u32* delete_entry_rows, Layout layout,
        u64* keys, u32* values) {
    follow_previous_launch();
    const i64 puts = lists.puts;
    i64 number = thread_of_grid();
    if (number >= puts + lists.deletes) return;
    u32 row, column, what;
    i64 position;
    if (number < puts) {
        row = lists.put_rows[put_entry_rows[number]];
        column = lists.put_columns[number];
        what = KIND_PUT;
        position = number + entries_before(lists.delete_rows, lists.delete_indptr,
                                        lists.delete_row_count, lists.delete_columns, row, column);
    } else {
        number -= puts;
        row = lists.delete_rows[delete_entry_rows[number]];
        column = lists.delete_columns[number];
        what = KIND_DELETE;
        position = number + entries_before(lists.put_rows, lists.put_indptr, lists.put_row_count,
                                        lists.put_columns, row, column);
    }
    keys[position] = layout.pack(row, column, what, number);
    if (values) values[position] = static_cast<u32>(number);
}

// Of a tile of sorted keys: which begin a row. Bit l of `starts[i]` is the key of lane l of the
// warp's i-th 32 keys. Returns the rows that begin in the tile before this warp's keys.
__device__ __forceinline__ u32 row_starts(
        const u64* keys, i64 count, u32 row_shift, u32 (&starts)[TILE_ITEMS], u32& total) {
    __shared__ u32 of_warp[TILE_THREADS / WARP];
    const i64 begin = static_cast<i64>(blockIdx.x) * TILE_ENTRIES +
                      warp_of_thread() * (TILE_ITEMS * WARP) + lane_of_thread();
    u32 found = 0;
#pragma unroll
    for (int i = 0; i < TILE_ITEMS; ++i) {
        const i64 at = begin + i * WARP;
        const bool starts_row = at < count && (at == 0 || keys[at] >> row_shift !=
                                                          keys[at - 1] >> row_shift);
        starts[i] = __ballot_sync(FULL_WARP, starts_row);
        found += __popc(starts[i]);
    }
    if (lane_of_thread() == 0) of_warp[warp_of_thread()] = found;
    __syncthreads();
    return sum_of_warps_below<u32, TILE_THREADS / WARP>(of_warp, total);
}

// tiles[t] = rows that begin before tile t of the sorted keys; *row_count = all of them.
extern "C" __global__ void __launch_bounds__(TILE_THREADS) count_rows(
        const u64* keys, i64 count, Layout layout, u32* tiles, u32* row_count, u32* ticket) {
    follow_previous_launch();
    u32 starts[TILE_ITEMS];
    u32 total;
    row_starts(keys, count, layout.row_shift(), starts, total);
    if (threadIdx.x == 0) tiles[blockIdx.x] = total;
    if (!is_last_block(ticket)) return;
    total = sums_before<TILE_THREADS>(tiles, gridDim.x);
    if (threadIdx.x == 0) *row_count = total;
}

// Undo the packing and group by row, a tile a block. `tiles` is null where one block is all; then
// it writes `row_count` too. `values` is null where keys have the numbers of puts. `ordered`: the keys
// of a row are in order; else they are put in order here.
extern "C" __global__ void __launch_bounds__(TILE_THREADS) unpack_keys(
        const u64* keys, const u32* values, i64 count, Layout layout, const u32* tiles,
        u32* row_count, Grouped to, i64 ordered) {
    follow_previous_launch();
    u32 starts[TILE_ITEMS];
    u32 total;
    u32 before = row_starts(keys, count, layout.row_shift(), starts, total);
    if (tiles) before += tiles[blockIdx.x];
    const i64 begin = static_cast<i64>(blockIdx.x) * TILE_ENTRIES +
                      warp_of_thread() * (TILE_ITEMS * WARP) + lane_of_thread();
    const u32 upto = 0xFFFFFFFFu >> (WARP - 1 - lane_of_thread());
#pragma unroll
    for (int i = 0; i < TILE_ITEMS; ++i) {
        const i64 at = begin + i * WARP;
        const u32 row = before + __popc(starts[i] & upto) - 1;
        before += __popc(starts[i]);
        if (at >= count) continue;
        const u64 key = keys[at];
        if (to.rows && starts[i] >> lane_of_thread() & 1) {
            to.rows[row] = layout.row_of(key);
            to.indptr[row] = static_cast<u32>(at);
        }
        const i64 position = ordered ? at : position_in_row(keys, count, layout.row_shift(), at);
        to.write_entry(layout, key, position, values ? values[at] : layout.number_of(key));
        if (to.rows && at == count - 1) {
            to.indptr[row + 1] = static_cast<u32>(count);
            if (!tiles) *row_count = row + 1;
        }
    }
}

// Put the entries of each row of a list in order by column: `entry_rows` are the numbers of their
// rows. Rows of more than ORDERED_ENTRIES stay as they are. `source` is null where it is not needed.
extern "C" __global__ void __launch_bounds__(TILE_THREADS) order_rows(
        const u32* columns, const u32* entry_rows, const u32* indptr, i64 count, u32* ordered,
        u32* source) {
    follow_previous_launch();
    const i64 at = thread_of_grid();
    if (at >= count) return;
    const u32 row = entry_rows[at];
    const u32 column = columns[at];
    const u32 begin = indptr[row];
    const u32 end = indptr[row + 1];
    i64 position = at;
    if (end - begin <= ORDERED_ENTRIES) {
        position = begin;
        for (u32 other = begin; other < end; ++other) position += columns[other] < column;
    }
    ordered[position] = column;
    if (source) source[position] = static_cast<u32>(at);
}

// Neighbor of entry `position` of a tile, and its vertex; the tile is of adjacencies as a CSR, of which
// there may be a copy (`columns`, else null).
__device__ __forceinline__ u32 neighbor_at(
        const u32* image, const Shape& shape, const u32* vertices, const i64* indptr,
        const u32* columns, const Tile& tile, int position, u32& vertex) {
    const i64 row = row_at(tile, position);
    vertex = vertices[row];
    if (columns != nullptr) return columns[tile.begin + position];
    const Adjacency adjacency = open_adjacency(image, shape, vertex);
    return image[adjacency.base + (tile.begin + position - indptr[row]) * adjacency.step];
}

// Entries of the adjacencies of `vertices` (none of them empty; indptr their degrees summed up) whose
// neighbor has the flag `wanted`: how many there are before each tile, and in all.
extern "C" __global__ void __launch_bounds__(TILE_THREADS) count_references(
        const u32* image, Shape shape, const u32* vertices, const i64* indptr, i64 vertex_count,
        const u32* columns, i64 entries, const u8* deleted, u32 wanted, i64* tiles, i64* found, u32* ticket) {
    const Tile tile = open_tile(indptr, vertex_count, entries, blockIdx.x);
    const int here = static_cast<int>(tile.end - tile.begin);
    i64 count = 0;
    for (int position = threadIdx.x; position < here; position += TILE_THREADS) {
        u32 vertex;
        const u32 neighbor =
                neighbor_at(image, shape, vertices, indptr, columns, tile, position, vertex);
        count += deleted[neighbor] == wanted;
    }
    count = block_sum<i64, TILE_THREADS>(count);
    if (threadIdx.x == 0) tiles[blockIdx.x] = count;
    if (!is_last_block(ticket)) return;
    count = sums_before<TILE_THREADS>(tiles, gridDim.x);
    if (threadIdx.x == 0) *found = count;
}

// Write what count_references counts, in order: (vertex, neighbor) to `first` and `second`.
extern "C" __global__ void __launch_bounds__(TILE_THREADS) list_references(
        const u32* image, Shape shape, const u32* vertices, const i64* indptr, i64 vertex_count,
        const u32* columns, i64 entries, const u8* deleted, u32 wanted, const i64* tiles, u32* first, u32* second) {
    const Tile tile = open_tile(indptr, vertex_count, entries, blockIdx.x);
    const int here = static_cast<int>(tile.end - tile.begin);
    i64 before = tiles[blockIdx.x];
    for (int begin = 0; begin < here; begin += TILE_THREADS) {
        const int position = begin + threadIdx.x;
        u32 vertex = 0;
        u32 neighbor = 0;
        bool listed = false;
        if (position < here) {
            neighbor = neighbor_at(image, shape, vertices, indptr, columns, tile, position, vertex);
            listed = deleted[neighbor] == wanted;
        }
        u32 total;
        const i64 at = before + block_exclusive_sum<u32, TILE_THREADS>(listed, total);
        if (listed) {
            first[at] = vertex;
            second[at] = neighbor;
        }
        before += total;
    }
}
