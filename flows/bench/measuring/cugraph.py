"""cuGraph, as its Python layer calls it, for the tables beside ours."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from .workloads import Keys, unpack


class CuGraph:
    """pylibcugraph: the graph is rebuilt, renumbered, and asked.

    Parameters
    ----------
    xp
        CuPy.
    keys
        Entries of the graph, both ways unless it is ``directed``.
    weights
        float32, of each of them; None: they have none.
    """

    def __init__(self, xp: Any, keys: Keys, weights: Any = None, *, directed: bool = False) -> None:
        import pylibcugraph

        self._library = pylibcugraph
        self._handle = pylibcugraph.ResourceHandle()
        self._xp, self._weights, self._is_directed = xp, weights, directed
        self._ends = [side.astype(xp.int32) for side in unpack(xp, keys)]

    def graph(self, *, is_transposed: bool) -> Any:
        """Build it; PageRank wants it transposed."""
        library = self._library
        kind = library.GraphProperties(is_symmetric=not self._is_directed, is_multigraph=False)
        return library.SGGraph(
            self._handle, kind, *self._ends, weight_array=self._weights,
            store_transposed=is_transposed, renumber=True, do_expensive_check=False,
        )  # fmt: skip

    def pagerank(self, graph: Any, tolerance: float) -> Any:
        """Vertices and ranks, to the same tolerance."""
        return self._library.pagerank(
            self._handle, graph, None, None, None, None, alpha=0.85, epsilon=tolerance,
            max_iterations=500, do_expensive_check=False,
        )  # fmt: skip

    def triangles(self, graph: Any) -> Any:
        """Vertices and their triangles."""
        return self._library.triangle_count(self._handle, graph, None, do_expensive_check=False)

    def components(self, graph: Any) -> Any:
        """Vertices and labels of their components."""
        return self._library.weakly_connected_components(
            self._handle, graph, None, None, None, None, do_expensive_check=False
        )

    def bfs(self, graph: Any, source: int, *, parents: bool = False) -> Any:
        """Distances in hops, predecessors and vertices."""
        return self._library.bfs(
            self._handle, graph, self._vertices([source]), direction_optimizing=True,
            depth_limit=0, compute_predecessors=parents, do_expensive_check=False,
        )  # fmt: skip

    def sssp(self, graph: Any, source: int) -> Any:
        """Vertices, distances by weight and predecessors."""
        return self._library.sssp(
            self._handle, graph, source, cutoff=float("inf"), compute_predecessors=True,
            do_expensive_check=False,
        )  # fmt: skip

    def core_number(self, graph: Any) -> Any:
        """Vertices and their core numbers."""
        return self._library.core_number(
            self._handle, graph, degree_type="bidirectional", do_expensive_check=False
        )

    def katz(self, graph: Any, alpha: float, num_vertices: int) -> Any:
        """Vertices and their Katz centrality, to networkx' default tolerance: 1e-6 a vertex."""
        return self._library.katz_centrality(
            self._handle, graph, betas=None, alpha=alpha, beta=1.0, epsilon=1e-6 * num_vertices,
            max_iterations=1000, do_expensive_check=False,
        )  # fmt: skip

    def strong_components(self, graph: Any) -> Any:
        """Vertices and labels of their strongly connected components."""
        return self._library.strongly_connected_components(
            self._handle, graph, None, None, None, None, do_expensive_check=False
        )

    def jaccard(self, graph: Any, pairs: Any) -> Any:
        """Vertices of the pairs, int64[n, 2], and their Jaccard coefficients."""
        first, second = (self._vertices(pairs[:, side]) for side in (0, 1))
        return self._library.jaccard_coefficients(
            self._handle, graph, first, second, use_weight=False, do_expensive_check=False
        )

    def betweenness(self, graph: Any, sources: Any) -> Any:
        """Vertices and their betweenness centrality by these sources."""
        return self._library.betweenness_centrality(
            self._handle, graph, self._vertices(sources), None, normalized=True,
            include_endpoints=False, do_expensive_check=False,
        )  # fmt: skip

    def personalized_pagerank(self, graph: Any, source: int, tolerance: float) -> Any:
        """Vertices and ranks as seen from one."""
        xp = self._xp
        return self._library.personalized_pagerank(
            self._handle, graph, None, None, None, None, self._vertices([source]),
            xp.ones(1, xp.float32), alpha=0.85, epsilon=tolerance, max_iterations=500,
            do_expensive_check=False,
        )  # fmt: skip

    def walks(self, graph: Any, starts: Any, steps: int) -> Any:
        """Vertices and weights of uniform random walks."""
        return self._library.uniform_random_walks(
            self._handle, graph, self._vertices(starts), steps
        )

    def sample(self, graph: Any, starts: Any, fan_out: Any) -> Any:
        """Edges sampled without replacement: ``fan_out`` a vertex, by hop."""
        fans = np.asarray(fan_out, np.int32)
        return self._library.homogeneous_uniform_neighbor_sample(
            self._handle, graph, self._vertices(starts), None, fans, with_replacement=False,
            do_expensive_check=False,
        )  # fmt: skip

    def _vertices(self, given: Any) -> Any:
        return self._xp.asarray(given, self._xp.int32)


def has_cugraph() -> bool:
    """Whether `CuGraph` can be had."""
    return find_spec("pylibcugraph") is not None
