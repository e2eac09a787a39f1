// maintained_triangles.cu -- maintained triangles: common neighbors of the ends of changed edges, by search.
//
// Caller      gpu_core/cuda/analytics/maintained/maintained_triangles.py
// Host twin   gpu_core/host/analytics/maintained/maintained_triangles.py
// Reads       keys     u64[pairs], lower end << 32 | higher end, increasing: the pairs with changed edges
//             rows     of a graph that has all of these edges (gpu_core/rows.py)
//             weights  u32[pairs], of a directed graph: edges of a pair, and four times those that change
// Counts      the contribution of a triangle less that without the changed edges, at the smallest of its
//             changed pairs: algorithms/maintained/maintained_triangles.py has the rule
#include "found_triangles.cuh"
#include "tile_lists.cuh"

__device__ __forceinline__ u32 edges_of(u32 weight) { return weight & 3; }
__device__ __forceinline__ u32 changed_of(u32 weight) { return weight >> 2; }

// Where the pair of two vertices stands in keys[0 … number - 1]; -1: it does not.
__device__ __forceinline__ i64 position_of(const u64* __restrict__ keys, i64 number, u32 one, u32 other) {
    const u64 key = key_of(one, other);
    const u32 position = first_not_below(keys, 0, static_cast<u32>(number), key);
    return position < number && keys[position] == key ? static_cast<i64>(position) : -1;
}

// Add `sign` to the corners of each triangle that has one of the edges, once: at the smallest one.
//
// Launch      THREADS threads, of any number of blocks
// Reads       numbers  u32[pairs], where each pair stands in keys: those from `hub_pairs` on are counted,
//                      the others have been. Null, both: all pairs, in the order of their keys
// Adds to     triangles  u64[vertices]
extern "C" __global__ void __launch_bounds__(THREADS)
count_common(const u64* __restrict__ keys, const i64* __restrict__ starts, const i64 pairs,
             const u32* __restrict__ numbers, const u64* __restrict__ hub_pairs,
             const PairRows rows, u64* changed_slots, const i64 changed_bits, const i64 sign,
             u64* __restrict__ triangles) {
    __shared__ FoundQueue<1>::Held held[THREADS / WARP];
    const ChangedPairs changed{keys, {changed_slots, changed_bits}};
    const auto add = [&](u32 vertex, u32 found) {
        atomicAdd(&triangles[vertex], static_cast<u64>(sign) * found);
    };
    const auto count = [&](bool is_there, u32 number, u32 w) {
        const u64 key = is_there ? keys[number] : 0;
        changed.count(is_there, number, lower_end(key), higher_end(key), w, add);
    };
    FoundQueue<1> queue(held[warp_of_thread()]);
    const Pairs all{keys, starts, pairs, numbers, hub_pairs ? starts[*hub_pairs] : 0};
    const i64 entries = starts[pairs] - all.first;
    for (i64 tile = blockIdx.x; tile * PAIR_ENTRIES < entries; tile += gridDim.x) {
        for_pair_entries(all, rows, tile, [&](const PairEntry& entry, u32) {
            queue.push(entry.is_common, static_cast<u32>(entry.key), entry.w);
            queue.use_full(count);
        });
    }
    queue.end(count);
}

__device__ __forceinline__ u64 all_ones(i64 bits) { return ~0ull >> (64 - bits); }

// Keys of directed edges as of undirected ones, each end in `bits` bits; all ones: a self loop.
//
// Launch      one thread an edge
extern "C" __global__ void __launch_bounds__(THREADS)
fold_edges(const u64* __restrict__ keys, const i64 edges, const i64 bits, u64* __restrict__ folded) {
    const i64 edge = thread_of_grid();
    if (edge >= edges) return;
    const u32 source = lower_end(keys[edge]);
    const u32 target = higher_end(keys[edge]);
    const u64 pair = static_cast<u64>(min(source, target)) << bits | max(source, target);
    folded[edge] = source == target ? all_ones(2 * bits) : pair;
}

// Whether an edge, of sorted folded ones, is the first of its pair.
__device__ __forceinline__ bool is_first_of_pair(const u64* __restrict__ folded, i64 edge, i64 bits) {
    if (folded[edge] == all_ones(2 * bits)) return false;
    return edge == 0 || folded[edge - 1] != folded[edge];
}

// Launch      as of `count_in_tiles`
extern "C" __global__ void __launch_bounds__(LIST_THREADS)
count_folded(const u64* __restrict__ folded, const i64 edges, const i64 bits, i64* before, u32* ticket) {
    count_in_tiles(edges, before, ticket,
                   [&](i64 edge) { return is_first_of_pair(folded, edge, bits); });
}

// Pairs of folded edges, increasing, and how many edges each has.
//
// Launch      as of `count_folded`, which wrote `before`
// Writes      pairs    u64[], lower end << 32 | higher end
//             changed  u32[]
extern "C" __global__ void __launch_bounds__(LIST_THREADS)
list_folded(const u64* __restrict__ folded, const i64 edges, const i64 bits,
            const i64* __restrict__ before, u64* __restrict__ pairs, u32* __restrict__ changed) {
    for_listed(
        edges, before[blockIdx.x], [&](i64 edge) { return is_first_of_pair(folded, edge, bits); },
        [&](i64 edge, i64 position) {
            const u64 pair = folded[edge];
            pairs[position] = pair >> bits << 32 | (pair & all_ones(bits));
            changed[position] = 1 + (edge + 1 < edges && folded[edge + 1] == pair);
        });
}

// Length of the shorter of the two rows of each pair, and the edges of the pair.
//
// Launch      one thread a pair
// Reads       changed  u32[pairs], how many of its edges change
extern "C" __global__ void __launch_bounds__(THREADS)
measure_pairs(const u64* __restrict__ keys, const u32* __restrict__ changed, const i64 pairs,
              const PairRowsOfBoth rows, u32* __restrict__ lengths, u32* __restrict__ weights) {
    const i64 pair = thread_of_grid();
    if (pair >= pairs) return;
    const u32 u = lower_end(keys[pair]);
    const u32 v = higher_end(keys[pair]);
    const bool is_lower_short = rows.length(u) <= rows.length(v);
    lengths[pair] = is_lower_short ? rows.length(u) : rows.length(v);
    const u32 edges = is_lower_short ? rows.entries(u, v) : rows.entries(v, u);
    weights[pair] = edges | changed[pair] << 2;
}

// Change the neighbors in either direction by the pairs whose edges all change, and those in both
// directions by the pairs that have two edges.
//
// Launch      one thread a pair
// Adds to     neighbors, both_ways  u32[vertices]; the second may be null
extern "C" __global__ void __launch_bounds__(THREADS)
count_neighbors(const u64* __restrict__ keys, const u32* __restrict__ weights, const i64 pairs,
                const i64 sign, u32* __restrict__ neighbors, u32* __restrict__ both_ways) {
    const i64 pair = thread_of_grid();
    if (pair >= pairs) return;
    const u32 u = lower_end(keys[pair]);
    const u32 v = higher_end(keys[pair]);
    const u32 one = static_cast<u32>(sign);
    if (edges_of(weights[pair]) == changed_of(weights[pair])) {
        atomicAdd(&neighbors[u], one);
        atomicAdd(&neighbors[v], one);
    }
    if (both_ways && edges_of(weights[pair]) == 2) {
        atomicAdd(&both_ways[u], one);
        atomicAdd(&both_ways[v], one);
    }
}

// Contribution of a triangle less that without the changed edges: triangles, and at its corners.
struct Change {
    u32 triangles;
    u32 at_u;
    u32 at_v;
    u32 at_w;
};

// Weights of its pairs. `products`: directed triangles count, not the edges of the opposite pair.
__device__ __forceinline__ Change change_of_triangle(u32 uv, u32 uw, u32 vw, bool products) {
    const u32 uv_left = edges_of(uv) - changed_of(uv);
    const u32 uw_left = edges_of(uw) - changed_of(uw);
    const u32 vw_left = edges_of(vw) - changed_of(vw);
    const u32 left = uv_left * uw_left * vw_left;
    if (products) {
        const u32 change = edges_of(uv) * edges_of(uw) * edges_of(vw) - left;
        return {left == 0, change, change, change};
    }
    if (left) return {0, changed_of(vw), changed_of(uw), changed_of(uv)};
    return {1, edges_of(vw), edges_of(uw), edges_of(uv)};
}

// The same for a directed graph: add the change of each triangle that has one of the pairs, once.
//
// Launch      THREADS threads, a block a tile
// Reads       products  1: `links` are directed triangles
// Adds to     triangles, links  u64[vertices]
// Cost        two atomics a triangle, and four a warp and pair
extern "C" __global__ void __launch_bounds__(THREADS)
count_common_directed(const u64* __restrict__ keys, const i64* __restrict__ starts, const i64 pairs,
                      const u32* __restrict__ weights, const PairRowsOfBoth rows,
                      const i64 products, const i64 sign,
                      u64* __restrict__ triangles, u64* __restrict__ links) {
    const u64 one = static_cast<u64>(sign);
    for_pair_entries(Pairs{keys, starts, pairs}, rows, blockIdx.x, [&](const PairEntry& entry, u32 number) {
        Change change{};
        if (entry.is_common) {
            const i64 uw = position_of(keys, pairs, entry.u, entry.w);
            const i64 vw = position_of(keys, pairs, entry.v, entry.w);
            const bool is_counted_before =
                (uw >= 0 && uw < entry.pair) || (vw >= 0 && vw < entry.pair);
            if (!is_counted_before) {
                change = change_of_triangle(
                    weights[entry.pair], uw < 0 ? entry.edges_of_u : weights[uw],
                    vw < 0 ? entry.edges_of_v : weights[vw], products != 0);
            }
        }
        if (change.triangles) atomicAdd(&triangles[entry.w], one);
        if (change.at_w) atomicAdd(&links[entry.w], one * change.at_w);
        const u32 lanes = lanes_of_number(number);
        const u64 found = sum_of_lanes<1>(lanes, change.triangles);
        const u64 at_u = sum_of_lanes<4>(lanes, change.at_u);
        const u64 at_v = sum_of_lanes<4>(lanes, change.at_v);
        if (found) {
            atomicAdd(&triangles[entry.u], one * found);
            atomicAdd(&triangles[entry.v], one * found);
        }
        if (at_u) atomicAdd(&links[entry.u], one * at_u);
        if (at_v) atomicAdd(&links[entry.v], one * at_v);
    });
}
