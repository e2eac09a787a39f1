// program_operations.cuh -- functions that translated programs call, on the device.
//
// Included    by texts that program_text.py writes
// Host twin   gpu_core/host/analytics/programs/program_operations.py: functions of the same names
// Meaning     gpu_core/programs/operations.py
#pragma once
#include "block.cuh"

typedef double f64;
typedef float f32;

__device__ __forceinline__ f64 infinity() { return __longlong_as_double(0x7FF0000000000000ll); }
__device__ __forceinline__ f64 not_a_number() { return __longlong_as_double(0x7FF8000000000000ll); }

__device__ __forceinline__ bool is_nan(f64 one) { return one != one; }
__device__ __forceinline__ bool is_inf(f64 one) { return one == infinity() || one == -infinity(); }
__device__ __forceinline__ bool is_finite(f64 one) { return !is_nan(one) && !is_inf(one); }

// Whole numbers wrap around; a signed overflow would be of no meaning.
__device__ __forceinline__ i64 add_whole(i64 one, i64 other) {
    return static_cast<i64>(static_cast<u64>(one) + static_cast<u64>(other));
}
__device__ __forceinline__ i64 sub_whole(i64 one, i64 other) {
    return static_cast<i64>(static_cast<u64>(one) - static_cast<u64>(other));
}
__device__ __forceinline__ i64 mul_whole(i64 one, i64 other) {
    return static_cast<i64>(static_cast<u64>(one) * static_cast<u64>(other));
}

// Quotient, rounded down, and what is left, with the sign of the divisor; 0 by 0.
__device__ __forceinline__ i64 div_whole(i64 one, i64 other) {
    if (other == 0) return 0;
    if (other == -1) return sub_whole(0, one);
    const i64 quotient = one / other;
    return quotient - (one % other != 0 && (one < 0) != (other < 0));
}
__device__ __forceinline__ i64 mod_whole(i64 one, i64 other) {
    if (other == 0 || other == -1) return 0;
    const i64 left = one % other;
    return left != 0 && (left < 0) != (other < 0) ? left + other : left;
}

// The same of other numbers, as Python has it; nan by 0.
__device__ __forceinline__ f64 mod_real(f64 one, f64 other) {
    if (other == 0.0) return not_a_number();
    const f64 left = fmod(one, other);
    if (left != 0.0) return (other < 0.0) != (left < 0.0) ? left + other : left;
    return copysign(0.0, other);
}
__device__ __forceinline__ f64 div_real(f64 one, f64 other) {
    if (other == 0.0) return not_a_number();
    const f64 left = fmod(one, other);
    f64 quotient = (one - left) / other;
    if (left != 0.0 && (other < 0.0) != (left < 0.0)) quotient -= 1.0;
    if (quotient == 0.0) return copysign(0.0, one / other);
    const f64 below = floor(quotient);
    return quotient - below > 0.5 ? below + 1.0 : below;
}

// The number cut to a whole one; the nearest int64 of what is none, 0 of nan.
__device__ __forceinline__ i64 to_whole(f64 one) {
    if (is_nan(one)) return 0;
    if (one >= 9223372036854775808.0) return 0x7FFFFFFFFFFFFFFFll;
    if (one < -9223372036854775808.0) return -0x7FFFFFFFFFFFFFFFll - 1;
    return static_cast<i64>(one);
}

// The number with the sign of another; nan is positive, as processors differ in its sign.
__device__ __forceinline__ f64 signed_real(f64 one, f64 sign) {
    return copysign(one, is_nan(sign) ? 0.0 : sign);
}

// By how much a value has changed: of whole numbers exactly, and then as a float; of others 0 also of
// inf or nan that stays, inf from nan to a number or back.
__device__ __forceinline__ f64 change_whole(i64 before, i64 after) {
    const u64 change = before < after ? static_cast<u64>(after) - static_cast<u64>(before)
                                      : static_cast<u64>(before) - static_cast<u64>(after);
    return static_cast<f64>(change);
}
__device__ __forceinline__ f64 change_real(f64 before, f64 after) {
    if (before == after || (is_nan(before) && is_nan(after))) return 0.0;
    const f64 change = fabs(after - before);
    return is_nan(change) ? infinity() : change;
}

// A float as operators store it: of both zeros and of all nans there is one, so that neither the processor
// nor the order of messages makes a difference to its bits.
__device__ __forceinline__ f64 stored_real(f64 one) { return is_nan(one) ? not_a_number() : one + 0.0; }

__device__ __forceinline__ i64 least_whole(i64 one, i64 other) { return other < one ? other : one; }
__device__ __forceinline__ f64 least_real(f64 one, f64 other) { return other < one ? other : one; }
__device__ __forceinline__ i64 largest_whole(i64 one, i64 other) { return other > one ? other : one; }
__device__ __forceinline__ f64 largest_real(f64 one, f64 other) { return other > one ? other : one; }
__device__ __forceinline__ i64 abs_whole(i64 one) { return one < 0 ? sub_whole(0, one) : one; }
__device__ __forceinline__ f64 abs_real(f64 one) { return fabs(one); }
