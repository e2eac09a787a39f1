"""One shortest path between two vertices, by hops, as a method of a graph.

Breadth-first search from the source (``algorithms/traversal/bfs.py``) gives each vertex a parent:
of the vertices with an edge to it that are one hop nearer the one of least id. The path is walked
back from the target by parents. So the same graph gives the same path, on every engine.
"""

from __future__ import annotations

import numpy as np

from ..errors import PathNotFoundError
from ..printable import printable
from .arguments import Id
from .graph_algorithms import GraphAlgorithms
from .graph_queries import Column


class GraphPaths(GraphAlgorithms):
    """Paths from vertex to vertex; see `GraphReader`."""

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
        at = int(np.searchsorted(found.keys, last))
        hops = int(found.distance[at])
        if hops < 0:
            msg = f"no path leads from {printable(str(source))} to {printable(str(target))}"
            raise PathNotFoundError(msg)
        path, before = np.empty(hops + 1, np.int64), found.parent_positions
        for step in range(hops, 0, -1):
            path[step], at = at, before[at]
        path[0] = at
        return self._ids.shown(found.keys[path])
