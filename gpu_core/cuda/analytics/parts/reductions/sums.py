"""Sums of float64 on the device in the order that every engine keeps; waits for nothing.

Kernels: ``sums.cu``. Host twin: `algorithms/shared/sums.py`.
"""

from typing import Final

import numpy as np

from ....device.declarations import constant
from ....device.device import Array, Device
from ....grid import blocks_for

_SOURCE: Final = "sums.cu"

_THREADS: Final = constant(_SOURCE, "SUM_THREADS")
_LAST_THREADS: Final = constant(_SOURCE, "LAST_THREADS")
_HALVED: Final = constant(_SOURCE, "HALVED")


def sum_by_halves(device: Device, values: Array, total: Array) -> None:
    """Write the sum of float64[n] to ``total``, float64[1]."""
    size = int(values.size)
    while size > _LAST_THREADS:
        # A power of two; the last launch takes up to so many.
        left = max(1 << (size - 1).bit_length(), _HALVED * _LAST_THREADS) // _HALVED
        sums = device.empty(left, np.float64)
        device.launch(
            _SOURCE, "add_halves", blocks_for(left, _THREADS), _THREADS, values, np.int64(size),
            np.int64(left), sums,
        )  # fmt: skip
        values, size = sums, left
    device.launch(_SOURCE, "end_halves", 1, _LAST_THREADS, values, np.int64(size), total)
