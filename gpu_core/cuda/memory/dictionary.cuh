// dictionary.cuh -- users' ids to vertex indices: the hash table and its probe sequence.
//
// Host twin   gpu_core/host/memory/dictionary.py: the same table, bit by bit
//
// Open addressing with linear probing. A slot holds a vertex index, NONE where it is free; the id
// is read from the table of users' ids. Entries of a cluster stand in the order of (home, id).
#pragma once
#include "block.cuh"

struct Dictionary {
    const u32* slots;
    const i64* ids;
    u32 mask;
    u32 shift;
};

// `count` slots: a power of two of 2 or more, or 0 or 1 for an empty table.
__device__ __forceinline__ Dictionary open_dictionary(const u32* slots, i64 count, const i64* ids) {
    return Dictionary{slots, ids, static_cast<u32>(count - 1),
                      static_cast<u32>(__clzll(count) + 1)};
}

// Slot where the probing for an id begins: the upper bits of its mixed value (SplitMix64).
__device__ __forceinline__ u32 home_slot(i64 id, u32 shift) {
    u64 bits = static_cast<u64>(id);
    bits ^= bits >> 30;
    bits *= 0xBF58476D1CE4E5B9ull;
    bits ^= bits >> 27;
    bits *= 0x94D049BB133111EBull;
    bits ^= bits >> 31;
    return static_cast<u32>(bits >> shift);
}

// Look up N ids together: the loads of all of them are issued before the first is used.
// `found` is NONE for unknown ids.
template <int N>
__device__ __forceinline__ void look_up_ids(
        const Dictionary& table, const i64 (&ids)[N], u32 (&found)[N]) {
    u32 slot[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
        slot[i] = home_slot(ids[i], table.shift);
        found[i] = table.slots[slot[i]];
    }
    bool differs[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
        differs[i] = found[i] != NONE && table.ids[found[i]] != ids[i];
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
        while (differs[i]) {
            slot[i] = (slot[i] + 1) & table.mask;
            found[i] = table.slots[slot[i]];
            differs[i] = found[i] != NONE && table.ids[found[i]] != ids[i];
        }
    }
}
