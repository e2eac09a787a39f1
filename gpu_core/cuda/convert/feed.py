"""Upload of batches while earlier ones are applied: page-locked memory and a copy stream.

A feed copies on a stream of its own, and converts raw rows on another, so the next batch is made
while the engine applies the one before. What it copies from is best page-locked: then the device
fetches it by itself, at the speed of the bus. Memory that many batches come through, one after the
other, is locked when the first of them does (`Feed.lock`), and unlocked with the feed, before it
can be unmapped.

::

    feed.lock(memory)                 once for memory that is used again and again
    upload = feed.send(batch)         the copy begins, and what is made of it
    graph.apply(upload)               waits for it on the device; then the memory may be written

Not here: the copies themselves (`transfer.py`), and batches of callers that send nothing ahead
(`batch.upload`).
"""

import weakref
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...batch.packed_batch import PackedBatch
from ...batch.raw_rows import RawRows
from ...batch.update_batch import UpdateBatch
from ..device.packed_arguments import DeviceList
from ..device.sorting.key_buckets import Skew
from ..device.staging import Staging
from ..device.transfer import send
from ..update.batch import DeviceBatch, device_batch
from .raw_edges import Conversion, begin_edges

Bytes = npt.NDArray[np.uint8]

#: Memory is locked in whole pages of the host.
_PAGE_BYTES = 4096
#: Share of what a batch fills that is locked beyond it: the next batch is of nearly its size.
_SPARE = 1 / 16


class Upload:
    """A batch on its way. Made by `Feed.send`.

    It is kept until it is applied: its memory on the device may then serve the next copy at once.
    """

    def __init__(self, source: PackedBatch | RawRows, make: Callable[[], DeviceBatch]) -> None:
        # Its arrays must stay while they are copied.
        self._source = source
        #: Make the batch of what has been sent; work of the current stream waits for it, and the
        #: host for the result of a conversion.
        self.batch = make


class Feed:
    """Sends batches for one graph to its device.

    Parameters
    ----------
    staging
        Memory that batches which are not packed yet go through, and their device.
    dense
        Whether the graph's ids are vertex indices.
    """

    def __init__(self, staging: Staging, *, dense: bool) -> None:
        self._staging, self._device = staging, staging.device
        self._dense = dense
        #: Of the rows that it has sent.
        self.skew = Skew()
        #: CuPy's module for streams; NumPy, which stands for it in tests, has none.
        self._cuda: Any = getattr(self._device.xp, "cuda", None)
        # Batches are sent without the engine's lock, which would make its device the current one.
        with self._device.current():
            self._stream = self._new_stream()
            self._conversions = self._new_stream()
        #: First byte of each piece of memory that is locked -> its bytes, and what keeps it mapped.
        self._locked: dict[int, tuple[int, Bytes]] = {}
        if self._cuda:
            held = self._cuda.runtime, self._stream, self._locked
            # The end of the process unlocks it as well, and CUDA may be gone by then.
            weakref.finalize(self, _unlock_all, *held).atexit = False

    def _new_stream(self) -> Any:
        return self._cuda.Stream(non_blocking=True) if self._cuda else None

    def lock(self, memory: Bytes, room: int) -> None:
        """Page-lock memory that batches come through; it is not written until this returns.

        Memory that the system does not lock is copied from as it is.

        Parameters
        ----------
        memory
            What the batch that is there fills; begins at a page.
        room
            Bytes from its beginning that a batch may fill.
        """
        if self._cuda is None:
            return
        runtime, first = self._cuda.runtime, memory.ctypes.data
        locked_bytes, _ = self._locked.get(first, (0, memory))
        if locked_bytes >= memory.size:
            return
        if locked_bytes:
            with self._device.errors_named("unlocking memory"):
                self._stream.synchronize()
                del self._locked[first]
                runtime.hostUnregister(first)
        size = min(memory.size + int(memory.size * _SPARE), room)
        size = min(-(-size // _PAGE_BYTES) * _PAGE_BYTES, room)
        try:
            runtime.hostRegister(first, size, 0)
        except runtime.CUDARuntimeError:
            return
        self._locked[first] = size, memory

    def send(self, batch: UpdateBatch | PackedBatch | RawRows) -> Upload:
        """Begin to copy a valid batch, or what it is to be made of, to the device, and to make it.

        What it lies in stays as it is until the batch is applied; an `UpdateBatch` is narrowed into
        memory of the feed's own.

        Raises
        ------
        BatchError
            An id of a batch that is not packed yet cannot be a vertex index.
        """
        with self._device.current():
            if isinstance(batch, RawRows):
                return Upload(batch, self._converted(batch).batch)
            return self._sent(batch)

    def _sent(self, batch: UpdateBatch | PackedBatch) -> Upload:
        """Begin to copy a batch."""
        with self._device.errors_named("copying to the device"), self._stream or nullcontext():
            if isinstance(batch, UpdateBatch):
                packed, sent = self._staging.send(batch, dense=self._dense)
            else:
                packed, sent = batch, send(self._device, batch.arrays)
            return Upload(packed, partial(self._received, packed, sent, self._after_copies()))

    def _received(
        self, packed: PackedBatch, sent: dict[str, DeviceList], copied: Any
    ) -> DeviceBatch:
        if copied is not None:
            with self._device.errors_named("waiting for a copy"):
                self._cuda.get_current_stream().wait_event(copied)
        return device_batch(packed, sent)

    def _converted(self, rows: RawRows) -> Conversion:
        """Begin to copy rows, and to convert them.

        All memory is of the stream that converts: what an earlier conversion gave back is at rest,
        since the owner of a conversion waits for it (`PendingReport`).
        """
        with self._device.errors_named("converting a batch"), self._conversions or nullcontext():
            sent = replace(rows, arrays=send(self._device, rows.arrays, self._stream))
            if self._conversions is not None:
                self._conversions.wait_event(self._after_copies())
            return begin_edges(self._device, sent, self.skew)

    def _after_copies(self) -> Any:
        """Event after all copies up to now; None on an emulated device."""
        return self._stream and self._stream.record(self._cuda.Event(disable_timing=True))


def _unlock_all(runtime: Any, stream: Any, locked: dict[int, tuple[int, Bytes]]) -> None:
    with suppress(Exception):  # a broken device has released it
        stream.synchronize()
        for first in locked:
            runtime.hostUnregister(first)
    locked.clear()
