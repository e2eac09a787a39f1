"""The actor that holds the graph, without Dask."""

import errno
import gc
import os
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from actor_copies import (
    analyzed,
    batch_ids,
    copied,
    hash_of,
    one_edge,
    pin,
    results_of,
    whole,
)
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.errors import BatchError, CorruptImageError
from graphtide.gpu_core.face.graph_reader import GraphReader
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.pipeline.graph_worker import batch_results as batch_results_module
from graphtide.pipeline.graph_worker import memory_looks, pinned_reads
from graphtide.pipeline.graph_worker.actor import GraphActor
from graphtide.pipeline.graph_worker.actor_arguments import ActorArguments
from graphtide.pipeline.graph_worker.batch_results import (
    BatchResults,
    ComputedResult,
    ResultRequest,
    SharedResults,
    with_columns,
)
from graphtide.pipeline.graph_worker.batches import LoadedBatch
from graphtide.pipeline.graph_worker.graph_status import GraphStoppedError
from graphtide.pipeline.graph_worker.shared_arrays import ArraysAddress, SharedArrays, open_arrays
from graphtide.pipeline.monitoring import worker_metrics as monitoring
from graphtide.pipeline.time_window import TimeWindow


def test_the_actor_applies_batches_in_order_whatever_the_order_they_come_in() -> None:
    actor = GraphActor(ActorArguments({}, 5))
    assert actor.apply(7, LoadedBatch(one_edge(7))).boundary == 5
    assert actor.apply(6, LoadedBatch(one_edge(6))).boundary == 5
    assert actor.apply(7, LoadedBatch(one_edge(70))).boundary == 5, (
        "a second copy of a batch that waits"
    )
    assert actor.apply(5, LoadedBatch(one_edge(5))).boundary == 8
    assert actor.apply(6, LoadedBatch(one_edge(60))).boundary == 8, (
        "a batch that is applied already"
    )
    copy = copied(actor, 8)
    assert batch_ids(copy) == [5, 6, 7]
    graph = DynamicGraph()
    graph.insert_edges([1, 1, 1], [105, 106, 107])
    assert hash_of(copy) == graph.state_hash()
    assert batch_ids(copied(actor, 8)) == []
    actor.apply(8, LoadedBatch(one_edge(8)))
    told = {"batches": 9, "early": 0, "vertices": 5, "edges": 4, "pinned_bytes": 0}
    assert told.items() <= monitoring.numbers().items()


def test_the_actor_shares_a_copy_until_the_client_has_it() -> None:
    actor = GraphActor(ActorArguments({}))
    actor.apply(0, LoadedBatch(one_edge(0)))
    address = copied(actor, 1, share=True).arrays
    assert isinstance(address, ArraysAddress)
    actor.apply(1, LoadedBatch(one_edge(1)))
    opened, sent = open_arrays(address), actor.reads.copied_arrays(1)
    assert opened["vertex_ids"].tolist() == sent["vertex_ids"].tolist() == [1, 100]
    actor.reads.release_copy(1)
    with pytest.raises(FileNotFoundError):
        open_arrays(address)
    assert opened["vertex_ids"].tolist() == [1, 100], "who has opened it has lost it"


def test_the_actor_shares_columns_until_the_client_has_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    analytics: dict[str, dict[str, object]] = {"pagerank": {}, "clustering": {}, "core_number": {}}
    actor = GraphActor(ActorArguments({}))
    actor.apply(0, LoadedBatch(one_edge(0)))
    pin(actor, 1, results=True, checkpoint=False, epoch=True)
    # Two columns of two vertices, four, and two.
    monkeypatch.setattr(batch_results_module, "_LEAST_SHARED_BYTES", 64)
    fails_with(monkeypatch, "core_number", MemoryError())
    there = actor.reads.analyze(1, whole(analytics), share=True)
    assert isinstance(there, SharedResults)
    assert list(there.addresses) == ["clustering"]
    told = pickle.loads(pickle.dumps(there))
    assert told.results.has_columns
    assert told.results.by_name["clustering"].columns == {}
    opened, sent = told.opened(), actor.reads.results(1)
    for each in (opened, sent):
        assert each.failed == {"core_number": "MemoryError"}
        for name in ("pagerank", "clustering"):
            found = pickle.loads(pickle.dumps(each)).by_name[name].columns
            expected = actor._graph.compute(name).columns
            assert {key: column.tobytes() for key, column in found.items()} == {
                key: column.tobytes() for key, column in expected.items()
            }
    actor.reads.release_columns(1)
    del sent, each
    monkeypatch.undo()  # the error that was raised has the frames that it passed, and they it
    gc.collect()
    with pytest.raises(FileNotFoundError):
        told.opened()
    assert opened.by_name["clustering"].columns["vertex"].tolist() == [1, 100], "who has opened it"


@pytest.mark.parametrize("ids", ["string", "any"])
def test_columns_that_cannot_be_shared_are_sent(monkeypatch: pytest.MonkeyPatch, ids: str) -> None:
    """Names are no numbers, and the system may have no such memory left."""
    monkeypatch.setattr(batch_results_module, "_LEAST_SHARED_BYTES", 0)
    actor = GraphActor(ActorArguments({"ids": ids}))
    if ids == "any":
        actor.apply(0, LoadedBatch(one_edge(0)))
        monkeypatch.setattr(os, "memfd_create", no_memory)
    pin(actor, 0 if ids == "string" else 1, results=True, checkpoint=False, epoch=True)
    found = actor.reads.analyze(actor._boundary, whole({"pagerank": {}}), share=True)
    assert isinstance(found, BatchResults)
    assert found.by_name["pagerank"].columns["vertex"].tolist() == (
        [1, 100] if ids == "any" else []
    )


def no_memory(*_arguments: object) -> int:
    raise OSError(errno.ENOMEM, "no memory")


def test_a_graph_is_released_before_columns_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """So who is to read the next one does not wait for that."""
    actor = GraphActor(ActorArguments({}))
    actor.apply(0, LoadedBatch(one_edge(0)))
    pin(actor, 1, results=True, checkpoint=False, epoch=True)
    kept: list[int] = []

    def share(results: BatchResults) -> dict[str, SharedArrays]:
        kept.append(actor._graph.memory().pinned_bytes)
        return {}

    def fetch(*arguments: Any) -> ComputedResult:
        kept.append(actor._graph.memory().pinned_bytes)
        return with_columns(*arguments)

    monkeypatch.setattr(pinned_reads, "shared_columns", share)
    monkeypatch.setattr(pinned_reads, "with_columns", fetch)
    found = actor.reads.analyze(1, whole({"clustering": {}, "pagerank": {}}), share=True)
    assert isinstance(found, BatchResults)
    assert kept == [0, 0, 0]
    assert list(found.by_name) == ["clustering", "pagerank"]
    assert found.by_name["clustering"].columns["vertex"].tolist() == [1, 100]


def test_columns_that_cannot_be_copied_are_one_result_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    actor = GraphActor(ActorArguments({}))
    actor.apply(0, LoadedBatch(one_edge(0)))
    pin(actor, 1, results=True, checkpoint=False, epoch=True)

    def fetch(found: ComputedResult, asked: ResultRequest, result: Any) -> ComputedResult:
        if asked.kind == "pagerank":
            raise MemoryError
        return with_columns(found, asked, result)

    monkeypatch.setattr(pinned_reads, "with_columns", fetch)
    found = results_of(actor, 1, pagerank={}, clustering={})
    assert list(found.by_name) == ["clustering"]
    assert found.failed == {"pagerank": "MemoryError"}


def test_reports_wait_for_a_checkpoint() -> None:
    actor = GraphActor(ActorArguments({}))
    actor.apply(0, LoadedBatch(one_edge(0)))
    pin(actor, 1, results=True, checkpoint=False, epoch=True)
    assert analyzed(actor, 1, pagerank={})["pagerank"]["vertex"].tolist() == [1, 100]
    assert actor._graph.memory().pinned_bytes == 0
    actor.apply(1, LoadedBatch(one_edge(1)))
    copy = copied(actor, 2)
    assert batch_ids(copy) == [0, 1]
    assert copy.routes == {"dask": 2}


def fails_with(monkeypatch: pytest.MonkeyPatch, analytic: str, error: Exception) -> None:
    """Have an analytic fail."""
    compute = GraphReader.compute

    def failing(reader: GraphReader, name: str, **parameters: object) -> object:
        if name == analytic:
            raise error
        return compute(reader, name, **parameters)

    monkeypatch.setattr(GraphReader, "compute", failing)


def test_an_analytic_that_fails_is_one_result_less(monkeypatch: pytest.MonkeyPatch) -> None:
    actor = GraphActor(ActorArguments({}))
    actor.apply(0, LoadedBatch(one_edge(0)))
    pin(actor, 1, results=True, checkpoint=True, epoch=True)

    fails_with(monkeypatch, "core_number", MemoryError())
    never = {"max_iter": 1, "tol": 1e-300}
    given = {"pagerank": never, "core_number": {}, "clustering": {}}
    found = results_of(actor, 1, **given)
    assert list(found.by_name) == ["clustering"]
    assert found.failed["pagerank"].startswith("PageRank did not converge: after 1 iteration")
    assert found.failed["core_number"] == "MemoryError"
    assert actor.copy_pinned(1).num_edges == 1, "the checkpoint is lost"
    assert actor._graph.memory().pinned_bytes == 0


def test_an_error_of_the_graph_is_none_of_the_analytic(monkeypatch: pytest.MonkeyPatch) -> None:
    actor = GraphActor(ActorArguments({}))
    actor.apply(0, LoadedBatch(one_edge(0)))
    pin(actor, 1, results=True, checkpoint=True, epoch=True)

    fails_with(monkeypatch, "clustering", CorruptImageError("a page is in two runs"))
    with pytest.raises(CorruptImageError, match="result clustering: a page is in two runs"):
        results_of(actor, 1, clustering={})
    assert actor._graph.memory().pinned_bytes == 0


def test_what_adjacencies_of_each_size_take_is_counted_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_looks, "_COUNT_SECONDS", 0.0)
    monkeypatch.setattr(memory_looks, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(memory_looks, "_COUNT_PAUSE", 0)
    actor = GraphActor(ActorArguments({}))
    first = actor.apply(0, LoadedBatch(one_edge(0))).memory
    assert first is not None
    assert dict(first.adjacency_bytes) == {1: first.regions["adjacencies"]}
    monkeypatch.setattr(memory_looks, "_COUNT_PAUSE", 1e12)
    second = actor.apply(1, LoadedBatch(one_edge(1, src=5))).memory
    third = actor.apply(2, LoadedBatch(one_edge(2, src=6))).memory
    assert second is not None
    assert third is not None
    # None is counted before the pause is over.
    assert third.adjacency_bytes == second.adjacency_bytes != first.adjacency_bytes
    assert third.regions["adjacencies"] > second.regions["adjacencies"]


def test_the_actor_keeps_its_graph_after_a_refused_batch() -> None:
    actor = GraphActor(ActorArguments({"create_vertices": False}))
    vertex = UpdateBatch.from_rows(
        None, np.array([1]), np.array([0]), dst_valid=np.array([False]), create_vertices=False
    )
    bad = UpdateBatch.from_rows(None, np.array([1]), np.array([2]), create_vertices=False)
    actor.apply(2, LoadedBatch(vertex))
    actor.apply(1, LoadedBatch(bad))
    status = actor.apply(0, LoadedBatch(vertex))
    assert (status.boundary, status.failed_batch, status.is_broken) == (1, 1, False)
    assert isinstance(status.error, BatchError)
    again = actor.apply(1, LoadedBatch(vertex))  # of the machine's memory others take meanwhile
    assert replace(again, memory=None) == replace(status, memory=None), "applied after a failure"
    assert copied(actor, 1).num_vertices == 1


def test_a_worker_logs_in_a_sentence_why_its_graph_has_stopped() -> None:
    actor = GraphActor(ActorArguments({"ids": "dense"}))
    status = actor.apply(0, LoadedBatch(UpdateBatch.from_rows(None, np.array([1]), np.array([-1]))))
    error = pickle.loads(pickle.dumps(GraphStoppedError(status)))
    assert error.status == status
    assert str(error) == f"batch 0 cannot be applied: {status.error}"
    assert "id -1 cannot be a vertex index" in repr(error)
    assert "GraphStatus" not in repr(error), "the status, whose error is pickled, is logged"


def test_the_actor_does_not_trust_a_graph_after_an_unknown_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_graph: DynamicGraph, _batch: UpdateBatch) -> None:
        raise ZeroDivisionError

    actor = GraphActor(ActorArguments({}))
    monkeypatch.setattr(DynamicGraph, "apply", broken)
    assert actor.apply(0, LoadedBatch(one_edge(0))).is_broken


@pytest.mark.parametrize("length", [None, 5])
def test_expiry_is_met_before_the_first_batch_where_there_is_a_window(
    length: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    expired: list[object] = []
    expire = DynamicGraph.expire

    def counted(graph: DynamicGraph, before: object) -> object:
        expired.append(before)
        return expire(graph, before)

    monkeypatch.setattr(DynamicGraph, "expire", counted)
    GraphActor(ActorArguments({"engine": "host", "records": "semantic"}, window=TimeWindow(length)))
    assert bool(expired) == (length is not None)
