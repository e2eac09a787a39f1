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
// Pairs are looked up and those of one kind listed in their order: find_pairs -> list_keys.
#include "block.cuh"
#include "find_entry.cuh"

constexpr int CHANGE_THREADS = 256;
constexpr int TILE_PAIRS = 4 * CHANGE_THREADS;

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
// Launch      CHANGE_THREADS threads, a block for TILE_PAIRS pairs
// Writes      found   u8[count]
//             before  i64[blocks + 1], pairs found in the tiles before, and in all
// Ticket      u32, 0 before and after
extern "C" __global__ void __launch_bounds__(CHANGE_THREADS)
find_pairs(const u32* __restrict__ image, const Shape shape, const u32* __restrict__ rows,
           const u32* __restrict__ entry_rows, const u32* __restrict__ columns, const i64 count,
           u8* __restrict__ found, i64* before, u32* ticket) {
    const i64 first = static_cast<i64>(blockIdx.x) * TILE_PAIRS;
    const i64 end = min(first + TILE_PAIRS, count);
    i64 own = 0;
    for (i64 pair = first + threadIdx.x; pair < end; pair += CHANGE_THREADS) {
        const u32 source = rows[entry_rows[pair]];
        const bool is_edge = find_entry(image, shape, source, columns[pair], 0) >= 0;
        found[pair] = is_edge;
        own += is_edge;
    }
    const i64 total = block_sum<i64, CHANGE_THREADS>(own);
    if (threadIdx.x == 0) before[blockIdx.x] = total;
    if (!is_last_block(ticket)) return;
    const i64 of_last = __ldcg(&before[gridDim.x - 1]);
    __syncthreads();
    sums_before<CHANGE_THREADS>(before, gridDim.x);
    __syncthreads();
    if (threadIdx.x == 0) before[gridDim.x] = before[gridDim.x - 1] + of_last;
}

// Keys of the pairs that are edges, or (`are_there` 0) of those that are none.
//
// Launch      as of `find_pairs`, which wrote `found` and `before`
extern "C" __global__ void __launch_bounds__(CHANGE_THREADS)
list_keys(const u32* __restrict__ rows, const u32* __restrict__ entry_rows,
          const u32* __restrict__ columns, const i64 count, const u8* __restrict__ found,
          const i64* __restrict__ before, const i64 are_there, const i64 directed,
          u64* __restrict__ keys) {
    const i64 first = static_cast<i64>(blockIdx.x) * TILE_PAIRS;
    const i64 end = min(first + TILE_PAIRS, count);
    i64 listed = are_there ? before[blockIdx.x] : first - before[blockIdx.x];
    for (i64 from = first; from < end; from += CHANGE_THREADS) {
        const i64 pair = from + threadIdx.x;
        const bool is_listed = pair < end && (found[pair] != 0) == (are_there != 0);
        u32 all;
        const u32 place = block_exclusive_sum<u32, CHANGE_THREADS>(is_listed, all);
        if (is_listed) {
            keys[listed + place] = edge_key(rows[entry_rows[pair]], columns[pair], directed != 0);
        }
        listed += all;
    }
}
