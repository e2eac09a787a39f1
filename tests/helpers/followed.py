"""Batches for graphs that maintain something, and how their work is cut in tests."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from graphtide import BatchError, DynamicGraph
from graphtide.testing import engine_of
from oracles import OF_BATCHES, Row, batch_of
from strategies import LAYOUTS, RECORDS, batches, bursts, pools


def apply_rows(graph: DynamicGraph, rows: Sequence[Row]) -> None:
    """Apply rows as one batch."""
    graph.apply(batch_of(rows, {name: getattr(graph, name) for name in OF_BATCHES}))


def draw_kind(data: st.DataObject, *, has_layout: bool = True) -> dict[str, Any]:
    """How a graph is kept, and what its batches may be; ``has_layout``: its layout, too."""
    kind: dict[str, Any] = {
        "records": data.draw(st.sampled_from(RECORDS)),
        "ids": data.draw(st.sampled_from(("any", "dense"))),
        "storage": data.draw(st.sampled_from(("soa", "aos"))),
        "create_vertices": data.draw(st.sampled_from((True, True, False))),
    }
    return kind | ({"layout": data.draw(st.sampled_from(list(LAYOUTS)))} if has_layout else {})


def apply_drawn(data: st.DataObject, graph: DynamicGraph) -> Iterator[bool]:
    """Apply some batches; after each, whether it was, or was refused for a missing end point."""
    pool = data.draw(pools(graph.ids)) + list(range(8, 8 + data.draw(st.integers(0, 6))))
    for _ in range(data.draw(st.integers(1, 6))):
        rows = data.draw(bursts(pool) | batches(pool))
        try:
            apply_rows(graph, rows)
        except BatchError:
            assert not graph.create_vertices
            yield False
        else:
            yield True


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
