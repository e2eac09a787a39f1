// label_propagation.cu -- label propagation: vertices of one color take the most frequent label around them.
//
// Caller      gpu_core/cuda/analytics/components/label_propagation.py
// Host twin   gpu_core/host/analytics/components/label_propagation.py: the same labels
//
// Table       for each vertex of a color twice as many slots as it has neighbors, in which their labels are
//             counted. Slots are never cleared: each color of each sweep has a number of its own, `stamp`,
//             and what has a smaller one stands for nothing
// Best        u64 by vertex: the largest count of a label, above 32 bits, and the label: of those with that
//             count the largest. Counts only grow, so the maximum of all that was seen is the end's
// Own         u32 by vertex: count of the label that the vertex has
#include "frontier.cuh"

// Labels counted for the vertices of one color.
struct Table {
    u64* labels;          // stamp above 32 bits, label
    u64* counts;          // stamp above 32 bits, count
    const i64* positions;    // by vertex: entries of the vertices before it
    i64 first_position;      // of the first vertex of the color
    u64 stamp;

    // Count a label; returns how often it has been counted.
    __device__ __forceinline__ u32 count(u32 vertex, u32 degree, u32 label) const {
        const i64 begin = 2 * (positions[vertex] - first_position);
        const u32 size = 2 * degree;
        const u64 wanted = stamp << 32 | label;
        u32 slot = static_cast<u32>(static_cast<u64>(label * 0x9E3779B1u) * size >> 32);
        while (true) {
            u64* const here = &labels[begin + slot];
            u64 found = __ldcg(here);
            if (found >> 32 != stamp) {
                const u64 before = atomicCAS(here, found, wanted);
                found = before == found ? wanted : before;
            }
            if (found == wanted) break;
            slot = slot + 1 < size ? slot + 1 : 0;
        }
        atomicMax(&counts[begin + slot], stamp << 32);
        return static_cast<u32>(atomicAdd(&counts[begin + slot], u64(1))) + 1;
    }
};

// Queue the rows of vertices in the order of their colors.
//
// Launch      THREADS threads, a thread a vertex
// Reads       members  u32[count]: vertices in that order
//             pieces   i64[count + 1]: items before each of them
//             starts   i64[count + 1]: entries before each of them
// Writes      queue    u64[pieces[count]]
//             positions   i64 by vertex: its `starts`
extern "C" __global__ void __launch_bounds__(THREADS) queue_by_color(
        const u32* __restrict__ members, const u64 count, const i64* __restrict__ pieces,
        const i64* __restrict__ starts, u64* __restrict__ queue, i64* __restrict__ positions) {
    const u64 at = thread_of_grid();
    if (at >= count) return;
    const u32 vertex = members[at];
    positions[vertex] = starts[at];
    const i64 first = pieces[at];
    for (i64 item = first; item < pieces[at + 1]; ++item) {
        queue[item] = static_cast<u64>(item - first) << 32 | vertex;
    }
}

// Count the labels around the vertices of a color.
//
// Launch      THREADS threads; as many blocks as the device runs at once
// Reads       queue[first … end - 1]: their rows
// Writes      best, own   0 before
extern "C" __global__ void __launch_bounds__(THREADS) count_labels(
        const Rows rows, const u64* __restrict__ queue,
        const u64 first, const u64 end, const Table table, const u32* __restrict__ labels, u64* best,
        u32* own) {
    for_edges<THREADS>(
        rows, queue, first, end,
        [&](bool has_entry, const Entry& entry) {
            if (!has_entry) return;
            const u32 vertex = entry.vertex;
            const u32 label = labels[rows.columns[entry.position]];
            const u32 count = table.count(vertex, rows.degree[vertex], label);
            const u64 found = static_cast<u64>(count) << 32 | label;
            if (__ldcg(&best[vertex]) < found) atomicMax(&best[vertex], found);
            if (label == labels[vertex]) atomicMax(&own[vertex], count);
        });
}

// Give the vertices of a color their labels.
//
// Launch      THREADS threads, a thread a vertex
// Reads       members[first … end - 1]
// Writes      best, own   0
//             changed     u64: whether any label has changed
extern "C" __global__ void __launch_bounds__(THREADS) take_labels(
        const u32* __restrict__ members, const u64 first, const u64 end, u32* labels, u64* best,
        u32* own, u64* changed) {
    const u64 at = first + thread_of_grid();
    if (at >= end) return;
    const u32 vertex = members[at];
    const u64 found = best[vertex];
    if (own[vertex] < found >> 32) {
        labels[vertex] = static_cast<u32>(found);
        *changed = 1;
    }
    best[vertex] = 0;
    own[vertex] = 0;
}
