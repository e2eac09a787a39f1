// message_rows.cuh -- rows that messages follow, with the weights of their entries.
//
// Twin        `_MESSAGE_ROWS` in gpu_core/cuda/analytics/programs/message_rows.py
#pragma once
#include "floats.cuh"
#include "frontier.cuh"

// Rows of one direction, and the weights of their entries: float32, float64, or neither: 1.
struct MessageRows {
    Rows rows;
    const f32* narrow;
    const f64* wide;
    const i64* weight_begin;

    __device__ __forceinline__ i64 weights_of(u64 vertex) const {
        return weight_begin ? weight_begin[vertex] : 0;
    }

    __device__ __forceinline__ f64 weight(i64 position) const {
        if (wide) return wide[position];
        return narrow ? widened(narrow[position]) : 1.0;
    }

    __device__ __forceinline__ f64 weight_of(const Entry& entry) const {
        return weight(weights_of(entry.vertex) + entry.number * rows.step);
    }
};

// Edges that a vertex has in one direction, or in two.
__device__ __forceinline__ i64 degree_of(u32 vertex, const u32* degree, const u32* second_degree) {
    return static_cast<i64>(degree[vertex]) + (second_degree ? second_degree[vertex] : 0u);
}
