"""Sums in one fixed order, wherever the values lie: the same bits of every engine.

A sum of floats depends on its order, and NumPy, CuPy and a kernel each have one of their own. Here
the upper half is added to the lower one, item by item, until one item is left: every engine can do
that on its own arrays, and no item takes part in more than ``ceil(log2(n))`` additions, so the
rounding stays small.

Source: pairwise summation: Higham, "The accuracy of floating point summation", SIAM Journal on
Scientific Computing 1993.
"""

from __future__ import annotations

from typing import Any


def sum_by_halves(values: Any) -> Any:
    """Sum of float64 values, as an array of one item beside them.

    Parameters
    ----------
    values
        float64[n], an array of NumPy or of CuPy; not changed. The sum of none is 0.
    """
    size = values.size
    if size < 2:
        return values.sum(keepdims=True)
    # The largest power of two below the size: from the second step on both halves are full.
    half = 1 << ((size - 1).bit_length() - 1)
    sums = values[:half].copy()
    sums[: size - half] += values[half:]
    while half > 1:
        half //= 2
        sums[:half] += sums[half : 2 * half]
    return sums[:1]
