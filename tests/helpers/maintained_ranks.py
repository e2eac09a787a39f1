"""Graphs that maintain PageRank, and what their ranks must be."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from exact_ranks import exact_ranks
from graphtide import DynamicGraph
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.testing import engine_of


def kept_of(graph: DynamicGraph) -> Any:
    return engine_of(graph).maintained["pagerank"]


def check(graph: DynamicGraph, *, alpha: float = 0.85, tol: float) -> None:
    """Compare with the exact ranks, and by an audit."""
    found = graph.pagerank(alpha=alpha, tol=tol)
    assert found.vertices.tolist() == graph.vertices().tolist()
    assert found.residual <= tol
    assert found.error_bound <= (tol + 1e-14) / (1 - alpha)
    if graph.num_vertices:
        apart = float(np.abs(found.pagerank - exact_ranks(graph, alpha=alpha)).sum())
        assert apart <= found.error_bound
        assert found.pagerank.min() >= 0
    graph.audit()


def rmat_graph(scale: int = 8, **kind: Any) -> tuple[DynamicGraph, np.ndarray, np.ndarray]:
    src, dst = rmat_edges(np.arange(12 << scale, dtype=np.uint64), scale, seed=3)
    return DynamicGraph.from_edges(src, dst, **kind), src, dst


def grid(width: int) -> DynamicGraph:
    number = np.arange(width * width).reshape(width, width)
    src = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    dst = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    return DynamicGraph.from_edges(src, dst, directed=False)


def batches(directed: bool = False) -> Iterator[DynamicGraph]:
    """A graph that maintains ranks, after each batch of an R-MAT log, with deletes among it."""
    src, dst = rmat_edges(np.arange(4000, dtype=np.uint64), 10, seed=8)
    graph = DynamicGraph(directed=directed)
    graph.insert_edges(src[:400], dst[:400])
    graph.maintain("pagerank")
    for low in range(400, 4000, 400):
        graph.insert_edges(src[low : low + 400], dst[low : low + 400])
        graph.delete_edges(src[low - 40 : low], dst[low - 40 : low])
        yield graph
