// for_vertices.cuh -- an operator over the vertices of a frontier: it writes their state, or filters them.
//
// Included    by texts that operator_text.py writes, after what they define
// Caller      gpu_core/cuda/analytics/programs/operators.py
// Host twin   gpu_core/host/analytics/programs/vertex_kernels.py: the same values, bit for bit
//
// Needs       Arguments arrays that the function reads, numbers, and arrays that it writes
//             visit    writes what the function returns; returns whether the vertex stays
//             FILTERS  constexpr bool: whether the vertices that stay are listed
//
// Order       a vertex is its own thread's, and a frontier has it once
#pragma once
#include "frontier.cuh"

// Launch      THREADS threads, any number of blocks
// Reads       degree, second_degree  in one direction or two; null: there is one
// Writes      kept  u32[size]: vertices that stay, in whatever order; `tail`, 0 before: how many
extern "C" __global__ void __launch_bounds__(THREADS) visit_vertices(
        const Arguments arguments, const u32* __restrict__ degree, const u32* __restrict__ second_degree,
        const u32* __restrict__ frontier, const u64 size, u64* tail, u32* __restrict__ kept) {
    for_vertices<THREADS>(size, [&](bool has_vertex, u64 at) {
        bool is_kept = false;
        u32 vertex = 0;
        if (has_vertex) {
            vertex = frontier[at];
            is_kept = visit(arguments, vertex, degree_of(vertex, degree, second_degree));
        }
        if constexpr (FILTERS) append_vertices(is_kept, vertex, tail, kept);
    });
}
