"""Results of one value a vertex, in increasing order of users' ids.

Values may stay on the device that computed them: they are fetched when they are first read.

What an engine offers: ``algorithms.in_order`` with ``values_in_order``, which puts values by vertex
index in the order of a result, and ``values_by_index``, which does the opposite. A result of an
analytic is a class of `ValuesResult` that calls the values by their name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...errors import SettingsError
from ...table import Column, VertexTable, check_count, largest
from ..analytic import ColumnValues

if TYPE_CHECKING:
    from ...engine import Reader

Int64s = npt.NDArray[np.int64]


class Values(Protocol):
    """Columns of a result, wherever they are; they do not change with the graph."""

    @property
    def vertices(self) -> Int64s:
        """int64[n]: what the engine calls the vertices, increasing; in host memory."""

    @property
    def values(self) -> npt.NDArray[Any]:
        """[n]: the value of each, in host memory."""

    def largest(self, k: int) -> tuple[Int64s, npt.NDArray[Any]]:
        """The ``k`` vertices of largest value, the largest first, equal ones in order; and these.

        Values that are no finite numbers are left out.
        """


class HostValues(NamedTuple):
    """Columns of a result in host memory."""

    vertices: Int64s
    values: npt.NDArray[Any]

    def largest(self, k: int) -> tuple[Int64s, npt.NDArray[Any]]:
        """As of `Values`."""
        rows = largest(self.values, k)
        rows = rows[np.isfinite(self.values[rows])]
        return self.vertices[rows], self.values[rows]


class ValuesResult(VertexTable):
    """A value of every vertex.

    Parameters
    ----------
    columns
        The arrays, or what fetches them from where they are kept.
    """

    def __init__(self, columns: Values) -> None:
        self._columns = columns

    @property
    def vertex_keys(self) -> Int64s:
        """int64[n]: what the engine calls the vertices, increasing."""
        return self._columns.vertices

    @property
    def columns(self) -> ColumnValues:
        """Columns by name, as in a result file."""
        from ..registry import analytic_named  # which imports the modules that import this one

        return analytic_named(self._analytic).values(self)

    def ranked(self, k: int) -> list[tuple[Any, float]]:
        """Users' ids and values of the ``k`` vertices of largest value, found where these are.

        The largest comes first, equal ones in order. A value that is no finite number, such as an
        infinite distance, is left out.

        Raises
        ------
        SettingsError
            ``k`` is negative or no integer, or the values are vertices themselves, as of components
            and communities.
        """
        check_count(k)
        if self._ranked_by == "":
            msg = f"{', '.join(self.columns)} are ids of vertices, not measures, which rank none"
            raise SettingsError(msg)
        return self._listed(*self._columns.largest(int(k)))

    #: Name of the analytic, which a class says, or has columns of its own.
    _analytic: str

    def _made_of(self) -> tuple[Any, ...]:
        return (HostValues(self.vertex_keys, self._columns.values),)


#: Position of no vertex.
NO_POSITION = 0xFFFFFFFF


def vertices_at(vertices: Column, positions: npt.NDArray[np.uint32]) -> Column:
    """Users' ids at some positions; for `NO_POSITION` -1, as uint64 the largest one, of names ''.

    Parameters
    ----------
    vertices
        [n]: users' ids.
    positions
        uint32[k], each below n or `NO_POSITION`.
    """
    is_none = positions == NO_POSITION
    none = np.array("", object) if vertices.dtype == object else np.array(-1).astype(vertices.dtype)
    found = np.full(positions.size, none)
    found[~is_none] = vertices[positions[~is_none]]
    return found


class Order(NamedTuple):
    """The vertices in increasing order of users' ids, in the engine's memory."""

    #: Of ``reader.order()``, and ``reader.ids_in_order()`` of it.
    indices: Any
    ids: Any


def order_of(reader: Reader) -> Order:
    """The order that results are brought into; the reader's lock is held.

    An algorithm that waits for the engine asks before it does, so that this takes no time.
    """
    indices = reader.order()
    return Order(indices, reader.ids_in_order(indices))


def in_order(reader: Reader, values: Any, order: Order | None = None) -> Values:
    """Columns of values by vertex index, an array of the engine's; the reader's lock is held.

    ``order``: of `order_of`, if it was asked already.
    """
    order = order or order_of(reader)
    columns: Values = reader.algorithms.in_order.values_in_order(reader.workspace, values, *order)
    return columns
