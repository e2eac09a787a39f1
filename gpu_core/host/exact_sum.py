"""Sums of floats from 0 to 1 without rounding: the bits that `math.fsum` gives, in any order.

A float64 is a whole number of 53 bits times a power of two. Values from 2^-64 to 1 are multiples of
2^-116, so each is a fixed-point number of five 32-bit digits. Digits of one place are added up in
64 bits, and what they come to is rounded once.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from .compile import compiled
from .parallel import for_ranges

#: Bits behind the point, and bits of a digit.
_FRACTION_BITS: Final = 128
_DIGIT_BITS: Final = 32
_DIGITS: Final = 5
#: Of a float64: bits of its fraction, and the exponent of which the last of them is worth 1.
_MANTISSA_BITS: Final = 52
_UNIT_EXPONENT: Final = 1075


def sum_of_shares(values: npt.NDArray[np.float64]) -> float:
    """Add up values without rounding, then round once.

    Parameters
    ----------
    values
        float64[n], contiguous, each 0 or from 2^-64 to 1; fewer than 2^32.
    """
    parts = for_ranges(sum_digits, values.size, values.view(np.int64))
    total = sum(
        int(digit) << _DIGIT_BITS * place for digits in parts for place, digit in enumerate(digits)
    )
    # Python rounds the quotient of two whole numbers correctly.
    return total / (1 << _FRACTION_BITS)


@compiled
def sum_digits(low, high, bits):
    """Digits of the sum of items ``low … high - 1``, lowest first: uint64[5], without carries.

    Parameters
    ----------
    bits
        int64[n], the bits of the values.
    """
    digits = np.zeros(_DIGITS, np.uint64)
    mask = np.uint64((1 << _DIGIT_BITS) - 1)
    for i in range(low, high):
        word = bits[i]
        if word == 0:
            continue
        mantissa = np.uint64(word & ((1 << _MANTISSA_BITS) - 1) | (1 << _MANTISSA_BITS))
        shift = (word >> _MANTISSA_BITS) - _UNIT_EXPONENT + _FRACTION_BITS
        place = shift // _DIGIT_BITS
        within = np.uint64(shift % _DIGIT_BITS)
        lowest = (mantissa & mask) << within
        highest = (mantissa >> np.uint64(_DIGIT_BITS)) << within
        digits[place] += lowest & mask
        middle = (lowest >> np.uint64(_DIGIT_BITS)) + (highest & mask)
        digits[place + 1] += middle
        digits[place + 2] += highest >> np.uint64(_DIGIT_BITS)
    return digits
