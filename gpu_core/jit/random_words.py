"""Random words within kernels, one at a time, as `generators/counter_random.py` has arrays of them.

A word has no state: it is a hash of where a stream starts and of its number, so any thread that
draws it draws the same. CUDA twins: ``cuda/analytics/sampling/draws.cuh``,
``cuda/generators/watts_alpha.cuh``.
"""

import numpy as np

from .compile import inlined

_ONE = np.uint64(1)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLY_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLY_2 = np.uint64(0x94D049BB133111EB)
_HALF_BITS = np.uint64(32)


@inlined
def numbered_word(start, number):
    """64 random bits: word ``number`` of the stream that begins at ``start``."""
    word = (np.uint64(number) + _ONE) * _GOLDEN + start
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
