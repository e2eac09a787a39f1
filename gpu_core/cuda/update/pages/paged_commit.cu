// paged_commit.cu -- write one delta into the listed rows on pages (paged_update.cuh).
//
// Part of     the apply path of rows on pages: deltas -> plan -> allocate_demand -> **commit**
// Caller      gpu_core/cuda/update/pages/page_launches.py       Host twin   gpu_core/host/update/commit.py
// Reads       one delta of a batch, its plan (paged_plan.cu), the pages allocated for it
// Writes      rows and vertex records of the delta, links between pages, the page queue; what became of
//             rows and entries in the header
// Order       place_rows -> stage_entries -> write_entries, or write_few_listed alone; beside the last
//             of them commit_settled (paged_settled.cu)
// Keeps       rows sorted by neighbor. No word of a row is written before all old entries that are
//             needed of it have been read
#include "paged_update.cuh"
#include "put_words.cuh"
#include "tile_items.cuh"

using namespace paged;

// Page `number` of a listed row afterwards; `pages` of them it has already.
__device__ __forceinline__ i64 page_of_row(
        const ListedPlan& plan, const TakenPages& taken, const ListedRow& item, i64 pages, i64 number) {
    if (number < pages) return plan.pages[item.page_at + number];
    return page_of_rank(taken, i64(item.grown_at) + number - pages);
}

// Link the new pages of a row, and put those that it leaves into the page queue: pages `from`,
// from + step, … of them.
__device__ __forceinline__ void change_pages(
        u32* image, const Shape& shape, const ListedPlan& plan, const TakenPages& taken, const ListedRow& item,
        const PageQueue& queue, i64 queue_at, u32 from, u32 step) {
    const i64 pages = pages_of(shape, item.degree);
    const i64 to_pages = pages_of(shape, item.after);
    for (i64 number = max(pages, i64(1)) + from; number < to_pages; number += step) {
        const i64 parent = page_of_row(plan, taken, item, pages, parent_of(shape, number));
        image[link_word(shape, parent, number)] =
            static_cast<u32>(page_of_row(plan, taken, item, pages, number));
    }
    for (i64 number = to_pages + from; number < pages; number += step) {
        queue.pages[(queue_at + number - to_pages) & queue.mask] = plan.pages[item.page_at + number];
    }
}

// Place the listed rows [begin, end), which were planned as tile `tile`.
__device__ __forceinline__ void place_tile(
        u32* image, const Shape& shape, const Delta& delta, const ListedPlan& plan, const TakenPages& taken,
        const PageQueue& queue, i64 tile, i64 begin, i64 end) {
    i64* header = header_of(image);
    const ListedTotals& totals = plan.totals[delta.number];
    i64 grown_before = 0;
    i64 freed_before = 0;
    for (i64 i = 0; i < delta.number; ++i) {
        grown_before += plan.totals[i].grown;
        freed_before += plan.totals[i].freed;
    }
    if (tile == 0 && threadIdx.x == 0) {
        i64 freed = totals.freed;
        header[FIELD_PAGE_QUEUE_BACK] += freed;
        if (queue.last && queue.pops) {
            const i64 recycled = min(taken.queued, grown_before + totals.grown);
            header[FIELD_PAGE_QUEUE_FRONT] += recycled;
            freed -= recycled;
        }
        header[FIELD_PAGES_FREE] += freed;
        // Atomic, as `commit_settled` may count beside this launch.
        u64* counts = reinterpret_cast<u64*>(header);
        for (int i = 0; i < TALLIES && delta.number == 0; ++i) {
            atomicAdd(counts + BATCH_FIELD_ADDED + i, u64(totals.tally[i]));
        }
        for (int i = 0; i < 3; ++i) atomicAdd(counts + BATCH_FIELD_MOVED_ROWS + i, u64(totals.fates[i]));
    }
    const i64 grown_at = grown_before + plan.row_sums[tile];
    const i64 freed_at = queue.back + freed_before + plan.row_sums[plan.row_tiles + tile];
    const i64 staged_at = plan.row_sums[2 * plan.row_tiles + tile];
    for (i64 pass = begin; pass < end; pass += BLOCK) {
        const i64 number = pass + threadIdx.x;
        const bool there = number < end;
        ListedRow item{};
        i64 changing = 0;
        if (there) {
            item = plan.rows[number];
            item.grown_at += static_cast<u32>(grown_at);
            plan.rows[number].grown_at = item.grown_at;
            plan.staged_at[number] += staged_at;
            const i64 pages = pages_of(shape, item.degree);
            const i64 to_pages = pages_of(shape, item.after);
            changing = max(to_pages - pages, pages - to_pages);
            if (changing <= FEW_PAGES) {
                change_pages(image, shape, plan, taken, item, queue, freed_at + item.freed_at, 0, 1);
            }
            if (item.after != item.degree && i64(item.vertex) < shape.vertex_count) {
                u32* record = image + record_of(shape, item.vertex);
                record[shape.degree_word] = item.after;
                if (item.after == 0) record[shape.first_word] = 0;
                else if (pages == 0) record[shape.first_word] = static_cast<u32>(
                    page_of_rank(taken, item.grown_at));
            }
        }
        // Rows that change many pages: a warp each.
        for (u32 many = __ballot_sync(FULL_WARP, changing > FEW_PAGES); many != 0; many &= many - 1) {
            const i64 leader = number - lane_of_thread() + __ffs(many) - 1;
            __syncwarp();
            const ListedRow other = plan.rows[leader];
            change_pages(image, shape, plan, taken, other, queue, freed_at + other.freed_at,
                         lane_of_thread(), WARP);
        }
    }
}

// Launch    one block a tile of listed rows, as many as a tile has rows
// Writes    rows: grown_at by rank; staged_at; links of new pages, pages that rows leave at the end of
//           the page queue; vertex records; header: queue and free pages, tally and fates of the delta
extern "C" __global__ void __launch_bounds__(BLOCK, 4) place_rows(
        u32* image, Shape shape, Delta delta, ListedPlan plan, TakenPages taken, PageQueue queue) {
    follow_previous_launch();
    if (header_of(image)[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const i64 begin = blockIdx.x * plan.tile_rows;
    const i64 end = min(begin + plan.tile_rows, plan.totals[delta.number].rows);
    place_tile(image, shape, delta, plan, taken, queue, blockIdx.x, begin, end);
}

// Stage the old entries of the tiles first, first + stride, … of those that may move.
__device__ __forceinline__ void stage_tiles(
        const u32* image, const Shape& shape, const Delta& delta, const ListedPlan& plan, i64 first, i64 stride) {
    const ListedTotals& totals = plan.totals[delta.number];
    const u32 entries = static_cast<u32>(page_entries(shape));
    const i64 step = entry_step(shape);
    const i64 field = entry_field(shape, entries);
    for (i64 tile = first; tile < tiles_of(totals.staged); tile += stride) {
        const i64 begin = tile * LISTED_TILE;
        const i64 end = min(begin + LISTED_TILE, totals.staged);
        const TileItems range = items_of_tile(plan.staged_at, totals.rows, begin, end);
        #pragma unroll 2
        for (i64 at = begin + threadIdx.x; at < end; at += BLOCK) {
            const i64 number = range.at(plan.staged_at, at);
            const ListedRow& item = plan.rows[number];
            const u32 i = item.start + static_cast<u32>(at - plan.staged_at[number]);
            const i64 page = plan.pages[item.page_at + i / entries];
            const u32* from = image + page_base(shape, page) + i % entries * step;
            #pragma unroll
            for (int word = 0; word < ENTRY_WORDS; ++word) {
                plan.staging[word * plan.old_room + at] = from[word * field];
            }
        }
    }
}

// Launch    any number of blocks
// Writes    staging
extern "C" __global__ void __launch_bounds__(BLOCK, 4) stage_entries(
        const u32* image, Shape shape, Delta delta, ListedPlan plan) {
    follow_previous_launch();
    if (header_of(image)[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    stage_tiles(image, shape, delta, plan, blockIdx.x, gridDim.x);
}

// Word 0 of entry `i` of a listed row as it lies afterwards.
__device__ __forceinline__ u32* entry_of_row(
        u32* image, const Shape& shape, const ListedPlan& plan, const TakenPages& taken, const ListedRow& item,
        u32 entries, u32 i) {
    const i64 page = page_of_row(plan, taken, item, pages_of(shape, item.degree), i / entries);
    return image + page_base(shape, page) + i % entries * entry_step(shape);
}

// Write the entries of the tiles first, first + stride, … of staged entries and of the batch's.
__device__ __forceinline__ void write_tiles(
        u32* image, const Shape& shape, const Delta& delta, const ListedPlan& plan,
        const Properties& properties, const TakenPages& taken, i64 first, i64 stride) {
    const ListedTotals& totals = plan.totals[delta.number];
    const u32 entries = static_cast<u32>(page_entries(shape));
    const i64 field = entry_field(shape, entries);
    for (i64 tile = first; tile < tiles_of(totals.staged); tile += stride) {
        const i64 begin = tile * LISTED_TILE;
        const i64 end = min(begin + LISTED_TILE, totals.staged);
        const TileItems range = items_of_tile(plan.staged_at, totals.rows, begin, end);
        for (i64 at = begin + threadIdx.x; at < end; at += BLOCK) {
            const i64 number = range.at(plan.staged_at, at);
            const ListedRow& item = plan.rows[number];
            const u32 i = item.start + static_cast<u32>(at - plan.staged_at[number]);
            // The last entry of the batch with a position up to i: there is one.
            u32 low = item.entry_at;
            u32 high = item.entry_at + item.count - 1;
            while (low < high) {
                const u32 middle = low + ((high - low + 1) >> 1);
                if (plan.marks[middle] >> CODE_BITS <= i) low = middle;
                else high = middle - 1;
            }
            const u32 mark = plan.marks[low];
            const u32 code = mark >> CODE_BITS == i ? mark & CODE_MASK : CODE_NOTHING;
            const i64 shift = sum_upto(plan, low) - sum_before(plan, item.entry_at);
            if (is_taken(code) || shift == 0) continue;
            u32* to = entry_of_row(image, shape, plan, taken, item, entries, static_cast<u32>(i + shift));
            #pragma unroll
            for (int word = 0; word < ENTRY_WORDS; ++word) {
                if (keeps_word(code, word)) to[word * field] = plan.staging[word * plan.old_room + at];
            }
        }
    }
    for (i64 tile = first; tile < tiles_of(totals.entries); tile += stride) {
        const i64 begin = tile * LISTED_TILE;
        const i64 end = min(begin + LISTED_TILE, totals.entries);
        const TileItems range = items_of_tile(plan.entry_at, totals.rows, begin, end);
        for (i64 e = begin + threadIdx.x; e < end; e += BLOCK) {
            const u32 mark = plan.marks[e];
            const u32 code = mark & CODE_MASK;
            if (!is_new(code) && !is_found(code)) continue;
            const ListedRow& item = plan.rows[range.at(plan.entry_at, e)];
            const u32 entry = item.begin + static_cast<u32>(e - item.entry_at);
            const i64 slot = (mark >> CODE_BITS) + sum_before(plan, e) - sum_before(plan, item.entry_at);
            if (ENTRY_WORDS == 1 && !is_new(code)) continue;
            u32* to = entry_of_row(image, shape, plan, taken, item, entries, static_cast<u32>(slot));
            #pragma unroll
            for (int word = 0; word < ENTRY_WORDS; ++word) {
                if (!writes_word(code, word)) continue;
                to[word * field] = word == 0 ? delta.columns[entry]
                                             : put_word(properties, word, put_of(delta, entry));
            }
        }
    }
}

// Launch    any number of blocks; after `stage_entries`
// Writes    all entries of listed rows that move, that are new, or whose properties change
extern "C" __global__ void __launch_bounds__(BLOCK, 4) write_entries(
        u32* image, Shape shape, Delta delta, ListedPlan plan, Properties properties, TakenPages taken) {
    follow_and_lead();
    if (header_of(image)[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    write_tiles(image, shape, delta, plan, properties, taken, blockIdx.x, gridDim.x);
}

// Launch    one block, after `plan_few_listed`: instead of all three
// Writes    what the three write
extern "C" __global__ void __launch_bounds__(BLOCK, 1) write_few_listed(
        u32* image, Shape shape, Delta delta, ListedPlan plan, Properties properties, TakenPages taken,
        PageQueue queue) {
    follow_and_lead();
    if (header_of(image)[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    place_tile(image, shape, delta, plan, taken, queue, 0, 0, plan.totals[delta.number].rows);
    __syncthreads();
    stage_tiles(image, shape, delta, plan, 0, 1);
    __syncthreads();
    write_tiles(image, shape, delta, plan, properties, taken, 0, 1);
}
