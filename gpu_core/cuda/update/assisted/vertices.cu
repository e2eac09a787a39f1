// vertices.cu -- small kernels over the vertex table: presence, insertion and removal of vertices.
//
// Part of     the apply path: map ids (map_vertices, is_present, mark_absent), commit (the rest)
// Caller      gpu_core/cuda/update/deltas/delta_launches.py, map_ids.py, vertices.py, row_launches.py
// Host twin   gpu_core/host/update/vertices.py
// Keeps       kernels that change the image do nothing unless the batch's status is OK
#include "tiles.cuh"

__device__ __forceinline__ bool is_there(const u32* image, const Shape& shape, i64 vertex) {
    return vertex < shape.vertex_count && image[record_of(shape, vertex)] & PRESENT_BIT;
}

// Write the row number of each entry of a tile of a list; with `check`, say whether this thread has
// met a vertex that is not there.
__device__ __forceinline__ bool map_tile(
        const u32* image, const Shape& shape, bool check, i64 number, const u32* rows,
        const u32* indptr, i64 row_count, const u32* columns, i64 entries, u32* entry_rows) {
    const Tile tile = open_tile(indptr, row_count, entries, number);
    const int here = static_cast<int>(tile.end - tile.begin);
    bool unknown = false;
#pragma unroll
    for (int i = 0; i < TILE_ITEMS; ++i) {
        const int position = i * TILE_THREADS + threadIdx.x;
        if (position < here) {
            const i64 at = tile.begin + position;
            if (check) unknown |= !is_there(image, shape, columns[at]);
            entry_rows[at] = static_cast<u32>(row_at(tile, position));
        }
    }
    if (!check) return false;
    for (i64 row = tile.row_begin + threadIdx.x; row < tile.row_end; row += TILE_THREADS) {
        unknown |= !is_there(image, shape, rows[row]);
    }
    return unknown;
}

// Map a batch of dense ids, a tile of entries a block: the row number of each entry is written. With
// `check`, the batch's status is set where it puts what is not there; that what it deletes has a
// record follows from its largest id.
extern "C" __global__ void __launch_bounds__(TILE_THREADS) map_vertices(
        u32* image, Shape shape, Lists<u32> lists, u32* put_entry_rows, u32* delete_entry_rows,
        i64 check) {
    follow_previous_launch();
    i64 number = blockIdx.x;
    bool unknown = false;
    if (number < tiles_of(lists.puts)) {
        unknown = map_tile(image, shape, check, number, lists.put_rows, lists.put_indptr,
                           lists.put_row_count, lists.put_columns, lists.puts, put_entry_rows);
    } else if ((number -= tiles_of(lists.puts)) < tiles_of(lists.deletes)) {
        map_tile(image, shape, false, number, lists.delete_rows, lists.delete_indptr,
                 lists.delete_row_count, lists.delete_columns, lists.deletes, delete_entry_rows);
    } else if (check) {
        number -= tiles_of(lists.deletes);
        const i64 end = min((number + 1) * TILE_ENTRIES, lists.vertices);
        for (i64 i = number * TILE_ENTRIES + threadIdx.x; i < end; i += TILE_THREADS) {
            unknown |= !is_there(image, shape, lists.put_vertices[i]);
        }
    }
    if (unknown) header_of(image)[BATCH_FIELD_STATUS] = BATCH_STATUS_UNKNOWN_IDS;
}

// out[i] = 1 if indices[i] is in the graph; an index beyond the table is not.
extern "C" __global__ void is_present(
        const u32* image, Shape shape, const u32* indices, i64 count, u8* out) {
    const i64 i = thread_of_grid();
    if (i < count) out[i] = is_there(image, shape, indices[i]);
}

// flags[v] = 1 for each v of `indices` that is not in the graph.
extern "C" __global__ void mark_absent(
        const u32* image, Shape shape, const u32* indices, i64 count, u8* flags) {
    const i64 i = thread_of_grid();
    if (i < count && !is_there(image, shape, indices[i])) flags[indices[i]] = 1;
}

// Clear the records that the table gains: vertices `before` ... `after` - 1.
extern "C" __global__ void clear_records(u32* image, Shape shape, i64 before, i64 after) {
    follow_previous_launch();
    if (header_of(image)[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const i64 end = record_of(shape, after);
    for (i64 word = record_of(shape, before) + thread_of_grid(); word < end;
         word += threads_of_grid()) {
        image[word] = 0;
    }
}

// Enter created vertices: present bit, users' ids (null for dense ids), and the header's counts.
extern "C" __global__ void enter_vertices(
        u32* image, Shape shape, const u32* created, const i64* created_ids, i64 count,
        i64 vertex_count, i64 recycled, i64* ids) {
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const i64 i = thread_of_grid();
    if (i == 0) {
        header[FIELD_VERTEX_COUNT] = vertex_count;
        header[FIELD_VERTEX_QUEUE_FRONT] += recycled;
        if (ids) header[FIELD_DICTIONARY_USED] += count;
    }
    if (i >= count) return;
    image[record_of(shape, created[i])] |= PRESENT_BIT;
    if (ids) ids[created[i]] = created_ids[i];
}

// Enter the vertices that a batch of dense ids puts and that are not there, as the table is with
// `shape.vertex_count` records: present bits, and the header's counts.
//
// Launch    any number of blocks, once the runs of the batch are taken; rows may be written beside it
extern "C" __global__ void __launch_bounds__(TILE_THREADS) enter_lists(
        u32* image, Shape shape, Lists<u32> lists) {
    follow_and_lead();
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    if (thread_of_grid() == 0) header[FIELD_VERTEX_COUNT] = shape.vertex_count;
    const i64 columns_end = lists.put_row_count + lists.puts;
    const i64 end = columns_end + lists.vertices;
    const auto vertex_at = [&](i64 i) {
        return i < lists.put_row_count ? lists.put_rows[i]
               : i < columns_end       ? lists.put_columns[i - lists.put_row_count]
                                       : lists.put_vertices[i - columns_end];
    };
    // A thread asks for some records at once: few blocks leave room to the launch that runs beside.
    constexpr int ITEMS = 4;
    u32 entered = 0;
    for (i64 first = thread_of_grid(); first < end; first += ITEMS * threads_of_grid()) {
        u32* states[ITEMS];
        u32 found[ITEMS];
        #pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            const i64 i = first + item * threads_of_grid();
            states[item] = image + record_of(shape, i < end ? vertex_at(i) : 0) + STATE_WORD;
            found[item] = i < end ? *states[item] : PRESENT_BIT;
        }
        #pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            // Several threads may meet a new vertex: one of them finds the bit unset.
            if (found[item] & PRESENT_BIT) continue;
            entered += (atomicOr(states[item], PRESENT_BIT) & PRESENT_BIT) == 0;
        }
    }
    entered = warp_sum(entered);
    if (lane_of_thread() == 0 && entered > 0) {
        atomicAdd(reinterpret_cast<u64*>(header + BATCH_FIELD_CREATED), u64(entered));
    }
}

// Clear the records of vertices that go; with a vertex queue (null for dense ids) their indices are
// put at its end.
extern "C" __global__ void remove_vertices(
        u32* image, Shape shape, const u32* gone, i64 count, u32* queue, i64 queue_slots,
        i64 queue_back) {
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const i64 i = thread_of_grid();
    if (i == 0 && queue) {
        header[FIELD_VERTEX_QUEUE_BACK] = queue_back + count;
        header[FIELD_DICTIONARY_USED] -= count;
    }
    if (i >= count) return;
    u32* record = image + record_of(shape, gone[i]);
    for (i64 word = 0; word < shape.vertex_words; ++word) record[word] = 0;
    if (queue) queue[(queue_back + i) & (queue_slots - 1)] = gone[i];
}
