"""Local clustering coefficients, their average, and transitivity.

::

    c(v) = edges between neighbours of v / (d(v) (d(v) - 1))      0 where d(v) < 2

with ordered pairs of neighbours above and below the line: in an undirected graph each triangle
gives two, so ``c(v) = 2 T(v) / (d(v) (d(v) - 1))``, as in networkx. Counts are exact integers, and
are divided here, once.

*Average* is the mean of ``c`` over all vertices, those below degree 2 included as 0. *Transitivity*
is three times the triangles over the pairs of edges that meet: another measure, in which hubs weigh
more.

Sources: Watts, Strogatz, "Collective dynamics of 'small-world' networks", Nature 1998; for directed
graphs Iosup et al., "The LDBC Graphalytics Benchmark", LCC.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClusteringResult:
    """Degrees, triangles and clustering of every vertex."""

    #: int64[n], users' ids in increasing order.
    vertices: Int64s
    #: int64[n], neighbours in either direction, without the vertex itself.
    degree: Int64s
    #: int64[n], triangles of the undirected simple graph.
    triangles: Int64s
    #: float64[n], from 0 to 1.
    clustering: npt.NDArray[np.float64]

    @property
    def average(self) -> float:
        """Mean of ``clustering`` over all vertices; 0 for a graph without vertices."""
        # An exact sum: the same whatever the order of the vertices.
        return math.fsum(self.clustering) / max(self.vertices.size, 1)

    @property
    def num_triangles(self) -> int:
        """Triangles of the whole graph."""
        return int(self.triangles.sum()) // 3

    @property
    def transitivity(self) -> float:
        """``3 triangles / pairs of edges that meet``, of the undirected simple graph; 0 of none."""
        pairs = int((self.degree * (self.degree - 1)).sum())
        return 2 * int(self.triangles.sum()) / pairs if pairs else 0.0


def clustering(engine: Any) -> ClusteringResult:
    """Local clustering coefficient of every vertex.

    For a directed graph this is LDBC Graphalytics' LCC: with ``N`` the neighbours in either
    direction and ``d = |N|``, the directed edges within ``N`` over ``d (d - 1)``. networkx's
    ``clustering`` of a ``DiGraph`` is another one (Fagiolo's): it counts directed triangles through
    the vertex, so there an edge both ways between the vertex and a neighbour counts twice, here
    once. ``degree``, ``triangles`` and ``transitivity`` are of the undirected simple graph.

    Self loops are ignored.
    """
    order = engine.sorted_order()
    counts = engine.algorithms.triangles.count_triangles(engine)
    degree = counts.degree[order]
    pairs = degree * (degree - 1)
    coefficients = np.zeros(order.size)
    np.divide(counts.neighbour_edges[order], pairs, out=coefficients, where=pairs > 0)
    return ClusteringResult(engine.user_ids()[order], degree, counts.triangles[order], coefficients)
