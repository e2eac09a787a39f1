"""Batches that are sent ahead: packed on a CPU worker, copied to the device as they lie there."""

import gc
from typing import Any

import numpy as np
import pytest

from actor_copies import copied
from graphtide.gpu_core.batch.packed_batch import PackedBatch, pack, packed_rows
from graphtide.gpu_core.batch.raw_rows import RawRows, raw_rows
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.cuda.convert.feed import Feed
from graphtide.gpu_core.cuda.device.staging import Staging
from graphtide.gpu_core.cuda.device.transfer import send
from graphtide.gpu_core.cuda.update.batch import device_batch, upload
from graphtide.gpu_core.errors import BatchError
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.kind import FIRST_BATCH, row_meaning
from graphtide.gpu_core.records import RECORDS
from graphtide.pipeline.graph_worker.actor import GraphActor
from graphtide.pipeline.graph_worker.actor_arguments import ActorArguments
from graphtide.pipeline.graph_worker.batches import LoadedBatch
from graphtide.pipeline.graph_worker.handover import (
    RingSize,
    RingSlots,
    hand_over,
    ring_size,
)
from graphtide.pipeline.graph_worker.inbox import Inbox
from graphtide.pipeline.graph_worker.ring import Ring, RingAddress, Ticket, write
from same_batch import assert_same_batch


def batch_of(seed: int, records: str = "simple", rows: int = 300) -> UpdateBatch:
    """Inserts and deletes of edges and vertices."""
    random = np.random.default_rng(seed)
    return UpdateBatch.from_rows(
        random.choice(np.array([1, 1, -1], np.int8), rows),
        *random.integers(0, 40, (2, rows)),
        dst_valid=random.random(rows) < 0.97,
        weight=random.random(rows, np.float32),
        type=random.integers(0, 9, rows).astype(np.int32),
        ts=random.integers(0, 2**40, rows),
        records=records,
    )


@pytest.mark.parametrize("records", list(RECORDS))
@pytest.mark.parametrize("dense", [True, False])
def test_a_packed_batch_is_on_the_device_what_the_batch_is(
    device: Any, records: str, dense: bool
) -> None:
    batch = batch_of(1, records)
    packed = pack(batch, dense=dense)
    apart = device_batch(packed, send(device, packed.arrays))
    assert_same_batch(device, apart, upload(Staging(device), batch, dense=dense))
    sent = Feed(Staging(device), dense=dense).send(packed)
    assert_same_batch(device, sent.batch(), upload(Staging(device), batch, dense=dense))


@pytest.mark.parametrize("records", list(RECORDS))
def test_raw_rows_sent_one_behind_the_other_come_to_what_they_do_on_the_host(
    device: Any, records: str
) -> None:
    """All are on their way before the first is asked for; the largest come last."""
    feed, sent = Feed(Staging(device), dense=True), []
    kind: dict[str, Any] = {"records": records, "directed": True, "self_loops": "drop"}
    for seed, rows in enumerate((40, 5_000, 300, 9_000)):
        random = np.random.default_rng(seed)
        op = random.choice(np.array([1, 1, -1], np.int8), rows)
        src, dst = random.integers(0, 70, (2, rows))
        columns = {
            "weight": random.random(rows, np.float32),
            "type": random.integers(0, 9, rows).astype(np.int32),
            "ts": random.integers(0, 2**40, rows),
        }
        raw = raw_rows(
            op, src, dst, row_meaning(**kind), dense=True, **columns, batch_id=seed,
        )  # fmt: skip
        assert isinstance(raw, RawRows)
        expected = UpdateBatch.from_rows(op, src, dst, **columns, **kind, batch_id=seed)
        sent.append((feed.send(raw), expected))
    for upload_of_rows, expected in sent:
        ours = upload_of_rows.batch()
        assert_same_batch(device, ours, upload(Staging(device), expected, dense=True))


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("form", ["raw", "packed"])
def test_the_first_batch_decides_on_pages_also_where_it_is_on_the_device(
    form: str, directed: bool
) -> None:
    rng = np.random.default_rng(4)
    op, src, dst = rng.choice(np.array([1, 1, -1], np.int8), 900), *rng.integers(0, 60, (2, 900))
    kind: dict[str, Any] = {"directed": directed}
    settings = {**kind, "ids": "dense", "layout": "chain", "mean_degree": FIRST_BATCH}
    graph, host = (DynamicGraph(**settings, engine=engine) for engine in ("cuda", "host"))
    batch = UpdateBatch.from_rows(op, src, dst, **kind)
    rows = pack(batch, dense=True)
    if form == "raw":
        rows = raw_rows(op, src, dst, row_meaning(**kind), dense=True, batch_id=0)
    feed = graph.feed()
    assert feed is not None
    graph.apply(feed.send(rows))
    host.apply(batch)
    assert graph.kind.mean_degree == host.kind.mean_degree
    assert graph.memory().page_bytes == host.memory().page_bytes
    assert graph.state_hash() == host.state_hash()
    graph.verify("full")


def test_what_needs_no_narrowing_is_not_copied() -> None:
    batch = batch_of(2, "weighted")
    packed = pack(batch, dense=False)
    assert packed.arrays["put_weight"] is batch.put_weight
    assert packed.arrays["put_indices"] is batch.put_indices
    assert packed.arrays["put_indptr"].dtype == np.uint32


def test_ids_that_are_no_indices_are_refused_where_they_are_packed() -> None:
    batch = UpdateBatch.from_rows(None, np.array([2**40]), np.array([1]), batch_id=7)
    with pytest.raises(BatchError, match=r"batch 7: id 1099511627776 cannot be a vertex index"):
        pack(batch, dense=True)


def test_a_batch_in_a_slot_is_one_copy(
    emulated_device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphtide.gpu_core.cuda.device import transfer

    batch, copies = batch_of(3, "semantic"), []
    ring = Ring(1, 1 << 17, 0)
    ticket = write(ring.address, 0, 0, pack(batch, dense=True))
    assert ticket is not None
    in_slot = ring.read(ticket)
    assert isinstance(in_slot, PackedBatch)
    copy = transfer._copy
    monkeypatch.setattr(transfer, "_copy", lambda *a: (copies.append(a[-2]), copy(*a)))
    arrays = send(emulated_device, in_slot.arrays)
    assert [nbytes > 0 for nbytes in copies] == [False, True]
    assert copies[-1] <= ring.memory_of(ticket).size
    expected = upload(Staging(emulated_device), batch, dense=True)
    assert_same_batch(emulated_device, device_batch(in_slot, arrays), expected)


@pytest.fixture(params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def actor(request: pytest.FixtureRequest) -> GraphActor:
    """An actor whose graph is on a GPU, with a ring of four slots."""
    if request.param == "emulated":
        request.getfixturevalue("emulated_device")
    return GraphActor(ActorArguments({"engine": "cuda", "ids": "dense"}, ring=RingSize(4, 1 << 16)))


def test_an_actor_opens_batches_before_their_turn_and_applies_them_in_it(
    actor: GraphActor,
) -> None:
    graph = DynamicGraph(engine="host", ids="dense")
    slots = RingSlots(actor.ring if not isinstance(actor.ring, str) else None)
    batches = [batch_of(seed) for seed in range(12)]
    for first in range(0, 12, 4):
        payloads = {
            n: hand_over(pack(batches[n], dense=True), n, slots.take(n))
            for n in range(first, first + 4)
        }
        assert all(isinstance(payload, Ticket) for payload in payloads.values())
        # One comes by Dask, one was packed by nobody.
        payloads[first] = pack(batches[first], dense=True)
        payloads[first + 1] = batches[first + 1]
        for batch_id in (first + 3, first + 2, first + 1):
            assert actor.apply(batch_id, LoadedBatch(payloads[batch_id])).boundary == first
        opened = [n for n, batch in actor._waiting.items() if batch.opened is not None]
        assert sorted(opened) == [first + 1, first + 2]
        assert actor.apply(first, LoadedBatch(payloads[first])).boundary == first + 4
        assert not actor._waiting
        slots.give_back(first + 4)
    for batch in batches:
        graph.apply(batch)
    copy = copied(actor, 12)
    for name, array in graph.checkpoint_arrays().items():
        np.testing.assert_array_equal(copy.arrays[name], array, err_msg=name)
    assert copy.routes == {"ring": 6, "dask": 6}


def test_names_stay_on_the_host_until_the_graph_has_looked_at_them(emulated_device: Any) -> None:
    """So such batches are not sent ahead, whether they are early or not."""
    kind: dict[str, Any] = {"ids": "string"}
    actor = GraphActor(ActorArguments({"engine": "cuda", **kind}, ring=RingSize(4, 1 << 16)))
    slots = RingSlots(actor.ring if not isinstance(actor.ring, str) else None)
    for batch_id, names in ((1, ["c", "d"]), (0, ["a", "b"])):
        batch = UpdateBatch.from_rows(None, names[:1], names[1:], **kind)
        actor.apply(batch_id, LoadedBatch(hand_over(batch, batch_id, slots.take(batch_id))))
    assert sorted(actor._graph.vertices()) == ["a", "b", "c", "d"]
    assert copied(actor, 2).routes == {"ring": 2}


def test_a_batch_that_is_refused_ahead_is_refused_in_its_turn(actor: GraphActor) -> None:
    bad = UpdateBatch.from_rows(None, np.array([-4]), np.array([1]), batch_id=1)
    assert actor.apply(1, LoadedBatch(bad)).error is None
    status = actor.apply(0, LoadedBatch(batch_of(0)))
    assert (status.boundary, status.failed_batch) == (1, 1)
    assert "id -4 cannot be a vertex index" in str(status.error)


def is_locked(address: int) -> bool:
    import cupy

    # 1: host memory that CUDA knows.
    try:
        return bool(cupy.cuda.runtime.pointerGetAttributes(address).type == 1)
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


@pytest.mark.gpu
@pytest.mark.parametrize("raw", [True, False])
def test_what_batches_will_fill_of_the_first_slots_is_locked_before_they_come(raw: bool) -> None:
    from graphtide.gpu_core.cuda.device.devices import open_device

    feed = Feed(Staging(open_device()), dense=True)
    inbox = Inbox(ring_size(4, 2, 9_000, row_meaning(), id_bytes=4, raw=raw), 0, feed)
    with inbox.locking():
        pass
    assert isinstance(inbox.address, RingAddress)
    slots = RingSlots(inbox.address)
    ids = np.arange(9_000)
    rows = (raw_rows if raw else packed_rows)(
        np.full(9_000, -1, np.int8), ids // 3, ids, row_meaning(records="simple"),
        dense=True, batch_id=0,
    )  # fmt: skip
    for batch_id in range(4):
        ticket = hand_over(rows, batch_id, slots.take(batch_id))
        assert isinstance(ticket, Ticket)
        memory = inbox._ring_of(ticket).memory_of(ticket)
        assert is_locked(memory.ctypes.data) == (batch_id < 3)
        assert is_locked(memory.ctypes.data + memory.size - 1) == (batch_id < 3)


@pytest.mark.gpu
def test_memory_is_locked_once_grows_and_is_released_with_the_feed() -> None:
    from graphtide.gpu_core.cuda.device.devices import open_device

    device = open_device()
    ring = Ring(2, 1 << 20, 0)
    feed = Feed(Staging(device), dense=True)
    for batch_id, rows in enumerate((300, 400, 9000)):
        batch = pack(batch_of(batch_id, rows=rows), dense=True)
        ticket = write(ring.address, 0, batch_id, batch)
        assert ticket is not None
        memory = ring.memory_of(ticket)
        feed.lock(memory, ring.address.slot_bytes)
        assert is_locked(memory.ctypes.data)
        assert is_locked(memory.ctypes.data + memory.size - 1)
        in_slot = ring.read(ticket)
        assert isinstance(in_slot, PackedBatch)
        sent = feed.send(in_slot).batch()
        expected = upload(Staging(device), batch_of(batch_id, rows=rows), dense=True)
        assert_same_batch(device, sent, expected)
        device.synchronize()
        ring.advance(batch_id + 1)
    del feed
    gc.collect()
    assert not is_locked(memory.ctypes.data)
