"""Scratch memory at the end of the arena: a stack with mark and release.

Host twin: `host/memory/scratch.py`. Pieces begin at multiples of 128 bytes, so that a warp reads
whole lines. Work of one stream runs in order: words that were released may be allocated again at
once.

Memory that only kernels access is an address (`DeviceScratch.reserve`) or a `Piece`, because the
host spends more time on constructing an array than on all else here.
"""

from types import ModuleType
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from ...jit.compile import inlined
from ..device.device import Array, Device
from ..device.packed_arguments import Piece, address

#: Alignment of pieces, in bytes.
ALIGNMENT = 128
#: Pieces that a call may take beyond the bytes that it states.
PIECES = 64
#: Bytes that alignment may cost a call.
SLACK_BYTES = ALIGNMENT * PIECES

#: Bytes of an item, of the types that pieces have.
_ITEM_BYTES: Final = {np.uint8: 1, np.uint32: 4, np.int64: 8, np.uint64: 8}


@inlined
def aligned(start):
    """Address of the next piece, from ``start`` on."""
    return start + (-start) % ALIGNMENT


class Scratch(Protocol):
    """Memory that a call takes arrays from, for its own length."""

    def take(self, count: int, dtype: type[np.generic]) -> Any:
        """Array of ``count`` items, undefined content, aligned to 8 bytes at least."""


class PoolScratch:
    """Scratch from CuPy's pool: arrays live as long as they are held."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def take(self, count: int, dtype: npt.DTypeLike) -> Array:
        """Array of ``count`` items, undefined content."""
        return self._device.empty(count, dtype)


class DeviceScratch:
    """Mark-and-release memory: nothing of it may be used after the ``with`` block.

    Parameters
    ----------
    words
        The array (uint32, or bytes) that the memory is part of.
    begin, end
        Bytes of it that are allocated; by default all.
    """

    def __init__(self, xp: ModuleType, words: Any, begin: int = 0, end: int | None = None) -> None:
        self._xp = xp
        # It is held while the scratch is: addresses alone would not keep it.
        self._words = words
        self._base = address(words)
        self._top = self._base + begin
        self._top += -self._top % ALIGNMENT
        self._end = self._base + (words.nbytes if end is None else end)

    def reserve(self, size: int) -> int:
        """Address of ``size`` bytes, undefined content, a multiple of 128."""
        start = self._top
        if start + size > self._end:
            # The caller stated its need; to have it wrong is a bug, not the user's doing.
            msg = f"scratch has {self._end - start} bytes left and was asked for {size}"
            raise AssertionError(msg)
        self._top = start + -(-size // ALIGNMENT) * ALIGNMENT
        return start

    def take(self, count: int, dtype: npt.DTypeLike) -> Any:
        """Array of ``count`` items, undefined content, aligned to 128 bytes."""
        kind = np.dtype(dtype)
        return self.array_at(self.reserve(count * kind.itemsize), count, kind)

    def array_at(self, address: int, count: int, dtype: npt.DTypeLike) -> Any:
        """Array at an address that `reserve` returned."""
        kind, start = np.dtype(dtype), address - self._base
        # What makes an array out of a piece of memory is all that CuPy and NumPy say differently.
        if self._xp is np:
            return self._words.view(np.uint8)[start : start + count * kind.itemsize].view(kind)
        return self._xp.ndarray((int(count),), kind, self._words.data + start)


class Pieces:
    """Scratch of which only kernels see the content."""

    def __init__(self, scratch: DeviceScratch) -> None:
        self._scratch = scratch

    def take(self, count: int, dtype: type[np.generic]) -> Piece:
        """Piece of ``count`` items, undefined content, aligned to 128 bytes."""
        return Piece(self._scratch.reserve(count * _ITEM_BYTES[dtype]), count)
