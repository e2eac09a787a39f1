"""Analytics of the CUDA engine on a host engine's image: the engine, and graphs to try them on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core.algorithms.centrality import pagerank as neutral_pagerank
from graphtide.gpu_core.algorithms.centrality.pagerank_result import PageRankResult
from graphtide.gpu_core.cuda.device.stream import StreamLock
from graphtide.gpu_core.cuda.memory.scratch import DeviceScratch
from graphtide.gpu_core.cuda.queries.device_reader import DeviceReader
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.image.view import ImageView
from graphtide.testing import engine_of

#: Kinds of graphs: every way in which one graph may be stored.
KINDS = [
    {"directed": directed, "reverse": reverse, "storage": storage, "ids": ids}
    for directed, reverse in ((True, True), (True, False), (False, True))
    for storage, ids in (("soa", "any"), ("aos", "dense"))
]


class ImageArena(ImageView):
    """A copy of a host graph's image on a device."""

    def __init__(self, device: Any, host: ImageView) -> None:
        self.device, self.xp = device, device.xp
        self.image, self.header = device.to_device(host.image), host.header.copy()
        self.limit_bytes = host.limit_bytes

    def free_run_counts(self) -> np.ndarray:
        raise NotImplementedError


class ImageEngine(DeviceReader):
    """A host engine's image on the device, as the CUDA engine reads it."""

    def __init__(self, device: Any, graph: DynamicGraph) -> None:
        host = engine_of(graph)
        arena = ImageArena(device, host.arena)
        super().__init__(host.kind, device, arena, StreamLock(device), self._scratch, None)
        self.num_entries = arena.num_entries

    @contextmanager
    def _scratch(self, need_bytes: int) -> Iterator[DeviceScratch]:
        words = self.device.empty(need_bytes // 4 + 16_384, np.uint32)
        yield DeviceScratch(self.device.xp, words)


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
    # Thirds are no float32.
    parts = 3 if records.endswith("64") else 4
    weight = None if records == "simple" else (1 + (src + dst) % 5) / parts
    ts = (np.arange(src.size) - 9) << 30 if records.startswith("semantic") else None
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
