// chebyshev.cuh -- Chebyshev steps of PageRank on undirected graphs: how far a step is extrapolated.
//
//     x' = G x + b (G x - x_before)       a plain step: b = 0
//
// Host twin   gpu_core/host/analytics/centrality/chebyshev.py, which says why; same formulas in the same precision
//
// One thread of step k plans step k + 1, out of residuals of steps up to k - 1, while others sum up rows. So
// no launch waits for a plan, and all threads of a step read it as one number.
#pragma once
#include "block.cuh"
#include "twin_constants.cuh"

// Sums and plans of a step stand where a later one does not need the slot: step k adds to slot k % SLOTS
// and reads those of the steps before, of which the oldest is k - 3; then slot k + 1 is emptied.
constexpr u32 SLOTS = 4;
__device__ __forceinline__ u32 step_slot(i64 step) { return static_cast<u32>(step) % SLOTS; }

// What is kept from step to step; 0 before the first.
struct Chebyshev {
    double planned[SLOTS];
    double beyond[SLOTS];    // how far the step went
    double estimates[2];     // of the radius, by the last steps, the newest first; 0: not known yet
    double most_residual;    // of the step; 0: steps are plain from here on
};

// The graph, as far as radii depend on it.
struct Radii {
    double most;     // bound of the radius, less than 1; 0: all steps are plain ones
    double entries;  // of all rows
};

// Residuals of the steps before a step, the newest first; 0: there was no such step.
struct Residuals {
    double last;
    double before;
    double oldest;
};

// Radius without damping, of a random graph with these numbers of linked vertices and entries.
__device__ __forceinline__ double random_radius(double linked, double entries) {
    // Nothing is passed on.
    if (linked < 2) return 0;
    // About a tree, or several ones: bipartite.
    if (entries <= 2 * linked) return 1;
    const double degree = entries / linked;
    // Of a complete graph nothing is left.
    const double missing = fmax(1 - degree / (linked - 1), 0.0);
    return 2 * sqrt((degree - 1) * missing) / degree;
}

__device__ __forceinline__ double momentum(double radius, double beyond) {
    return 1 / (1 - radius * radius * (1 + beyond) / 4) - 1;
}

// Whether step `step` was plain, so that its residual may end the iteration.
__device__ __forceinline__ bool was_plain(const Chebyshev& chebyshev, i64 step) {
    return chebyshev.beyond[step_slot(step)] == 0;
}

// How far a step goes. It is plain where the residual, if it falls as it did, ends the iteration.
__device__ __forceinline__ double beyond_of(const Chebyshev& chebyshev, i64 step,
                                            const Residuals& residuals, double threshold) {
    const bool is_last = residuals.last * residuals.last <= threshold * residuals.before;
    return is_last ? 0.0 : chebyshev.planned[step_slot(step)];
}

// Plan step `step` + 1; `step` goes so far `beyond`. One thread calls.
__device__ __forceinline__ void plan_next(Chebyshev& chebyshev, i64 step, double beyond,
                                          const Residuals& residuals, const Radii& radii,
                                          double linked) {
    const double least_radius = radii.most * random_radius(linked, radii.entries);
    const auto [last, before, oldest] = residuals;
    double planned = 0;
    if (step == 1) {
        // The step after the first: the method begins.
        planned = momentum(least_radius, 1);
        chebyshev.most_residual = MOST_RESIDUAL;
    } else {
        double radius = 0;
        if (before > 0) {
            const double gone = chebyshev.beyond[step_slot(step - 2)];
            const double estimate = (last + gone * oldest) / ((1 + gone) * before);
            radius = fmin(fmin(estimate, chebyshev.estimates[0]), chebyshev.estimates[1]);
            chebyshev.estimates[1] = chebyshev.estimates[0];
            chebyshev.estimates[0] = estimate;
        }
        if (last > chebyshev.most_residual) chebyshev.most_residual = 0;
        if (chebyshev.most_residual > 0) {
            planned = momentum(fmax(least_radius, fmin(radius, radii.most)), beyond);
            chebyshev.most_residual *= radii.most;
        }
    }
    chebyshev.beyond[step_slot(step)] = beyond;
    chebyshev.planned[step_slot(step + 1)] = planned;
}
