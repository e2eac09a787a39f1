// in_order.cu -- values by vertex index, put in an order of vertices; and the other way round.
//
// Caller      gpu_core/cuda/analytics/in_order.py
#include "block.cuh"

template <class Value>
__device__ __forceinline__ void take(const u32* order, i64 position, const void* values, void* taken) {
    static_cast<Value*>(taken)[position] = static_cast<const Value*>(values)[order[position]];
}

// The values of the vertices of an order.
//
// Launch      one thread a vertex
// Reads       order   u32[count], vertex indices
//             values  of `bytes` each, 1, 4 or 8, by vertex index
// Writes      taken   likewise [count]
extern "C" __global__ void take_values(const u32* __restrict__ order, const i64 count, const i64 bytes,
                                       const void* __restrict__ values, void* __restrict__ taken) {
    const i64 position = thread_of_grid();
    if (position >= count) return;
    switch (bytes) {
        case 1: return take<u8>(order, position, values, taken);
        case 4: return take<u32>(order, position, values, taken);
        default: return take<u64>(order, position, values, taken);
    }
}

template <class Value>
__device__ __forceinline__ void put(const u32* order, i64 position, const void* values, void* by_index) {
    static_cast<Value*>(by_index)[order[position]] = static_cast<const Value*>(values)[position];
}

// Values in an order of vertices, put where the index of each says.
//
// Launch      one thread a vertex
// Reads       order   u32[count], vertex indices, each once
//             values  of `bytes` each, 1, 4 or 8 [count]
// Writes      by_index  likewise, those items
extern "C" __global__ void put_values(const u32* __restrict__ order, const i64 count, const i64 bytes,
                                      const void* __restrict__ values, void* __restrict__ by_index) {
    const i64 position = thread_of_grid();
    if (position >= count) return;
    switch (bytes) {
        case 1: return put<u8>(order, position, values, by_index);
        case 4: return put<u32>(order, position, values, by_index);
        default: return put<u64>(order, position, values, by_index);
    }
}
