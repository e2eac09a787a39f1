// programs.cuh -- supersteps of a user's program: messages pushed or pulled, combined, applied.
//
// Included    by texts that program_text.py writes, after what they define
// Caller      gpu_core/cuda/analytics/programs/programs.py
// Host twin   gpu_core/host/analytics/programs/programs.py: the same values, bit for bit
//
// Needs       Value, Message   f64, f32, i64 or i32
//             edge_of, vertex_of, wants_value, total_of, change_of, both, neutral, identity
//                              the functions
//             WEIGHTED, OF_ALL, STOPS, IS_SUM_OF_WHOLES                           constexpr bool
//             SHORT_ROW, PIECE                                                    constexpr u32
//
// Run         program_run.cuh
// Push        every active vertex is in a queue (frontier.cuh); a message is combined with those that
//             its target has by compare-and-swap, which `neutral()` begins. For exact programs alone
// Pull        pulled_messages.cuh
//             Which rows lie side by side, and where the short ones are read: pull_rows.py
#pragma once
#include "messages.cuh"
#include "program_run.cuh"
#include "pulled_messages.cuh"

// Begin: count those that send first, and choose how.
//
// Launch      THREADS threads, a warp for SUM_BLOCK vertices
// Writes      state    0 before
extern "C" __global__ void __launch_bounds__(THREADS) begin_run(const Run run) {
    Activated activated;
    for_sum_block(run.count, [&](const Vertices& vertices) {
#pragma unroll
        for (int i = 0; i < VERTICES_AT_ONCE; ++i) {
            const bool is_active = run.active[vertices.at[i]];
            activated.count(vertices.has[i] && is_active, run.degrees[vertices.at[i]]);
        }
    });
    activated.add_to(run.state);
    if (!ends_round(&run.state->ticket)) return;
    run.state->superstep = -1;
    end_superstep(run);
}

// Queue the vertices that are active, for pushes that come after pulls.
//
// Launch      THREADS threads, one for VERTICES_AT_ONCE vertices
// Writes      state    tails[direction], 0 before
extern "C" __global__ void __launch_bounds__(THREADS) queue_active(
        const Run run, const u32* __restrict__ row_degree, const u64 direction) {
    const u64 first = static_cast<u64>(blockIdx.x) * THREADS * VERTICES_AT_ONCE + threadIdx.x;
    u32 active[VERTICES_AT_ONCE], degrees[VERTICES_AT_ONCE];
#pragma unroll
    for (int i = 0; i < VERTICES_AT_ONCE; ++i) {
        const u64 vertex = first + i * THREADS;
        active[i] = static_cast<u32>(vertex);
        degrees[i] = vertex < run.count && run.active[vertex] ? row_degree[vertex] : 0;
    }
    queue_vertices(active, degrees, &run.state->tails[direction], run.queue(run.state->side, direction));
}

// Mark the vertices of a queue as active, for pulls that come after pushes.
//
// Launch      THREADS threads, a thread an item
// Writes      active   0 before
extern "C" __global__ void __launch_bounds__(THREADS) mark_active(
        const Run run, const u64 direction, const u64 items) {
    const u64 at = thread_of_grid();
    if (at < items) run.active[static_cast<u32>(run.queue(run.state->side, direction)[at])] = 1;
}

// Send what the vertices that are queued send in one direction.
//
// Reads of what other blocks write in the same launch, of small supersteps, pass the caches by.
template <int SIZE>
__device__ __forceinline__ void push_along(const Run& run, const WeightedRows& along, u64 number) {
    const Context context(run);
    const u64* const queue = run.queue(__ldcg(&run.state->side), number);
    const u64 items = __ldcg(&run.state->tails[number]);
    for_edges<SIZE>(along.rows, queue, 0, items, [&](bool has_entry, const Entry& entry) {
        bool is_first = false;
        u32 target = 0;
        if (has_entry) {
            target = along.rows.columns[entry.position];
            if (wants_value(__ldcg(&run.values[target]))) {
                f64 weight = 1.0;
                if constexpr (WEIGHTED) {
                    weight = along.weight(entry.vertex, entry.number);
                }
                const Message sent = message_of(__ldcg(&run.values[entry.vertex]), weight,
                                                run.degrees[entry.vertex], context);
                if constexpr (STOPS) {
                    run.combined[target] = sent;
                } else {
                    combine_into(&run.combined[target], sent);
                }
                is_first = is_first_to(target, run.has);
            }
        }
        append_vertices(is_first, target, &run.state->received, run.receivers);
    });
}

template <int SIZE>
__device__ __forceinline__ void push_all(
        const Run& run, const WeightedRows& along, const WeightedRows& second) {
    push_along<SIZE>(run, along, 0);
    if (run.directions > 1) push_along<SIZE>(run, second, 1);
}

// Have the vertices that were sent something take it, and queue those that become active.
template <int SIZE>
__device__ __forceinline__ void take_received(
        const Run& run, const WeightedRows& along, const WeightedRows& second) {
    const Context context(run);
    const u64 side = __ldcg(&run.state->side) ^ 1;
    Activated activated;
    for_vertices<SIZE>(__ldcg(&run.state->received), [&](bool has_vertex, u64 at) {
        bool is_active = false;
        u32 target = 0;
        i64 degree = 0;
        if (has_vertex) {
            target = __ldcg(&run.receivers[at]);
            degree = run.degrees[target];
            Value made;
            is_active = take(run, target, __ldcg(&run.values[target]), __ldcg(&run.combined[target]),
                             degree, context, made);
            run.combined[target] = neutral();
            run.has[target] = 0;
        }
        activated.count(is_active, degree);
        queue_vertices(is_active, target, is_active ? along.rows.degree[target] : 0,
                       &run.state->next_tails[0], run.queue(side, 0));
        if (run.directions > 1) {
            queue_vertices(is_active, target, is_active ? second.rows.degree[target] : 0,
                           &run.state->next_tails[1], run.queue(side, 1));
        }
    });
    activated.add_to(run.state);
}

// First half of a superstep that is pushed: messages.
//
// Launch      THREADS threads; as many blocks as the device runs at once
extern "C" __global__ void __launch_bounds__(THREADS) push_messages(
        const Run run, const WeightedRows along, const WeightedRows second) {
    if (run.mode() == PUSHED) push_all<THREADS>(run, along, second);
}

// Second half: what becomes of them.
//
// Launch      as `push_messages`
extern "C" __global__ void __launch_bounds__(THREADS) take_messages(
        const Run run, const WeightedRows along, const WeightedRows second) {
    if (run.mode() != PUSHED) return;
    take_received<THREADS>(run, along, second);
    if (ends_round(&run.state->ticket)) end_superstep(run);
}

// Push one superstep after the other, while each has few edges.
//
// Launch      SMALL_THREADS threads, and as many blocks as can wait for one another
// Parameters  most   edges that are sent along in a superstep that is run here
//             until  superstep that is left to others: the host cannot end a launch that never does
extern "C" __global__ void __launch_bounds__(SMALL_THREADS, 1) IN_CLUSTER push_small_supersteps(
        const Run run, const WeightedRows along, const WeightedRows second, const u64 most,
        const i64 until) {
    meet_rounds([&] { return run.mode() == PUSHED && __ldcg(&run.state->entries) <= most &&
                             __ldcg(&run.state->superstep) < until; },
                [&] {
                    push_all<SMALL_THREADS>(run, along, second);
                    meet();
                    take_received<SMALL_THREADS>(run, along, second);
                },
                [&] { end_superstep(run); });
}

// Messages of active vertices that are the same along all edges.
//
// Launch      THREADS threads, a thread a vertex
extern "C" __global__ void __launch_bounds__(THREADS) send_messages(const Run run) {
    if (run.mode() != PULLED) return;
    const u64 vertex = thread_of_grid();
    if (vertex >= run.count || !(OF_ALL || run.active[vertex])) return;
    run.sent[vertex] = message_of(run.values[vertex], 1.0, run.degrees[vertex], Context(run));
}

// Combine what neighbors send.
//
// Launch      THREADS threads: a thread for each of the first `singles` rows, whole warps of them,
//             and a warp for each of the others, which are long
// Parameters  along               rows of the senders, by their number
//             near                where the same rows are read if they are short
//             order               u32[count]: the vertex of each row; null: its number
//             values, …, sent     as of `run`; nothing that is written here
// Writes      combined, has   of vertices that are sent something; combined with what is there
extern "C" __global__ void __launch_bounds__(THREADS, 4) pull_messages(
        const Run run, const WeightedRows along, const WeightedRows near,
        const u32* __restrict__ order, const u64 singles,
        const Value* __restrict__ values, const u8* __restrict__ active,
        const i64* __restrict__ degrees, const Message* __restrict__ sent) {
    if (run.mode() != PULLED) return;
    const Context context(run);
    const u64 thread = thread_of_grid();
    const u64 single_threads = (singles + WARP - 1) / WARP * WARP;
    u64 at = thread;
    bool is_owner = at < singles;
    if (thread >= single_threads) {
        at = singles + (thread - single_threads) / WARP;
        is_owner = lane_of_thread() == 0 && at < run.count;
    }
    u64 vertex = at;
    if (order && is_owner) vertex = order[at];
    RowStart row{0, 0, 0};
    if (is_owner && wants_value(values[vertex])) {
        const u32 length = along.rows.degree[at];
        row = RowStart(length > SHORT_ROW ? along : near, at, length);
    }
    const Senders senders{values, active, degrees, sent, context};
    Pulled own{Message(0), false};
    if (row.length > 0 && run.has[vertex]) own = Pulled{run.combined[vertex], true};
    pull_short_row(senders, near, row, own);
    pull_rows_by_warp(senders, along, row, own);
    pull_rows_by_block(senders, along, row, own);
    if (row.length > 0 && own.is_found) {
        run.combined[vertex] = own.message;
        run.has[vertex] = 1;
    }
}

// Have all vertices take what they were sent.
//
// Launch      THREADS threads, a warp for SUM_BLOCK vertices
// Writes      active
//             changes  f64 a block of vertices: by how much their values change, if that is asked for
//             totals   f64 a block: of the values that come out, for the next superstep, likewise
extern "C" __global__ void __launch_bounds__(THREADS) take_all(const Run run) {
    if (run.mode() != PULLED) return;
    const Context context(run);
    const u64 block = sum_block_of_warp();
    f64 change = 0.0, total = 0.0;
    Activated activated;
    for_sum_block(run.count, [&](const Vertices& vertices) {
        bool is_sent[VERTICES_AT_ONCE], is_there[VERTICES_AT_ONCE];
        Value old[VERTICES_AT_ONCE];
        Message combined[VERTICES_AT_ONCE];
        i64 degrees[VERTICES_AT_ONCE];
#pragma unroll
        for (int i = 0; i < VERTICES_AT_ONCE; ++i) {
            const u64 vertex = vertices.at[i];
            is_sent[i] = run.has[vertex] != 0;
            is_there[i] = run.present[vertex] != 0;
            old[i] = run.values[vertex];
            combined[i] = run.combined[vertex];
            degrees[i] = run.degrees[vertex];
        }
#pragma unroll
        for (int i = 0; i < VERTICES_AT_ONCE; ++i) {
            if (!vertices.has[i]) continue;
            const u64 vertex = vertices.at[i];
            bool is_active = false;
            Value made = old[i];
            // Who was sent anything wants messages; of the others, those that do take `identity()`.
            if ((is_sent[i] || (OF_ALL && wants_value(old[i]))) && is_there[i]) {
                const Message message = is_sent[i] ? combined[i] : identity();
                is_active = take(run, vertex, old[i], message, degrees[i], context, made);
                change += change_of(old[i], made);
            }
            if (run.totals && is_there[i]) {
                total += total_of(made, degrees[i], context.superstep + 1, context.num_vertices, 0.0);
            }
            if (is_sent[i]) {
                run.combined[vertex] = neutral();
                run.has[vertex] = 0;
            }
            run.active[vertex] = is_active;
            activated.count(is_active, degrees[i]);
        }
    });
    activated.add_to(run.state);
    change = warp_sum(change);
    total = warp_sum(total);
    if (lane_of_thread() == 0 && block * SUM_BLOCK < run.count) {
        if (run.changes) run.changes[block] = change;
        if (run.totals) run.totals[block] = total;
    }
    if (!is_last_block(reinterpret_cast<u32*>(&run.state->ticket))) return;
    const u64 blocks = (run.count + SUM_BLOCK - 1) / SUM_BLOCK;
    if (run.changes) change = sum_of_blocks(run.changes, blocks);
    if (run.totals) total = sum_of_blocks(run.totals, blocks);
    if (threadIdx.x > 0) return;
    if (run.changes) run.state->changed = change;
    if (run.totals) run.state->total = total;
    end_superstep(run);
}

// Sum up what vertices add to the total before the first superstep.
//
// Launch      THREADS threads, a warp for SUM_BLOCK vertices
// Writes      totals   f64 a block
extern "C" __global__ void __launch_bounds__(THREADS) add_up_totals(const Run run) {
    const Context context(run);
    const u64 block = sum_block_of_warp();
    f64 sum = 0.0;
    for_sum_block(run.count, [&](const Vertices& vertices) {
#pragma unroll
        for (int i = 0; i < VERTICES_AT_ONCE; ++i) {
            const u64 vertex = vertices.at[i];
            const f64 total = total_of(run.values[vertex], run.degrees[vertex], context.superstep,
                                       context.num_vertices, 0.0);
            if (vertices.has[i] && run.present[vertex]) sum += total;
        }
    });
    sum = warp_sum(sum);
    if (lane_of_thread() == 0 && block * SUM_BLOCK < run.count) run.totals[block] = sum;
    if (!is_last_block(reinterpret_cast<u32*>(&run.state->ticket))) return;
    sum = sum_of_blocks(run.totals, (run.count + SUM_BLOCK - 1) / SUM_BLOCK);
    if (threadIdx.x == 0) run.state->total = sum;
}
