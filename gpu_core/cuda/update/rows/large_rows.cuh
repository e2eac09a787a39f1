// large_rows.cuh -- long rows that one block writes: merged in place, or new ones copied.
//
// Launch      all threads of a block call for one row; the caller has a barrier between two rows
// Method      all old columns are staged; each thread looks up entries of the batch and leaves what
//             they become in shared memory, if old entries need it. The formula: rows.cuh
#pragma once
#include "merge_rows.cuh"

// Stage of a block: planes of the old entries, and `passed_of` each entry of the batch.
constexpr u32 LARGE_STAGE_WORDS = PLANES * LARGE_DEGREE + LONG_ENTRIES;

// Stage the old columns of a row and look up its entries of the batch, which are left in `passed`. Ends
// with a barrier; returns the change of the degree.
__device__ __forceinline__ i32 meet_in_block(
        const Delta& delta, const Properties& properties, const Row& row, const u32* from, u32 step,
        u32* stage, u32* passed, Tally& tally) {
    const u8* reset = ENTRY_WORDS > FIRST_WORD ? properties.reset : nullptr;
    u32 column = column_of_chunk<BLOCK>(delta, row.begin, row.count, 0);
    stage_row<BLOCK>(stage, from, step, row.degree);
    __syncthreads();
    i32 change = 0;
    for (u32 first = 0; first < row.count; first += BLOCK) {
        const u32 number = first + threadIdx.x;
        if (first > 0) column = column_of_chunk<BLOCK>(delta, row.begin, row.count, first / BLOCK);
        Met met{column, ~0u, 0};
        u32 code = CODE_NOTHING;
        if (number < row.count) {
            met.mark = mark_of_entry(delta, reset, row.begin, row.begin + number, column, row.degree,
                                     false, stage);
            code = met.mark & CODE_MASK;
        }
        count_code(tally, code);
        i32 sum;
        met.before = change + block_exclusive_sum<i32, BLOCK>(change_of(code), sum);
        change += sum;
        if (number < row.count) passed[number] = passed_of(met);
    }
    __syncthreads();
    return change;
}

// Position of the first entry of the batch, once they have been looked up.
__device__ __forceinline__ u32 first_position(const u32* stage) {
    return stage[PLANES * LARGE_DEGREE] >> PASSED_POSITION_SHIFT;
}

// Merge a settled row with its entries of the batch. Returns the change of its degree.
__device__ __forceinline__ i32 merge_in_block(
        u32* image, const Shape& shape, const Delta& delta, const Properties& properties,
        const Row& row, u32* stage, Tally& tally) {
    u32* passed = stage + PLANES * LARGE_DEGREE;
    const u32 step = static_cast<u32>(entry_step(shape));
    const i64 field = entry_field(shape, ENTRY_WORDS == 1 ? 0 : capacity_of(shape, row.room));
    u32* base = image + base_of(shape, row.first, row.room);
    const i32 change = meet_in_block(delta, properties, row, base, step, stage, passed, tally);
    // Each warp moves a part of the old entries, from the first that an entry of the batch meets.
    const u32 unchanged = min(first_position(stage), row.degree) & ~(WARP - 1);
    const u32 share = (row.degree - unchanged + BLOCK - 1) / BLOCK * WARP;
    const u32 begin = min(unchanged + warp_of_thread() * share, row.degree);
    const u32 end = min(begin + share, row.degree);
    #pragma unroll 1
    for (int word = 0; word < ENTRY_WORDS; ++word) {
        const u32* source = stage;
        if (word > 0) {
            u32* plane = stage + LARGE_DEGREE;
            __syncthreads();  // the word before has been read
            stage_row<BLOCK>(plane, base + word * field, step, row.degree);
            __syncthreads();
            source = plane;
        }
        u32* to = base + word * field;
        for (u32 number = threadIdx.x; number < row.count; number += BLOCK) {
            const u32 own = passed[number];
            const u32 code = own >> PASSED_CODE_SHIFT & CODE_MASK;
            if (!writes_word(code, word)) continue;
            const u32 slot = (own >> PASSED_POSITION_SHIFT) + shift_of(own) - change_of(code);
            const u32 entry = row.begin + number;
            to[static_cast<size_t>(slot) * step] =
                word == 0 ? delta.columns[entry] : put_word(properties, word, put_of(delta, entry));
        }
        // Entries of the batch with a position below that of the warp's next old entries.
        u32 next = 0;
        for (u32 length = row.count; length > 0;) {
            const u32 middle = length >> 1;
            const bool up = passed[next + middle] >> PASSED_POSITION_SHIFT < begin;
            next = up ? next + middle + 1 : next;
            length = up ? length - middle - 1 : middle;
        }
        for (u32 first = begin; first < end; first += WARP) {
            const u32 i = first + lane_of_thread();
            // The last entry with a position up to i.
            u32 last = next > 0 ? passed[next - 1] : SUM_BIAS;
            for (; next < row.count; ++next) {
                const u32 own = passed[next];
                if (own >> PASSED_POSITION_SHIFT >= first + WARP) break;
                if (own >> PASSED_POSITION_SHIFT <= i) last = own;
            }
            const bool meets = last >> PASSED_POSITION_SHIFT == i;
            const u32 code = meets ? last >> PASSED_CODE_SHIFT & CODE_MASK : CODE_NOTHING;
            const i32 shift = shift_of(last);
            if (i < end && keeps_word(code, word) && shift != 0) {
                to[static_cast<size_t>(i + shift) * step] = source[i];
            }
        }
    }
    return change;
}

// Copy the entries of the batch to a fresh row. Returns its degree.
__device__ __forceinline__ i32 write_fresh(
        const Shape& shape, const Delta& delta, const Properties& properties, const Row& row,
        const Move& move) {
    if (delta.kind != KIND_PUT) return 0;
    const i64 step = entry_step(shape);
    #pragma unroll 1
    for (int word = 0; word < ENTRY_WORDS; ++word) {
        u32* to = move.to + word * move.to_field;
        #pragma unroll 8
        for (u32 i = threadIdx.x; i < row.count; i += BLOCK) {
            const u32 entry = row.begin + i;
            to[i * step] =
                word == 0 ? delta.columns[entry] : put_word(properties, word, put_of(delta, entry));
        }
    }
    return row.count;
}
