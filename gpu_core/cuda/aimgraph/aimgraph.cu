// aimgraph.cu -- aimGraph's update kernels, for each way to distribute work on threads.
//
// Part of     `graphtide study distributions`, which compares them with the layout `chain`
// Caller      gpu_core/cuda/aimgraph/aimgraph.py
// Source      M. Winter, Fully-dynamic aimGraph, thesis, 2017: sections 3.1, 3.2, 3.4, 3.5, 4.2, 7.1
// Memory      aimgraph.cuh, which says how many threads work at one item, too
//
// A row lies on pages. Each names the next one in its last word, and all but the last are in use to the
// end, so the number of slots in use shows where the row ends: a link after the last page means nothing.
// Entries are in any order. Pages are taken by atomics while rows are written: from the queue, else from
// those never used. COMPACTS says what a delete does:
//
// 1  It moves the last entry into the slot of the deleted one, and gives an emptied page back at once
//    (algorithm 3). There are as many slots as neighbors, and an insert goes after the last.
// 0  It marks the slot, by NONE, and gives no page back (algorithm 2). An insert takes the first marked
//    slot that it finds (algorithm 1), else it goes after the last. A batch without inserts needs no
//    lock, since no two updates are of one entry.
#include "aimgraph.cuh"
#include "search.cuh"

// --- pages ------------------------------------------------------------------------------------------

// A page that no row has; NONE: there is none.
__device__ u32 take_page(const Memory& m) {
    u32 page = NONE;
    if (static_cast<i32>(atomicSub(&m.counters[QUEUED], 1u)) > 0) {
        u32* position = &m.queue[atomicAdd(&m.counters[FRONT], 1u) & m.queue_mask];
        // Pages are counted once they are written, but perhaps not in the order of their positions.
        while (page == NONE) page = atomicExch(position, NONE);
        __threadfence();
        return page;
    }
    atomicAdd(&m.counters[QUEUED], 1u);
    page = atomicAdd(&m.counters[USED], 1u);
    return page < m.room ? page : NONE;
}

__device__ void give_back(const Memory& m, u32 page) {
    __threadfence();
    u32* position = &m.queue[atomicAdd(&m.counters[BACK], 1u) & m.queue_mask];
    while (atomicCAS(position, NONE, page) != NONE) {}
    __threadfence();
    atomicAdd(&m.counters[QUEUED], 1u);
}

// Put an entry after the last one, by one thread; `last`: the last page, null: the row is empty.
__device__ void append(const Memory& m, u32* record, u32*& last, u32 target) {
    const u32 at = record[SLOTS] % page_entries(m);
    if (at == 0) {
        const u32 page = take_page(m);
        if (page == NONE) return;
        (last ? last[page_entries(m)] : record[FIRST_PAGE]) = page;
        last = page_at(m, page);
    }
    last[at] = target;
    ++record[SLOTS];
    ++record[NEIGHBORS];
}

// --- an update after the other: a walk along the row for each ------------------------------------------

// The threads of one item, which all call these together.
struct Worker {
    u32 lane = threadIdx.x % LANES;
    // Those of them that are in this warp.
    u32 mask = LANES >= WARP ? FULL_WARP
                             : ((1u << LANES % WARP) - 1) << (lane_of_thread() / LANES * LANES);

    // Whether it holds for any of them.
    __device__ bool any(bool holds) const {
        if constexpr (LANES == 1) return holds;
        else if constexpr (LANES <= WARP) return __any_sync(mask, holds);
        else return __syncthreads_or(holds);
    }
    // The least of their values; they meet before they ask for another.
    __device__ u32 least(u32 value) const {
        if constexpr (LANES <= WARP) {
            for (int distance = LANES / 2; distance > 0; distance /= 2) {
                value = min(value, __shfl_xor_sync(mask, value, distance));
            }
            return value;
        } else {
            __shared__ u32 of_block;
            if (lane == 0) of_block = value;
            __syncthreads();
            atomicMin(&of_block, value);
            __syncthreads();
            return of_block;
        }
    }
    // Wait for all of them, and see what they wrote.
    __device__ void meet() const {
        if constexpr (LANES > 1 && LANES <= WARP) __syncwarp(mask);
        else if constexpr (LANES > WARP) __syncthreads();
    }
};

// Insert or delete one entry of a row that no other thread changes, but those that delete others.
__device__ void update_row(const Memory& m, u32* record, u32 target, bool inserts, const Worker& worker) {
    const u32 on_page = page_entries(m);
    const u32 slots = record[SLOTS];
    u32* entry = nullptr;   // in the thread that has met it
    u32* marked = nullptr;  // the first marked slot that a thread has met, and its number in the row
    u32 marked_at = NONE;
    u32* last = nullptr;
    u32 last_page = NONE;
    for (u32 before = 0; before < slots; before += on_page) {
        last_page = before == 0 ? record[FIRST_PAGE] : last[on_page];
        last = page_at(m, last_page);
        const u32 here = min(on_page, slots - before);
        for (u32 i = worker.lane; i < here; i += LANES) {
            if (last[i] == target) entry = last + i;
            if (!COMPACTS && !marked && last[i] == NONE) {
                marked = last + i;
                marked_at = before + i;
            }
        }
    }
    const bool there = worker.any(entry != nullptr);
    if (inserts) {
        const u32 first = COMPACTS ? NONE : worker.least(marked_at);
        if (!there && first == NONE && worker.lane == 0) append(m, record, last, target);
        if (!there && first != NONE && first == marked_at) {
            *marked = target;
            ++record[NEIGHBORS];
        }
    } else if (entry && COMPACTS) {
        const u32 position = (slots - 1) % on_page;
        *entry = last[position];
        record[NEIGHBORS] = record[SLOTS] = slots - 1;
        if (position == 0) give_back(m, last_page);
    } else if (entry) {
        *entry = NONE;
        atomicSub(&record[NEIGHBORS], 1u);
    }
    worker.meet();
}

// Inserts and deletes of a batch, in one launch.
//
// Launch      LANES threads an item, blocks of a multiple of that
// Reads       sources  u32[items]: the row of each item; items of one row wait for one another
//             begins   i64[items + 1]: its updates
//             targets, inserts  u32[updates], u8[updates]: 1 inserts, 0 deletes. No edge occurs twice
//             locks    whether rows are locked: always where it COMPACTS, or where there are inserts
// Order       of a row's entries, and which page is whose: as threads come
extern "C" __global__ void update(
        const Memory m, const u32* __restrict__ sources, const i64* __restrict__ begins,
        const i64 items, const u32* __restrict__ targets, const u8* __restrict__ inserts, const i64 locks) {
    const i64 item = thread_of_grid() / LANES;
    if (item >= items) return;
    const Worker worker;
    u32* record = record_at(m, sources[item]);
    // The thread that has the lock is done within the loop: no thread waits after it for those that try.
    for (bool done = false; !done;) {
        if (locks) {
            if (!worker.any(worker.lane == 0 && atomicCAS(&record[LOCK], 0u, 1u) == 0)) continue;
            __threadfence();
            worker.meet();
        }
        for (i64 i = begins[item]; i < begins[item + 1]; ++i) {
            update_row(m, record, targets[i], inserts[i], worker);
        }
        if (locks && worker.lane == 0) {
            __threadfence();
            atomicExch(&record[LOCK], 0u);
        }
        done = true;
    }
}

// --- a page an item (7.1): all pages of the rows are listed, searched, then rows are written --------------

// Launch      one thread a row
// Writes      page_counts  i64[rows + 1], zeros before: from 1 on, the pages of each row
extern "C" __global__ void count_pages(
        const Memory m, const u32* __restrict__ rows, const i64 row_count, i64* __restrict__ page_counts) {
    const i64 row = thread_of_grid();
    if (row >= row_count) return;
    const u32 slots = record_at(m, rows[row])[SLOTS];
    page_counts[row + 1] = slots / page_entries(m) + (slots % page_entries(m) != 0);
}

// Launch      one thread a row
// Reads       pages_before  i64[rows + 1]: pages of the rows before
// Writes      row_of, pages  u32[all of them]: the row of each page, and the page
extern "C" __global__ void list_pages_of_rows(
        const Memory m, const u32* __restrict__ rows, const i64 row_count,
        const i64* __restrict__ pages_before, u32* __restrict__ row_of, u32* __restrict__ pages) {
    const i64 row = thread_of_grid();
    if (row >= row_count) return;
    const i64 begin = pages_before[row];
    u32 page = NONE;
    for (i64 at = begin; at < pages_before[row + 1]; ++at) {
        page = at == begin ? record_at(m, rows[row])[FIRST_PAGE] : page_at(m, page)[page_entries(m)];
        row_of[at] = static_cast<u32>(row);
        pages[at] = page;
    }
}

// Update of a target among those of a row, [begin, end), which increase; -1: there is none.
__device__ __forceinline__ i64 update_of(const u32* targets, i64 begin, i64 end, u32 target) {
    const i64 at = first_not_before(begin, end, [&](i64 i) { return targets[i] < target; });
    return at < end && targets[at] == target ? at : -1;
}

// Launch      LANES threads a page
// Writes      found  i64[updates], -1 before: word of `Memory.pages` where the graph has the entry
extern "C" __global__ void search_pages(
        const Memory m, const u32* __restrict__ rows, const i64* __restrict__ begins,
        const u32* __restrict__ targets, const i64* __restrict__ pages_before,
        const u32* __restrict__ row_of, const u32* __restrict__ pages, const i64 page_count,
        i64* __restrict__ found) {
    const i64 item = thread_of_grid() / LANES;
    if (item >= page_count) return;
    const u32 row = row_of[item];
    const i64 before = (item - pages_before[row]) * page_entries(m);
    const i64 here = min(i64(page_entries(m)), record_at(m, rows[row])[SLOTS] - before);
    const i64 first = pages[item] * m.page_words;
    for (i64 i = threadIdx.x % LANES; i < here; i += LANES) {
        const i64 update = update_of(targets, begins[row], begins[row + 1], m.pages[first + i]);
        if (update >= 0) found[update] = first + i;
    }
}

// Launch      one thread a row: no other one changes it
// Reads       found, as `search_pages` wrote it. Writes it, too: where a delete moves an entry that
//             another update is about
extern "C" __global__ void write_rows(
        const Memory m, const u32* __restrict__ rows, const i64* __restrict__ begins, const i64 row_count,
        const u32* __restrict__ targets, const u8* __restrict__ inserts,
        const i64* __restrict__ pages_before, const u32* __restrict__ pages, i64* found) {
    const i64 row = thread_of_grid();
    if (row >= row_count) return;
    const u32 on_page = page_entries(m);
    const u32* own = pages + pages_before[row];
    const i64 begin = begins[row], end = begins[row + 1];
    u32* record = record_at(m, rows[row]);
    u32 slots = record[SLOTS], deleted = 0;
    for (i64 i = begin; i < end; ++i) {
        if (inserts[i] || found[i] < 0) continue;
        ++deleted;
        if constexpr (COMPACTS) {
            --slots;
            const u32 page = own[slots / on_page];
            const u32 moved = page_at(m, page)[slots % on_page];
            m.pages[found[i]] = moved;
            const i64 update = update_of(targets, begin, end, moved);
            if (update >= 0) found[update] = found[i];
            if (slots % on_page == 0) give_back(m, page);
        } else {
            m.pages[found[i]] = NONE;
        }
    }
    record[SLOTS] = slots;
    record[NEIGHBORS] -= deleted;
    u32* last = slots == 0 ? nullptr : page_at(m, own[(slots - 1) / on_page]);
    u32 at = COMPACTS ? slots : 0;  // the first slot that may be marked, of those before
    for (i64 i = begin; i < end; ++i) {
        if (!inserts[i] || found[i] >= 0) continue;
        while (at < slots && page_at(m, own[at / on_page])[at % on_page] != NONE) ++at;
        if (at < slots) {
            page_at(m, own[at / on_page])[at % on_page] = targets[i];
            ++record[NEIGHBORS];
        } else {
            append(m, record, last, targets[i]);
        }
    }
}

// --- a whole graph ----------------------------------------------------------------------------------------

// Make all rows at once, from CSR (3.2).
//
// Launch      LANES threads a vertex
// Reads       indptr  i64[vertices + 1], targets  u32[entries]
//             pages_before  i64[vertices]: pages of the rows before, which come one after the other
extern "C" __global__ void fill_rows(
        const Memory m, const i64* __restrict__ indptr, const u32* __restrict__ targets,
        const i64* __restrict__ pages_before, const i64 vertices) {
    const i64 vertex = thread_of_grid() / LANES;
    if (vertex >= vertices) return;
    const u32 on_page = page_entries(m);
    const u32 first = static_cast<u32>(pages_before[vertex]);
    const i64 begin = indptr[vertex], degree = indptr[vertex + 1] - begin;
    for (i64 i = threadIdx.x % LANES; i < degree; i += LANES) {
        const u32 page = first + static_cast<u32>(i / on_page);
        page_at(m, page)[i % on_page] = targets[begin + i];
        if (i % on_page == 0 && i > 0) page_at(m, page - 1)[on_page] = page;
    }
    if (threadIdx.x % LANES == 0) {
        u32* record = record_at(m, static_cast<u32>(vertex));
        record[LOCK] = 0;
        record[FIRST_PAGE] = first;
        record[NEIGHBORS] = record[SLOTS] = static_cast<u32>(degree);
    }
}

// Launch      LANES threads a vertex
// Reads       indptr  i64[vertices]: slots of the vertices before
// Writes      keys    u64[slots]: source << 32 | target, which is NONE where it is marked
extern "C" __global__ void read_rows(
        const Memory m, const i64* __restrict__ indptr, const i64 vertices, u64* __restrict__ keys) {
    const i64 vertex = thread_of_grid() / LANES;
    if (vertex >= vertices) return;
    const u32* record = record_at(m, static_cast<u32>(vertex));
    const u32* page = nullptr;
    for (u32 before = 0; before < record[SLOTS]; before += page_entries(m)) {
        page = page_at(m, before == 0 ? record[FIRST_PAGE] : page[page_entries(m)]);
        const u32 here = min(page_entries(m), record[SLOTS] - before);
        for (u32 i = threadIdx.x % LANES; i < here; i += LANES) {
            keys[indptr[vertex] + before + i] = static_cast<u64>(vertex) << 32 | page[i];
        }
    }
}
