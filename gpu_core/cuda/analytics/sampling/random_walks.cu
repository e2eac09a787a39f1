// random_walks.cu -- random walks along out-edges, one thread a walk.
//
// Caller      gpu_core/cuda/analytics/sampling/random_walks.py
// Host twin   gpu_core/host/analytics/sampling/random_walks.py; same draws, same sums, so the same walks
//
// Walks       i64[walks][length + 1], what the vertices are called: ids[vertex], or the vertex where ids is null;
//             -1 after the end
#include "draws.cuh"
#include "row_arguments.cuh"
#include "search.cuh"

constexpr i64 NO_VERTEX_KEY = -1;
constexpr i64 LONG_AGO = static_cast<i64>(1ull << 63);

__device__ __forceinline__ i64 key_of(i64 vertex, const i64* ids) { return ids ? ids[vertex] : vertex; }

// All neighbors alike.
//
// Launch      one thread a walk
// Reads       starts u32[walks]
// Writes      made     i64[walks][length + 1]
//             lengths  i64[walks]
extern "C" __global__ void walk_freely(
        const Rows rows, const u32* __restrict__ starts, const i64 walks, const i64 length,
        const i64* __restrict__ ids, const u64 first_word, i64* __restrict__ made,
        i64* __restrict__ lengths) {
    const i64 walk = thread_of_grid();
    if (walk >= walks) return;
    i64* const own = made + walk * (length + 1);
    i64 vertex = starts[walk];
    own[0] = key_of(vertex, ids);
    i64 steps = 0;
    while (steps < length && rows.degree[vertex] > 0) {
        const u64 word = random_word(first_word, static_cast<u32>(walk), static_cast<u32>(steps));
        vertex = rows.neighbor(vertex, below(word, rows.degree[vertex]));
        own[++steps] = key_of(vertex, ids);
    }
    lengths[walk] = steps;
    while (steps < length) own[++steps] = NO_VERTEX_KEY;
}

// By time, by weight, or both.
//
// Launch      one thread a walk
// Reads       indptr   i64[rows + 1]; targets u32[entries]
//             times    i64[entries], increasing within a row, or null
//             sums     f64[entries], sums of weights within a row from each entry on, or null
// Writes      as `walk_freely`
extern "C" __global__ void walk_in_order(
        const i64* __restrict__ indptr, const u32* __restrict__ targets, const i64* __restrict__ times,
        const double* __restrict__ sums, const u32* __restrict__ starts, const i64 walks,
        const i64 length, const i64* __restrict__ ids, const u64 first_word, i64* __restrict__ made,
        i64* __restrict__ lengths) {
    const i64 walk = thread_of_grid();
    if (walk >= walks) return;
    i64* const own = made + walk * (length + 1);
    i64 vertex = starts[walk];
    own[0] = key_of(vertex, ids);
    i64 steps = 0, time = LONG_AGO;
    while (steps < length) {
        const i64 begin = indptr[vertex], end = indptr[vertex + 1];
        const i64 first = times
            ? first_not_before(begin, end, [&](i64 at) { return times[at] < time; }) : begin;
        if (first == end) break;
        const u64 word = random_word(first_word, static_cast<u32>(walk), static_cast<u32>(steps));
        i64 entry;
        if (sums) {
            const double total = sums[first];
            if (!(total > 0.0)) break;
            const double drawn = unit_float(word) * total;
            entry = first_not_before(first, end, [&](i64 at) { return sums[at] > drawn; }) - 1;
            if (entry < first) {
                // Rounded up to the total. Of equal sums the last one has a weight.
                entry = first;
                while (entry + 1 < end && sums[entry + 1] == total) ++entry;
            }
        } else {
            entry = first + below(word, static_cast<u32>(end - first));
        }
        vertex = targets[entry];
        if (times) time = times[entry];
        own[++steps] = key_of(vertex, ids);
    }
    lengths[walk] = steps;
    while (steps < length) own[++steps] = NO_VERTEX_KEY;
}

// Sums of the weights of a row from each entry on, that entry included, from the last to the first.
//
// Launch      one thread a row
// Reads       narrow   f32[entries] or wide f64[entries], the other null
// Writes      sums     f64[entries]
extern "C" __global__ void add_up_rows(const i64* __restrict__ indptr, const i64 rows,
                                       const float* __restrict__ narrow,
                                       const double* __restrict__ wide,
                                       double* __restrict__ sums) {
    const i64 row = thread_of_grid();
    if (row >= rows) return;
    double total = 0;
    for (i64 i = indptr[row + 1] - 1; i >= indptr[row]; --i) {
        total += wide ? wide[i] : widened(narrow[i]);
        sums[i] = total;
    }
}
