// triangles.cu -- count each triangle once: oriented edges, looked up in hash tables in shared memory.
//
// Caller      gpu_core/cuda/analytics/triangles/triangles.py
// Host twin   gpu_core/host/analytics/triangles/triangles.py
// Reads       rows of targets (oriented_edges.cuh), which oriented_edges.cu has made
//
// The targets of a vertex u go into a hash table in shared memory; each target v of u and each target
// w of v that is in the table is a triangle u < v < w, found once. The work is the sum of the
// out-degrees of v over all edges u -> v.
//
// Corners     u is counted in a register, v by its lane, and w in the table beside its key: what is
//             written to memory is one sum a target, not one a triangle.
// Order       of targets, and of sums, is any: targets are looked up, not merged, and sums of integers
//             do not show it.
// Lengths     targets of u         threads                               table
//             2 … 32               a warp, eight vertices one after the other        128 slots
//             33 … 128             a warp                                512 slots
//             more                 a block for every 512 targets v and   4096 slots (directed: 2048)
//                                  every 2048 (1024) targets w
//
// A directed graph, in the form DIRECTED, counts the triangles of both directions together. Each adds to
// every corner the directed edges between the other two; where PRODUCTS is said too, the product of the directed edges on its
// three sides, which is in how many ways one edge of each side makes a directed triangle.
//
// Source: Pandey et al., "TRUST: Triangle Counting Reloaded on GPUs", TPDS 2021 (hash tables in shared
// memory, warps and blocks by out-degree).
#include "oriented_edges.cuh"

constexpr u32 EMPTY = 0xFFFFFFFFu;
constexpr u32 SMALL_LENGTH = WARP;
constexpr u32 MEDIUM_LENGTH = 4 * WARP;
// Targets v, and targets w in a table of 2^bits slots, of one task of a block. Tests set them lower:
// rows with more targets have millions of entries around them.
#ifndef TASK_TARGETS
#define TASK_TARGETS 512u
#endif
#ifndef TASK_BITS
#define TASK_BITS 12
#endif
#ifndef DIRECTED
#define DIRECTED 0
#endif
#ifndef PRODUCTS
#define PRODUCTS 0
#endif
constexpr int TABLE_BITS = DIRECTED ? TASK_BITS - 1 : TASK_BITS;
constexpr u32 TASK_TABLE = (1u << TABLE_BITS) / 2;
constexpr int COUNT_WARPS = THREADS / WARP;
constexpr u32 VERTICES_A_WARP = 8;
// Fewest entries of a target list that one warp reads alone; shorter lists share a warp.
constexpr u32 WARP_LENGTH = 24;

// Counts of a whole launch; `edges` of a directed graph alone, else null.
struct Counts {
    const u64* rows;
    const u32* targets;
    u64* triangles;
    u64* edges;
};

// Targets of one vertex, and what was found at each of them.
template <int BITS>
struct Table {
    static constexpr u32 SLOTS = 1u << BITS;
    u32 keys[SLOTS];
    u32 found[SLOTS];
    u32 edges[DIRECTED ? SLOTS : 1];

    static __device__ __forceinline__ u32 first_slot(u32 word) {
        return ((word & INDEX) * 0x9E3779B1u) >> (32 - BITS);
    }
    __device__ __forceinline__ void clear(u32 slot) {
        keys[slot] = EMPTY;
        found[slot] = 0;
        if (DIRECTED) edges[slot] = 0;
    }
    // Enter a target that is not there yet; the table has a free slot.
    __device__ __forceinline__ u32 insert(u32 word) {
        u32 slot = first_slot(word);
        while (atomicCAS(&keys[slot], EMPTY, word) != EMPTY) slot = (slot + 1) & (SLOTS - 1);
        return slot;
    }
    // Slot of a target and the word that it has there; EMPTY: none.
    __device__ __forceinline__ u32 find(u32 word, u32& key) const {
        u32 slot = first_slot(word);
        while (true) {
            key = keys[slot];
            if (key == EMPTY) return EMPTY;
            if (((key ^ word) & INDEX) == 0) return slot;
            slot = (slot + 1) & (SLOTS - 1);
        }
    }
    // Add what was found at a slot to the vertex that it is of.
    __device__ __forceinline__ void write(const Counts& counts, u32 slot) const {
        const u32 vertex = keys[slot] & INDEX;
        if (found[slot]) atomicAdd(&counts.triangles[vertex], static_cast<u64>(found[slot]));
        if (DIRECTED && edges[slot]) {
            atomicAdd(&counts.edges[vertex], static_cast<u64>(edges[slot]));
        }
    }
};

// What a lane found for u so far.
struct Own {
    u32 triangles;
    u32 edges;
};

// One target w of v, looked up: counted at w, and for u and v by the caller.
//
// Returns whether it closes a triangle; `weight` is then what it adds to `edges` of v.
template <class Lookup>
__device__ __forceinline__ bool look_up(Lookup& table, u32 word, u32 uv_word, Own& own,
                                        u32& weight) {
    u32 key;
    const u32 slot = table.find(word, key);
    if (slot == EMPTY) return false;
    atomicAdd(&table.found[slot], 1u);
    if (DIRECTED) {
        u32 at_w = 1 + (uv_word >> 31);
        u32 at_u = 1 + (word >> 31);
        weight = 1 + (key >> 31);
        if (PRODUCTS) at_u = at_w = weight = at_u * at_w * weight;
        atomicAdd(&table.edges[slot], at_w);
        own.edges += at_u;
    }
    return true;
}

// Count the triangles of u with up to 32 of its targets v, for a warp: lane i has target i.
//
// `uv_word` is the target (EMPTY: none). What is found at v is added in the table, where v is there.
template <class Lookup>
__device__ __forceinline__ void count_targets(const Counts& counts, Lookup& table, u32 uv_word,
                                              Own& own) {
    const u32 lane = lane_of_thread();
    const bool is_there = uv_word != EMPTY;
    const u64 row = is_there ? counts.rows[uv_word & INDEX] : 0;
    const u32 length = length_of(row);
    const i64 start = start_of(row);
    u32 key;
    const u32 slot = is_there && length ? table.find(uv_word, key) : EMPTY;
    // Found by this lane's target: its corner v.
    u32 at_v = 0;
    u32 edges_at_v = 0;

    u32 long_ones = __ballot_sync(FULL_WARP, length >= WARP_LENGTH);
    while (long_ones) {
        const int source_lane = __ffs(long_ones) - 1;
        long_ones &= long_ones - 1;
        const i64 from = __shfl_sync(FULL_WARP, start, source_lane);
        const u32 entries = __shfl_sync(FULL_WARP, length, source_lane);
        const u32 uv = __shfl_sync(FULL_WARP, uv_word, source_lane);
        u32 here = 0;
        u32 edges_here = 0;
        // The next word is asked for before this one is looked up.
        u32 next = lane < entries ? counts.targets[from + lane] : 0;
        for (u32 i = lane; i < entries; i += WARP) {
            const u32 word = next;
            if (i + WARP < entries) next = counts.targets[from + i + WARP];
            u32 weight = 0;
            here += look_up(table, word, uv, own, weight);
            edges_here += weight;
        }
        own.triangles += here;
        here = warp_sum(here);
        if (DIRECTED) edges_here = warp_sum(edges_here);
        if (static_cast<int>(lane) == source_lane) {
            at_v = here;
            edges_at_v = edges_here;
        }
    }

    // The short ones, put end to end, 32 entries at a time.
    const u32 own_length = length < WARP_LENGTH ? length : 0;
    const u32 upto = warp_inclusive_sum(own_length);
    const u32 all = __shfl_sync(FULL_WARP, upto, WARP - 1);
    const i64 shifted = start - (upto - own_length);
    for (u32 first = 0; first < all; first += WARP) {
        const u32 at = first + lane;
        // Whose entry this is: the number of targets whose entries end at or before it.
        u32 source_lane = 0;
#pragma unroll
        for (u32 step = WARP / 2; step > 0; step /= 2) {
            const u32 end = __shfl_sync(FULL_WARP, upto, source_lane + step - 1);
            if (at >= end) source_lane += step;
        }
        const i64 from = __shfl_sync(FULL_WARP, shifted, source_lane);
        const u32 uv = __shfl_sync(FULL_WARP, uv_word, source_lane);
        u32 weight = 0;
        bool is_found = false;
        if (at < all) {
            is_found = look_up(table, counts.targets[from + at], uv, own, weight);
        }
        own.triangles += is_found;
        // Lanes of one target are neighbors: target `lane` has those from its first entry here on.
        const u32 found_lanes = __ballot_sync(FULL_WARP, is_found);
        if (found_lanes == 0) continue;
        const u32 begin = upto - own_length;
        const u32 low = begin > first ? min(begin - first, WARP) : 0;
        const u32 high = upto > first ? min(upto - first, WARP) : 0;
        const u32 below_high = high == WARP ? FULL_WARP : (1u << high) - 1;
        const u32 below_low = low == WARP ? FULL_WARP : (1u << low) - 1;
        at_v += __popc(found_lanes & below_high & ~below_low);
        if (DIRECTED) {
            // Weights are powers of two: 1 each, and what is more from 2, from 4 and of 8.
            const u32 own_lanes = below_high & ~below_low;
            edges_at_v += __popc(found_lanes & own_lanes) +
                          __popc(__ballot_sync(FULL_WARP, weight >= 2) & own_lanes);
            if (PRODUCTS) {
                edges_at_v += 2 * __popc(__ballot_sync(FULL_WARP, weight >= 4) & own_lanes) +
                              4 * __popc(__ballot_sync(FULL_WARP, weight == 8) & own_lanes);
            }
        }
    }

    if (at_v == 0) return;
    if (slot != EMPTY) {
        atomicAdd(&table.found[slot], at_v);
        if (DIRECTED) atomicAdd(&table.edges[slot], edges_at_v);
    } else {
        const u32 vertex = uv_word & INDEX;
        atomicAdd(&counts.triangles[vertex], static_cast<u64>(at_v));
        if (DIRECTED) atomicAdd(&counts.edges[vertex], static_cast<u64>(edges_at_v));
    }
}

// Add what the lanes of a warp found for u.
__device__ __forceinline__ void write_own(const Counts& counts, i64 vertex, Own own) {
    const u32 triangles = warp_sum(own.triangles);
    const u32 edges = DIRECTED ? warp_sum(own.edges) : 0;
    if (lane_of_thread() != 0 || triangles == 0) return;
    atomicAdd(&counts.triangles[vertex], static_cast<u64>(triangles));
    if (DIRECTED) atomicAdd(&counts.edges[vertex], static_cast<u64>(edges));
}

// Count the triangles whose lowest corner is `vertex`, for a warp with a table of its own that is
// empty before and after.
template <int BATCHES, class Lookup>
__device__ __forceinline__ void count_vertex(const Counts& counts, Lookup& table, i64 vertex,
                                             u64 row) {
    const u32 length = length_of(row);
    const u32* targets = counts.targets + start_of(row);
    u32 words[BATCHES];
    u32 slots[BATCHES];
#pragma unroll
    for (int batch = 0; batch < BATCHES; ++batch) {
        const u32 i = batch * WARP + lane_of_thread();
        words[batch] = i < length ? targets[i] : EMPTY;
        slots[batch] = i < length ? table.insert(words[batch]) : 0;
    }
    __syncwarp();
    Own own = {0, 0};
#pragma unroll
    for (int batch = 0; batch < BATCHES; ++batch) {
        if (batch * WARP < length) count_targets(counts, table, words[batch], own);
    }
    write_own(counts, vertex, own);
    __syncwarp();
#pragma unroll
    for (int batch = 0; batch < BATCHES; ++batch) {
        if (words[batch] == EMPTY) continue;
        table.write(counts, slots[batch]);
        table.clear(slots[batch]);
    }
    __syncwarp();
}

template <class Lookup>
__device__ __forceinline__ void clear_table(Lookup& table, u32 first, u32 step) {
    for (u32 slot = first; slot < Lookup::SLOTS; slot += step) table.clear(slot);
}

// Vertices with few targets, and lists of the others.
//
// Launch      THREADS threads, VERTICES_A_WARP vertices a warp
// Writes      medium, large  vertices to count by a warp; tasks of a block (vertex << 32 | task)
//             sizes          u32[4], 0 before: how many of either are listed; then how many are taken
extern "C" __global__ void __launch_bounds__(THREADS) count_small(
        const u64* __restrict__ rows, const u32* __restrict__ targets, const i64 vertices,
        u64* triangles, u64* edges, u32* medium, u64* large, u32* sizes) {
    const Counts counts{rows, targets, triangles, edges};
    __shared__ Table<7> tables[COUNT_WARPS];
    auto& table = tables[warp_of_thread()];
    clear_table(table, lane_of_thread(), WARP);
    __syncwarp();
    const i64 first = (thread_of_grid() / WARP) * VERTICES_A_WARP;
    const u32 lane = lane_of_thread();
    const bool is_there = lane < VERTICES_A_WARP && first + lane < vertices;
    const u64 row = is_there ? counts.rows[first + lane] : 0;
    const u32 length = length_of(row);
    if (length > MEDIUM_LENGTH) {
        const u32 strips = (length + TASK_TARGETS - 1) / TASK_TARGETS;
        const u32 parts = (length + TASK_TABLE - 1) / TASK_TABLE;
        const u32 position = atomicAdd(&sizes[1], strips * parts);
        for (u32 task = 0; task < strips * parts; ++task) {
            large[position + task] = static_cast<u64>(first + lane) << 32 | task;
        }
    } else if (length > SMALL_LENGTH) {
        medium[atomicAdd(&sizes[0], 1u)] = static_cast<u32>(first + lane);
    }
    u32 small = __ballot_sync(FULL_WARP, length > 1 && length <= SMALL_LENGTH);
    while (small) {
        const int source_lane = __ffs(small) - 1;
        small &= small - 1;
        const u64 row_of_lane = __shfl_sync(FULL_WARP, row, source_lane);
        count_vertex<1>(counts, table, first + source_lane, row_of_lane);
    }
}

// Vertices that count_small has listed for a warp.
//
// Launch      THREADS threads, as many blocks as the device holds: each block takes the next when it is free
extern "C" __global__ void __launch_bounds__(THREADS) count_medium(
        const u64* __restrict__ rows, const u32* __restrict__ targets, u64* triangles, u64* edges,
        const u32* medium, u32* sizes) {
    const Counts counts{rows, targets, triangles, edges};
    __shared__ Table<9> tables[COUNT_WARPS];
    auto& table = tables[warp_of_thread()];
    clear_table(table, lane_of_thread(), WARP);
    __syncwarp();
    while (true) {
        u32 next = 0;
        if (lane_of_thread() == 0) next = atomicAdd(&sizes[2], 1u);
        next = __shfl_sync(FULL_WARP, next, 0);
        if (next >= sizes[0]) return;
        const i64 vertex = medium[next];
        count_vertex<MEDIUM_LENGTH / WARP>(counts, table, vertex, counts.rows[vertex]);
    }
}

// Tasks that count_small has listed for a block: some targets v of a vertex, and some w.
//
// Launch      THREADS threads, as many blocks as the device holds: each block takes the next when it is free
extern "C" __global__ void __launch_bounds__(THREADS) count_large(
        const u64* __restrict__ rows, const u32* __restrict__ targets, u64* triangles, u64* edges,
        const u64* large, u32* sizes) {
    const Counts counts{rows, targets, triangles, edges};
    __shared__ Table<TABLE_BITS> table;
    __shared__ u32 next_task;
    __shared__ u32 next_target;
    // A warp takes a few targets at a time, so that those with long lists are spread.
    constexpr u32 STEP = 8;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) {
            next_task = atomicAdd(&sizes[3], 1u);
            next_target = 0;
        }
        clear_table(table, threadIdx.x, THREADS);
        __syncthreads();
        if (next_task >= sizes[1]) return;
        const u64 task = large[next_task];
        const i64 vertex = static_cast<i64>(task >> 32);
        const u64 row = counts.rows[vertex];
        const u32 length = length_of(row);
        const u32 strips = (length + TASK_TARGETS - 1) / TASK_TARGETS;
        const u32 first = static_cast<u32>(task) % strips * TASK_TARGETS;
        const u32 part = static_cast<u32>(task) / strips * TASK_TABLE;
        const u32* targets = counts.targets + start_of(row);
        const u32 part_end = min(length, part + TASK_TABLE);
        for (u32 i = part + threadIdx.x; i < part_end; i += THREADS) table.insert(targets[i]);
        __syncthreads();

        const u32 here = min(length - first, static_cast<u32>(TASK_TARGETS));
        Own own = {0, 0};
        while (true) {
            u32 from = 0;
            if (lane_of_thread() == 0) from = atomicAdd(&next_target, STEP);
            from = __shfl_sync(FULL_WARP, from, 0);
            if (from >= here) break;
            const u32 i = from + lane_of_thread();
            const bool is_mine = lane_of_thread() < STEP && i < here;
            count_targets(counts, table, is_mine ? targets[first + i] : EMPTY, own);
        }
        write_own(counts, vertex, own);
        __syncthreads();
        for (u32 slot = threadIdx.x; slot < table.SLOTS; slot += THREADS) {
            if (table.keys[slot] != EMPTY) table.write(counts, slot);
        }
    }
}
