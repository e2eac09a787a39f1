"""Breadth-first search: hops from the nearest of some sources to every vertex.

::

    distance(v) = least number of edges on a path from a source to v, along the edges' direction
                  -1 where there is no path; 0 for a source

Parents are not part of the result: they are not unique, distances are. Vertices are reached level
by level, so every engine gives the same distances, whatever the order within a level.

What an engine offers: ``algorithms.bfs`` with ``distances``, of rows alone. Not here: how a level
is found (`host/analytics/bfs.py`).

Sources: Beamer, Asanović, Patterson, "Direction-Optimizing Breadth-First Search", SC 2012; Iosup et
al., "The LDBC Graphalytics Benchmark", BFS (which has the largest int64 where we have -1).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .analytic import Analytic, Column, ColumnValues, Metric, Parameter, Parameters, Summary
from .by_vertex import ValuesResult, in_order
from .sides import sides_of
from .sources import source_indices

if TYPE_CHECKING:
    from ..engine import Reader

Int32s = npt.NDArray[np.int32]

#: Distance of a vertex that no path leads to.
UNREACHED = -1


class BfsResult(ValuesResult):
    """Distance of every vertex from the nearest source."""

    _analytic = "bfs"
    _ranked_by = "distance"

    @property
    def distance(self) -> Int32s:
        """int32[n], hops from the nearest source; -1 where there is no path."""
        return self._columns.values

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
    found = source_indices(reader, "sources", sources, unknown=unknown)
    distance = reader.algorithms.bfs.distances(reader.workspace, sides_of(reader), found)
    return BfsResult(in_order(reader, distance))


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
    metrics=(
        Metric("reached", "vertices with a path from a source", "int64"),
        Metric("depth", "most hops to one of them", "int64"),
    ),
    summary=_summary,
    text=_text,
)  # fmt: skip
