"""Shared-memory slots through which batches reach a graph worker on the same machine.

The graph worker makes an anonymous memory file for each slot and maps it whole (`Ring`). A CPU
worker opens it as ``/proc/<pid>/fd/<n>``, writes the arrays of one batch into it and closes it
(`opened_slot`). What travels by Dask is a `Ticket` of a kilobyte or so; the graph worker turns it
into an `UpdateBatch` whose arrays are views of the slot, and says when it has applied it.

A slot's file::

    | words: boundary, batch in this slot + 1, which array is first |
    | from `PAGE_BYTES` on: the arrays, one by one                  |

The boundary is the graph's: batches before it are applied, so their slots may be written. The
second word is set when a batch lies in the slot whole, 0 where there never was one.

The largest array of a batch may be made where it is to lie, first of all (`OpenSlot.memory`);
the others, and batches that are made elsewhere, are copied by the system.

A file a slot, because the system lets one writer at a time into a file: with 14 writers in one file
each of them wrote 0.7 GB/s, in files of their own 3.4 GB/s (Linux 6.18, 14 of 16 cores).

What holds, whoever dies, and however late a worker wakes that Dask took for dead:

* No one waits. Who may not write, or cannot, says so (None), and the batch goes by Dask.
* One writer a slot: it holds a lock of its open file on the slot's words. The kernel drops the lock
  when the file is closed, so a writer that is killed leaves a slot that can be written again.
* A slot is written only for a batch that is not applied, over one that is; a whole batch is not
  written again. So nobody writes into a slot that is read, or to be read.
* The files' names are random and checked by all who open one: they stand for one generation of the
  graph, and a ticket of another is refused (`StaleTicketError`).
* The files are gone with the process that made them, however that ends, and with a writer that had
  one open just then (``memory_files.py``).

Memory is taken as slots are written, up to the largest batch that each has held, and not given back
before the end.

Not here: which batch goes into which slot, and how large a ring is (``handover.py``).
"""

import fcntl
import mmap
import os
import pickle
import secrets
import struct
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...gpu_core.batch.packed_batch import PackedBatch, padded
from ...gpu_core.batch.raw_rows import RawRows
from ...gpu_core.batch.update_batch import UpdateBatch
from ...gpu_core.errors import GraphtideError
from .memory_files import close_all, new_memory_file, opened, shown_name, write_all

#: What lies in a slot.
Batch = UpdateBatch | PackedBatch | RawRows

#: The arrays of a slot begin here, and slots are a multiple of it.
PAGE_BYTES = mmap.PAGESIZE

_WORD_BYTES = 8

#: Of Linux 5.14 and later: takes memory for a range, and maps it, at once.
_MADV_POPULATE_WRITE = 23
#: A smaller array is copied sooner than the slot is mapped for it.
_LEAST_MAPPED = 1 << 20

#: Words of a slot.
_BOUNDARY, _HELD, _FIRST, _WORDS = range(4)


class StaleTicketError(GraphtideError):
    """A ticket of another generation, or of a slot that holds another batch by now."""


@dataclass(frozen=True)
class RingAddress:
    """Where a ring is, for processes of the same machine and user."""

    pid: int
    #: Numbers of the memory files in that process, slot by slot.
    descriptors: tuple[int, ...]
    #: Random, and part of the files' names.
    token: str
    #: Bytes for the arrays of one batch.
    slot_bytes: int

    @property
    def slots(self) -> int:
        """Number of slots."""
        return len(self.descriptors)

    def file_name(self, slot: int) -> str:
        """What ``/proc`` calls the file of a slot."""
        return shown_name(_name(self.token, slot))


@dataclass(frozen=True)
class Ticket:
    """Stands for a batch in a slot."""

    token: str
    slot: int
    batch_id: int
    #: The batch without its arrays' bytes; it has their types and shapes.
    pickled: bytes
    #: Bytes of each array.
    sizes: tuple[int, ...]
    #: Number of the array that lies first; the others follow in their order.
    first: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return len(self.pickled) + _WORD_BYTES * len(self.sizes)


class Ring:
    """The ring of one generation, in the process of the graph.

    Parameters
    ----------
    slots, slot_bytes
        Number of slots, and bytes of each; made a multiple of `PAGE_BYTES`.
    boundary
        First batch that is not in the graph.

    Raises
    ------
    OSError
        The system has no memory files, or refuses one of this size.
    """

    def __init__(self, slots: int, slot_bytes: int, boundary: int) -> None:
        slot_bytes = _whole_pages(slot_bytes)
        token = secrets.token_hex(8)
        descriptors: list[int] = []
        try:
            memories = [
                new_memory_file(_name(token, slot), PAGE_BYTES + slot_bytes, descriptors)
                for slot in range(slots)
            ]
        except BaseException:
            close_all(descriptors)
            raise
        # Views of batches keep their mappings; the files themselves go with the ring.
        weakref.finalize(self, close_all, descriptors).atexit = False
        self.address = RingAddress(os.getpid(), tuple(descriptors), token, slot_bytes)
        self._words = [np.frombuffer(memory, np.int64, 2) for memory in memories]
        self._bytes = [memoryview(memory).toreadonly()[PAGE_BYTES:] for memory in memories]
        self.advance(boundary)

    def advance(self, boundary: int) -> None:
        """All batches before this one are applied; whoever has views of them must be done."""
        for words in self._words:
            words[_BOUNDARY] = boundary

    def check(self, ticket: Ticket) -> None:
        """Refuse a ticket that is not of this ring, or whose slot holds another batch."""
        if ticket.token != self.address.token:
            msg = f"batch {ticket.batch_id} lies in the memory of another generation of the graph"
            raise StaleTicketError(msg)
        held = int(self._words[ticket.slot][_HELD]) - 1
        if held != ticket.batch_id:
            msg = f"slot {ticket.slot} does not hold batch {ticket.batch_id} any more, but {held}"
            raise StaleTicketError(msg)

    def memory_of(self, ticket: Ticket) -> npt.NDArray[np.uint8]:
        """What a batch fills, from the beginning of its slot on."""
        return self.memory(ticket.slot, sum(padded(size) for size in ticket.sizes))

    def memory(self, slot: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """So many bytes from the beginning of a slot on."""
        return np.frombuffer(self._bytes[slot][:nbytes], np.uint8)

    def read(self, ticket: Ticket) -> Batch:
        """Make the batch of a ticket, of views: valid until `advance` goes beyond it."""
        self.check(ticket)
        memory = self._bytes[ticket.slot]
        starts = _starts(ticket.sizes, ticket.first)
        arrays = [memory[at : at + size] for at, size in zip(starts, ticket.sizes, strict=True)]
        batch: Batch = pickle.loads(ticket.pickled, buffers=arrays)
        return batch


@contextmanager
def opened_slot(address: RingAddress, slot: int, batch_id: int) -> Iterator["OpenSlot | None"]:
    """Open a slot for a batch until the block ends; None where the batch cannot be written there.

    It cannot where the ring is of another machine, or gone; another writer is at work there, or
    either batch is of another time.
    """
    with ExitStack() as stack:
        found = None
        with suppress(OSError):
            descriptor = stack.enter_context(_opened(address, slot))
            if _is_locked(descriptor):
                # A mapping keeps the open file, and its lock, for as long as an array is there.
                stack.callback(_set_lock, descriptor, fcntl.F_UNLCK)
                held, boundary = (
                    _read_word(descriptor, _HELD) - 1,
                    _read_word(descriptor, _BOUNDARY),
                )
                if held == batch_id or not (batch_id < boundary or held >= boundary):
                    found = OpenSlot(address, slot, batch_id, descriptor)
        yield found


class OpenSlot:
    """A slot into which one batch may be written, as long as its file is open."""

    def __init__(self, address: RingAddress, slot: int, batch_id: int, descriptor: int) -> None:
        self._address, self._slot, self._batch_id = address, slot, batch_id
        self._descriptor = descriptor
        #: Whether the batch lies there whole: then it may be read at any time.
        self._is_held = _read_word(descriptor, _HELD) - 1 == batch_id
        self._mapped: npt.NDArray[np.uint8] | None = None

    def memory(self, nbytes: int) -> npt.NDArray[np.uint8] | None:
        """The first bytes of the slot, for an array of the batch that need not be copied then.

        None where there are none, or too few bytes to be worth it. Who asks again gets the same
        memory: what was made of it before is void.
        """
        if self._is_held or not _LEAST_MAPPED <= nbytes <= self._address.slot_bytes:
            return None
        if self._mapped is None or self._mapped.size < nbytes:
            with suppress(OSError):
                mapping = mmap.mmap(self._descriptor, nbytes, offset=PAGE_BYTES)
                # A machine without memory is an error here, and a signal at the first write.
                mapping.madvise(_MADV_POPULATE_WRITE)
                self._mapped = np.frombuffer(mapping, np.uint8)
        mapped = self._mapped
        return None if mapped is None or mapped.size < nbytes else mapped[:nbytes]

    def write(self, batch: Batch) -> Ticket | None:
        """Write the batch; None where it is too large, or memory is short.

        Then it may have an array in `memory` yet (`copied`).
        """
        pickled, arrays = _taken_apart(batch)
        sizes = tuple(array.nbytes for array in arrays)
        if sum(padded(size) for size in sizes) > self._address.slot_bytes:
            return None
        address, slot, descriptor = self._address, self._slot, self._descriptor
        with suppress(OSError):
            if not self._is_held:
                first = self._first_of(arrays)
                for number, at in enumerate(_starts(sizes, first)):
                    if not self._is_there(arrays[number]):
                        write_all(descriptor, arrays[number], PAGE_BYTES + at)
                _write_word(descriptor, _FIRST, first)
                _write_word(descriptor, _HELD, self._batch_id + 1)
            first = _read_word(descriptor, _FIRST)
            return Ticket(address.token, slot, self._batch_id, pickled, sizes, first)
        return None

    def copied(self, batch: Batch) -> Batch:
        """The batch in memory of its own, where an array of it is in the slot's."""
        pickled, arrays = _taken_apart(batch)
        if not any(map(self._is_there, arrays)):
            return batch
        copy: Batch = pickle.loads(pickled, buffers=[bytes(array) for array in arrays])
        return copy

    def _first_of(self, arrays: list[memoryview]) -> int:
        return next((at for at, array in enumerate(arrays) if self._is_there(array)), 0)

    def _is_there(self, array: memoryview) -> bool:
        """Whether an array lies at the beginning of the slot already."""
        if self._mapped is None or not array.nbytes:
            return False
        return _address_of(np.frombuffer(array, np.uint8)) == _address_of(self._mapped)


def is_reachable(address: RingAddress) -> bool:
    """Whether this process can open the ring."""
    with suppress(OSError), _opened(address, 0):
        return True
    return False


def _opened(address: RingAddress, slot: int) -> AbstractContextManager[int]:
    return opened(address.pid, address.descriptors[slot], _name(address.token, slot), os.O_RDWR)


def _is_locked(descriptor: int) -> bool:
    """Take the lock of a slot, for as long as its file is open; False where another has it."""
    try:
        _set_lock(descriptor, fcntl.F_WRLCK)
    except BlockingIOError:
        return False
    return True


def _set_lock(descriptor: int, kind: int) -> None:
    # A lock of the open file, not of the process: workers may be threads of one process.
    # struct flock: type, whence, start, length, and pid 0 as such locks want it.
    wanted = struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, _WORDS * _WORD_BYTES, 0)
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)


def _read_word(descriptor: int, word: int) -> int:
    return int(struct.unpack("q", os.pread(descriptor, _WORD_BYTES, word * _WORD_BYTES))[0])


def _write_word(descriptor: int, word: int, value: int) -> None:
    write_all(descriptor, struct.pack("q", value), word * _WORD_BYTES)


def _taken_apart(batch: Batch) -> tuple[bytes, list[memoryview]]:
    """A batch without its arrays' bytes, and these."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(batch, protocol=5, buffer_callback=buffers.append)
    return pickled, [buffer.raw() for buffer in buffers]


def _starts(sizes: Sequence[int], first: int) -> list[int]:
    """Where each array begins, the one of this number first."""
    starts = [0] * len(sizes)
    order = [first, *(number for number in range(len(sizes)) if number != first)]
    at = 0
    for number in order[: len(sizes)]:
        starts[number] = at
        at += padded(sizes[number])
    return starts


def _address_of(array: npt.NDArray[np.uint8]) -> int:
    return int(array.__array_interface__["data"][0])


def _name(token: str, slot: int) -> str:
    return f"graphtide-{token}-{slot}"


def _whole_pages(nbytes: int) -> int:
    return -(-nbytes // PAGE_BYTES) * PAGE_BYTES
