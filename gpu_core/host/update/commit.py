"""Write one delta of a batch: settled rows (`rows/settled.py`), then the planned ones.

Part of   the apply path: deltas -> plan -> arena.prepare, arena.take -> **commit**
Reads     one delta of a batch and its plan (`plan.py`), and the pages allocated for it
Writes    segments and vertex records of the delta's rows, and nothing else
Keeps     rows sorted by neighbor; a row's room is that of the plan. Asks the arena for nothing.

Three steps. *Place*: each row gets the segment that it will begin in, and what it leaves is listed;
this is all that differs between the layouts. *Rewrite*: short rows are merged in registers
(`rows/short_rows.py`); of the others, the old entries, from the first segment that changes, go into
a buffer, and old and new ones are merged into the segments in one forward pass
(`rows/long_rows.py`).
*Cut* (layouts of pages): pages after the last one needed are listed as free.

Each row belongs to one range, and no two rows share a page: ranges run side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...batch.update_batch import UpdateBatch
from ...image.demand import AllocatedRuns
from ...image.fields import Shape
from ...image.free_runs import NO_CLASS
from ...jit.arrays import readonly
from ...jit.compile import borrowing, compiled
from ...jit.parallel import for_ranges, run_all
from ...jit.prefetch import AHEAD, prefetch, prefetch_row
from ...layouts import (
    link_word,
    open_adjacency,
    page_after,
    parent_of,
    segment_base,
    segment_entries,
    segment_pages,
    write_room,
)
from ..memory.arena import Arena
from ..queries.host_graph import HostGraph
from .deltas import Delta
from .plan import Plan, PlannedRows
from .rows.entries import Properties
from .rows.long_rows import merge_long, read_entries, segments_kept
from .rows.settled import merge_settled
from .rows.short_rows import longest_short, merge_short
from .tally import Tally

UInt32s = npt.NDArray[np.uint32]


class WrittenDelta(NamedTuple):
    """Result of writing one direction of a batch."""

    tally: Tally
    #: Gives the pages back that rows have left.
    give_back: Callable[[], None]


def rewrite(
    engine: HostGraph, plan: Plan, properties: Properties, allocated: AllocatedRuns
) -> WrittenDelta:
    """Write one delta."""
    shape = engine.arena.shape(plan.direction)
    arguments = (engine.image, shape, plan.delta, plan.rooms, plan.settled, properties)
    calls = [partial(merge_settled, low, high, *arguments) for low, high in plan.settled_parts]
    tally = Tally.sum([plan.tally, *run_all(calls)])
    if plan.rows is None:
        return WrittenDelta(tally, lambda: None)
    write = _write_on_pages if engine.arena.layout.is_paged else _write_on_runs
    planned = (engine.image, shape, plan.delta, plan.rows)
    return WrittenDelta(tally, write(engine.arena, planned, properties, allocated))


#: What kernels take of planned rows.
_Planned = tuple[UInt32s, Shape, Delta, PlannedRows]


def _write_on_pages(
    arena: Arena, planned: _Planned, properties: Properties, allocated: AllocatedRuns
) -> Callable[[], None]:
    """Write the planned rows; returns what gives the pages back that they have left."""
    image, shape, _, rows = planned
    size = rows.which.size
    destination = np.empty(size, np.uint32)
    change = rows.room_after.astype(np.int64) - rows.room_before
    taken_from = np.concatenate([[0], np.cumsum(np.maximum(change, 0))])
    freed_from = np.concatenate([[0], np.cumsum(np.maximum(-change, 0))])
    pages = allocated.pages(int(taken_from[-1]))
    for_ranges(link_pages, size, *planned, (taken_from, pages), destination)
    for_ranges(rewrite_rows, size, *planned, destination, properties)
    freed = np.empty(freed_from[-1], np.uint32)
    for_ranges(list_left_pages, size, image, shape, rows.room_after, destination, freed_from, freed)
    return lambda: arena.give_back_pages(freed)


def _write_on_runs(
    arena: Arena, planned: _Planned, properties: Properties, allocated: AllocatedRuns
) -> Callable[[], None]:
    """Write the planned rows; returns what gives the runs back that they have left."""
    rows = planned[-1]
    size = rows.which.size
    destination, first = np.empty(size, np.uint32), np.empty(size, np.uint32)
    size_class = np.empty(size, np.uint8)
    assign_runs(
        rows.room_before, rows.room_after, allocated.firsts, allocated.following, destination
    )
    for_ranges(place_runs, size, *planned, destination, (first, size_class))
    for_ranges(rewrite_rows, size, *planned, destination, properties)
    return lambda: arena.give_back_runs(first, size_class)


#: Columns of `Properties` that a batch does not have. Floats and int32 go as the words they are.
_NO_COLUMNS: tuple[npt.NDArray[Any], ...] = tuple(
    readonly(np.empty(0, dtype)) for dtype in ("uint32", "uint32", "int64", "int64", "bool")
)


def properties_of(batch: UpdateBatch) -> Properties:
    """Properties of the batch's puts as kernels take them."""
    kept: tuple[npt.NDArray[Any] | None, ...] = (
        batch.put_weight, batch.put_type, batch.put_first, batch.put_last, batch.put_reset,
    )  # fmt: skip
    return Properties(
        *(
            none if column is None else readonly(column.view(none.dtype))
            for column, none in zip(kept, _NO_COLUMNS, strict=True)
        )
    )


@compiled
def assign_runs(room_before, room_after, firsts, following, destination):
    """Runs: assign each row that outgrows its own the next run of its class, in order."""
    for item in range(room_after.size):
        if room_after[item] > room_before[item]:
            size_class = np.int64(room_after[item]) - 1
            destination[item] = firsts[following[size_class]]
            following[size_class] += 1


@compiled
def place_runs(low, high, image, shape, delta, plan, destination, freed):
    """Runs: destinations of the rows that have no new run; list the runs that rows leave.

    A row that shrinks keeps the half at the low address: the upper pages of its run.
    """
    freed_first, freed_class = freed
    for item in range(low, high):
        vertex = np.int64(delta.rows[plan.which[item]])
        segment, _, _, _ = open_adjacency(image, shape, vertex)
        before = np.int64(plan.room_before[item])
        after = np.int64(plan.room_after[item])
        freed_first[item] = segment
        freed_class[item] = NO_CLASS
        if after <= before:
            destination[item] = segment
        if 0 < after < before:
            destination[item] = segment + (np.int64(1) << (after - 1))
            freed_class[item] = after - 1
        if before > 0 and (after > before or after == 0):
            freed_class[item] = before - 1


@compiled
def link_pages(low, high, image, shape, delta, plan, new_pages, destination):
    """Pages: link the pages ``taken[taken_from[item]:taken_from[item + 1]]`` at the end."""
    taken_from, taken = new_pages
    pages = np.empty(64, np.int64)
    for item in range(low, high):
        vertex = np.int64(delta.rows[plan.which[item]])
        first_page, _, _, _ = open_adjacency(image, shape, vertex)
        before = np.int64(plan.room_before[item])
        # Pages from number `before` on are new.
        new = taken[taken_from[item] : taken_from[item + 1]]
        if before == 0 and new.size > 0:
            first_page = np.int64(new[0])
        destination[item] = first_page
        if new.size == 0:
            continue
        if pages.size < before + new.size:
            pages = np.empty(2 * (before + new.size), np.int64)
        pages[0] = first_page
        for number in range(1, before + new.size):
            word = link_word(shape, pages[parent_of(shape, number)], number)
            if number >= before:
                image[word] = new[number - before]
            pages[number] = image[word]


@compiled
def list_left_pages(low, high, image, shape, room_after, destination, freed_from, freed):
    """Pages: list the pages after the last one needed from ``freed[freed_from[item]]`` on."""
    for item in range(low, high):
        begin = freed_from[item]
        end = freed_from[item + 1]
        first_page = np.int64(destination[item])
        after = np.int64(room_after[item])
        page = first_page
        for number in range(after + end - begin if begin < end else 0):
            if number > 0:
                page = page_after(image, shape, first_page, page, number)
            if number >= after:
                freed[begin + number - after] = page


@borrowing
def write_record(image, shape, vertex, room, degree, segment):
    """Store size class, degree and first segment of an adjacency in its vertex record."""
    record = shape.vertex_base + vertex * shape.vertex_words
    image[record + shape.degree_word] = degree
    image[record + shape.first_word] = segment if room > 0 else 0
    write_room(image, shape, record, room)


@borrowing
def most_entries(low, high, plan):
    """Entries of the longest of the planned rows ``low … high - 1``, before the batch."""
    most = np.int64(0)
    for item in range(low, high):
        most = max(most, np.int64(plan.degree_before[item]))
    return most


@borrowing
def prefetch_planned(image, shape, delta, plan, destination, item):
    """Ask for the row of a planned item, and for where it will begin."""
    prefetch_row(image, shape, np.int64(delta.rows[plan.which[item]]))
    pages = segment_pages(shape, np.int64(plan.room_after[item]))
    prefetch(image, segment_base(shape, np.int64(destination[item]), pages))


@compiled
def rewrite_rows(low, high, image, shape, delta, plan, destination, properties):
    """Merge old entries and the batch's into the segments from ``destination[item]`` on."""
    rows, indptr, clear = delta.rows, delta.indptr, delta.clear
    short = longest_short(shape)
    buffer = np.empty(most_entries(low, high, plan) * shape.entry_words, np.uint32)
    for item in range(low, high):
        if item + AHEAD < high:
            prefetch_planned(image, shape, delta, plan, destination, item + AHEAD)
        row = plan.which[item]
        vertex = np.int64(rows[row])
        span = indptr[row], indptr[row + 1]
        after = np.int64(plan.degree_after[item])
        room = np.int64(plan.room_after[item])
        segment, degree, entries, pages = open_adjacency(image, shape, vertex)
        to_page, to_pages = np.int64(destination[item]), segment_pages(shape, room)
        longest = degree + span[1] - span[0]
        if clear[row]:
            degree = np.int64(0)
        if longest <= short:
            base = segment_base(shape, segment, pages)
            to = segment_base(shape, to_page, to_pages)
            merge_short(image, base, degree, longest, delta, span, to)
        else:
            source = segment, entries, pages
            target = to_page, segment_entries(shape, room), to_pages
            kept = segments_kept(image, shape, source, to_page, max(degree, after), plan, span)
            left = degree - kept[1] * entries
            read_entries(image, shape, source, kept, left, buffer)
            merge_long(image, shape, target, kept, delta, plan, span, buffer, left, properties)
        write_record(image, shape, vertex, room, after, to_page)
