"""Random draws of samples: each owner of draws has a part of a stream of words of its own.

`exponential` is made of sums, products and a quotient alone, which round alike everywhere; a
logarithm of a library does not. CUDA twin: ``cuda/analytics/sampling/draws.cuh``.
"""

import numpy as np

from ....jit.compile import inlined
from ....jit.random_words import numbered_word

_ONE = np.uint64(1)
_HALF_BITS = np.uint64(32)

_LN_2 = 0.6931471805599453


@inlined
def random_word(start, owner, draw):
    """64 random bits: draw ``draw`` (below 2^32) of ``owner`` (likewise) in a stream."""
    return numbered_word(start, (np.uint64(owner) << _HALF_BITS) | np.uint64(draw))


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
