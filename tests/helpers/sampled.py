"""A graph to draw walks and samples from, and what is known of its edges."""

from typing import Any

import numpy as np

from graphtide import DynamicGraph
from graphtide.gpu_core.generators.rmat import rmat_edges


def skewed_graph(**kind: Any) -> DynamicGraph:
    """A skewed graph with ends, vertices that left, weights of 0 and times that repeat."""
    graph = DynamicGraph(**({"records": "semantic64"} | kind))
    src, dst = rmat_edges(np.arange(3_000, dtype=np.uint64), 8)
    for part in range(2):
        weight, ts = (src * 7 + dst + part) % 5 / 3, (src + 3 * dst) % 40 + part
        graph.insert_edges(9 * src - 40, 9 * dst - 40, weight=weight, ts=ts)
    graph.delete_vertices(graph.vertices()[::11])
    graph.insert_vertices([5_000])
    return graph


def edges_by_pair(graph: DynamicGraph) -> dict[tuple[int, int], dict[str, Any]]:
    """Properties of each edge by its ends; undirected: by its ends in either order."""
    edges = graph.edges()
    found = {}
    columns = edges.properties
    for i, pair in enumerate(zip(edges.src.tolist(), edges.dst.tolist(), strict=True)):
        found[pair] = {name: column[i].item() for name, column in columns.items()}
        if not graph.directed:
            found[pair[::-1]] = found[pair]
    return found
