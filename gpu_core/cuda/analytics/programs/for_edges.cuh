// for_edges.cuh -- an operator along the edges of a frontier: messages, combined at their targets.
//
// Included    by texts that operator_text.py writes, after what they define
// Caller      gpu_core/cuda/analytics/programs/operators.py
// Host twin   gpu_core/host/analytics/programs/edge_kernels.py: the same values, bit for bit
//
// Needs       Message            f64 or i64; `Word`, `both` and IS_SUM_OF_WHOLES as of messages.cuh
//             Arguments          arrays that the function reads, and numbers
//             message_of, improves, neutral                   functions
//             WEIGHTED           constexpr bool
//
// Order       functions read the state as it was before the call: messages are gathered beside it, and taken
//             by a launch of its own. Lists have whatever order; combinations depend on none
#pragma once
#include "messages.cuh"

struct Inbox {
    Message* combined;  // [vertices]: `neutral()` before and after a call
    u32* has;           // [vertices]: 0 before and after
    u32* receivers;     // vertices that were sent something
    u64* counts;        // how many of them, and how many changed; 0 before
};

// First half: messages. A message that would not change its target is dropped.
//
// Launch      THREADS threads, any number of blocks
// Reads       second_degree  degrees along the second of two directions; null: there is one
//             tail, queue    the rows of the frontier (frontier.cuh)
//             into           [vertices]: what messages are combined into in the end
extern "C" __global__ void __launch_bounds__(THREADS) send_messages(
        const Arguments arguments, const WeightedRows along, const u32* __restrict__ second_degree,
        const u64* __restrict__ tail, const u64* __restrict__ queue, const Message* into,
        const Inbox inbox) {
    for_edges<THREADS>(along.rows, queue, 0, *tail, [&](bool has_entry, const Entry& entry) {
        bool is_first = false;
        u32 target = 0;
        if (has_entry) {
            target = along.rows.columns[entry.position];
            f64 weight = 1.0;
            if constexpr (WEIGHTED) weight = along.weight(entry.vertex, entry.number);
            const Message sent = message_of(arguments, entry.vertex, target, weight,
                                            degree_of(entry.vertex, along.rows.degree, second_degree));
            if (improves(into[target], sent)) {
                combine_into(&inbox.combined[target], sent);
                is_first = is_first_to(target, inbox.has);
            }
        }
        append_vertices(is_first, target, &inbox.counts[0], inbox.receivers);
    });
}

// Second half: what becomes of them, and the vertices that have changed.
//
// Launch      THREADS threads; as many blocks as the device runs at once
// Writes      into
//             changed  u32[received]: vertices, in whatever order
extern "C" __global__ void __launch_bounds__(THREADS) take_messages(
        Message* __restrict__ into, const Inbox inbox, u32* __restrict__ changed) {
    for_vertices<THREADS>(inbox.counts[0], [&](bool has_vertex, u64 at) {
        bool is_changed = false;
        u32 target = 0;
        if (has_vertex) {
            target = inbox.receivers[at];
            const Message message = inbox.combined[target];
            inbox.combined[target] = neutral();
            inbox.has[target] = 0;
            if constexpr (IS_SUM_OF_WHOLES) {
                is_changed = message != 0;
                into[target] = add_whole(into[target], static_cast<i64>(message));
            } else {
                is_changed = true;
                into[target] = message;
            }
        }
        append_vertices(is_changed, target, &inbox.counts[1], changed);
    });
}
