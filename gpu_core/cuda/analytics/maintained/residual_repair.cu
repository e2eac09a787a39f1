// residual_repair.cu -- residuals of maintained ranks follow a batch: vertices whose rows it may change take back what
// they have passed on, and pass on again what they have then.
//
// Caller      gpu_core/cuda/analytics/maintained/residual_repair.py
// Formulas    pushed_ranks.cu: r and y are whole numbers, so these residuals are those that are computed from
//             nothing, to the bit
// Launches    before the batch take_back_of_indices or take_back_of_ids; after it pass_on; at the next request
//             push_rounds (pushed_ranks.cu), then put_degrees
//
// Source: Zhang, Lofgren, Goel, "Approximate Personalized PageRank on Dynamic Graphs", KDD 2016.
#include "dictionary.cuh"
#include "pushed_ranks.cuh"

constexpr int TAKE_THREADS = 512;
constexpr int REPAIR_THREADS = 256;
// Blocks of pass_on that share a row: of a long one each has every so-manieth part of REPAIR_THREADS entries.
constexpr u32 ROW_BLOCKS = 8;
constexpr i64 STATE_WORDS = sizeof(State) / sizeof(u64);

// Vertices whose rows a batch may change, each once.
struct Sources {
    u32* listed;
    u64* number;      // of them; 0 before the batch
    u32* marks;       // u32[n]: the last batch that has listed a vertex
    i64 batch;        // its number, not 0
    u64* state;       // State, which is emptied
    i64* masses;      // y
    i64* residuals;
    double alpha;
};

// Vertices of a batch that are there, and may have other rows after it, are listed, and take back what they have
// passed on along their rows.
//
// Launch      TAKE_THREADS threads; a block for each row of the lists, as many as there is room for, and, of an
//             undirected graph, for each entry. While it runs the host gets the batch ready
// Reads       row_counts  u32, rows that there are
template <class Id, class IndexOf>
__device__ __forceinline__ void take_back(const u32* image, const Shape& shape, const Lists<Id>& lists,
                                          const u32* put_row_count, const u32* delete_row_count, bool is_directed,
                                          const Sources& sources, IndexOf index_of) {
    __shared__ i64 own;
    if (threadIdx.x < STATE_WORDS && blockIdx.x == 0) sources.state[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        i64 number = blockIdx.x, vertex = shape.vertex_count;
        const auto takes = [&](const Id* ids, i64 room, i64 count) {
            if (number >= 0 && number < min(room, count)) vertex = index_of(ids[number]);
            number -= room;
        };
        takes(lists.put_rows, lists.put_row_count, lists.put_row_count ? *put_row_count : 0);
        takes(lists.delete_rows, lists.delete_row_count, lists.delete_row_count ? *delete_row_count : 0);
        if (!is_directed) {
            takes(lists.put_columns, lists.puts, lists.puts);
            takes(lists.delete_columns, lists.deletes, lists.deletes);
        }
        own = -1;
        if (vertex < shape.vertex_count && image[record_of(shape, vertex)] & PRESENT_BIT) {
            const u32 batch = static_cast<u32>(sources.batch);
            if (atomicExch(&sources.marks[vertex], batch) != batch) own = vertex;
        }
        if (own >= 0) sources.listed[atomicAdd(sources.number, u64(1))] = static_cast<u32>(vertex);
    }
    __syncthreads();
    if (own < 0) return;
    const Adjacency row = open_adjacency(image, shape, own);
    const double share = share_of(sources.masses[own], static_cast<u32>(row.degree), sources.alpha);
    const u64 change = static_cast<u64>(-__double2ll_rn(share));
    for (i64 i = threadIdx.x; i < row.degree; i += TAKE_THREADS) {
        atomicAdd(reinterpret_cast<u64*>(&sources.residuals[image[row.base + i * row.step]]), change);
    }
}

extern "C" __global__ void __launch_bounds__(TAKE_THREADS) take_back_of_indices(
        const u32* __restrict__ image, const Shape shape, const Lists<u32> lists, const u32* put_row_count,
        const u32* delete_row_count, const i64 is_directed, const Sources sources) {
    take_back(image, shape, lists, put_row_count, delete_row_count, is_directed != 0, sources,
              [](u32 index) { return i64(index); });
}

// The same of users' ids.
//
// Reads       slots, ids  of the dictionary
extern "C" __global__ void __launch_bounds__(TAKE_THREADS) take_back_of_ids(
        const u32* __restrict__ image, const Shape shape, const Lists<i64> lists, const u32* put_row_count,
        const u32* delete_row_count, const i64 is_directed, const Sources sources,
        const u32* __restrict__ slots, const i64 slot_count, const i64* __restrict__ ids) {
    const Dictionary table = open_dictionary(slots, slot_count, ids);
    take_back(image, shape, lists, put_row_count, delete_row_count, is_directed != 0, sources, [&](i64 id) {
        const i64 own[1] = {id};
        u32 found[1] = {NONE};
        if (slot_count >= 2) look_up_ids(table, own, found);
        return i64(found[0]);
    });
}

// Listed vertices begin as first_mass has it, and pass on along their rows after the batch.
//
// Launch      REPAIR_THREADS threads; blocks share the listed vertices
// Writes      masses, residuals; state, which is empty: b, the sum of y, and that residuals are to be measured
extern "C" __global__ void __launch_bounds__(REPAIR_THREADS) pass_on(
        const u32* __restrict__ image, const Shape shape, const u32* __restrict__ listed,
        const u64* __restrict__ number, const double alpha, const Earlier earlier, const i64 base, const i64 mass,
        i64* __restrict__ masses, i64* __restrict__ residuals, u64* words) {
    State* const state = state_in(words);
    if (thread_of_grid() == 0) {
        state->is_based = 1;
        state->base = base;
        state->round.measures = 1;
        atomicAdd(&state->masses[MASS], static_cast<u64>(mass));
    }
    const i64 items = static_cast<i64>(*number) * ROW_BLOCKS;
    for (i64 item = blockIdx.x; item < items; item += gridDim.x) {
        const i64 vertex = listed[item / ROW_BLOCKS], part = item % ROW_BLOCKS;
        const Adjacency row = open_adjacency(image, shape, vertex);
        const u32 edges = static_cast<u32>(row.degree);
        const u32 first = static_cast<u32>(part) * REPAIR_THREADS;
        if (part > 0 && first >= edges) continue;
        const i64 begun = first_mass(earlier, vertex, edges);
        if (part == 0 && threadIdx.x == 0) {
            // What y was, `masses` has as well: it is computed from the earlier rank exactly.
            const u64 more = static_cast<u64>(begun - earlier_mass(earlier, vertex));
            masses[vertex] = begun;
            atomicAdd(reinterpret_cast<u64*>(&residuals[vertex]), u64(0) - more);
            atomicAdd(&state->masses[MASS], more);
        }
        const u64 change = static_cast<u64>(__double2ll_rn(share_of(begun, edges, alpha)));
        const u32* const entries = image + row.base;
        for (u32 i = first + threadIdx.x; i < edges; i += ROW_BLOCKS * REPAIR_THREADS) {
            atomicAdd(reinterpret_cast<u64*>(&residuals[entries[i * row.step]]), change);
        }
    }
}

// Degrees of listed vertices after the batch.
//
// Launch      blocks share the listed vertices
extern "C" __global__ void __launch_bounds__(REPAIR_THREADS) put_degrees(
        const u32* __restrict__ image, const Shape shape, const u32* __restrict__ listed,
        const u64* __restrict__ number, u32* __restrict__ degrees) {
    const i64 all = static_cast<i64>(*number);
    for (i64 i = thread_of_grid(); i < all; i += threads_of_grid()) {
        degrees[listed[i]] = static_cast<u32>(open_adjacency(image, shape, listed[i]).degree);
    }
}
