// program_run.cuh -- state and arrays of a run of a program, and sums over vertices.
//
// Needs       what a program defines: programs.cuh lists it
//
// Run         where it stands is a `State`; after each superstep one thread makes up how the next one is
//             to be run (`end_superstep`), so that the host need not know. A launch that finds another
//             mode chosen than its own ends at once.
// Sums        over vertices in blocks of SUM_BLOCK, one a warp, and over the blocks likewise, in the order
//             that gpu_core/programs/run.py says, the same as on the host
#pragma once
#include "frontier.cuh"

constexpr u64 SUM_BLOCK = 1024;

// How the next superstep is run.
constexpr u64 ENDED = 0;
constexpr u64 PUSHED = 1;
constexpr u64 PULLED = 2;

struct State {
    // Of the superstep that is being run: vertices that become active, the edges that they send along,
    // ends of the queues of the two directions, and vertices that were sent something.
    u64 next_size;
    u64 next_entries;
    u64 next_tails[2];
    u64 received;
    // Those that are active, as of the superstep before.
    u64 size;
    u64 entries;
    u64 tails[2];
    // Which of two queues has them, and how they send.
    u64 side;
    u64 mode;
    i64 superstep;
    u64 pulled;
    // By how much the superstep before has changed all values; what they add up to.
    f64 changed;
    f64 total;
    u64 ticket;
};

// What a run works on, by vertex unless it says otherwise, and when it ends.
struct Run {
    State* state;
    Value* values;
    u8* active;           // vertices that send, where the next superstep is pulled
    const i64* degrees;   // edges that a vertex sends along, in all directions
    const u8* present;
    Message* combined;    // `neutral()` where nothing was sent
    u32* has;             // whether something was
    Message* sent;        // of programs that do not look at weights
    u32* receivers;       // vertices that were sent something by pushes
    u64* queues;          // of `queue_items`: two halves for each direction
    f64* changes;         // by block of vertices, twice as many; null: not computed
    f64* totals;          // likewise
    u64 queue_items;
    u64 directions;
    u64 count;
    i64 num_vertices;
    u64 all_entries;
    u64 share;            // a superstep is pulled where active edges times this are more than all; 0: never
    u64 may_push;
    i64 most;             // supersteps; -1: any number
    f64 tolerance;

    __device__ __forceinline__ u64* queue(u64 side, u64 direction) const {
        return queues + (side * directions + direction) * queue_items;
    }
    __device__ __forceinline__ u64 mode() const { return __ldcg(&state->mode); }
};

// Arguments that are the same for all vertices.
struct Context {
    i64 superstep;
    i64 num_vertices;
    f64 total;

    explicit __device__ __forceinline__ Context(const Run& run)
        : superstep(__ldcg(&run.state->superstep)), num_vertices(run.num_vertices),
          total(__ldcg(&run.state->total)) {}
};

__device__ __forceinline__ Message message_of(Value value, f64 weight, i64 degree, const Context& context) {
    const Message sent = static_cast<Message>(
        edge_of(value, weight, degree, context.superstep, context.num_vertices, context.total));
    // Then both zeros are one, and which of them comes first makes no difference.
    return sent + Message(0);
}

// Have a vertex take a message; returns whether it is active.
__device__ __forceinline__ bool take(const Run& run, u64 vertex, Value old, Message message, i64 degree,
                                     const Context& context, Value& made) {
    const Changed changed =
        vertex_of(old, message, degree, context.superstep, context.num_vertices, context.total);
    made = static_cast<Value>(changed.value);
    run.values[vertex] = made;
    return changed.is_active;
}

// Make the vertices that have become active the senders. One thread calls, after all others.
__device__ __forceinline__ void end_superstep(const Run& run) {
    State* const state = run.state;
    state->pulled += state->mode == PULLED;
    state->size = __ldcg(&state->next_size);
    state->entries = __ldcg(&state->next_entries);
    state->next_size = state->next_entries = state->received = 0;
    for (u32 direction = 0; direction < 2; ++direction) {
        state->tails[direction] = __ldcg(&state->next_tails[direction]);
        state->next_tails[direction] = 0;
    }
    state->side ^= 1;
    state->superstep += 1;
    // Values that hardly change leave no vertex active.
    if (state->superstep > 0 && state->changed <= run.tolerance) state->size = state->entries = 0;
    if (state->size == 0 || state->superstep == run.most) {
        state->mode = ENDED;
    } else {
        state->mode = !run.may_push || state->entries * run.share > run.all_entries ? PULLED : PUSHED;
    }
}

// Vertices that this thread has found to become active, and the edges that they send along.
struct Activated {
    u32 size = 0;
    u64 entries = 0;

    __device__ __forceinline__ void count(bool is_active, i64 degree) {
        if (!is_active) return;
        size += 1;
        entries += static_cast<u64>(degree);
    }

    // Add those of the warp to the state: once, for all warps write to the same words. All lanes call.
    __device__ __forceinline__ void add_to(State* state) const {
        if (!__any_sync(FULL_WARP, size > 0)) return;
        const u32 whole_size = warp_sum(size);
        const u64 whole_entries = warp_sum(entries);
        if (lane_of_thread() > 0) return;
        atomicAdd(&state->next_size, u64(whole_size));
        atomicAdd(&state->next_entries, whole_entries);
    }
};

// Vertices that a thread looks at together. Where it has none left, `has` is false and the vertex one of
// others, which may be read in vain: a read that waits for no condition is on its way sooner.
constexpr int VERTICES_AT_ONCE = 4;
struct Vertices {
    u64 at[VERTICES_AT_ONCE];
    bool has[VERTICES_AT_ONCE];
};

// Block of a sum that this warp has.
__device__ __forceinline__ u64 sum_block_of_warp() { return static_cast<u64>(thread_of_grid()) / WARP; }

// Call visit(vertices) for all vertices of that block. A lane has each WARP-th, in their order.
template <class Visit>
__device__ __forceinline__ void for_sum_block(u64 count, Visit visit) {
    const u64 block = sum_block_of_warp();
    const u64 end = min(count, (block + 1) * SUM_BLOCK);
    for (u64 first = block * SUM_BLOCK; first < end; first += VERTICES_AT_ONCE * WARP) {
        Vertices vertices;
#pragma unroll
        for (int i = 0; i < VERTICES_AT_ONCE; ++i) {
            const u64 at = first + i * WARP + lane_of_thread();
            vertices.has[i] = at < end;
            vertices.at[i] = min(at, end - 1);
        }
        visit(vertices);
    }
}

// Sum of the sums of blocks, in thread 0: in blocks again, until one is left. The last block calls.
//
// `sums` has room for twice `count`.
__device__ __forceinline__ f64 sum_of_blocks(f64* sums, u64 count) {
    while (count > 1) {
        f64* const made = sums + count;
        const u64 blocks = (count + SUM_BLOCK - 1) / SUM_BLOCK;
        for (u64 block = warp_of_thread(); block < blocks; block += THREADS / WARP) {
            const u64 end = min(count, (block + 1) * SUM_BLOCK);
            f64 sum = 0.0;
            for (u64 at = block * SUM_BLOCK + lane_of_thread(); at < end; at += WARP) {
                sum += __ldcg(&sums[at]);
            }
            sum = warp_sum(sum);
            if (lane_of_thread() == 0) made[block] = sum;
        }
        __syncthreads();
        sums = made;
        count = blocks;
    }
    return __ldcg(&sums[0]);
}
