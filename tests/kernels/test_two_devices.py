"""Graphs on several GPUs of one process, and on one that is not the first; needs two GPUs."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core.generators.rmat import rmat_edges

pytestmark = pytest.mark.gpu

KINDS: list[dict[str, Any]] = [
    {},
    {"ids": "dense", "reverse": False},
    {"directed": False, "records": "weighted"},
]


@pytest.fixture
def cuda() -> Any:
    """CuPy's module for CUDA, with the first device current before and after."""
    cupy = pytest.importorskip("cupy")
    count = cupy.cuda.runtime.getDeviceCount()
    if count < 2:
        pytest.skip(f"needs two GPUs, CUDA counts {count}")
    cupy.cuda.runtime.setDevice(0)
    yield cupy.cuda
    assert cupy.cuda.runtime.getDevice() == 0, "the caller's device is left as it was"


def change(graph: DynamicGraph, rounds: range) -> None:
    """Apply a batch of inserts and one of deletes a round; ids are below 2**12."""
    for number in rounds:
        src, dst = rmat_edges(
            np.arange(20_000 * number, 20_000 * (number + 1), dtype=np.uint64), 12
        )
        weight = None if graph.records == "simple" else 1 + src % 7
        graph.insert_edges(src, dst, weight=weight)
        graph.delete_edges(src[::3], dst[::3])


def same(ours: DynamicGraph, host: DynamicGraph) -> None:
    assert ours.state_hash() == host.state_hash()
    np.testing.assert_allclose(ours.pagerank().pagerank, host.pagerank().pagerank, atol=1e-9)
    np.testing.assert_array_equal(ours.triangles(), host.triangles())
    np.testing.assert_array_equal(ours.clustering().degree, host.clustering().degree)
    some = host.vertices()[::17]
    np.testing.assert_array_equal(ours.degrees(some), host.degrees(some))
    np.testing.assert_array_equal(ours.neighbors(int(some[0])), host.neighbors(int(some[0])))
    ours.verify()


@pytest.mark.parametrize("kind", KINDS, ids=["any", "dense", "undirected"])
def test_a_graph_on_the_second_device(cuda: Any, kind: dict[str, Any]) -> None:
    ours, host = DynamicGraph(engine="cuda", device=1, **kind), DynamicGraph(engine="host", **kind)
    for graph in (ours, host):
        change(graph, range(3))
    same(ours, host)
    assert cuda.runtime.pointerGetAttributes(ours._engine.image.data.ptr).device == 1
    restored = DynamicGraph.from_checkpoint_arrays(
        ours.checkpoint_arrays(), engine="cuda", device=1, **kind
    )
    assert restored.state_hash() == host.state_hash()


def test_two_graphs_change_side_by_side(cuda: Any) -> None:
    graphs = [DynamicGraph(engine="cuda", device=ordinal) for ordinal in (0, 1)]
    rounds = [range(8), range(8, 16)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(change, graphs, rounds))
    for graph, part in zip(graphs, rounds, strict=True):
        host = DynamicGraph(engine="host")
        change(host, part)
        same(graph, host)


def test_by_turns_in_one_thread(cuda: Any) -> None:
    first, second = DynamicGraph(engine="cuda", device=0), DynamicGraph(engine="cuda", device=1)
    host = DynamicGraph(engine="host")
    for number in range(4):
        for graph in (second, first, host):
            change(graph, range(number, number + 1))
    same(first, host)
    same(second, host)


def test_the_current_device_of_cupy_is_taken(cuda: Any) -> None:
    with cuda.Device(1):
        graph = DynamicGraph(engine="cuda")
    assert graph.insert_edges([1, 2], [2, 3]).inserted == 2
    assert cuda.runtime.pointerGetAttributes(graph._engine.image.data.ptr).device == 1
