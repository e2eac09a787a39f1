// pushed_ranks.cuh -- what the kernels of pushed_ranks.cu and residual_repair.cu share: sums, rounds, where a
// vertex begins, and what it passes on.
#pragma once
#include "hub_cache.cuh"

// Ranks are multiples of 2^-51 of all rank: masses of new vertices beside those before have room.
constexpr double WHOLE = 2251799813685248.0;  // 2^51
constexpr double ABSENT = -1.0;
// y of an absent vertex, which is never pushed.
constexpr i64 ABSENT_MASS = -(i64(1) << 62);

constexpr i64 GOES_ON = 0;
constexpr i64 IS_DONE = 1;
constexpr i64 IS_TOO_MUCH = 2;
constexpr i64 NEEDS_PULL = 3;

// Sums over all vertices: first those of y, of all rounds together, then those of a round's selection.
constexpr u32 MASS = 0;        // y where it is above 0
constexpr u32 BELOW = 1;       // -y where it is below
constexpr u32 MASS_SUMS = 2;
constexpr u32 ABSOLUTE = 2;    // |r|
constexpr u32 SIGNED = 3;      // r
constexpr u32 PUSHED = 4;      // vertices that push, and entries of their rows
constexpr u32 THREAD_SUMS = 5; // those that threads keep
constexpr u32 ITEMS = 5;       // of the queue
constexpr u32 SUMS = 6;

// A part of a row that is pushed along.
struct Item {
    i64 begin;    // of its entries in `columns`
    i64 change;   // of c
    u64 entries;
};

// What all blocks know of a round alike; of the first, all 0.
struct PushRound {
    i64 number;
    i64 measures;    // it only measures, as residuals seem small enough
    double beyond;   // how far it goes beyond residuals
    // Of the last round that did more than measure: how far it went, |r| before it and before the one before it
    // (0: there was none), and the radius by these.
    double stepped;
    double absolute;
    double older;
    double estimate;
    i64 rounds;      // rounds so far in which some have pushed
    i64 pulls;       // of them, those that were pulled
    i64 work;        // sum of PUSHED
    i64 end;
};

// What blocks add to, and what is kept from launch to launch; 0 before the first.
struct State {
    i64 base;               // b
    i64 is_based;           // whether it is given; else a pull chooses it
    u64 unbased;            // sum of r but for b
    u64 masses[MASS_SUMS];  // sums of y
    u64 absolute;           // sum of |r| of residuals that were pulled
    u64 masses_then[MASS_SUMS];  // sums of y that these are of
    u64 even[SUMS];         // of rounds of even numbers, without those of y
    u64 odd[SUMS];
    u64 met;                // for `meet_in_grid`
    u64 longest;            // degree of all vertices at most, where all were looked at
    PushRound round;        // the next one
};

// What the host sees at the end.
struct Report {
    i64 end;
    i64 rounds;  // those in which some have pushed
    i64 pulls;   // of them, those that were pulled
    u64 masses[MASS_SUMS];
    u64 absolute;
    u64 signed_sum;
    i64 base;
    i64 is_rounded;  // a y is negative, or too large for a rank to tell it
    u64 longest;     // degree of all vertices at most; 0: they were not looked at
};

// What rounds read and write, and what ends them.
struct Pushes {
    // Rows of out-neighbors: where `begin` is null, those of an image, which is `columns`.
    const i64* begin;
    const u32* degree;
    const u32* columns;
    i64 step;
    Shape shape;
    i64 count;
    i64 vertices;
    i64 entries;
    double alpha;
    double most_radius;  // chebyshev.cuh; 0: rounds push residuals alone
    double tolerance;    // A + |S| + 4 N + rounding may be at most this times Y
    double rounding;
    double most_residual;  // A, as a share of Y, beyond which the graph has changed too much
    i64 least;           // what is no more than this is not pushed
    i64 most_pushed;     // of one round, which is pulled beyond, and of all of them
    i64 most_work;
    i64 most_selections; // rounds at most
    i64* masses;         // y
    i64* residuals;
    i64* last;           // i64[count]: p of the round before, of vertices that have pushed there
    u8* pushed;          // u8[count]: whether it has
    Item* queue;
    double* ranks;       // f64[count]
    u64* state;
    u64* report;
};

__device__ __forceinline__ State* state_in(u64* words) { return reinterpret_cast<State*>(words); }
__device__ __forceinline__ i64 magnitude(i64 value) { return value < 0 ? -value : value; }
__device__ __forceinline__ i64 above(i64 value) { return value > 0 ? value : 0; }

// c of a vertex: what it passes on to each out-neighbor.
__device__ __forceinline__ double share_of(i64 mass, u32 degree, double alpha) {
    return degree ? rint(alpha * static_cast<double>(mass) / static_cast<double>(degree)) : 0.0;
}
// The row that a vertex pushes along.
struct PushedRow {
    i64 begin;
    u32 degree;
};
__device__ __forceinline__ PushedRow row_of(const Pushes& pushes, i64 vertex) {
    if (pushes.begin) return {pushes.begin[vertex], pushes.degree[vertex]};
    const Adjacency row = open_adjacency(pushes.columns, pushes.shape, vertex);
    return {row.base, static_cast<u32>(row.degree)};
}

// What is known of ranks: the earlier ones, and, by degrees (host/analytics/centrality/pagerank_start.py), how they
// have changed.
struct Earlier {
    const double* ranks;         // f64[count], negative: the vertex was absent
    i64 count;
    double whole;                // y of all vertices then
    const u32* degree;           // u32[count]; null: degrees say nothing
    double isolated;             // y of a new vertex, but for its edges
    double edge;                 // what an edge adds to y
};

// y of a vertex before it is pushed: that of its earlier rank, and by what has become of its degree.
__device__ __forceinline__ i64 earlier_mass(const Earlier& earlier, i64 vertex) {
    return __double2ll_rn(earlier.ranks[vertex] * earlier.whole);
}
__device__ __forceinline__ i64 first_mass(const Earlier& earlier, i64 vertex, u32 edges) {
    const bool is_known = vertex < earlier.count && earlier.ranks[vertex] >= 0;
    i64 mass = is_known ? earlier_mass(earlier, vertex) : __double2ll_rn(earlier.isolated);
    if (earlier.degree) {
        const i64 edges_before = is_known ? earlier.degree[vertex] : 0;
        mass += __double2ll_rn(earlier.edge * static_cast<double>(i64(edges) - edges_before));
    }
    return above(mass);
}

// A vertex has new y, and so c; returns what both add to the sum of r but for b.
__device__ __forceinline__ u64 put_share(double* __restrict__ shares, const HubCache& cache, i64 vertex, i64 mass,
                                         u32 degree, double alpha) {
    const double share = share_of(mass, degree, alpha);
    shares[vertex] = share;
    cache.put(static_cast<u32>(vertex), share);
    return static_cast<u64>(__double2ll_rn(share) * degree - mass);
}
