// betweenness_stages.cuh -- one level of the searches, forward or backward: walk rows for bundles of sources.
//
// Stages      betweenness_centrality.cu says what they are and in which order they come. Bundles of
//             sources, and cells: betweenness_search.cuh
//
// Rows        a short one is walked by a *team* of TEAM lanes, each of which has two sources of a bundle; a
//             longer one by a warp, four teams; parts of PART_ENTRIES of still longer ones by a warp each
// Order       a sum is that of one row: of the entries of a team one by one, then of teams, then of parts.
//             There are no atomics of floating-point numbers; neither scheduling nor the other sources of a
//             bundle make a difference to any bit
#pragma once
#include "betweenness_search.cuh"

constexpr u32 TEAMS = WARP / TEAM;
static_assert(SLOTS == 2 * TEAM, "a lane of a team has two sources");
// Entries that a lane asks for at once.
constexpr u32 ROUNDS = 4;
// Entries of a row that a team walks.
constexpr u32 TEAM_ENTRIES = TEAM * ROUNDS;

// A row, or a part of one, that a team or the whole warp walks.
struct Piece {
    Row row;
    i64 begin;
    u32 entries;
    u32 lanes;
};

// What a lane makes of a row: sums of its two sources, or sources that neighbors have.
struct Made {
    Number low;
    Number high;
    u32 sources = 0;
};

// What other blocks have written: in launches before, or, where blocks meet, in this one.
template <bool MEETS, class T>
__device__ __forceinline__ T read(const T* address) {
    if constexpr (MEETS) return __ldcg(address);
    else return *address;
}

// A stage of a level, over rows of one direction. All threads of the launch call what is public.
template <u64 STAGE, bool MEETS>
class Stage {
  public:
    __device__ __forceinline__ Stage(const Direction& direction, const Direction& opposite, const Batch& batch)
        : direction_(direction), degree_(direction.rows.degree), other_degree_(opposite.rows.degree), batch_(batch),
          search_(batch.search), level_(static_cast<u32>(__ldcg(&search_->level))) {
        // Arrays of levels that are not worked on any more are emptied; in the backward pass the next one is made.
        if (STAGE == PUSHES || STAGE == PULLS) {
            if (level_ > 0) set_front(level_ - 1, false);
        } else if (STAGE == ADDS) {
            if (level_ + 2 <= __ldcg(&search_->last)) set_front(level_ + 2, false);
            if (level_ > 0) set_front(level_ - 1, true);
        }
    }

    // Long rows first: they take longest.
    template <int SIZE>
    __device__ __forceinline__ void work() {
        const u64 cells = bundles_of(__ldcg(&search_->sources)) * batch_.rows;
        if (STAGE == LISTS) {
            for_vertices<SIZE>(cells, [&](bool has_cell, u64 cell) {
                list(has_cell && next()[cell], static_cast<u32>(cell));
            });
            return;
        }
        const bool has_long = STAGE == PULLS || __ldcg(&search_->cost) & LONG_ROWS;
        if (!MEETS && has_long) walk_parts();
        walk_rows(STAGE == PULLS ? cells : __ldcg(&search_->size));
    }

    Listed listed;

  private:
    const Direction& direction_;
    const u32* degree_;
    const u32* other_degree_;
    const Batch& batch_;
    Search* const search_;
    const u32 level_;

    // By cell: sources of the rows of this stage; those that are reached next; sources that neighbors have or,
    // where they are pushed to, do not need.
    __device__ __forceinline__ u32* own() const { return batch_.front(level_); }
    __device__ __forceinline__ u32* next() const { return batch_.front(level_ + 1); }
    __device__ __forceinline__ const u32* theirs() const {
        if (STAGE == PUSHES) return batch_.seen;
        return STAGE == PULLS ? own() : STAGE == COUNTS ? batch_.front(level_ - 1) : next();
    }

    // A thread an item of the level: say which sources have reached its cell, or that none have.
    __device__ __forceinline__ void set_front(u32 level, bool is_set) {
        const u64 end = __ldcg(&batch_.levels[level + 1]);
        u32* const front = batch_.front(level);
        for (u64 at = __ldcg(&batch_.levels[level]) + thread_of_grid(); at < end; at += threads_of_grid()) {
            front[read<MEETS>(&batch_.list[at])] = is_set ? read<MEETS>(&batch_.masks[at]) : 0;
        }
    }

    // Sources that have not reached a cell.
    __device__ __forceinline__ u32 missing(u32 cell) const {
        const u64 bundle = cell / static_cast<u32>(batch_.rows);
        const u64 sources = min(__ldcg(&search_->sources) - bundle * SLOTS, u64(SLOTS));
        return ((1u << sources) - 1) & ~read<MEETS>(&batch_.seen[cell]);
    }

    // The row of item `at` of the list, or of cell `at` where cells pull. All lanes of its team call.
    __device__ __forceinline__ Row row_at(u64 at) const {
        if (STAGE == PULLS) return {static_cast<u32>(at), missing(static_cast<u32>(at))};
        const u32 cell = read<MEETS>(&batch_.list[at]);
        const Row row{cell, read<MEETS>(&own()[cell])};
        if (STAGE == COUNTS && lane_of_thread() % TEAM == 0) {
            batch_.masks[at] = static_cast<u16>(row.sources);
            batch_.seen[cell] |= row.sources;
        }
        return row;
    }

    // The row of a cell, if it is one of this stage, for a part of it.
    __device__ __forceinline__ Row row_of(u32 cell) const {
        if (STAGE == PULLS) return {cell, missing(cell) & ~__ldcg(&next()[cell])};
        return {cell, own()[cell]};
    }

    // Walk the rows 0 … count - 1 of the stage, but for long ones.
    __device__ __forceinline__ void walk_rows(u64 count) {
        const u64 warps = threads_of_grid() / WARP, first = __ldcg(&search_->first);
        const u32 lane = lane_of_thread();
        for (u64 tile = thread_of_grid() / WARP * TEAMS; tile < count; tile += warps * TEAMS) {
            const u64 at = tile + lane / TEAM;
            const Row row = at < count ? row_at(STAGE == PULLS ? at : first + at) : Row{};
            const u32 vertex = batch_.vertex_of(row.cell);
            const u32 degree = row.sources ? __ldg(&degree_[vertex]) : 0;
            const i64 begin = row.sources ? __ldg(&direction_.rows.begin[vertex]) : 0;
            const bool is_short = degree <= TEAM_ENTRIES;
            u32 waiting = __ballot_sync(FULL_WARP, !is_short && degree <= PART_ENTRIES && lane % TEAM == 0);
            // Each team its own; then those that wait, by the warp.
            Piece piece{{row.cell, is_short ? row.sources : 0}, begin, is_short ? degree : 0, TEAM};
            while (true) {
                keep(piece, walk_piece(piece));
                if (!waiting) break;
                const int owner = __ffs(waiting) - 1;
                waiting &= waiting - 1;
                piece = {{__shfl_sync(FULL_WARP, row.cell, owner), __shfl_sync(FULL_WARP, row.sources, owner)},
                         __shfl_sync(FULL_WARP, begin, owner), __shfl_sync(FULL_WARP, degree, owner), WARP};
            }
        }
    }

    // Walk the parts of long rows. Adjacent ones, which may be of one row, are for different warps.
    __device__ __forceinline__ void walk_parts() {
        const u64 of_bundle = *direction_.part_count;
        const u64 count = of_bundle * bundles_of(__ldcg(&search_->sources));
        const u64 warps = threads_of_grid() / WARP;
        for (u64 tile = thread_of_grid() / WARP; tile < count; tile += warps * WARP) {
            const u64 at = tile + warps * lane_of_thread();
            u64 item = 0;
            Row row;
            if (at < count) {
                item = direction_.parts[at % of_bundle];
                row = row_of(static_cast<u32>(at / of_bundle * batch_.rows + static_cast<u32>(item)));
            }
            u32 waiting = __ballot_sync(FULL_WARP, row.sources != 0);
            for (; waiting; waiting &= waiting - 1) {
                const int owner = __ffs(waiting) - 1;
                walk_part({__shfl_sync(FULL_WARP, row.cell, owner), __shfl_sync(FULL_WARP, row.sources, owner)},
                          static_cast<u32>(__shfl_sync(FULL_WARP, item, owner) >> 32), tile + warps * owner,
                          of_bundle);
            }
        }
    }

    // Part number `part` of a row, number `at` of all bundles. All lanes of the warp call.
    __device__ __forceinline__ void walk_part(const Row& row, u32 part, u64 at, u64 of_bundle) {
        const u32 vertex = batch_.vertex_of(row.cell);
        const u32 skipped = part * PART_ENTRIES;
        const u32 degree = __ldg(&degree_[vertex]);
        const Piece piece{row, __ldg(&direction_.rows.begin[vertex]) + skipped * direction_.rows.step,
                          min(degree - skipped, PART_ENTRIES), WARP};
        Made made = walk_piece(piece);
        if (STAGE == PUSHES || STAGE == PULLS) {
            keep(piece, made);
            return;
        }
        // The last warp of a row's parts adds them all up.
        const u32 lane = lane_of_thread(), slot = lane % TEAM;
        const u64 first = at / of_bundle * batch_.parts + at % of_bundle - part;
        made = sum_of_teams(made);
        if (lane < TEAM) {
            put_sum((first + part) * batch_.slots, slot, made.low);
            put_sum((first + part) * batch_.slots, slot + TEAM, made.high);
            __threadfence();
        }
        __syncwarp();
        const u32 parts = (degree - 1) / PART_ENTRIES + 1;
        u32 before = 0;
        if (lane == 0) before = atomicAdd(&batch_.tickets[first], 1u);
        if (__shfl_sync(FULL_WARP, before, 0) != parts - 1) return;
        __threadfence();
        Made all;
        for (u32 other = lane / TEAM; other < parts; other += TEAMS) {
            add_sum(all.low, (first + other) * batch_.slots, slot);
            add_sum(all.high, (first + other) * batch_.slots, slot + TEAM);
        }
        __syncwarp();
        if (lane == 0) batch_.tickets[first] = 0;
        keep(piece, all);
    }

    // The sum of a part for a slot, if there is one.
    __device__ __forceinline__ void put_sum(u64 first, u32 slot, const Number& sum) const {
        if (slot >= batch_.slots) return;
        batch_.sums[first + slot] = sum.value;
        if (WIDE_PATHS) batch_.sum_exponents[first + slot] = sum.exponent;
    }
    __device__ __forceinline__ void add_sum(Number& all, u64 first, u32 slot) const {
        if (slot >= batch_.slots) return;
        const i32 exponent = WIDE_PATHS ? __ldcg(&batch_.sum_exponents[first + slot]) : 0;
        all.add({__ldcg(&batch_.sums[first + slot]), exponent});
    }

    // Walk a piece of a row. All lanes of the warp call, for pieces of the same lanes.
    __device__ __forceinline__ Made walk_piece(const Piece& piece) {
        const u32 lane = lane_of_thread() & (piece.lanes - 1);
        const u32 before = piece.row.cell - batch_.vertex_of(piece.row.cell);
        const u32 longest = warp_max(piece.entries);
        const u32* const columns = direction_.rows.columns + piece.begin;
        const u32 stride = static_cast<u32>(direction_.rows.step);
        Made made;
        // Shares are added up as large as those of the row's own paths.
        if (WIDE_PATHS && STAGE == ADDS && piece.row.sources) {
            const u64 at = first_number(piece.row.cell) + lane_of_thread() % TEAM;
            made.low.exponent = exponent_at(at, piece.row.sources >> lane_of_thread() % TEAM);
            made.high.exponent = exponent_at(at + TEAM, piece.row.sources >> lane_of_thread() % TEAM >> TEAM);
        }
        for (u32 tile = 0; tile < longest; tile += piece.lanes * ROUNDS) {
            u32 cells[ROUNDS], sources[ROUNDS];
            u32 at = tile + lane;
#pragma unroll
            for (u32 i = 0; i < ROUNDS; ++i, at += piece.lanes) {
                sources[i] = at < piece.entries ? piece.row.sources : 0;
                cells[i] = sources[i] ? before + __ldg(&columns[at * stride]) : 0;
            }
#pragma unroll
            for (u32 i = 0; i < ROUNDS; ++i) {
                const u32 bits = sources[i] ? read<MEETS>(&theirs()[cells[i]]) : 0;
                sources[i] &= STAGE == PUSHES ? ~bits : bits;
            }
#pragma unroll
            for (u32 i = 0; i < ROUNDS; ++i) {
                if (STAGE == PULLS) made.sources |= sources[i];
                else if (STAGE == PUSHES) push_to(cells[i], sources[i]);
                else add_values(cells[i], sources[i], made);
            }
        }
        return made;
    }

    // A neighbor of each lane is reached by sources of its row, 0 where there is none. All lanes call.
    __device__ __forceinline__ void push_to(u32 cell, u32 sources) {
        if (sources) sources &= ~__ldcg(&next()[cell]);
        list(sources && atomicOr(&next()[cell], sources) == 0, cell);
    }

    // List a cell of each lane. All lanes call.
    __device__ __forceinline__ void list(bool is_listed, u32 cell) {
        append_vertices(is_listed, cell, &search_->tail, batch_.list);
        if (!is_listed) return;
        const u32 vertex = batch_.vertex_of(cell);
        listed.count(__ldg(&degree_[vertex]), __ldg(&other_degree_[vertex]));
    }

    // Add what neighbors have, one of each lane, for these sources of its team's row.
    __device__ __forceinline__ void add_values(u32 cell, u32 sources, Made& made) const {
        const u32 wanted = __ballot_sync(FULL_WARP, sources != 0);
        const u32 slot = lane_of_thread() % TEAM, team = lane_of_thread() - slot;
        constexpr u32 AT_ONCE = TEAM / 2;
#pragma unroll
        for (u32 first = 0; first < TEAM; first += AT_ONCE) {
            // Whether one of these is wanted by any team.
            if (!(wanted & 0x0F0F0F0Fu << first)) continue;
            double low[AT_ONCE], high[AT_ONCE];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) {
                const u32 neighbor = __shfl_sync(FULL_WARP, cell, team + first + i);
                const u32 bits = __shfl_sync(FULL_WARP, sources, team + first + i) >> slot;
                const u64 at = first_number(neighbor) + slot;
                const double* const of_slot = (STAGE == COUNTS ? batch_.paths : batch_.share) + at;
                low[i] = bits & 1 ? read<MEETS>(of_slot) : 0.0;
                high[i] = bits >> TEAM & 1 ? read<MEETS>(of_slot + TEAM) : 0.0;
                if (WIDE_PATHS) {
                    join(made.low, {low[i], exponent_at(at, bits)});
                    join(made.high, {high[i], exponent_at(at + TEAM, bits >> TEAM)});
                    low[i] = high[i] = 0;
                }
            }
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) {
                made.low.value += low[i];
                made.high.value += high[i];
            }
        }
    }

    // Add paths, or shares to the sum of a row, whose exponent is that of its paths.
    __device__ __forceinline__ static void join(Number& sum, Number other) {
        if (STAGE == COUNTS) sum.add(other);
        else sum.value += other.value * Number::scale_of(other.exponent - sum.exponent);
    }

    // Where the numbers of a cell begin.
    __device__ __forceinline__ u64 first_number(u32 cell) const {
        return static_cast<u64>(cell) * static_cast<u32>(batch_.slots);
    }
    // Exponent of a number, of a source that the lowest bit says is there.
    __device__ __forceinline__ i32 exponent_at(u64 at, u32 is_there) const {
        return is_there & 1 ? read<MEETS>(&batch_.exponents[at]) : 0;
    }

    // Sums of all teams of the warp, in each of them.
    __device__ __forceinline__ Made sum_of_teams(Made made) const {
#pragma unroll
        for (u32 distance = TEAM; distance < WARP; distance *= 2) {
            add_other(made.low, distance);
            add_other(made.high, distance);
        }
        return made;
    }
    __device__ __forceinline__ void add_other(Number& sum, u32 distance) const {
        const double value = __shfl_xor_sync(FULL_WARP, sum.value, distance);
        sum.add({value, WIDE_PATHS ? __shfl_xor_sync(FULL_WARP, sum.exponent, distance) : 0});
    }

    // Keep what lanes have made of their pieces. All lanes of the warp call.
    __device__ __forceinline__ void keep(const Piece& piece, Made made) {
        const u32 lane = lane_of_thread() & (piece.lanes - 1);
        const Row& row = piece.row;
        if (STAGE == PUSHES) return;
        if (STAGE == PULLS) {
            for (u32 distance = 1; distance < piece.lanes; distance *= 2) {
                made.sources |= __shfl_xor_sync(FULL_WARP, made.sources, distance);
            }
            if (lane == 0 && made.sources) atomicOr(&next()[row.cell], made.sources);
            return;
        }
        if (piece.lanes == WARP) made = sum_of_teams(made);
        if (lane >= TEAM) return;
        const u64 at = first_number(row.cell) + lane;
        if (row.sources >> lane & 1) keep_sum(at, made.low);
        if (row.sources >> lane >> TEAM & 1) keep_sum(at + TEAM, made.high);
    }

    __device__ __forceinline__ void keep_sum(u64 at, Number sum) const {
        if (STAGE == COUNTS) {
            if (WIDE_PATHS) {
                if (sum.value >= MOST_PATHS) {
                    sum.value *= EXPONENT_STEP;
                    sum.exponent += 1;
                }
                batch_.exponents[at] = sum.exponent;
            }
            batch_.paths[at] = sum.value;
        } else {
            const double paths = read<MEETS>(&batch_.paths[at]);
            const double dependency = paths * sum.value;
            batch_.paths[at] = dependency;
            batch_.share[at] = (1.0 + dependency) / paths;
        }
    }
};
