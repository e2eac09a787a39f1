// for_edges.cuh -- an operator along the edges of a frontier: messages, combined at their targets.
//
// Part of     texts that operator_text.py writes: they define the operator, then name this header
// Caller      gpu_core/cuda/analytics/programs/operators.py
// Host twin   gpu_core/host/analytics/programs/edge_kernels.py: the same values, bit for bit
//
// Needs       Message            f64 or i64
//             Told               arrays that the function reads, and numbers
//             message_of, improves, neutral                   functions
//             WEIGHTED, IS_SUM                                constexpr bool
//
// Balance     the degrees of the frontier are summed up (`measure_rows`) and cut into windows of equal cost,
//             by merge path (windows.cuh); a window is a block's, and each of its threads takes every
//             WINDOW_THREADS-th entry, so neither a hub nor many vertices without edges delay anything
// Order       functions read the state as it was before the call: messages are gathered beside it, and taken
//             by a launch of its own. Lists have whatever order; combinations depend on none
#pragma once
#include "ways.cuh"
#include "windows.cuh"

struct Inbox {
    Message* combined;  // [vertices]: `neutral()` before and after a call
    u32* has;           // [vertices]: 0 before and after
    u32* receivers;     // vertices that were sent something
    u64* counts;        // how many of them, and how many changed; 0 before
};

// Combine a message with what is at a place.
__device__ __forceinline__ void combine_into(Message* place, Message sent) {
    u64* const word = reinterpret_cast<u64*>(place);
    if constexpr (IS_SUM) {
        atomicAdd(word, static_cast<u64>(sent));
        return;
    }
    union Bits {
        Message message;
        u64 word;
    };
    Bits old, made;
    made.message = sent;
    old.word = __ldcg(word);
    while (improves(old.message, sent)) {
        const u64 found = atomicCAS(word, old.word, made.word);
        if (found == old.word) return;
        old.word = found;
    }
}

// Number of the piece of a window that an entry is in: the last that begins at or before it.
__device__ __forceinline__ int piece_of(const u32* cuts, int pieces, u32 entry) {
    int low = 0;
    for (int left = pieces - 1; left > 0;) {
        const int half = (left + 1) / 2;
        if (cuts[low + half] <= entry) {
            low += half;
            left -= half;
        } else {
            left = half - 1;
        }
    }
    return low;
}

// First half: messages. A message that would not change its target is dropped.
//
// Launch      WINDOW_THREADS threads, a block a window
// Reads       frontier  u32[rows of the windows]
//             degree    degrees along the second of two ways; null: there is one
//             into      [vertices]: what messages are combined into in the end
extern "C" __global__ void __launch_bounds__(WINDOW_THREADS) send_messages(
        const Told told, const Way way, const u32* __restrict__ second_degree,
        const u32* __restrict__ frontier, const i64* indptr, const i64* window_rows,
        const i64* window_entries, const Message* into, const Inbox inbox) {
    const Windows windows{indptr, window_rows, window_entries};
    __shared__ u32 cuts[WINDOW_ROWS + 2];
    __shared__ u32 sources[WINDOW_ROWS + 1];
    __shared__ i64 places[WINDOW_ROWS + 1];
    __shared__ i64 weight_places[WEIGHTED ? WINDOW_ROWS + 1 : 1];
    const Window window = windows.open(blockIdx.x, cuts);
    const int pieces = window.pieces();
    for (int q = threadIdx.x; q < pieces; q += WINDOW_THREADS) {
        if (cuts[q] == cuts[q + 1]) continue;
        const i64 row = window.row + q - 1;
        // Entries of the row before this piece.
        const i64 skipped = window.entry + cuts[q] - indptr[row];
        sources[q] = frontier[row];
        places[q] = way.rows.begin[sources[q]] + skipped * way.rows.step;
        if constexpr (WEIGHTED) {
            weight_places[q] = way.weights_of(sources[q]) + skipped * way.rows.step;
        }
    }
    __syncthreads();
    const u32 entries = static_cast<u32>(window.entries());
    // Warps stay together.
    for (u32 first = threadIdx.x - lane_of_thread(); first < entries; first += WINDOW_THREADS) {
        const u32 at = first + lane_of_thread();
        bool is_first = false;
        u32 target = 0;
        if (at < entries) {
            const int piece = piece_of(cuts, pieces, at);
            const i64 within = (at - cuts[piece]) * way.rows.step;
            const u32 source = sources[piece];
            target = way.rows.columns[places[piece] + within];
            f64 weight = 1.0;
            if constexpr (WEIGHTED) weight = way.weight(weight_places[piece] + within);
            const Message sent = message_of(told, source, target, weight,
                                            degree_of(source, way.rows.degree, second_degree));
            if (improves(into[target], sent)) {
                combine_into(&inbox.combined[target], sent);
                is_first = __ldcg(&inbox.has[target]) == 0 && atomicExch(&inbox.has[target], 1u) == 0;
            }
        }
        append_vertices(is_first, target, &inbox.counts[0], inbox.receivers);
    }
}

// Second half: what becomes of them, and the vertices that have changed.
//
// Launch      LEVEL_THREADS threads; as many blocks as the device runs at once
// Writes      into
//             changed  u32[received]: vertices, in whatever order
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) take_messages(
        Message* __restrict__ into, const Inbox inbox, u32* __restrict__ changed) {
    const u64 received = inbox.counts[0];
    for (u64 tile = static_cast<u64>(blockIdx.x) * blockDim.x; tile < received;
         tile += threads_of_grid()) {
        const u64 at = tile + threadIdx.x;
        bool is_changed = false;
        u32 target = 0;
        if (at < received) {
            target = inbox.receivers[at];
            const Message message = inbox.combined[target];
            inbox.combined[target] = neutral();
            inbox.has[target] = 0;
            if constexpr (IS_SUM) {
                is_changed = message != 0;
                into[target] = add_whole(into[target], static_cast<i64>(message));
            } else {
                is_changed = true;
                into[target] = message;
            }
        }
        append_vertices(is_changed, target, &inbox.counts[1], changed);
    }
}
