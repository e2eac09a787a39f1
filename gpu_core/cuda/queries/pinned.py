"""Immutable copy of the graph after one batch, in device memory (`engine.Pinned`).

Host twin: ``host/queries/pinned.py``.

All epochs of a device work on one stream, which is not that of the engines. The copy is made there:
after the batches that were launched before, and batches to come wait for it on the device, the
host for nothing. What was taken on that stream goes back to CuPy's pool for that stream, so work
that is still under way is never overtaken by the next owner of its memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from ...engine import HostTwin
from ...image.fields import WORD_BYTES
from ...image.pinned import PinnedGraph, PinnedImage, PinnedMemory, Pins, pinned_bytes
from ...kind import GraphKind
from ..device.device import Device
from ..device.stream import StreamLock
from ..memory.arena import DeviceArena
from ..memory.pool import free_bytes, release_after_epoch
from ..memory.scratch import SLACK_BYTES, DeviceScratch
from .device_reader import DeviceReader


class PinnedDeviceGraph(PinnedGraph[DeviceArena], DeviceReader):
    """A copy of a graph that does not change.

    Parameters
    ----------
    kind, device, arena
        The graph. Its lock is held, so work on it is on the current stream.
    host_engine
        As of `DeviceReader`.
    pins
        Where the bytes are accounted for.
    spare_bytes
        Bytes that must be left beside the copy.

    Raises
    ------
    ArenaFullError
        The device has no room for the copy.
    """

    def __init__(
        self,
        kind: GraphKind,
        device: Device,
        arena: DeviceArena,
        host_engine: HostTwin,
        pins: Pins,
        spare_bytes: int,
    ) -> None:
        self._pins = pins
        nbytes = _in_few_sizes(pinned_bytes(arena))
        self._memory = PinnedMemory(pins, nbytes, free_bytes(device), spare_bytes)
        lock = StreamLock(device, of_epochs=True)
        # Batches to come wait for the copy on the device: the host need not wait for it here.
        lock.waits_at_end = False
        with lock:
            image = self._memory.fill(lambda: _PinnedArena(arena))
            # What is read of an arena, an image has.
            readable = cast("DeviceArena", image)
            super().__init__(kind, device, readable, lock, self._scratch, host_engine)
        lock.waits_at_end = True

    @contextmanager
    def _scratch(self, need_bytes: int) -> Iterator[DeviceScratch]:
        memory = self.device.empty(_in_few_sizes(need_bytes) + SLACK_BYTES, np.uint8)
        yield DeviceScratch(self.device.xp, memory)

    def close(self) -> None:
        """Give the memory back to CuPy's pool; where there is much of it, to the device."""
        with self.lock:
            self._memory.is_closed = True
            self.forget_copies()
            self.forget_order()
            self.maintained.clear()
            self.arena.image = self.arena.image[:0].copy()
        self._memory.give_back()
        release_after_epoch(self.device, beside_others=self._pins.nbytes > 0)


def _in_few_sizes(nbytes: int) -> int:
    """Bytes to take for so many: an eighth more at most.

    An epoch needs a little more than the one before, and finds what that has left in CuPy's pool
    only if both are of one size.
    """
    step = 1 << max(nbytes.bit_length() - 4, 12)
    return -(-nbytes // step) * step


class _PinnedArena(PinnedImage):
    """The image, on the device of its source."""

    def __init__(self, source: DeviceArena) -> None:
        self.device = source.device
        super().__init__(source, self._empty)

    def _empty(self, words: int) -> Any:
        return self.device.empty(_in_few_sizes(WORD_BYTES * words) // WORD_BYTES, np.uint32)[:words]
