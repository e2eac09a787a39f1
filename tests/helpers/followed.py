"""Batches for graphs that maintain something, and how their work is cut in tests."""

import itertools
from collections.abc import Sequence

import numpy as np

from graphtide import DynamicGraph
from graphtide.testing import engine_of
from oracles import OF_BATCHES, Row, batch_of


def apply_rows(graph: DynamicGraph, rows: Sequence[Row]) -> None:
    """Apply rows as one batch."""
    graph.apply(batch_of(rows, {name: getattr(graph, name) for name in OF_BATCHES}))


def is_stale(graph: DynamicGraph) -> bool:
    """Whether the next question counts anew."""
    return engine_of(graph).maintained["clustering"].is_stale


def random_rows(rng: np.random.Generator, vertices: int, count: int) -> list[Row]:
    """Half of them are of two hubs; a few are of vertices."""
    rows = []
    for _ in range(count):
        src, dst = (int(v) for v in rng.integers(0, vertices, 2))
        if rng.random() < 0.5:
            src = int(rng.integers(2))
        if rng.random() < 0.5:
            src, dst = dst, src
        is_vertex = rng.random() < 0.01
        rows.append(Row(1 if rng.random() < 0.6 else -1, src, None if is_vertex else dst, 1.0))
    return rows


def in_seven(items: int, **_: object) -> list[tuple[int, int]]:
    """Ranges in place of those of `jit.parallel.ranges_of`, however little work there is."""
    return list(itertools.pairwise(items * part // 7 for part in range(8)))
