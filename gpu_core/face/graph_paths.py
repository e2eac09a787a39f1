"""One shortest path between two vertices, by hops, as a method of a graph.

Distances from the source come from breadth-first search (``algorithms/traversal/bfs.py``). The path
is walked back from the target: the vertex before ``v`` is the in-neighbor of least id that is one
hop nearer to the source. So the same graph gives the same path, on every engine.

A directed graph without the reverse adjacency is asked for its rows as CSR instead.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..errors import PathNotFoundError
from ..printable import printable
from .arguments import Id
from .graph_algorithms import GraphAlgorithms
from .graph_queries import Column

Int64s = npt.NDArray[np.int64]


class GraphPaths(GraphAlgorithms):
    """Paths from vertex to vertex; see `GraphReader`."""

    def shortest_path(self, source: Id, target: Id) -> Column:
        """Find a path along the edges' direction with the fewest hops, as networkx without weights.

        Of several, the same one at every call and on every engine.

        Returns
        -------
        numpy.ndarray
            Ids [hops + 1] from ``source`` to ``target``.

        Raises
        ------
        PathNotFoundError
            No path leads there.
        VertexNotFoundError
            One of the two is not in the graph.

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
            found = self.bfs(source)
            vertices, distance = found.keys, found.distance
            hops = int(distance[np.searchsorted(vertices, last)])
            if hops < 0:
                msg = f"no path leads from {printable(str(source))} to {printable(str(target))}"
                raise PathNotFoundError(msg)
            before = self._before()
            path = np.empty(hops + 1, np.int64)
            path[hops] = last
            for step in range(hops - 1, -1, -1):
                candidates = before(path[step + 1])
                is_nearer = distance[np.searchsorted(vertices, candidates)] == step
                path[step] = candidates[is_nearer.argmax()]
        return self._ids.shown(path)

    def _before(self) -> Callable[[np.int64], Int64s]:
        """Function of a vertex: its in-neighbors, increasing; all as the engine calls them."""
        if self._kind.has_reverse:
            return self.predecessor_keys
        order = self._reader.sorted_order()
        indptr, columns, _ = self._reader.csr(order)
        keys = self._reader.user_ids()[order]

        def of_rows(vertex: np.int64) -> Int64s:
            entries = np.flatnonzero(columns == np.searchsorted(keys, vertex))
            return keys[np.searchsorted(indptr, entries, side="right") - 1]

        return of_rows
