"""Edges whose last time is a given one or earlier, found by a scan of rows.

An entry of any time can be anywhere in a row, because rows are in the order of neighbors, so the
times of a row are read whole. Which rows can have such an entry: ``host/update/oldest_times.py``.

CUDA twin: ``cuda/queries/expired.py``, which reads all rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...image.view import ImageView
from ...jit.compile import borrowing, compiled, inlined
from ...jit.parallel import for_ranges
from ...jit.prefetch import AHEAD, prefetch, prefetch_words
from ...layouts import page_after, state_class
from ...records import LAST_WORD
from ..analytics.parts.compact_rows import indptr_of
from ..memory.rooms import rooms_of
from ..update.rows.entries import read_time

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]

#: What the oldest edge of a row without edges is taken to be.
LATEST = np.iinfo(np.int64).max

# Kernels of this file and of ``host/update/expiry.py`` have unsigned indices: Numba then leaves out
# the step for those below 0.
_ONE, _ZERO, _AHEAD = np.uint64(1), np.uint64(0), np.uint64(AHEAD)
_LAST = np.uint64(LAST_WORD)
#: After the last position of any row.
_NOWHERE = np.uint64(0xFFFFFFFF)


class Expired(NamedTuple):
    """Entries of some rows that have expired, by vertex index; an undirected edge has two."""

    #: What has that last time or an earlier one has expired.
    until: int
    #: uint32: the rows that have such entries, increasing.
    rows: UInt32s
    #: int64[rows + 1]: sums of their numbers of such entries.
    indptr: Int64s
    #: uint32: position of the first such entry in its row, for each of these rows.
    first: UInt32s
    #: uint32: their neighbors, in the order of the rows; empty where they were not asked for.
    targets: UInt32s
    #: int64, an item for each row that was read: last time of the oldest entry that has not
    #: expired, `LATEST`: there is none.
    oldest: Int64s


class RowTimes(NamedTuple):
    """Result of a scan for each of some rows."""

    #: uint32: entries that have expired.
    found: UInt32s
    #: uint32: position of the first of them; `_NOWHERE`: there is none.
    first: UInt32s
    #: int64: as `Expired.oldest`.
    oldest: Int64s


def find_expired(arena: ImageView, rows: UInt32s, until: int, *, with_targets: bool) -> Expired:
    """Find the entries of rows whose last time is ``until`` or before.

    Parameters
    ----------
    arena
        An image of entries with times.
    rows
        Vertex indices, increasing.
    until
        In the unit of those times.
    with_targets
        List the neighbors too.
    """
    image, shape = arena.image, arena.shape("out")
    rooms, time = rooms_of(shape), np.int64(until)
    found, first = np.empty(rows.size, np.uint32), np.empty(rows.size, np.uint32)
    oldest = np.empty(rows.size, np.int64)
    times = RowTimes(found, first, oldest)
    for_ranges(scan_times, rows.size, image, shape, rooms, rows, time, times)
    some = np.flatnonzero(found)
    rows, indptr, first = rows[some], indptr_of(found[some]), first[some]
    targets = np.empty(int(indptr[-1]) if with_targets else 0, np.uint32)
    if with_targets:
        listed = Expired(until, rows, indptr, first, targets, oldest)
        for_ranges(list_targets, rows.size, image, shape, rooms, listed)
    return Expired(until, rows, indptr, first, targets, oldest)


@borrowing
def open_row(image, shape, rooms, vertex):
    """As `open_adjacency`, of unsigned numbers, for a vertex that has a record.

    ``rooms`` (`memory.rooms.Rooms`) say what that computes with a division.
    """
    record = np.uint64(shape.vertex_base) + np.uint64(vertex) * np.uint64(shape.vertex_words)
    room = state_class(shape, image[record])
    segment = np.uint64(image[record + np.uint64(shape.first_word)])
    degree = np.uint64(image[record + np.uint64(shape.degree_word)])
    return segment, degree, np.uint64(rooms.most[room]), rooms.pages[room]


@inlined
def entry_strides(shape, entries):
    """As `strides`, of unsigned numbers."""
    if shape.soa != 0:
        return np.uint64(1), entries
    return np.uint64(shape.entry_words), np.uint64(1)


@inlined
def first_entry(shape, segment, pages):
    """As `segment_base`, of unsigned numbers."""
    return np.uint64(shape.page_end) - (segment + pages) * np.uint64(shape.page_words)


@borrowing
def segment_after(image, shape, first_page, segment, number):
    """As `page_after`, of unsigned numbers."""
    return np.uint64(page_after(image, shape, np.int64(first_page), np.int64(segment), number))


@borrowing
def seek(image, shape, first_page, entries, position):
    """Segment of entry ``position`` of an adjacency, its number, and the position in it."""
    segment, number = first_page, np.int64(0)
    position = np.uint64(position)
    while position >= entries:
        position -= entries
        number += 1
        segment = segment_after(image, shape, first_page, segment, number)
    return segment, number, position


@borrowing
def prefetch_times(image, shape, rooms, vertex):
    """Prefetch the last times of a vertex' first segment; reads its record."""
    segment, degree, entries, pages = open_row(image, shape, rooms, vertex)
    step, field = entry_strides(shape, entries)
    words = np.int64(min(degree, entries) * step)
    start = np.int64(first_entry(shape, segment, pages))
    if shape.soa != 0:
        prefetch_words(image, start + LAST_WORD * np.int64(field), words)
        prefetch_words(image, start + (LAST_WORD + 1) * np.int64(field), words)
    else:
        prefetch_words(image, start, words)


@compiled
def scan_times(low, high, image, shape, rooms, rows, until, times):
    """Read the times of ``rows[low:high]``."""
    found, first, oldest = times
    final = np.uint64(high) - _ONE
    for item in range(np.uint64(low), np.uint64(high)):
        # The record first, and, once that is there, the times of the row that it names.
        far = np.int64(rows[min(item + _AHEAD + _AHEAD, final)])
        prefetch(image, shape.vertex_base + far * shape.vertex_words)
        prefetch_times(image, shape, rooms, rows[min(item + _AHEAD, final)])
        first_page, left, entries, pages = open_row(image, shape, rooms, rows[item])
        step, field = entry_strides(shape, entries)
        segment, number = first_page, np.int64(0)
        gone = _ZERO
        at_first = _NOWHERE
        remaining = LATEST
        position = _ZERO
        while left > _ZERO:
            here = min(left, entries)
            at = first_entry(shape, segment, pages) + _LAST * field
            # Without branches: which entries go is chance.
            for _ in range(here):
                last = read_time(image, at, field)
                goes = last <= until
                gone += np.uint64(goes)
                # A minimum takes half the time of counting those in front.
                at_first = min(at_first, position if goes else _NOWHERE)
                position += _ONE
                remaining = min(remaining, LATEST if goes else last)
                at += step
            left -= here
            if left > _ZERO:
                number += 1
                segment = segment_after(image, shape, first_page, segment, number)
        found[item] = gone
        first[item] = at_first
        oldest[item] = remaining


@compiled
def list_targets(low, high, image, shape, rooms, expired):
    """Write the neighbors of what has expired of rows ``low … high - 1`` to ``targets``."""
    until, rows, indptr, first, targets, _ = expired
    final = np.uint64(high) - _ONE
    for item in range(np.uint64(low), np.uint64(high)):
        far = np.int64(rows[min(item + _AHEAD + _AHEAD, final)])
        prefetch(image, shape.vertex_base + far * shape.vertex_words)
        ahead = min(item + _AHEAD, final)
        segment, _, entries, pages = open_row(image, shape, rooms, rows[ahead])
        step, field = entry_strides(shape, entries)
        at = first_entry(shape, segment, pages) + min(np.uint64(first[ahead]), entries) * step
        prefetch(image, np.int64(at))
        prefetch(image, np.int64(at + _LAST * field))
        prefetch(image, np.int64(at + (_LAST + _ONE) * field))
        first_page, _, entries, pages = open_row(image, shape, rooms, rows[item])
        step, field = entry_strides(shape, entries)
        segment, number, position = seek(image, shape, first_page, entries, first[item])
        to, end = np.uint64(indptr[item]), np.uint64(indptr[item + _ONE])
        while True:
            at = first_entry(shape, segment, pages) + position * step
            while to < end and position < entries:
                if read_time(image, at + _LAST * field, field) <= until:
                    targets[to] = image[at]
                    to += _ONE
                at += step
                position += _ONE
            if to == end:
                break
            number += 1
            segment = segment_after(image, shape, first_page, segment, number)
            position = _ZERO
