// buddies.cu -- free runs, merge buddies, lower the bump mark: the slow path of the arena.
//
// Part of     arena.prepare, arena.move_table, growth and compaction
// Caller      gpu_core/cuda/memory/free_runs.py
// Host twin   gpu_core/image/free_runs.py: give_back_runs, merge_buddies, lower_bump
#include "block.cuh"
#include "free_runs.cuh"


// Launch    any grid. Give runs back, counts included.
extern "C" __global__ void give_back_runs(
        u32* image, u32* tree, const i64* __restrict__ geometry,
        const u32* __restrict__ firsts, const u8* __restrict__ classes, i64 count) {
    for (i64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        give_back_run(tree, header_of(image), geometry, firsts[i], classes[i]);
    }
}

// Launch    any grid. Enter `counts[c]` runs of each class, one after the other from page
//           `firsts[c]` on; counts are the caller's.
extern "C" __global__ void enter_rows_of_runs(
        u32* tree, const i64* __restrict__ geometry, const i64* __restrict__ firsts,
        const i64* __restrict__ counts) {
    for (int size_class = 0; size_class < CLASSES; ++size_class) {
        const i64 count = counts[size_class];
        const i64 first = firsts[size_class];
        for (i64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
            enter_run(tree, geometry, first + (i << size_class), size_class);
        }
    }
}

// Launch    one thread a word of the next class's level 0; THREADS a block
// Writes    level 0 of this class and the next, and their counts: free buddies of this class are
//           joined. Levels above are raised when all classes are done.
extern "C" __global__ void __launch_bounds__(THREADS, 1) join_buddies(
        u32* tree, const i64* __restrict__ geometry, i32 size_class) {
    const i64 words = level_words(geometry, size_class, 0);
    const i64 words_above = level_words(geometry, size_class + 1, 0);
    u32* level = tree + level_first(geometry, size_class, 0);
    u32* level_above = tree + level_first(geometry, size_class + 1, 0);
    u32 joined = 0;
    const i64 i = thread_of_grid();
    if (i < words_above) {
        u32 made = 0;
        for (int half = 0; half < 2; ++half) {
            if (2 * i + half >= words) break;
            const u32 word = level[2 * i + half];
            const u32 pairs = word & word >> 1 & 0x55555555u;
            if (pairs == 0) continue;
            level[2 * i + half] = word & ~(pairs | pairs << 1);
            u32 packed = pairs;  // bit 2 k -> bit k
            packed = (packed | packed >> 1) & 0x33333333u;
            packed = (packed | packed >> 2) & 0x0F0F0F0Fu;
            packed = (packed | packed >> 4) & 0x00FF00FFu;
            packed = (packed | packed >> 8) & 0x0000FFFFu;
            made |= packed << (16 * half);
        }
        if (made != 0) level_above[i] |= made;
        joined = __popc(made);
    }
    joined = block_sum<u32, THREADS>(joined);
    if (threadIdx.x == 0 && joined > 0) {
        u64* counts = reinterpret_cast<u64*>(counts_of(tree));
        atomicAdd(counts + size_class, 0 - 2 * static_cast<u64>(joined));
        atomicAdd(counts + size_class + 1, static_cast<u64>(joined));
    }
}

// Launch    one warp a word, any grid, level by level from 1. Make a level from the one below.
extern "C" __global__ void __launch_bounds__(THREADS, 1) raise_level(
        u32* tree, const i64* __restrict__ geometry, i32 level) {
    const u32 lane = lane_of_thread();
    for (int size_class = 0; size_class < CLASSES; ++size_class) {
        const i64 words = level_words(geometry, size_class, level);
        const i64 below = level_words(geometry, size_class, level - 1);
        const u32* from = tree + level_first(geometry, size_class, level - 1);
        u32* to = tree + level_first(geometry, size_class, level);
        for (i64 i = thread_of_grid() / WARP; i < words; i += threads_of_grid() / WARP) {
            const bool full = i * 32 + lane < below && from[i * 32 + lane] != 0;
            const u32 word = __ballot_sync(FULL_WARP, full);
            if (lane == 0) to[i] = word;
        }
    }
}

// Launch    one thread. Give free runs that end at the bump mark back to the unused pages.
extern "C" __global__ void lower_bump(u32* image, u32* tree, const i64* __restrict__ geometry) {
    i64* header = header_of(image);
    i64* counts = counts_of(tree);
    for (bool again = true; again;) {
        again = false;
        for (int size_class = 0; size_class < CLASSES; ++size_class) {
            const i64 bump = header[FIELD_PAGE_BUMP];
            const i64 pages = i64(1) << size_class;
            if (bump < pages || (bump & (pages - 1)) != 0 || counts[size_class] == 0) continue;
            const i64 position = (bump >> size_class) - 1;
            const u32 word = tree[level_first(geometry, size_class, 0) + (position >> 5)];
            if ((word >> (position & 31) & 1) == 0) continue;
            clear_run(tree, geometry, size_class, position);
            --counts[size_class];
            header[FIELD_PAGE_BUMP] -= pages;
            header[FIELD_PAGES_FREE] -= pages;
            again = true;
        }
    }
}
