// lowest_runs.cuh -- allocate the lowest runs of one tree, by one block.
//
// Host twin   gpu_core/image/free_runs.py: same runs, in the same order
// Method      down the levels of the tree, with a list of the lowest words that are not empty, never
//             longer than the runs that are wanted
#pragma once
#include "ledger.cuh"

// Most positions of a list in shared memory.
constexpr int SHORT_LIST = ALLOCATE_THREADS;

// Where the levels of one tree lie, in shared memory; `top` is the level of one word.
struct Levels {
    i64 first[TREE_LEVELS];
    i64 words[TREE_LEVELS];
    int top;
};

// All threads of a warp.
__device__ __forceinline__ void open_levels(
        Levels& levels, const i64* geometry, int size_class) {
    const int level = min(static_cast<int>(lane_of_thread()), TREE_LEVELS - 1);
    levels.first[level] = level_first(geometry, size_class, level);
    const i64 words = level_words(geometry, size_class, level);
    levels.words[level] = words;
    const u32 there = __ballot_sync(FULL_WARP, words > 0);
    if (lane_of_thread() == 0) levels.top = __popc(there & ((1u << TREE_LEVELS) - 1)) - 1;
}

// Down the levels from the top: the lowest `count` words of level 0 that are not empty. `from` and `to`
// are lists of `count` positions; the answer is in the one that is returned, `found` <= count its length.
// All threads of the block.
__device__ u32* lowest_words(const u32* tree, const Levels& levels, i64 count, u32* from, u32* to,
                             i64& found) {
    if (threadIdx.x == 0) from[0] = 0;
    __syncthreads();
    found = 1;
    for (int above = levels.top; above > 0; --above) {
        const u32* words = tree + levels.first[above];
        const i64 have = found;
        found = 0;
        for (i64 base = 0; base < have && found < count; base += ALLOCATE_THREADS) {
            const i64 i = base + threadIdx.x;
            const u32 at = i < have ? from[i] : 0;
            u32 word = i < have ? words[at] : 0;
            u32 total;
            const u32 set = __popc(word);
            i64 position = found + block_exclusive_sum<u32, ALLOCATE_THREADS>(set, total);
            for (; word != 0 && position < count; word &= word - 1) {
                to[position++] = at * 32 + __ffs(word) - 1;
            }
            found += total;
        }
        found = min(found, count);
        __syncthreads();
        u32* swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

// Where the runs of a tree are listed: those for the class itself, then those that are cut.
struct Listed {
    i64 own;
    i64 first;
    i64 over;

    // Position of the run of rank `rank`.
    __device__ __forceinline__ i64 at(i64 rank) const {
        return rank < own ? first + rank : over + rank - own;
    }
};

__device__ __forceinline__ Listed listed_of(const Ledger& ledger, int size_class) {
    return Listed{ledger.own[size_class], ledger.first[size_class], ledger.over[size_class]};
}

// Take the lowest runs of one tree: list them, and clear their bits. All threads of the block.
__device__ void take_lowest(const Ledger& ledger, const Levels& levels, u32* tree,
                            const i64* geometry, int size_class, u32* taken, u32* from, u32* to) {
    const i64 count = ledger.spent[size_class];
    const Listed listed = listed_of(ledger, size_class);
    i64 have;
    from = lowest_words(tree, levels, count, from, to, have);
    u32* words = tree + levels.first[0];
    i64 found = 0;
    for (i64 base = 0; base < have && found < count; base += ALLOCATE_THREADS) {
        const i64 i = base + threadIdx.x;
        const u32 at = i < have ? from[i] : 0;
        const u32 before = i < have ? words[at] : 0;
        u32 total;
        i64 rank = found + block_exclusive_sum<u32, ALLOCATE_THREADS>(__popc(before), total);
        u32 word = before;
        for (; word != 0 && rank < count; word &= word - 1) {
            const i64 position = static_cast<i64>(at) * 32 + __ffs(word) - 1;
            taken[listed.at(rank++)] = static_cast<u32>(position << size_class);
        }
        if (word != before) {
            words[at] = word;
            if (word == 0) clear_run(tree, geometry, size_class, at, 1);
        }
        found += total;
    }
}
