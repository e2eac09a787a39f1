// watts_alpha.cuh -- a growing graph of Watts' alpha model: its memory, random draws and edges.
//
// Host twin   gpu_core/generators/watts_alpha_kernels.py: same draws from the same words, and doubles
//             that are added up in the same order, so the same graph
// Rows        row v is columns[begin[v] … begin[v] + degree[v]); it has room for room[v], 0 or a power
//             of two from 4 on. A row that is full moves to a run of twice its room
// Memory      runs come from the free ones of their size (a stack a size, linked by their first
//             words), else from the bump mark; the run that a row has left is free. One thread takes
//             them, as there is one edge at a time. Or the host hands them out: then a launch ends
//             where a row is full, and nothing of its last choice is kept
#pragma once
#include "block.cuh"

// Words of the state; all are u64. Twin: watts_alpha.py.
constexpr int STATE_MADE = 0;    // edges so far
constexpr int STATE_CHOICE = 1;    // number of the next choice
constexpr int STATE_TAKEN = 2;   // the bump mark, in words of `columns`
constexpr int STATE_FULL = 3;    // the host is to allocate memory: 1 for STATE_ENDS, 2 for the word after
constexpr int STATE_ENDS = 4;    // the edge that there is no room for
constexpr int STATE_TICKET = 6;  // `is_last_block`, in its lower half

struct Model {
    i64* begin;                // [count]
    u32* degree;               // [count]
    u32* room;                 // [count]
    u32* columns;              //
    i64* free_runs;            // [64], by binary logarithm of their room: first of the stack, -1: none
    u32* src;                  // [edges]
    u32* dst;                  // [edges]
    const u32* order;          // [count] the order in which vertices choose in this round
    const double* propensity;  // [classes] by common neighbors; the last one is of more, too
    u64* sizes;                // [classes], 0 between choices: vertices by common neighbors
    u64* state;
    i64 count;
    i64 edges;
    i64 classes;
    i64 first_choice;  // of this round
    i64 start;       // of the stream of words that choices are drawn from
    i64 first_room;  // of a row that has its first neighbor; 0: the host allocates memory
};

// --- draws ------------------------------------------------------------------------------------------

// `counter_random.random_words` of one number.
__device__ __forceinline__ u64 word_of(u64 start, u64 number) {
    u64 mixed = (number + 1) * 0x9E3779B97F4A7C15ull + start;
    mixed ^= mixed >> 30;
    mixed *= 0xBF58476D1CE4E5B9ull;
    mixed ^= mixed >> 27;
    mixed *= 0x94D049BB133111EBull;
    return mixed ^ (mixed >> 31);
}

// A uniform draw from 0 to `size` - 1.
__device__ __forceinline__ u64 drawn_rank(const Model& m, u64 choice, u64 size) {
    return ((word_of(m.start, 2 * choice + 1) >> 32) * size) >> 32;
}

// Draw the number of common neighbors by `sizes`, which are seen by all blocks; -1: there is none.
//
// All threads of the block call. Shares are added up one by one, in order: that is what the host does.
template <int SIZE>
__device__ __forceinline__ i64 drawn_class(const Model& m, u64 choice) {
    __shared__ double shares[SIZE];
    __shared__ double total, upto;
    __shared__ i64 last, found;
    if (threadIdx.x == 0) {
        total = upto = 0.0;
        last = found = -1;
    }
    for (int pass = 0; pass < 2; ++pass) {
        for (i64 tile = 0; tile < m.classes; tile += SIZE) {
            const i64 at = tile + threadIdx.x;
            __syncthreads();
            if (at < m.classes) {
                shares[threadIdx.x] = static_cast<double>(__ldcg(&m.sizes[at])) * m.propensity[at];
            }
            __syncthreads();
            if (threadIdx.x > 0) continue;
            const i64 here = min(i64(SIZE), m.classes - tile);
            if (pass == 0) {
                for (i64 i = 0; i < here; ++i) total += shares[i];
                continue;
            }
            const u64 word = word_of(m.start, 2 * choice);
            const double draw = static_cast<double>(word >> 11) * (1.0 / 9007199254740992.0) * total;
            for (i64 i = 0; i < here && found < 0 && total > 0.0; ++i) {
                // Propensities are above 0, so a share is 0 where there are no vertices.
                if (shares[i] == 0.0) continue;
                upto += shares[i];
                last = tile + i;
                if (draw < upto) found = last;
            }
        }
    }
    __syncthreads();
    // Sums that round may leave the draw after all shares.
    const i64 answer = found < 0 ? last : found;
    __syncthreads();
    return answer;
}

// --- memory -----------------------------------------------------------------------------------------

// The runs of the free list that have this room; rooms are powers of two.
__device__ __forceinline__ i64* free_runs_of(const Model& m, u32 room) {
    return &m.free_runs[31 - __clz(room)];
}

// Take a run, by one thread.
__device__ __forceinline__ i64 take_run(const Model& m, u32 room) {
    i64* const first = free_runs_of(m, room);
    const i64 run = *first;
    if (run >= 0) {
        *first = *reinterpret_cast<const i64*>(m.columns + run);
        return run;
    }
    const u64 taken = m.state[STATE_TAKEN];
    m.state[STATE_TAKEN] = taken + room;
    return static_cast<i64>(taken);
}

__device__ __forceinline__ void give_back_run(const Model& m, i64 run, u32 room) {
    i64* const first = free_runs_of(m, room);
    *reinterpret_cast<i64*>(m.columns + run) = *first;
    *first = run;
}

// Move a row to another run, by a whole warp.
__device__ __forceinline__ void move_row(const Model& m, u32 vertex, i64 run, u32 room) {
    const i64 from = m.begin[vertex];
    const u32 size = m.degree[vertex];
    for (u32 i = lane_of_thread(); i < size; i += WARP) m.columns[run + i] = m.columns[from + i];
    __syncwarp();
    if (lane_of_thread() == 0) {
        m.begin[vertex] = run;
        m.room[vertex] = room;
    }
    __syncwarp();
}

__device__ __forceinline__ void add_neighbor(const Model& m, u32 vertex, u32 other) {
    const u32 size = m.degree[vertex], before = m.room[vertex];
    __syncwarp();  // all have read what the first lane is going to write
    if (size == before) {
        const u32 room = before ? 2 * before : static_cast<u32>(m.first_room);
        const i64 from = m.begin[vertex];
        i64 run = 0;
        if (lane_of_thread() == 0) run = take_run(m, room);
        run = __shfl_sync(FULL_WARP, run, 0);
        move_row(m, vertex, run, room);
        if (lane_of_thread() == 0 && before) give_back_run(m, from, before);
    }
    if (lane_of_thread() == 0) {
        m.columns[m.begin[vertex] + size] = other;
        m.degree[vertex] = size + 1;
    }
    __syncwarp();
}

// Make two vertices neighbors and go on to the next choice, by a whole warp; `other` < 0: there is none.
//
// Where the host allocates memory and a row is full, nothing is done but to say so.
__device__ __forceinline__ void add_edge(const Model& m, u32 vertex, i64 other) {
    const bool is_first = lane_of_thread() == 0;
    if (other >= 0) {
        const u32 chosen = static_cast<u32>(other);
        if (m.first_room == 0) {
            const u32 full = (m.degree[vertex] == m.room[vertex] ? 1 : 0) |
                             (m.degree[chosen] == m.room[chosen] ? 2 : 0);
            if (full) {
                if (is_first) {
                    m.state[STATE_ENDS] = vertex;
                    m.state[STATE_ENDS + 1] = chosen;
                    m.state[STATE_FULL] = full;
                }
                return;
            }
        }
        add_neighbor(m, vertex, chosen);
        add_neighbor(m, chosen, vertex);
        if (is_first) {
            const u64 made = m.state[STATE_MADE];
            m.src[made] = vertex;
            m.dst[made] = chosen;
            m.state[STATE_MADE] = made + 1;
        }
    }
    if (is_first) m.state[STATE_CHOICE] += 1;
}

// Whether there is another edge to make in this round.
__device__ __forceinline__ bool goes_on(const Model& m) {
    return __ldcg(&m.state[STATE_FULL]) == 0 && __ldcg(&m.state[STATE_MADE]) < u64(m.edges) &&
           __ldcg(&m.state[STATE_CHOICE]) < u64(m.first_choice + m.count);
}
