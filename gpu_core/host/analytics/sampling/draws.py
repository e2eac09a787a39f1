"""Random draws within kernels: words by their number, as `generators/counter_random.py` has them.

A word has no state: it is a hash of where a stream starts and of its number, so any thread that
draws it draws the same. `exponential` is made of sums, products and a quotient alone, which round
alike everywhere; a logarithm of a library does not. CUDA twin:
``cuda/analytics/sampling/draws.cuh``.
"""

import numpy as np

from ....jit.compile import inlined

_ONE = np.uint64(1)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLY_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLY_2 = np.uint64(0x94D049BB133111EB)
_HALF_BITS = np.uint64(32)

_LN_2 = 0.6931471805599453


@inlined
def random_word(start, owner, draw):
    """64 random bits: draw ``draw`` (below 2^32) of ``owner`` (likewise) in a stream."""
    number = (np.uint64(owner) << _HALF_BITS) | np.uint64(draw)
    word = (number + _ONE) * _GOLDEN + start
    word = (word ^ (word >> np.uint64(30))) * _MULTIPLY_1
    word = (word ^ (word >> np.uint64(27))) * _MULTIPLY_2
    return word ^ (word >> np.uint64(31))


@inlined
def below(word, limit):
    """Whole number in ``0 … limit - 1``, by the upper half of a word; ``limit`` below 2^32."""
    return np.int64(((word >> _HALF_BITS) * np.uint64(limit)) >> _HALF_BITS)


@inlined
def unit_float(word):
    """Number in [0, 1)."""
    return np.float64(word >> np.uint64(11)) * 2.0**-53


@inlined
def exponential(word):
    """Number of the exponential distribution of mean 1: ``-ln u`` for ``u`` in (0, 1)."""
    # An odd number of 2^-53: never 0.
    mantissa = np.float64(((word >> np.uint64(12)) << _ONE) | _ONE) * 2.0**-53
    halvings = 0.0
    while mantissa < 0.75:
        mantissa *= 2.0
        halvings += 1.0
    # ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...)   s = (m - 1) / (m + 1), from -1/7 to 1/5
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square = s * s
    series = 0.0
    for k in range(17, 1, -2):
        series = (series + 1.0 / k) * square
    return halvings * _LN_2 - 2.0 * (s + s * series)
