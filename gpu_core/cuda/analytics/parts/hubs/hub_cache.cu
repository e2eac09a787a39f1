// hub_cache.cu -- choose the vertex of each slot of a cache (hub_cache.cuh).
//
// Caller      gpu_core/cuda/analytics/parts/hubs/hub_cache.py
#include "hub_cache.cuh"

constexpr int CHOOSE_THREADS = 256;

// Choose the vertex that is named most often, of several the first.
//
// Launch      CHOOSE_THREADS threads, one a slot
// Reads       degrees  u32[vertices]: how often entries name each
// Writes      hubs     u32[slots]; the first vertex where a slot has none
// Cost        reads 4 bytes a vertex
extern "C" __global__ void __launch_bounds__(CHOOSE_THREADS) choose_hubs_of_slots(
        const u32* __restrict__ degrees, const i64 vertices, const i64 bits, u32* __restrict__ hubs) {
    const i64 slots = i64(1) << bits;
    const i64 slot = thread_of_grid();
    if (slot >= slots) return;
    u32 hub = slot < vertices ? static_cast<u32>(slot) : 0;
    u32 most = 0;
#pragma unroll 8
    for (i64 vertex = slot; vertex < vertices; vertex += slots) {
        const u32 degree = degrees[vertex];
        if (degree > most) {
            most = degree;
            hub = static_cast<u32>(vertex);
        }
    }
    hubs[slot] = hub;
}
