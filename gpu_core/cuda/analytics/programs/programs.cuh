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
// Pull        a vertex is its own thread's, up to SHORT_ROW neighbors; of longer rows the whole warp
//             reads, and the whole block of those of several pieces, in the order that
//             gpu_core/programs/run.py says, the same as on the host
//             Which rows lie side by side, and where the short ones are read: pull_rows.py
#pragma once
#include "messages.cuh"
#include "program_run.cuh"

// Begin: count those that send first, and choose how.
//
// Launch      THREADS threads, a thread a vertex
// Writes      state    0 before
extern "C" __global__ void __launch_bounds__(THREADS) begin_run(const Run run) {
    const u64 vertex = thread_of_grid();
    const bool is_active = vertex < run.count && run.active[vertex];
    count_active(is_active, is_active ? run.degrees[vertex] : 0, run.state);
    if (!ends_round(&run.state->ticket)) return;
    run.state->superstep = -1;
    end_superstep(run);
}

// Queue the vertices that are active, for pushes that come after pulls.
//
// Launch      THREADS threads, a thread a vertex
// Writes      state    tails[direction], 0 before
extern "C" __global__ void __launch_bounds__(THREADS) queue_active(
        const Run run, const u32* __restrict__ row_degree, const u64 direction) {
    const u64 vertex = thread_of_grid();
    const bool is_active = vertex < run.count && run.active[vertex];
    queue_vertices(is_active, static_cast<u32>(vertex), is_active ? row_degree[vertex] : 0,
                   &run.state->tails[direction], run.queue(run.state->side, direction));
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
        count_active(is_active, degree, run.state);
        queue_vertices(is_active, target, is_active ? along.rows.degree[target] : 0,
                       &run.state->next_tails[0], run.queue(side, 0));
        if (run.directions > 1) {
            queue_vertices(is_active, target, is_active ? second.rows.degree[target] : 0,
                           &run.state->next_tails[1], run.queue(side, 1));
        }
    });
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

// What the neighbors of a vertex send it.
struct Pulled {
    Message message;
    bool is_found;

    __device__ __forceinline__ void add(Message other) {
        message = is_found ? both(message, other) : other;
        is_found = true;
    }
};

// A row that whole warps read.
struct SharedRow {
    i64 first;
    i64 first_weight;
    u32 entries;
    u32 owner;  // thread of the block
};

// Entries that a thread asks for before it looks at the first: one where one message is enough.
constexpr int AT_ONCE = STOPS ? 1 : WEIGHTED ? 4 : 6;

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
    const u32 lane = lane_of_thread();
    const u64 thread = thread_of_grid();
    const u64 single_threads = (singles + WARP - 1) / WARP * WARP;
    u64 at = thread;
    bool is_owner = at < singles;
    if (thread >= single_threads) {
        at = singles + (thread - single_threads) / WARP;
        is_owner = lane == 0 && at < run.count;
    }
    u64 vertex = at;
    if (order && is_owner) vertex = order[at];
    u32 length = 0;
    i64 row = 0, weight_row = 0;
    if (is_owner && wants_value(values[vertex])) {
        length = along.rows.degree[at];
        row = length > SHORT_ROW ? along.rows.begin[at] : near.rows.begin[at];
        if constexpr (WEIGHTED) {
            weight_row = length > SHORT_ROW ? along.weights_of(at) : near.weights_of(at);
        }
    }
    const auto add_entries = [&](Pulled& pulled, const WeightedRows& read, i64 first, i64 first_weight,
                                 u32 number, u32 end, u32 stride) {
        u32 sources[AT_ONCE];
        bool sends[AT_ONCE];
        Message messages[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const u32 at = number + i * stride;
            sends[i] = at < end;
            if (sends[i]) sources[i] = read.rows.columns[first + at * read.rows.step];
        }
        if constexpr (!OF_ALL) {
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) sends[i] = sends[i] && active[sources[i]];
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (!sends[i]) continue;
            if constexpr (WEIGHTED) {
                const f64 weight = read.weight_at(first_weight + (number + i * stride) * read.rows.step);
                messages[i] = message_of(values[sources[i]], weight, degrees[sources[i]], context);
            } else {
                messages[i] = sent[sources[i]];
            }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (sends[i]) pulled.add(messages[i]);
        }
    };
    Pulled own{Message(0), false};
    if (length > 0 && run.has[vertex]) own = Pulled{run.combined[vertex], true};
    for (u32 i = 0; i < length && length <= SHORT_ROW; i += AT_ONCE) {
        add_entries(own, near, row, weight_row, i, length, 1);
        if (STOPS && own.is_found) break;
    }
    // What a piece of a long row is sent; the whole warp reads it, and lane 0 has it.
    const auto pull_piece = [&](const SharedRow& read, u32 piece) {
        Pulled pulled{Message(0), false};
        const u32 end = min(read.entries, piece + PIECE);
        for (u32 i = piece; i < end; i += AT_ONCE * WARP) {
            add_entries(pulled, along, read.first, read.first_weight, i + lane, end, WARP);
            if (STOPS && __any_sync(FULL_WARP, pulled.is_found)) break;
        }
        for (u32 width = WARP / 2; width > 0; width /= 2) {
            const Message other = __shfl_down_sync(FULL_WARP, pulled.message, width);
            const bool has_other = __shfl_down_sync(FULL_WARP, static_cast<u32>(pulled.is_found), width);
            if (has_other && lane < width) pulled.add(other);
        }
        return pulled;
    };
    // A long row of one piece is its warp's.
    u32 waiting = __ballot_sync(FULL_WARP, length > SHORT_ROW && length <= PIECE);
    while (waiting) {
        const int owner = __ffs(waiting) - 1;
        waiting &= waiting - 1;
        const Pulled pulled = pull_piece({__shfl_sync(FULL_WARP, row, owner),
                                          __shfl_sync(FULL_WARP, weight_row, owner),
                                          __shfl_sync(FULL_WARP, length, owner), 0}, 0);
        const Message whole = __shfl_sync(FULL_WARP, pulled.message, 0);
        const bool is_sent = __shfl_sync(FULL_WARP, static_cast<u32>(pulled.is_found), 0);
        if (is_sent && static_cast<int>(lane) == owner) own.add(whole);
    }
    // The pieces of others are shared out among the warps of the block; the owner combines them in their order.
    __shared__ SharedRow shared_rows[THREADS];
    __shared__ u32 shared_count;
    __shared__ Pulled parts[THREADS / WARP];
    if (threadIdx.x == 0) shared_count = 0;
    __syncthreads();
    if (length > PIECE) shared_rows[atomicAdd(&shared_count, 1u)] = {row, weight_row, length, threadIdx.x};
    __syncthreads();
    for (u32 number = 0; number < shared_count; ++number) {
        const SharedRow read = shared_rows[number];
        bool is_met = false;
        for (u32 first = 0; first < read.entries && !is_met; first += THREADS / WARP * PIECE) {
            const Pulled pulled = pull_piece(read, first + warp_of_thread() * PIECE);
            if (lane == 0) parts[warp_of_thread()] = pulled;
            __syncthreads();
            for (const Pulled& part : parts) {
                if (part.is_found && threadIdx.x == read.owner) own.add(part.message);
                is_met = is_met || (STOPS && part.is_found);
            }
            __syncthreads();
        }
    }
    if (length > 0 && own.is_found) {
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
    const u64 block = static_cast<u64>(thread_of_grid()) / WARP;
    f64 change = 0.0, total = 0.0;
    for (u64 at = block * SUM_BLOCK; at < min(run.count, (block + 1) * SUM_BLOCK); at += WARP) {
        const u64 vertex = at + lane_of_thread();
        bool is_active = false;
        i64 degree = 0;
        if (vertex < run.count) {
            const bool is_sent = run.has[vertex] != 0;
            const bool is_there = run.present[vertex] != 0;
            const Value old = run.values[vertex];
            Value made = old;
            degree = run.degrees[vertex];
            // Who was sent anything wants messages; of the others, those that do take `identity()`.
            if ((is_sent || (OF_ALL && wants_value(old))) && is_there) {
                const Message message = is_sent ? run.combined[vertex] : identity();
                is_active = take(run, vertex, old, message, degree, context, made);
                change += change_of(old, made);
            }
            if (run.totals && is_there) {
                total += total_of(made, degree, context.superstep + 1, context.num_vertices, 0.0);
            }
            if (is_sent) {
                run.combined[vertex] = neutral();
                run.has[vertex] = 0;
            }
            run.active[vertex] = is_active;
        }
        count_active(is_active, degree, run.state);
    }
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
    const u64 block = static_cast<u64>(thread_of_grid()) / WARP;
    f64 sum = 0.0;
    for (u64 vertex = block * SUM_BLOCK + lane_of_thread();
         vertex < min(run.count, (block + 1) * SUM_BLOCK); vertex += WARP) {
        if (run.present[vertex]) {
            sum += total_of(run.values[vertex], run.degrees[vertex], context.superstep,
                            context.num_vertices, 0.0);
        }
    }
    sum = warp_sum(sum);
    if (lane_of_thread() == 0 && block * SUM_BLOCK < run.count) run.totals[block] = sum;
    if (!is_last_block(reinterpret_cast<u32*>(&run.state->ticket))) return;
    sum = sum_of_blocks(run.totals, (run.count + SUM_BLOCK - 1) / SUM_BLOCK);
    if (threadIdx.x == 0) run.state->total = sum;
}
