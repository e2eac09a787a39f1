"""Adjacency lists with weights as one argument of a compiled kernel."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....rows import Rows


class WeightedRows(NamedTuple):
    """Neighbors as `Rows.walked`, and the weights of their entries."""

    begin: npt.NDArray[np.int64]
    degree: npt.NDArray[np.uint32]
    columns: npt.NDArray[np.uint32]
    step: np.int64
    #: float32 or float64; of length 0: all are 1.
    weights: npt.NDArray[Any]
    #: int64: where those of each row begin.
    weight_begin: Any


def weighted_rows(rows: Rows, *, weighted: bool) -> WeightedRows:
    """Rows as kernels take them; not ``weighted``: without their weights, if they have any.

    Rows that were asked for without weights have them if another call has asked for weights.
    """
    if not weighted or rows.weights is None:
        return WeightedRows(*rows.walked, np.empty(0, np.float32), rows.begin)
    return WeightedRows(*rows.walked, rows.weights, rows.weight_begin)
