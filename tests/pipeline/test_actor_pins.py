"""What the actor pins, who waits for it, and what becomes of batches meanwhile."""

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

from actor_copies import (
    analyzed,
    batch_ids,
    copied,
    one_edge,
    pin,
    pin_request,
    results_of,
)
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.errors import CorruptImageError, EpochClosedError
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.host.queries import pinned
from graphtide.pipeline.graph_worker.actor import GraphActor
from graphtide.pipeline.graph_worker.actor_arguments import ActorArguments
from graphtide.pipeline.graph_worker.actor_holder import ActorHolder
from graphtide.pipeline.graph_worker.batches import LoadedBatch
from graphtide.pipeline.graph_worker.graph_status import GraphStatus
from graphtide.pipeline.graph_worker.pinned import PinAnswer
from graphtide.pipeline.graph_worker.shared_arrays import open_arrays


def test_what_is_pinned_is_analyzed_and_copied_as_it_was_while_batches_go_on() -> None:
    actor = GraphActor(ActorArguments({}))
    actor.apply(0, LoadedBatch(one_edge(0)))
    assert pin(actor, 1, results=True, checkpoint=True, epoch=True) == "epoch"
    actor.apply(1, LoadedBatch(one_edge(1)))
    results = analyzed(actor, 1, pagerank={}, clustering={})
    assert [result["vertex"].tolist() for result in results.values()] == [[1, 100], [1, 100]]
    assert actor._graph.memory().pinned_bytes > 0, "what is still to be copied is gone"
    copy = actor.copy_pinned(1)
    assert (copy.num_vertices, copy.num_edges) == (2, 1)
    assert copy.arrays["vertex_ids"].tolist() == [1, 100]
    assert batch_ids(copy) == [0]
    assert actor._graph.memory().pinned_bytes == 0
    assert batch_ids(copied(actor, 2)) == [1]


@pytest.mark.parametrize("ids", ["any", "dense"])
def test_a_checkpoint_is_of_its_boundary_while_vertices_and_edges_come_and_go(ids: str) -> None:
    """On the host it is copied at once, and no image is."""
    random = np.random.default_rng(3)
    actor = GraphActor(ActorArguments({"ids": ids, "self_loops": "keep"}))

    def apply(batch_id: int) -> None:
        rows = random.integers(0, 60, (2, 80))
        ops, is_edge = random.choice(np.array([1, -1], np.int8), 80), random.random(80) < 0.7
        rows_of_batch = UpdateBatch.from_rows(ops, *rows, dst_valid=is_edge, self_loops="keep")
        actor.apply(batch_id, LoadedBatch(rows_of_batch))

    for batch_id in range(4):
        apply(batch_id)
    expected = {name: each.copy() for name, each in actor._graph.checkpoint_arrays().items()}
    assert pin(actor, 4, results=False, checkpoint=True, epoch=True) == "epoch"
    assert actor._graph.memory().pinned_bytes == 0
    for batch_id in range(4, 24):
        apply(batch_id)
    copy = actor.copy_pinned(4, share=True)
    arrays = open_arrays(copy.arrays)
    assert arrays.keys() == expected.keys()
    assert ids == "dense" or expected["free_indices"].size > 0
    for name, array in expected.items():
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)
    assert batch_ids(copy) == [0, 1, 2, 3]


def test_several_graphs_are_pinned_and_read_in_their_order() -> None:
    actor = GraphActor(ActorArguments({}))
    for batch_id in range(3):
        actor.apply(batch_id, LoadedBatch(one_edge(batch_id)))
        checkpoint = batch_id != 1
        given = {"results": True, "checkpoint": checkpoint, "epoch": batch_id < 2}
        assert pin(actor, batch_id + 1, **given) == ("epoch" if batch_id < 2 else "graph")
    vertices, reports = [], []
    for boundary in (1, 2, 3):
        found = results_of(actor, boundary, clustering={})
        assert found.source is None
        vertices.append(found.by_name["clustering"].columns["vertex"].tolist())
        if boundary != 2:
            copy = actor.copy_pinned(boundary, share=True)
            reports.append(batch_ids(copy))
            assert actor.reads.copied_arrays(boundary)["vertex_ids"].tolist() == vertices[-1]
    assert vertices == [[1, 100], [1, 100, 101], [1, 100, 101, 102]]
    assert reports == [[0], [1, 2]]
    assert actor._graph.memory().pinned_bytes == 0
    # The client may have taken the older copy when there is a newer one.
    actor.reads.release_copy(1)
    assert actor.reads.copied_arrays(3)["vertex_ids"].size == 4


def test_a_pin_that_is_asked_for_early_keeps_the_graph_of_its_boundary() -> None:
    actor = GraphActor(ActorArguments({}))
    asked = {"results": True, "checkpoint": False, "epoch": True}
    with ThreadPoolExecutor(1) as pool:
        pinned = pool.submit(pin, actor, 3, **asked)
        actor.apply(2, LoadedBatch(one_edge(2)))
        actor.apply(0, LoadedBatch(one_edge(0)))
        assert not pinned.done(), "the graph does not stand there yet"
        actor.apply(1, LoadedBatch(one_edge(1)))
        assert pinned.result() == "epoch"
    assert results_of(actor, 3, clustering={}).by_name["clustering"].columns["vertex"].size == 4


@pytest.mark.parametrize("ends", ["batch", "close"])
def test_a_pin_at_a_boundary_where_the_graph_never_stands_is_missed(ends: str) -> None:
    actor = GraphActor(ActorArguments({"ids": "dense"}))
    with ThreadPoolExecutor(1) as pool:
        pinned = pool.submit(pin, actor, 2, results=True, checkpoint=False, epoch=True)
        actor.apply(0, LoadedBatch(one_edge(0)))
        if ends == "close":
            actor.close()
        else:
            beyond = UpdateBatch.from_rows(None, np.array([-1]), np.array([0]))
            assert actor.apply(1, LoadedBatch(beyond)).failed_batch == 1
        assert pinned.result() == "missed"


def test_who_asks_for_results_early_waits_until_its_graph_is_the_oldest() -> None:
    actor = GraphActor(ActorArguments({}))
    for batch_id in range(3):
        actor.apply(batch_id, LoadedBatch(one_edge(batch_id)))
        pin(actor, batch_id + 1, results=True, checkpoint=False, epoch=True)
    with ThreadPoolExecutor(2) as pool:
        third = pool.submit(results_of, actor, 3, clustering={})
        second = pool.submit(results_of, actor, 2, clustering={})
        assert results_of(actor, 1, clustering={}).by_name["clustering"].columns["vertex"].size == 2
        assert second.result().by_name["clustering"].columns["vertex"].size == 3
        assert third.result().by_name["clustering"].columns["vertex"].size == 4


def test_who_waits_for_a_graph_that_is_given_up_is_told() -> None:
    actor = GraphActor(ActorArguments({}))
    for batch_id in range(2):
        actor.apply(batch_id, LoadedBatch(one_edge(batch_id)))
        pin(actor, batch_id + 1, results=True, checkpoint=False, epoch=True)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(results_of, actor, 2, clustering={})
        actor.close()
        with pytest.raises(EpochClosedError, match="boundary 2 was given up"):
            second.result()


@pytest.mark.usefixtures("emulated_device")
def test_results_of_a_gpu_are_of_an_epoch_while_batches_go_on() -> None:
    actor = GraphActor(ActorArguments({"engine": "cuda", "ids": "dense"}))
    actor.apply(0, LoadedBatch(one_edge(0)))
    assert pin(actor, 1, results=True, checkpoint=False, epoch=True) == "epoch"
    actor.apply(1, LoadedBatch(one_edge(1)))
    assert pin(actor, 2, results=True, checkpoint=False, epoch=True) == "epoch"
    actor.apply(2, LoadedBatch(one_edge(2)))
    for boundary, vertices in ((1, [1, 100]), (2, [1, 100, 101])):
        found = analyzed(actor, boundary, bfs={"sources": [1]})["bfs"]
        assert found["vertex"].tolist() == vertices
    assert actor._graph.memory().pinned_bytes == 0


def test_a_batch_does_not_overtake_the_pin_that_it_comes_behind() -> None:
    """Neither where it is there first, nor where another thread asks for the pin at once."""
    actor = GraphActor(ActorArguments({}))
    asked = [
        pin_request(boundary, results=True, checkpoint=False, epoch=True) for boundary in (1, 2)
    ]
    actor.apply(1, LoadedBatch(one_edge(1)), asked[0])
    actor.apply(2, LoadedBatch(one_edge(2)), asked[1])
    assert actor.apply(0, LoadedBatch(one_edge(0))).boundary == 3
    assert [actor.pin(each) for each in asked] == [PinAnswer("epoch")] * 2
    for boundary, vertices in ((1, [1, 100]), (2, [1, 100, 101])):
        found = analyzed(actor, boundary, clustering={})["clustering"]
        assert found["vertex"].tolist() == vertices
    assert actor._graph.memory().pinned_bytes == 0


class Crowded:
    """A graph behind batch 0 that is pinned for a checkpoint, and no room for another epoch.

    Nor is there for what analytics would take beside an epoch alone.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kept = ActorHolder(ActorArguments({}))
        self.actor = actor = self.kept.actor
        actor.apply(0, LoadedBatch(one_edge(0)))
        assert pin(actor, 1, results=False, checkpoint=True, epoch=True) == "epoch"
        room = actor._graph.memory().graph_bytes
        monkeypatch.setattr(pinned, "memory_bytes", lambda: 2 * room + room // 2)
        #: Of the boundaries behind batch 0 and behind batch 1.
        self.asked = [
            pin_request(boundary, results=True, checkpoint=False, epoch=True) for boundary in (1, 2)
        ]

    def applied(self, pool: ThreadPoolExecutor) -> Future[GraphStatus]:
        """What comes of batch 1, behind the first pin, once it waits for room."""
        waits = Event()
        batch = LoadedBatch(one_edge(1))
        applied = pool.submit(self.actor.apply, 1, batch, self.asked[0], waits.set)
        waits.wait()
        return applied


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> Crowded:
    return Crowded(monkeypatch)


def test_without_room_for_an_epoch_the_graph_itself_is_read_between_batches(
    crowded: Crowded,
) -> None:
    actor = crowded.actor
    with ThreadPoolExecutor(2) as pool:
        applied = crowded.applied(pool)
        answer = pool.submit(actor.pin, crowded.asked[0])
        assert len(actor.copy_pinned(1).batches) == 1
        assert answer.result() == PinAnswer("graph", 1)
        assert not applied.done(), "a batch is applied to a graph that is to be read"
        found = analyzed(actor, 1, pagerank={})
        assert applied.result().boundary == 2
    assert found["pagerank"]["vertex"].tolist() == [1, 100]
    assert pin(actor, 2, results=True, checkpoint=True, epoch=True) == "graph"
    assert analyzed(actor, 2, pagerank={})["pagerank"]["vertex"].size == 3
    copy = actor.copy_pinned(2, share=True)
    assert open_arrays(copy.arrays)["vertex_ids"].tolist() == [1, 100, 101]
    assert actor.apply(2, LoadedBatch(one_edge(2))).boundary == 3


@pytest.mark.parametrize("ends", ["closed", "released by Dask"])
def test_who_waits_for_room_or_for_batches_gives_up_with_the_graph(
    crowded: Crowded, ends: str
) -> None:
    """Dask releases it where the client was killed: nobody loads batches, or reads a graph."""
    with ThreadPoolExecutor(3) as pool:
        applied = crowded.applied(pool)
        answers = [pool.submit(crowded.actor.pin, each) for each in crowded.asked]
        if ends == "closed":
            crowded.actor.close()
        else:
            del crowded.kept
        assert [answer.result() for answer in answers] == [PinAnswer("missed")] * 2
        assert applied.result().boundary == 1


def test_batches_that_come_while_one_waits_for_room_are_left_to_it(crowded: Crowded) -> None:
    """The thread that waits gives way: others have to reach the actor, so that there is room."""
    actor = crowded.actor
    with ThreadPoolExecutor(1) as pool:
        applied = crowded.applied(pool)
        assert actor.apply(2, LoadedBatch(one_edge(2)), crowded.asked[1]).boundary == 1
        actor.copy_pinned(1)
        for boundary, each in enumerate(crowded.asked, 1):
            assert actor.pin(each).kept == "graph"
            found = analyzed(actor, boundary, pagerank={})["pagerank"]
            assert found["vertex"].size == boundary + 1
        assert applied.result().boundary == 3
    assert actor.apply(3, LoadedBatch(one_edge(3))).boundary == 4


def test_a_pin_that_fails_is_told_to_its_asker_and_no_batch_goes_past_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    actor = GraphActor(ActorArguments({}))
    actor.apply(0, LoadedBatch(one_edge(0)))

    def pin_graph(graph: DynamicGraph, **given: object) -> object:
        msg = "a page is in two runs"
        raise CorruptImageError(msg)

    monkeypatch.setattr(DynamicGraph, "pin", pin_graph)
    asked = pin_request(1, results=True, checkpoint=False, epoch=True)
    with ThreadPoolExecutor(1) as pool:
        applied = pool.submit(actor.apply, 1, LoadedBatch(one_edge(1)), asked)
        with pytest.raises(CorruptImageError, match="a page is in two runs"):
            actor.pin(asked)
        assert not applied.done()
        actor.close()
        assert applied.result().boundary == 1


def test_the_last_graph_is_read_without_an_epoch() -> None:
    actor = GraphActor(ActorArguments({}))
    actor.apply(0, LoadedBatch(one_edge(0)))
    assert pin(actor, 1, results=False, checkpoint=True, epoch=False) == "graph"
    assert actor._graph.memory().pinned_bytes == 0
    assert actor.copy_pinned(1).num_edges == 1
