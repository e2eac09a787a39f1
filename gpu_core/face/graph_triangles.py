"""Triangles, clustering and what pairs of vertices have in common, as methods of a graph."""

from __future__ import annotations

from typing import overload

import numpy as np

from ..algorithms.triangles import clustering as _clustering
from ..algorithms.triangles import triangles as _triangles
from ..algorithms.triangles.common_neighbors import Shared, shared_neighbors
from ..algorithms.triangles.definitions import DIRECTED
from ..algorithms.triangles.jaccard_coefficient import jaccard_coefficient
from ..algorithms.triangles.local_clustering import neighborhood
from ..names.user_ids import is_one, listed
from .arguments.checks import Id, Ids
from .arguments.pairs import CommonNeighborsResult, JaccardResult, Pairs, given_pairs
from .graph_calls import Column, GraphCalls, Int64s


class GraphTriangles(GraphCalls):
    """Triangles, clustering and common neighbors; see `GraphReader`."""

    @overload
    def clustering(
        self, vertices: None = None, *, directed: str = ...
    ) -> _clustering.ClusteringResult: ...

    @overload
    def clustering(self, vertices: Id, *, directed: str = ...) -> float: ...  # type: ignore[overload-overlap]

    @overload
    def clustering(self, vertices: Ids, *, directed: str = ...) -> _clustering.ClusteringResult: ...

    def clustering(
        self, vertices: Id | Ids | None = None, *, directed: str = DIRECTED[0]
    ) -> _clustering.ClusteringResult | float:
        """Degree, triangles and clustering coefficients; see `algorithms.triangles.clustering`.

        The result does not change with the graph. On a GPU its arrays are copied to the host when
        they are first read.

        Parameters
        ----------
        vertices
            Ids: a result of these vertices in the given order, without ``num_triangles`` and
            ``transitivity``; only they and their neighbors are read. One id: its coefficient, a
            float. None: all vertices.
        directed
            Definition of the coefficients of a directed graph: ``"networkx"`` (Fagiolo's, the
            default) or ``"ldbc"`` (LDBC Graphalytics' LCC). In undirected graphs both are equal.

        Returns
        -------
        ClusteringResult, or float for one id
            ``vertices`` [n], ``degree`` and ``triangles`` (int64[n]), ``clustering`` (float64[n],
            from 0 to 1); of all vertices also ``num_triangles`` and ``transitivity``.

        Raises
        ------
        VertexNotFoundError
            A vertex is not in the graph.
        SettingsError
            ``directed`` is unknown.
        """
        if vertices is None:
            with self._computing():
                return self._of_users(_clustering.clustering(self._reader, directed=directed))
        found = self._clustering_of(listed(vertices), directed)
        return float(found.clustering[0]) if is_one(vertices) else found

    def _clustering_of(self, vertices: Ids, directed: str) -> _clustering.ClusteringResult:
        from ... import DynamicGraph

        with self._computing():
            indices = self._known("vertices", vertices)
            keys = self._reader.ids_of(indices)
            sources, targets = neighborhood(self._reader, indices)
        around = DynamicGraph(directed=self._kind.directed, engine="host")
        around.insert_vertices(np.unique(indices))
        around.insert_edges(sources, targets)
        found = around.clustering(directed=directed).rows_of(indices, keys)
        return self._of_users(found)

    def triangles(self) -> Int64s:
        """int64[n]: triangles through each vertex, in the order of `vertices`."""
        with self._computing():
            return _triangles.triangles(self._reader)

    def average_clustering(self, *, directed: str = DIRECTED[0]) -> float:
        """Mean of the local clustering over all vertices; ``directed`` as of `clustering`."""
        return self.clustering(directed=directed).average

    def transitivity(self) -> float:
        """Three times the triangles over the paths of length two, whichever way edges point."""
        with self._computing():
            return _clustering.transitivity(self._reader)

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
            shared = shared_neighbors(reader, indices)
        return self._ids.ids_of_keys(keys[0]), self._ids.ids_of_keys(keys[1]), shared
