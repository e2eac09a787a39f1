// queries.cu -- bulk queries about vertices and pairs.
//
// Caller      gpu_core/cuda/queries/queries.py
// Host twin   gpu_core/host/queries/queries.py
#include "find_entry.cuh"

// Vertex index of each id where ids are the indices.
//
// Launch      one thread an id
// Writes      indices  u32[count]; NONE where the graph has no such vertex
extern "C" __global__ void indices_of_dense(const u32* __restrict__ image, const Shape shape,
                                            const i64* __restrict__ ids, const i64 count,
                                            u32* __restrict__ indices) {
    const i64 i = thread_of_grid();
    if (i >= count) return;
    const i64 id = ids[i];
    const bool is_present = id >= 0 && id < shape.vertex_count && image[record_of(shape, id)] & PRESENT_BIT;
    indices[i] = is_present ? static_cast<u32>(id) : NONE;
}

// Where the entry of each pair lies: word `word` of it, in words of the image.
//
// Launch      one thread a pair
// Writes      positions  i64[pairs]; -1 where the source's adjacency does not name the target, or either
//             is no vertex: NONE has no row and stands in none
// Cost        two dependent reads a pair, and a binary search in the row; of a layout of pages two more
//             reads for each page before the one that may have the target, of a tree their logarithm's
//             square instead
extern "C" __global__ void find_entries(const u32* __restrict__ image, const Shape shape,
                                        const u32* __restrict__ sources,
                                        const u32* __restrict__ targets, const i64 pairs,
                                        const i64 word, i64* __restrict__ positions) {
    const i64 i = thread_of_grid();
    if (i >= pairs) return;
    positions[i] = find_entry(image, shape, sources[i], targets[i], word);
}

// Degree of each vertex index; 0 at or beyond the end of the table.
//
// Launch      one thread an index
extern "C" __global__ void degrees_of(const u32* __restrict__ image, const Shape shape,
                                      const u32* __restrict__ indices, const i64 count,
                                      i64* __restrict__ degrees) {
    const i64 i = thread_of_grid();
    if (i >= count) return;
    const i64 vertex = indices[i];
    degrees[i] = 0;
    if (vertex < shape.vertex_count) {
        degrees[i] = image[record_of(shape, vertex) + shape.degree_word];
    }
}

// Position of each vertex in an order of vertices.
//
// Launch      one thread a vertex of the order
extern "C" __global__ void rank_vertices(const u32* __restrict__ order, const i64 count,
                                         u32* __restrict__ rank) {
    const i64 i = thread_of_grid();
    if (i < count) rank[order[i]] = static_cast<u32>(i);
}

// Neighbors by their position in an order of vertices.
//
// Launch      one thread an entry
extern "C" __global__ void rename_columns(const u32* __restrict__ rank, const i64 entries,
                                          u32* __restrict__ columns) {
    const i64 i = thread_of_grid();
    if (i < entries) columns[i] = rank[columns[i]];
}

// Words of a property in another order of entries.
//
// Launch      one thread an entry
// Reads       positions  u32[entries]: where the word of each entry stands; null: at its own position
//             low, high  u32[entries]; high null: the property has one word
// Writes      out     u32[entries], or u32[2 * entries] where there are two words
extern "C" __global__ void gather_words(const u32* __restrict__ positions, const u32* __restrict__ low,
                                       const u32* __restrict__ high, const i64 entries,
                                       u32* __restrict__ out) {
    const i64 i = thread_of_grid();
    if (i >= entries) return;
    const i64 from = positions ? static_cast<i64>(positions[i]) : i;
    if (high) {
        out[2 * i] = low[from];
        out[2 * i + 1] = high[from];
    } else {
        out[i] = low[from];
    }
}

// Low bits of keys.
//
// Launch      one thread a key
extern "C" __global__ void low_bits(const u64* __restrict__ keys, const i64 count, const u32 mask,
                                    u32* __restrict__ out) {
    const i64 i = thread_of_grid();
    if (i < count) out[i] = static_cast<u32>(keys[i]) & mask;
}

// Positions 0, 1, 2, …
//
// Launch      one thread an item
extern "C" __global__ void number_items(const i64 count, u32* __restrict__ out) {
    const i64 i = thread_of_grid();
    if (i < count) out[i] = static_cast<u32>(i);
}
