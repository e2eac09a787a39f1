"""Shortest paths as methods of a graph: to all vertices, or to one.

The path to one comes of a breadth-first search from the source, which gives each vertex a parent:
of the vertices with an edge to it that are one hop nearer the one of least id. The path is walked
back from the target by parents. So the same graph gives the same path, on every engine.
"""

from __future__ import annotations

import numpy as np

from ..algorithms.traversal import bfs as _bfs
from ..algorithms.traversal import sssp as _sssp
from ..errors import PathNotFoundError
from ..printable import printable
from .arguments.checks import Id, Ids
from .graph_calls import Column, GraphCalls


class GraphTraversal(GraphCalls):
    """Searches, and paths from vertex to vertex; see `GraphReader`."""

    def bfs(self, sources: Id | Ids, *, parents: bool = False) -> _bfs.BfsResult:
        """Hops from the nearest of some vertices to all, along out-edges: breadth-first search.

        Parameters
        ----------
        sources
            Id of a vertex, or of several.
        parents
            Whether the result also has a ``parent`` for each vertex: among the vertices with an
            edge to it that are one hop nearer, the first in the order of `vertices`. Sources and
            vertices that are not reached have -1, or ``""`` if ids are text.

        Returns
        -------
        BfsResult
            ``vertices`` [n], ``distance`` (int32[n], hops; -1 where no path leads) and ``parent``
            [n], users' ids, or None.

        Raises
        ------
        VertexNotFoundError
            A source is not in the graph.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph()
        >>> graph.insert_edges([1, 2, 4], [2, 3, 1]).edges_added
        3
        >>> found = graph.bfs(1, parents=True)
        >>> found.distance
        array([ 0,  1,  2, -1], dtype=int32)
        >>> found.parent
        array([-1,  1,  2, -1])
        """
        with self._computing():
            keys = self._keys_of_ids("sources", sources)
            given = _bfs.ANALYTIC.plain({"parents": parents})
            return self._of_users(_bfs.bfs(self._reader, keys, **given))

    def sssp(self, source: Id, *, weight: str | None = "weight") -> _sssp.SsspResult:
        """Least sum of weights of a path from a vertex to every vertex, along out-edges.

        Parameters
        ----------
        source
            Id of a vertex.
        weight
            ``"weight"``: edges are as long as their weights, which must be ``>= 0``, or 1 where
            they have none. None: 1 each, so that distances are hops.

        Returns
        -------
        SsspResult
            ``vertices`` and ``distance`` (float64[n], inf where no path leads).

        Raises
        ------
        VertexNotFoundError
            The source is not in the graph.
        SettingsError
            A weight is negative.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph(records="weighted")
        >>> graph.insert_edges([1, 1, 2, 4], [2, 3, 3, 1], weight=[0.5, 2, 1, 1]).edges_added
        4
        >>> graph.sssp(1).distance
        array([0. , 0.5, 1.5, inf])
        """
        with self._computing():
            keys = self._keys_of_ids("source", source)
            return self._of_users(_sssp.sssp(self._reader, keys, weight=weight))

    def shortest_path(self, source: Id, target: Id) -> Column:
        """Find a path with the fewest edges, along their direction, as networkx without weights.

        If there are several, the same one is returned by every call and engine.

        Parameters
        ----------
        source, target
            Ids of two vertices.

        Returns
        -------
        numpy.ndarray
            Ids [hops + 1] from ``source`` to ``target``.

        Raises
        ------
        PathNotFoundError
            There is no path.
        VertexNotFoundError
            One of the two is not in the graph.

        Notes
        -----
        Source: Beamer, Asanović, Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.

        Examples
        --------
        >>> import graphtide
        >>> graph = graphtide.DynamicGraph()
        >>> graph.insert_edges([1, 2, 3, 1], [2, 3, 4, 4]).edges_added
        4
        >>> graph.shortest_path(1, 3)
        array([1, 2, 3])
        """
        with self._reader.lock:
            self._known_one(source)
            [last] = self._reader.ids_of(self._known_one(target))
            found = self.bfs(source, parents=True)
        at = int(np.searchsorted(found.vertex_keys, last))
        hops = int(found.distance[at])
        if hops < 0:
            msg = f"no path leads from {printable(str(source))} to {printable(str(target))}"
            raise PathNotFoundError(msg)
        path, before = np.empty(hops + 1, np.int64), found.parent_positions
        for step in range(hops, 0, -1):
            path[step], at = at, before[at]
        path[0] = at
        return self._ids.ids_of_keys(found.vertex_keys[path])
