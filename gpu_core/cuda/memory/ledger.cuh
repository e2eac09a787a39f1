// ledger.cuh -- which runs a demand gets, from the free-run counts alone; same order as image/free_runs.py.
//
// Host twin   gpu_core/image/free_runs.py, take_runs called from the largest class down
//
// A demand is allocated class by class from the largest down: lowest free runs of the class itself,
// then the lowest of the smallest larger class that has any, cut into pieces, then pages from the
// bump mark. Two facts make this parallel although it is defined as a sequence:
//
// * How many runs each class takes of each tree follows from the *numbers* of free runs alone
//   (`allocate`, one thread, counts and masks).
// * A tree gains a run only where it is of no consequence for its order. The holes below an aligned
//   bump mark lie above all other runs, and are made once: all later starts are aligned. The rest
//   of a run that was cut falls into classes whose trees are empty by then, or a smaller run would
//   have been cut. So what is taken of a tree is always the lowest runs of the tree as it was, then
//   its hole, then a rest.
//
// So each tree reports independently where its lowest `spent` runs are, and when all have,
// `close_ledger` writes out the pieces that were cut and enters what is left of holes and rests.
//
// `allocation`, i64[ALLOCATION_WORDS], is shared by the blocks of one demand and commit:
//     [0, 128)   by class: OWN, FIRST, BUMP, NEED (free_runs.cuh)
//     [128, …)   the list of cuts
// `taken`, u32[]: first pages of the runs that commit gets, then of those that are cut.
#pragma once
#include "block.cuh"
#include "free_runs.cuh"

// Cuts are at most one a class and tree, and one more for each hole and rest (see `allocate`).
constexpr int ALLOCATE_THREADS = 256;  // of every block that allocates a demand
constexpr int NO_RUN = -2;     // no rest or hole here
constexpr int NO_TREE = -1;    // the page is known

// Where a run begins: `page` pages after run `index` of a tree, or at page `page`.
struct RunRef {
    i32 tree;
    u32 index;
    u32 page;
};

// Runs of `size_class`, from rank `rank` on, that are pieces of runs `1 << shift` times as large.
struct Cut {
    u8 size_class;
    u8 shift;
    u32 rank;
    u32 count;
    RunRef from;
};

// Numbers of all classes while a demand is allocated.
struct Ledger {
    i64 need[CLASSES];
    i64 runs[CLASSES];    // free runs in the tree before
    i64 own[CLASSES];     // of them, for the class itself: the lowest ones
    i64 spent[CLASSES];   // of them, in all
    i64 pieces[CLASSES];  // runs allocated that are not from the bump mark
    i64 bumped[CLASSES];  // first page from the bump mark
    i64 first[CLASSES];   // position of the class's pieces in `taken`
    i64 over[CLASSES];    // position in `taken` of the tree's runs after `own`
    i64 list_at[CLASSES];  // where the tree's part of lists of `spent` positions begins
    RunRef hole[CLASSES];
    RunRef rest[CLASSES];
    i64 bump;
    i64 cuts;
    i64 fits;
};

static_assert(CUTS_AT + MOST_CUTS * sizeof(Cut) / sizeof(i64) <= ALLOCATION_WORDS, "too many cuts");

__device__ __forceinline__ Cut* cuts_of(i64* allocation) {
    return reinterpret_cast<Cut*>(allocation + CUTS_AT);
}

__device__ __forceinline__ void add_cut(Ledger& ledger, Cut* cuts, int size_class, int shift,
                                        i64 rank, i64 count, RunRef from) {
    if (cuts != nullptr) {
        cuts[ledger.cuts] = Cut{static_cast<u8>(size_class), static_cast<u8>(shift),
                                static_cast<u32>(rank), static_cast<u32>(count), from};
    }
    ++ledger.cuts;
}

// Allocate `left` runs of `size_class` from tree `from`, which holds one: returns how many.
__device__ __forceinline__ i64 cut_runs(Ledger& ledger, Cut* cuts, int size_class, int from,
                                        i64 rank, i64 left, u32& held) {
    const int shift = from - size_class;
    const i64 parts = i64(1) << shift;
    RunRef last;
    i64 count;
    i64 used;  // parts of the last run
    if (ledger.spent[from] < ledger.runs[from]) {
        const i64 before = ledger.spent[from];
        i64 runs = (left + parts - 1) >> shift;
        runs = min(runs, ledger.runs[from] - before);
        count = min(left, runs << shift);
        used = count - ((runs - 1) << shift);
        ledger.spent[from] = before + runs;
        last = RunRef{from, static_cast<u32>(before + runs - 1), 0};
        if (shift == 0) {
            ledger.own[from] = runs;  // they need no cut: `taken` lists them first
        } else {
            const RunRef first{from, static_cast<u32>(before), 0};
            add_cut(ledger, cuts, size_class, shift, rank, count, first);
        }
    } else {
        RunRef& single = ledger.hole[from].tree != NO_RUN ? ledger.hole[from] : ledger.rest[from];
        count = min(left, parts);
        used = count;
        last = single;
        single.tree = NO_RUN;
        add_cut(ledger, cuts, size_class, shift, rank, count, last);
    }
    if (ledger.spent[from] == ledger.runs[from] && ledger.hole[from].tree == NO_RUN &&
        ledger.rest[from].tree == NO_RUN) {
        held &= ~(1u << from);
    }
    // What is left of the last run ends aligned, so it falls into one run a class.
    for (i64 offset = used << size_class; offset < i64(1) << from;) {
        const int piece = __ffsll(offset) - 1;
        ledger.rest[piece] = RunRef{last.tree, last.index, last.page + static_cast<u32>(offset)};
        held |= 1u << piece;
        offset += i64(1) << piece;
    }
    return count;
}

// What each class gets from where. One thread; `ledger` has `need` and `runs`, the rest is empty.
__device__ void allocate(Ledger& ledger, Cut* cuts, u32 wanted, u32 held, i64 page_limit) {
    while (wanted != 0) {
        const int size_class = 31 - __clz(wanted);
        wanted &= ~(1u << size_class);
        i64 left = ledger.need[size_class];
        i64 rank = 0;
        for (u32 from = held >> size_class; left > 0 && from != 0; from = held >> size_class) {
            const i64 count = cut_runs(ledger, cuts, size_class, size_class + __ffs(from) - 1,
                                       rank, left, held);
            rank += count;
            left -= count;
        }
        ledger.pieces[size_class] = rank;
        if (left > 0) {
            const i64 mask = (i64(1) << size_class) - 1;
            const i64 start = (ledger.bump + mask) & ~mask;
            for (i64 page = ledger.bump; page < start;) {
                const int hole = __ffsll(page) - 1;
                ledger.hole[hole] = RunRef{NO_TREE, 0, static_cast<u32>(page)};
                held |= 1u << hole;
                page += i64(1) << hole;
            }
            ledger.bumped[size_class] = start;
            ledger.bump = start + (left << size_class);
        }
    }
    ledger.fits = ledger.bump <= page_limit;
}

// Pages above a vertex table of this length.
__device__ __forceinline__ i64 page_limit_of(const i64* header, i64 vertex_count) {
    const i64 vertex_end = header[FIELD_VERTEX_BASE] + vertex_count * header[FIELD_VERTEX_WORDS];
    return max(header[FIELD_PAGE_END] - vertex_end, i64(0)) / header[FIELD_PAGE_WORDS];
}

// What a demand is allocated from, as a thread sees it: no launch of a batch changes it before.
struct Stock {
    i64 runs;   // free runs of the thread's class; 0 after the classes
    i64 bump;
    i64 limit;  // pages above a vertex table of the length that it will have
};

__device__ __forceinline__ Stock open_stock(const i64* header, u32* tree, i64 vertex_count) {
    return Stock{threadIdx.x < CLASSES ? counts_of(tree)[threadIdx.x] : 0, header[FIELD_PAGE_BUMP],
                 page_limit_of(header, vertex_count)};
}

// Fill `ledger`, which is in shared memory, and say whether the demand fits. All threads; `wanted`
// runs of its class a thread.
__device__ bool open_ledger(Ledger& ledger, Cut* cuts, const Stock& stock, i64 wanted, i64 most) {
    if (threadIdx.x < CLASSES) {
        const int size_class = threadIdx.x;
        ledger.need[size_class] = wanted;
        ledger.runs[size_class] = stock.runs;
        ledger.own[size_class] = 0;
        ledger.spent[size_class] = 0;
        ledger.pieces[size_class] = 0;
        ledger.bumped[size_class] = 0;
        ledger.hole[size_class] = RunRef{NO_RUN, 0, 0};
        ledger.rest[size_class] = RunRef{NO_RUN, 0, 0};
        const u32 classes_wanted = __ballot_sync(FULL_WARP, wanted > 0);
        const u32 classes_held = __ballot_sync(FULL_WARP, stock.runs > 0);
        const i64 demanded = warp_sum(wanted);
        __syncwarp();  // shuffles and ballots order no memory
        if (size_class == 0) {
            ledger.bump = stock.bump;
            ledger.cuts = 0;
            allocate(ledger, cuts, classes_wanted, classes_held, stock.limit);
            if (demanded > most) ledger.fits = 0;
        }
        __syncwarp();
        i64 total;
        const i64 pieces = ledger.pieces[size_class];
        ledger.first[size_class] = warp_exclusive_sum(pieces, total);
        i64 total_over;
        const i64 spent = ledger.spent[size_class];
        const i64 over = spent - ledger.own[size_class];
        ledger.over[size_class] = total + warp_exclusive_sum(over, total_over);
        ledger.list_at[size_class] = warp_exclusive_sum(spent, total);
    }
    __syncthreads();
    return ledger.fits != 0;
}

// Say of each class which runs it gets, for `run_of_rank`. One thread a class.
__device__ __forceinline__ void leave_allocation(const Ledger& ledger, i64* allocation) {
    i64* line = allocation + 4 * threadIdx.x;
    line[ALLOCATION_OWN] = ledger.pieces[threadIdx.x];
    line[ALLOCATION_FIRST] = ledger.first[threadIdx.x];
    line[ALLOCATION_BUMP] = ledger.bumped[threadIdx.x];
    line[ALLOCATION_NEED] = ledger.need[threadIdx.x];
}

// First page of a run, once the runs of its tree are listed.
__device__ __forceinline__ i64 page_of(const Ledger& ledger, const u32* taken, RunRef run) {
    if (run.tree == NO_TREE) return run.page;
    return taken[ledger.over[run.tree] + run.index - ledger.own[run.tree]] + run.page;
}

// Write the pieces of at most ALLOCATE_THREADS cuts, some a thread at once: no thread waits for memory cut by
// cut, or piece by piece. All threads.
__device__ void write_pieces(const Ledger& ledger, const Cut* cuts, i64 count, u32* taken) {
    constexpr int ITEMS = 4;
    __shared__ u32 begins[ALLOCATE_THREADS];  // of the pieces of each cut
    const u32 own = threadIdx.x < count ? cuts[threadIdx.x].count : 0;
    u32 pieces;
    const u32 begin = block_exclusive_sum<u32, ALLOCATE_THREADS>(own, pieces);
    begins[threadIdx.x] = begin;
    __syncthreads();
    for (u32 first = threadIdx.x; first < pieces; first += ITEMS * ALLOCATE_THREADS) {
        i64 position[ITEMS];
        u32 page[ITEMS];
        #pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            const u32 piece = min(first + item * ALLOCATE_THREADS, pieces - 1);
            u32 at = 0;  // the last cut that begins at or before the piece: no cut is empty
            for (u32 step = ALLOCATE_THREADS / 2; step > 0; step /= 2) {
                if (at + step < count && begins[at + step] <= piece) at += step;
            }
            const Cut cut = cuts[at];
            const u32 i = piece - begins[at];
            RunRef run = cut.from;
            run.index += i >> cut.shift;
            const i64 part = i & ((i64(1) << cut.shift) - 1);
            position[item] = ledger.first[cut.size_class] + cut.rank + i;
            page[item] = static_cast<u32>(page_of(ledger, taken, run) + (part << cut.size_class));
        }
        #pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            if (first + item * ALLOCATE_THREADS < pieces) taken[position[item]] = page[item];
        }
    }
    __syncthreads();  // before `begins` is written again
}

// Once every tree has given its runs: the pieces of cut runs, what is left of holes and rests, the
// counts. One block, all threads; `ledger` may be in shared or global memory.
__device__ void close_ledger(const Ledger& ledger, const Cut* cuts, i64* header, u32* tree,
                             const i64* geometry, u32* taken) {
    for (i64 first = 0; first < ledger.cuts; first += ALLOCATE_THREADS) {
        write_pieces(ledger, cuts + first, min(ledger.cuts - first, i64(ALLOCATE_THREADS)), taken);
    }
    if (threadIdx.x < CLASSES) {
        const int size_class = threadIdx.x;
        i64 runs = ledger.runs[size_class] - ledger.spent[size_class];
        for (int kind = 0; kind < 2; ++kind) {
            const RunRef left = kind == 0 ? ledger.hole[size_class] : ledger.rest[size_class];
            if (left.tree == NO_RUN) continue;
            enter_run(tree, geometry, page_of(ledger, taken, left), size_class);
            ++runs;
        }
        counts_of(tree)[size_class] = runs;
        const i64 pages = warp_sum(ledger.need[size_class] << size_class);
        if (size_class == 0) {
            header[FIELD_PAGES_FREE] += ledger.bump - header[FIELD_PAGE_BUMP] - pages;
            header[FIELD_PAGE_BUMP] = ledger.bump;
        }
    }
}
