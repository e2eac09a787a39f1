// pulled_messages.cuh -- what the neighbors of a vertex send it, read along its row.
//
// Needs       what a program defines: programs.cuh lists it
//
// A row of up to SHORT_ROW entries is read by the thread of its vertex, one of up to PIECE by the warp, a
// longer one, a piece a warp, by the block. The order in which messages are combined is that of
// gpu_core/programs/run.py, the same as on the host.
#pragma once
#include "program_run.cuh"

// Entries that a thread asks for before it looks at the first: one where one message is enough.
constexpr int AT_ONCE = STOPS ? 1 : WEIGHTED ? 4 : 6;

// Messages that have come so far.
struct Pulled {
    Message message;
    bool is_found;

    __device__ __forceinline__ void add(Message other) {
        message = is_found ? both(message, other) : other;
        is_found = true;
    }
};

// Where the row of a vertex begins, and how long it is.
struct RowStart {
    i64 first;
    i64 first_weight;
    u32 length;

    __device__ __forceinline__ RowStart(i64 first, i64 first_weight, u32 length)
        : first(first), first_weight(first_weight), length(length) {}
    __device__ __forceinline__ RowStart(const WeightedRows& along, u64 at, u32 length)
        : RowStart(along.rows.begin[at], 0, length) {
        if constexpr (WEIGHTED) first_weight = along.weights_of(at);
    }
};

// What vertices send, of whom nothing is written meanwhile.
struct Senders {
    const Value* values;
    const u8* active;
    const i64* degrees;
    const Message* sent;  // of programs that do not look at weights
    const Context& context;

    // Add what is sent along AT_ONCE entries, `stride` apart from `number` on and before `end`.
    __device__ __forceinline__ void add_entries(const WeightedRows& along, const RowStart& row, u32 number,
                                                u32 end, u32 stride, Pulled& pulled) const {
        u32 sources[AT_ONCE];
        bool sends[AT_ONCE];
        Message messages[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const u32 at = number + i * stride;
            sends[i] = at < end;
            if (sends[i]) sources[i] = __ldg(&along.rows.columns[row.first + at * along.rows.step]);
        }
        if constexpr (!OF_ALL) {
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) sends[i] = sends[i] && __ldg(&active[sources[i]]);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (!sends[i]) continue;
            const u32 source = sources[i];
            if constexpr (WEIGHTED) {
                const i64 position = row.first_weight + (number + i * stride) * along.rows.step;
                messages[i] = message_of(__ldg(&values[source]), along.weight_at(position),
                                         __ldg(&degrees[source]), context);
            } else {
                messages[i] = __ldg(&sent[source]);
            }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (sends[i]) pulled.add(messages[i]);
        }
    }

    // What a piece of a row is sent, in lane 0. The whole warp calls.
    __device__ __forceinline__ Pulled of_piece(const WeightedRows& along, const RowStart& row, u32 piece) const {
        const u32 lane = lane_of_thread(), end = min(row.length, piece + PIECE);
        Pulled pulled{Message(0), false};
        for (u32 i = piece; i < end; i += AT_ONCE * WARP) {
            add_entries(along, row, i + lane, end, WARP, pulled);
            if (STOPS && __any_sync(FULL_WARP, pulled.is_found)) break;
        }
        for (u32 width = WARP / 2; width > 0; width /= 2) {
            const Message other = __shfl_down_sync(FULL_WARP, pulled.message, width);
            const bool has_other = __shfl_down_sync(FULL_WARP, static_cast<u32>(pulled.is_found), width);
            if (has_other && lane < width) pulled.add(other);
        }
        return pulled;
    }
};

// Add to `own` what the row of this thread's vertex is sent, if it is short.
__device__ __forceinline__ void pull_short_row(const Senders& senders, const WeightedRows& near,
                                               const RowStart& row, Pulled& own) {
    if (row.length > SHORT_ROW) return;
    for (u32 i = 0; i < row.length; i += AT_ONCE) {
        senders.add_entries(near, row, i, row.length, 1, own);
        if (STOPS && own.is_found) return;
    }
}

// The same if it is long, and of one piece. The whole warp calls.
__device__ __forceinline__ void pull_rows_by_warp(const Senders& senders, const WeightedRows& along,
                                                  const RowStart& row, Pulled& own) {
    u32 waiting = __ballot_sync(FULL_WARP, row.length > SHORT_ROW && row.length <= PIECE);
    while (waiting) {
        const int owner = __ffs(waiting) - 1;
        waiting &= waiting - 1;
        const RowStart read(__shfl_sync(FULL_WARP, row.first, owner),
                            __shfl_sync(FULL_WARP, row.first_weight, owner),
                            __shfl_sync(FULL_WARP, row.length, owner));
        const Pulled pulled = senders.of_piece(along, read, 0);
        const Message whole = __shfl_sync(FULL_WARP, pulled.message, 0);
        const bool is_sent = __shfl_sync(FULL_WARP, static_cast<u32>(pulled.is_found), 0);
        if (is_sent && static_cast<int>(lane_of_thread()) == owner) own.add(whole);
    }
}

// The same if it is of several pieces; one warp would read a hub alone. All threads of the block call.
__device__ __forceinline__ void pull_rows_by_block(const Senders& senders, const WeightedRows& along,
                                                   const RowStart& row, Pulled& own) {
    constexpr u32 WARPS = THREADS / WARP;
    struct Shared {
        i64 first;
        i64 first_weight;
        u32 length;
        u32 owner;
    };
    __shared__ Shared rows[THREADS];
    __shared__ u32 count;
    __shared__ Pulled parts[WARPS];
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (row.length > PIECE) {
        rows[atomicAdd(&count, 1u)] = {row.first, row.first_weight, row.length, threadIdx.x};
    }
    __syncthreads();
    for (u32 number = 0; number < count; ++number) {
        const Shared shared = rows[number];
        const RowStart read(shared.first, shared.first_weight, shared.length);
        bool is_met = false;
        for (u32 piece = 0; piece < read.length && !is_met; piece += WARPS * PIECE) {
            const Pulled pulled = senders.of_piece(along, read, piece + warp_of_thread() * PIECE);
            if (lane_of_thread() == 0) parts[warp_of_thread()] = pulled;
            __syncthreads();
            for (const Pulled& part : parts) {
                if (part.is_found && threadIdx.x == shared.owner) own.add(part.message);
                is_met = is_met || (STOPS && part.is_found);
            }
            __syncthreads();
        }
    }
}
