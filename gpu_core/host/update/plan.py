"""Plan of a batch: new position, degree and capacity of each row, computed before any write.

Part of   the apply path: deltas -> **plan** -> arena.prepare, arena.take -> commit
Reads     the image, and one *delta* of a batch: its entries for one direction, grouped by row and
          sorted by (column, kind) within a row
Writes    the lists of settled rows and of the others; for each of the others the degree and the
          room before and after, and, where the row is not merged in registers (`lanes.py`), for
          each of its entries the position in the old adjacency and whether it was there
Keeps     the demand of a batch is exact before the first word of the graph changes, so a batch that
          does not fit is refused whole

A row is *settled* if its room stays as it is whatever its entries meet: it has room for all of
them, and would not shrink if all of them were deletes that hit. Its record alone decides that.
Settled rows ask the arena for nothing; they are rewritten in one pass (`settled.py`) and not
planned. Most rows of most batches are.

A row is *short* if it lies in one segment, with one-word entries, and fits lanes whatever its
entries meet. Short rows are merged in registers, both here, where only the counts are kept, and
where they are written.

The kinds of an entry are applied in their order (`image.fields.KIND_DANGLING` and so
on). ``clear[row]`` says that the row's own vertex is deleted: all old entries go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...image.fields import KIND_DANGLING, KIND_DELETE, KIND_PUT
from ...image.scratch import Scratch
from ...jit.compile import borrowing, compiled, inlined
from ...jit.parallel import for_ranges
from ...jit.prefetch import AHEAD, prefetch, prefetch_row
from ...layouts import (
    moves_to_grow,
    open_adjacency,
    page_after,
    room_after,
    room_of,
    segment_base,
    segment_entries,
    state_class,
    strides,
)
from ..memory.rooms import LARGEST_ROOM, Rooms, rooms_of
from ..queries.host_graph import HostGraph
from ..queries.row_search import first_in_row
from .deltas import Delta
from .lanes import FEW, MANY, holds, load_few, load_many, with_key, without_key

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]

#: A settled row that does not fit lanes is rewritten entry by entry; where more than this many
#: entries meet one longer than lanes, one merging pass moves less.
FEW_ENTRIES = 4

#: Entries of a row that are looked at one by one, before a search by bisection.
NEAR = 16


class Tally(NamedTuple):
    """Entries of a delta by what became of them, then its rows, as `plan_rows` counts them."""

    added: int = 0
    found_puts: int = 0
    found_deletes: int = 0
    removed: int = 0
    replaced: int = 0
    moved_rows: int = 0
    appended_rows: int = 0
    merged_rows: int = 0

    @classmethod
    def sum(cls, tallies: Iterable[Iterable[int]]) -> Tally:
        """All of them together, such as what the ranges of a kernel returned."""
        return cls(*(sum(numbers) for numbers in zip(cls(), *tallies, strict=True)))

    @property
    def entries(self) -> Int64s:
        """int64[5]: the numbers of entries."""
        return np.array(self[:5])

    @property
    def rows(self) -> Int64s:
        """int64[3]: the numbers of rows."""
        return np.array(self[5:])


class PlannedRows(NamedTuple):
    """Rows of a delta that are not settled, and what happens to them. Kernels take it as it is."""

    #: uint32[k]: numbers of the rows in the delta, increasing.
    which: UInt32s
    #: uint32[entries of the delta], filled for the entries of those that are not short: position in
    #: the old adjacency, and whether the entry was there.
    position: UInt32s
    found: npt.NDArray[np.bool_]
    #: uint32[k] each.
    degree_before: UInt32s
    degree_after: UInt32s
    room_before: UInt32s
    room_after: UInt32s


@dataclass
class Plan:
    """A delta, and what is known of it before anything is written."""

    direction: str
    delta: Delta
    rooms: Rooms
    #: uint32: the settled rows of the delta by number, in parts ``begin, end`` for one thread each.
    settled: UInt32s
    settled_parts: list[tuple[int, int]]
    rows: PlannedRows
    #: Of the planned rows.
    tally: Tally


def make_plan(engine: HostGraph, direction: str, delta: Delta, scratch: Scratch) -> Plan:
    """Read what each row that is not settled will come to; touches nothing but scratch."""
    puts = int(delta.kinds.max(initial=KIND_DANGLING)) == KIND_PUT
    deletes = int(delta.kinds.min(initial=KIND_PUT)) != KIND_PUT
    shape = engine.shape(direction)
    listed = scratch.take(delta.rows.size, np.uint32)
    rooms = rooms_of(shape)
    parts = for_ranges(
        list_settled, delta.rows.size, engine.image, shape, delta, rooms, puts, deletes, listed
    )
    which = np.concatenate([listed[end:high][::-1] for _, end, high in parts] or [listed])
    rows = PlannedRows(
        which,
        scratch.take(delta.columns.size, np.uint32),
        scratch.take(delta.columns.size, np.bool_),
        *(scratch.take(which.size, np.uint32) for _ in range(4)),
    )
    tally = Tally.sum(for_ranges(plan_rows, which.size, engine.image, shape, delta, rows))
    settled_parts = [(low, end) for low, end, _ in parts]
    return Plan(direction, delta, rooms, listed, settled_parts, rows, tally)


def plan_bytes(deltas: list[tuple[str, Delta]]) -> int:
    """Scratch that `make_plan` takes at most."""
    return sum(5 * delta.columns.size + 20 * delta.rows.size + 64 for _, delta in deltas)


_AHEAD = np.uint64(AHEAD)


@compiled
def list_settled(low, high, image, shape, delta, rooms, puts, deletes, out):
    """Write the numbers of settled rows to ``out[low:end]``, of the others to ``out[end:high]``.

    The others stand there from the last to the first. Written in any case and kept by the count:
    a branch would often be guessed wrong.

    Returns
    -------
    low, end, high : int
    """
    rows, indptr, clear = delta.rows, delta.indptr, delta.clear
    least, most = rooms.least, rooms.most
    # Unsigned indices: Numba then leaves out the step for those below 0.
    one = np.uint64(1)
    base = np.uint64(shape.vertex_base)
    record_words = np.uint64(shape.vertex_words)
    degree_word = np.uint64(shape.degree_word)
    front = np.uint64(low)
    back = np.uint64(high - 1)
    last = np.uint64(high - 1)
    for row in range(np.uint64(low), np.uint64(high)):
        prefetch(image, base + np.uint64(rows[min(row + _AHEAD, last)]) * record_words)
        vertex = np.uint64(rows[row])
        settled = np.uint64(0)
        if vertex < np.uint64(shape.vertex_count):
            record = base + vertex * record_words
            degree = np.int64(image[record + degree_word])
            count = indptr[row + one] - indptr[row]
            room = state_class(shape, image[record])
            settled = np.uint64(
                (degree - count * deletes >= least[room])
                & (degree + count * puts <= most[room])
                & ((count <= FEW_ENTRIES) | (degree <= MANY))
                & (not clear[row])
            )
        out[front] = row
        out[back] = row
        front += settled
        back -= one - settled
    return low, np.int64(front), high


@inlined
def longest_short(shape):
    """Most old and new entries, together, of a short row; -1 where no row is one."""
    if shape.entry_words > 1:
        return np.int64(-1)
    return min(np.int64(MANY), np.int64(segment_entries(shape, np.int64(LARGEST_ROOM))))


@borrowing
def merge_lanes(lanes, old, begin, end, columns, kinds):
    """Merge a row's entries ``begin … end - 1`` into its lanes.

    ``old`` are the lanes as they were before the batch; ``lanes`` hold nothing if they are lost
    with the row's vertex.

    Returns
    -------
    lanes
        All that is there afterwards, sorted.
    added, found_puts, found_deletes, removed, replaced : int
        As `plan_rows` returns them; ``removed`` counts entries of the batch only.
    """
    added = 0
    found_puts = 0
    found_deletes = 0
    removed = 0
    replaced = 0
    for entry in range(np.uint64(begin), np.uint64(end)):
        key = columns[entry]
        kind = kinds[entry]
        there = holds(lanes, key)
        if kind == KIND_PUT:
            if there:
                found_puts += 1
            else:
                lanes = with_key(lanes, key)
                added += 1
                replaced += holds(old, key)
        elif there:
            lanes = without_key(lanes, key)
            removed += 1
            found_deletes += kind == KIND_DELETE
    return lanes, added, found_puts, found_deletes, removed, replaced


@compiled
def plan_rows(low, high, image, shape, delta, plan):
    """Plan rows ``plan.which[low:high]``.

    Returns
    -------
    added, found_puts, found_deletes, removed, replaced : int
        Entries put that were not there; put and there; deleted and there; taken away, those lost
        with a vertex included; lost with a vertex and put again, which count as added and removed.
    moved, appended, merged : int
        Rows whose degree changes: those that get a larger run; of the others, those whose first
        entry of the batch comes after all that was there; the rest.
    """
    rows, indptr, columns = delta.rows, delta.indptr, delta.columns
    kinds, clear = delta.kinds, delta.clear
    position, found = plan.position, plan.found
    added = 0
    found_puts = 0
    found_deletes = 0
    removed = 0
    replaced = 0
    moved = 0
    appended = 0
    merged = 0
    short = longest_short(shape)
    for item in range(low, high):
        far = np.int64(rows[plan.which[min(item + 2 * AHEAD, high - 1)]])
        prefetch(image, shape.vertex_base + far * shape.vertex_words)
        if item + AHEAD < high:
            prefetch_row(image, shape, np.int64(rows[plan.which[item + AHEAD]]))
        row = plan.which[item]
        vertex = np.int64(rows[row])
        first_page, degree, entries, pages = open_adjacency(image, shape, vertex)
        plan.degree_before[item] = degree
        room = np.int64(0)
        if vertex < shape.vertex_count:
            room = room_of(shape, image[shape.vertex_base + vertex * shape.vertex_words], degree)
        begin = indptr[row]
        end = indptr[row + 1]
        row_added = 0
        row_removed = 0
        if clear[row]:
            row_removed = degree
        base = segment_base(shape, first_page, pages)
        appends = begin < end and not clear[row]
        if degree + end - begin <= short:
            kept = np.int64(0) if clear[row] else degree
            if appends:  # else there may be no entry to read
                appends = degree == 0 or image[base + degree - 1] < columns[begin]
            if degree + end - begin <= FEW:
                _, row_added, puts, deletes, gone, again = merge_lanes(
                    load_few(image, base, kept), load_few(image, base, degree),
                    begin, end, columns, kinds,
                )  # fmt: skip
            else:
                _, row_added, puts, deletes, gone, again = merge_lanes(
                    load_many(image, base, kept), load_many(image, base, degree),
                    begin, end, columns, kinds,
                )  # fmt: skip
            row_removed += gone
            found_puts += puts
            found_deletes += deletes
            replaced += again
            begin = end
        first = begin
        step, _ = strides(shape, entries)
        segment, number = first_page, 0
        # Position of the cursor in the adjacency, and of its segment's first entry.
        here = 0
        start = 0
        dangled = np.int64(-1)
        for entry in range(begin, end):
            column = columns[entry]
            while True:
                # First position in this segment whose neighbor is not below the column.
                at = here - start
                top = min(degree - start, entries)
                near = min(top, at + NEAR)
                while at < near and image[base + at * step] < column:
                    at += 1
                if at == near:
                    at = first_in_row(image, base, step, at, top, column)
                here = start + at
                if here < start + entries or here >= degree:
                    break
                number += 1
                segment = page_after(image, shape, first_page, segment, number)
                base = segment_base(shape, segment, pages)
                start += entries
            there = here < degree and image[base + (here - start) * step] == column
            position[entry] = here
            found[entry] = there
            kind = kinds[entry]
            if clear[row] or dangled == np.int64(column):
                # Removed already, with its row or as a dangling reference; a put follows the gap.
                if there and kind == KIND_PUT:
                    replaced += 1
                there = False
                found[entry] = False
                position[entry] = 0 if clear[row] else here + 1
            if kind == KIND_PUT:
                if there:
                    found_puts += 1
                else:
                    row_added += 1
            elif there:
                row_removed += 1
                if kind == KIND_DELETE:
                    found_deletes += 1
                else:
                    dangled = np.int64(column)
        if first < end:
            appends &= np.int64(position[first]) == degree
        after = degree + row_added - row_removed
        plan.degree_after[item] = after
        plan.room_before[item] = room
        plan.room_after[item] = room_after(shape, room, after)
        added += row_added
        removed += row_removed
        if row_added != row_removed:
            moves = room < plan.room_after[item] and moves_to_grow(shape, degree)
            moved += moves
            appended += appends and not moves
            merged += not appends and not moves
    return added, found_puts, found_deletes, removed, replaced, moved, appended, merged
