// row_arguments.cuh -- adjacency lists, and the weights of their entries, as kernels are given them.
//
// Caller      gpu_core/cuda/analytics/parts/row_arguments.py
// Reads       by __ldg: no kernel that is given rows writes to them, which a struct cannot say of its arrays
#pragma once
#include "block.cuh"
#include "floats.cuh"

// `Rows` of gpu_core/rows.py: adjacency lists of one direction.
struct Rows {
    const i64* begin;    // i64[rows]
    const u32* degree;   // u32[rows]
    const u32* columns;  // neighbor i of row v is columns[begin[v] + i * step], i < degree[v]
    i64 step;

    __device__ __forceinline__ u32 neighbor(i64 row, i64 i) const {
        return __ldg(&columns[__ldg(&begin[row]) + i * step]);
    }
};

// Adjacency lists of both directions.
struct BothWays {
    Rows out;
    Rows into;

    __device__ __forceinline__ const Rows& of(u64 direction) const { return direction ? into : out; }
};

// Rows of one direction, and the weights of their entries: float32, float64, or neither: 1.
struct WeightedRows {
    Rows rows;
    const float* narrow;
    const double* wide;
    const i64* weight_begin;  // i64[rows]: weight i of row v is at weight_begin[v] + i * step

    __device__ __forceinline__ bool has_weights() const { return narrow || wide; }
    __device__ __forceinline__ i64 weights_of(i64 row) const {
        return weight_begin ? __ldg(&weight_begin[row]) : 0;
    }
    // The weight at a position.
    __device__ __forceinline__ double weight_at(i64 position) const {
        if (wide) return __ldg(&wide[position]);
        return narrow ? widened(__ldg(&narrow[position])) : 1.0;
    }
    __device__ __forceinline__ double weight(i64 row, i64 i) const {
        return weight_at(weights_of(row) + i * rows.step);
    }
};

// Edges that a vertex has in one direction (`second_degree` null), or in two.
__device__ __forceinline__ i64 degree_of(u32 vertex, const u32* degree, const u32* second_degree) {
    return static_cast<i64>(degree[vertex]) + (second_degree ? second_degree[vertex] : 0u);
}
