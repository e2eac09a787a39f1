// hubs.cuh -- the vertices that entries name most often, and their slots in shared memory.
//
// Part of     hubs.cu, slices.cu, pagerank.cu
// Caller      gpu_core/cuda/analytics/parts/hubs.py
//
// Half of the entries of a skewed graph name a few thousand *hubs*. What a kernel gathers for each
// entry it then has in shared memory for hubs, side by side, and an entry of a slice names a hub by its
// *slot* there. Hubs are all vertices from a certain degree on, so there may be fewer of them than
// slots; where they are named too seldom there are none.
#pragma once
#include "block.cuh"

// Bit of an entry: it names a slot, not a vertex.
constexpr u32 SLOT_BIT = 0x80000000u;
// What a vertex without a slot has for one.
constexpr u32 NO_SLOT = 0xFFFFFFFFu;
// Degrees of hubs begin here: smaller ones are not even counted.
constexpr u32 LEAST_HUB_DEGREE = 64;
// Classes of degrees from there on: 16 for each power of two below 2^31.
constexpr u32 DEGREE_CLASSES = 400;

// Which vertices are hubs; all 0 before they are chosen.
struct HubChoice {
    u32 classes[DEGREE_CLASSES];  // vertices of each class
    u32 count;                    // hubs
    u32 least_degree;             // of a hub
    u32 listed;                   // hubs that have their slots
};
constexpr u32 HUB_CHOICE_WORDS = sizeof(HubChoice) / sizeof(u32);
static_assert(HUB_CHOICE_WORDS == 403, "HubChoice is passed as u32[403]");

struct Hubs {
    const u32* choice;  // HubChoice; null: no hubs were asked for
    const u64* groups;  // u64[slices], of 32 neighboring vertices: bits of hubs, then the first one's slot;
                        // undefined where there are no hubs

    __device__ __forceinline__ u32 count() const {
        return choice ? reinterpret_cast<const HubChoice*>(choice)->count : 0;
    }
    // Slot of a vertex, where there are hubs.
    __device__ __forceinline__ u32 slot_of(i64 vertex) const {
        const u64 group = groups[vertex / WARP];
        const u32 bits = static_cast<u32>(group);
        const u32 bit = 1u << (vertex % WARP);
        if (!(bits & bit)) return NO_SLOT;
        return static_cast<u32>(group >> 32) + __popc(bits & (bit - 1));
    }
};
