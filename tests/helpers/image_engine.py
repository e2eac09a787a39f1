"""Analytics of the CUDA engine on a host engine's image: the engine, and graphs to try them on."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core.algorithms import pagerank as neutral_pagerank
from graphtide.gpu_core.algorithms.pagerank import PageRankResult
from graphtide.gpu_core.cuda import clustering, pagerank, triangles
from graphtide.gpu_core.cuda.scratch import DeviceScratch
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.image import Field, Table

#: Kinds of graphs: every way in which one graph may be stored.
KINDS = [
    {"directed": directed, "reverse": reverse, "storage": storage, "ids": ids}
    for directed, reverse in ((True, True), (True, False), (False, True))
    for storage, ids in (("soa", "any"), ("aos", "dense"))
]


class ImageArena:
    """What analytics ask of an arena: fields, tables, and scratch of its own."""

    def __init__(self, device: Any, graph: DynamicGraph) -> None:
        self._device, self._host = device, graph._engine.arena
        self.image = device.to_device(self._host.image)

    def __getitem__(self, field: Field) -> int:
        return self._host[field]

    def vertex_table(self) -> Any:
        host = self._host.vertex_table()
        start = (host.ctypes.data - self._host.image.ctypes.data) // 4
        return self.image[start : start + host.size].reshape(host.shape)

    def table(self, table: Table) -> Any:
        host = self._host.table(table)
        start = (host.ctypes.data - self._host.image.ctypes.data) // 4
        return self.image[start : start + host.size]

    @contextmanager
    def scratch(self, need_bytes: int) -> Iterator[DeviceScratch]:
        words = self._device.empty(need_bytes // 4 + 16_384, np.uint32)
        yield DeviceScratch(self._device.xp, words)


class ImageEngine:
    """A host engine's image on the device, with the face that the analytics see."""

    algorithms = SimpleNamespace(clustering=clustering, pagerank=pagerank, triangles=triangles)

    def __init__(self, device: Any, graph: DynamicGraph) -> None:
        self._host = graph._engine
        self.device, self.arena = device, ImageArena(device, graph)
        self.image = self.arena.image
        for name in ("record", "directed", "has_reverse", "num_edges", "num_vertices"):
            setattr(self, name, getattr(self._host, name))
        self.vertex_count, self.shape = self._host.vertex_count, self._host.shape
        self.ids_of, self.user_ids = self._host.ids_of, self._host.user_ids
        self.sorted_order = self._host.sorted_order


def make_graph(
    edges: tuple[np.ndarray, np.ndarray], *, records: str = "simple", **kind: Any
) -> DynamicGraph:
    graph = DynamicGraph(
        records=records,
        self_loops="keep" if kind["directed"] else "drop",
        engine="host",
        arena_bytes=32 << 20,
        **kind,
    )
    src, dst = edges
    weight = None if records == "simple" else (1 + (src + dst) % 5).astype(np.float32) / 4
    ts = (np.arange(src.size) - 9) << 30 if records == "semantic" else None
    graph.insert_edges(src, dst, weight=weight, ts=ts)
    return graph


def skewed_edges(rows: int, scale: int) -> tuple[np.ndarray, np.ndarray]:
    """R-MAT edges with hubs, self loops, and a tail of vertices without edges of their own."""
    src, dst = rmat_edges(np.arange(rows, dtype=np.uint64), scale)
    loops = np.arange(0, 1 << scale, 17)
    return np.append(src, loops), np.append(dst, loops)


def star_edges(leaves: int) -> tuple[np.ndarray, np.ndarray]:
    """A hub whose row lies in several windows, both ways, and a few edges between leaves."""
    hub, leaf = np.full(leaves, 7), np.arange(10, 10 + leaves)
    return np.concatenate([hub, leaf, leaf[::3]]), np.concatenate([leaf, hub, leaf[::-3]])


def changed_graph(**kind: Any) -> DynamicGraph:
    """A graph with absent and isolated vertices, and with rows that moved."""
    graph = make_graph(skewed_edges(6_000, 9), **kind)
    present = graph.vertices()
    graph.delete_vertices(present[3:90:7])
    graph.insert_vertices(present[3:10:7])
    return graph


def check_pagerank(device: Any, graph: DynamicGraph, **arguments: Any) -> PageRankResult:
    """Ranks of a host graph by the CUDA engine, which are those of the host engine."""
    arguments = {"tol": 1e-10} | arguments
    host = graph.pagerank(**arguments)
    found = neutral_pagerank.pagerank(ImageEngine(device, graph), **arguments)
    assert found.iterations == host.iterations
    assert found.residual == pytest.approx(host.residual, rel=1e-2, abs=1e-15)
    assert found.vertices.tolist() == host.vertices.tolist()
    np.testing.assert_allclose(found.pagerank, host.pagerank, rtol=0, atol=1e-12)
    return found
