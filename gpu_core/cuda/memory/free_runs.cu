// free_runs.cu -- allocate runs of pages: all that a batch demands, lowest first, without the host.
//
// Part of     the apply path: plan -> **allocate_demand** or **allocate_groups** -> commit; the slow
//             path of the arena
// Caller      gpu_core/cuda/memory/free_runs.py
// Host twin   gpu_core/image/free_runs.py: same runs, in the same order
// Order       no order of threads shows: each word of a tree has one owner, ranks are prefix sums
//
// `ledger.cuh` describes the method, and what lies in `allocation` and `taken`. Here the lowest runs of
// each tree are found. Few: one block a tree goes down its levels (lowest_runs.cuh). Many: all groups
// of all trees are counted, and those that hold the lowest runs are taken, by as many blocks.
#include "lowest_runs.cuh"

constexpr int GROUP_THREADS = ALLOCATE_THREADS;
// A group: what one word of level 2 covers.
constexpr int GROUP_LEVEL = 2;
constexpr i64 GROUP_POSITIONS = 32 * GROUP_WORDS;

// Launch    one block of ALLOCATE_THREADS for each class that has a tree
// Reads     need i64[CLASSES]
// Writes    allocation, taken; trees, counts and marks: the runs are taken. `lists`, u32[2 * most],
//           which the trees share
// Status    NEEDS_HOST where the bump mark would pass the limit, and nothing else is changed
// Cost      some 1 µs a level of the largest tree, and as much for every 256 runs taken
extern "C" __global__ void __launch_bounds__(ALLOCATE_THREADS, 1) allocate_demand(
        u32* image, u32* tree, const i64* __restrict__ geometry, i64* allocation, u32* taken,
        u32* lists, const i64* need, i64 most, i64 vertex_count) {
    __shared__ Ledger ledger;
    __shared__ Levels levels;
    __shared__ u32 short_lists[2][SHORT_LIST];
    const int size_class = blockIdx.x;
    i64* header = header_of(image);
    admit_next_launch();
    // The launches before change nothing of the trees.
    if (warp_of_thread() == 1) open_levels(levels, geometry, size_class);
    const Stock stock = open_stock(header, tree, vertex_count);
    await_previous_launch();
    const i64 wanted = threadIdx.x < CLASSES ? need[threadIdx.x] : 0;
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    Cut* cuts = size_class == 0 ? cuts_of(allocation) : nullptr;
    if (!open_ledger(ledger, cuts, stock, wanted, most)) {
        if (size_class == 0 && threadIdx.x == 0) {
            header[BATCH_FIELD_STATUS] = BATCH_STATUS_NEEDS_HOST;
        }
        return;
    }
    const i64 spent = ledger.spent[size_class];
    if (spent > 0) {
        u32* list = lists + ledger.list_at[size_class];
        const bool is_short = spent <= SHORT_LIST;
        take_lowest(ledger, levels, tree, geometry, size_class, taken,
                    is_short ? short_lists[0] : list, is_short ? short_lists[1] : list + most);
    }
    if (size_class == 0 && threadIdx.x < CLASSES) leave_allocation(ledger, allocation);
    if (is_last_block(reinterpret_cast<u32*>(header + BATCH_FIELD_TICKETS))) {
        close_ledger(ledger, cuts_of(allocation), header, tree, geometry, taken);
    }
}

// A group of a tree, as each warp of its block reads it: lane w holds word w of level 1, `nonempty`.
struct Group {
    u32* words;       // level 0 from the group's first word on
    u32* level_above; // level 1 from the group's first word on; null where there is none
    u32 nonempty;
};

__device__ __forceinline__ Group open_group(
        u32* tree, const i64* geometry, int size_class, u32 number) {
    Group group;
    group.words = tree + level_first(geometry, size_class, 0) + static_cast<i64>(number) * GROUP_WORDS;
    const i64 above = level_words(geometry, size_class, 1);
    const i64 at = static_cast<i64>(number) * 32;
    const u32 lane = lane_of_thread();
    group.level_above = above > 0 ? tree + level_first(geometry, size_class, 1) + at : nullptr;
    if (above > 0) {
        group.nonempty = at + lane < above ? group.level_above[lane] : 0;
    } else {
        group.nonempty = lane == 0 ? 1 : 0;  // a tree of one word
    }
    return group;
}

// Words of level 1 whose words below are one warp's.
constexpr int WORDS_OF_WARP = 32 / (GROUP_THREADS / WARP);

// This lane's words below the warp's words of level 1.
__device__ __forceinline__ void read_words(const Group& group, u32 (&words)[WORDS_OF_WARP]) {
    const u32 lane = lane_of_thread();
    const u32 first = warp_of_thread() * WORDS_OF_WARP;
    #pragma unroll
    for (int i = 0; i < WORDS_OF_WARP; ++i) {
        const u32 mask = __shfl_sync(FULL_WARP, group.nonempty, first + i);
        words[i] = mask >> lane & 1 ? group.words[(first + i) * 32 + lane] : 0;
    }
}

// Groups of all trees as one sequence, class by class: lane c holds what it has of class c. No run lies
// beyond the bump mark.
struct Groups {
    i64 begin;  // of the class
    i64 end;
    i64 total;
};

__device__ __forceinline__ Groups open_groups(i64 bump) {
    Groups groups;
    const i64 positions = bump >> lane_of_thread();
    const i64 own = (positions + GROUP_POSITIONS - 1) / GROUP_POSITIONS;
    groups.begin = warp_exclusive_sum(own, groups.total);
    groups.end = groups.begin + own;
    return groups;
}

// Class of group `i` of the sequence, and its number within the tree. All lanes of the warp.
__device__ __forceinline__ int class_of(const Groups& groups, i64 i, u32& number) {
    const int size_class = __popc(__ballot_sync(FULL_WARP, groups.end <= i));
    number = static_cast<u32>(i - __shfl_sync(FULL_WARP, groups.begin, size_class));
    return size_class;
}

// Runs in one of 32 words from which on a warp lists them word by word, a lane a run, instead of a lane
// a word.
constexpr u32 MANY_RUNS = 8;

// List the lowest `taking` runs of each lane's word; the first of them has rank `rank` in the tree, and
// `first_position` is that of the word's lowest bit. Returns what is left of the word. All lanes of the
// warp.
__device__ __forceinline__ u32 list_runs(
        u32 word, u32 taking, u32 rank, u32 first_position, int size_class, const Listed& listed,
        u32* taken) {
    u32 after = word;
    if (__reduce_max_sync(FULL_WARP, taking) < MANY_RUNS) {
        for (; taking > 0; --taking, after &= after - 1) {
            taken[listed.at(rank++)] = (first_position + __ffs(after) - 1) << size_class;
        }
        return after;
    }
    const u32 lane = lane_of_thread();
    for (u32 source = 0; source < WARP; ++source) {
        const u32 runs = __shfl_sync(FULL_WARP, word, source);
        const u32 most = __shfl_sync(FULL_WARP, taking, source);
        const u32 below = __popc(runs & ((1u << lane) - 1));
        const u32 own_rank = __shfl_sync(FULL_WARP, rank, source) + below;
        const u32 position = __shfl_sync(FULL_WARP, first_position, source) + lane;
        const bool takes = (runs >> lane & 1) && below < most;
        if (takes) taken[listed.at(own_rank)] = position << size_class;
        const u32 gone = __ballot_sync(FULL_WARP, takes);
        if (lane == source) after = word & ~gone;
    }
    return after;
}

// Take the runs of a group whose rank in the tree is below `count`; the group's first run has rank
// `begin`. Returns the rank after its last run. All threads of the block.
__device__ __forceinline__ i64 take_group(
        const Ledger& ledger, u32* tree, const i64* geometry, int size_class, u32 number,
        const Group& group, const u32 (&words)[WORDS_OF_WARP], i64 begin, u32* taken) {
    __shared__ u32 nonempty_after[32];
    const u32 lane = lane_of_thread();
    const i64 count = ledger.spent[size_class];
    const Listed listed = listed_of(ledger, size_class);
    // Ranks go word by word, and within one lane by lane.
    u32 sets[WORDS_OF_WARP];
    u32 of_warp = 0;
    #pragma unroll
    for (int word = 0; word < WORDS_OF_WARP; ++word) {
        sets[word] = warp_inclusive_sum<u32>(__popc(words[word]));
        of_warp += __shfl_sync(FULL_WARP, sets[word], WARP - 1);
    }
    u32 total;
    i64 below = begin + block_exclusive_sum<u32, GROUP_THREADS>(lane == 0 ? of_warp : 0, total);
    below = __shfl_sync(FULL_WARP, below, 0);
    #pragma unroll
    for (int word = 0; word < WORDS_OF_WARP; ++word) {
        const u32 of_group = (warp_of_thread() * WORDS_OF_WARP + word) * 32 + lane;
        const u32 runs = __popc(words[word]);
        const i64 rank = below + sets[word] - runs;
        const u32 taking = static_cast<u32>(max(min(count - rank, i64(runs)), i64(0)));
        const u32 first_position = (number * GROUP_WORDS + of_group) * 32;
        const u32 after = list_runs(words[word], taking, static_cast<u32>(rank), first_position,
                                    size_class, listed, taken);
        if (after != words[word]) group.words[of_group] = after;
        const u32 kept = __ballot_sync(FULL_WARP, after != 0);
        if (lane == 0) nonempty_after[of_group / 32] = kept;
        below += __shfl_sync(FULL_WARP, sets[word], WARP - 1);
    }
    __syncthreads();
    if (warp_of_thread() == 0 && group.level_above != nullptr) {
        const u32 after = nonempty_after[lane];
        if (after != group.nonempty) group.level_above[lane] = after;
        const u32 left = __ballot_sync(FULL_WARP, after != 0);
        if (lane == 0 && level_words(geometry, size_class, GROUP_LEVEL) > 0) {
            tree[level_first(geometry, size_class, GROUP_LEVEL) + number] = left;
            if (left == 0) clear_run(tree, geometry, size_class, number, GROUP_LEVEL + 1);
        }
    }
    __syncthreads();
    return begin + total;
}

// Runs that the blocks numbered `from` to `number` - 1 have counted, once they have. All threads.
__device__ __forceinline__ u32 counted_before(const u32* block_numbers, u32 from, u32 number) {
    u32 sum = 0;
    for_published<GROUP_THREADS>(block_numbers + 1, from, number, [&](u32 runs) { sum += runs; });
    return block_sum<u32, GROUP_THREADS>(sum);
}

// Launch    any number of blocks of GROUP_THREADS; each takes a number when it begins, and as many
//           adjacent groups as each other block
// Reads     need i64[CLASSES]
// Writes    as `allocate_demand`. `block_numbers`, u32[1 + blocks], 0 before and after: how many were
//           taken, and by block number the runs that the block has counted in the tree of its last
//           group
// Status    as `allocate_demand`
// Order     a block waits for blocks with lower numbers alone, so for none that has not begun
// Cost      counts are there before the launch before has ended, which plans; then some 5 µs where each
//           block has one group
extern "C" __global__ void __launch_bounds__(GROUP_THREADS, 3) allocate_groups(
        u32* image, u32* tree, const i64* __restrict__ geometry, i64* allocation, u32* taken,
        const i64* need, i64 most, i64 vertex_count, u32* block_numbers) {
    __shared__ Ledger ledger;
    __shared__ u32 own_number;
    i64* header = header_of(image);
    admit_next_launch();
    // The launches before change nothing of the trees.
    if (threadIdx.x == 0) own_number = atomicAdd(block_numbers, 1u);
    const Stock stock = open_stock(header, tree, vertex_count);
    const Groups groups = open_groups(stock.bump);
    __syncthreads();
    const u32 block = own_number;
    const i64 share = max((groups.total + gridDim.x - 1) / gridDim.x, i64(1));
    const i64 first = block * share;
    const i64 end = min(first + share, groups.total);

    Group group;
    u32 words[WORDS_OF_WARP];
    u32 set = 0;
    for (i64 i = first; i < end; ++i) {
        u32 number;
        const int size_class = class_of(groups, i, number);
        if (number == 0) set = 0;
        group = open_group(tree, geometry, size_class, number);
        read_words(group, words);
        #pragma unroll
        for (int word = 0; word < WORDS_OF_WARP; ++word) set += __popc(words[word]);
    }
    i64 rank = 0;  // of the next run, in its tree
    if (first < end) {
        set = block_sum<u32, GROUP_THREADS>(set);
        if (threadIdx.x == 0) atomicExch(block_numbers + 1 + block, set | PUBLISHED<u32>);
        u32 number;
        class_of(groups, first, number);
        rank = counted_before(block_numbers, static_cast<u32>((first - number) / share), block);
    }

    await_previous_launch();
    const i64 wanted = threadIdx.x < CLASSES ? need[threadIdx.x] : 0;
    const bool goes_on = header[BATCH_FIELD_STATUS] == BATCH_STATUS_OK;
    Cut* cuts = block == 0 ? cuts_of(allocation) : nullptr;
    const bool fits = goes_on && open_ledger(ledger, cuts, stock, wanted, most);
    if (goes_on && !fits && block == 0 && threadIdx.x == 0) {
        header[BATCH_FIELD_STATUS] = BATCH_STATUS_NEEDS_HOST;
    }
    for (i64 i = first; fits && i < end; ++i) {
        u32 number;
        const int size_class = class_of(groups, i, number);
        if (number == 0) rank = 0;
        if (rank >= ledger.spent[size_class]) continue;
        if (share > 1) {
            group = open_group(tree, geometry, size_class, number);
            read_words(group, words);
        }
        rank = take_group(ledger, tree, geometry, size_class, number, group, words, rank, taken);
    }
    if (fits && block == 0 && threadIdx.x < CLASSES) leave_allocation(ledger, allocation);
    if (!is_last_block(reinterpret_cast<u32*>(header + BATCH_FIELD_TICKETS))) return;
    for (u32 i = threadIdx.x; i <= gridDim.x; i += GROUP_THREADS) block_numbers[i] = 0;
    if (fits) close_ledger(ledger, cuts_of(allocation), header, tree, geometry, taken);
}
