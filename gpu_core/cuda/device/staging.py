"""Page-locked staging for batches that come from pageable host memory.

The device copies from page-locked memory by itself, and batches are narrowed directly into it. Two
blocks alternate, so the next batch is packed while one is copied. They grow to five quarters of the
largest batch and are kept: once both have held such a batch, nothing more is allocated.

Not here: the copies themselves (`transfer.py`).
"""

import threading
import weakref
from contextlib import suppress
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...batch.packed_batch import PackedBatch, pack
from ...batch.update_batch import UpdateBatch
from ...jit.parallel import thread_count
from .device import Device
from .packed_arguments import DeviceList
from .transfer import send

Bytes = npt.NDArray[np.uint8]

_LEAST_BYTES: Final = 1 << 16


class Staging:
    """Two blocks of page-locked memory; they go back to CuPy's pool with the last reference."""

    def __init__(self, device: Device) -> None:
        #: Where batches are copied to.
        self.device = device
        self._lock = threading.Lock()
        self._blocks: list[Bytes] = [np.empty(0, np.uint8)] * 2
        self._current = 0
        #: Behind the last copy out of each block. An emulated device has no streams.
        self._copied: list[Any] = []
        cuda: Any = getattr(device.xp, "cuda", None)
        if cuda is not None:
            self._copied += (cuda.Event(disable_timing=True) for _ in self._blocks)
            # The next owner of the memory may write to it at once.
            weakref.finalize(self, _wait_for, self._copied).atexit = False

    @property
    def nbytes(self) -> int:
        """Bytes of both blocks."""
        return sum(block.nbytes for block in self._blocks)

    def send(self, batch: UpdateBatch, *, dense: bool) -> tuple[PackedBatch, dict[str, DeviceList]]:
        """Narrow a valid batch and begin to copy it, on the current stream; by any thread.

        Parameters
        ----------
        dense
            Whether the graph's ids are vertex indices.

        Returns
        -------
        packed, lists
            The batch, whose own arrays are void once others are sent, and its lists there.

        Raises
        ------
        BatchError
            ``dense``, and an id is no vertex index.
        """
        with self._lock:
            packed = pack(batch, dense=dense, memory=self._take, threads=thread_count())
            lists = send(self.device, packed.arrays)
            if self._copied:
                self._copied[self._current].record()
        return packed, lists

    def _take(self, nbytes: int) -> Bytes:
        """Block of ``nbytes`` bytes that no copy reads any more."""
        self._current = 1 - self._current
        if self._copied:
            with self.device.errors_named("waiting for a copy"):
                self._copied[self._current].synchronize()
        if self._blocks[self._current].size < nbytes:
            size = max(_LEAST_BYTES, nbytes * 5 // 4)
            self._blocks[self._current] = self.device.page_locked(size, np.uint8)
        return self._blocks[self._current][:nbytes]


def _wait_for(events: list[Any]) -> None:
    with suppress(Exception):  # a device that broke reads no more
        for event in events:
            event.synchronize()
