// sssp.cu -- shortest paths by weight, near-far: near vertices are relaxed, others wait on a far pile.
//
// Caller      gpu_core/cuda/analytics/traversal/sssp.py
// Host twin   gpu_core/host/analytics/traversal/sssp.py: the same distances, bit for bit
//
// Distances   f64 by vertex index, as u64: numbers that are not negative are in the order of their bits,
//             so that atomicMin lowers them. They only fall, until no edge lowers one: what is left is the
//             one least solution (algorithms/traversal/sssp.py), whatever the order was.
// Near        a vertex whose distance fell below `threshold` is queued for the next round, once
// Far         one whose distance fell, but not so far, is put on the far pile, once. When nothing is near,
//             the threshold rises and the pile is split: what has become near is queued, what was near
//             before is dropped, as it has been queued then.
// Search      where it stands; between two rounds one thread makes up what comes next (`end_round`), so
//             that the host need not know
//
// Source      Davidson, Baxter, Garland, Owens, "Work-Efficient Parallel GPU Methods for Single-Source
//             Shortest Paths", IPDPS 2014 (near-far)
#include "frontier.cuh"

constexpr u64 INFINITE = 0x7FF0000000000000ull;
constexpr u32 NO_VERTEX = 0xFFFFFFFFu;

struct Search {
    // Queue of the next round: items and entries; vertices of the far pile; the least distance that has
    // been put there.
    u64 tail;
    u64 entries;
    u64 far_tail;
    u64 least;
    // This round: items and entries to relax, or vertices of the pile to split, and which of the two
    // queues and piles have them.
    u64 size;
    u64 heavy;
    u64 side;
    u64 far_side;
    u64 splits;
    // From 1 on.
    u64 round;
    // What is below is near; what was, before the threshold rose.
    u64 threshold;
    u64 near_before;
    u64 ticket;
};

// What every thread reads at the beginning of a round: all words at once, since they are written by others
// and each read takes as long as all.
struct Round {
    u64 size;
    u64 heavy;
    u64 side;
    u64 far_side;
    u64 splits;
    u64 round;
    u64 threshold;
    u64 near_before;

    __device__ __forceinline__ static Round of(const Search* search) {
        Round found;
        found.size = __ldcg(&search->size);
        found.heavy = __ldcg(&search->heavy);
        found.side = __ldcg(&search->side);
        found.far_side = __ldcg(&search->far_side);
        found.splits = __ldcg(&search->splits);
        found.round = __ldcg(&search->round);
        found.threshold = __ldcg(&search->threshold);
        found.near_before = __ldcg(&search->near_before);
        return found;
    }
};

// What a search works on.
struct Pile {
    Search* search;
    u64* distance;
    u64* queues;      // two, of `queue_items`
    u64* far;         // two, of `rows` items
    u32* queued_for;  // by vertex: round that it is queued for
    u32* is_far;      // by vertex: whether it is on the pile
    u64 queue_items;
    u64 rows;
    double width;     // of what is near

    __device__ __forceinline__ u64* queue(u64 side) const { return queues + side * queue_items; }
    __device__ __forceinline__ u64* pile(u64 side) const { return far + side * rows; }
};

// Weights of entries, all of which are read before the first is waited for.
template <int COUNT>
__device__ __forceinline__ void read_weights(const WeightedRows& out, const Entries<COUNT>& entries,
                                             double (&weights)[COUNT]) {
    i64 positions[COUNT];
    #pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        positions[k] = out.weight_begin[entries.at[k].vertex] + entries.at[k].number * out.rows.step;
    }
    if (out.wide) {
        #pragma unroll
        for (int k = 0; k < COUNT; ++k) weights[k] = out.wide[positions[k]];
    } else {
        #pragma unroll
        for (int k = 0; k < COUNT; ++k) weights[k] = widened(out.narrow[positions[k]]);
    }
}

__device__ __forceinline__ u64 bits_of(double value) {
    return static_cast<u64>(__double_as_longlong(value));
}

// Make the round that was written the next one. One thread calls, after all others.
__device__ __forceinline__ void end_round(const Pile& pile) {
    Search* const search = pile.search;
    // Read before anything is written, so that no read waits for another.
    const u64 size = __ldcg(&search->tail), heavy = __ldcg(&search->entries);
    const u64 far = __ldcg(&search->far_tail), least = __ldcg(&search->least);
    const Round before = Round::of(search);
    search->side = before.side ^ 1;
    search->tail = 0;
    search->entries = 0;
    search->round = before.round + 1;
    const bool splits = size == 0 && far > 0;
    search->splits = splits;
    search->size = splits ? far : size;
    search->heavy = splits ? far : heavy;
    if (!splits) return;
    // At least the nearest vertex of the pile becomes near, unless it has been relaxed since.
    const u64 beyond = bits_of(__longlong_as_double(static_cast<i64>(least)) + pile.width);
    search->near_before = before.threshold;
    search->threshold = beyond > least ? beyond : least + 1;
    search->least = INFINITE;
    search->far_side = before.far_side ^ 1;
    search->far_tail = 0;
}

// What a thread has put on the far pile and into the queue in this round.
struct Added {
    u64 least = INFINITE;
    u64 entries = 0;
};

template <int SIZE>
__device__ __forceinline__ void add_up(const Added& added, Search* search) {
    take_least<SIZE>(added.least, INFINITE, &search->least);
    add_up<SIZE>(added.entries, &search->entries);
}

// Queue vertices that are near for the next round, COUNT a lane: those of a degree. All lanes of the warp call.
template <int COUNT>
__device__ __forceinline__ void queue_near(const u32 (&vertices)[COUNT], const u32 (&degrees)[COUNT],
                                           const Pile& pile, u64 side, Added& added) {
    #pragma unroll
    for (int k = 0; k < COUNT; ++k) added.entries += degrees[k];
    queue_vertices(vertices, degrees, &pile.search->tail, pile.queue(side ^ 1));
}

__device__ __forceinline__ void queue_near(bool is_near, u32 vertex, const u32* degree, const Pile& pile,
                                           u64 side, Added& added) {
    const u32 vertices[] = {vertex}, degrees[] = {is_near ? degree[vertex] : 0};
    queue_near(vertices, degrees, pile, side, added);
}

// Put vertices on the far pile, likewise: those of which `put` is 1, of others it is 0.
template <int COUNT>
__device__ __forceinline__ void put_far(const u32 (&vertices)[COUNT], const u32 (&put)[COUNT],
                                        const Pile& pile, u64 far_side) {
    queue_vertices(vertices, put, &pile.search->far_tail, pile.pile(far_side));
}

// Lower the distances of the neighbors of all vertices that are queued for this round.
template <int SIZE>
__device__ __forceinline__ void relax(const WeightedRows& out, const Pile& pile,
                                      const Round& round, Added& added) {
    const u32 next = static_cast<u32>(round.round) + 1;
    constexpr int COUNT = TOGETHER<SIZE>;
    // Each step is made for all entries before the next one: so their reads wait together.
    for_edges_together<SIZE, COUNT>(
        out.rows, pile.queue(round.side), 0, round.size, [&](const Entries<COUNT>& entries) {
            u32 neighbors[COUNT];
            u64 distances[COUNT], before[COUNT];
            double weight[COUNT];
            #pragma unroll
            for (int k = 0; k < COUNT; ++k) {
                neighbors[k] = out.rows.columns[entries.at[k].position];
                distances[k] = __ldcg(&pile.distance[entries.at[k].vertex]);
            }
            read_weights(out, entries, weight);
            #pragma unroll
            for (int k = 0; k < COUNT; ++k) before[k] = __ldcg(&pile.distance[neighbors[k]]);
            #pragma unroll
            for (int k = 0; k < COUNT; ++k) {
                distances[k] = bits_of(__longlong_as_double(static_cast<i64>(distances[k])) + weight[k]);
                if (!entries.has[k]) before[k] = 0;
                if (distances[k] < before[k]) before[k] = atomicMin(&pile.distance[neighbors[k]], distances[k]);
            }
            // What a vertex is marked with that is queued, or put; what it was marked with; its degree.
            u32 mark[COUNT], marked[COUNT], near[COUNT], put[COUNT];
            #pragma unroll
            for (int k = 0; k < COUNT; ++k) {
                const bool is_near = distances[k] < round.threshold;
                mark[k] = marked[k] = is_near ? next : 1;
                near[k] = put[k] = 0;
                if (distances[k] >= before[k]) continue;
                if (is_near) near[k] = out.rows.degree[neighbors[k]];
                else added.least = min(added.least, distances[k]);
                put[k] = !is_near;
                marked[k] = atomicExch(is_near ? &pile.queued_for[neighbors[k]] : &pile.is_far[neighbors[k]],
                                       mark[k]);
            }
            #pragma unroll
            for (int k = 0; k < COUNT; ++k) {
                if (marked[k] == mark[k]) near[k] = put[k] = 0;
            }
            queue_near(neighbors, near, pile, round.side, added);
            put_far(neighbors, put, pile, round.far_side);
        });
}

// Queue those vertices of the far pile that have become near.
template <int SIZE>
__device__ __forceinline__ void split(const Rows& out, const Pile& pile, const Round& round, Added& added) {
    const u64* const old = pile.pile(round.far_side ^ 1);
    for_vertices<SIZE>(round.size, [&](bool has_vertex, u64 at) {
        bool is_near = false, is_kept = false;
        u32 vertex = 0;
        if (has_vertex) {
            vertex = static_cast<u32>(__ldcg(&old[at]));
            const u64 distance = __ldcg(&pile.distance[vertex]);
            is_near = distance >= round.near_before && distance < round.threshold;
            is_kept = distance >= round.threshold;
            if (is_kept) {
                added.least = min(added.least, distance);
            } else {
                pile.is_far[vertex] = 0;
            }
        }
        queue_near(is_near, vertex, out.degree, pile, round.side, added);
        const u32 vertices[] = {vertex}, kept[] = {is_kept};
        put_far(vertices, kept, pile, round.far_side);
    });
}

// One round: relax, or split.
template <int SIZE>
__device__ __forceinline__ void work(const WeightedRows& out, const Pile& pile,
                                     const Round& round) {
    Added added;
    if (round.splits) {
        split<SIZE>(out.rows, pile, round, added);
    } else {
        relax<SIZE>(out, pile, round, added);
    }
    add_up<SIZE>(added, pile.search);
}

// Sum up all weights, in no fixed order: what is near is not to be known to the last bit.
//
// Launch      THREADS threads; as many blocks as the device runs at once
// Reads       queue    all rows
// Writes      total    f64[1], 0 before
//             negative u32[1]: smallest vertex with a negative weight; all bits set before
extern "C" __global__ void __launch_bounds__(THREADS) weigh(
        const WeightedRows out, const u64* __restrict__ tail,
        const u64* __restrict__ queue, double* total, u32* negative) {
    double sum = 0;
    u32 found = NO_VERTEX;
    for_edges_together<THREADS, 1>(
        out.rows, queue, 0, *tail, [&](const Entries<1>& entries) {
            double weight[1];
            read_weights(out, entries, weight);
            if (!entries.has[0]) return;
            sum += weight[0];
            if (weight[0] < 0) found = min(found, entries.at[0].vertex);
        });
    sum = block_sum<double, THREADS>(sum);
    if (threadIdx.x == 0) atomicAdd(total, sum);
    if (found != NO_VERTEX) atomicMin(negative, found);
}

// Put the sources into the queue of round 1.
//
// Launch      THREADS threads, a thread a source
// Reads       sources   u32[count], each once
// Writes      pile      distance INFINITE, the rest 0 before
extern "C" __global__ void __launch_bounds__(THREADS) begin_search(
        const u32* __restrict__ sources, const u64 count, const u32* __restrict__ degree,
        const Pile pile) {
    const u64 i = thread_of_grid();
    const u32 source = i < count ? sources[i] : 0;
    if (i < count) pile.distance[source] = 0;
    Added added;
    queue_near(i < count, source, degree, pile, 0, added);
    add_up<THREADS>(added, pile.search);
    if (!ends_round(&pile.search->ticket)) return;
    pile.search->least = INFINITE;
    pile.search->threshold = bits_of(pile.width) + 1;
    end_round(pile);
}

// Do what comes next, if there is anything.
//
// Launch      THREADS threads; as many blocks as the device runs at once
extern "C" __global__ void __launch_bounds__(THREADS, 4) search_round(
        const WeightedRows out, const Pile pile) {
    const Round round = Round::of(pile.search);
    if (round.size == 0) return;
    work<THREADS>(out, pile, round);
    if (ends_round(&pile.search->ticket)) end_round(pile);
}

// Do one round after the other, while each has little to do.
//
// Launch      SMALL_THREADS threads, and as many blocks as can wait for one another
// Parameters  most  entries of a round that is done here
extern "C" __global__ void __launch_bounds__(SMALL_THREADS, 1) IN_CLUSTER search_small_rounds(
        const WeightedRows out, const Pile pile,
        const u64 most) {
    __shared__ Round round;
    meet_rounds(
        [&] {
            if (threadIdx.x == 0) round = Round::of(pile.search);
            __syncthreads();
            return round.size > 0 && round.heavy <= most;
        },
        [&] { work<SMALL_THREADS>(out, pile, round); }, [&] { end_round(pile); });
}

// Hops of a breadth-first search as distances.
//
// Launch      THREADS threads, a thread a vertex
// Reads       hops      i32[rows], -1 where there is no path
// Writes      distance  f64[rows]
extern "C" __global__ void __launch_bounds__(THREADS) distances_of_hops(
        const i32* __restrict__ hops, const u64 rows, double* __restrict__ distance) {
    const u64 vertex = thread_of_grid();
    if (vertex >= rows) return;
    const i32 far = hops[vertex];
    distance[vertex] = far < 0 ? __longlong_as_double(INFINITE) : static_cast<double>(far);
}
