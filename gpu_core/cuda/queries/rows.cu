// rows.cu -- where the adjacency lists of an image lie: `Rows` (gpu_core/rows.py).
//
// Caller      gpu_core/cuda/queries/rows.py
// Host twin   gpu_core/host/queries/rows.py
#include "block.cuh"

// Begin and degree of each row, and whether its vertex is in the graph.
//
// Launch      one thread a row
// Reads       selected    u32[rows], vertex indices; null: all vertices in their order
// Writes      begin       i64[rows]: word of the first entry
//             degree      u32[rows]; 0 at or beyond the end of the table
//             present     u8[rows]
//             word_begin  i64[rows]: word of word `word` of the first entry; null: not asked for
// Cost        reads a sector a vertex record, writes 13 bytes a row (21)
extern "C" __global__ void locate_rows(const u32* __restrict__ image, const Shape shape,
                                       const u32* __restrict__ selected, const i64 rows,
                                       const i64 word, i64* __restrict__ begin,
                                       u32* __restrict__ degree, u8* __restrict__ present,
                                       i64* __restrict__ word_begin) {
    const i64 row = thread_of_grid();
    if (row >= rows) return;
    const i64 vertex = selected ? static_cast<i64>(selected[row]) : row;
    const Adjacency found = open_adjacency(image, shape, vertex);
    begin[row] = found.base;
    degree[row] = static_cast<u32>(found.degree);
    present[row] = vertex < shape.vertex_count && image[record_of(shape, vertex)] & PRESENT_BIT;
    if (word_begin) word_begin[row] = found.base + word * found.field;
}
