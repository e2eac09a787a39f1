"""Breadth-first search: hops from the nearest of some sources to every vertex.

::

    distance(v) = least number of edges on a path from a source to v, along the edges' direction
                  -1 where there is no path; 0 for a source

Parents are not part of the result: they are not unique, distances are. Vertices are reached level
by level, so every engine gives the same distances, whatever the order within a level.

What an engine offers: ``algorithms.bfs`` with ``distances``, of rows alone, and
``columns_in_order``. Distances that an engine keeps on its device are fetched when they are looked
at. Not here: how a level is found
(`host/analytics/bfs.py`).

Sources: Beamer, Asanović, Patterson, "Direction-Optimizing Breadth-First Search", SC 2012; Iosup et
al., "The LDBC Graphalytics Benchmark", BFS (which has the largest int64 where we have -1).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import SettingsError, VertexNotFoundError
from ..table import VertexTable
from .analytic import Analytic, Column, ColumnValues, Parameter, Parameters, Summary
from .sides import sides_of

if TYPE_CHECKING:
    from ..engine import Reader

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

#: Distance of a vertex that no path leads to.
UNREACHED = -1


class Distances(Protocol):
    """Columns of a result, wherever they are; they do not change with the graph."""

    @property
    def vertices(self) -> Int64s:
        """``keys`` of `BfsResult`, in host memory."""

    @property
    def distance(self) -> Int32s:
        """As in `BfsResult`, in host memory."""


class HostDistances(NamedTuple):
    """Columns of a result in host memory."""

    vertices: Int64s
    distance: Int32s


class BfsResult(VertexTable):
    """Distance of every vertex from the nearest source.

    Parameters
    ----------
    columns
        The arrays, or what fetches them from where they are kept.
    """

    _ranked_by = "distance"

    def __init__(self, columns: Distances) -> None:
        self._columns = columns

    @property
    def keys(self) -> Int64s:
        """int64[n]: what the engine calls the vertices, increasing."""
        return self._columns.vertices

    @property
    def distance(self) -> Int32s:
        """int32[n], hops from the nearest source; -1 where there is no path."""
        return self._columns.distance

    @property
    def columns(self) -> ColumnValues:
        """Columns by name, as in a result file."""
        return ANALYTIC.values(self)

    @property
    def num_reached(self) -> int:
        """Vertices that a path leads to, sources included."""
        return _num_reached(self.distance)

    @property
    def depth(self) -> int:
        """Largest distance of a vertex that is reached; -1 where none is."""
        return _depth(self.distance)

    def __repr__(self) -> str:
        return (
            f"<BfsResult {len(self):,} vertices, {self.num_reached:,} reached, "
            f"depth {self.depth:,}>"
        )

    def _made_of(self) -> tuple[Any, ...]:
        return (HostDistances(self.keys, self.distance),)


def bfs(reader: Reader, sources: npt.ArrayLike, *, unknown: str = "error") -> BfsResult:
    """Hops from the nearest source to every vertex, along out-edges.

    Parameters
    ----------
    reader
        Of the graph.
    sources
        Users' id of a vertex, or int64[k]: of several; the same id may come twice.
    unknown
        What becomes of ids that are not in the graph: ``"error"``, or ``"skip"``: nothing is
        reached from them.

    Returns
    -------
    BfsResult
        Every distance is -1 where all ids were skipped.

    Raises
    ------
    VertexNotFoundError
        A source is not in the graph.
    SettingsError
        ``sources`` are no ids, or there are none.
    """
    if unknown not in ("error", "skip"):
        msg = f"unknown={unknown!r} is unknown; use 'error' or 'skip'"
        raise SettingsError(msg)
    from ..image.fields import NONE  # brings Numba, which a declaration does without

    ids = _ids_of(sources)
    indices = reader.indices_of(ids)
    missing = ids[indices == NONE]
    if missing.size and unknown == "error":
        more = f" ({missing.size - 1} more are not either)" if missing.size > 1 else ""
        msg = f"source {missing[0]} is not in the graph{more}; has_vertices() tells which are"
        raise VertexNotFoundError(msg)
    found = np.unique(indices[indices != NONE])
    twin, workspace = reader.algorithms.bfs, reader.workspace
    distance = twin.distances(workspace, sides_of(reader), found)
    order = reader.order()
    vertices = reader.ids_in_order(order)
    return BfsResult(twin.columns_in_order(workspace, distance, order, vertices))


def _ids_of(sources: npt.ArrayLike) -> Int64s:
    """Return sources as int64[k]."""
    array = np.atleast_1d(np.asarray(sources))
    if not array.size:
        msg = "sources is empty; give the id of a vertex, or of several"
        raise SettingsError(msg)
    is_whole = array.dtype.kind == "i" or (
        array.dtype.kind == "u" and array.max() <= np.iinfo(np.int64).max
    )
    if array.ndim != 1 or not is_whole:
        msg = (
            f"sources must be an id (int64) or an array of ids; "
            f"got {array.dtype}{list(array.shape)}"
        )
        raise SettingsError(msg)
    return array.astype(np.int64)


def _num_reached(distance: Int32s) -> int:
    return int(np.count_nonzero(distance != UNREACHED))


def _depth(distance: Int32s) -> int:
    return int(distance.max(initial=UNREACHED))


def _summary(columns: ColumnValues, _parameters: Parameters) -> Summary:
    distance = columns["distance"]
    return {
        "vertices": distance.size,
        "sources": int(np.count_nonzero(distance == 0)),
        "reached": _num_reached(distance),
        "depth": _depth(distance),
    }


def _text(summary: Summary) -> str:
    if not summary["sources"]:
        return f"nothing reached: of {summary['vertices']:,} vertices none is a source"
    sources = "1 source" if summary["sources"] == 1 else f"{summary['sources']:,} sources"
    return (
        f"{summary['reached']:,} of {summary['vertices']:,} vertices reached from {sources}, "
        f"the farthest after {summary['depth']:,} hops"
    )


ANALYTIC = Analytic(
    name="bfs",
    title="breadth-first search",
    about="Hops from the nearest of some sources to every vertex, along the edges' direction.",
    # A vertex may come with a later batch, or be deleted: no reason to end a run.
    compute=partial(bfs, unknown="skip"),
    parameters=(
        Parameter(
            "sources", "ids of the vertices to start from; one that is not in the graph is skipped",
            {
                "type": ["array", "integer", "string", "null"],
                "items": {
                    "type": ["integer", "string"], "minimum": -(2**63), "maximum": 2**64 - 1,
                },
                "minItems": 1, "minimum": -(2**63), "maximum": 2**64 - 1,
            },
            is_required=True, has_vertices=True, example=[0, 5, 34],
        ),
    ),
    results=(Column("distance", "int32", "hops from the nearest source; -1: there is no path"),),
    summary=_summary,
    text=_text,
)  # fmt: skip
