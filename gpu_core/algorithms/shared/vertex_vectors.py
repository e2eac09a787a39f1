"""Values that users give by vertex, as vectors by vertex index: where jumps land, and such.

Vectors are in host memory, 0 for absent vertices; `None` is the vector that is the same for all
present ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...choices import as_integers
from ...errors import SettingsError, VertexNotFoundError
from ...printable import others_shown
from ...properties.masked import refuse_masked

if TYPE_CHECKING:
    from ...engine import Reader

Int64s = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]

#: Values of some vertices: a mapping, or a pair of arrays (vertices, values).
VertexValues = Mapping[int, float] | tuple[npt.ArrayLike, npt.ArrayLike]


class Positions:
    """Turns values of users' ids into vectors by vertex index, where there are any."""

    def __init__(self, reader: Reader, *, skips_unknown: bool = False) -> None:
        self._reader = reader
        self._skips_unknown = skips_unknown
        self._vertex_count: int = reader.vertex_count

    @cached_property
    def order(self) -> Int64s:
        """Vertex indices of the present vertices, in increasing order of ids."""
        order: Int64s = self._reader.sorted_order()
        return order

    @cached_property
    def vertices(self) -> Int64s:
        """Users' ids of the present vertices, in increasing order."""
        ids: Int64s = self._reader.user_ids()
        return ids[self.order]

    def distribution(self, values: VertexValues | None, name: str) -> Vector | None:
        """Values divided by their sum, 0 for vertices that are not named.

        None where there are none, or where none above 0 is left once unknown ones are skipped.
        """
        if values is None:
            return None
        vertices, amounts = _pair(values, name)
        found = self._find(vertices)
        if self._skips_unknown:
            is_known = found >= 0
            if amounts.any() and not amounts[is_known].any():
                return None
            vertices, amounts, found = vertices[is_known], amounts[is_known], found[is_known]
        if (found < 0).any():
            unknown = vertices[found < 0]
            more = others_shown(unknown.size - 1)
            msg = f"{name} names vertex {{vertex}}, which is not in the graph{more}"
            raise VertexNotFoundError.of_vertex(msg, unknown[0])
        repeated = np.flatnonzero(np.bincount(found, minlength=1) > 1)
        if repeated.size:
            msg = f"{name} names vertex {{vertex}} more than once; name it once"
            raise SettingsError.of_vertex(msg, self.vertices[repeated[0]])
        wrong = np.flatnonzero(~((amounts >= 0) & np.isfinite(amounts)))
        if wrong.size:
            msg = (
                f"{name} gives vertex {{vertex}} the value {amounts[wrong[0]]}; "
                f"values must be finite and >= 0"
            )
            raise SettingsError.of_vertex(msg, vertices[wrong[0]])
        vector = np.zeros(self._vertex_count)
        vector[self.order[found]] = amounts
        return _normalized(vector, name)

    def matching(self, vertices: Int64s) -> tuple[Int64s, Int64s | slice]:
        """Find vertices of an earlier result, increasing, that are still there.

        Returns their vertex indices, and where they are among ``vertices``.
        """
        size = vertices.size
        if np.array_equal(self.vertices[:size], vertices):
            # None has gone, and none has come between them.
            return self.order[:size], slice(size)
        found = self._find(vertices)
        is_there = found >= 0
        return self.order[found[is_there]], np.flatnonzero(is_there)

    def _find(self, vertices: Int64s) -> Int64s:
        """Position of each id among the present vertices, -1 for unknown ones."""
        found = np.searchsorted(self.vertices, vertices)
        inside = np.minimum(found, self.vertices.size - 1)
        return np.where(self.vertices[inside] == vertices, inside, -1)


def _normalized(vector: Vector, name: str) -> Vector:
    with np.errstate(over="ignore"):
        total = float(vector.sum())
    if not 0 < total < math.inf:
        msg = f"the values of {name} sum to {total}; at least one must be > 0, and the sum finite"
        raise SettingsError(msg)
    return vector / total


def _pair(values: VertexValues, name: str) -> tuple[Int64s, Vector]:
    """Vertices and values as arrays of one length."""
    if isinstance(values, Mapping):
        values = list(values.keys()), list(values.values())
    if not isinstance(values, tuple | list) or len(values) != 2:
        # The rows of an array are two as well, if there are two vertices.
        msg = f"{name} is neither a mapping of vertices to values nor a pair (vertices, values)"
        raise SettingsError(msg)
    try:
        keys, amounts = values
        vertices, numbers = as_integers(keys), np.asarray(amounts, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"{name} is neither a mapping of vertices to values nor a pair of arrays: {error}"
        raise SettingsError(msg) from None
    for column in (keys, amounts):
        refuse_masked(name, column)
    if vertices.size == 0:
        vertices = vertices.astype(np.int64)
    is_int64 = vertices.dtype.kind == "i" or (
        vertices.dtype.kind == "u" and vertices.max() <= np.iinfo(np.int64).max
    )
    if not is_int64 or vertices.ndim != 1 or vertices.shape != numbers.shape:
        msg = (
            f"{name} must map vertices (int64) to values, or be a pair of arrays of one length "
            f"(vertices, values); got {vertices.dtype}{list(vertices.shape)} "
            f"and {numbers.dtype}{list(numbers.shape)}"
        )
        raise SettingsError(msg)
    return vertices.astype(np.int64), numbers
