"""Page-locked memory that batches of the host go through: how much, and when it serves again."""

import threading
from typing import Any

import numpy as np
import pytest

from graphtide.gpu_core.batch.packed_batch import pack
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.cuda.convert.feed import Feed
from graphtide.gpu_core.cuda.device.staging import Staging
from graphtide.gpu_core.cuda.update.batch import upload
from graphtide.gpu_core.errors import BatchError
from graphtide.gpu_core.graph import DynamicGraph
from same_batch import assert_same_batch


def path_of(edges: int, first: int = 0) -> UpdateBatch:
    ids = first + np.arange(edges)
    return UpdateBatch.from_rows(None, ids, ids + 1)


def test_blocks_grow_to_what_batches_need_and_then_serve_by_turns(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    take = device.page_locked
    monkeypatch.setattr(device, "page_locked", lambda *a: (taken.append(a[0]), take(*a))[1])
    staging, places = Staging(device), []
    for first in range(0, 5_000_000, 1_000_000):
        packed, _ = staging.send(path_of(40_000, first), dense=True)
        places.append(packed.arrays["put_rows"].ctypes.data)
    assert len(taken) == 2
    assert places[0] == places[2] == places[4] != places[1] == places[3]
    assert staging.nbytes == sum(taken)
    staging.send(path_of(60_000), dense=True)
    staging.send(path_of(60_000), dense=True)
    staging.send(path_of(50_000), dense=True)
    assert len(taken) == 4
    assert staging.nbytes == sum(taken[2:])


@pytest.mark.parametrize("dense", [True, False])
def test_batches_one_behind_the_other_do_not_overwrite_each_other(device: Any, dense: bool) -> None:
    staging = Staging(device)
    batches = [path_of(200_000, 7 * number) for number in range(6)]
    sent = [upload(staging, batch, dense=dense) for batch in batches]
    for batch, ours in zip(batches, sent, strict=True):
        assert_same_batch(device, ours, upload(Staging(device), batch, dense=dense))


def test_threads_that_send_at_the_same_time_take_turns(device: Any) -> None:
    staging = Staging(device)
    batches = [path_of(30_000, 11 * number) for number in range(12)]
    sent: dict[int, Any] = {}

    def send(numbers: range) -> None:
        for number in numbers:
            sent[number] = upload(staging, batches[number], dense=True)
        device.synchronize()

    threads = [threading.Thread(target=send, args=[range(n, 12, 3)]) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, batch in enumerate(batches):
        assert_same_batch(device, sent[number], upload(Staging(device), batch, dense=True))


def test_a_refused_batch_leaves_the_blocks_as_good_as_they_were(device: Any) -> None:
    staging = Staging(device)
    with pytest.raises(BatchError, match="cannot be a vertex index"):
        upload(staging, UpdateBatch.from_rows(None, [2**40], [1]), dense=True)
    batch = path_of(9)
    assert_same_batch(
        device, upload(staging, batch, dense=True), upload(Staging(device), batch, dense=True)
    )


def test_a_feed_sends_batches_that_nobody_packed_through_the_graphs_blocks(device: Any) -> None:
    graphs = {
        engine: DynamicGraph(engine=engine, ids="dense", arena_bytes=1 << 22)
        for engine in ("host", "cuda")
    }
    feed = graphs["cuda"].feed()
    assert isinstance(feed, Feed)
    batches = [path_of(500, 300 * number) for number in range(5)]
    ahead = [feed.send(batch) for batch in batches]
    for batch, upload_of_batch in zip(batches, ahead, strict=True):
        graphs["host"].apply(batch)
        graphs["cuda"].apply(upload_of_batch)
    assert graphs["cuda"].state_hash() == graphs["host"].state_hash()
    memory = graphs["cuda"].memory()
    assert memory.staging_bytes > 0
    assert sum(memory.regions.values()) == memory.arena_bytes
    assert graphs["host"].memory().staging_bytes == 0


@pytest.mark.parametrize("dense", [True, False])
def test_however_many_threads_pack_the_batch_is_the_same(
    dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranges end within lists, and lists within ranges."""
    random = np.random.default_rng(5)
    rows = 30_000
    batch = UpdateBatch.from_rows(
        random.choice(np.array([1, 1, -1], np.int8), rows),
        *random.integers(0, 9_000, (2, rows)),
        dst_valid=random.random(rows) < 0.9,
        weight=random.random(rows, np.float32),
        type=random.integers(0, 9, rows).astype(np.int32),
        ts=random.integers(0, 2**40, rows),
        records="semantic",
    )
    monkeypatch.setattr("graphtide.gpu_core.batch.packing._BYTES_A_THREAD", 1)
    expected = pack(batch, dense=dense)
    for threads in (1, 2, 3, 64, 999):
        block = np.full(1 << 22, 0xA5, np.uint8)
        ours = pack(batch, dense=dense, memory=lambda n, b=block: b[:n], threads=threads)
        assert ours.fields == expected.fields
        for name, array in expected.arrays.items():
            np.testing.assert_array_equal(ours.arrays[name], array, name)
            assert ours.arrays[name].dtype == array.dtype


@pytest.mark.parametrize("wrong", [-1, 2**31, 2**32, 2**63 - 1])
@pytest.mark.parametrize("op", [1, -1])
@pytest.mark.parametrize("place", [0, 1])
def test_one_id_that_is_no_index_is_found_in_any_list(
    wrong: int, op: int, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphtide.gpu_core.batch.packing._BYTES_A_THREAD", 1)
    ids = np.array([np.arange(5_000), np.arange(5_000) + 1])
    ids[place, 4_321] = wrong
    batch = UpdateBatch.from_rows(np.full(5_000, op, np.int8), *ids, batch_id=3)
    with pytest.raises(BatchError, match=f"batch 3: id {wrong} cannot be a vertex index"):
        pack(batch, dense=True, threads=4)
