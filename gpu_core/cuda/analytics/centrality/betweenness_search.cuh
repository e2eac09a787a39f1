// betweenness_search.cuh -- what searches from many sources at once write: bundles, cells, levels.
//
// Bundle      up to SLOTS sources that are searched from together: a row is walked once for all of them, and
//             a mask of bits says for which
// Cells       arrays of masks have a cell for each vertex of a bundle, `bundle * rows + vertex`; those of
//             numbers have one for each source there, `cell * slots + slot`: one or two lines of the cache
// List        u32: cells that were reached in a level, level after level, and the sources that reached them.
//             Sources reach a vertex in different levels: it is listed in each of them
// Fronts      u32[FRONTS][cells]: which sources have reached a cell in level l, in array l % FRONTS; empty
//             but for levels that are worked on
#pragma once
#include "frontier.cuh"
#include "twin_constants.cuh"

#ifndef WIDE_PATHS
#define WIDE_PATHS 0
#endif

typedef unsigned short u16;

constexpr u32 SLOTS = 16;
// Lanes that walk a row together.
constexpr u32 TEAM = 8;
// Entries of a part of a long row.
constexpr u32 PART_ENTRIES = 256;
constexpr u32 FRONTS = 4;

constexpr u64 PUSHES = 0, PULLS = 1, LISTS = 2, COUNTS = 3, ADDS = 4;
// Bit of a level's cost: it has rows of several parts.
constexpr u64 LONG_ROWS = u64(1) << 63;

struct Search {
    u64 sources;
    // End of the list.
    u64 tail;
    // What this stage works on: list[first … first + size - 1]; size 0: the end.
    u64 first;
    u64 size;
    u64 stage;
    // Of the vertices of that range; and the last one, once it is known.
    u64 level;
    u64 last;
    // Of that level, and of the one that is being reached: entries by TEAM, and one a row; LONG_ROWS.
    u64 cost;
    u64 next_cost;
    u64 ticket;
};

// A number of paths, or a sum of shares: value * 2^(512 exponent). The host twin says why. But in the form
// WIDE_PATHS all exponents are 0.
struct Number {
    double value = 0;
    i32 exponent = 0;

    // What a number counts beside one whose exponent is larger by `difference`.
    __device__ __forceinline__ static double scale_of(i32 difference) {
        return difference == 0 ? 1.0 : difference == 1 ? EXPONENT_STEP : 0.0;
    }
    __device__ __forceinline__ void add(Number other) {
        if (!WIDE_PATHS) {
            value += other.value;
            return;
        }
        const i32 larger = max(exponent, other.exponent);
        value = value * scale_of(larger - exponent) + other.value * scale_of(larger - other.exponent);
        exponent = larger;
    }
};

// What is worked on.
struct Batch {
    Search* search;
    u32* list;
    u16* masks;      // by item of the list: sources
    u64* levels;     // where each begins in the list
    u64* costs;      // of each
    u32* seen;       // by cell: sources that have reached it
    u32* fronts;
    double* paths;   // by cell and slot; after the backward pass, the dependency of the vertex
    double* share;
    int* exponents;  // of these two, in the form WIDE_PATHS
    double* sums;    // by bundle, part and slot
    int* sum_exponents;
    u32* tickets;    // by bundle and part, 0 between two stages: parts of the row that are summed up
    u64 rows;        // vertices of a bundle
    u64 cells;
    u64 slots;       // sources of a bundle
    u64 parts;       // room for parts of a bundle
    u64 entries;     // of all rows
    u64 small;       // cost of a level up to which it is a small one
    u64 pull_share;  // a level is pulled whose rows have more than one of so many entries of all bundles

    __device__ __forceinline__ u32* front(u32 level) const { return fronts + level % FRONTS * cells; }
    __device__ __forceinline__ u32 vertex_of(u32 cell) const { return cell % static_cast<u32>(rows); }
};

__device__ __forceinline__ u64 bundles_of(u64 sources) { return (sources + SLOTS - 1) / SLOTS; }

// Rows of one direction, and the parts of the long ones: part << 32 | vertex, those of a row one after the other.
struct Direction {
    Rows rows;
    const u64* parts;
    const u32* part_count;
};

// A row of a stage, and the sources that it is walked for; 0: there is none.
struct Row {
    u32 cell = 0;
    u32 sources = 0;
};

// What a thread has listed.
struct Listed {
    u64 cost = 0;
    bool has_long = false;

    __device__ __forceinline__ void count(u32 out_degree, u32 in_degree) {
        const u32 degree = max(out_degree, in_degree);
        cost += degree / TEAM + 1;
        has_long |= degree > PART_ENTRIES;
    }
    // All threads of the block call.
    template <int SIZE>
    __device__ __forceinline__ void add_up(Search* search) const {
        const u64 total = block_sum<u64, SIZE>(cost);
        const bool any_long = __syncthreads_or(has_long);
        if (threadIdx.x > 0) return;
        if (total) atomicAdd(&search->next_cost, total);
        if (any_long) atomicOr(&search->next_cost, LONG_ROWS);
    }
};
