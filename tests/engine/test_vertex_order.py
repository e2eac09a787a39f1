"""Results are in the order of users' ids, which a graph on a device keeps until vertices change."""

from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide.gpu_core.cuda import engine as engine_module
from graphtide.gpu_core.cuda.update.apply import apply_batch
from graphtide.gpu_core.graph import DynamicGraph


@pytest.mark.parametrize("ids", ["dense", "any"])
def test_results_follow_vertices_that_come_and_go(engine: str, ids: str) -> None:
    random = np.random.default_rng(7)
    graph = DynamicGraph(directed=False, ids=ids)
    names = random.permutation(40) * (1 if ids == "dense" else 10**9)
    there: set[int] = set()
    for step in range(12):
        chosen = random.choice(names, 6, replace=False).tolist()
        if step % 3 == 1:
            graph.delete_vertices(chosen)
            there -= set(chosen)
        elif step % 3 == 2:
            known = sorted(there)  # edges between vertices that are there change none of them
            graph.insert_edges(known[:-1], known[1:])
        else:
            graph.insert_vertices(chosen)
            there |= set(chosen)
        for result in (graph.weakly_connected_components(), graph.clustering()):
            assert result.vertices.tolist() == sorted(there)
        first, degrees = min(there), dict(zip(graph.vertices(), graph.degrees(), strict=True))
        distance = graph.bfs(first)
        assert distance.vertices.tolist() == sorted(there)
        assert distance.distance[0] == 0
        columns = graph.clustering()
        assert dict(zip(columns.vertices, columns.degree, strict=True)) == degrees


@pytest.mark.parametrize("ids", ["dense", "any"])
def test_the_order_is_found_once_for_the_same_vertices(
    emulated_device: EmulatedDevice, ids: str
) -> None:
    graph = DynamicGraph(directed=False, ids=ids, engine="cuda")
    graph.insert_edges([9, 7], [7, 3])

    def launched() -> list[Any]:
        emulated_device.launches.clear()
        graph.weakly_connected_components()
        return [each for each in emulated_device.launches if each[0] == "vertex_order.cu"]

    before = graph.weakly_connected_components().vertices
    graph.insert_edges([9], [3])
    assert not launched()
    graph.delete_vertices([7])
    assert launched()
    assert graph.weakly_connected_components().vertices.tolist() == [3, 9]
    assert before.tolist() == [3, 7, 9]


def test_a_batch_that_was_applied_before_it_was_cut_off_counts(
    emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = DynamicGraph(directed=False, ids="dense", engine="cuda")
    graph.insert_edges([0, 2], [2, 4])
    assert graph.weakly_connected_components().vertices.tolist() == [0, 2, 4]

    def cut_off(*arguments: Any) -> Any:
        apply_batch(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(engine_module, "apply_batch", cut_off)
        with pytest.raises(KeyboardInterrupt):
            graph.insert_edges([6], [7])
    assert graph.vertices().tolist() == [0, 2, 4, 6, 7]
    assert graph.weakly_connected_components().vertices.tolist() == [0, 2, 4, 6, 7]
