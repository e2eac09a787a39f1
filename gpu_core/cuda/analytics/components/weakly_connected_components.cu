// weakly_connected_components.cu -- Afforest: union by edges, each tree rooted at its smallest index.
//
// Caller      gpu_core/cuda/analytics/components/weakly_connected_components.py
// Host twin   gpu_core/host/analytics/components/weakly_connected_components.py: why this finds all components
//
// Parent      u32 by vertex index: a vertex of the same tree with a smaller index; a root has its own.
//             Threads hook roots by compare-and-swap, and no vertex is ever hooked under a larger one:
//             the root of a tree is its smallest index, however threads are scheduled.
// State       u64[3]: the root of most of the vertices that were asked, and the ends of two queues
//
// Source      Sutton, Ben-Nun, Barak, "Optimizing Parallel Graph Connectivity Computation via Subgraph
//             Sampling", IPDPS 2018
#include "frontier.cuh"

constexpr u32 NO_ROOT = 0xFFFFFFFFu;
// Entries that a thread links by itself; longer rows go through the queue.
constexpr u32 OWN_ENTRIES = 16;
// Vertices that are asked which component is large: one a thread of a block.
constexpr int ASKED = 256;

// Join the trees of two vertices.
//
// Parents come from the L1 cache, or else all threads would ask one bank of the L2 cache for the few roots
// of large trees. A value that is kept there may be an old one: once a parent, it is above the vertex
// ever after. Whether a vertex still is a root, the compare-and-swap tells, and else its parent of now.
__device__ __forceinline__ void link(u32* parent, u32 one, u32 other) {
    u32 low = parent[one];
    u32 high = parent[other];
    while (low != high) {
        if (low > high) {
            const u32 larger = low;
            low = high;
            high = larger;
        }
        u32 above = parent[high];
        if (above == high) above = atomicCAS(&parent[high], high, low);
        if (above == high || above == low) return;
        high = parent[above];
        low = parent[low];
    }
}

// Have every vertex point at its first neighbor, or be its own root where that is no smaller. Nobody else
// writes its parent, so that takes no compare-and-swap.
//
// Launch      THREADS threads, a thread a vertex
// Writes      parent   u32[count]
extern "C" __global__ void __launch_bounds__(THREADS) begin_components(
        const Rows rows, const u64 count, u32* parent) {
    const u64 vertex = thread_of_grid();
    if (vertex >= count) return;
    const u32 own = static_cast<u32>(vertex);
    parent[vertex] = rows.degree[vertex] ? min(own, rows.neighbor(vertex, 0)) : own;
}

// Link the first two entries of every row, but what `begin_components` has.
//
// Launch      THREADS threads, a thread a vertex
extern "C" __global__ void __launch_bounds__(THREADS) link_sampled(
        const Rows rows, const u64 count, u32* parent) {
    const u64 vertex = thread_of_grid();
    if (vertex >= count || rows.degree[vertex] == 0) return;
    const u32 own = static_cast<u32>(vertex);
    const u32 first = rows.neighbor(vertex, 0);
    if (first > own) link(parent, own, first);
    if (rows.degree[vertex] > 1) link(parent, own, rows.neighbor(vertex, 1));
}

// Have every vertex point at its root.
//
// Launch      THREADS threads, a thread a vertex
extern "C" __global__ void __launch_bounds__(THREADS) compress(const u64 count, u32* parent) {
    const u64 vertex = thread_of_grid();
    if (vertex >= count) return;
    u32 above = parent[vertex];
    while (true) {
        const u32 next = parent[above];
        if (next == above) break;
        // Others that come this way have less to go.
        parent[vertex] = next;
        above = next;
    }
}

// Find the root of most of some vertices that are asked.
//
// Launch      one block of ASKED threads
// Reads       parent   compressed
// Writes      state    [0]
extern "C" __global__ void __launch_bounds__(ASKED) find_large(const u64 count,
                                                               const u32* __restrict__ parent,
                                                               u64* state) {
    __shared__ u32 roots[ASKED];
    const u32 root = parent[threadIdx.x * count / ASKED];
    roots[threadIdx.x] = root;
    __syncthreads();
    u32 same = 0;
    for (int i = 0; i < ASKED; ++i) same += roots[i] == root;
    // Of roots with as many the smallest.
    const u64 best = block_max<u64, ASKED>(static_cast<u64>(same) << 32 | (NO_ROOT - root));
    if (threadIdx.x == 0) state[0] = NO_ROOT - static_cast<u32>(best);
}

// Link the entries from `first` on of every row that is not of the root `state[0]`: short rows here, others
// are queued.
//
// Launch      THREADS threads, a thread a vertex
// Writes      tail     end of the queue, 0 before
//             queue    u64[count + entries / PIECE_ENTRIES]
extern "C" __global__ void __launch_bounds__(THREADS) link_rest(
        const Rows rows, const u64 count, const u32 first, const u64* __restrict__ state, u32* parent,
        u64* tail, u64* queue) {
    const u64 vertex = thread_of_grid();
    u32 length = 0;
    if (vertex < count && parent[vertex] != static_cast<u32>(state[0])) length = rows.degree[vertex];
    const bool is_long = length > OWN_ENTRIES;
    queue_vertices(is_long, static_cast<u32>(vertex), length, tail, queue);
    if (is_long || length <= first) return;
    const u32* const row = rows.columns + rows.begin[vertex];
    for (u32 i = first; i < length; ++i) {
        link(parent, static_cast<u32>(vertex), row[i * rows.step]);
    }
}

// Link all entries of the rows that were queued.
//
// Launch      THREADS threads; as many blocks as the device runs at once
extern "C" __global__ void __launch_bounds__(THREADS) link_queued(
        const Rows rows, u32* parent, const u64* __restrict__ tail, const u64* __restrict__ queue) {
    for_edges<THREADS>(rows, queue, 0, *tail,
                               [&](bool has_entry, const Entry& entry) {
                                   if (has_entry) link(parent, entry.vertex, rows.columns[entry.position]);
                               });
}
