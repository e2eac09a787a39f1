"""What pairs of vertices have in common, as methods of a graph, by their names in networkx."""

from __future__ import annotations

from ..algorithms.triangles.common_neighbors import Shared, shared_neighbors
from ..algorithms.triangles.jaccard_coefficient import jaccard_coefficient
from .graph_queries import Column, GraphQueries
from .pairs import CommonNeighborsResult, JaccardResult, Pairs, given_pairs


class GraphPairs(GraphQueries):
    """Queries about pairs of vertices; see `GraphReader`."""

    def common_neighbors(self, pairs: Pairs) -> CommonNeighborsResult:
        """Number of neighbors that both vertices of each pair have; directed: of out-neighbors.

        The two themselves do not count, as in networkx, which lists those of one pair.

        Parameters
        ----------
        pairs
            Pairs of ids: ``[(1, 2), (1, 3)]``, an array [k, 2], or a frame with columns ``src`` and
            ``dst``, such as `edges` gives. A pair need not be an edge.

        Raises
        ------
        VertexNotFoundError
            A vertex is not in the graph.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph(directed=False)
        >>> graph.insert_edges([1, 2, 3, 3], [2, 3, 1, 4]).edges_added
        4
        >>> graph.common_neighbors([(1, 2), (1, 4), (2, 4)]).common_neighbors
        array([1, 1, 1])
        """
        src, dst, shared = self._shared(pairs)
        return CommonNeighborsResult(src, dst, "common_neighbors", shared.common)

    def jaccard_coefficient(self, pairs: Pairs) -> JaccardResult:
        """Share of the neighbors of each pair that both vertices have, as networkx defines it.

        Of directed graphs, which networkx refuses, neighbors are out-neighbors.

        Parameters
        ----------
        pairs
            As of `common_neighbors`.

        Raises
        ------
        VertexNotFoundError
            A vertex is not in the graph.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph(directed=False)
        >>> graph.insert_edges([1, 2, 3, 3], [2, 3, 1, 4]).edges_added
        4
        >>> graph.jaccard_coefficient([(1, 2), (1, 4)]).jaccard_coefficient
        array([0.33333333, 0.5       ])
        """
        src, dst, shared = self._shared(pairs)
        return JaccardResult(src, dst, "jaccard_coefficient", jaccard_coefficient(shared))

    def _shared(self, pairs: Pairs) -> tuple[Column, Column, Shared]:
        """Ids of pairs, and what their vertices share."""
        src, dst = given_pairs(pairs)
        reader = self._reader
        with reader.lock:
            keys, indices = self._known_pairs("pairs", src, dst)
            shared = shared_neighbors(reader, *indices)
        return self._ids.shown(keys[0]), self._ids.shown(keys[1]), shared
