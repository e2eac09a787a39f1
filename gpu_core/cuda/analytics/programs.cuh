// programs.cuh -- supersteps of a program of the user's: messages pushed or pulled, and taken.
//
// Part of     texts that program_text.py writes: they define the program, then name this header
// Caller      gpu_core/cuda/analytics/programs.py
// Host twin   gpu_core/host/analytics/programs.py: the same values, bit for bit
//
// Needs       Value, Message   f64, f32, i64 or i32
//             edge_of, vertex_of, wants_value, total_of, both, neutral, identity   the functions
//             WEIGHTED, OF_ALL, STOPS, IS_SUM_OF_WHOLES                           constexpr bool
//
// Push        every active vertex is in a queue (frontier.cuh); a message is combined with those that
//             its target has by compare-and-swap, which `neutral()` begins. For exact programs alone
// Pull        a vertex is its own thread's, up to SHORT_ROW neighbors; of longer rows the whole warp
//             reads, in the order that gpu_core/programs/run.py says, the same as on the host
// Sums        over vertices in blocks of SUM_BLOCK, one a warp, in that order too
#pragma once
#include "frontier.cuh"

constexpr u32 SHORT_ROW = 32;
constexpr u32 PIECE = 1024;
constexpr u64 SUM_BLOCK = 1024;

// What all vertices are told.
struct Told {
    i64 superstep;
    i64 num_vertices;
    f64 total;
};

// Weights of an entry: narrow, wide, or none of both: 1.
struct Weights {
    const f32* narrow;
    const f64* wide;
    const i64* begin;

    __device__ __forceinline__ i64 of_row(u64 vertex) const { return begin ? begin[vertex] : 0; }

    __device__ __forceinline__ f64 at(i64 place) const {
        if (wide) return wide[place];
        return narrow ? static_cast<f64>(narrow[place]) : 1.0;
    }
};

// What a superstep leaves: active vertices, the edges that they send along, ends of the queues of the
// two ways, and vertices that were sent something.
struct State {
    u64 size;
    u64 entries;
    u64 tails[2];
    u64 received;
};

__device__ __forceinline__ Message message_of(Value value, f64 weight, i64 degree, const Told& told) {
    const Message sent = static_cast<Message>(
        edge_of(value, weight, degree, told.superstep, told.num_vertices, told.total));
    // Then both zeros are one, and which of them comes first makes no difference.
    return sent + Message(0);
}

// Combine a message with what is at a place.
__device__ __forceinline__ void combine_into(Message* place, Message sent) {
    Word* const word = reinterpret_cast<Word*>(place);
    if constexpr (IS_SUM_OF_WHOLES) {
        atomicAdd(word, static_cast<Word>(sent));
        return;
    }
    union Bits {
        Message message;
        Word word;
    };
    Bits old, made;
    old.word = __ldcg(word);
    while (true) {
        made.message = both(old.message, sent);
        if (made.word == old.word) return;
        const Word found = atomicCAS(word, old.word, made.word);
        if (found == old.word) return;
        old.word = found;
    }
}

// Add up vertices that have become active, one a lane. All lanes of the warp call.
__device__ __forceinline__ void count_active(bool is_active, i64 degree, State* state) {
    const u32 size = __popc(__ballot_sync(FULL_WARP, is_active));
    const u64 entries = warp_sum<u64>(is_active ? static_cast<u64>(degree) : 0);
    if (lane_of_thread() == 0 && size) {
        atomicAdd(&state->size, u64(size));
        atomicAdd(&state->entries, entries);
    }
}

// Queue the vertices that are active.
//
// Launch      LEVEL_THREADS threads, a thread a vertex
// Writes      state    tails[way], 0 before
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) queue_active(
        const u8* __restrict__ active, const u32* __restrict__ row_degree, const u64 count,
        const u64 way, u64* state, u64* queue) {
    const u64 vertex = thread_of_grid();
    const bool is_active = vertex < count && active[vertex];
    State* const left = reinterpret_cast<State*>(state);
    queue_vertices(is_active, static_cast<u32>(vertex), is_active ? row_degree[vertex] : 0,
                   &left->tails[way], queue);
}

// Mark the vertices of a queue as active.
//
// Launch      LEVEL_THREADS threads, a thread an item
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) mark_active(
        const u64* __restrict__ queue, const u64 items, u8* active) {
    const u64 at = thread_of_grid();
    if (at < items) active[static_cast<u32>(queue[at])] = 1;
}

// Send what the vertices of a queue send.
//
// Launch      LEVEL_THREADS threads; as many blocks as the device runs at once
// Writes      combined  Message by vertex, `neutral()` before
//             has       u32 by vertex: whether it was sent something
//             receivers u32, those vertices; their number is `received` of the state
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) push_messages(
        const i64* __restrict__ begin, const u32* __restrict__ degree,
        const u32* __restrict__ columns, const i64 step, const f32* __restrict__ narrow,
        const f64* __restrict__ wide, const i64* __restrict__ weight_begin,
        const Value* __restrict__ values, const i64* __restrict__ degrees,
        const u64* __restrict__ queue, const u64 items, const i64 superstep, const i64 num_vertices,
        Message* combined, u32* has, u64* state, u32* receivers) {
    const Rows rows{begin, degree, columns, step};
    const Weights weights{narrow, wide, weight_begin};
    const Told told{superstep, num_vertices, 0.0};
    State* const left = reinterpret_cast<State*>(state);
    for_entries<LEVEL_THREADS>(rows, queue, 0, items, [&](bool has_entry, const Entry& entry) {
        bool is_first = false;
        u32 target = 0;
        if (has_entry) {
            target = columns[entry.place];
            if (wants_value(values[target])) {
                f64 weight = 1.0;
                if constexpr (WEIGHTED) {
                    weight = weights.at(weights.of_row(entry.vertex) + entry.number * step);
                }
                const Message sent =
                    message_of(values[entry.vertex], weight, degrees[entry.vertex], told);
                if constexpr (STOPS) {
                    combined[target] = sent;
                } else {
                    combine_into(&combined[target], sent);
                }
                is_first = __ldcg(&has[target]) == 0 && atomicExch(&has[target], 1u) == 0;
            }
        }
        const u32 firsts = __ballot_sync(FULL_WARP, is_first);
        if (firsts) {
            u64 place = 0;
            if (lane_of_thread() == 0) place = atomicAdd(&left->received, u64(__popc(firsts)));
            place = __shfl_sync(FULL_WARP, place, 0);
            if (is_first) receivers[place + __popc(firsts & ((1u << lane_of_thread()) - 1))] = target;
        }
    });
}

// Have the vertices that were sent something take it, and queue those that become active.
//
// Launch      LEVEL_THREADS threads, a thread a vertex that was sent something
// Writes      combined, has   as before the push
//             state           size, entries, tails: 0 before
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) take_listed(
        const u32* __restrict__ receivers, const u64 count, const i64* __restrict__ degrees,
        const u32* __restrict__ row_degree, const u32* __restrict__ row_degree_2,
        const i64 superstep, const i64 num_vertices, Value* values, Message* combined, u32* has,
        u64* state, u64* queue, u64* queue_2) {
    State* const left = reinterpret_cast<State*>(state);
    const u64 at = thread_of_grid();
    bool is_active = false;
    u32 target = 0;
    i64 degree = 0;
    if (at < count) {
        target = receivers[at];
        degree = degrees[target];
        const Changed changed =
            vertex_of(values[target], combined[target], degree, superstep, num_vertices, 0.0);
        values[target] = static_cast<Value>(changed.value);
        is_active = changed.is_active;
        combined[target] = neutral();
        has[target] = 0;
    }
    count_active(is_active, degree, left);
    queue_vertices(is_active, target, is_active ? row_degree[target] : 0, &left->tails[0], queue);
    if (row_degree_2) {
        queue_vertices(is_active, target, is_active ? row_degree_2[target] : 0, &left->tails[1],
                       queue_2);
    }
}

// Messages of active vertices that are the same along all edges.
//
// Launch      LEVEL_THREADS threads, a thread a vertex
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) send_messages(
        const Value* __restrict__ values, const u8* __restrict__ active,
        const i64* __restrict__ degrees, const u64 count, const i64 superstep,
        const i64 num_vertices, const f64 total, Message* sent) {
    const u64 vertex = thread_of_grid();
    if (vertex >= count || !(OF_ALL || active[vertex])) return;
    sent[vertex] =
        message_of(values[vertex], 1.0, degrees[vertex], Told{superstep, num_vertices, total});
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

// Combine what neighbors send.
//
// Launch      LEVEL_THREADS threads, a thread a vertex
// Writes      combined, has   of vertices that are sent something; combined with what is there
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS, 4) pull_messages(
        const i64* __restrict__ begin, const u32* __restrict__ degree,
        const u32* __restrict__ columns, const i64 step, const f32* __restrict__ narrow,
        const f64* __restrict__ wide, const i64* __restrict__ weight_begin,
        const Value* __restrict__ values, const u8* __restrict__ active,
        const i64* __restrict__ degrees, const Message* __restrict__ sent, const u64 count,
        const i64 superstep, const i64 num_vertices, const f64 total, Message* combined, u32* has) {
    const Weights weights{narrow, wide, weight_begin};
    const Told told{superstep, num_vertices, total};
    const u64 vertex = thread_of_grid();
    const u32 lane = lane_of_thread();
    u32 length = 0;
    i64 row = 0, weight_row = 0;
    if (vertex < count && wants_value(values[vertex])) {
        length = degree[vertex];
        row = begin[vertex];
        if constexpr (WEIGHTED) weight_row = weights.of_row(vertex);
    }
    const auto add_entry = [&](Pulled& pulled, i64 first, i64 first_weight, u32 number) {
        const u32 source = columns[first + number * step];
        if (!(OF_ALL || active[source])) return;
        if constexpr (WEIGHTED) {
            const f64 weight = weights.at(first_weight + number * step);
            pulled.add(message_of(values[source], weight, degrees[source], told));
        } else {
            pulled.add(sent[source]);
        }
    };
    Pulled own{Message(0), false};
    if (length > 0 && has[vertex]) own = Pulled{combined[vertex], true};
    for (u32 i = 0; i < length && length <= SHORT_ROW; ++i) {
        add_entry(own, row, weight_row, i);
        if (STOPS && own.is_found) break;
    }
    u32 waiting = __ballot_sync(FULL_WARP, length > SHORT_ROW);
    while (waiting) {
        const int owner = __ffs(waiting) - 1;
        waiting &= waiting - 1;
        const u32 entries = __shfl_sync(FULL_WARP, length, owner);
        const i64 first = __shfl_sync(FULL_WARP, row, owner);
        const i64 first_weight = __shfl_sync(FULL_WARP, weight_row, owner);
        bool is_met = false;
        for (u32 piece = 0; piece < entries && !is_met; piece += PIECE) {
            Pulled pulled{Message(0), false};
            const u32 end = min(entries, piece + PIECE);
            for (u32 i = piece; i < end && !is_met; i += WARP) {
                if (i + lane < end) add_entry(pulled, first, first_weight, i + lane);
                if (STOPS) is_met = __any_sync(FULL_WARP, pulled.is_found);
            }
            for (u32 width = WARP / 2; width > 0; width /= 2) {
                const Message other = __shfl_down_sync(FULL_WARP, pulled.message, width);
                const bool has_other = __shfl_down_sync(FULL_WARP, static_cast<u32>(pulled.is_found), width);
                if (has_other && lane < width) pulled.add(other);
            }
            const Message whole = __shfl_sync(FULL_WARP, pulled.message, 0);
            const bool is_sent = __shfl_sync(FULL_WARP, static_cast<u32>(pulled.is_found), 0);
            if (is_sent && static_cast<int>(lane) == owner) own.add(whole);
        }
    }
    if (length > 0 && own.is_found) {
        combined[vertex] = own.message;
        has[vertex] = 1;
    }
}

// Have all vertices take what they were sent.
//
// Launch      LEVEL_THREADS threads, a warp for SUM_BLOCK vertices
// Writes      active   u8 by vertex
//             changes  f64 a block of vertices: by how much their values change; null: not asked for
//             state    size, entries: 0 before
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) take_all(
        const u8* __restrict__ present, const i64* __restrict__ degrees, const u64 count,
        const i64 superstep, const i64 num_vertices, const f64 total, Value* values,
        Message* combined, u32* has, u8* active, u64* state, f64* changes) {
    State* const left = reinterpret_cast<State*>(state);
    const u64 first = static_cast<u64>(thread_of_grid()) / WARP * SUM_BLOCK;
    if (first >= count) return;
    f64 change = 0.0;
    for (u64 at = first; at < first + SUM_BLOCK; at += WARP) {
        const u64 vertex = at + lane_of_thread();
        bool is_active = false;
        i64 degree = 0;
        if (vertex < count) {
            const bool is_sent = has[vertex] != 0;
            if ((is_sent || OF_ALL) && present[vertex]) {
                degree = degrees[vertex];
                const Value old = values[vertex];
                const Changed changed = vertex_of(old, is_sent ? combined[vertex] : identity(),
                                                  degree, superstep, num_vertices, total);
                const Value made = static_cast<Value>(changed.value);
                values[vertex] = made;
                is_active = changed.is_active;
                change += fabs(static_cast<f64>(made) - static_cast<f64>(old));
            }
            if (is_sent) {
                combined[vertex] = neutral();
                has[vertex] = 0;
            }
            active[vertex] = is_active;
        }
        count_active(is_active, degree, left);
    }
    if (!changes) return;
    for (u32 width = WARP / 2; width > 0; width /= 2) {
        change += __shfl_down_sync(FULL_WARP, change, width);
    }
    if (lane_of_thread() == 0) changes[first / SUM_BLOCK] = change;
}

// Sum up what vertices add to the total.
//
// Launch      LEVEL_THREADS threads, a warp for SUM_BLOCK vertices
// Writes      totals   f64 a block
extern "C" __global__ void __launch_bounds__(LEVEL_THREADS) add_up_totals(
        const u8* __restrict__ present, const Value* __restrict__ values,
        const i64* __restrict__ degrees, const u64 count, const i64 superstep,
        const i64 num_vertices, f64* totals) {
    const u64 first = static_cast<u64>(thread_of_grid()) / WARP * SUM_BLOCK;
    if (first >= count) return;
    f64 sum = 0.0;
    for (u64 vertex = first + lane_of_thread(); vertex < min(first + SUM_BLOCK, count); vertex += WARP) {
        if (present[vertex]) {
            sum += total_of(values[vertex], degrees[vertex], superstep, num_vertices, 0.0);
        }
    }
    for (u32 width = WARP / 2; width > 0; width /= 2) sum += __shfl_down_sync(FULL_WARP, sum, width);
    if (lane_of_thread() == 0) totals[first / SUM_BLOCK] = sum;
}
