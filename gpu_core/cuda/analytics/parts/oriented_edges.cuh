// oriented_edges.cuh -- oriented edges: the undirected simple graph with each edge once.
//
// Order       (degree, index): no vertex has more than sqrt(2 m) targets.
// Encoding    a row of targets is one u64: where it begins << 24 | how long it is; targets stand in
//             no order. A target of a directed graph has bit 31 where the edge goes both ways, so
//             there are fewer than 2^31 vertices.
#pragma once
#include "block.cuh"

constexpr u32 MUTUAL = 0x80000000u;
constexpr u32 INDEX = ~MUTUAL;
constexpr int LENGTH_BITS = 24;
constexpr u64 LENGTH_MASK = (1u << LENGTH_BITS) - 1;

__device__ __forceinline__ u32 length_of(u64 row) { return static_cast<u32>(row & LENGTH_MASK); }
__device__ __forceinline__ i64 start_of(u64 row) { return static_cast<i64>(row >> LENGTH_BITS); }
