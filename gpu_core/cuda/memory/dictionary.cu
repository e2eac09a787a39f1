// dictionary.cu -- look up users' ids, map a batch, and maintain the hash table.
//
// Part of     the apply path: **map ids** -> deltas -> plan -> allocate -> commit (map_ids), and
//             commit's changes of the table
// Caller      gpu_core/cuda/update/deltas/delta_launches.py, map_ids.py, cuda/memory/dictionary.py     Host twin   host/memory/dictionary.py
// Keeps       one table for one set of ids, whatever the order in which they came and went:
//             insertion is by compare-and-swap, and where two entries meet the one that the order
//             of the table puts first stays
// Cost        a look-up is two dependent reads, 4 to a thread side by side
//
// Source      Celis, Larson, Munro, "Robin Hood Hashing", FOCS 1985; Shun, Blelloch,
//             "Phase-concurrent hash tables for determinism", SPAA 2014 (insertion).
#include "dictionary.cuh"
#include "tiles.cuh"

constexpr int LOOK_UP_THREADS = TILE_THREADS;
constexpr int LOOK_UP_IDS = 4;

// Look up keys[begin:end], a block; returns whether one of this thread's is unknown. An unknown one
// becomes `otherwise`.
__device__ __forceinline__ bool map_range(
        const Dictionary& table, bool is_empty, u32 otherwise, const i64* keys, i64 begin, i64 end,
        u32* out) {
    bool unknown = false;
    for (i64 first = begin + threadIdx.x; first < end; first += TILE_THREADS * LOOK_UP_IDS) {
        i64 own[LOOK_UP_IDS];
        u32 found[LOOK_UP_IDS];
#pragma unroll
        for (int i = 0; i < LOOK_UP_IDS; ++i) {
            const i64 at = first + i * TILE_THREADS;
            own[i] = keys[at < end ? at : first];
            found[i] = NONE;
        }
        if (!is_empty) look_up_ids(table, own, found);
#pragma unroll
        for (int i = 0; i < LOOK_UP_IDS; ++i) {
            const i64 at = first + i * TILE_THREADS;
            if (at < end) {
                unknown |= found[i] == NONE;
                out[at] = found[i] == NONE ? otherwise : found[i];
            }
        }
    }
    return unknown;
}

// out[i] = index of keys[i], NONE where it is unknown. LOOK_UP_THREADS * LOOK_UP_IDS keys a block.
extern "C" __global__ void __launch_bounds__(LOOK_UP_THREADS) look_up(
        const u32* slots, i64 slot_count, const i64* ids, const i64* keys, i64 count, u32* out) {
    const Dictionary table = open_dictionary(slots, slot_count, ids);
    constexpr i64 KEYS = LOOK_UP_THREADS * LOOK_UP_IDS;
    const i64 begin = blockIdx.x * KEYS;
    map_range(table, slot_count < 2, NONE, keys, begin, min(begin + KEYS, count), out);
}

__device__ __forceinline__ bool map_tile(
        const Dictionary& table, bool is_empty, u32 otherwise, i64 number, const i64* rows,
        const u32* indptr, i64 row_count, const i64* columns, i64 entries, u32* out_rows,
        u32* out_columns, u32* entry_rows) {
    const Tile tile = open_tile(indptr, row_count, entries, number);
    const int here = static_cast<int>(tile.end - tile.begin);
    for (int position = threadIdx.x; position < here; position += TILE_THREADS) {
        entry_rows[tile.begin + position] = static_cast<u32>(row_at(tile, position));
    }
    return map_range(table, is_empty, otherwise, rows, tile.row_begin, tile.row_end, out_rows) |
           map_range(table, is_empty, otherwise, columns, tile.begin, tile.end, out_columns);
}

// Map a batch: both edge lists and the vertices to put, a tile of entries a block. The row number
// of each entry is written on the way. With `strict`, an unknown id sets the batch's status, and is
// mapped to 0, so that what follows stays within the table; without, it is mapped to NONE.
extern "C" __global__ void __launch_bounds__(TILE_THREADS) map_ids(
        Lists<i64> lists, u32* image, const u32* slots, i64 slot_count, const i64* ids,
        u32* put_rows, u32* put_columns, u32* put_entry_rows, u32* delete_rows,
        u32* delete_columns, u32* delete_entry_rows, u32* put_vertices, i64 strict) {
    follow_previous_launch();
    const Dictionary table = open_dictionary(slots, slot_count, ids);
    const bool is_empty = slot_count < 2;
    const u32 otherwise = strict ? 0 : NONE;
    i64 number = blockIdx.x;
    bool unknown = false;
    if (number < tiles_of(lists.puts)) {
        unknown = map_tile(table, is_empty, otherwise, number, lists.put_rows, lists.put_indptr,
                           lists.put_row_count, lists.put_columns, lists.puts, put_rows,
                           put_columns, put_entry_rows);
    } else if ((number -= tiles_of(lists.puts)) < tiles_of(lists.deletes)) {
        unknown = map_tile(table, is_empty, otherwise, number, lists.delete_rows,
                           lists.delete_indptr, lists.delete_row_count, lists.delete_columns,
                           lists.deletes, delete_rows, delete_columns, delete_entry_rows);
    } else {
        number -= tiles_of(lists.deletes);
        unknown = map_range(table, is_empty, otherwise, lists.put_vertices, number * TILE_ENTRIES,
                            min((number + 1) * TILE_ENTRIES, lists.vertices), put_vertices);
    }
    if (unknown && strict) header_of(image)[BATCH_FIELD_STATUS] = BATCH_STATUS_UNKNOWN_IDS;
}

// Free all slots, for a table that is filled again.
extern "C" __global__ void clear_slots(const u32* image, u32* slots, i64 slot_count) {
    if (header_of(image)[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    for (i64 i = thread_of_grid(); i < slot_count; i += threads_of_grid()) slots[i] = NONE;
}

// Enter vertices whose ids are not in the table yet: `indices`, or, where that is null, those of
// 0 ... count - 1 that are in the graph.
extern "C" __global__ void __launch_bounds__(LOOK_UP_THREADS) insert(
        const u32* image, Shape shape, u32* slots, i64 slot_count, const i64* ids,
        const u32* indices, i64 count) {
    if (header_of(image)[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const Dictionary table = open_dictionary(slots, slot_count, ids);
    const i64 number = thread_of_grid();
    if (number >= count) return;
    u32 carried = indices ? indices[number] : static_cast<u32>(number);
    if (!indices && !(image[record_of(shape, carried)] & PRESENT_BIT)) return;

    i64 id = ids[carried];
    u32 home = home_slot(id, table.shift);
    u32 slot = home;
    u32 resident = __ldcg(&slots[slot]);
    while (true) {
        // A slot never becomes free, and its vertex is only ever displaced by one that goes
        // before: a resident read late is displaced rightly or not at all.
        if (resident == NONE) {
            resident = atomicCAS(&slots[slot], NONE, carried);
            if (resident == NONE) return;
            continue;
        }
        const i64 other = ids[resident];
        const u32 other_home = home_slot(other, table.shift);
        const u32 distance = (slot - home) & table.mask;
        const u32 other_distance = (slot - other_home) & table.mask;
        if (other_distance < distance || (other_distance == distance && other > id)) {
            const u32 now = atomicCAS(&slots[slot], resident, carried);
            if (now != resident) {
                resident = now;
                continue;
            }
            carried = resident;
            id = other;
            home = other_home;
        }
        slot = (slot + 1) & table.mask;
        resident = __ldcg(&slots[slot]);
    }
}

// Find the slot of each vertex to take out, whose record is cleared already. `leaders[i]` becomes
// the slot if it is the first of its run of taken slots that holds such a vertex, else NONE.
extern "C" __global__ void __launch_bounds__(LOOK_UP_THREADS) find_gaps(
        const u32* image, Shape shape, const u32* slots, i64 slot_count, const i64* ids,
        const u32* gone, i64 count, u32* leaders) {
    if (header_of(image)[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const Dictionary table = open_dictionary(slots, slot_count, ids);
    const i64 number = thread_of_grid();
    if (number >= count) return;
    u32 slot = home_slot(ids[gone[number]], table.shift);
    while (slots[slot] != gone[number]) slot = (slot + 1) & table.mask;
    u32 before = (slot - 1) & table.mask;
    bool leads = true;
    while (leads && slots[before] != NONE) {
        leads = image[record_of(shape, slots[before])] & PRESENT_BIT;
        before = (before - 1) & table.mask;
    }
    leaders[number] = leads ? slot : NONE;
}

// Take absent vertices out of the runs of slots that `leaders` name, a thread a run: who follows
// moves back as far as its home allows.
extern "C" __global__ void __launch_bounds__(LOOK_UP_THREADS) close_gaps(
        const u32* image, Shape shape, u32* slots, i64 slot_count, const i64* ids,
        const u32* leaders, i64 count) {
    if (header_of(image)[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const Dictionary table = open_dictionary(slots, slot_count, ids);
    const i64 number = thread_of_grid();
    if (number >= count || leaders[number] == NONE) return;
    u32 write = leaders[number];
    u32 read = write;
    for (u32 vertex = slots[read]; vertex != NONE; vertex = slots[read]) {
        if (image[record_of(shape, vertex)] & PRESENT_BIT) {
            const u32 distance = (read - home_slot(ids[vertex], table.shift)) & table.mask;
            const u32 gap = (read - write) & table.mask;
            const u32 to = (read - min(distance, gap)) & table.mask;
            for (; write != to; write = (write + 1) & table.mask) slots[write] = NONE;
            slots[to] = vertex;
            write = (write + 1) & table.mask;
        }
        read = (read + 1) & table.mask;
    }
    for (; write != read; write = (write + 1) & table.mask) slots[write] = NONE;
}
