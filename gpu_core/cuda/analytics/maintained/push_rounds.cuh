// push_rounds.cuh -- a round of pushes: which vertices push, the push itself, and what comes after it.
//
// Caller      push_rounds of pushed_ranks.cu, whose head has formulas and sources
#pragma once
#include "chebyshev.cuh"
#include "pushed_ranks.cuh"

// Blocks a multiprocessor, which are at work together.
constexpr int ROUND_BLOCKS = 3;
constexpr int ROUND_THREADS = 256;
// Residuals that a thread reads before it looks at the first.
constexpr u32 OWN_VERTICES = 4;
// Lanes that push along a part of a row, and entries of a part: an item of the queue; entries that a lane reads
// before it looks at the first.
constexpr u32 TEAM = 4;
constexpr u32 PART = 256;
constexpr u32 OWN_ENTRIES = 4;
// Rounds that are pulled, at most: more of them take longer than steps of pagerank.cu, which read a copy of the rows.
constexpr i64 MOST_PULLS = 4;
// Residuals that so many pulls can be expected to make small, as multiples of what is.
constexpr double MOST_PULLED = 10;

// Select the vertices that push: y += p, r -= p; what becomes of c is to be pushed.
//
// Each vertex has its thread, the same in all rounds. Adds to the sums of the round, and to those of y.
__device__ __forceinline__ void select_residuals(const Pushes& pushes, const PushRound& round, u64* of_round) {
    State* const state = state_in(pushes.state);
    const bool is_first = round.number == 0;
    u64 sums[THREAD_SUMS] = {};
    const u32 lane = lane_of_thread();
    const i64 all = threads_of_grid(), count = pushes.count;
    // What is pushed is less than twice the residual, but for what is pushed once more.
    const i64 near = pushes.least / 2;
    // Whole warps walk on together.
    for (i64 first = thread_of_grid(); first - lane < count; first += OWN_VERTICES * all) {
        i64 found[OWN_VERTICES];
        bool goes_on[OWN_VERTICES];
#pragma unroll
        for (u32 i = 0; i < OWN_VERTICES; ++i) {
            const i64 vertex = first + i * all;
            found[i] = vertex < count ? pushes.residuals[vertex] : 0;
            goes_on[i] = vertex < count && !is_first && pushes.pushed[vertex];
            if (is_first && vertex < count) pushes.pushed[vertex] = 0;
        }
        bool may_push = false;
#pragma unroll
        for (u32 i = 0; i < OWN_VERTICES; ++i) {
            sums[ABSOLUTE] += static_cast<u64>(magnitude(found[i]));
            sums[SIGNED] += static_cast<u64>(found[i]);
            may_push |= goes_on[i] || magnitude(found[i]) > near;
        }
        if (round.measures || !__any_sync(FULL_WARP, may_push)) continue;
        u32 edges[OWN_VERTICES];
        u32 parts = 0;
#pragma unroll
        for (u32 i = 0; i < OWN_VERTICES; ++i) {
            const i64 vertex = first + i * all;
            edges[i] = 0;
            if (!goes_on[i] && magnitude(found[i]) <= near) continue;
            const double more_of_last =
                goes_on[i] ? round.beyond * static_cast<double>(pushes.last[vertex]) : 0.0;
            const i64 own = __double2ll_rn((1 + round.beyond) * static_cast<double>(found[i]) + more_of_last);
            const bool is_pushed = magnitude(own) > pushes.least;
            if (is_pushed != goes_on[i]) pushes.pushed[vertex] = is_pushed;
            if (!is_pushed) continue;
            const i64 before = pushes.masses[vertex], mass = before + own;
            edges[i] = row_of(pushes, vertex).degree;
            pushes.masses[vertex] = mass;
            pushes.residuals[vertex] = found[i] - own;
            pushes.last[vertex] = own;
            found[i] = __double2ll_rn(share_of(mass, edges[i], pushes.alpha) -
                                      share_of(before, edges[i], pushes.alpha));
            sums[MASS] += static_cast<u64>(above(mass) - above(before));
            sums[BELOW] += static_cast<u64>(above(-mass) - above(-before));
            sums[PUSHED] += 1 + edges[i];
            parts += (edges[i] + PART - 1) / PART;
        }
        if (!__any_sync(FULL_WARP, parts > 0)) continue;
        u32 of_warp;
        u64 position = warp_exclusive_sum(parts, of_warp);
        u64 start = 0;
        if (lane == 0) start = atomicAdd(&of_round[ITEMS], u64(of_warp));
        position += __shfl_sync(FULL_WARP, start, 0);
#pragma unroll
        for (u32 i = 0; i < OWN_VERTICES; ++i) {
            if (!edges[i]) continue;
            const i64 begin = row_of(pushes, first + i * all).begin;
            for (u32 from = 0; from < edges[i]; from += PART) {
                pushes.queue[position++] = {begin + from * pushes.step, found[i], min(edges[i] - from, PART)};
            }
        }
    }
    block_sums<u64, ROUND_THREADS>(sums);
    if (threadIdx.x != 0) return;
#pragma unroll
    for (u32 i = 0; i < THREAD_SUMS; ++i) {
        if (sums[i]) atomicAdd(i < MASS_SUMS ? &state->masses[i] : &of_round[i], sums[i]);
    }
}

// Push: add what has become of c to the residuals of out-neighbors. Teams share the queue.
__device__ __forceinline__ void push_residuals(const Pushes& pushes, i64 items) {
    const u32 lane = threadIdx.x % TEAM;
    const i64 teams = threads_of_grid() / TEAM;
    for (i64 number = thread_of_grid() / TEAM; number < items; number += teams) {
        const Item item = pushes.queue[number];
        for (u32 first = lane; first < item.entries; first += TEAM * OWN_ENTRIES) {
            u32 neighbors[OWN_ENTRIES];
#pragma unroll
            for (u32 i = 0; i < OWN_ENTRIES; ++i) {
                const u32 entry = first + i * TEAM;
                if (entry < item.entries) neighbors[i] = pushes.columns[item.begin + entry * pushes.step];
            }
#pragma unroll
            for (u32 i = 0; i < OWN_ENTRIES; ++i) {
                if (first + i * TEAM >= item.entries) continue;
                atomicAdd(reinterpret_cast<u64*>(&pushes.residuals[neighbors[i]]), static_cast<u64>(item.change));
            }
        }
    }
}

// How far the next round goes, as steps of chebyshev.cuh do; this one goes on.
__device__ __forceinline__ void plan_round(const Pushes& pushes, PushRound& round, double absolute) {
    double radius = pushes.most_radius * random_radius(pushes.vertices, pushes.entries);
    if (round.older > 0) {
        const double estimate =
            (absolute + round.stepped * round.older) / ((1 + round.stepped) * round.absolute);
        const double least = round.estimate > 0 ? fmin(estimate, round.estimate) : estimate;
        radius = fmax(radius, fmin(least, pushes.most_radius));
        round.estimate = estimate;
    }
    round.older = round.absolute;
    round.absolute = absolute;
    round.stepped = round.beyond;
    round.beyond = momentum(radius, round.beyond > 0 ? round.beyond : 1.0);
}

// Whether residuals with these sums are small enough, for masses with those sums.
__device__ __forceinline__ bool are_small(const Pushes& pushes, const u64* masses, u64 absolute, u64 signed_sum) {
    const i64 off = static_cast<i64>(absolute) + magnitude(static_cast<i64>(signed_sum));
    return static_cast<double>(off) + 4.0 * static_cast<double>(masses[BELOW]) + pushes.rounding <=
           pushes.tolerance * static_cast<double>(masses[MASS]);
}

// What comes after a selection whose sums are complete: the round after it, a pull, or the end.
__device__ __forceinline__ PushRound round_after(const Pushes& pushes, PushRound round, const u64* sums) {
    const State* const state = state_in(pushes.state);
    const i64 pushed = static_cast<i64>(sums[PUSHED]);
    const double absolute = static_cast<double>(sums[ABSOLUTE]);
    const double all = static_cast<double>(state->masses[MASS]);
    const bool is_small = are_small(pushes, state->masses, sums[ABSOLUTE], sums[SIGNED]);
    const bool selects = !round.measures;
    const bool is_near = absolute <= MOST_PULLED * pushes.tolerance * all;
    // Residuals lie all over the graph: many are large, or none is, or what has been pushed did not make them
    // smaller. In few places a round leaves `alpha` of them at most.
    const bool is_spread = pushed == 0 || pushed > pushes.most_pushed;
    const bool is_slow = !is_small && round.absolute > 0 && absolute > (1 + pushes.alpha) / 2 * round.absolute;
    if (is_small && pushed == 0) {
        round.end = IS_DONE;
    } else if (round.number == pushes.most_selections || round.work + pushed > pushes.most_work ||
               absolute > pushes.most_residual * all) {
        round.end = IS_TOO_MUCH;
    } else if (selects && (is_spread || (is_slow && is_near))) {
        round.end = is_near && round.pulls < MOST_PULLS ? NEEDS_PULL : IS_TOO_MUCH;
    }
    const bool is_pulled = round.end == NEEDS_PULL;
    if (selects) plan_round(pushes, round, absolute);
    round.measures = is_small;
    round.work += is_pulled ? 0 : pushed;
    round.rounds += pushed > 0 || is_pulled;
    round.pulls += is_pulled;
    round.number += 1;
    return round;
}
