// found_triangles.cuh -- triangles with changed edges, once found: which of them count, and where.
//
// Reads       keys     u64[pairs], lower end << 32 | higher end, increasing: the pairs with changed edges
#pragma once
#include "pairs.cuh"

__device__ __forceinline__ u64 key_of(u32 one, u32 other) {
    return static_cast<u64>(min(one, other)) << 32 | max(one, other);
}

// First of keys[low … high - 1] that is not below the key; `high` where none is.
__device__ __forceinline__ u32 first_not_below(
        const u64* __restrict__ keys, u32 low, u32 high, u64 key) {
    u32 left = high - low;
    while (left > 1) {
        const u32 half = left >> 1;
        if (keys[low + half - 1] < key) low += half;
        left -= half;
    }
    return low + (left && keys[low] < key);
}

// The same, of a key that is not far before `high`: steps back double until they pass it.
__device__ __forceinline__ u32 first_not_below_back(
        const u64* __restrict__ keys, u32 high, u64 key) {
    u32 low = high;
    for (u32 step = 1; low > 0; step *= 2) {
        low -= min(low, step);
        if (keys[low] < key) break;
        high = low;
    }
    return first_not_below(keys, low, high, key);
}

// Some keys, for whether one is among them: slots of global memory in buckets of four, one sector each. A
// bucket is filled from its first slot on; what finds it full goes to the next one. Two slots are read at a
// time, as registers are few where this is asked.
struct KeySet {
    static constexpr u64 EMPTY = 0;  // an edge of vertex 0 with itself, which there is not
    static constexpr u32 KEYS = 4;
    u64* slots;  // u64[2^bits], 0 before; null: there is no set
    i64 bits;

    __device__ __forceinline__ u32 mask() const { return ~0u >> (32 - bits); }
    // First slot of the bucket of a key.
    __device__ __forceinline__ u32 slot_of(u64 key) const {
        return static_cast<u32>(key * 0x9E3779B97F4A7C15ull >> (64 - bits)) & ~(KEYS - 1);
    }
    __device__ __forceinline__ void add(u64 key) const {
        for (u32 slot = slot_of(key);; slot = (slot + 1) & mask()) {
            const u64 found = atomicCAS(&slots[slot], EMPTY, key);
            if (found == EMPTY || found == key) return;
        }
    }
    __device__ __forceinline__ bool has(u64 key) const {
        for (u32 slot = slot_of(key);; slot = (slot + 2) & mask()) {
            const ulonglong2 two = *reinterpret_cast<const ulonglong2*>(&slots[slot]);
            if (two.x == key || two.y == key) return true;
            if (two.y == EMPTY) return false;
        }
    }
};

// Whether a triangle counts at a changed edge before keys[pair], which joins u < v; w is its third corner.
//
// Cost        two sectors of the set; without one a binary search: edges of one lower end stand together, and
//             those of w beyond v are all after
__device__ __forceinline__ bool is_counted_before(
        const u64* __restrict__ keys, const KeySet& changed, u32 pair, u32 u, u32 v, u32 w) {
    if (w > v) return false;
    const u64 of_u = key_of(u, w);
    const u64 of_v = key_of(w, v);
    if (changed.slots) return changed.has(of_u) || (w < u && changed.has(of_v));
    const u32 position =
        w > u ? first_not_below_back(keys, pair, of_u) : first_not_below(keys, 0, pair, of_u);
    if (position < pair && keys[position] == of_u) return true;
    if (w > u) return false;
    const u32 next = first_not_below(keys, position, pair, of_v);
    return next < pair && keys[next] == of_v;
}

// The pairs that triangles are looked for at.
struct ChangedPairs {
    const u64* keys;
    KeySet changed;

    // Call add(vertex, triangles) for the corners of the triangles that lanes have found, of changed pairs
    // by their numbers: neighbors with the same one. All lanes of the warp call.
    template <class Add>
    __device__ __forceinline__ void count(bool is_found, u32 number, u32 u, u32 v, u32 w, Add add) const {
        is_found = is_found && !is_counted_before(keys, changed, number, u, v, w);
        if (is_found) add(w, 1u);
        const u32 found = sum_of_lanes<1>(lanes_of_number(number), is_found);
        if (found) {
            add(u, found);
            add(v, found);
        }
    }
};

// Neighbors that a warp has found, kept until each lane has one: few lanes find one at a time, and what
// becomes of it takes long. The newest are used first, so that none is moved. PUSHES: times that lanes may
// push before full warps are used.
template <int PUSHES>
class FoundQueue {
  public:
    struct Found {
        u32 number;
        u32 corner;
    };
    // Shared memory of a warp.
    using Held = Found[(PUSHES + 1) * WARP];
    __device__ __forceinline__ explicit FoundQueue(Held& held) : held_(held) {}

    // Keep what lanes have found. All lanes of the warp call.
    __device__ __forceinline__ void push(bool is_found, u32 number, u32 corner) {
        const u32 lanes = __ballot_sync(FULL_WARP, is_found);
        if (is_found) held_[size_ + __popc(lanes & ((1u << lane_of_thread()) - 1))] = {number, corner};
        size_ += __popc(lanes);
    }
    // Call use(is_there, number, corner), by all lanes, for each 32 that are there.
    template <class Use>
    __device__ __forceinline__ void use_full(Use use) {
        if (size_ < WARP) return;
        __syncwarp();
        while (size_ >= WARP) {
            size_ -= WARP;
            const Found found = held_[size_ + lane_of_thread()];
            use(true, found.number, found.corner);
        }
        __syncwarp();  // what was used may be written over
    }
    // Use what is left.
    template <class Use>
    __device__ __forceinline__ void end(Use use) {
        use_full(use);
        if (size_ == 0) return;
        __syncwarp();
        const bool is_there = lane_of_thread() < size_;
        const Found found = is_there ? held_[lane_of_thread()] : Found{~0u, 0};
        use(is_there, found.number, found.corner);
        size_ = 0;
        __syncwarp();
    }

  private:
    Held& held_;
    u32 size_ = 0;
};
