// hub_cache.cuh -- values of the vertices that entries name most often, in shared memory, found by vertex.
//
// Caller      gpu_core/cuda/analytics/parts/hubs/hub_cache.py
//
// A direct-mapped cache, filled before a step and not changed in it. A slot is for the vertices whose last
// `bits` bits are its number, and has the value of the one that is named most often. Entries go on naming
// vertices, so rows need not be copied, as they are for the slots of hubs.cuh.
#pragma once
#include "block.cuh"

struct HubCache {
    const u32* hubs;  // u32[slots]: the vertex of each slot
    double* values;   // f64[slots]: its value, of the step before; null: nothing is cached
    i64 bits;         // binary logarithm of the slots

    __device__ __forceinline__ u32 slots() const { return 1u << bits; }
    // Put value_of(hub) into every slot. All threads of the launch call.
    template <class ValueOf>
    __device__ __forceinline__ void fill(ValueOf value_of) const {
        if (!values) return;
        for (i64 slot = thread_of_grid(); slot < slots(); slot += threads_of_grid()) {
            values[slot] = value_of(hubs[slot]);
        }
    }
    // The value of a vertex, if it is a hub.
    __device__ __forceinline__ void put(u32 vertex, double value) const {
        if (!values) return;
        const u32 slot = vertex & (slots() - 1);
        if (hubs[slot] == vertex) values[slot] = value;
    }
};

// The cache of a block: 10 bytes of shared memory a slot.
template <int SIZE>
class HeldHubs {
  public:
    // `held` is f64[slots], and after it u16[slots]. All threads of the block call.
    __device__ __forceinline__ HeldHubs(const HubCache& cache, double* held)
        : values_(held), bits_(static_cast<u32>(cache.bits)), mask_(cache.slots() - 1) {
        unsigned short* const tags = reinterpret_cast<unsigned short*>(held + cache.slots());
#pragma unroll 8
        for (u32 slot = threadIdx.x; slot <= mask_; slot += SIZE) {
            held[slot] = cache.values[slot];
            tags[slot] = static_cast<unsigned short>(cache.hubs[slot] >> bits_);
        }
        tags_ = tags;
        __syncthreads();
    }
    // x[vertex], of the cache where it is there.
    __device__ __forceinline__ double value(u32 vertex, const double* x) const {
        const u32 slot = vertex & mask_;
        return tags_[slot] == vertex >> bits_ ? values_[slot] : __ldg(&x[vertex]);
    }

  private:
    const double* values_;
    const unsigned short* tags_;
    u32 bits_;
    u32 mask_;
};
