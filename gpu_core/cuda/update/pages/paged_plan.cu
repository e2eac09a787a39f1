// paged_plan.cu -- plan an update of rows on pages: new degrees and pages, computed before any write.
//
// Part of     the apply path of rows on pages: deltas -> **plan** -> allocate_demand -> commit
// Caller      gpu_core/cuda/update/pages/page_launches.py       Host twin   gpu_core/host/update/plan.py
// Reads       the vertex records and rows, and one delta of a batch (rows.cuh)
// Writes      ListedPlan, and by the last delta `need`: runs to be taken by class
// Status      NEEDS_SCRATCH where more rows, entries or old entries are listed than there is room for:
//             LONG_ROWS, LONG_TILES and SCRATCH_BYTES say how many then, the most of a delta.
//             NEEDS_HOST where the page queue may become too small
// Keeps       pages are taken and given back in the order of the rows: the host's order
#include "paged_update.cuh"
#include "search.cuh"
#include "tile_items.cuh"

using namespace paged;

// Row `number` of the delta, and whether it is to be listed.
__device__ __forceinline__ bool open_listed(
        const u32* image, const Shape& shape, const Delta& delta, i64 number, i64 rows, Row& row) {
    if (number >= rows) return false;
    row = open_row(image, shape, delta, static_cast<u32>(number));
    return !keeps_page(shape, delta, row);
}

// Count what a tile of rows lists; returns whether the block is the last one, which has the totals.
__device__ __forceinline__ bool count_tile(
        const u32* image, const Shape& shape, const Delta& delta, const ListedPlan& plan, i64* header) {
    const i64 rows = *delta.row_count;
    const i64 begin = blockIdx.x * plan.tile_rows;
    const i64 end = min(begin + plan.tile_rows, rows);
    i64 sums[4] = {0, 0, 0, 0};
    for (i64 pass = begin; pass < end; pass += BLOCK) {
        const i64 number = pass + threadIdx.x;
        Row row;
        const bool listed = open_listed(image, shape, delta, number, end, row);
        const u32 lanes = __ballot_sync(FULL_WARP, listed);
        if (lane_of_thread() == 0) plan.is_listed[number / WARP] = lanes;
        if (!listed) continue;
        sums[0] += 1;
        sums[1] += row.count;
        sums[2] += row.degree;
        sums[3] += pages_of(shape, row.degree);
    }
    block_sums<i64, BLOCK>(sums);
    #pragma unroll
    for (int i = 0; i < 4 && threadIdx.x == 0; ++i) plan.row_sums[i * plan.row_tiles + blockIdx.x] = sums[i];
    if (!is_last_block(ticket_of(header))) return false;
    i64 all[4];
    scan_sums(plan.row_sums, plan.row_tiles, plan.row_tiles, all);
    if (threadIdx.x != 0) return true;
    ListedTotals& totals = plan.totals[delta.number];
    totals.rows = all[0];
    totals.entries = all[1];
    totals.old_entries = all[2];
    totals.pages = all[3];
    for (int i = 0; i < TALLIES; ++i) totals.tally[i] = 0;
    for (int i = 0; i < 3; ++i) totals.fates[i] = 0;
    header[BATCH_FIELD_LONG_ROWS] = max(header[BATCH_FIELD_LONG_ROWS], all[0]);
    header[BATCH_FIELD_LONG_TILES] = max(header[BATCH_FIELD_LONG_TILES], all[1]);
    header[BATCH_FIELD_SCRATCH_BYTES] = max(header[BATCH_FIELD_SCRATCH_BYTES], all[2]);
    if (all[0] > plan.rows_room || all[1] > plan.entries_room || all[2] > plan.old_room) {
        header[BATCH_FIELD_STATUS] = BATCH_STATUS_NEEDS_SCRATCH;
    }
    return true;
}

// Launch    one block a tile of rows
// Writes    row_sums: items, entries, old entries and pages in the tiles before; totals of these
// Cost      rows, indptr and records of all rows
extern "C" __global__ void __launch_bounds__(BLOCK) count_listed(
        u32* image, Shape shape, Delta delta, ListedPlan plan) {
    follow_previous_launch();
    i64* header = header_of(image);
    const i64 status = header[BATCH_FIELD_STATUS];
    if (status != BATCH_STATUS_OK && status != BATCH_STATUS_NEEDS_SCRATCH) return;
    count_tile(image, shape, delta, plan, header);
}

// How many rows, and their entries and old pages, have been listed.
struct Listing {
    u32 rows;
    u32 entries;
    u32 pages;
};

// List a row of the delta for each thread that has one to be listed, behind those listed before.
__device__ __forceinline__ void list_in_block(
        const u32* image, const Shape& shape, const Delta& delta, const ListedPlan& plan, bool listed,
        u32 row_number, Listing& before) {
    const Row row = listed ? open_row(image, shape, delta, row_number) : Row{};
    const u32 pages = listed ? static_cast<u32>(pages_of(shape, row.degree)) : 0;
    Listing all;
    const u32 number = before.rows + block_exclusive_sum<u32, BLOCK>(listed, all.rows);
    const u32 entry_at =
        before.entries + block_exclusive_sum<u32, BLOCK>(listed ? row.count : 0, all.entries);
    const u32 page_at = before.pages + block_exclusive_sum<u32, BLOCK>(pages, all.pages);
    before = {before.rows + all.rows, before.entries + all.entries, before.pages + all.pages};
    list_pages_of_lanes(image, shape, row.first, pages, plan.pages + page_at);
    if (!listed) return;
    plan.rows[number] = ListedRow{row.vertex, row.begin, row.count, row.degree, row.clear,
                              0, 0, page_at, entry_at, 0, 0, 0};
    plan.entry_at[number] = entry_at;
}

// Launch    as `count_listed`
// Writes    rows, entry_at, pages
// Cost      listed rows, and reads of pages that depend on one another (pages.cuh: list_many_pages)
extern "C" __global__ void __launch_bounds__(BLOCK, 4) list_rows(
        u32* image, Shape shape, Delta delta, ListedPlan plan) {
    follow_previous_launch();
    if (header_of(image)[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const ListedTotals& totals = plan.totals[delta.number];
    if (blockIdx.x == 0 && threadIdx.x == 0) plan.entry_at[totals.rows] = static_cast<u32>(totals.entries);
    if (totals.rows == 0) return;
    const i64 rows = *delta.row_count;
    const i64 begin = blockIdx.x * plan.tile_rows;
    const i64 end = min(begin + plan.tile_rows, rows);
    Listing before = {static_cast<u32>(plan.row_sums[blockIdx.x]),
                      static_cast<u32>(plan.row_sums[plan.row_tiles + blockIdx.x]),
                      static_cast<u32>(plan.row_sums[3 * plan.row_tiles + blockIdx.x])};
    for (i64 pass = begin; pass < end; pass += BLOCK) {
        const i64 row_number = pass + threadIdx.x;
        const u32 lanes = row_number < end ? plan.is_listed[row_number / WARP] : 0;
        const bool listed = lanes >> lane_of_thread() & 1;
        if (!__syncthreads_or(listed)) continue;
        list_in_block(image, shape, delta, plan, listed, static_cast<u32>(row_number), before);
    }
}

// Old entries of a listed row whose neighbor is below `column`.
__device__ __forceinline__ u32 position_on_pages(
        const u32* image, const Shape& shape, const ListedPlan& plan, const ListedRow& item, u32 column) {
    const u32* pages = plan.pages + item.page_at;
    const u32 entries = static_cast<u32>(page_entries(shape));
    const u32 below = static_cast<u32>(first_not_before(0, pages_of(shape, item.degree), [&](i64 number) {
        return image[page_base(shape, pages[number])] < column;
    }));
    if (below == 0) return 0;
    const u32 before = (below - 1) * entries;
    return before + static_cast<u32>(lower_bound(image, page_base(shape, pages[below - 1]),
                                                 entry_step(shape),
                                                 min(entries, item.degree - before), column));
}

// Search the entries of the tiles first, first + stride, … of listed entries.
__device__ __forceinline__ void search_tiles(
        const u32* image, const Shape& shape, const Delta& delta, const ListedPlan& plan, const u8* reset,
        i64 first, i64 stride) {
    ListedTotals& totals = plan.totals[delta.number];
    for (i64 tile = first; tile < tiles_of(totals.entries); tile += stride) {
        const i64 begin = tile * LISTED_TILE;
        const i64 end = min(begin + LISTED_TILE, totals.entries);
        const TileItems range = items_of_tile(plan.entry_at, totals.rows, begin, end);
        Tally tally = 0;
        i32 carry = 0;
        for (i64 pass = begin; pass < end; pass += BLOCK) {
            const i64 e = pass + threadIdx.x;
            i32 change = 0;
            if (e < end) {
                const ListedRow& item = plan.rows[range.at(plan.entry_at, e)];
                const u32 entry = item.begin + static_cast<u32>(e - item.entry_at);
                const u32 column = delta.columns[entry];
                const u32 kind = kind_of(delta, entry);
                const u32 position = position_on_pages(image, shape, plan, item, column);
                bool there = false;
                if (position < item.degree) {
                    const u32 own = static_cast<u32>(page_entries(shape));
                    const i64 page = plan.pages[item.page_at + position / own];
                    there = image[page_base(shape, page) + position % own * entry_step(shape)] == column;
                }
                bool gone;
                const u32 code =
                    code_of_entry(delta, reset, item.begin, entry, column, kind, there, item.clear, gone);
                plan.marks[e] = (item.clear ? 0 : position + gone) << CODE_BITS | code;
                change = change_of(code);
                count_code(tally, code);
            }
            i32 sum;
            const i32 before = block_exclusive_sum<i32, BLOCK>(change, sum);
            if (e < end) plan.sums[e] = carry + before;
            carry += sum;
        }
        if (threadIdx.x == 0) plan.tile_sums[tile] = carry;
        if (delta.number == 0) add_tally_to(totals.tally, tally);
    }
}

// Launch    any number of blocks
// Writes    marks, sums, tile_sums; totals: the tally
// Cost      a binary search by pages and one within a page for each entry of a listed row
extern "C" __global__ void __launch_bounds__(BLOCK) search_entries(
        u32* image, Shape shape, Delta delta, ListedPlan plan, const u8* reset) {
    follow_previous_launch();
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const i64 tiles = tiles_of(plan.totals[delta.number].entries);
    if (tiles == 0) return;
    search_tiles(image, shape, delta, plan, reset, blockIdx.x, gridDim.x);
    if (is_last_block(ticket_of(header))) sums_before<BLOCK, 4>(plan.tile_sums, tiles);
}

// Plan the listed rows [begin, end): tile `tile` of those whose sums lie in `row_sums`.
__device__ __forceinline__ void plan_tile(
        const Shape& shape, const Delta& delta, const ListedPlan& plan, i64 tile, i64 begin, i64 end) {
    ListedTotals& totals = plan.totals[delta.number];
    i64 running[3] = {0, 0, 0};
    i64 counts[4] = {0, 0, 0, 0};  // rows that move, are appended to, are merged; entries that are cleared
    for (i64 pass = begin; pass < end; pass += BLOCK) {
        const i64 number = pass + threadIdx.x;
        const bool there = number < end;
        ListedRow item{};
        if (there) item = plan.rows[number];
        const u32 old = item.clear ? 0 : item.degree;
        u32 after = old;
        u32 start = old;
        if (item.count > 0) {
            const i64 last_entry = i64(item.entry_at) + item.count - 1;
            after += static_cast<u32>(sum_upto(plan, last_entry) - sum_before(plan, item.entry_at));
            start = min(plan.marks[item.entry_at] >> CODE_BITS, old);
        }
        if (item.clear) counts[3] += item.degree;
        const i64 pages = pages_of(shape, item.degree);
        const i64 to_pages = pages_of(shape, after);
        if (after != item.degree) {
            const bool moves = pages < to_pages && item.degree == 0;
            const bool appends = item.count > 0 && !item.clear && start == item.degree;
            counts[0] += moves;
            counts[1] += !moves && appends;
            counts[2] += !moves && !appends;
        }
        const i64 own[3] = {max(to_pages - pages, i64(0)), max(pages - to_pages, i64(0)),
                            i64(old - start)};
        i64 positions[3];
        #pragma unroll
        for (int i = 0; i < 3; ++i) {
            i64 sum;
            positions[i] = running[i] + block_exclusive_sum<i64, BLOCK>(own[i], sum);
            running[i] += sum;
        }
        if (there) {
            ListedRow& written = plan.rows[number];
            written.after = after;
            written.start = start;
            written.grown_at = static_cast<u32>(positions[0]);
            written.freed_at = static_cast<u32>(positions[1]);
            plan.staged_at[number] = positions[2];
        }
    }
    block_sums<i64, BLOCK>(counts);
    if (threadIdx.x == 0) {
        #pragma unroll
        for (int i = 0; i < 3; ++i) {
            plan.row_sums[i * plan.row_tiles + tile] = running[i];
            if (counts[i] != 0) atomicAdd(reinterpret_cast<u64*>(totals.fates + i), u64(counts[i]));
        }
        if (counts[3] != 0 && delta.number == 0) {
            atomicAdd(reinterpret_cast<u64*>(totals.tally + 3), u64(counts[3]));
        }
    }
}

// Sum up `tiles` planned tiles, and after the last delta what pages the batch takes: one block.
__device__ __forceinline__ void sum_up_plan(
        i64* header, const Delta& delta, const ListedPlan& plan, i64 tiles, const PagesToTake& pages) {
    ListedTotals& totals = plan.totals[delta.number];
    i64 all[3];
    scan_sums(plan.row_sums, plan.row_tiles, tiles, all);
    if (threadIdx.x == 0) {
        totals.grown = all[0];
        totals.freed = all[1];
        totals.staged = all[2];
        plan.staged_at[totals.rows] = all[2];
    }
    if (!pages.last) return;
    __syncthreads();
    i64 grown = 0;
    for (i64 i = 0; i <= delta.number; ++i) grown += plan.totals[i].grown;
    if (threadIdx.x < CLASSES) {
        pages.need[threadIdx.x] = threadIdx.x == 0 ? grown - min(grown, pages.queued) : 0;
    }
    // Every page that was allocated may come back.
    const i64 out_now = header[FIELD_PAGE_BUMP] - header[FIELD_PAGES_FREE];
    if (threadIdx.x == 0 && out_now + pages.queued + grown > pages.queue_words) {
        header[BATCH_FIELD_STATUS] = BATCH_STATUS_NEEDS_HOST;
    }
}

// Launch    one block a tile of listed rows, as many as a tile has rows
// Writes    rows: after, start, and where its pages and its staged entries are among those of the
//           tile; row_sums: grown and freed pages and staged entries of the tiles before; totals; by the
//           last block of the last delta `need`
// Cost      48 bytes a listed row, read and written
extern "C" __global__ void __launch_bounds__(BLOCK) plan_listed(
        u32* image, Shape shape, Delta delta, ListedPlan plan, PagesToTake pages) {
    follow_previous_launch();
    i64* header = header_of(image);
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const i64 begin = blockIdx.x * plan.tile_rows;
    const i64 end = min(begin + plan.tile_rows, plan.totals[delta.number].rows);
    plan_tile(shape, delta, plan, blockIdx.x, begin, end);
    if (is_last_block(ticket_of(header))) sum_up_plan(header, delta, plan, plan.row_tiles, pages);
}

// Numbers of the listed rows, of which there are `rows`, a thread a tile.
__device__ __forceinline__ void find_listed(const ListedPlan& plan, i64 rows, u32* numbers) {
    constexpr int WORDS = BLOCK / WARP;  // read at once: a tile has a multiple
    for (i64 tile = threadIdx.x; tile < plan.row_tiles; tile += BLOCK) {
        const i64 end = tile + 1 < plan.row_tiles ? plan.row_sums[tile + 1] : rows;
        i64 number = plan.row_sums[tile];
        for (i64 first = tile * plan.tile_rows; number < end; first += BLOCK) {
            u32 words[WORDS];
            #pragma unroll
            for (int i = 0; i < WORDS; ++i) words[i] = plan.is_listed[first / WARP + i];
            #pragma unroll
            for (int i = 0; i < WORDS; ++i) {
                for (u32 lanes = words[i]; lanes != 0; lanes &= lanes - 1) {
                    numbers[number++] = static_cast<u32>(first + i * WARP + __ffs(lanes) - 1);
                }
            }
        }
    }
}

// Launch    as `count_listed`, where there is room for FEW_LISTED rows at most: instead of all four
// Writes    what the four write; listed rows are one tile
// Cost      that of `count_listed`; then its last block lists, searches and plans
extern "C" __global__ void __launch_bounds__(BLOCK) plan_few_listed(
        u32* image, Shape shape, Delta delta, ListedPlan plan, PagesToTake pages, const u8* reset) {
    __shared__ u32 numbers[FEW_LISTED];
    follow_previous_launch();
    i64* header = header_of(image);
    const i64 status = header[BATCH_FIELD_STATUS];
    if (status != BATCH_STATUS_OK && status != BATCH_STATUS_NEEDS_SCRATCH) return;
    if (!count_tile(image, shape, delta, plan, header)) return;
    __syncthreads();
    if (header[BATCH_FIELD_STATUS] != BATCH_STATUS_OK) return;
    const ListedTotals& totals = plan.totals[delta.number];
    const i64 rows = totals.rows;
    find_listed(plan, rows, numbers);
    if (threadIdx.x == 0) plan.entry_at[rows] = static_cast<u32>(totals.entries);
    __syncthreads();
    Listing before = {0, 0, 0};
    for (i64 pass = 0; pass < rows; pass += BLOCK) {
        const i64 number = pass + threadIdx.x;
        const bool listed = number < rows;
        list_in_block(image, shape, delta, plan, listed, listed ? numbers[number] : 0, before);
    }
    __syncthreads();
    search_tiles(image, shape, delta, plan, reset, 0, 1);
    __syncthreads();
    sums_before<BLOCK, 4>(plan.tile_sums, tiles_of(totals.entries));
    __syncthreads();
    plan_tile(shape, delta, plan, 0, 0, rows);
    __syncthreads();
    sum_up_plan(header, delta, plan, 1, pages);
}
