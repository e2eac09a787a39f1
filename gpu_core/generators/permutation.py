"""Numbers ``0 … limit - 1`` in a random order, each one's position being computed on its own.

A Feistel network: a number is a pair ``(left, right)`` with ``left < a`` and ``right < b``, ``a b``
being the least above ``limit`` for ``a`` near its square root. Each round adds a hash of one to the
other, modulo ``a`` or ``b``, which can be undone; so all rounds together permute the ``a b`` pairs.
Fewer than ``a`` of these are no number below the limit: they are permuted again until they are.

Arrays are NumPy's or CuPy's: there are only operators, which both have.

Source: Black, Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002 (generalized Feistel,
and cycle walking).
"""

from math import isqrt

import numpy as np

from .counter_random import Words, random_words, upper_half

#: Four rounds of random functions make a strong pseudorandom permutation (Luby, Rackoff, "How to
#: Construct Pseudorandom Permutations", 1988) of many numbers. Of a dozen some orders are then 1.6
#: times as likely as others; with twice as many rounds a chi-square test sees no difference.
_ROUNDS = 8


def permuted_below(numbers: Words, limit: int, *, seed: int, stream: int) -> Words:
    """Map each number to its position in the order.

    Parameters
    ----------
    numbers : uint64[n]
        Below ``limit``.
    limit
        From 1 to ``2**62``, so that sums of half a word and a number below ``a`` or ``b`` do not
        wrap around.
    seed, stream
        Another pair is another order; eight streams from here on are used.

    Returns
    -------
    positions : uint64[n]
        Below ``limit``, and different where numbers are.
    """
    height = isqrt(limit - 1) + 1
    width = -(-limit // height)
    positions = _mixed(numbers, height, width, seed, stream)
    while (outside := (positions >= np.uint64(limit)).nonzero()[0]).size:
        positions[outside] = _mixed(positions[outside], height, width, seed, stream)
    return positions


def _mixed(numbers: Words, height: int, width: int, seed: int, stream: int) -> Words:
    """Permute the numbers below ``height * width``."""
    left, right = numbers // np.uint64(width), numbers % np.uint64(width)
    for step in range(_ROUNDS):
        if step % 2 == 0:
            added = upper_half(random_words(seed, stream + step, right))
            left = (left + added) % np.uint64(height)
        else:
            added = upper_half(random_words(seed, stream + step, left))
            right = (right + added) % np.uint64(width)
    return left * np.uint64(width) + right
