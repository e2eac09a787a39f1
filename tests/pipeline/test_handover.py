"""The hand-over: rings that any batch fits, places for batches, and what the actor takes."""

import gc
import json
import resource
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from distributed import LocalCluster

from actor_copies import copied, hash_of
from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.errors import ClusterError
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.kind import row_meaning
from graphtide.gpu_core.records import RECORDS
from graphtide.gpu_core.report import BatchSource
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.state.checkpoint import newest_checkpoint
from graphtide.io.state.directory import StateDirectory
from graphtide.pipeline import tasks
from graphtide.pipeline.graph_client import generation
from graphtide.pipeline.graph_client.answers import explain
from graphtide.pipeline.graph_client.generation import GraphLostError
from graphtide.pipeline.graph_worker import handover, inbox
from graphtide.pipeline.graph_worker.actor import GraphActor
from graphtide.pipeline.graph_worker.actor_arguments import ActorArguments
from graphtide.pipeline.graph_worker.actor_holder import ActorHolder
from graphtide.pipeline.graph_worker.batch_results import ResultRequest
from graphtide.pipeline.graph_worker.batches import LoadedBatch
from graphtide.pipeline.graph_worker.graph_status import GraphStatus, GraphStoppedError
from graphtide.pipeline.graph_worker.handover import (
    RingSize,
    RingSlots,
    hand_over,
    ring_size,
)
from graphtide.pipeline.graph_worker.inbox import Inbox
from graphtide.pipeline.graph_worker.ring import (
    Ring,
    RingAddress,
    StaleTicketError,
    Ticket,
    is_reachable,
)
from graphtide.pipeline.ingest import run
from graphtide.pipeline.state_machine.instructions import Pin
from memory_files import memory_files
from waiting import wait_until

SIZE = RingSize(slots=3, slot_bytes=1 << 16)


def batch_of(batch_id: int, vertices: int = 50) -> UpdateBatch:
    random = np.random.default_rng(batch_id)
    op = random.choice(np.array([1, 1, -1], np.int8), 200)
    src, dst = random.integers(0, vertices, (2, 200))
    return UpdateBatch.from_rows(op, src, dst)


# -- sizes and places


@pytest.mark.parametrize("records", list(RECORDS))
@pytest.mark.parametrize("kind", ["edges", "deletes", "undone", "vertices"])
def test_any_batch_fits_into_a_slot(records: str, kind: str) -> None:
    rows = 30_000
    number = np.arange(rows)
    op, src, dst = np.ones(rows, np.int8), number, number + rows
    is_edge = np.ones(rows, np.bool_)
    if kind == "deletes":
        op[:] = -1
    elif kind == "undone":  # each edge is inserted, then deleted: only its end points stay
        op[1::2], src, dst = -1, src // 2, dst // 2 + rows
    elif kind == "vertices":  # each is deleted, then made anew
        op[::2], src, is_edge = -1, src // 2, ~is_edge
    batch = UpdateBatch.from_rows(op, src, dst, dst_valid=is_edge, ts=number, records=records)
    slots = Inbox(ring_size(1, 1, rows, row_meaning(records=records), id_bytes=8, raw=False), 0)
    assert isinstance(slots.address, RingAddress)
    ticket = hand_over(batch, 0, RingSlots(slots.address).take(0))
    assert isinstance(ticket, Ticket), f"{batch.nbytes} bytes did not fit"
    if kind == "edges":
        assert slots.address.slot_bytes < 1.2 * batch.nbytes, "slots are larger than any batch"


@pytest.mark.parametrize("about", ["properties", "vertex_properties"])
def test_any_values_fit_into_a_slot(about: str) -> None:
    rows, kinds = 3_000, dict.fromkeys("abcdef", "float64")
    number = np.arange(rows)
    batch = UpdateBatch.from_rows(
        None, number, number + rows, dst_valid=np.full(rows, about == "properties"),
        values=dict.fromkeys(kinds, number / 2), **{about: kinds},
    )  # fmt: skip
    slots = Inbox(ring_size(1, 1, rows, row_meaning(**{about: kinds}), id_bytes=8, raw=False), 0)
    assert isinstance(slots.address, RingAddress)
    assert isinstance(hand_over(batch, 0, RingSlots(slots.address).take(0)), Ticket)


def test_the_lowest_free_slot_is_taken_and_none_where_there_is_none() -> None:
    ring = Ring(2, 1, 0)
    slots = RingSlots(ring.address)

    def slot(batch_id: int) -> int | None:
        slot = slots.take(batch_id)
        return None if slot is None else slot.slot

    assert [slot(batch_id) for batch_id in (10, 11, 12)] == [0, 1, None]
    slots.give_back(11)
    assert [slot(13), slot(14)] == [0, None]
    slots.give_back(14)
    assert [slot(15), slot(16), slot(17)] == [0, 1, None]
    assert RingSlots(None).take(0) is None


def test_routes_are_those_of_the_batches_since_they_were_asked_for() -> None:
    inbox_ = Inbox(None, 0)
    for boundary in (1, 2):
        inbox_.advance(boundary, batch_of(boundary))
    assert inbox_.routes() == {"dask": 2}
    assert inbox_.routes() == {}


def test_a_ring_is_bounded_by_the_memory_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "memory_bytes", lambda: 9 * SIZE.slot_bytes)
    address = Inbox(SIZE, 0).address
    assert isinstance(address, RingAddress)
    assert address.slots == 2
    monkeypatch.setattr(inbox, "memory_bytes", lambda: 3 * SIZE.slot_bytes)
    assert "more than a quarter of its memory; lower batch_rows" in str(Inbox(SIZE, 0).address)


@pytest.mark.parametrize(("files", "slots"), [(16, 2), (5, 1), (resource.RLIM_INFINITY, 3)])
def test_a_ring_leaves_files_for_others(
    files: int, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {resource.RLIMIT_NOFILE: (files, files)}
    given = resource.getrlimit
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits.get(which) or given(which))
    address = Inbox(SIZE, 0).address
    assert isinstance(address, RingAddress)
    assert address.slots == slots


# -- the actor


def answer_of(status: GraphStatus) -> GraphStatus:
    """Without the memory of the machine, which others take and give back meanwhile."""
    return replace(status, memory=None)


def test_the_actor_takes_tickets_and_batches_in_any_order() -> None:
    actor, graph = GraphActor(ActorArguments({}, ring=SIZE)), DynamicGraph()
    assert isinstance(actor.ring, RingAddress)
    slots = RingSlots(actor.ring)
    batches = list(map(batch_of, range(30)))
    oldest = None
    for first in range(0, 30, 3):
        payloads = {n: hand_over(batches[n], n, slots.take(n)) for n in range(first, first + 3)}
        assert all(isinstance(payload, Ticket) for payload in payloads.values())
        oldest = oldest or payloads[0]
        payloads[first + 1] = batches[first + 1]
        for batch_id in (first + 2, first + 1, first):
            status = actor.apply(batch_id, LoadedBatch(payloads[batch_id]))
            graph.apply(batches[2 * first + 2 - batch_id])
        assert status.boundary == first + 3
        assert answer_of(actor.apply(first, LoadedBatch(payloads[first]))) == answer_of(status), (
            "applied already"
        )
        slots.give_back(status.boundary)
    assert oldest is not None
    again = actor.apply(0, LoadedBatch(oldest))
    assert answer_of(again) == answer_of(status), "the slot holds another batch by now"
    copy = copied(actor, 30)
    assert hash_of(copy) == graph.state_hash(), "the graph looks at slots that are written again"
    assert copy.routes == {"ring": 20, "dask": 10}


def test_a_stale_ticket_is_not_applied() -> None:
    old, new = (GraphActor(ActorArguments({}, ring=SIZE)) for _ in range(2))
    assert isinstance(old.ring, RingAddress)
    stale = hand_over(batch_of(0), 0, RingSlots(old.ring).take(0))
    for actor in (new, GraphActor(ActorArguments({}))):
        with pytest.raises(StaleTicketError) as caught:
            actor.apply(0, LoadedBatch(stale))
        assert isinstance(explain(caught.value, "load", "a"), GraphLostError)
        assert copied(actor, 0).num_edges == 0
        assert actor.apply(0, LoadedBatch(batch_of(0))).boundary == 1


def test_a_graph_that_dask_releases_gives_its_memory_back_whoever_refers_to_it() -> None:
    """As when the client was killed, and a frame of an error still knows the actor, or its ring."""
    holder = ActorHolder(ActorArguments({}, ring=SIZE))
    actor = holder.actor
    kept, ring = actor._inbox, actor._inbox._ring
    assert ring is not None
    assert {name for _, name in memory_files()} >= {
        f"/memfd:graphtide-{ring.address.token}-{slot} (deleted)" for slot in range(3)
    }
    del holder
    wait_until(lambda: not any(ring.address.token in name for _, name in memory_files()))
    actor.close()
    assert kept.address == ring.address


def broken_apply(_graph: DynamicGraph, _batch: UpdateBatch) -> None:
    error = ZeroDivisionError()  # the frame knows the error, and the error the frame
    raise error


@pytest.mark.parametrize("what", ["refused", "broken", "analyzed"])
def test_an_error_of_the_graph_does_not_keep_it_in_memory(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    actors = {"graph": ActorHolder(ActorArguments({"create_vertices": False}, ring=SIZE))}
    actor = actors["graph"].actor
    address, graph = actor.ring, weakref.ref(actor)
    del actor
    worker = SimpleNamespace(state=SimpleNamespace(actors=actors), transfer_incoming_log=[])
    monkeypatch.setattr(tasks, "get_worker", lambda: worker)
    kept: Any
    if what == "analyzed":
        monkeypatch.setattr(tasks, "secede", lambda: None)  # of the thread of a worker's task
        asked = Pin(0, 0, ("pagerank",), checkpoint=False, epoch=True)
        results = {"pagerank": ResultRequest("pagerank", {"max_iter": 0}, {}, "whole")}
        kept = tasks.pin_graph("graph", asked, results)
        assert "max_iter" in kept.results.failed["pagerank"]
    else:
        if what == "broken":
            monkeypatch.setattr(DynamicGraph, "apply", broken_apply)
        edge = UpdateBatch.from_rows(None, np.array([1]), np.array([2]))
        loaded = LoadedBatch(edge, {}, BatchSource("a", 0, 1), {"transfer": 0.0})
        with pytest.raises(GraphStoppedError) as kept:
            tasks.apply_batch("graph", "load", 0, loaded)
        assert kept.value.status.is_broken == (what == "broken")
    gc.disable()
    try:
        actors.clear()
        # The thread that has all who wait give up releases it.
        wait_until(lambda: graph() is None)
        assert isinstance(address, RingAddress)
        assert not is_reachable(address)
    finally:
        gc.enable()


# -- whole runs, with all workers in this process


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Callable[..., RunSettings]]:
    random = np.random.default_rng(0)
    src, dst = random.integers(0, 60, (2, 1_000))
    (tmp_path / "log").mkdir()
    write_log_file(str(tmp_path / "log" / "0.parquet"), pa.table({"src": src, "dst": dst}))
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=0
    ) as cluster:
        address = cluster.scheduler_address
        yield lambda **extra: load_settings(
            {"scheduler": address, "batch_rows": 50, "analytics": [], **extra}
        )


def run_in(folder: Path, settings: RunSettings) -> dict[str, int]:
    """Run to the exact graph; which way its batches came."""
    summary = run(str(folder / "log"), str(folder / "state"), settings)
    random = np.random.default_rng(0)
    graph = DynamicGraph()
    graph.insert_edges(*random.integers(0, 60, (2, 1_000)))
    assert summary.state_hash == graph.state_hash()
    checkpoint = newest_checkpoint(StateDirectory(folder / "state"))
    assert checkpoint is not None
    routes: dict[str, int] = json.loads(json.dumps(checkpoint.manifest["handover"]))
    return routes


@pytest.mark.parametrize("way", ["dask", "ring"])
def test_a_way_can_be_forced(
    tmp_path: Path, settings: Callable[..., RunSettings], way: str
) -> None:
    assert run_in(tmp_path, settings(handover=way)) == {way: 20}


def test_a_worker_that_cannot_use_the_ring_hands_over_by_dask(
    tmp_path: Path, settings: Callable[..., RunSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = handover.write

    def write_some(address: RingAddress, slot: int, batch_id: int, batch: Any) -> Ticket | None:
        return write(address, slot, batch_id, batch) if batch_id % 4 == 0 else None

    monkeypatch.setattr(handover, "write", write_some)
    assert run_in(tmp_path, settings()) == {"dask": 15, "ring": 5}


def test_a_ring_of_fewer_slots_than_the_window_is_used_as_far_as_it_goes(
    tmp_path: Path, settings: Callable[..., RunSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "memory_bytes", lambda: 4 * 8192)
    routes = run_in(tmp_path, settings(window=6))
    assert routes["ring"] >= 1
    assert sum(routes.values()) == 20


@pytest.mark.parametrize(
    ("module", "name", "broken", "message"),
    [
        (generation, "is_reachable", lambda _: False, "all workers on one machine.*cannot open"),
        (inbox, "memory_bytes", lambda: 0, "memory that worker .* shares.*lower batch_rows"),
    ],
    ids=["another-machine", "no-memory"],
)
def test_a_forced_ring_that_cannot_be_is_refused_before_anything_is_applied(
    tmp_path: Path,
    settings: Callable[..., RunSettings],
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    name: str,
    broken: Any,
    message: str,
) -> None:
    monkeypatch.setattr(module, name, broken)
    with pytest.raises(ClusterError, match=f"handover: ring needs {message}.*use handover: auto"):
        run_in(tmp_path, settings(handover="ring"))
    assert StateDirectory(tmp_path / "state").checkpoint_ids() == []
    routes = run_in(tmp_path, settings())
    assert sum(routes.values()) == 20
