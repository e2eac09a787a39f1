"""``Way`` of ``ways.cuh``: rows that messages follow, with their weights, as a kernel argument."""

from typing import Final

import numpy as np

from ....rows import Rows
from ...device.declarations import structure
from ...device.device import Array
from ...device.packed_arguments import address

_WAY: Final = structure("ways.cuh", "Way")


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
    walked = (*map(address, (begin, degree, columns)), step)
    return np.array((walked, *places), dtype=_WAY)
