"""A ring of slots in shared memory: how batches reach a graph worker on the same machine.

The graph worker makes an anonymous memory file and maps it whole (`Ring`). A CPU worker opens it as
``/proc/<pid>/fd/<n>``, copies the arrays of one batch into one slot and closes it (`write`). What
travels by Dask is a `Ticket` of a kilobyte or so; the graph worker turns it into an `UpdateBatch`
whose arrays are views of the slot, and says when it has applied it.

::

    | words: boundary, batch in slot 0 + 1, batch in slot 1 + 1, … | slot 0 | slot 1 | …

The boundary is the graph's: batches before it are applied, so their slots may be written. A slot's
word is set when a batch lies in it whole, 0 where there never was one.

What holds, whoever dies, and however late a worker wakes that Dask took for dead:

* No one waits. Who may not write, or cannot, says so (None), and the batch goes by Dask.
* One writer a slot: it holds a lock of its open file on the slot's word. The kernel drops the lock
  when the file is closed, so a writer that is killed leaves a slot that can be written again.
* A slot is written only for a batch that is not applied, over one that is; a whole batch is not
  written again. So nobody writes into a slot that is read, or to be read.
* The file's name is random and checked by all who open it: it stands for one generation of the
  graph, and a ticket of another is refused (`StaleTicketError`).
* The file has no place in any file system. It is gone with the process that made it, however that
  ends, and with a writer that had it open just then.

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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..gpu_core.batch import UpdateBatch
from ..gpu_core.errors import GraphtideError
from ..gpu_core.packed_batch import PackedBatch, padded
from ..gpu_core.raw_rows import RawRows

#: What lies in a slot.
Batch = UpdateBatch | PackedBatch | RawRows

#: Slots, and the first of them, begin at multiples of so many bytes.
PAGE_BYTES = mmap.PAGESIZE

_WORD_BYTES = 8


class StaleTicketError(GraphtideError):
    """A ticket of another generation, or of a slot that holds another batch by now."""


@dataclass(frozen=True)
class RingAddress:
    """Where a ring is, for processes of the same machine and user."""

    pid: int
    #: Number of the memory file in that process.
    descriptor: int
    #: Random, and part of the file's name.
    token: str
    slots: int
    slot_bytes: int

    @property
    def file_name(self) -> str:
        """What ``/proc`` calls the file."""
        return f"/memfd:{_name(self.token)} (deleted)"

    def first_byte(self, slot: int) -> int:
        """Where a slot begins."""
        return _words_bytes(self.slots) + slot * self.slot_bytes


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
        if not hasattr(os, "memfd_create"):
            msg = "this system has no memory files"
            raise OSError(msg)
        slot_bytes = _whole_pages(slot_bytes)
        nbytes = _words_bytes(slots) + slots * slot_bytes
        token = secrets.token_hex(8)
        descriptor = os.memfd_create(_name(token), os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(descriptor, nbytes)
            # A file that shrinks under a mapping kills who reads there.
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
            memory = mmap.mmap(descriptor, nbytes)
        except BaseException:
            os.close(descriptor)
            raise
        # Views of batches keep the mapping; the file itself goes with the ring.
        weakref.finalize(self, os.close, descriptor).atexit = False
        self.address = RingAddress(os.getpid(), descriptor, token, slots, slot_bytes)
        self._words = np.frombuffer(memory, np.int64, 1 + slots)
        self._bytes = memoryview(memory).toreadonly()
        self.advance(boundary)

    def advance(self, boundary: int) -> None:
        """All batches before this one are applied; whoever has views of them must be done."""
        self._words[0] = boundary

    def check(self, ticket: Ticket) -> None:
        """Refuse a ticket that is not of this ring, or whose slot holds another batch."""
        if ticket.token != self.address.token:
            msg = f"batch {ticket.batch_id} lies in the memory of another generation of the graph"
            raise StaleTicketError(msg)
        held = int(self._words[1 + ticket.slot]) - 1
        if held != ticket.batch_id:
            msg = f"slot {ticket.slot} does not hold batch {ticket.batch_id} any more, but {held}"
            raise StaleTicketError(msg)

    def memory_of(self, ticket: Ticket) -> npt.NDArray[np.uint8]:
        """What a batch fills, from the beginning of its slot on."""
        start = self.address.first_byte(ticket.slot)
        nbytes = sum(padded(size) for size in ticket.sizes)
        return np.frombuffer(self._bytes[start : start + nbytes], np.uint8)

    def read(self, ticket: Ticket) -> Batch:
        """Make the batch of a ticket, of views: valid until `advance` goes beyond it."""
        self.check(ticket)
        start = self.address.first_byte(ticket.slot)
        arrays = []
        for size in ticket.sizes:
            arrays.append(self._bytes[start : start + size])
            start += padded(size)
        batch: Batch = pickle.loads(ticket.pickled, buffers=arrays)
        return batch


def write(address: RingAddress, slot: int, batch_id: int, batch: Batch) -> Ticket | None:
    """Copy a batch into a slot; None where that cannot be, and Dask's transfer has to do.

    It cannot where the batch is larger than a slot; the ring is of another machine, or gone; memory
    is short; another writer is at work there, or either batch is of another time.
    """
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(batch, protocol=5, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    sizes = tuple(array.nbytes for array in arrays)
    if sum(padded(size) for size in sizes) > address.slot_bytes:
        return None
    with suppress(OSError), _opened(address) as descriptor:
        if not _is_locked(descriptor, slot):
            return None
        boundary = _read_word(descriptor, 0)
        held = _read_word(descriptor, 1 + slot) - 1
        if held != batch_id:
            if batch_id < boundary or held >= boundary:
                return None
            start = address.first_byte(slot)
            for array in arrays:
                _write_all(descriptor, array, start)
                start += padded(array.nbytes)
            _write_all(descriptor, struct.pack("q", batch_id + 1), (1 + slot) * _WORD_BYTES)
        return Ticket(address.token, slot, batch_id, pickled, sizes)
    return None


def is_reachable(address: RingAddress) -> bool:
    """Whether this process can open the ring."""
    with suppress(OSError), _opened(address):
        return True
    return False


@contextmanager
def _opened(address: RingAddress) -> Iterator[int]:
    path = f"/proc/{address.pid}/fd/{address.descriptor}"
    # Elsewhere these numbers may be those of any file. It is looked at before, so that no such file
    # is opened, and after, so that none is written to.
    _check_name(path, address)
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        _check_name(f"/proc/self/fd/{descriptor}", address)
        yield descriptor
    finally:
        os.close(descriptor)


def _check_name(path: str, address: RingAddress) -> None:
    if os.readlink(path) != address.file_name:
        msg = f"{path} is not {address.file_name}"
        raise FileNotFoundError(msg)


def _is_locked(descriptor: int, slot: int) -> bool:
    """Take the lock of a slot, for as long as the file is open; False where another has it."""
    # A lock of the open file, not of the process: workers may be threads of one process.
    # struct flock: type, whence, start, length, and pid 0 as such locks want it.
    start, length = (1 + slot) * _WORD_BYTES, _WORD_BYTES
    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
    except BlockingIOError:
        return False
    return True


def _read_word(descriptor: int, word: int) -> int:
    return int(struct.unpack("q", os.pread(descriptor, _WORD_BYTES, word * _WORD_BYTES))[0])


def _write_all(descriptor: int, data: bytes | memoryview, start: int) -> None:
    # Not through a mapping: a full machine is an error here, and a signal there, and the first
    # write of a page costs half.
    view = memoryview(data)
    while view.nbytes:
        written = os.pwrite(descriptor, view, start)
        view, start = view[written:], start + written


def _name(token: str) -> str:
    return f"graphtide-{token}"


def _words_bytes(slots: int) -> int:
    return _whole_pages((1 + slots) * _WORD_BYTES)


def _whole_pages(nbytes: int) -> int:
    return -(-nbytes // PAGE_BYTES) * PAGE_BYTES
