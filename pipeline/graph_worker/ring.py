"""Shared-memory slots through which batches reach a graph worker on the same machine.

The graph worker makes an anonymous memory file for each slot and maps it whole (`Ring`). A CPU
worker opens it as ``/proc/<pid>/fd/<n>``, copies the arrays of one batch into it and closes it
(`write`). What travels by Dask is a `Ticket` of a kilobyte or so; the graph worker turns it into
the batch again, of any of the three forms of `ConvertedBatch`, whose arrays are views of the slot,
and says when it has applied it.

A slot's file::

    | words: boundary, batch in this slot + 1 | from `PAGE_BYTES` on: the arrays, one by one

The boundary is the graph's: batches before it are applied, so their slots may be written. The other
word is set when a batch lies in the slot whole, 0 where there never was one.

A file a slot, because the system lets one writer at a time into a file: with 14 writers in one file
each of them wrote 0.7 GB/s, in files of their own 3.4 GB/s (Linux 6.18, 14 of 16 cores).

Invariants, whichever process dies, and however late a worker wakes that Dask took for dead:

* No call waits. A worker that may not write, or cannot, returns None, and the batch goes by Dask.
* One writer a slot: it holds a lock of its open file on the slot's words. The kernel drops the lock
  when the file is closed, so a writer that is killed leaves a slot that can be written again.
* A slot is written only for a batch that is not applied, over one that is; a whole batch is not
  written again. So no process writes into a slot that is read, or to be read.
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
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...gpu_core.batch.packed_batch import PackedBatch, padded
from ...gpu_core.batch.raw_rows import RawRows
from ...gpu_core.batch.update_batch import UpdateBatch
from ...gpu_core.errors import GraphtideError
from .memory_files import close_all, new_memory_file, opened, write_all

#: Forms in which CPU workers hand over a batch (``batch_form.py`` chooses one).
ConvertedBatch = UpdateBatch | PackedBatch | RawRows

#: The arrays of a slot begin here, and slots are a multiple of it.
PAGE_BYTES = mmap.PAGESIZE

_WORD_BYTES = 8

#: Words of a slot.
_BOUNDARY, _HELD = 0, 1


class StaleTicketError(GraphtideError):
    """A ticket of another generation, or of a slot that holds another batch by now."""


@dataclass(frozen=True)
class RingAddress:
    """Address of a ring, for processes of the same machine and user."""

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


@dataclass(frozen=True)
class Ticket:
    """Stands for a batch in a slot."""

    token: str
    slot: int
    batch_id: int
    #: The batch without its arrays' bytes; it has their types and shapes.
    pickled: bytes
    #: Bytes of each array, in the order in which they lie in the slot.
    sizes: tuple[int, ...]

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
        self._close_files = weakref.finalize(self, close_all, descriptors)
        self._close_files.atexit = False
        self.address = RingAddress(os.getpid(), tuple(descriptors), token, slot_bytes)
        self._words = [np.frombuffer(memory, np.int64, 2) for memory in memories]
        self._bytes = [memoryview(memory).toreadonly()[PAGE_BYTES:] for memory in memories]
        self.advance(boundary)

    def close(self) -> None:
        """Release the files, and the memory that no batch is a view of."""
        self._close_files()
        self._words, self._bytes = [], []

    def advance(self, boundary: int) -> None:
        """All batches before this one are applied; no views of them may be in use."""
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
        """Bytes that a batch fills, from the beginning of its slot on."""
        return self.memory(ticket.slot, sum(padded(size) for size in ticket.sizes))

    def memory(self, slot: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """``nbytes`` bytes from the beginning of a slot on."""
        return np.frombuffer(self._bytes[slot][:nbytes], np.uint8)

    def read(self, ticket: Ticket) -> ConvertedBatch:
        """Make the batch of a ticket, of views: valid until `advance` goes beyond it."""
        self.check(ticket)
        start = 0
        arrays = []
        for size in ticket.sizes:
            arrays.append(self._bytes[ticket.slot][start : start + size])
            start += padded(size)
        batch: ConvertedBatch = pickle.loads(ticket.pickled, buffers=arrays)
        return batch


def write(address: RingAddress, slot: int, batch_id: int, batch: ConvertedBatch) -> Ticket | None:
    """Copy a batch into a slot; None if that is not possible, and Dask has to transfer it.

    It is not possible if the batch is larger than a slot, the ring is on another machine or gone,
    memory is short, another process writes there, or the slot is in use for another batch.
    """
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(batch, protocol=5, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    sizes = tuple(array.nbytes for array in arrays)
    if sum(padded(size) for size in sizes) > address.slot_bytes:
        return None
    with suppress(OSError), _opened(address, slot) as descriptor:
        if not _is_locked(descriptor):
            return None
        boundary = _read_word(descriptor, _BOUNDARY)
        held = _read_word(descriptor, _HELD) - 1
        if held != batch_id:
            if batch_id < boundary or held >= boundary:
                return None
            start = PAGE_BYTES
            for array in arrays:
                write_all(descriptor, array, start)
                start += padded(array.nbytes)
            write_all(descriptor, struct.pack("q", batch_id + 1), _HELD * _WORD_BYTES)
        return Ticket(address.token, slot, batch_id, pickled, sizes)
    return None


def is_reachable(address: RingAddress) -> bool:
    """Whether this process can open the ring."""
    with suppress(OSError), _opened(address, 0):
        return True
    return False


def _opened(address: RingAddress, slot: int) -> AbstractContextManager[int]:
    return opened(address.pid, address.descriptors[slot], _name(address.token, slot), os.O_RDWR)


def _is_locked(descriptor: int) -> bool:
    """Take the lock of a slot, for as long as its file is open; False where another has it."""
    # A lock of the open file, not of the process: workers may be threads of one process.
    # struct flock: type, whence, start, length, and pid 0 as such locks want it.
    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 2 * _WORD_BYTES, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
    except BlockingIOError:
        return False
    return True


def _read_word(descriptor: int, word: int) -> int:
    return int(struct.unpack("q", os.pread(descriptor, _WORD_BYTES, word * _WORD_BYTES))[0])


def _name(token: str, slot: int) -> str:
    return f"graphtide-{token}-{slot}"


def _whole_pages(nbytes: int) -> int:
    return -(-nbytes // PAGE_BYTES) * PAGE_BYTES
