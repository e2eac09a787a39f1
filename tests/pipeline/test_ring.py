"""The ring of slots in shared memory: what is read is what was written, whoever dies meanwhile."""

import errno
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.pipeline.graph_worker.ring import (
    PAGE_BYTES,
    Ring,
    RingAddress,
    StaleTicketError,
    Ticket,
    is_reachable,
    write,
)
from memory_files import memory_files

SLOT_BYTES = 1 << 20


def batch_of(batch_id: int, rows: int = 500) -> UpdateBatch:
    """Semantic records, deletes and vertex rows: an array in every field."""
    random = np.random.default_rng(batch_id)
    return UpdateBatch.from_rows(
        random.choice(np.array([1, 1, -1], np.int8), rows),
        random.integers(0, 40, rows),
        random.integers(0, 40, rows),
        dst_valid=random.random(rows) > 0.1,
        weight=random.random(rows).astype(np.float32),
        ts=np.arange(rows),
        records="semantic",
        batch_id=batch_id,
    )


def written(ring: Ring, slot: int, batch_id: int, content: int | None = None) -> Ticket:
    batch = batch_of(batch_id if content is None else content)
    ticket = write(ring.address, slot, batch_id, batch)
    assert ticket is not None
    return ticket


def same(one: UpdateBatch, other: UpdateBatch) -> bool:
    pairs = ((getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return all(
        a.dtype == b.dtype and np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
        for a, b in pairs
    )


def test_a_batch_is_read_as_it_was_written_without_a_copy() -> None:
    ring = Ring(3, SLOT_BYTES, 5)
    tickets = {batch_id: written(ring, batch_id - 5, batch_id) for batch_id in (6, 5, 7)}
    for batch_id, ticket in tickets.items():
        batch = ring.read(ticket)
        memory = np.frombuffer(ring._bytes[ticket.slot], np.uint8)
        assert same(batch, batch_of(batch_id))
        batch.validate()
        for array in batch._arrays().values():
            assert not array.flags.writeable
            assert not array.size or np.may_share_memory(array, memory), "an array was copied"
            assert array.flags.aligned
    empty = UpdateBatch.from_rows(None, np.empty(0, np.int64), np.empty(0, np.int64))
    ring.advance(6)
    ticket = write(ring.address, 0, 8, empty)
    assert ticket is not None
    assert same(ring.read(ticket), empty)


def test_a_batch_that_is_larger_than_a_slot_is_not_written() -> None:
    ring = Ring(2, PAGE_BYTES, 0)
    neighbor = write(ring.address, 1, 1, batch_of(1, rows=20))
    assert neighbor is not None
    assert write(ring.address, 0, 0, batch_of(0, rows=5_000)) is None
    assert same(ring.read(neighbor), batch_of(1, rows=20))


def test_memory_is_taken_as_slots_are_written() -> None:
    ring = Ring(64, SLOT_BYTES, 0)

    def taken() -> int:
        return sum(os.fstat(file).st_blocks * 512 for file in ring.address.descriptors)

    before = taken()
    assert before <= 64 * PAGE_BYTES, "more than the words of each slot"
    ticket = written(ring, 7, 7)
    assert taken() < before + 2 * PAGE_BYTES + sum(ticket.sizes)


# -- who may write


def test_a_slot_is_written_again_only_when_its_batch_is_applied() -> None:
    ring = Ring(2, SLOT_BYTES, 0)
    first = written(ring, 0, 0)
    assert write(ring.address, 0, 2, batch_of(2)) is None, "a batch that waits was overwritten"
    assert same(ring.read(first), batch_of(0))
    ring.advance(1)
    assert same(ring.read(written(ring, 0, 2)), batch_of(2))


def test_a_batch_that_is_applied_is_not_written() -> None:
    ring = Ring(2, SLOT_BYTES, 4)
    assert write(ring.address, 1, 3, batch_of(3)) is None


def test_a_batch_that_lies_there_whole_is_not_written_again() -> None:
    ring = Ring(1, SLOT_BYTES, 0)
    first = written(ring, 0, 0)
    again = written(ring, 0, 0, content=77)
    assert same(ring.read(first), batch_of(0))
    assert again.slot == first.slot


WRITER = """
import sys
from graphtide.pipeline.graph_worker import ring as rings

pid, descriptors, token, slot_bytes = sys.argv[1:]
files = tuple(map(int, descriptors.strip("(,)").split(",")))
address = rings.RingAddress(int(pid), files, token, int(slot_bytes))
with rings._opened(address, 0) as descriptor:
    assert rings._is_locked(descriptor)
    rings.write_all(descriptor, b"half of a batch", rings.PAGE_BYTES)
    print("half", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def half_a_write() -> Any:
    """Start a process that stops in the middle of writing into slot 0."""
    started: list[subprocess.Popen[str]] = []

    def start(address: RingAddress) -> subprocess.Popen[str]:
        numbers = (getattr(address, field.name) for field in fields(address))
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", WRITER, *map(str, numbers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_writer_that_is_killed_leaves_a_slot_that_can_be_written(
    half_a_write: Callable[[RingAddress], subprocess.Popen[str]],
) -> None:
    ring = Ring(2, SLOT_BYTES, 0)
    process = half_a_write(ring.address)
    assert write(ring.address, 0, 0, batch_of(0)) is None, "two wrote into one slot"
    other = written(ring, 1, 1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert same(ring.read(written(ring, 0, 0)), batch_of(0))
    assert same(ring.read(other), batch_of(1))


# -- generations


def test_a_ticket_of_another_generation_is_refused() -> None:
    old, new = Ring(1, SLOT_BYTES, 0), Ring(1, SLOT_BYTES, 0)
    stale = written(old, 0, 0)
    written(new, 0, 0)
    with pytest.raises(StaleTicketError, match="another generation"):
        new.read(stale)


def test_a_ticket_whose_slot_holds_another_batch_is_refused() -> None:
    ring = Ring(1, SLOT_BYTES, 0)
    stale = written(ring, 0, 0)
    ring.advance(1)
    written(ring, 0, 1)
    with pytest.raises(StaleTicketError, match="does not hold batch 0 any more, but 1"):
        ring.read(stale)


def files_of(address: RingAddress) -> set[int]:
    """Processes that have a memory file of a ring open."""
    return {process for process, name in memory_files() if address.token in name}


def test_a_ring_that_is_gone_is_not_reached_and_leaves_no_memory() -> None:
    ring = Ring(1, SLOT_BYTES, 0)
    address = ring.address
    assert is_reachable(address)
    assert files_of(address) == {os.getpid()}
    batch = ring.read(written(ring, 0, 0))
    del ring
    gc.collect()
    assert not is_reachable(address)
    assert write(address, 0, 1, batch_of(1)) is None
    assert same(batch, batch_of(0)), "a view does not keep its memory"
    del batch
    gc.collect()
    assert files_of(address) == set()


def test_a_file_of_another_name_is_neither_opened_nor_written(tmp_path: Path) -> None:
    ring = Ring(1, SLOT_BYTES, 0)
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"not yours")
    with foreign.open("r+b") as file:
        for address in (
            replace(ring.address, descriptors=(file.fileno(),)),
            replace(ring.address, token="0" * 16),
            replace(ring.address, pid=2**22 + 1),
        ):
            assert not is_reachable(address)
            assert write(address, 0, 0, batch_of(0)) is None
    assert foreign.read_bytes() == b"not yours"


def test_a_ring_is_not_made_where_there_are_no_memory_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(OSError, match="no memory files"):
        Ring(1, SLOT_BYTES, 0)


def test_a_ring_that_cannot_be_made_whole_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = memory_files()
    make, made = os.memfd_create, []

    def two_only(name: str, flags: int) -> int:
        if len(made) == 2:
            raise OSError(errno.EMFILE, "too many open files")
        made.append(make(name, flags))
        return made[-1]

    monkeypatch.setattr(os, "memfd_create", two_only)
    with pytest.raises(OSError, match="too many open files"):
        Ring(3, SLOT_BYTES, 0)
    assert len(made) == 2
    assert memory_files() == before
