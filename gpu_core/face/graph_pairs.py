"""What pairs of vertices have in common, as methods of a graph, by their names in networkx."""

from __future__ import annotations

from ..algorithms.triangles.common_neighbors import Shared, shared_neighbors
from ..algorithms.triangles.jaccard_coefficient import jaccard_coefficient
from .graph_queries import Column, GraphQueries
from .pairs import CommonNeighborsResult, JaccardResult, Pairs, given_pairs


class GraphPairs(GraphQueries):
    """Queries about pairs of vertices; see `GraphReader`."""

    def common_neighbors(self, pairs: Pairs) -> CommonNeighborsResult:
        """Number of common neighbors of each pair; in directed graphs of common out-neighbors.

        The two vertices themselves do not count, as in networkx, which lists the common neighbors
        of one pair.

        Parameters
        ----------
        pairs
            Pairs of ids: ``[(1, 2), (1, 3)]``, an array [k, 2], or a frame with columns ``src`` and
            ``dst``, such as `edges` returns. A pair need not be an edge.

        Returns
        -------
        CommonNeighborsResult
            ``src`` [k], ``dst`` [k], ``common_neighbors`` int64[k], in the order of the pairs.

        Raises
        ------
        VertexNotFoundError
            A vertex is not in the graph.
        SettingsError
            ``pairs`` are no pairs.
        BatchError
            A frame has no columns ``src`` and ``dst``.

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
        """Jaccard coefficient of each pair: common neighbors over all neighbors of both vertices.

        As networkx defines it; in directed graphs, which networkx refuses, of out-neighbors. It is
        0 if neither vertex has a neighbor.

        Parameters
        ----------
        pairs
            As of `common_neighbors`.

        Returns
        -------
        JaccardResult
            ``src`` [k], ``dst`` [k], ``jaccard_coefficient`` float64[k], in the order of the pairs.

        Raises
        ------
        VertexNotFoundError, SettingsError, BatchError
            As of `common_neighbors`.

        Notes
        -----
        Source: Liben-Nowell, Kleinberg, "The Link Prediction Problem for Social Networks", 2004.

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
