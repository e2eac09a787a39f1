"""Scratch memory of a call on the device, from the end of the arena: mark and release.

Host twin: `host/scratch.py`. Pieces begin at multiples of 128 bytes, so that a warp reads whole
lines. Work of one stream runs in order: words that were released may be handed out again at once.
"""

from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

#: Pieces begin at multiples of so many bytes.
ALIGNMENT = 128
#: Pieces that a call may take beyond the bytes that it states.
PIECES = 64
#: Bytes that alignment may cost a call.
SLACK_BYTES = ALIGNMENT * PIECES


class DeviceScratch:
    """Mark-and-release memory: arrays of it must not outlive the ``with`` block."""

    def __init__(self, xp: ModuleType, words: Any) -> None:
        self._xp = xp
        self._words = words
        # What makes an array out of a piece of memory is all that CuPy and NumPy say differently.
        self._of_numpy = xp is np
        address = words.ctypes.data if self._of_numpy else words.data.ptr
        self._top = -address % ALIGNMENT
        self._size = words.nbytes

    def take(self, count: int, dtype: npt.DTypeLike) -> Any:
        """Array of ``count`` items, undefined content, aligned to 128 bytes."""
        kind = np.dtype(dtype)
        start, size = self._top, count * kind.itemsize
        if start + size > self._size:
            # The caller stated its need; to have it wrong is a bug, not the user's doing.
            left = self._size - start
            msg = f"scratch of {self._size} bytes has {left} left and was asked for {size}"
            raise AssertionError(msg)
        self._top = start + -(-size // ALIGNMENT) * ALIGNMENT
        if self._of_numpy:
            return self._words.view(np.uint8)[start : start + size].view(kind)
        return self._xp.ndarray((int(count),), kind, self._words.data + start)

    def allocate(self, size: int) -> Any:
        """uint8 array of ``size`` bytes, for `device.Device.using_scratch`."""
        return self.take(size, np.uint8)
