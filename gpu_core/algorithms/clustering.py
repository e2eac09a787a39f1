"""Local clustering coefficients, their average, and transitivity.

::

    c(v) = edges between neighbours of v / (d(v) (d(v) - 1))      0 where d(v) < 2

with ordered pairs of neighbours above and below the line: in an undirected graph each triangle
gives two, so ``c(v) = 2 T(v) / (d(v) (d(v) - 1))``, as in networkx. Counts are exact integers, and
are divided once, in float64: every engine gives the same bits.

*Average* is the mean of ``c`` over all vertices, those below degree 2 included as 0. *Transitivity*
is three times the triangles over the pairs of edges that meet: another measure, in which hubs weigh
more.

What an engine offers: ``algorithms.clustering.columns_by_id``. Columns that an engine keeps on its
device are fetched, each for itself, when they are looked at. Not here: how triangles are found
(`host/triangles.py`).

Sources: Watts, Strogatz, "Collective dynamics of 'small-world' networks", Nature 1998; for directed
graphs Iosup et al., "The LDBC Graphalytics Benchmark", LCC.
"""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..host.clustering import HostColumns

Int64s = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]


class Columns(Protocol):
    """Columns of a result, wherever they are; they do not change with the graph."""

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


class ClusteringResult:
    """Degrees, triangles and clustering of every vertex.

    Parameters
    ----------
    columns
        The arrays, or what fetches them from where they are kept.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    @property
    def vertices(self) -> Int64s:
        """int64[n], users' ids in increasing order."""
        return self._columns.vertices

    @property
    def degree(self) -> Int64s:
        """int64[n], neighbours in either direction, without the vertex itself."""
        return self._columns.degree

    @property
    def triangles(self) -> Int64s:
        """int64[n], triangles of the undirected simple graph."""
        return self._columns.triangles

    @property
    def clustering(self) -> Vector:
        """float64[n], from 0 to 1."""
        return self._columns.clustering

    @property
    def average(self) -> float:
        """Mean of ``clustering`` over all vertices; 0 for a graph without vertices."""
        # Added up in the order of users' ids, so the same bits on every engine.
        return float(self.clustering.sum()) / max(self.clustering.size, 1)

    @property
    def num_triangles(self) -> int:
        """Triangles of the whole graph."""
        return int(self.triangles.sum()) // 3

    @property
    def transitivity(self) -> float:
        """``3 triangles / pairs of edges that meet``, of the undirected simple graph; 0 of none."""
        pairs = int((self.degree * (self.degree - 1)).sum())
        return 2 * int(self.triangles.sum()) / pairs if pairs else 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process has no part in what this one keeps on its device.
        columns = HostColumns(self.vertices, self.degree, self.triangles, self.clustering)
        return ClusteringResult, (columns,)


def clustering(engine: Any) -> ClusteringResult:
    """Local clustering coefficient of every vertex.

    For a directed graph this is LDBC Graphalytics' LCC: with ``N`` the neighbours in either
    direction and ``d = |N|``, the directed edges within ``N`` over ``d (d - 1)``. networkx's
    ``clustering`` of a ``DiGraph`` is another one (Fagiolo's): it counts directed triangles through
    the vertex, so there an edge both ways between the vertex and a neighbour counts twice, here
    once. ``degree``, ``triangles`` and ``transitivity`` are of the undirected simple graph.

    Self loops are ignored.
    """
    return ClusteringResult(engine.algorithms.clustering.columns_by_id(engine))
