// maintained_pagerank.cu -- residuals of PageRank in fixed point, repaired and pushed.
//
// Caller      gpu_core/cuda/analytics/maintained/maintained_pagerank.py
// Host twin   gpu_core/host/analytics/maintained/maintained_pagerank.py, same numbers to the bit, but that pushes of a
//             round do not see one another
// Meaning     of mass, residuals and shares: gpu_core/algorithms/maintained/maintained_pagerank.py
// Order       all sums are of integers: the order of the atomics does not show
#include "image.cuh"
#include "tile_items.cuh"

constexpr int ROW_THREADS = 256;
constexpr i64 ROW_TILE_ENTRIES = 1024;

// What a vertex passes on to each out-neighbor.
__device__ __forceinline__ i64 share_of(i64 mass, i64 degree, double alpha) {
    if (degree == 0) return 0;
    return __double2ll_rn(alpha * static_cast<double>(mass) / static_cast<double>(degree));
}

__device__ __forceinline__ u64 absolute(i64 value) {
    return static_cast<u64>(value < 0 ? -value : value);
}

// Shares of all vertices, and their residuals but for what is passed on to them.
//
// Launch      one thread a vertex
extern "C" __global__ void share_out(const i64* __restrict__ mass, const u32* __restrict__ degree,
                                     const i64 count, const double alpha, i64* __restrict__ shares,
                                     i64* __restrict__ residuals) {
    const i64 vertex = thread_of_grid();
    if (vertex >= count) return;
    shares[vertex] = share_of(mass[vertex], degree[vertex], alpha);
    residuals[vertex] = -mass[vertex];
}

// What the entries of a batch change, for each of their sources.
//
// Launch      one thread a source
// Reads       keys    u64[entries], source << 32 | target, increasing
//             firsts  i64[sources], the first entry of each source
//             sign    1: the entries are added, -1: removed; `degree` counts them
// Writes      more    i64[sources], to be added for each entry of the row
//             others  i64[sources], to be added for each changed entry
extern "C" __global__ void measure_sources(
        const u64* __restrict__ keys, const i64 entries, const i64* __restrict__ firsts,
        const i64 sources, const u32* __restrict__ degree, const i64* __restrict__ mass,
        const double alpha, const i64 sign, i64* __restrict__ more, i64* __restrict__ others) {
    const i64 number = thread_of_grid();
    if (number >= sources) return;
    const i64 first = firsts[number];
    const i64 changed = (number + 1 < sources ? firsts[number + 1] : entries) - first;
    const u32 source = static_cast<u32>(keys[first] >> 32);
    const i64 length = degree[source];
    const i64 share = share_of(mass[source], length, alpha);
    const i64 other = share_of(mass[source], length - changed, alpha);
    more[number] = sign * (share - other);
    others[number] = sign * other;
}

// Add others[source] at the target of each changed entry.
//
// Launch      one thread an entry
extern "C" __global__ void add_to_targets(const u64* __restrict__ keys, const i64 entries,
                                          const i64* __restrict__ firsts, const i64 sources,
                                          const i64* __restrict__ others, u64* residuals) {
    const i64 entry = thread_of_grid();
    if (entry >= entries) return;
    const i64 other = others[item_of(firsts, 0, sources - 1, entry)];
    if (other) atomicAdd(&residuals[static_cast<u32>(keys[entry])], static_cast<u64>(other));
}

// Add more[number] at each out-neighbor of vertices[number].
//
// Launch      ROW_THREADS threads, a block for ROW_TILE_ENTRIES entries of the rows
// Reads       vertices  u32[count], each once; null: 0, 1, 2 …
//             starts    i64[count + 1]: entries of the rows before each vertex
// Cost        an atomic an entry
extern "C" __global__ void __launch_bounds__(ROW_THREADS) add_to_rows(
        const u32* __restrict__ vertices, const i64* __restrict__ starts, const i64 count,
        const i64* __restrict__ more, const i64* __restrict__ begin,
        const u32* __restrict__ columns, const i64 step, u64* residuals) {
    const i64 first = blockIdx.x * ROW_TILE_ENTRIES;
    const i64 end = min(first + ROW_TILE_ENTRIES, starts[count]);
    const TileItems items = items_of_tile(starts, count, first, end);
    for (i64 place = first + threadIdx.x; place < end; place += ROW_THREADS) {
        const i64 number = items.at(starts, place);
        const i64 vertex = vertices ? vertices[number] : number;
        const u32 target = columns[begin[vertex] + (place - starts[number]) * step];
        if (more[number]) atomicAdd(&residuals[target], static_cast<u64>(more[number]));
    }
}

// Give `base` to new vertices, and nothing to those that are gone.
//
// Launch      one thread a vertex
// Updates     was_present  u8[count]
extern "C" __global__ void take_vertices(const u8* __restrict__ present, const i64 count,
                                         const i64 base, i64* __restrict__ mass,
                                         i64* __restrict__ residuals, u8* __restrict__ was_present) {
    const i64 vertex = thread_of_grid();
    if (vertex >= count) return;
    if (!present[vertex]) {
        mass[vertex] = residuals[vertex] = 0;
    } else if (!was_present[vertex]) {
        residuals[vertex] += base;
    }
    was_present[vertex] = present[vertex];
}

// Sums over all vertices; all 0 before.
struct Sums {
    u64 absolute;    // of |residuals|
    i64 signed_sum;  // of residuals
    u64 mass;        // of mass above 0
    u64 below;       // of -mass below 0
    u64 most;        // largest |residual|
    u64 active;      // vertices with |residual| above the threshold
    u64 entries;     // of their rows
};

// Launch      ROW_THREADS threads a block, one a vertex
extern "C" __global__ void __launch_bounds__(ROW_THREADS) add_up(
        const i64* __restrict__ mass, const i64* __restrict__ residuals,
        const u32* __restrict__ degree, const i64 count, const u64 threshold, u64* words) {
    Sums* sums = reinterpret_cast<Sums*>(words);
    const i64 vertex = thread_of_grid();
    const bool is_there = vertex < count;
    const i64 residual = is_there ? residuals[vertex] : 0;
    const i64 own = is_there ? mass[vertex] : 0;
    const u64 amount = absolute(residual);
    const bool is_active = amount > threshold;
    const u64 absolutes = block_sum<u64, ROW_THREADS>(amount);
    const u64 signeds = block_sum<u64, ROW_THREADS>(static_cast<u64>(residual));
    const u64 above = block_sum<u64, ROW_THREADS>(own > 0 ? static_cast<u64>(own) : 0);
    const u64 below = block_sum<u64, ROW_THREADS>(own < 0 ? static_cast<u64>(-own) : 0);
    const u64 most = block_max<u64, ROW_THREADS>(amount);
    const u64 active = block_sum<u64, ROW_THREADS>(is_active);
    const u64 entries = block_sum<u64, ROW_THREADS>(is_active ? degree[vertex] : 0);
    if (threadIdx.x != 0) return;
    if (absolutes) atomicAdd(&sums->absolute, absolutes);
    if (signeds) atomicAdd(reinterpret_cast<u64*>(&sums->signed_sum), signeds);
    if (above) atomicAdd(&sums->mass, above);
    if (below) atomicAdd(&sums->below, below);
    if (most) atomicMax(&sums->most, most);
    if (active) atomicAdd(&sums->active, active);
    if (entries) atomicAdd(&sums->entries, entries);
}

// Push vertices whose residual is above the threshold, but for what they pass on.
//
// Launch      one thread a vertex
// Updates     mass, residuals
// Writes      vertices u32[active], lengths u32[active], more i64[active]: to be added for each entry of
//             their rows, in any order
//             listed   u64, 0 before
extern "C" __global__ void take_active(i64* __restrict__ mass, i64* __restrict__ residuals,
                                       const u32* __restrict__ degree, const i64 count,
                                       const double alpha, const u64 threshold,
                                       u32* __restrict__ vertices, u32* __restrict__ lengths,
                                       i64* __restrict__ more, u64* listed) {
    const i64 vertex = thread_of_grid();
    if (vertex >= count) return;
    const i64 residual = residuals[vertex];
    if (absolute(residual) <= threshold) return;
    const u32 length = degree[vertex];
    const i64 before = mass[vertex];
    const i64 after = before + residual;
    mass[vertex] = after;
    residuals[vertex] = 0;
    const u64 place = atomicAdd(listed, 1ull);
    vertices[place] = static_cast<u32>(vertex);
    lengths[place] = length;
    more[place] = share_of(after, length, alpha) - share_of(before, length, alpha);
}
