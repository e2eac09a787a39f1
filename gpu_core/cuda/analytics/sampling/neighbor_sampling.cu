// neighbor_sampling.cu -- samples of the rows of some vertices, one thread a vertex.
//
// Caller      gpu_core/cuda/analytics/sampling/neighbor_sampling.py
// Host twin   gpu_core/host/analytics/sampling/neighbor_sampling.py; same draws, same sums, so the same sample
//
// Slots       i64[vertices + 1]: where what is sampled of each expanded vertex goes
#include "draws.cuh"
#include "row_arguments.cuh"

constexpr i64 REFUSED = -1;

// Of all entries alike.
//
// Launch      one thread an expanded vertex
// Reads       frontier u32[vertices]
// Writes      found   u32[slots[vertices]], neighbors
extern "C" __global__ void sample_alike(
        const Rows rows, const u32* __restrict__ frontier, const i64* __restrict__ slots,
        const i64 vertices, const u64 first_word, const u32 replace, u32* found) {
    const i64 owner = thread_of_grid();
    if (owner >= vertices) return;
    const i64 vertex = frontier[owner];
    const u32 room = static_cast<u32>(slots[owner + 1] - slots[owner]);
    const u32 entries = rows.degree[vertex];
    u32* const own = found + slots[owner];
    for (u32 j = 0; j < room; ++j) {
        const u64 word = random_word(first_word, static_cast<u32>(owner), j);
        u32 entry = j;
        if (replace) {
            entry = static_cast<u32>(below(word, entries));
        } else if (room < entries) {
            // Floyd: of the first `last + 1` entries one, or the last where it was taken.
            const u32 last = entries - room + j;
            entry = static_cast<u32>(below(word, last + 1));
            for (u32 before = 0; before < j; ++before) {
                if (own[before] == entry) {
                    entry = last;
                    break;
                }
            }
        }
        own[j] = entry;
    }
    for (u32 j = 0; j < room; ++j) own[j] = rows.neighbor(vertex, own[j]);
}

// Times of edges; null: they do not matter.
struct Times {
    const i64* indptr;  // i64[rows + 1], of the rows of out-neighbors
    const i64* times;   // i64[entries]
    const i64* bounds;  // i64[vertices], of the expanded vertices
};

// Entries of one vertex: their weights, and whether their edges have a time up to its bound.
struct Entries {
    const WeightedRows& weighted;
    const Times& seen;
    const Rows& out;  // null: the rows are of out-neighbors
    i64 vertex;
    i64 bound;

    __device__ __forceinline__ u32 neighbor(i64 i) const { return weighted.rows.neighbor(vertex, i); }
    __device__ __forceinline__ double weight(i64 i) const { return weighted.weight(vertex, i); }
    __device__ __forceinline__ bool was_seen(i64 i) const {
        if (!seen.times) return true;
        if (!out.begin) return seen.times[seen.indptr[vertex] + i] <= bound;
        // The edge is an entry of its source, the neighbor.
        const u32 source = neighbor(i);
        const i64 at = lower_bound(out.columns, out.begin[source], out.step, out.degree[source],
                                   static_cast<u32>(vertex));
        return seen.times[seen.indptr[source] + at] <= bound;
    }
};

// By weight, of edges seen before a time, or both.
//
// Launch      one thread an expanded vertex, and one more
// Reads       as `sample_alike`
//             out     rows of out-neighbors where those that are read are of in-neighbors, or null
// Writes      keys    f64[slots[vertices]]
//             found, as `sample_alike`
//             counts  i64[1 + vertices], from 0 on: slots of each that are filled; REFUSED of a vertex with a
//                     negative weight, or where those that count cannot be drawn by
extern "C" __global__ void __launch_bounds__(THREADS, 3) sample_chosen(
        const WeightedRows weighted, const Times seen,
        const Rows out, const u32* __restrict__ frontier,
        const i64* __restrict__ slots, const i64 vertices, const u64 first_word, const u32 replace,
        const u32 takes_all, double* keys, u32* found, i64* __restrict__ counts) {
    const i64 owner = thread_of_grid();
    if (owner == vertices) counts[0] = 0;
    if (owner >= vertices) return;
    const i64 vertex = frontier[owner];
    const i64 entries = weighted.rows.degree[vertex];
    const i64 slot = slots[owner];
    const i64 room = slots[owner + 1] - slot;
    const Entries of{weighted, seen, out, vertex, seen.times ? seen.bounds[owner] : 0};
    const bool is_weighted = weighted.has_weights();
    u32* const own = found + slot;
    double* const own_keys = keys + slot;
    i64 count = 0;
    double total = 0;
    bool is_negative = false;
    for (i64 i = 0; i < entries; ++i) {
        const double weight = of.weight(i);
        is_negative |= weight < 0;
        if (weight <= 0 || !of.was_seen(i)) continue;
        total += weight;
        if (replace) continue;
        if (takes_all) {
            own[count++] = of.neighbor(i);
            continue;
        }
        // The least keys so far, in order; of equal ones the first entry.
        const u64 word = random_word(first_word, static_cast<u32>(owner), static_cast<u32>(i));
        const double key = is_weighted ? exponential(word) / weight : unit_float(word);
        i64 at = count;
        while (at > 0 && own_keys[at - 1] > key) --at;
        if (at == room) continue;
        count = min(count + 1, room);
        for (i64 j = count - 1; j > at; --j) {
            own_keys[j] = own_keys[j - 1];
            own[j] = own[j - 1];
        }
        own_keys[at] = key;
        own[at] = of.neighbor(i);
    }
    if (replace && total > 0) {
        count = room;
        for (i64 j = 0; j < room; ++j) {
            const u64 word = random_word(first_word, static_cast<u32>(owner), static_cast<u32>(j));
            const double target = unit_float(word) * total;
            double upto = 0;
            for (i64 i = 0; i < entries; ++i) {
                const double weight = of.weight(i);
                if (weight <= 0 || !of.was_seen(i)) continue;
                upto += weight;
                // The last one, should the target be rounded up to the total.
                own[j] = of.neighbor(i);
                if (upto > target) break;
            }
        }
    }
    const bool is_drawn = takes_all || can_be_shared(total);
    counts[1 + owner] = is_negative || !is_drawn ? REFUSED : count;
}
