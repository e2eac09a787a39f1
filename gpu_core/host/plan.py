"""What a batch will do to each row that it touches, found without touching anything.

Part of   the apply path: halves -> **plan** -> arena.prepare, arena.take -> commit
Reads     the image, and one *half* of a batch: its entries for one direction, grouped by row and
          sorted by (column, kind) within a row
Writes    the list of rows that are not settled; for each of them the degree and the room before
          and after, and for each of their entries its position in the old adjacency and whether it
          was there
Keeps     the demand of a batch is exact before the first word of the graph changes, so a batch that
          does not fit is refused whole

A row is *settled* if its room stays as it is whatever its entries meet: it has place for all of
them, and would not shrink if all of them were deletes that hit. That is told by its record alone.
Settled rows ask the arena for nothing; they are rewritten in one pass (`settled.py`) and not
planned. Most rows of most batches are.

Kinds of an entry: `MENTION` (the neighbour is deleted, its mentions go), `DELETE`, `PUT`, applied
in this order. ``clear[row]`` says that the row's own vertex is deleted: all old entries go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ..layouts import (
    first_word,
    next_segment,
    open_adjacency,
    room_after,
    room_of,
    segment_base,
    segment_entries,
    strides,
)
from .compile import compiled, inlined
from .parallel import for_ranges
from .prefetch import AHEAD, prefetch

if TYPE_CHECKING:
    from .engine import HostEngine
    from .halves import Half
    from .scratch import Scratch

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]

MENTION = 0
DELETE = 1
PUT = 2

#: A settled row is rewritten entry by entry; where more than `FEW` entries meet a row longer than
#: `SHORT`, one merging pass moves less.
FEW = 4
SHORT = 64


@dataclass
class Tally:
    """Entries of one half by what became of them, as `plan_rows` counts them."""

    added: int = 0
    found_puts: int = 0
    found_deletes: int = 0
    removed: int = 0
    replaced: int = 0

    def add(self, sums: Iterable[tuple[int, int, int, int, int]]) -> None:
        """Add what the ranges of a kernel returned."""
        for added, found_puts, found_deletes, removed, replaced in sums:
            self.added += added
            self.found_puts += found_puts
            self.found_deletes += found_deletes
            self.removed += removed
            self.replaced += replaced


class PlannedRows(NamedTuple):
    """Rows of a half that are not settled, and what happens to them. Kernels take it as it is."""

    #: int64[k]: numbers of the rows in the half.
    which: Int64s
    #: uint32[entries of the half], filled for the entries of these rows: position in the old
    #: adjacency, and whether the entry was there.
    position: UInt32s
    found: npt.NDArray[np.bool_]
    #: uint32[k] each.
    degree_before: UInt32s
    degree_after: UInt32s
    room_before: UInt32s
    room_after: UInt32s


@dataclass
class Plan:
    """A half, and what is known of it before anything is written."""

    direction: str
    half: Half
    #: Whether the half has puts, and deletes or mentions.
    puts: bool
    deletes: bool
    rows: PlannedRows
    tally: Tally


def make_plan(engine: HostEngine, direction: str, half: Half, scratch: Scratch) -> Plan:
    """Read what each row that is not settled will come to; touches nothing but scratch."""
    puts = bool((half.kinds == PUT).any())
    deletes = bool((half.kinds != PUT).any())
    shape = engine.shape(direction)
    listed = scratch.take(half.rows.size, np.int64)
    parts = for_ranges(
        list_unsettled, half.rows.size, engine.image, shape, half, puts, deletes, listed
    )
    which = np.concatenate([listed[low : low + count] for low, count in parts] or [listed])
    rows = PlannedRows(
        which,
        scratch.take(half.columns.size, np.uint32),
        scratch.take(half.columns.size, np.bool_),
        *(scratch.take(which.size, np.uint32) for _ in range(4)),
    )
    tally = Tally()
    tally.add(for_ranges(plan_rows, which.size, engine.image, shape, half, rows))
    return Plan(direction, half, puts, deletes, rows, tally)


def plan_bytes(halves: list[tuple[str, Half]]) -> int:
    """Scratch that `make_plan` takes at most."""
    return sum(5 * half.columns.size + 24 * half.rows.size + 64 for _, half in halves)


@inlined
def is_settled(shape, state, degree, clear, count, puts, deletes):
    """Whether a row of this record and ``count`` entries keeps its room and has one segment."""
    room = room_of(shape, state, degree)
    entries = segment_entries(shape, room)
    high = degree + count if puts else degree
    low = degree - count if deletes else degree
    if clear or high > entries or low < 1 or (count > FEW and degree > SHORT):
        return False
    return room_after(shape, room, low) == room


@compiled
def list_unsettled(low, high, image, shape, half, puts, deletes, out):
    """Write the numbers of rows that are not settled to ``out`` from ``low`` on.

    Returns
    -------
    low, count : int
        Where they begin in ``out``, and how many there are.
    """
    rows, indptr, clear = half.rows, half.indptr, half.clear
    count = 0
    for row in range(low, high):
        vertex = np.int64(rows[row])
        settled = False
        if vertex < shape.vertex_count:
            record = shape.vertex_base + vertex * shape.vertex_words
            settled = is_settled(
                shape,
                image[record],
                np.int64(image[record + shape.degree_word]),
                clear[row],
                indptr[row + 1] - indptr[row],
                puts,
                deletes,
            )
        out[low + count] = row
        count += not settled
    return low, count


@compiled
def plan_rows(low, high, image, shape, half, plan):
    """Plan rows ``plan.which[low:high]``.

    Returns
    -------
    added, found_puts, found_deletes, removed, replaced : int
        Entries put that were not there; put and there; deleted and there; taken away, those lost
        with a vertex included; lost with a vertex and put again, which count as added and removed.
    """
    rows, indptr, columns = half.rows, half.indptr, half.columns
    kinds, clear = half.kinds, half.clear
    position, found = plan.position, plan.found
    added = 0
    found_puts = 0
    found_deletes = 0
    removed = 0
    replaced = 0
    for item in range(low, high):
        if item + AHEAD < high:
            ahead = np.int64(rows[plan.which[item + AHEAD]])
            if ahead < shape.vertex_count:
                record = shape.vertex_base + ahead * shape.vertex_words
                coming = image[record + shape.first_word]
                held = image[record + shape.degree_word]
                prefetch(image, first_word(shape, image[record], coming, held))
        row = plan.which[item]
        vertex = np.int64(rows[row])
        segment, degree, entries, pages = open_adjacency(image, shape, vertex)
        plan.degree_before[item] = degree
        room = np.int64(0)
        if vertex < shape.vertex_count:
            room = room_of(shape, image[shape.vertex_base + vertex * shape.vertex_words], degree)
        row_added = 0
        row_removed = 0
        if clear[row]:
            row_removed = degree
        base = segment_base(shape, segment, pages)
        step, _ = strides(shape, entries)
        # Position of the cursor in the adjacency, and of its segment's first entry.
        here = 0
        start = 0
        gone = np.int64(-1)
        for entry in range(indptr[row], indptr[row + 1]):
            column = columns[entry]
            while True:
                # First position in this segment whose neighbour is not below the column.
                at = here - start
                end = min(degree - start, entries)
                near = min(end, at + 16)
                while at < near and image[base + at * step] < column:
                    at += 1
                if at == near:
                    while at < end:
                        middle = (at + end) >> 1
                        if image[base + middle * step] < column:
                            at = middle + 1
                        else:
                            end = middle
                here = start + at
                if here < start + entries or here >= degree:
                    break
                segment = next_segment(image, shape, segment)
                base = segment_base(shape, segment, pages)
                start += entries
            there = here < degree and image[base + (here - start) * step] == column
            position[entry] = here
            found[entry] = there
            kind = kinds[entry]
            if clear[row] or gone == np.int64(column):
                # Taken away already, with the row or by its mention; a put goes behind the gap.
                if there and kind == PUT:
                    replaced += 1
                there = False
                found[entry] = False
                position[entry] = 0 if clear[row] else here + 1
            if kind == PUT:
                if there:
                    found_puts += 1
                else:
                    row_added += 1
            elif there:
                row_removed += 1
                if kind == DELETE:
                    found_deletes += 1
                else:
                    gone = np.int64(column)
        after = degree + row_added - row_removed
        plan.degree_after[item] = after
        plan.room_before[item] = room
        plan.room_after[item] = room_after(shape, room, after)
        added += row_added
        removed += row_removed
    return added, found_puts, found_deletes, removed, replaced
