"""Rows, and the weights of their entries, as arguments of kernels (``row_arguments.cuh``)."""

from typing import Final

import numpy as np

from ....rows import Rows
from ...device.declarations import structure
from ...device.device import Array
from ...device.packed_arguments import address

_SOURCE: Final = "row_arguments.cuh"

_ROWS: Final = structure(_SOURCE, "Rows")
_BOTH_WAYS: Final = structure(_SOURCE, "BothWays")
_WEIGHTED_ROWS: Final = structure(_SOURCE, "WeightedRows")

#: A null ``Rows``.
_NO_ROWS: Final = (0, 0, 0, 1)


def fields(rows: Rows) -> tuple[int, int, int, int]:
    """Fields of ``Rows``, for structs that have one."""
    return address(rows.begin), address(rows.degree), address(rows.columns), rows.step


def one_way(rows: Rows | None) -> Array:
    """``Rows`` of one direction; None: null."""
    return np.array(_NO_ROWS if rows is None else fields(rows), dtype=_ROWS)


def both_ways(out: Rows, into: Rows) -> Array:
    """``BothWays``."""
    return np.array((fields(out), fields(into)), dtype=_BOTH_WAYS)


def with_weights(rows: Rows, *, weighted: bool) -> Array:
    """``WeightedRows``: with weights where these are asked for and there are any."""
    weights: Array | None = rows.weights if weighted else None
    narrow, wide = map(address, by_width(weights))
    begin = 0 if weights is None else address(rows.weight_begin)
    return np.array((fields(rows), narrow, wide, begin), dtype=_WEIGHTED_ROWS)


def by_width(weights: Array | None) -> tuple[Array | None, Array | None]:
    """Weights as an argument of float32 and one of float64: one or none, others None."""
    if weights is None:
        return None, None
    return (None, weights) if weights.dtype == np.float64 else (weights, None)
