// frontier.cuh -- operators on a frontier: along its edges, over its vertices, into the next one; rounds of them.
//
// Operators   `for_edges`, `for_vertices`; `queue_vertices` and `append_vertices` filter, into a queue or
//             a list. Those of users (for_edges.cuh, for_vertices.cuh) are these, with functions of theirs
// Together    a small level has few entries a thread, and each takes a chain of reads that wait for one
//             another: `for_edges_together` gives a thread several, whose reads are on their way at once
// Queue       u64 items: a vertex, and above 32 bits which PIECE_ENTRIES of its row; a row of a million
//             entries is a thousand items, so blocks have equal work. The order of the items depends on
//             scheduling: what is made of them must not.
// Meeting     a search has thousands of small levels, each of which takes less than the launch of a
//             kernel: a launch of few blocks, which wait for one another at the end of each (`meet`),
//             goes through all that are small
#pragma once
#include "row_arguments.cuh"

constexpr u32 PIECE_ENTRIES = 1024;
// Threads of a block, of launches for large levels and for small ones.
constexpr int SMALL_THREADS = 1024;
// Entries that a thread of each takes together. Where levels are large, other threads fill the time.
template <int SIZE>
constexpr int TOGETHER = SIZE == SMALL_THREADS ? 4 : 1;

// Blocks that can wait for one another: those of a cluster, since Hopper. Elsewhere there is one.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define IN_CLUSTER __cluster_dims__(8, 1, 1)
#else
#define IN_CLUSTER
#endif

// All threads of all blocks of the launch wait here, and see what the others have written before: the
// barrier of a cluster orders memory, so a fence beside it would be waited for twice.
__device__ __forceinline__ void meet() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
#else
    __syncthreads();
#endif
}

// Do one round after the other, while `goes_on()`: all threads work, then one of them ends the round.
//
// Of blocks that can wait for one another.
template <class GoesOn, class Work, class End>
__device__ __forceinline__ void meet_rounds(GoesOn goes_on, Work work, End end) {
    while (goes_on()) {
        work();
        meet();
        if (thread_of_grid() == 0) end();
        meet();
    }
}

// An entry of a row that is walked: of which vertex, which of its entries, and where it is in `columns`.
struct Entry {
    u32 vertex;
    u32 number;
    i64 position;
};

// Entries that a thread walks together. Where it has none left, `has` is false and the entry one of others,
// which may be read in vain: a read that waits for no condition is on its way sooner.
template <int COUNT>
struct Entries {
    bool has[COUNT];
    Entry at[COUNT];
};

// True in the one thread that ends a round: one of the block that finishes last. All threads call; `ticket`
// is 0 before and after the launch.
__device__ __forceinline__ bool ends_round(u64* ticket) {
    return is_last_block(reinterpret_cast<u32*>(ticket)) && threadIdx.x == 0;
}

// Add what the threads of a block have counted. All of them call.
template <int SIZE>
__device__ __forceinline__ void add_up(u64 count, u64* total) {
    count = block_sum<u64, SIZE>(count);
    if (threadIdx.x == 0 && count) atomicAdd(total, count);
}

// Take the least number that the threads of a block have found, `none` where one found nothing. All of them
// call.
template <int SIZE>
__device__ __forceinline__ void take_least(u64 least, u64 none, u64* of_all) {
    least = ~block_max<u64, SIZE>(~least);
    if (threadIdx.x == 0 && least < none) atomicMin(of_all, least);
}

// Whether a row, which increases, has its own vertex.
__device__ __forceinline__ bool has_loop(const Rows& rows, u32 vertex) {
    const u32 degree = rows.degree[vertex];
    const i64 begin = rows.begin[vertex];
    const i64 at = lower_bound(rows.columns, begin, rows.step, degree, vertex);
    return at < degree && rows.columns[begin + at * rows.step] == vertex;
}

// Append vertices to a queue, COUNT a lane, with as many items as rows of these degrees have pieces: of
// degree 0, none.
//
// All lanes of the warp call; `tail` is after the last item, and only grows.
template <int COUNT>
__device__ __forceinline__ void queue_vertices(const u32 (&vertices)[COUNT], const u32 (&degrees)[COUNT],
                                               u64* tail, u64* queue) {
    u32 pieces[COUNT];
    u32 own = 0;
    #pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        pieces[k] = degrees[k] / PIECE_ENTRIES + (degrees[k] % PIECE_ENTRIES > 0);
        own += pieces[k];
    }
    if (!__any_sync(FULL_WARP, own > 0)) return;
    u32 total;
    const u32 before = warp_exclusive_sum(own, total);
    u64 position = 0;
    if (lane_of_thread() == 0) position = atomicAdd(tail, u64(total));
    position = __shfl_sync(FULL_WARP, position, 0) + before;
    #pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        #pragma unroll 1
        for (u32 piece = 0; piece < pieces[k]; ++piece) {
            queue[position + piece] = static_cast<u64>(piece) << 32 | vertices[k];
        }
        position += pieces[k];
    }
}

// The same, one a lane, if `is_queued`.
__device__ __forceinline__ void queue_vertices(bool is_queued, u32 vertex, u32 degree, u64* tail,
                                               u64* queue) {
    const u32 vertices[] = {vertex}, degrees[] = {is_queued ? degree : 0};
    queue_vertices(vertices, degrees, tail, queue);
}

// The same, with degrees by vertex; adds those of what this lane has queued to `entries`.
__device__ __forceinline__ void queue_rows(bool is_queued, u32 vertex, const u32* degree, u64* tail,
                                           u64* queue, u64& entries) {
    if (!__any_sync(FULL_WARP, is_queued)) return;
    const u32 length = is_queued ? degree[vertex] : 0;
    entries += length;
    queue_vertices(is_queued, vertex, length, tail, queue);
}

// Append vertices to a list, one a lane, in whatever order. All lanes of the warp call.
__device__ __forceinline__ void append_vertices(bool is_listed, u32 vertex, u64* tail, u32* list) {
    const u32 lanes = __ballot_sync(FULL_WARP, is_listed);
    if (!lanes) return;
    u64 position = 0;
    if (lane_of_thread() == 0) position = atomicAdd(tail, u64(__popc(lanes)));
    position = __shfl_sync(FULL_WARP, position, 0) + __popc(lanes & ((1u << lane_of_thread()) - 1));
    if (is_listed) list[position] = vertex;
}

// Call visit(has_vertex, at) for the numbers 0 … count - 1, by whole warps, as `for_edges` does.
template <int SIZE, class Visit>
__device__ __forceinline__ void for_vertices(u64 count, Visit visit) {
    for (u64 tile = static_cast<u64>(blockIdx.x) * SIZE; tile < count;
         tile += static_cast<u64>(gridDim.x) * SIZE) {
        const u64 at = tile + threadIdx.x;
        visit(at < count, at);
    }
}

// Call visit(entries) for all entries of the items `begin` … `end - 1`, COUNT a thread at a time, by whole
// warps.
//
// A block takes its share of the items, at most SIZE at a time. All its threads call.
template <int SIZE, int COUNT, class Visit>
__device__ __forceinline__ void for_edges_together(const Rows& rows, const u64* queue, u64 begin, u64 end,
                                                   Visit visit) {
    __shared__ u32 starts[SIZE + 1];
    __shared__ u64 items[SIZE];
    __shared__ i64 positions[SIZE];
    const u64 share = min((end - begin + gridDim.x - 1) / gridDim.x, u64(SIZE));
    // Half of the least power of two that the share has room in: the first step of a search among items.
    const u32 half = share > 1 ? 1u << (31 - __clz(static_cast<int>(share) - 1)) : 0;
    for (u64 tile = begin + blockIdx.x * share; tile < end; tile += gridDim.x * share) {
        u32 length = 0;
        if (threadIdx.x < share && tile + threadIdx.x < end) {
            const u64 item = __ldcg(&queue[tile + threadIdx.x]);
            const u32 vertex = static_cast<u32>(item);
            const u32 skipped = static_cast<u32>(item >> 32) * PIECE_ENTRIES;
            length = min(rows.degree[vertex] - skipped, PIECE_ENTRIES);
            items[threadIdx.x] = item;
            positions[threadIdx.x] = rows.begin[vertex] + skipped * rows.step;
        }
        u32 total;
        starts[threadIdx.x] = block_exclusive_sum<u32, SIZE>(length, total);
        if (threadIdx.x == 0) starts[SIZE] = total;
        __syncthreads();
        // A warp has COUNT times as many adjacent entries as lanes; warps stay together.
        for (u32 first = warp_of_thread() * WARP * COUNT; first < total; first += SIZE * COUNT) {
            // The last item that begins at or before the entry, which is no empty one.
            u32 low[COUNT] = {};
            for (u32 width = half; width > 0; width /= 2) {
                #pragma unroll
                for (int k = 0; k < COUNT; ++k) {
                    const u32 at = min(first + k * WARP + lane_of_thread(), total - 1);
                    if (starts[low[k] + width] <= at) low[k] += width;
                }
            }
            Entries<COUNT> entries;
            #pragma unroll
            for (int k = 0; k < COUNT; ++k) {
                const u32 at = first + k * WARP + lane_of_thread();
                const u32 within = min(at, total - 1) - starts[low[k]];
                const u64 item = items[low[k]];
                entries.has[k] = at < total;
                entries.at[k].vertex = static_cast<u32>(item);
                entries.at[k].number = static_cast<u32>(item >> 32) * PIECE_ENTRIES + within;
                entries.at[k].position = positions[low[k]] + within * rows.step;
            }
            visit(entries);
        }
        __syncthreads();  // the positions have been read: they may be written again
    }
}

// Call visit(has_entry, entry) for every entry likewise, one at a time: lanes that have none left call it
// too, with `has_entry` false.
template <int SIZE, class Visit>
__device__ __forceinline__ void for_edges(const Rows& rows, const u64* queue, u64 begin, u64 end,
                                          Visit visit) {
    for_edges_together<SIZE, 1>(rows, queue, begin, end, [&](const Entries<1>& entries) {
        visit(entries.has[0], entries.at[0]);
    });
}
