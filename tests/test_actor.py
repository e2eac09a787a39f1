"""The actor that holds the graph, without Dask."""

import pickle

import numpy as np
import pytest

from graphtide.gpu_core.batch import UpdateBatch
from graphtide.gpu_core.errors import BatchError
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.pipeline import monitoring
from graphtide.pipeline.actor import GraphActor, GraphStoppedError
from graphtide.pipeline.shared_arrays import ArraysAddress, open_arrays


def one_edge(batch_id: int, src: int = 1) -> UpdateBatch:
    return UpdateBatch.from_rows(None, np.array([src]), np.array([batch_id + 100]))


def test_the_actor_applies_batches_in_order_whatever_the_order_they_come_in() -> None:
    actor = GraphActor({}, 5, None)
    assert actor.apply(7, one_edge(7), {}).boundary == 5
    assert actor.apply(6, one_edge(6), {}).boundary == 5
    assert actor.apply(7, one_edge(70), {}).boundary == 5, "a second copy of a batch that waits"
    assert actor.apply(5, one_edge(5), {}).boundary == 8
    assert actor.apply(6, one_edge(60), {}).boundary == 8, "a batch that is applied already"
    copy = actor.copy(8)
    assert [report.batch_id for report in copy.reports] == [5, 6, 7]
    graph = DynamicGraph()
    graph.insert_edges([1, 1, 1], [105, 106, 107])
    assert copy.state_hash == graph.state_hash()
    assert actor.copy(8).reports == []
    actor.apply(8, one_edge(8), {})
    assert monitoring.numbers() == {"batches": 9, "early": 0, "vertices": 5, "edges": 4}


def test_the_actor_shares_a_copy_until_the_next_batch_is_applied() -> None:
    actor = GraphActor({}, 0, None)
    actor.apply(0, one_edge(0), {})
    address = actor.copy(1, share=True).arrays
    assert isinstance(address, ArraysAddress)
    opened, sent = open_arrays(address), actor.copied_arrays(1)
    assert opened["vertex_ids"].tolist() == sent["vertex_ids"].tolist() == [1, 100]
    actor.apply(2, one_edge(2), {})
    open_arrays(address)
    actor.apply(1, one_edge(1), {})
    with pytest.raises(FileNotFoundError):
        open_arrays(address)
    assert opened["vertex_ids"].tolist() == [1, 100], "who has opened it has lost it"


def test_the_actor_keeps_its_graph_after_a_refused_batch() -> None:
    actor = GraphActor({"create_vertices": False}, 0, None)
    vertex = UpdateBatch.from_rows(
        None, np.array([1]), np.array([0]), dst_valid=np.array([False]), create_vertices=False
    )
    bad = UpdateBatch.from_rows(None, np.array([1]), np.array([2]), create_vertices=False)
    actor.apply(2, vertex, {})
    actor.apply(1, bad, {})
    notice = actor.apply(0, vertex, {})
    assert (notice.boundary, notice.failed_batch, notice.is_broken) == (1, 1, False)
    assert isinstance(notice.error, BatchError)
    assert actor.apply(1, vertex, {}) == notice, "a batch was applied after one that failed"
    assert actor.copy(1).num_vertices == 1


def test_a_worker_logs_in_a_sentence_why_its_graph_has_stopped() -> None:
    actor = GraphActor({"ids": "dense"}, 0, None)
    notice = actor.apply(0, UpdateBatch.from_rows(None, np.array([1]), np.array([-1])), {})
    error = pickle.loads(pickle.dumps(GraphStoppedError(notice)))
    assert error.notice == notice
    assert str(error) == f"batch 0 cannot be applied: {notice.error}"
    assert "id -1 cannot be a vertex index" in repr(error)
    assert "Notice" not in repr(error), "the notice, whose error is pickled, is logged"


def test_the_actor_does_not_trust_a_graph_after_an_unknown_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_graph: DynamicGraph, _batch: UpdateBatch) -> None:
        raise ZeroDivisionError

    actor = GraphActor({}, 0, None)
    monkeypatch.setattr(DynamicGraph, "apply", broken)
    assert actor.apply(0, one_edge(0), {}).is_broken
