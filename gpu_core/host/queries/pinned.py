"""Immutable copy of the graph after one batch, in host memory (`engine.Pinned`).

CUDA twin: ``cuda/queries/pinned.py``.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt

from ...image.memory_size import memory_bytes
from ...image.pinned import PinnedGraph, PinnedImage, PinnedMemory, Pins, pinned_bytes
from ...jit.compile import compiled
from ...jit.parallel import for_ranges
from ...kind import GraphKind
from ..memory.arena import Arena
from .host_reader import HostReader

UInt32s = npt.NDArray[np.uint32]


class PinnedHostGraph(PinnedGraph[Arena], HostReader):
    """A copy of a graph that does not change.

    Parameters
    ----------
    kind, arena
        The graph; it is not written to meanwhile.
    pins
        Where the bytes are accounted for.
    spare_bytes
        Bytes that must be left beside the copy.

    Raises
    ------
    ArenaFullError
        The machine has no room for the copy.
    """

    def __init__(self, kind: GraphKind, arena: Arena, pins: Pins, spare_bytes: int) -> None:
        free_bytes = memory_bytes() - arena.memory().graph_bytes - pins.nbytes
        self._memory = PinnedMemory(pins, pinned_bytes(arena), free_bytes, spare_bytes)
        image = self._memory.fill(lambda: PinnedImage(arena, _empty, _copy))
        # What is read of an arena, an image has.
        super().__init__(kind, cast("Arena", image))

    def close(self) -> None:
        """Release the memory, once no reader uses it any more."""
        with self.lock:
            self._memory.is_closed = True
            self.forget_copies()
            self.arena.image = self.arena.image[:0].copy()
            self._memory.give_back()


def _empty(words: int) -> UInt32s:
    return np.empty(words, np.uint32)


def _copy(target: UInt32s, words: UInt32s) -> None:
    for_ranges(copy_words, words.size, target, words)


@compiled
def copy_words(low, high, target, words):
    """Copy words ``low … high - 1``."""
    # A loop: Numba takes 2 s to compile an assignment to a slice.
    for word in range(low, high):
        target[word] = words[word]
