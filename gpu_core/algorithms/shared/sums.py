"""Sums in one fixed order, wherever the values lie: the same bits of every engine.

A sum of floats depends on its order, and NumPy, CuPy and a kernel each have one of their own. Here
the upper half is added to the lower one, item by item, until one item is left: every engine can do
that on its own arrays, and no item takes part in more than ``ceil(log2(n))`` additions, so the
rounding stays small.

On a GPU: `cuda/analytics/parts/reductions/sums.py`.

Source: pairwise summation: Higham, "The accuracy of floating point summation", SIAM Journal on
Scientific Computing 1993.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def sum_by_halves(values: npt.NDArray[np.float64]) -> float:
    """Sum of float64[n], which is not changed; of none 0."""
    size = values.size
    if size < 2:
        return float(values[0]) if size else 0.0
    # The largest power of two below the size: from the second step on both halves are full.
    half = 1 << ((size - 1).bit_length() - 1)
    sums = values[:half].copy()
    sums[: size - half] += values[half:]
    while half > 1:
        half //= 2
        sums[:half] += sums[half : 2 * half]
    return float(sums[0])
