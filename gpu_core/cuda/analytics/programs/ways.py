"""Rows that messages go along, as kernels take them: twin of ``ways.cuh``."""

from typing import Final

import numpy as np

from ....rows import Rows
from ...device.device import Array
from ...device.packed_arguments import address

#: Twin of ``Way``.
WAY_DTYPE: Final = np.dtype(
    [
        *((name, np.uint64) for name in ("begin", "degree", "columns")),
        ("step", np.int64),
        *((name, np.uint64) for name in ("narrow", "wide", "weight_begin")),
    ]
)


def way_of(rows: Rows, *, weighted: bool) -> Array:
    """Rows, and their weights where these are asked for and there are any, as ``Way``."""
    weights: Array | None = rows.weights if weighted else None
    begin, degree, columns, step = rows.walked
    if weights is None:
        places = 0, 0, 0
    elif weights.dtype == np.float64:
        places = 0, address(weights), address(rows.weight_begin)
    else:
        places = address(weights), 0, address(rows.weight_begin)
    return np.array((*map(address, (begin, degree, columns)), step, *places), dtype=WAY_DTYPE)
