// free_runs.cuh -- free runs of pages: enter a run, find the run that was allocated.
//
// Host twin   gpu_core/image/free_runs.py, which describes counts and bit trees in the table
// Order       setting bits commutes, and so do sums: no order of threads shows in the table
//
// In one launch runs are either taken or entered, never both: then a word that was empty is reported to
// the level above by exactly one thread, and so is a word that becomes empty.
#pragma once
#include "image.cuh"

constexpr int TREE_LEVELS = 7;  // LEVELS of image/free_runs.py

// Numbers of one class in the allocation: see `allocate_demand`.
constexpr int ALLOCATION_OWN = 0;    // runs listed in `taken`
constexpr int ALLOCATION_FIRST = 1;  // position of the first of them
constexpr int ALLOCATION_BUMP = 2;   // first page of the runs that were never used before
constexpr int ALLOCATION_NEED = 3;   // runs in all

// First page of the run of rank `rank` among those allocated of a class, rank < NEED.
__device__ __forceinline__ i64 run_of_rank(
        const i64* allocation, const u32* taken, int size_class, i64 rank) {
    const i64* line = allocation + 4 * size_class;
    const i64 own = line[ALLOCATION_OWN];
    if (rank < own) return taken[line[ALLOCATION_FIRST] + rank];
    return line[ALLOCATION_BUMP] + ((rank - own) << size_class);
}

__device__ __forceinline__ i64* counts_of(u32* tree) { return reinterpret_cast<i64*>(tree); }

__device__ __forceinline__ i64 level_first(const i64* geometry, int size_class, int level) {
    return geometry[size_class * 2 * TREE_LEVELS + level];
}
__device__ __forceinline__ i64 level_words(const i64* geometry, int size_class, int level) {
    return geometry[size_class * 2 * TREE_LEVELS + TREE_LEVELS + level];
}

// Enter a free run (first page, class) in the tree of its class; counts are the caller's.
__device__ __forceinline__ void enter_run(
        u32* tree, const i64* geometry, i64 first, int size_class) {
    i64 position = first >> size_class;
    for (int level = 0; level < TREE_LEVELS; ++level) {
        if (level_words(geometry, size_class, level) == 0) break;
        u32* word = tree + level_first(geometry, size_class, level) + (position >> 5);
        if (atomicOr(word, 1u << (position & 31)) != 0) break;
        position >>= 5;
    }
}

// Take the free run at `position` (first page >> class) out of the tree, from `level` upwards.
__device__ __forceinline__ void clear_run(
        u32* tree, const i64* geometry, int size_class, i64 position, int level = 0) {
    for (; level < TREE_LEVELS; ++level) {
        if (level_words(geometry, size_class, level) == 0) break;
        u32* word = tree + level_first(geometry, size_class, level) + (position >> 5);
        const u32 rest = ~(1u << (position & 31));
        if ((atomicAnd(word, rest) & rest) != 0) break;
        position >>= 5;
    }
}

// Count `runs` more free runs of a class: once a block and class, or the counters become the
// bottleneck of the launch.
__device__ __forceinline__ void count_free_runs(
        u32* tree, i64* header, int size_class, i64 runs) {
    atomicAdd(reinterpret_cast<u64*>(counts_of(tree) + size_class), static_cast<u64>(runs));
    atomicAdd(reinterpret_cast<u64*>(header + FIELD_PAGES_FREE),
              static_cast<u64>(runs << size_class));
}

// Give one run back, counts included: for a few runs.
__device__ __forceinline__ void give_back_run(
        u32* tree, i64* header, const i64* geometry, i64 first, int size_class) {
    enter_run(tree, geometry, first, size_class);
    count_free_runs(tree, header, size_class, 1);
}
