"""One shortest path between two vertices, by hops.

Distances from the source come from breadth-first search (``algorithms/traversal/bfs.py``). The path
is walked back from the target: the vertex before ``v`` is the in-neighbor of least id that is one
hop nearer to the source. So the same graph gives the same path, on every engine.

A directed graph without the reverse adjacency is asked for its rows as CSR instead.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .arguments import Id
from .graph_queries import Column
from .graph_reader import GraphReader

Int64s = npt.NDArray[np.int64]


def shortest_path(graph: GraphReader, source: Id, target: Id) -> Column | None:
    """Find a path along the edges' direction with the fewest hops.

    Returns
    -------
    numpy.ndarray or None
        Users' ids [hops + 1] from ``source`` to ``target``; None where no path leads there.

    Raises
    ------
    VertexNotFoundError
        One of the two is not in the graph.
    """
    graph.out_degree(target)  # refuses an unknown one, as the search does with the source
    found = graph.bfs(source)
    vertices, distance = found.keys, found.distance
    [last] = graph.user_ids.keys("target", [target])
    hops = int(distance[np.searchsorted(vertices, last)])
    if hops < 0:
        return None
    before = _predecessors(graph)
    path = np.empty(hops + 1, np.int64)
    path[hops] = last
    for step in range(hops - 1, -1, -1):
        candidates = before(path[step + 1])
        is_nearer = distance[np.searchsorted(vertices, candidates)] == step
        path[step] = candidates[is_nearer.argmax()]
    return graph.user_ids.shown(path)


def _predecessors(graph: GraphReader) -> Callable[[np.int64], Int64s]:
    """Function of a vertex: its in-neighbors, increasing; all as the engine calls them."""
    if graph.kind.has_reverse:
        return graph.predecessor_keys
    rows = graph.csr_of_keys()

    def of_rows(vertex: np.int64) -> Int64s:
        entries = np.flatnonzero(rows.indices == np.searchsorted(rows.vertices, vertex))
        return rows.vertices[np.searchsorted(rows.indptr, entries, side="right") - 1]

    return of_rows
