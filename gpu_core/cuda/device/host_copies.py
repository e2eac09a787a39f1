"""Copies of large arrays of a device in memory of the host, on many threads.

The driver copies to page-locked memory at the speed of the bus. To other memory it copies on one
thread, which has to take each page first: 64 MB take 20 ms. To page-lock memory takes longer still,
31 ms, while no thread of the process gets anything else to the GPU. So two page-locked blocks are
kept: while one is filled, threads copy the other to where it belongs, 4 ms in all.

Not here: what is smaller than `LEAST_BYTES` (``arrays.py``).
"""

import threading
from contextlib import suppress
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...jit.parallel import for_ranges

Bytes = npt.NDArray[np.uint8]

#: Bytes from which a copy is made here.
LEAST_BYTES: Final = 4 << 20
_BLOCK_BYTES: Final = 8 << 20
#: Bytes that a thread copies, at least.
_PIECE_BYTES: Final = 1 << 20


class HostCopies:
    """The blocks of one device, made with the first copy; one array is copied at a time.

    Parameters
    ----------
    cuda
        ``cupy.cuda``.
    """

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._lock = threading.Lock()
        self._blocks: list[_Block] = []

    def copy(self, array: Any) -> npt.NDArray[Any]:
        """Copy a contiguous array, after all work before on the current stream of its device."""
        copied = np.empty(array.shape, array.dtype)
        target = copied.reshape(-1).view(np.uint8)
        stream = self._cuda.get_current_stream()
        # Before others have to wait for this one.
        stream.synchronize()
        with self._lock:
            if not self._blocks:
                self._blocks = [_Block(self._cuda) for _ in range(2)]
            try:
                self._fill(target, array.data.ptr, stream)
            except BaseException:
                # Ctrl-C, say: the next copy is given the same blocks.
                with suppress(Exception):
                    stream.synchronize()
                raise
        return copied

    def _fill(self, target: Bytes, source: int, stream: Any) -> None:
        filled: tuple[_Block, Bytes] | None = None
        for number, first in enumerate(range(0, target.size, _BLOCK_BYTES)):
            block, part = self._blocks[number % 2], target[first : first + _BLOCK_BYTES]
            block.begin(source + first, part.size, stream)
            if filled is not None:
                filled[0].empty_into(filled[1])
            filled = block, part
        if filled is not None:
            filled[0].empty_into(filled[1])


class _Block:
    """Page-locked memory, and an event after the copy that fills it."""

    def __init__(self, cuda: Any) -> None:
        self._runtime = cuda.runtime
        self._memory = cuda.alloc_pinned_memory(_BLOCK_BYTES)
        self._bytes: Bytes = np.frombuffer(self._memory, np.uint8, _BLOCK_BYTES)
        self._filled = cuda.Event(disable_timing=True)

    def begin(self, source: int, nbytes: int, stream: Any) -> None:
        """Have the device fill it from an address."""
        # 2: device to host.
        self._runtime.memcpyAsync(self._memory.ptr, source, nbytes, 2, stream.ptr)
        self._filled.record(stream)

    def empty_into(self, part: Bytes) -> None:
        """Copy what it was filled with, once that is there."""
        self._filled.synchronize()
        for_ranges(
            _copy_range, part.size, self._bytes, part,
            block=_PIECE_BYTES, serial_items=2 * _PIECE_BYTES,
        )  # fmt: skip


def _copy_range(low: int, high: int, source: Bytes, target: Bytes) -> None:
    np.copyto(target[low:high], source[low:high])
