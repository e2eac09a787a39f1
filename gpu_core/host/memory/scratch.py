"""Scratch memory of a call, from the end of the arena: mark and release, no frees between."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ...image.fields import WORD_BYTES, even


class HostScratch:
    """Mark-and-release memory: arrays of it must not outlive the ``with`` block."""

    def __init__(self, words: npt.NDArray[np.uint32]) -> None:
        self._words = words
        self._top = 0

    def take(self, count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Array of ``count`` items, undefined content, aligned to 8 bytes."""
        kind = np.dtype(dtype)
        words = even(-(-count * kind.itemsize // WORD_BYTES))
        if self._top + words > self._words.size:
            # The caller stated its need; to have it wrong is a bug, not the user's doing.
            msg = f"scratch of {self._words.nbytes} bytes was asked for {words * WORD_BYTES} more"
            raise AssertionError(msg)
        piece = self._words[self._top : self._top + words]
        self._top += words
        return piece.view(kind)[:count]
