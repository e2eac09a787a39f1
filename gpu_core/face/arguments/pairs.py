"""Pairs of vertices as calls take them, and results of one value a pair."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import SettingsError
from ...table import Column, TableRows
from .checks import Id, Ids
from .given_rows import Frame, is_frame
from .named_values import is_series

#: Pairs of ids: an array or list [k, 2], or a frame with columns ``src`` and ``dst``.
Pairs = npt.ArrayLike | Sequence[tuple[Id, Id]] | Frame


class PairsResult(TableRows):
    """A value for each pair of vertices, in the order in which the pairs were given.

    Parameters
    ----------
    src, dst
        [k], users' ids.
    name
        Name of the value's column.
    values
        [k].
    """

    def __init__(self, src: Column, dst: Column, name: str, values: Column) -> None:
        super().__init__({"src": src, "dst": dst, name: values}, name)

    @property
    def src(self) -> Column:
        """[k]: the first vertex of each pair."""
        return self._columns["src"]

    @property
    def dst(self) -> Column:
        """[k]: the second vertex of each pair."""
        return self._columns["dst"]


class CommonNeighborsResult(PairsResult):
    """Number of common neighbors of each pair."""

    @property
    def common_neighbors(self) -> npt.NDArray[np.int64]:
        """int64[k]: number of common neighbors of each pair."""
        return self._columns["common_neighbors"]


class JaccardResult(PairsResult):
    """Jaccard coefficient of each pair."""

    @property
    def jaccard_coefficient(self) -> npt.NDArray[np.float64]:
        """float64[k], from 0 to 1: Jaccard coefficient of each pair."""
        return self._columns["jaccard_coefficient"]


def given_pairs(pairs: Any) -> tuple[Ids, Ids]:
    """Ids of the first and of the second vertices of some pairs, as they were given.

    Raises
    ------
    SettingsError
        They are no pairs.
    BatchError
        A frame has no columns ``src`` and ``dst``.
    """
    if is_frame(pairs) and not is_series(pairs):
        from .... import pairs_of_frame  # which knows Arrow

        return pairs_of_frame(pairs)
    if not isinstance(pairs, np.ndarray) and getattr(pairs, "ndim", None) == 2:
        pairs = np.asarray(pairs)  # of another library, such as a tensor
    if isinstance(pairs, np.ndarray):
        if pairs.ndim == 2 and pairs.shape[1] == 2:
            return pairs[:, 0], pairs[:, 1]
        found = f"an array {list(pairs.shape)}"
    else:
        listed = list(pairs) if np.iterable(pairs) else [pairs]
        wrong = [each for each in listed if isinstance(each, str) or np.size(each) != 2]
        if not wrong:
            return [each[0] for each in listed], [each[1] for each in listed]
        found = " ".join(reprlib.repr(wrong[0]).split())
    msg = (
        f"pairs has {found}; give pairs of ids: [(1, 2), …], an array [k, 2], "
        f"numpy.column_stack((src, dst)) of two arrays, or a frame"
    )
    raise SettingsError(msg)
