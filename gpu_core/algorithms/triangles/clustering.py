"""Local clustering coefficients, their average, and transitivity.

::

    c(v) = edges between neighbors of v / (d(v) (d(v) - 1))      0 where d(v) < 2

with ordered pairs of neighbors above and below the line: in an undirected graph each triangle
gives two, so ``c(v) = 2 T(v) / (d(v) (d(v) - 1))``, as in networkx. Counts are exact integers, and
are divided once, in float64: every engine gives the same bits.

Of a directed graph there are two definitions, which agree where every edge goes both ways:

``networkx``
    Fagiolo's, as networkx' ``clustering`` of a ``DiGraph``: directed triangles through ``v`` of all
    eight kinds, over ``2 (t(v) (t(v) - 1) - 2 b(v))``, where ``t`` counts edges in and out and
    ``b`` the neighbors with both. An edge both ways counts twice wherever it is.
``ldbc``
    LDBC Graphalytics' LCC: with ``N`` the neighbors in either direction and ``d = |N|``, the
    directed edges within ``N`` over ``d (d - 1)``. An edge both ways between ``v`` and a neighbor
    counts once.

*Average* is the mean of ``c`` over all vertices, those below degree 2 included as 0. *Transitivity*
is three times the triangles over the pairs of edges that meet: another measure, in which hubs weigh
more. It is of the undirected simple graph under either definition, as is networkx' ``transitivity``
of ``G.to_undirected()``; of a ``DiGraph`` networkx looks at successors alone, and counts how many
pairs of them have an edge from the first to the second, which depends on how edges point.

What an engine offers: ``algorithms.triangles.count_triangles``, of rows alone, and
``algorithms.clustering.columns_in_order``. Columns that an engine keeps on its device are fetched,
each for itself, when they are looked at. Not here: how triangles are found
(`host/analytics/triangles/triangles.py`).

Sources: Watts, Strogatz, "Collective dynamics of 'small-world' networks", Nature 1998; for directed
graphs Fagiolo, "Clustering in complex directed networks", Physical Review E 2007, and Iosup et al.,
"The LDBC Graphalytics Benchmark", LCC.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...errors import SettingsError
from ...printable import counted
from ...table import VertexTable
from ..analytic import Analytic, Column, ColumnValues, Metric, Needs, Parameter, Parameters, Summary
from ..maintained.maintained_triangles import (
    NAME,
    MaintainedTriangles,
    any_definition,
    counts_of,
)
from ..shared.sums import sum_by_halves
from .definitions import DIRECTED, check_definition

if TYPE_CHECKING:
    from ...engine import Reader

Int64s = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]


class ClusteringTotals(NamedTuple):
    """Sums of the columns of a result."""

    vertices: int
    #: Of ``triangles``: each triangle counts at three vertices.
    triangles: int
    #: Ordered pairs of neighbors of a vertex.
    pairs: int
    clustering: float

    @property
    def num_triangles(self) -> int:
        """Triangles of the whole graph."""
        return self.triangles // 3

    @property
    def average(self) -> float:
        """Mean clustering; 0 for a graph without vertices."""
        return self.clustering / max(self.vertices, 1)

    @property
    def transitivity(self) -> float:
        """``3 triangles / pairs of edges that meet``; 0 where none meet."""
        return 2 * self.triangles / self.pairs if self.pairs else 0.0


class ClusteringColumns(Protocol):
    """Columns of a result, wherever they are; they do not change with the graph."""

    def totals(self) -> ClusteringTotals:
        """Sums of the columns, made where they are."""

    @property
    def vertices(self) -> Int64s:
        """As in `ClusteringResult`, in host memory."""

    @property
    def degree(self) -> Int64s:
        """As in `ClusteringResult`, in host memory."""

    @property
    def triangles(self) -> Int64s:
        """As in `ClusteringResult`, in host memory."""

    @property
    def clustering(self) -> Vector:
        """As in `ClusteringResult`, in host memory."""


class HostColumns(NamedTuple):
    """Columns of a result in host memory; as in `ClusteringResult`."""

    vertices: Int64s
    degree: Int64s
    triangles: Int64s
    clustering: Vector

    def totals(self) -> ClusteringTotals:
        """Sums of the columns."""
        return _totals(self.degree, self.triangles, self.clustering)


class ClusteringResult(VertexTable):
    """Degrees, triangles and clustering of every vertex.

    Parameters
    ----------
    columns
        The arrays, or what fetches them from where they are kept.
    directed
        Definition of ``clustering`` that they go by, one of `DIRECTED`; None: the graph is
        undirected.
    of_some
        Whether they are of some vertices alone, so that the graph's triangles do not follow.

    Attributes
    ----------
    directed
        As the parameter.
    """

    _ranked_by = "clustering"

    def __init__(
        self, columns: ClusteringColumns, directed: str | None = None, of_some: bool = False
    ) -> None:
        self._columns = columns
        self.directed = directed
        self._of_some = of_some

    @property
    def vertex_keys(self) -> Int64s:
        """int64[n]: what the engine calls the vertices, increasing."""
        return self._columns.vertices

    @property
    def degree(self) -> Int64s:
        """int64[n], neighbors in either direction, without the vertex itself."""
        return self._columns.degree

    @property
    def triangles(self) -> Int64s:
        """int64[n], triangles of the undirected simple graph at each vertex."""
        return self._columns.triangles

    @property
    def clustering(self) -> Vector:
        """float64[n], from 0 to 1: clustering coefficient of each vertex."""
        return self._columns.clustering

    @property
    def columns(self) -> ColumnValues:
        """Columns by name, as in a result file."""
        return ANALYTIC.values(self)

    @property
    def average(self) -> float:
        """Mean of ``clustering`` over the rows; 0 if there are none."""
        return self._totals.average

    @property
    def num_triangles(self) -> int:
        """Triangles of the whole graph; `SettingsError` if the rows are of some vertices."""
        return self._totals_of_graph("num_triangles").num_triangles

    @property
    def transitivity(self) -> float:
        """``3 triangles / paths of two edges`` in the undirected simple graph; 0 without paths.

        `SettingsError` if the rows are of some vertices.
        """
        return self._totals_of_graph("transitivity").transitivity

    def _totals_of_graph(self, name: str) -> ClusteringTotals:
        if self._of_some:
            msg = f"{name} is of the whole graph, but these are rows of some vertices; use "
            msg += f"clustering().{name}"
            raise SettingsError(msg)
        return self._totals

    @cached_property
    def _totals(self) -> ClusteringTotals:
        return self._columns.totals()

    def rows_of(self, vertices: npt.NDArray[np.integer[Any]], names: Int64s) -> ClusteringResult:
        """Return the rows of some vertices, in their order and under other names."""
        rows = np.searchsorted(self.vertex_keys, vertices)
        columns = HostColumns(names, self.degree[rows], self.triangles[rows], self.clustering[rows])
        return ClusteringResult(columns, self.directed, of_some=True)

    def __repr__(self) -> str:
        triangles = "" if self._of_some else f"{counted(self.num_triangles, 'triangle')}, "
        return (
            f"<ClusteringResult {counted(len(self), 'vertex')}, {triangles}"
            f"average {self.average:.6g}>"
        )

    def _made_of(self) -> tuple[Any, ...]:
        columns = HostColumns(self.vertex_keys, self.degree, self.triangles, self.clustering)
        return columns, self.directed, self._of_some


def clustering(reader: Reader, *, directed: str = DIRECTED[0]) -> ClusteringResult:
    """Local clustering coefficient of every vertex. Self loops are ignored.

    Parameters
    ----------
    directed
        Definition for a directed graph, ``networkx`` or ``ldbc``: see the module. Undirected graphs
        have one, which both come to. ``degree``, ``triangles`` and ``transitivity`` are of the
        undirected simple graph in any case.

    Raises
    ------
    SettingsError
        The definition is unknown.
    """
    check_definition(directed)
    counts = counts_of(reader, directed)
    order = reader.order()
    vertices = reader.ids_in_order(order)
    columns = reader.algorithms.clustering.columns_in_order(
        reader.workspace, counts, order, vertices
    )
    return ClusteringResult(columns, directed if reader.kind.directed else None)


def transitivity(reader: Reader) -> float:
    """Three times the triangles over the pairs of edges that meet, of the undirected graph."""
    return clustering(reader, directed=any_definition(reader)).transitivity


def _totals(degree: Int64s, triangles: Int64s, clustering: Vector) -> ClusteringTotals:
    wide = degree.astype(np.int64, copy=False)
    pairs = int((wide * (wide - 1)).sum())
    return ClusteringTotals(degree.size, int(triangles.sum()), pairs, sum_by_halves(clustering))


def _summary(columns: ColumnValues, parameters: Parameters) -> Summary:
    names = ("degree", "triangles", "clustering")
    return _summary_of(_totals(*(columns[name] for name in names)), parameters)


def _brief(result: ClusteringResult, parameters: Parameters) -> Summary:
    return _summary_of(result._totals, parameters)


def _summary_of(totals: ClusteringTotals, parameters: Parameters) -> Summary:
    return {
        "vertices": totals.vertices,
        "triangles": totals.num_triangles,
        "average_clustering": totals.average,
        "transitivity": totals.transitivity,
        # None: the graph is undirected, or the file does not say.
        "directed": parameters.get("directed"),
    }


def _text(summary: Summary) -> str:
    if not summary["vertices"]:
        return "no vertices"
    named = f" ({summary['directed']})" if summary["directed"] else ""
    return (
        f"{summary['triangles']:,}; average clustering{named} {summary['average_clustering']:.6f}, "
        f"transitivity {summary['transitivity']:.6f}"
    )


ANALYTIC = Analytic(
    name=NAME,
    title="triangles and clustering",
    plotted=("average_clustering", "triangles"),
    about="Degree, triangles and local clustering coefficient of every vertex.",
    compute=clustering,
    results=(
        Column("degree", "int64", "neighbors in either direction, without the vertex itself"),
        Column("triangles", "int64", "triangles of the undirected simple graph at the vertex"),
        Column("clustering", "float64", "local clustering coefficient, from 0 to 1"),
    ),
    parameters=(
        Parameter(
            "directed", "definition for directed graphs: networkx' (Fagiolo), or LDBC's LCC",
            {"enum": list(DIRECTED)}, DIRECTED[0], is_of_directed=True, earlier="ldbc",
        ),
    ),
    needs=Needs(rows=("out", "in")),
    metrics=(
        Metric("triangles", "triangles of the graph", "int64", is_plain=True),
        Metric("average_clustering", "mean of all coefficients", is_plain=True),
        Metric(
            "transitivity", "three times the triangles over the paths of length two", is_plain=True
        ),
    ),
    summary=_summary,
    brief=_brief,
    text=_text,
    label="triangles",
    maintained=(MaintainedTriangles,),
    maintained_by=("directed",),
    maintained_on_gpu=True,
)  # fmt: skip
