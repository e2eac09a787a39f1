// draws.cuh -- counter-based random draws within kernels.
//
// Host twin   gpu_core/host/analytics/sampling/draws.py; same formulas in the same precision, so the same bits
//
// The words are those of gpu_core/generators/counter_random.py: a hash of where a stream starts and of the
// number, without a state.
#pragma once
#include "image.cuh"

// 64 random bits: draw `draw` of `owner` in a stream.
__device__ __forceinline__ u64 random_word(u64 start, u32 owner, u32 draw) {
    const u64 number = static_cast<u64>(owner) << 32 | draw;
    u64 word = (number + 1) * 0x9E3779B97F4A7C15ull + start;
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9ull;
    word = (word ^ word >> 27) * 0x94D049BB133111EBull;
    return word ^ word >> 31;
}

// Whole number in 0 … limit - 1, by the upper half of a word.
__device__ __forceinline__ i64 below(u64 word, u32 limit) {
    return static_cast<i64>((word >> 32) * limit >> 32);
}

// Number in [0, 1).
__device__ __forceinline__ double unit_float(u64 word) {
    return static_cast<double>(word >> 11) * 0x1p-53;
}

// Number of the exponential distribution of mean 1: -ln u for u in (0, 1).
__device__ __forceinline__ double exponential(u64 word) {
    // An odd number of 2^-53: never 0.
    double mantissa = static_cast<double>((word >> 12) << 1 | 1) * 0x1p-53;
    double halvings = 0;
    while (mantissa < 0.75) {
        mantissa *= 2.0;
        halvings += 1.0;
    }
    // ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...)   s = (m - 1) / (m + 1), from -1/7 to 1/5
    const double s = (mantissa - 1.0) / (mantissa + 1.0);
    const double square = s * s;
    double series = 0;
    for (int k = 17; k > 1; k -= 2) series = (series + 1.0 / k) * square;
    return halvings * 0.6931471805599453 - 2.0 * (s + s * series);
}
