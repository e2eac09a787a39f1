// changes.cu -- keys of the edges that a batch changes.
//
// Caller      gpu_core/cuda/update/changes.py
// Host twin   gpu_core/host/update/changes.py
//
// Pairs       rows u32[], entry_rows u32[count], columns u32[count]: pair i joins rows[entry_rows[i]] and
//             columns[i], by vertex index
// Keys        u64, of undirected edges lower index << 32 | higher index, of directed ones
//             source << 32 | target
//
// Pairs are looked up and those of one kind listed in their order (tile_lists.cuh): find_pairs -> list_keys.
#include "find_entry.cuh"
#include "tile_lists.cuh"

__device__ __forceinline__ u64 edge_key(u32 source, u32 target, bool is_directed) {
    const bool is_in_order = is_directed || source < target;
    return static_cast<u64>(is_in_order ? source : target) << 32 | (is_in_order ? target : source);
}

// Keys of edges.
//
// Launch      one thread an edge
extern "C" __global__ void edge_keys(const u32* __restrict__ sources,
                                     const u32* __restrict__ targets, const i64 edges,
                                     const i64 directed, u64* __restrict__ keys) {
    const i64 edge = thread_of_grid();
    if (edge < edges) keys[edge] = edge_key(sources[edge], targets[edge], directed != 0);
}

// Whether each pair is an edge.
//
// Launch      as of `count_in_tiles`
// Writes      found  u8[count]
extern "C" __global__ void __launch_bounds__(LIST_THREADS)
find_pairs(const u32* __restrict__ image, const Shape shape, const u32* __restrict__ rows,
           const u32* __restrict__ entry_rows, const u32* __restrict__ columns, const i64 count,
           u8* __restrict__ found, i64* before, u32* ticket) {
    count_in_tiles(count, before, ticket, [&](i64 pair) {
        const bool is_edge = find_entry(image, shape, rows[entry_rows[pair]], columns[pair], 0) >= 0;
        found[pair] = is_edge;
        return is_edge;
    });
}

// Keys of the pairs that are edges, or (`are_there` 0) of those that are none.
//
// Launch      as of `find_pairs`, which wrote `found` and `before`
extern "C" __global__ void __launch_bounds__(LIST_THREADS)
list_keys(const u32* __restrict__ rows, const u32* __restrict__ entry_rows,
          const u32* __restrict__ columns, const i64 count, const u8* __restrict__ found,
          const i64* __restrict__ before, const i64 are_there, const i64 directed,
          u64* __restrict__ keys) {
    const i64 first = static_cast<i64>(blockIdx.x) * LIST_ITEMS;
    const i64 listed = are_there ? before[blockIdx.x] : first - before[blockIdx.x];
    for_listed(
        count, listed, [&](i64 pair) { return found[pair] == are_there; },
        [&](i64 pair, i64 position) {
            keys[position] = edge_key(rows[entry_rows[pair]], columns[pair], directed != 0);
        });
}
