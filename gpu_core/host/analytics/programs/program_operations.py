"""What translated functions of programs call, on the host; see ``programs/operations.py``.

CUDA twin: the functions of the same names in ``cuda/analytics/programs/program_operations.cuh``.
"""

import math

import numpy as np

from ....jit.compile import inlined

_SIGN = np.int64(-(2**63))
_MOST = np.int64(2**63 - 1)


# Whole numbers wrap around. Numba says of sums, differences and products of signed ones that they
# never do, from which the compiler concludes what is wrong where they have; of unsigned ones not.


@inlined
def add_whole(one, other):
    """Sum."""
    return np.int64(np.uint64(one) + np.uint64(other))


@inlined
def sub_whole(one, other):
    """Difference."""
    return np.int64(np.uint64(one) - np.uint64(other))


@inlined
def mul_whole(one, other):
    """Product."""
    return np.int64(np.uint64(one) * np.uint64(other))


@inlined
def div_whole(one, other):
    """Quotient, rounded down; 0 by 0."""
    if other == 0:
        return np.int64(0)
    if other == -1:
        return sub_whole(0, one)
    return np.int64(one // other)


@inlined
def mod_whole(one, other):
    """Remainder, with the sign of the divisor; 0 for a divisor of 0."""
    if other == 0 or other == -1:
        return np.int64(0)
    return np.int64(one % other)


@inlined
def mod_real(one, other):
    """Remainder, with the sign of the divisor, as in Python; nan for a divisor of 0."""
    if other == 0.0:
        return np.nan
    left = np.fmod(one, other)
    if left != 0.0:
        return left + other if (other < 0.0) != (left < 0.0) else left
    return math.copysign(0.0, other)


@inlined
def div_real(one, other):
    """Quotient, rounded down, as Python has it; nan by 0."""
    if other == 0.0:
        return np.nan
    left = np.fmod(one, other)
    quotient = (one - left) / other
    if left != 0.0 and (other < 0.0) != (left < 0.0):
        quotient -= 1.0
    if quotient == 0.0:
        return math.copysign(0.0, one / other)
    below = np.floor(quotient)
    return below + 1.0 if quotient - below > 0.5 else below


@inlined
def to_whole(number):
    """The number cut to a whole one; the nearest int64 of what is none, 0 of nan."""
    if math.isnan(number):
        return np.int64(0)
    if number >= 9223372036854775808.0:
        return _MOST
    if number < -9223372036854775808.0:
        return _SIGN
    return np.int64(number)


@inlined
def least(one, other):
    """The second where it is less."""
    return other if other < one else one


@inlined
def largest(one, other):
    """The second where it is more."""
    return other if other > one else one


@inlined
def absolute(number):
    """The number without its sign."""
    return -number if number < 0 else number


@inlined
def signed_real(number, sign):
    """The number with the sign of another; nan is positive, as processors differ in its sign."""
    return np.copysign(number, 0.0 if sign != sign else sign)


@inlined
def change_whole(before, after):
    """By how much a value has changed: exactly, and then as a float."""
    if before < after:
        return np.float64(np.uint64(after) - np.uint64(before))
    return np.float64(np.uint64(before) - np.uint64(after))


@inlined
def change_real(before, after):
    """The same of floats: 0 also of inf or nan that stays, inf from nan to a number or back."""
    if before == after or (before != before and after != after):
        return 0.0
    change = np.fabs(after - before)
    return np.inf if change != change else change


@inlined
def stored_real(number):
    """A float as operators store it: of both zeros and of all nans there is one.

    So neither the processor nor the order of messages makes a difference to its bits.
    """
    return np.nan if number != number else number + 0.0


# NumPy's functions refuse nothing.
float64 = np.float64
int64 = np.int64
infinity = np.inf
not_a_number = np.nan
round_floor = np.floor
round_ceil = np.ceil
least_whole = least_real = least
largest_whole = largest_real = largest
abs_whole = absolute
abs_real = np.fabs
is_nan = np.isnan
is_inf = np.isinf
is_finite = np.isfinite
math_sqrt = np.sqrt
math_exp = np.exp
math_expm1 = np.expm1
math_log = np.log
math_log1p = np.log1p
math_log2 = np.log2
math_log10 = np.log10
math_sin = np.sin
math_cos = np.cos
math_tan = np.tan
math_tanh = np.tanh
math_atan = np.arctan
math_atan2 = np.arctan2
math_hypot = np.hypot
