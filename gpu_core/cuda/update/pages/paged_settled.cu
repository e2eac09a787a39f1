// paged_settled.cu -- write one delta into rows of one page that stay on it.
//
// Part of     the apply path of rows on pages: deltas -> plan -> allocate_demand -> **commit**
// Caller      gpu_core/cuda/update/pages/page_launches.py
// Host twin   gpu_core/host/update/rows/settled.py
// Reads       one delta of a batch, its listed rows (paged_plan.cu), the vertex records
// Writes      settled rows (paged_update.cuh) and their records; what became of rows and entries in
//             the header
// Keeps       rows sorted by neighbor
#include "closing.cuh"
#include "kept_rows.cuh"
#include "merge_rows.cuh"
#include "paged_update.cuh"

using namespace paged;

// Settled rows of a block, as their lanes see them.
struct SettledRows {
    u32 begin[BLOCK];
    u32 count[BLOCK];
    u32 degree[BLOCK];  // before, and then after
    i64 base[BLOCK];
    u8 listed[3][BLOCK];
    u32 listed_count[3];
};
constexpr int KEPT_ROWS = 0;
constexpr int SHORT_ROWS = 1;
constexpr int MEDIUM_ROWS = 2;

template <int ENTRIES>
__device__ __forceinline__ void commit_kept(
        u32* image, const Delta& delta, SettledRows& rows, const u8* listed, u32 count, Tally& tally) {
    constexpr int LANES = LANES_KEPT;
    for (u32 i = 0; i < count; i += WARP / LANES) {
        const u32 position = i + lane_of_thread() / LANES;
        const bool active = position < count;
        const u32 at = listed[min(position, count - 1)];
        const u32 degree = active ? rows.degree[at] : 0;
        Coming<LANES> coming(delta, rows.begin[at], active ? rows.count[at] : 0);
        u32 kept[KEPT];
        keep_row<LANES>(kept, image + rows.base[at], degree);
        const u32 first = coming.first();
        const Changed changed = apply_entries<LANES, ENTRIES>(kept, coming, degree);
        __syncwarp();  // all lanes have read the degree that one of them replaces
        if (!active) continue;
        if (changed.added + changed.removed > 0) {
            write_kept<LANES>(kept, image + rows.base[at], changed.degree, first);
        }
        if (lane_of_group<LANES>() == 0) {
            rows.degree[at] = changed.degree;
            tally += tally_of(changed);
        }
    }
}

template <int LANES>
__device__ __forceinline__ void commit_staged(
        u32* image, const Shape& shape, const Delta& delta, const Properties& properties,
        SettledRows& rows, u32* stage, u32 at, bool active, Tally& tally) {
    const u32 degree = active ? rows.degree[at] : 0;
    Move move;
    move.from = move.to = image + (active ? rows.base[at] : 0);
    move.from_field = move.to_field = entry_field(shape, page_entries(shape));
    move.stays = true;
    move.restrides = false;
    const i32 change = merge_row<LANES>(delta, properties, active ? rows.begin[at] : 0,
                                        active ? rows.count[at] : 0, degree, false, move,
                                        static_cast<u32>(entry_step(shape)), stage, tally);
    if (active && lane_of_group<LANES>() == 0) rows.degree[at] = degree + change;
}

// Write the settled rows of a block; `row` is the thread's own, where there is one.
__device__ __forceinline__ void commit_block(
        u32* image, const Shape& shape, const Delta& delta, const ListedPlan& plan,
        const Properties& properties, u32 number, u32 row_count, Row row) {
    __shared__ SettledRows rows;
    __shared__ u32 stage[STAGE_WORDS];
    __shared__ u32 fates[2];
    i64* header = header_of(image);
    const u32 at = threadIdx.x;
    const u32 warp = warp_of_thread();
    const u32 lane = lane_of_thread();
    if (at < 3) rows.listed_count[at] = 0;
    if (at < 2) fates[at] = 0;
    __syncthreads();
    const bool settled = number < row_count && (plan.is_listed[number / WARP] >> lane & 1) == 0;
    if (settled) read_record(image, shape, delta, row);
    const u32 before = row.degree;
    int list = -1;
    if (settled) {
        rows.begin[at] = row.begin;
        rows.count[at] = row.count;
        rows.degree[at] = before;
        rows.base[at] = page_base(shape, row.first);
        const u32 most = before + (delta.puts ? row.count : 0);
        if (ENTRY_WORDS == 1 && quads_are_aligned(shape) && most <= capacity_of_lanes(LANES_KEPT)) {
            list = KEPT_ROWS;
        } else {
            list = is_short(before, row.count) ? SHORT_ROWS : MEDIUM_ROWS;
        }
    }
    append(rows.listed[SHORT_ROWS], rows.listed_count[SHORT_ROWS], at, list == SHORT_ROWS);
    append(rows.listed[MEDIUM_ROWS], rows.listed_count[MEDIUM_ROWS], at, list == MEDIUM_ROWS);
    Tally tally = 0;
    if (ENTRY_WORDS == 1) {
        u8* listed = rows.listed[KEPT_ROWS] + warp * WARP;
        const u32 count = list_in_warp(listed, at, list == KEPT_ROWS, row.count);
        if (delta.kind == KIND_PUT) commit_kept<ONLY_PUTS>(image, delta, rows, listed, count, tally);
        else if (delta.kind == KIND_DELETE) commit_kept<ONLY_DELETES>(image, delta, rows, listed, count, tally);
        else commit_kept<MIXED>(image, delta, rows, listed, count, tally);
    }
    if (__syncthreads_or(list > KEPT_ROWS)) {
        const u32 short_count = rows.listed_count[SHORT_ROWS];
        const u32 medium_count = rows.listed_count[MEDIUM_ROWS];
        u32* warp_stage = stage + warp * PLANES * PLANE_WORDS;
        u32* group_stage = warp_stage + lane / LANES_SHORT * SHORT_STRIDE;
        for (u32 i = warp * GROUPS_OF_WARP; i < short_count; i += GROUPS) {
            const u32 position = i + lane / LANES_SHORT;
            const bool active = position < short_count;
            commit_staged<LANES_SHORT>(image, shape, delta, properties, rows, group_stage,
                                       rows.listed[SHORT_ROWS][active ? position : i], active, tally);
        }
        for (u32 i = warp; i < medium_count; i += WARPS) {
            commit_staged<WARP>(image, shape, delta, properties, rows, warp_stage,
                                rows.listed[MEDIUM_ROWS][i], true, tally);
        }
        __syncthreads();
    }
    const u32 after = settled ? rows.degree[at] : before;
    int fate = -1;
    if (after != before) {
        image[record_of(shape, row.vertex) + shape.degree_word] = after;
        const u32* last = image + rows.base[at] + i64(before - 1) * entry_step(shape);
        fate = after > before && is_appended(last, delta, row.begin) ? 0 : 1;
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        const u32 lanes = __ballot_sync(FULL_WARP, fate == i);
        if (lane == 0 && lanes != 0) atomicAdd(&fates[i], __popc(lanes));
    }
    __syncthreads();
    if (at < 2 && fates[at] != 0) {
        atomicAdd(reinterpret_cast<u64*>(header + BATCH_FIELD_APPENDED_ROWS + at), u64(fates[at]));
    }
    if (delta.number == 0) add_tally(header, tally);
}

// Launch    one block for each BLOCK rows, beside `write_entries`, which it awaits at the end
// Writes    settled rows and their records
// Cost      row, indptr and record of each row; entries of the batch; the row read once, and
//           written from the first change on
extern "C" __global__ void __launch_bounds__(BLOCK, ENTRY_WORDS == 1 ? 5 : 3) commit_settled(
        u32* image, Shape shape, Delta delta, ListedPlan plan, Properties properties) {
    const u32 number = blockIdx.x * BLOCK + threadIdx.x;
    // Loaded before the number of rows is known: no launch before writes the delta.
    Row row{};
    if (number < delta.max_rows) row = row_of_delta(delta, number);
    const u32 row_count = *delta.row_count;
    run_beside_previous_launch();
    if (header_of(image)[BATCH_FIELD_STATUS] == BATCH_STATUS_OK) {
        commit_block(image, shape, delta, plan, properties, number, row_count, row);
    }
    await_previous_launch();
}
