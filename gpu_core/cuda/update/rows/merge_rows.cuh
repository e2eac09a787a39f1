// merge_rows.cuh -- merge a row with its delta, and write it in place or to a new run.
//
// Host twin   gpu_core/host/update/commit.py: rewrite_rows
#pragma once
#include "free_runs.cuh"
#include "put_words.cuh"
#include "staged_rows.cuh"
#include "tallies.cuh"

// Where a row lies before and after. Word w of entry i: from[i * step + w * from_field], …
struct Move {
    const u32* from;
    u32* to;
    i64 from_field;
    i64 to_field;
    bool stays;      // in the same run
    bool restrides;  // there, but its planes move
};

// From word `from` in a run of `room` to word `to` in one of `to_room`; `moves`: to another run.
__device__ __forceinline__ Move move_between(
        u32* image, const Shape& shape, i64 from, u32 room, i64 to, u32 to_room, bool moves) {
    Move move;
    move.from = image + from;
    move.to = image + to;
    move.from_field = entry_field(shape, ENTRY_WORDS == 1 ? 0 : capacity_of(shape, room));
    move.to_field = entry_field(shape, ENTRY_WORDS == 1 ? 0 : capacity_of(shape, to_room));
    move.stays = !moves;
    move.restrides = ENTRY_WORDS > 1 && !moves && move.from_field != move.to_field;
    return move;
}

// Runs allocated (free_runs.cuh: run_of_rank), and the trees that freed ones are entered in.
struct Runs {
    const i64* allocation;
    const u32* taken;
    u32* tree;
    const i64* geometry;
};

// First page of the run that a row gets which outgrows its own.
__device__ __forceinline__ u32 run_of_row(const Plan& plan, const Runs& runs, u32 number, u32 word) {
    const int size_class = static_cast<int>(word & PLAN_ROOM) - 1;
    const u32 tile = static_cast<u32>(plan.first_tile) + (number >> plan.tile_shift);
    const u32 rank = plan.counts[size_class * plan.stride + tile] + (word >> PLAN_RANK_SHIFT);
    return static_cast<u32>(run_of_rank(runs.allocation, runs.taken, size_class, rank));
}

// --- staged rows -----------------------------------------------------------------------------------

// A lane's entry of the batch as the lanes of its row ask for it: position, code, and the sum of
// changes over the entries up to it. Sorted by position; lanes without an entry are after all others.
constexpr int SUM_BITS = 11;
constexpr i32 SUM_BIAS = 1 << (SUM_BITS - 1);
constexpr int PASSED_CODE_SHIFT = SUM_BITS;
constexpr int PASSED_POSITION_SHIFT = SUM_BITS + CODE_BITS;
static_assert(LONG_ENTRIES < SUM_BIAS, "a sum fits its bits");
static_assert(LARGE_DEGREE < 1 << (32 - PASSED_POSITION_SHIFT), "a position fits its bits");
static_assert(LARGE_DEGREE >= LONG_DEGREE, "large rows are long ones");

__device__ __forceinline__ u32 passed_of(const Met& met) {
    if (met.mark == ~0u) return ~0u;
    const i32 sum = met.before + change_of(met.mark & CODE_MASK);
    return met.mark << PASSED_CODE_SHIFT | static_cast<u32>(sum + SUM_BIAS);
}

// The sum of changes up to that entry: what the old entries after it are moved by.
__device__ __forceinline__ i32 shift_of(u32 passed) {
    return static_cast<i32>(passed & ((1 << SUM_BITS) - 1)) - SUM_BIAS;
}

// Merge a row's old entries and its entries of the batch: LANES lanes a row, all lanes of the warp
// call; a group without a row has degree and count 0. Returns the change of the degree.
template <int LANES>
__device__ __forceinline__ i32 merge_row(
        const Delta& delta, const Properties& properties, u32 begin, u32 count, u32 degree,
        bool clear, const Move& move, u32 step, u32* stage, Tally& tally) {
    const u32 lane = lane_of_group<LANES>();
    const u8* reset = ENTRY_WORDS > FIRST_WORD ? properties.reset : nullptr;
    const u32 first_column = column_of_chunk<LANES>(delta, begin, count, 0);
    stage_row<LANES>(stage, move.from, step, degree);
    __syncwarp();
    const u32 old = clear ? 0 : degree;
    const u32 chunks = __reduce_max_sync(FULL_WARP, (count + LANES - 1) / LANES);
    i32 sum_of_first = 0;
    const Met first = meet_entries<LANES>(delta, reset, begin, count, degree, clear, stage, 0,
                                          first_column, sum_of_first);
    const u32 unchanged = min(__shfl_sync(FULL_WARP, first.mark, 0, LANES) >> CODE_BITS, old);
    i32 change = 0;
    #pragma unroll 1
    for (int word = 0; word < ENTRY_WORDS; ++word) {
        const u32* source = stage;
        if (word > 0) {
            u32* plane = stage + PLANE_WORDS;
            __syncwarp();
            stage_row<LANES>(plane, move.from + word * move.from_field, step, old);
            __syncwarp();
            source = plane;
        }
        u32* to = move.to + word * move.to_field;
        // Nothing is in its place yet.
        const bool copies = !move.stays || (move.restrides && word > 0);
        u32 cursor = copies ? 0 : unchanged;
        u32 passed_before = SUM_BIAS;  // the last entry of the chunk before
        i32 sum = 0;
        for (u32 chunk = 0; chunk == 0 || chunk < chunks; ++chunk) {
            Met met = first;
            if (chunk == 0) {
                sum = sum_of_first;
            } else {
                const u32 column = column_of_chunk<LANES>(delta, begin, count, chunk);
                met = meet_entries<LANES>(delta, reset, begin, count, degree, clear, stage, chunk,
                                          column, sum);
            }
            const u32 code = met.mark & CODE_MASK;
            if (word == 0) count_code(tally, code);
            if (writes_word(code, word)) {
                const u32 slot = (met.mark >> CODE_BITS) + met.before;
                to[static_cast<size_t>(slot) * step] =
                    word == 0 ? met.column
                              : put_word(properties, word, put_of(delta, begin + chunk * LANES + lane));
            }
            // Old entries before the position of the chunk's last entry: the entries of later
            // chunks do not move them.
            const u32 own = passed_of(met);
            const u32 last = __shfl_sync(FULL_WARP, own, LANES - 1, LANES);
            const bool final = (chunk + 1) * LANES >= count;
            const u32 stop = final ? old : min(last >> PASSED_POSITION_SHIFT, old);
            const u32 waiting = stop > cursor ? stop - cursor : 0;
            const u32 iterations = __reduce_max_sync(FULL_WARP, (waiting + LANES - 1) / LANES);
            for (u32 iteration = 0; iteration < iterations; ++iteration) {
                const u32 i = cursor + iteration * LANES + lane;
                // The last entry with a position up to i.
                u32 passed = passed_before;
                u32 below = 0;
                #pragma unroll
                for (u32 reach = LANES / 2; reach > 0; reach /= 2) {
                    const u32 other = __shfl_sync(FULL_WARP, own, below + reach - 1, LANES);
                    if ((other >> PASSED_POSITION_SHIFT) <= i) {
                        below += reach;
                        passed = other;
                    }
                }
                const u32 other = __shfl_sync(FULL_WARP, own, below, LANES);
                if ((other >> PASSED_POSITION_SHIFT) <= i) passed = other;
                const i32 shift = shift_of(passed);
                const bool meets = (passed >> PASSED_POSITION_SHIFT) == i;
                const u32 met_code = meets ? passed >> PASSED_CODE_SHIFT & CODE_MASK : CODE_NOTHING;
                if (i < stop && keeps_word(met_code, word) && (copies || shift != 0)) {
                    to[static_cast<size_t>(i + shift) * step] = source[i];
                }
            }
            cursor = max(cursor, stop);
            passed_before = last;
        }
        change = sum;
    }
    __syncwarp();
    return change;
}
