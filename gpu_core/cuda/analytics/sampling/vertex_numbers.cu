// vertex_numbers.cu -- numbers of vertices, from 0 on, in the order in which a sample finds them.
//
// Caller      gpu_core/cuda/analytics/sampling/neighbor_sampling.py
// Host twin   gpu_core/host/analytics/sampling/vertex_numbers.py: the same numbers
//
// Key         u64: the tree of a vertex, and below it 32 bits of its index
// Table       open addressing with linear probing, of a power of two of slots: keys u64, and numbers u64. A
//             number is that of a known vertex, or `known` and the position of an edge that found a new one:
//             the least of them wins, so that scheduling makes no difference
// Edges       ends i64[owners + 1]: how many were found up to each vertex that is expanded
#include "tile_items.cuh"

constexpr u64 FREE = ~0ull;
// Fibonacci hashing: the upper bits of the product with 2^64 over the golden ratio.
constexpr u64 FACTOR = 0x9E3779B97F4A7C15ull;
constexpr i64 ALL = -1;

// Slot of a key, which is entered where it is new.
__device__ __forceinline__ u64 enter(u64* keys, i64 bits, u64 key) {
    const u64 mask = (1ull << bits) - 1;
    u64 slot = key * FACTOR >> (64 - bits);
    while (true) {
        const u64 there = atomicCAS(&keys[slot], FREE, key);
        if (there == FREE || there == key) return slot;
        slot = slot + 1 & mask;
    }
}

// What is expanded, and how many entries of each are sampled at most.
//
// Launch      one thread a vertex, and one more
// Reads       keys u64[vertices]; degree u32 by index; bounds i64[bound_count], by tree, or one, or null
// Writes      frontier u32[vertices]; room i64[1 + vertices], from 0 on; own_bounds i64[vertices], or null
extern "C" __global__ void open_hop(
        const u64* __restrict__ keys, const i64 vertices, const u32* __restrict__ degree, const i64 fanout,
        const u32 replace, const i64* __restrict__ bounds, const i64 bound_count,
        u32* __restrict__ frontier, i64* __restrict__ room, i64* __restrict__ own_bounds) {
    const i64 i = thread_of_grid();
    if (i == vertices) room[0] = 0;
    if (i >= vertices) return;
    const u32 index = static_cast<u32>(keys[i]);
    const i64 entries = degree[index];
    frontier[i] = index;
    const i64 limited = replace ? (entries ? fanout : 0) : min(entries, fanout);
    room[1 + i] = fanout == ALL ? entries : limited;
    if (own_bounds) own_bounds[i] = bounds[bound_count > 1 ? keys[i] >> 32 : 0];
}

// Launch      one thread a vertex
// Reads       known u64[count], different keys
// Writes      keys, numbers u64[1 << bits]
extern "C" __global__ void enter_known(
        const u64* __restrict__ known, const i64 count, u64* keys, u64* numbers, const i64 bits) {
    const i64 i = thread_of_grid();
    if (i >= count) return;
    numbers[enter(keys, bits, known[i])] = i;
}

// Launch      one thread an edge, at least
// Reads       found u32 by slots i64[owners + 1]; known u64[count], of which those that are expanded begin at first
// Writes      keys, numbers; at i64[edges], slots of the table; expanded i64[edges], numbers
extern "C" __global__ void enter_found(
        const u32* __restrict__ found, const i64* __restrict__ slots, const i64* __restrict__ ends,
        const i64 owners, const u64* __restrict__ known, const i64 first, const i64 count, u64* keys,
        u64* numbers, const i64 bits, i64* __restrict__ at, i64* __restrict__ expanded) {
    const i64 edge = thread_of_grid();
    if (edge >= ends[owners]) return;
    const i64 owner = item_of(ends, 0, owners - 1, edge);
    const u64 tree = known[first + owner] >> 32 << 32;
    const u64 slot = enter(keys, bits, tree | found[slots[owner] + edge - ends[owner]]);
    atomicMin(&numbers[slot], static_cast<u64>(count + edge));
    at[edge] = slot;
    expanded[edge] = first + owner;
}

// Which edges are the first ones that found their vertex.
//
// Launch      one thread for each of `size` edges, of which there may be fewer
// Writes      is_new i64[size], 1 or 0
extern "C" __global__ void find_new(
        const i64* __restrict__ ends, const i64 owners, const i64 size, const i64 count,
        const u64* __restrict__ numbers, const i64* __restrict__ at, i64* __restrict__ is_new) {
    const i64 edge = thread_of_grid();
    if (edge >= size) return;
    is_new[edge] = edge < ends[owners] && numbers[at[edge]] == static_cast<u64>(count + edge);
}

// Launch      one thread an edge, at least
// Reads       ranks i64[size]: sums of is_new up to each edge
// Writes      numbered i64[edges]: number of the vertex that each has found
extern "C" __global__ void number_found(
        const i64* __restrict__ ends, const i64 owners, const i64 count, const u64* __restrict__ numbers,
        const i64* __restrict__ at, const i64* __restrict__ ranks, i64* __restrict__ numbered) {
    const i64 edge = thread_of_grid();
    if (edge >= ends[owners]) return;
    const i64 number = numbers[at[edge]];
    numbered[edge] = number < count ? number : count + ranks[number - count] - 1;
}

// New vertices become known ones.
//
// Launch      one thread for each of `size` edges, and one more
// Writes      numbers; known u64[count + size]; counts i64[2]: edges, and new vertices
extern "C" __global__ void settle_new(
        const i64* __restrict__ ends, const i64 owners, const i64 size, const i64 count,
        const u64* __restrict__ keys, u64* __restrict__ numbers,
        const i64* __restrict__ at, const i64* __restrict__ is_new, const i64* __restrict__ ranks,
        u64* __restrict__ known, i64* __restrict__ counts) {
    const i64 edge = thread_of_grid();
    if (edge == size) {
        counts[0] = ends[owners];
        counts[1] = size ? ranks[size - 1] : 0;
    }
    if (edge >= size || !is_new[edge]) return;
    const i64 number = count + ranks[edge] - 1;
    numbers[at[edge]] = number;
    known[number] = keys[at[edge]];
}
