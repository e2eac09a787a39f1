"""Epochs: the graph as it was after a batch, whatever is applied to it meanwhile."""

import copy
import gc
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphtide import ArenaFullError, DynamicGraph, Epoch, EpochClosedError, UpdateBatch
from graphtide.gpu_core.copies import checkpoint_pieces
from graphtide.gpu_core.cuda.queries import pinned as cuda_pinned
from graphtide.gpu_core.host.queries import pinned as host_pinned
from graphtide.testing import engine_of

KINDS = [
    {"directed": True, "reverse": True, "records": "semantic", "layout": "runs"},
    {"directed": True, "reverse": False, "records": "simple", "ids": "dense", "layout": "runs"},
    {"directed": False, "records": "weighted", "storage": "aos", "layout": "runs"},
    {"directed": True, "reverse": True, "records": "weighted", "layout": "chain"},
    {"directed": True, "reverse": False, "records": "weighted64", "layout": "runs"},
    {"directed": True, "reverse": True, "records": "semantic64", "layout": "tree"},
]


def rows_of(number: int, graph: DynamicGraph, count: int = 60) -> UpdateBatch:
    """Batch ``number`` of a stream: inserts and deletes of edges and vertices."""
    rng = np.random.default_rng(number)
    op = np.where(rng.random(count) < 0.7, 1, -1)
    src, dst = rng.integers(0, 150, (2, count))
    is_vertex = rng.random(count) < 0.03
    return UpdateBatch.from_rows(
        op, src, dst, dst_valid=~is_vertex, weight=rng.random(count), type=src % 5,
        ts=np.full(count, number), directed=graph.directed, records=graph.records,
        batch_id=number,
    )  # fmt: skip


def everything(graph: DynamicGraph | Epoch) -> dict[str, Any]:
    """All that can be asked of a graph, as comparable values."""
    vertices = graph.vertices()
    edges = graph.edges()
    ranks = graph.pagerank(tol=1e-9)
    clustering = graph.clustering()
    answers = {
        "counts": (graph.num_vertices, graph.num_edges),
        "hash": graph.state_hash(),
        "vertices": vertices.tobytes(),
        "edges": (edges.src.tobytes(), edges.dst.tobytes()),
        "ranks": (ranks.vertices.tobytes(), ranks.pagerank.tobytes(), ranks.iterations),
        "clustering": (clustering.vertices.tobytes(), clustering.clustering.tobytes()),
        "triangles": graph.triangles().tobytes(),
        "degrees": graph.degrees().tobytes(),
        "neighbors": [graph.neighbors(vertex).tolist() for vertex in vertices[:5].tolist()],
        "has": (
            graph.has_vertices(np.arange(-3, 160)).tolist(),
            graph.has_edges(np.arange(100), np.arange(100)[::-1]).tolist(),
        ),
        "checkpoint": {name: array.tobytes() for name, array in graph.checkpoint_arrays().items()},
    }
    if graph.reverse:
        answers["in"] = graph.in_degrees().tobytes()
        answers["predecessors"] = graph.predecessors(int(vertices[0])).tolist()
    if graph.records != "simple":
        weighted = graph.pagerank(weight="weight", tol=1e-9)
        answers["weighted"] = weighted.pagerank.tobytes()
    return answers


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
def test_an_epoch_is_the_graph_that_stopped_there(kind: dict[str, Any]) -> None:
    graph, stopped = DynamicGraph(**kind), DynamicGraph(**kind)
    epochs = []
    for number in range(9):
        graph.apply(rows_of(number, graph))
        if number in (2, 5):
            epochs.append(graph.pin())
    for number in range(6):
        stopped.apply(rows_of(number, stopped))
        if number in (2, 5):
            epoch = epochs.pop(0)
            assert epoch.batches == number + 1
            assert everything(epoch) == everything(stopped)
            epoch.close()
    assert graph.memory().pinned_bytes == 0
    graph.verify()


@pytest.mark.usefixtures("engine")
def test_an_epoch_stays_while_another_thread_applies(is_emulated: bool) -> None:
    batches = 30 if is_emulated else 100
    graph, stopped = (DynamicGraph(directed=False, records="weighted") for _ in range(2))
    for number in range(20):
        for each in (graph, stopped):
            each.apply(rows_of(number, each))
    applied = []

    def apply() -> None:
        for number in range(20, 20 + batches):
            graph.apply(rows_of(number, graph))
            applied.append(number)

    with graph.pin() as epoch:
        expected = everything(stopped)
        thread = threading.Thread(target=apply)
        thread.start()
        asked = 0
        while thread.is_alive() or asked == 0:
            assert everything(epoch) == expected
            asked += 1
        thread.join()
        assert everything(epoch) == expected
    assert len(applied) == batches
    for number in range(20, 20 + batches):
        stopped.apply(rows_of(number, stopped))
    assert graph.state_hash() == stopped.state_hash()
    graph.verify()


@pytest.mark.usefixtures("engine")
def test_it_needs_no_lock_of_the_graph() -> None:
    graph = DynamicGraph()
    graph.insert_edges([1, 2, 3], [2, 3, 1])
    with graph.pin() as epoch, engine_of(graph).lock:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(everything(epoch)["counts"]))
        thread.start()
        thread.join(timeout=120)
        assert found == [(3, 3)], "the epoch waits for the graph"


def test_its_memory_is_accounted_for_and_given_back(engine: str) -> None:
    graph = DynamicGraph(ids="dense")
    graph.insert_edges(np.arange(5000), np.arange(5000)[::-1])
    assert graph.memory().pinned_bytes == 0
    first, second = graph.pin(), graph.pin()
    assert graph.memory().pinned_bytes == first.nbytes + second.nbytes
    memory = graph.memory()
    in_use = memory.graph_bytes + memory.regions["free pages"]
    # On a GPU, where it has one of a few sizes, an eighth more at most.
    assert in_use <= first.nbytes < in_use * (9 / 8 if engine == "cuda" else 1) + 256
    first.close()
    first.close()
    assert first.is_closed
    assert graph.memory().pinned_bytes == second.nbytes
    del second
    gc.collect()
    assert graph.memory().pinned_bytes == 0


def test_a_close_in_another_thread_takes_no_columns_from_a_call_at_work() -> None:
    """The call ends first, with all columns."""
    rng = np.random.default_rng(1)
    graph = DynamicGraph(properties={"amount": "float64"}, engine="host")
    graph.insert_edges(*rng.integers(0, 50_000, (2, 300_000)), amount=0.5)
    whole = graph.state_hash()
    answers: list[str] = []
    for _ in range(8):
        epoch = graph.pin()
        lock: Any = epoch.lock
        thread = threading.Thread(target=lambda asked=epoch: answers.append(asked.state_hash()))
        thread.start()
        while thread.is_alive() and lock.acquire(blocking=False):
            lock.release()
        epoch.close()
        thread.join()
    assert answers == [whole] * 8


@pytest.mark.usefixtures("engine")
def test_a_closed_epoch_says_so() -> None:
    graph = DynamicGraph()
    graph.insert_edges([1], [2])
    epoch = graph.pin()
    result = epoch.clustering()
    asked: list[Callable[[], Any]] = [
        epoch.vertices, epoch.state_hash, epoch.pagerank, epoch.to_csr, epoch.triangles,
        lambda: epoch.num_edges, lambda: epoch.has_edges([1], [2]),
    ]  # fmt: skip
    reader = epoch._reader
    epoch.close()
    for ask in asked:
        with pytest.raises(EpochClosedError, match="after 1 batch was closed"):
            ask()
    with pytest.raises(EpochClosedError, match="was closed"):
        reader.rows("out")
    assert result.degree.tolist() == [1, 1], "results remain"
    assert "closed" in repr(epoch)


def test_without_room_it_is_refused_with_need_and_have(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = DynamicGraph(ids="dense")
    graph.insert_edges(np.arange(5000), np.arange(5000)[::-1])
    with graph.pin() as epoch:
        need = epoch.nbytes
        if engine == "cuda":
            monkeypatch.setattr(cuda_pinned, "free_bytes", lambda device: need - 1)
        else:
            graph_bytes = graph.memory().graph_bytes
            monkeypatch.setattr(host_pinned, "memory_bytes", lambda: graph_bytes + 2 * need - 1)
        with pytest.raises(ArenaFullError, match=f"needs {need:,} bytes and {need - 1:,} are free"):
            graph.pin()
        assert graph.memory().pinned_bytes == need
    graph.insert_edges([1], [9])
    graph.verify()


@pytest.mark.usefixtures("engine")
def test_an_epoch_of_nothing() -> None:
    graph = DynamicGraph()
    with graph.pin() as epoch:
        graph.insert_edges([1], [2])
        assert (epoch.num_vertices, epoch.num_edges, epoch.batches) == (0, 0, 0)
        assert epoch.vertices().size == epoch.pagerank().pagerank.size == 0
        assert epoch.state_hash() == DynamicGraph().state_hash()


@pytest.mark.usefixtures("engine")
def test_a_graph_restored_from_an_epoch_goes_on_as_the_graph_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkpoint_pieces, "PIECE", 16)
    graph = DynamicGraph(records="weighted")
    for number in range(4):
        graph.apply(rows_of(number, graph))
    with graph.pin() as epoch:
        graph.apply(rows_of(4, graph))
        arrays = epoch.checkpoint_arrays()
    restored = DynamicGraph.from_checkpoint_arrays(arrays, records="weighted")
    assert restored.num_edges > checkpoint_pieces.PIECE
    restored.apply(rows_of(4, restored))
    assert restored.state_hash() == graph.state_hash()
    with restored.pin() as epoch:
        assert epoch.batches == 1, "what was restored is no batch"


def test_an_epoch_cannot_be_pickled_and_its_copy_can() -> None:
    graph = DynamicGraph.from_edges([1, 2], [2, 3])
    with graph.pin() as epoch:
        for copied in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=r"pickle or copy epoch\.copy\(\)"):
                copied(epoch)
        assert pickle.loads(pickle.dumps(epoch.copy())).state_hash() == graph.state_hash()


def test_a_copy_of_an_epoch_has_the_limits_of_its_graph() -> None:
    graph = DynamicGraph(arena_bytes=1 << 16, max_arena_bytes=1 << 16, layout="runs")
    graph.insert_edges([1], [2])
    many = np.arange(1 << 14)
    with graph.pin() as epoch:
        for other in (graph.copy(), epoch.copy(), epoch.subgraph([1, 2])):
            with pytest.raises(ArenaFullError):
                other.insert_edges(many, many + 1)
