"""Scratch for the listed rows of batches on pages: how much, remembered from batch to batch.

What is listed: ``segmented.cuh``. How much there is, a batch finds out on the device; where that is
more than there is room for, it is applied again with more (`segmented.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple


class Room(NamedTuple):
    """How much a delta may list: rows, entries of the batch, old entries."""

    items: int
    entries: int
    old_entries: int

    def within(self, *most: int) -> Room:
        """The same, no more of each than can be."""
        return Room(*(min(pair) for pair in zip(self, most, strict=True)))


_LEAST_ROOM: Final = Room(1 << 12, 1 << 12, 1 << 14)


@dataclass
class SegmentedState:
    """What a graph of such a layout remembers from batch to batch."""

    room: Room = _LEAST_ROOM

    def provide(self, listed: Room) -> None:
        """Make room for deltas of which so much was listed."""
        wanted = (number + number // 2 for number in listed)
        self.room = Room(*(max(pair) for pair in zip(self.room, wanted, strict=True)))

    def record_aging(self) -> None:
        """After a batch: what is not needed again shrinks by and by."""
        less = (number - number // 16 for number in self.room)
        self.room = Room(*(max(pair) for pair in zip(less, _LEAST_ROOM, strict=True)))

    def forget(self) -> None:
        """Start anew: a refused batch may have asked for more than there can be."""
        self.room = _LEAST_ROOM
