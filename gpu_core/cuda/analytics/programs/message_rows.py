"""Rows that messages follow, with their weights, as a kernel argument (``message_rows.cuh``)."""

from typing import Final

import numpy as np

from ....rows import Rows
from ...device.declarations import structure
from ...device.device import Array
from ...device.packed_arguments import address

_MESSAGE_ROWS: Final = structure("message_rows.cuh", "MessageRows")


def message_rows(rows: Rows, *, weighted: bool) -> Array:
    """Rows, and their weights where these are asked for and there are any, as ``MessageRows``."""
    weights: Array | None = rows.weights if weighted else None
    begin, degree, columns, step = rows.walked
    if weights is None:
        stored = 0, 0, 0
    elif weights.dtype == np.float64:
        stored = 0, address(weights), address(rows.weight_begin)
    else:
        stored = address(weights), 0, address(rows.weight_begin)
    walked = (*map(address, (begin, degree, columns)), step)
    return np.array((walked, *stored), dtype=_MESSAGE_ROWS)
