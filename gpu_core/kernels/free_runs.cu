// free_runs.cu -- hand out runs of pages: what a batch demands, lowest first, without the host.
//
// Part of     the apply path: plan -> **serve_demand** -> commit; the slow path of the arena
// Caller      gpu_core/cuda/free_runs.py: serve_demand
// Host twin   gpu_core/host/free_runs.py: same runs, in the same order
// Order       no order of threads shows: each word of a tree has one owner, ranks are prefix sums
//
// `ledger.cuh` tells the method, and what lies in `service` and `taken`. Here the lowest runs of
// each tree are found. Few: one block a tree goes down its levels, with a list of the lowest words
// that are not empty, never longer than the runs that are wanted. Many: that list ends at level 2,
// the groups on it are counted and taken by a block each.
#include "lowest_runs.cuh"

constexpr int GROUP_THREADS = SERVE_THREADS;
// A group: what one word of level 2 covers.
constexpr int GROUP_LEVEL = 2;
constexpr int GROUP_WORDS = 1024;  // of level 0

// List the lowest groups of a tree that hold runs, at most `count`: as many as there are. All
// threads of the block.
__device__ i64 list_groups(
        const u32* tree, const Levels& levels, i64 count, u32* list, u32* other) {
    i64 found;
    const u32* groups = lowest_places(tree, levels, GROUP_LEVEL, count, list, other, found);
    if (groups != list) {
        for (i64 i = threadIdx.x; i < found; i += SERVE_THREADS) list[i] = groups[i];
    }
    return found;
}

// Leave the ledger to the launches that follow; `listed` of each tree is written by its block.
__device__ __forceinline__ void keep_ledger(const Ledger& ledger, Ledger* kept) {
    const int i = threadIdx.x;
    if (i < CLASSES) {
        kept->need[i] = ledger.need[i];
        kept->runs[i] = ledger.runs[i];
        kept->own[i] = ledger.own[i];
        kept->spent[i] = ledger.spent[i];
        kept->first[i] = ledger.first[i];
        kept->over[i] = ledger.over[i];
        kept->list_at[i] = ledger.list_at[i];
        kept->hole[i] = ledger.hole[i];
        kept->rest[i] = ledger.rest[i];
        if (i >= static_cast<int>(gridDim.x)) kept->listed[i] = 0;
    }
    if (i == 0) {
        kept->bump = ledger.bump;
        kept->cuts = ledger.cuts;
    }
}

// Launch    one block of SERVE_THREADS for each class that has a tree
// Reads     need i64[CLASSES]
// Writes    service, taken; trees, counts and marks: the runs are taken. With `direct` 0, only the
//           groups that hold them are listed: `count_groups` and `take_groups` go on.
// Status    NEEDS_HOST where the bump mark would pass the limit, and nothing else is changed
// Cost      direct: some 1 µs a level of the largest tree, and as much for every 256 runs taken
extern "C" __global__ void __launch_bounds__(SERVE_THREADS, 1) serve_demand(
        u32* image, u32* tree, const i64* __restrict__ geometry, i64 lists_at, i64 list_words,
        i64* service, u32* taken, const i64* need, i64 most, i64 vertex_count,
        i64 direct) {
    __shared__ Ledger ledger;
    __shared__ Levels levels;
    __shared__ u32 short_lists[2][SHORT_LIST];
    const int size_class = blockIdx.x;
    // The geometry is that of the image, whatever the launches before do.
    if (warp_of_thread() == 1) open_levels(levels, geometry, size_class);
    const int of_thread = min(static_cast<int>(threadIdx.x), CLASSES - 1);
    const i64 groups = (level_words(geometry, of_thread, 0) + GROUP_WORDS - 1) / GROUP_WORDS;
    follow_previous_launch();
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    Cut* cuts = size_class == 0 ? cuts_of(service) : nullptr;
    if (!open_ledger(ledger, cuts, header, tree, need, most, vertex_count,
                     direct ? most : groups)) {
        if (size_class == 0 && threadIdx.x == 0) {
            header[BATCH_FIELD_STATUS] = BATCH_STATUS_NEEDS_HOST;
        }
        return;
    }
    u32* list = taken + lists_at + ledger.list_at[size_class];
    u32* other = list + list_words;
    const i64 spent = ledger.spent[size_class];
    if (direct) {
        const bool is_short = spent <= SHORT_LIST;
        if (spent > 0) {
            take_lowest(ledger, levels, tree, geometry, size_class, taken,
                        is_short ? short_lists[0] : list, is_short ? short_lists[1] : other);
        }
    } else {
        Ledger* kept = ledger_of(service);
        if (size_class == 0) keep_ledger(ledger, kept);
        const i64 found = spent > 0 ? list_groups(tree, levels, spent, list, other) : 0;
        if (threadIdx.x == 0) kept->listed[size_class] = found;
    }
    if (size_class == 0 && threadIdx.x < CLASSES) leave_service(ledger, service);
    if (direct && is_last_block(reinterpret_cast<u32*>(header + BATCH_FIELD_TICKETS))) {
        close_ledger(ledger, cuts_of(service), header, tree, geometry, taken);
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

// Lists of groups by class as one sequence: lane c holds the numbers of class c.
struct GroupLists {
    i64 end;      // groups listed for this class and those below
    i64 begin;
    i64 list_at;  // where the class's list begins
    i64 total;
};

__device__ __forceinline__ GroupLists open_lists(const Ledger* ledger) {
    const u32 lane = lane_of_thread();
    GroupLists lists;
    const i64 listed = ledger->listed[lane];
    lists.begin = warp_exclusive_sum(listed, lists.total);
    lists.end = lists.begin + listed;
    lists.list_at = ledger->list_at[lane];
    return lists;
}

// Class of number `i` of the sequence, and its place in the lists.
__device__ __forceinline__ int class_of(const GroupLists& lists, i64 i, i64& place) {
    const int size_class = __popc(__ballot_sync(FULL_WARP, lists.end <= i));
    place = __shfl_sync(FULL_WARP, lists.list_at, size_class) + i -
            __shfl_sync(FULL_WARP, lists.begin, size_class);
    return size_class;
}

// Launch    one block of GROUP_THREADS a group in turn, any number of blocks
// Writes    taken: for each listed group the rank of its first run within its tree
extern "C" __global__ void __launch_bounds__(GROUP_THREADS, 1) count_groups(
        u32* image, u32* tree, const i64* __restrict__ geometry, i64 lists_at, i64 list_words,
        i64* service, u32* taken) {
    follow_previous_launch();
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const Ledger* ledger = ledger_of(service);
    const u32* list = taken + lists_at;
    u32* ranks = taken + lists_at + list_words;
    const GroupLists lists = open_lists(ledger);
    for (i64 i = blockIdx.x; i < lists.total; i += gridDim.x) {
        i64 place;
        const int size_class = class_of(lists, i, place);
        const Group group = open_group(tree, geometry, size_class, list[place]);
        u32 words[WORDS_OF_WARP];
        read_words(group, words);
        u32 set = 0;
        #pragma unroll
        for (int word = 0; word < WORDS_OF_WARP; ++word) set += __popc(words[word]);
        set = block_sum<u32, GROUP_THREADS>(set);
        if (threadIdx.x == 0) ranks[place] = set;
    }
    if (!is_last_block(reinterpret_cast<u32*>(header + BATCH_FIELD_TICKETS))) return;
    // Counts of each tree's groups become ranks.
    u32 listing = __ballot_sync(FULL_WARP, lists.end > lists.begin);
    for (; listing != 0; listing &= listing - 1) {
        const int size_class = __ffs(listing) - 1;
        const i64 begin = __shfl_sync(FULL_WARP, lists.begin, size_class);
        const i64 listed = __shfl_sync(FULL_WARP, lists.end, size_class) - begin;
        u32* row = ranks + __shfl_sync(FULL_WARP, lists.list_at, size_class);
        u32 below = 0;
        for (i64 base = 0; base < listed; base += GROUP_THREADS) {
            const i64 i = base + threadIdx.x;
            const u32 set = i < listed ? __ldcg(row + i) : 0;
            u32 total;
            const u32 rank = below + block_exclusive_sum<u32, GROUP_THREADS>(set, total);
            if (i < listed) row[i] = rank;
            below += total;
        }
    }
}

// Launch    as `count_groups`
// Writes    taken: pages of the lowest runs of each tree; their bits are cleared. The last block
//           closes the ledger.
extern "C" __global__ void __launch_bounds__(GROUP_THREADS, 1) take_groups(
        u32* image, u32* tree, const i64* __restrict__ geometry, i64 lists_at, i64 list_words,
        i64* service, u32* taken) {
    __shared__ u32 nonempty_after[32];
    follow_previous_launch();
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const Ledger& ledger = *ledger_of(service);
    const u32* list = taken + lists_at;
    const u32* ranks = list + list_words;
    const GroupLists lists = open_lists(&ledger);
    const u32 lane = lane_of_thread();
    for (i64 i = blockIdx.x; i < lists.total; i += gridDim.x) {
        i64 at;
        const int size_class = class_of(lists, i, at);
        const i64 count = ledger.spent[size_class];
        const i64 begin = ranks[at];
        if (begin >= count) continue;
        const Listed listed = listed_of(ledger, size_class);
        const u32 number = list[at];
        const Group group = open_group(tree, geometry, size_class, number);
        u32 words[WORDS_OF_WARP];
        read_words(group, words);
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
            const i64 first_place = (static_cast<i64>(number) * GROUP_WORDS + of_group) * 32;
            i64 rank = below + sets[word] - __popc(words[word]);
            u32 after = words[word];
            for (; after != 0 && rank < count; after &= after - 1) {
                const i64 place = first_place + __ffs(after) - 1;
                taken[listed.at(rank++)] = static_cast<u32>(place << size_class);
            }
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
    }
    if (is_last_block(reinterpret_cast<u32*>(header + BATCH_FIELD_TICKETS))) {
        close_ledger(ledger, cuts_of(service), header, tree, geometry, taken);
    }
}
