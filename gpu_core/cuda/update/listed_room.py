"""Scratch for the listed rows of batches on pages: how much, remembered from batch to batch.

What is listed: ``segmented.cuh``. How much there is, a batch finds out on the device; where that is
more than there is room for, it is applied again with more (`segmented.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from ...image.fields import CLASSES, Field
from ..memory import free_runs
from ..memory.scratch import ALIGNMENT
from ..structs import BLOCK

if TYPE_CHECKING:
    from .state import UpdatableGraph

#: As in ``segmented.cuh``: entries of a tile, bytes of ``Item`` and ``Totals``.
TILE: Final = 8 * BLOCK
_ITEM_BYTES: Final = 48
TOTALS_BYTES: Final = 128
#: Tiles that the rows of a delta are cut into, at most.
_MOST_ROW_TILES: Final = 1024


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


def room_within(graph: UpdatableGraph, rows: int, entries: int) -> Room:
    """What is expected to be listed of a delta of so many rows and entries, and no more than is."""
    stored = graph.arena[Field.NUM_EDGES] * (1 if graph.directed else 2)
    return graph.updates.segmented.room.within(rows, entries, stored)


def most_pages(graph: UpdatableGraph, direction: str, rows: int, entries: int) -> int:
    """Pages that a delta of so many rows and entries can take."""
    return entries // _page_entries(graph, direction) + min(rows, entries)


def _page_entries(graph: UpdatableGraph, direction: str) -> int:
    arena = graph.arena
    return arena.layout.page_entries(arena[Field.PAGE_WORDS], arena.entry_words(direction))


def sizes_of_plan(graph: UpdatableGraph, rows: int, entries: int) -> tuple[int, ...]:
    """Bytes of the arrays of ``ListedPlan`` for a delta, in their order; the last is shared."""
    arena = graph.arena
    items, most, old = room_within(graph, rows, entries)
    words = max(arena.entry_words(direction) for direction in arena.directions())
    least = min(_page_entries(graph, direction) for direction in arena.directions())
    return (
        _ITEM_BYTES * items, 4 * (items + 1), 8 * (items + 1), 4 * (old // least + items + 1),
        4 * most, 4 * most, 8 * (most // TILE + 1), 8 * 4 * row_tiles(rows)[0], 4 * words * old,
    )  # fmt: skip


def row_tiles(rows: int) -> tuple[int, int]:
    """Tiles that so many rows are cut into, and rows of a tile."""
    tile_rows = BLOCK * max(-(-rows // (BLOCK * _MOST_ROW_TILES)), 1)
    return -(-rows // tile_rows), tile_rows


def bytes_of_plans(graph: UpdatableGraph, deltas: list[tuple[int, int]]) -> int:
    """Scratch of the plans of deltas of so many rows and entries, and of what serves them."""
    need = 2 * TOTALS_BYTES + 8 * CLASSES + 64 * ALIGNMENT
    need += free_runs.allocate_bytes(sum(rows + entries for rows, entries in deltas))
    sizes = [sizes_of_plan(graph, *delta) for delta in deltas]
    # Deltas are written one after the other, so one staging does for both.
    return need + most_staged(sizes) + sum(sum(each[:-1]) for each in sizes)


def most_staged(sizes: list[tuple[int, ...]]) -> int:
    """Bytes of the staging that the plans of these sizes share."""
    return max((each[-1] for each in sizes), default=0)


def most_rows(graph: UpdatableGraph, entries: int) -> list[tuple[int, int]]:
    """Bounds of the rows and entries of the deltas of so many edges; no vertex is deleted."""
    sides = [2 * entries] if not graph.directed else [entries] * (1 + graph.has_reverse)
    return [(each, each) for each in sides]
