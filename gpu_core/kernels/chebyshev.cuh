// chebyshev.cuh -- how far a step of PageRank on an undirected graph goes beyond the plain one.
//
//     y' = G y + beyond (G y - y_before)         beyond' = t / (1 - t),  t = r^2 (1 + beyond) / 4
//
// Part of     pagerank.cu
// Host twin   gpu_core/host/chebyshev.py, which says what the method is, where it may be used, and its sources
// Precision   float32 is enough for factors that are rounded to multiples of 1/1024, and every thread that
//             needs them makes them anew: nobody waits for a barrier. All find the same.
#pragma once
#include "image.cuh"

// What step k leaves lies in slot k % SLOTS.
constexpr int SLOTS = 4;
// Residuals up to here are of rounding: nothing is read off them, and steps are plain.
constexpr float ROUNDING = 1e-14f;
// Residuals of plain steps are not above this; and how far one may be above the least of those before.
constexpr float MOST_RESIDUAL = 2;
constexpr float MOST_RISE = 1024;
// Steps that go so far, and further: one estimate is not enough to go on.
constexpr float FAR = 1.0f / 3;
// `beyond` is a multiple of one over this.
constexpr float BEYOND_ONE = 1024;

// What is known before a step but for the energy of the last one.
struct alignas(16) Foreseen {
    float last_energy;  // one over the energy of the step before that; 0: it is not known
    float own;          // `beyond` of the step that led from that energy to the last one
    float radius;       // square of the estimate of r
    float lead;         // (1 + beyond of the last step) / 4
    float bound;        // what the estimate may grow to
    float most;         // residuals above are no good; 0: there was one
};

// What is found before a step.
struct Spectrum {
    float beyond;  // for this step
    float radius;  // square of the estimate of r, up to now
    float found;   // what the last step says of it; 0: nothing
};

// Of the residual and the energy of the last step; `limit` is the square of alpha.
__device__ __forceinline__ Spectrum look_ahead(const Foreseen& foreseen, double residual, double energy,
                                               float limit) {
    const float fall = static_cast<float>(energy) * foreseen.last_energy;
    const float own = foreseen.own;
    float found = 0;
    if (own < fall && fall < 1) {
        const float part = (fall + own) / (1 + own);
        found = part * part / fall;
    }
    const float grown = fmaxf(fminf(found, foreseen.bound) - foreseen.radius, 0.0f);
    const float radius = foreseen.radius + grown;
    const float t = fminf(radius + grown, limit) * foreseen.lead;
    const float beyond = floorf(t / (1 - t) * BEYOND_ONE + 0.5f) / BEYOND_ONE;
    const float last = static_cast<float>(residual);
    return {last > ROUNDING && last <= foreseen.most ? beyond : 0.0f, radius, found};
}

// `Foreseen::bound` of the next step, of what is found before this one.
__device__ __forceinline__ float bound_of(const Spectrum& spectrum, float limit) {
    return spectrum.beyond < FAR ? limit : fminf(spectrum.found, limit);
}

// `Foreseen::most` of the next step, of the last step's residual; 0: there was no step.
__device__ __forceinline__ float most_residual(const Foreseen& foreseen, double residual) {
    if (residual == 0) return MOST_RESIDUAL;
    if (residual > foreseen.most) return 0;
    return fminf(foreseen.most, MOST_RISE * static_cast<float>(residual));
}

// G y of what a step made of it.
__device__ __forceinline__ double plain_of(double made, double before, double beyond) {
    return (made + beyond * before) / (1 + beyond);
}
