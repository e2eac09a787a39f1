// watts_alpha.cu -- grow a graph of Watts' alpha model, edge by edge, without the host between edges.
//
// Caller      gpu_core/cuda/generators/watts_alpha.py
// Host twin   gpu_core/generators/watts_alpha_kernels.py
// Source      Leist, Hawick, Graph Generation on GPUs using Dynamic Memory Allocation, CSTN-126, 2011
//
// `choose_of_all` is the paper's step: all threads count the neighbors that each vertex has in common
// with the vertex that chooses; a launch an edge, started ahead, so that one follows the other with
// nobody between. `choose_of_two_hops` looks at vertices that are two hops away: one block, which stays.
#include "watts_alpha.cuh"

constexpr int ALL_THREADS = 512;
constexpr int NEAR_THREADS = 512;
// Lanes that read one row together.
constexpr u32 ROW_LANES = 8;
// Bits of a filter of the chooser's neighbors, by the lower bits of their numbers.
constexpr u32 FILTER_BITS = 1 << 15;
// What is looked at of a vertex that cannot be chosen.
constexpr u32 LOOKED_NONE = 0xFFFFFFFFu;

// --- all pairs ---------------------------------------------------------------------------------------

// Classes of the vertices of one block, and of how many blocks; twin: watts_alpha.py.
struct Counts {
    u32* classes;  // [count] common neighbors of each vertex; LOOKED_NONE: it cannot be chosen
    u32* sizes;    // [blocks][model.classes] vertices of each block, by class
};

// The vertex of a rank among those of a class, by the last block; `low` … of block b: b * share.
__device__ __forceinline__ i64 vertex_of_rank(const Model& m, const Counts& counts, i64 common, u64 rank,
                                              i64 share) {
    __shared__ i64 found_block;
    __shared__ u64 rank_within;
    __shared__ i64 found;
    u64 total;
    const bool is_block = threadIdx.x < gridDim.x;
    const u64 here = is_block ? __ldcg(&counts.sizes[threadIdx.x * m.classes + common]) : 0;
    const u64 before = block_exclusive_sum<u64, ALL_THREADS>(here, total);
    if (rank >= before && rank < before + here) {
        found_block = threadIdx.x;
        rank_within = rank - before;
    }
    __syncthreads();
    const i64 low = found_block * share, high = min(low + share, m.count);
    u64 upto = 0;
    for (i64 tile = low; tile < high; tile += ALL_THREADS) {
        const i64 vertex = tile + threadIdx.x;
        const u64 is_one = vertex < high && __ldcg(&counts.classes[vertex]) == u64(common);
        const u64 position = upto + block_exclusive_sum<u64, ALL_THREADS>(is_one, total);
        if (is_one && position == rank_within) found = vertex;
        upto += total;
    }
    __syncthreads();
    return found;
}

// Have the next vertex choose, all vertices being looked at; nothing if there is no edge left to make.
//
// Launch      ALL_THREADS threads; at most ALL_THREADS blocks, which all share the vertices evenly
// Follows     the launch before (cuda/device/launches.py)
extern "C" __global__ void __launch_bounds__(ALL_THREADS) choose_of_all(const Model m, const Counts counts) {
    __shared__ u32 filter[FILTER_BITS / 32];
    follow_previous_launch();
    if (!goes_on(m)) return;
    const u64 choice = __ldcg(&m.state[STATE_CHOICE]);
    const u32 vertex = m.order[choice - m.first_choice];
    const i64 row = __ldcg(&m.begin[vertex]);
    const u32 size = __ldcg(&m.degree[vertex]);
    const i64 share = (m.count + gridDim.x - 1) / gridDim.x;
    const i64 low = blockIdx.x * share, high = min(low + share, m.count);
    u32* const sizes = counts.sizes + blockIdx.x * m.classes;
    for (u32 i = threadIdx.x; i < FILTER_BITS / 32; i += ALL_THREADS) filter[i] = 0;
    for (i64 i = threadIdx.x; i < m.classes; i += ALL_THREADS) {
        sizes[i] = i > 0 || low >= high ? 0 : static_cast<u32>(high - low);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < size; i += ALL_THREADS) {
        const u32 bit = __ldcg(&m.columns[row + i]) % FILTER_BITS;
        atomicOr(&filter[bit / 32], 1u << bit % 32);
    }
    __syncthreads();
    const auto is_neighbor = [&](u32 other) {
        if (!(filter[other % FILTER_BITS / 32] >> other % 32 & 1)) return false;
        for (u32 i = 0; i < size; ++i) {
            if (__ldcg(&m.columns[row + i]) == other) return true;
        }
        return false;
    };
    const u32 lane = threadIdx.x % ROW_LANES;
    for (i64 tile = low; tile < high; tile += ALL_THREADS / ROW_LANES) {
        const i64 other = tile + threadIdx.x / ROW_LANES;
        u32 common = 0;
        if (other < high) {
            const i64 position = __ldcg(&m.begin[other]);
            const u32 entries = __ldcg(&m.degree[other]);
            for (u32 i = lane; i < entries; i += ROW_LANES) {
                common += is_neighbor(__ldcg(&m.columns[position + i]));
            }
        }
        for (u32 distance = ROW_LANES / 2; distance > 0; distance /= 2) {
            common += __shfl_xor_sync(FULL_WARP, common, distance);
        }
        if (other >= high || lane > 0) continue;
        const bool is_out = other == vertex || is_neighbor(static_cast<u32>(other));
        const u32 found = static_cast<u32>(min(i64(common), m.classes - 1));
        counts.classes[other] = is_out ? LOOKED_NONE : found;
        if (is_out || found > 0) atomicSub(&sizes[0], 1u);
        if (!is_out && found > 0) {
            atomicAdd(&sizes[found], 1u);
            atomicAdd(&m.sizes[found], u64(1));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&m.sizes[0], u64(atomicAdd(&sizes[0], 0u)));
    if (!is_last_block(reinterpret_cast<u32*>(&m.state[STATE_TICKET]))) return;
    const i64 common = drawn_class<ALL_THREADS>(m, choice);
    i64 chosen = -1;
    if (common >= 0) {
        const u64 rank = drawn_rank(m, choice, __ldcg(&m.sizes[common]));
        chosen = vertex_of_rank(m, counts, common, rank, share);
    }
    __syncthreads();
    for (i64 i = threadIdx.x; i < m.classes; i += ALL_THREADS) m.sizes[i] = 0;
    if (threadIdx.x < WARP) add_edge(m, vertex, chosen);
}

// --- two hops ----------------------------------------------------------------------------------------

// What one choice looks at; twin: watts_alpha.py.
struct Near {
    u32* looked;    // [count], 0 between choices: neighbors in common; LOOKED_NONE: it cannot be chosen
    u32* vertices;  // [count] those that are two hops away, in any order
};

// The vertex of a rank, by number, among those near that have `common` neighbors in common.
//
// Digit by digit, the highest first: how many of those that have the digits so far have which next one.
__device__ __forceinline__ i64 near_of_rank(const Model& m, const Near& near, u32 found, u32 common, u64 rank) {
    constexpr u32 DIGITS = 256;
    static_assert(NEAR_THREADS >= DIGITS, "a thread a digit");
    __shared__ u32 counts[DIGITS];
    __shared__ u64 chosen_digit, rank_within;
    u64 prefix = 0;
    int shift = 0;
    while (u64(m.count - 1) >> shift >= DIGITS) shift += 8;
    for (; shift >= 0; shift -= 8) {
        if (threadIdx.x < DIGITS) counts[threadIdx.x] = 0;
        __syncthreads();
        for (u32 i = threadIdx.x; i < found; i += NEAR_THREADS) {
            const u32 vertex = near.vertices[i];
            const bool is_one = min(i64(near.looked[vertex]), m.classes - 1) == common;
            if (is_one && u64(vertex) >> shift >> 8 == prefix) atomicAdd(&counts[vertex >> shift & 255], 1u);
        }
        __syncthreads();
        u64 total;
        const u64 here = threadIdx.x < DIGITS ? counts[threadIdx.x] : 0;
        const u64 before = block_exclusive_sum<u64, NEAR_THREADS>(here, total);
        if (rank >= before && rank < before + here) {
            chosen_digit = threadIdx.x;
            rank_within = rank - before;
        }
        __syncthreads();
        prefix = prefix << 8 | chosen_digit;
        rank = rank_within;
        __syncthreads();
    }
    return static_cast<i64>(prefix);
}

// The vertex of a rank among those that are neither near, nor neighbors, nor the chooser.
//
// It is the least x with x = rank + (how many that are left out are at most x): by steps upwards.
__device__ __forceinline__ i64 far_of_rank(const Model& m, const Near& near, u32 found, u32 vertex, i64 row,
                                           u32 size, u64 rank) {
    u64 x = rank;
    while (true) {
        u64 below = 0;
        for (u32 i = threadIdx.x; i < found; i += NEAR_THREADS) below += near.vertices[i] <= x;
        for (u32 i = threadIdx.x; i < size; i += NEAR_THREADS) below += m.columns[row + i] <= x;
        if (threadIdx.x == 0) below += vertex <= x;
        const u64 next = rank + block_sum<u64, NEAR_THREADS>(below);
        if (next == x) return static_cast<i64>(x);
        x = next;
    }
}

// Have vertices choose, one after the other, until the round is over or there is no edge left to make.
//
// Launch      one block of NEAR_THREADS threads
extern "C" __global__ void __launch_bounds__(NEAR_THREADS) choose_of_two_hops(const Model m, const Near near) {
    __shared__ u32 found;
    const u32 lane = lane_of_thread();
    while (goes_on(m)) {
        const u64 choice = m.state[STATE_CHOICE];
        const u32 vertex = m.order[choice - m.first_choice];
        const i64 row = m.begin[vertex];
        const u32 size = m.degree[vertex];
        if (threadIdx.x == 0) {
            found = 0;
            near.looked[vertex] = LOOKED_NONE;
        }
        for (u32 i = threadIdx.x; i < size; i += NEAR_THREADS) near.looked[m.columns[row + i]] = LOOKED_NONE;
        __syncthreads();
        for (u32 i = warp_of_thread(); i < size; i += NEAR_THREADS / WARP) {
            const u32 between = m.columns[row + i];
            const i64 position = m.begin[between];
            const u32 entries = m.degree[between];
            for (u32 k = lane; k < entries; k += WARP) {
                const u32 other = m.columns[position + k];
                // Those that cannot be chosen were marked before.
                if (__ldcg(&near.looked[other]) == LOOKED_NONE) continue;
                if (atomicAdd(&near.looked[other], 1u) == 0) near.vertices[atomicAdd(&found, 1u)] = other;
            }
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < found; i += NEAR_THREADS) {
            const i64 common = near.looked[near.vertices[i]];
            atomicAdd(&m.sizes[min(common, m.classes - 1)], u64(1));
        }
        if (threadIdx.x == 0) m.sizes[0] = m.count - 1 - size - found;
        __syncthreads();
        const i64 common = drawn_class<NEAR_THREADS>(m, choice);
        i64 chosen = -1;
        if (common >= 0) {
            const u64 rank = drawn_rank(m, choice, __ldcg(&m.sizes[common]));
            chosen = common > 0 ? near_of_rank(m, near, found, static_cast<u32>(common), rank)
                                : far_of_rank(m, near, found, vertex, row, size, rank);
        }
        __syncthreads();
        for (i64 i = threadIdx.x; i < m.classes; i += NEAR_THREADS) m.sizes[i] = 0;
        for (u32 i = threadIdx.x; i < found; i += NEAR_THREADS) near.looked[near.vertices[i]] = 0;
        for (u32 i = threadIdx.x; i < size; i += NEAR_THREADS) near.looked[m.columns[row + i]] = 0;
        if (threadIdx.x == 0) near.looked[vertex] = 0;
        __syncthreads();
        if (threadIdx.x < WARP) add_edge(m, vertex, chosen);
        __syncthreads();
    }
}

// --- memory from the host ------------------------------------------------------------------------------

// Move a row to a run that the host allocates.
//
// Launch      one warp
extern "C" __global__ void __launch_bounds__(32) move_full_row(const Model m, const i64 vertex, const i64 run,
                                                               const i64 room) {
    move_row(m, static_cast<u32>(vertex), run, static_cast<u32>(room));
    if (lane_of_thread() == 0) m.state[STATE_FULL] = 0;
}
