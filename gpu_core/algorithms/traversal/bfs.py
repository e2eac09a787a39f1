"""Breadth-first search: hops from the nearest of some sources to every vertex.

::

    distance(v) = least number of edges on a path from a source to v, along the edges' direction
                  -1 where there is no path; 0 for a source
    parent(v)   = the first u, in the order of ``DynamicGraph.vertices``, with an edge to v and
                  distance(u) = distance(v) - 1; none of a source, or where there is no path

Vertices are reached level by level, so every engine gives the same distances, whatever the order
within a level. A vertex may have several parents: the first one, which of numbers is the smallest,
makes the answer a matter of the graph alone. Parents are found after the search, from distances,
if they are asked for.

What an engine offers: ``algorithms.bfs`` with ``distances`` and ``distances_and_parents``, of rows
alone. Not here: how a level is found (`host/analytics/traversal/bfs.py`).

Sources: Beamer, Asanović, Patterson, "Direction-Optimizing Breadth-First Search", SC 2012; Iosup et
al., "The LDBC Graphalytics Benchmark", BFS (which has the largest int64 where we have -1).
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...printable import counted
from ..analytic import Analytic, Column, ColumnValues, Metric, Parameter, Parameters, Summary
from ..shared.adjacencies import adjacencies_of
from ..shared.by_vertex import HostValues, Values, ValuesResult, in_order, order_of, vertices_at
from ..shared.sources import source_indices

if TYPE_CHECKING:
    from ...engine import Reader

Int32s = npt.NDArray[np.int32]
UInt32s = npt.NDArray[np.uint32]

#: Distance of a vertex that no path leads to.
UNREACHED = -1

#: A level is pulled where it has more than one in `PUSH_SHARE` of the entries that are left, until
#: it has fewer than one in `PULL_SHARE` of the vertices (Beamer).
PUSH_SHARE = 14
PULL_SHARE = 24


class BfsResult(ValuesResult):
    """Distance of every vertex from the nearest source, and its parent if that was asked for.

    Parameters
    ----------
    columns
        Of distances.
    parents
        Of the positions of parents; None: they were not asked for.
    """

    def __init__(self, columns: Values, parents: Values | None = None) -> None:
        super().__init__(columns)
        self._parents = parents

    _analytic = "bfs"
    _ranked_by = "distance"

    @property
    def distance(self) -> Int32s:
        """int32[n], hops from the nearest source; -1 where there is no path."""
        return self._columns.values

    @cached_property
    def parent(self) -> npt.NDArray[Any] | None:
        """[n], as `vertices`: the vertex before on a path with the fewest hops, the first of them.

        Where there is none (of sources, and where no path leads): -1, of ids that are texts
        ``""``, of uint64 ``2**64 - 1``. None where parents were not asked for.
        """
        return None if self._parents is None else vertices_at(self.vertices, self._parents.values)

    @property
    def parent_positions(self) -> UInt32s:
        """uint32[n], as `parent`, which must have been asked for: its position in `vertices`."""
        assert self._parents is not None
        return self._parents.values

    def _made_of(self) -> tuple[Any, ...]:
        parents = self._parents
        return *super()._made_of(), parents and HostValues(parents.vertices, parents.values)

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
            f"<BfsResult {counted(len(self), 'vertex')}, {self.num_reached:,} reached, "
            f"depth {self.depth:,}>"
        )


def bfs(
    reader: Reader, sources: npt.ArrayLike, *, parents: bool = False, unknown: str = "error"
) -> BfsResult:
    """Hops from the nearest source to every vertex, along out-edges.

    Parameters
    ----------
    reader
        Of the graph.
    sources
        Users' id of a vertex, or int64[k]: of several; the same id may come twice.
    parents
        Whether to find the parent of each vertex as well, which takes about as long again.
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
    twin, adjacencies, order = reader.algorithms.bfs, adjacencies_of(reader), order_of(reader)
    if not parents:
        distance = twin.distances(reader.workspace, adjacencies, found)
        return BfsResult(in_order(reader, distance, order))
    distance, parent = twin.distances_and_parents(
        reader.workspace, adjacencies, found, order.indices
    )
    return BfsResult(in_order(reader, distance, order), in_order(reader, parent, order))


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
        return f"nothing reached: of {counted(summary['vertices'], 'vertex')} none is a source"
    return (
        f"{summary['reached']:,} of {counted(summary['vertices'], 'vertex')} reached from "
        f"{counted(summary['sources'], 'source')}, the farthest after "
        f"{counted(summary['depth'], 'hop')}"
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
        Parameter(
            "parents", "whether the parent of each vertex is found as well", {"type": "boolean"},
            default=False,
        ),
    ),
    results=(
        Column(
            "distance", "int32", "hops from the nearest source; -1: there is no path", nothing=-1
        ),
        Column(
            "parent", "id",
            "with bfs.parents: the first vertex with an edge to this one that is a hop nearer; -1, "
            "or an empty name: there is none", asked_by="parents",
        ),
    ),
    metrics=(
        Metric("reached", "vertices with a path from a source", "int64"),
        Metric("depth", "most hops to one of them", "int64"),
    ),
    summary=_summary,
    text=_text,
)  # fmt: skip
