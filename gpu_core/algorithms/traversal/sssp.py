"""Shortest paths by weight from one vertex to every vertex (single-source shortest paths).

::

    distance(v) = least sum of weights on a path from the source to v, along the edges' direction
                  inf where there is no path; 0 for the source

as networkx' ``single_source_dijkstra_path_length``, which leaves out vertices without a path. Edges
without weights count 1 each: those of simple records, or all with ``weight=None``; distances are
hops then.

The sum of a path is taken from the source on, in float64. Rounding keeps the order of two numbers
to which the same one is added, so that part of a shortest path is itself shortest, and
``distance`` is the one least solution of ``d(v) = min(d(u) + weight(u, v))``. Whatever order edges
are looked at in, the same bits come out, on every engine and from Dijkstra's algorithm.

What an engine offers: ``algorithms.sssp`` with ``weigh``, ``distances`` and ``of_hops``, of rows
alone; hops come from ``algorithms.bfs``. Not here: how distances are found
(`host/analytics/traversal/sssp.py`, `cuda/analytics/traversal/sssp.py`), and the vertices of one
path (`gpu_core/face/graph_traversal.py`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...choices import check_weight
from ...errors import SettingsError
from ...printable import counted
from ..analytic import Analytic, Column, ColumnValues, Metric, Parameter, Parameters, Summary
from ..shared.adjacencies import adjacencies_of
from ..shared.by_vertex import ValuesResult, in_order
from ..shared.sources import ids_of, source_indices

if TYPE_CHECKING:
    from ...engine import Reader

Vector = npt.NDArray[np.float64]


class SsspResult(ValuesResult):
    """Distance of every vertex from the source."""

    _analytic = "sssp"
    _ranked_by = "distance"

    @property
    def distance(self) -> Vector:
        """float64[n], least sum of weights of a path from the source; inf: none is finite."""
        return self._columns.values

    @property
    def num_reached(self) -> int:
        """Vertices that a path leads to, the source included."""
        return int(np.isfinite(self.distance).sum())

    def __repr__(self) -> str:
        return f"<SsspResult {counted(len(self), 'vertex')}, {self.num_reached:,} reached>"


def sssp(
    reader: Reader,
    source: npt.ArrayLike,
    *,
    weight: str | None = "weight",
    unknown: str = "error",
) -> SsspResult:
    """Least sum of weights of a path from the source to every vertex, along out-edges.

    Parameters
    ----------
    reader
        Of the graph.
    source
        Users' id of a vertex.
    weight
        ``"weight"``: edges are as long as their weights, which must be ``>= 0``, or 1 where the
        records have none. None: 1 each.
    unknown
        What becomes of a source that is not in the graph: ``"error"``, or ``"skip"``: nothing is
        reached.

    Raises
    ------
    VertexNotFoundError
        The source is not in the graph.
    SettingsError
        ``source`` is no id, ``weight`` is unknown, or a weight is negative.
    """
    check_weight(weight)
    ids = ids_of("source", source)
    if ids.size > 1:
        msg = f"source has {ids.size} ids; give one: bfs() takes several"
        raise SettingsError(msg)
    found = source_indices(reader, "source", ids, unknown=unknown)
    twins, workspace = reader.algorithms, reader.workspace
    if weight is None or not reader.kind.record.has_weight:
        hops = twins.bfs.distances(workspace, adjacencies_of(reader), found)
        return SsspResult(in_order(reader, twins.sssp.of_hops(workspace, hops)))
    out = reader.rows("out", weighted=True)
    mean, negative = twins.sssp.weigh(workspace, out)
    if negative is not None:
        [vertex] = reader.ids_of(np.array([negative], np.uint32))
        msg = (
            "sssp needs weights >= 0, but an edge from vertex {vertex} has a negative one; "
            "change the weights, or ignore them by weight=None (in settings: null)"
        )
        raise SettingsError.of_vertex(msg, vertex)
    distance = twins.sssp.distances(workspace, out, found, mean)
    return SsspResult(in_order(reader, distance))


def _summary(columns: ColumnValues, _parameters: Parameters) -> Summary:
    distance = columns["distance"]
    reached = distance[np.isfinite(distance)]
    return {
        "vertices": distance.size,
        "reached": reached.size,
        "farthest": float(reached.max()) if reached.size else None,
    }


def _text(summary: Summary) -> str:
    if summary["farthest"] is None:
        return f"nothing reached: of {counted(summary['vertices'], 'vertex')} none is the source"
    return (
        f"{summary['reached']:,} of {counted(summary['vertices'], 'vertex')} reached, the farthest "
        f"at distance {summary['farthest']:g}"
    )


ANALYTIC = Analytic(
    name="sssp",
    title="shortest paths by weight",
    about="Distance by weights from one vertex to every vertex, along the edges' direction.",
    # A vertex may come with a later batch, or be deleted: no reason to end a run.
    compute=partial(sssp, unknown="skip"),
    parameters=(
        Parameter(
            "source",
            "id of the vertex to start from; if it is not in the graph, nothing is reached",
            {
                "type": ["integer", "string", "null"],
                "minimum": -(2**63), "maximum": 2**64 - 1,
            },
            is_required=True, has_vertices=True, example=34,
        ),
        Parameter(
            "weight", "weight: edges are as long as their weights, or 1 where there are none; "
            "null: 1 each", {"enum": [None, "weight"]}, "weight",
        ),
    ),
    results=(
        Column("distance", "float64", "least sum of weights of a path; inf: there is none"),
    ),
    metrics=(
        Metric("reached", "vertices with a path from the source", "int64"),
        Metric("farthest", "largest distance"),
    ),
    summary=_summary,
    text=_text,
)  # fmt: skip
