"""Remove expired edges: rows that have some are compacted.

Part of   the apply path, in place of deltas -> plan -> rewrite for the adjacency ``out``: an edge
          that is too old is so in each row that it stands in, so each row is filtered by itself,
          and nothing is sorted or looked up
Reads     which rows have such edges, and how many (`queries/expired.py`)
Writes    segments and vertex records of these rows
Keeps     rows sorted by neighbor; the room of a row is what its new degree asks for, as after any
          other batch. No row gets longer, so the arena is asked for nothing.
"""

from __future__ import annotations

import numpy as np

from ...jit.compile import borrowing, compiled
from ...jit.parallel import for_ranges
from ...jit.prefetch import AHEAD, prefetch
from ...layouts import is_paged, room_after, room_of, segment_pages, state_class
from ...records import LAST_WORD
from ..memory.rooms import rooms_of
from ..queries.expired import Expired, entry_strides, first_entry, open_row, seek, segment_after
from ..queries.host_graph import HostGraph
from .commit import WrittenDelta, list_left_pages, write_record
from .rows.entries import read_time
from .tally import Tally

#: Words of the smallest record with times: the last of them are its last time.
_WORDS = LAST_WORD + 2

#: Words of a cache line, and of a row that are prefetched; the processor prefetches later ones.
_LINE, _MOST = 16, 256

_ONE, _ZERO, _AHEAD = np.uint64(1), np.uint64(0), np.uint64(AHEAD)
_LAST = np.uint64(LAST_WORD)


def take_out(engine: HostGraph, expired: Expired) -> WrittenDelta:
    """Take the entries that have expired out of their rows, in the adjacency ``out``."""
    image, arena, size = engine.image, engine.arena, expired.rows.size
    shape = arena.shape("out")
    begin, before, after = (np.empty(size, np.uint32) for _ in range(3))
    for_ranges(
        close_rows, size, image, shape, rooms_of(shape),
        (expired.rows, expired.first, np.int64(expired.until)), (begin, before, after),
    )  # fmt: skip
    removed = int(expired.indptr[-1])
    tally = Tally(found_deletes=removed, removed=removed, merged_rows=size)
    smaller = np.flatnonzero(after < before)
    begin, before, after = begin[smaller], before[smaller], after[smaller]
    if arena.layout.is_paged:
        freed_from = np.concatenate([[0], np.cumsum(before - after, dtype=np.int64)])
        freed = np.empty(freed_from[-1], np.uint32)
        for_ranges(list_left_pages, smaller.size, image, shape, after, begin, freed_from, freed)
        return WrittenDelta(tally, lambda: arena.give_back_pages(freed))
    size_class = (np.where(after > 0, after, before) - 1).astype(np.uint8)
    return WrittenDelta(tally, lambda: arena.give_back_runs(begin, size_class))


@borrowing
def prefetch_coming(image, shape, rooms, rows, item, final):
    """Ask for the record of a later row and, once that is there, for the row that it names."""
    far = np.int64(rows[min(item + _AHEAD + _AHEAD, final)])
    prefetch(image, shape.vertex_base + far * shape.vertex_words)
    coming = rows[min(item + _AHEAD, final)]
    segment, _, entries, pages = open_row(image, shape, rooms, coming)
    start = np.int64(first_entry(shape, segment, pages))
    for line in range(0, min(np.int64(np.uint64(shape.entry_words) * entries), _MOST), _LINE):
        prefetch(image, start + line)


@borrowing
def copy_entry(image, at, to, field, words):
    """Copy the entry at word ``at`` to word ``to``."""
    for _ in range(_WORDS):
        image[to] = image[at]
        at += field
        to += field
    if words > np.uint64(_WORDS):
        image[to] = image[at]


@borrowing
def close_row(image, shape, row, first, until):
    """Close up a row, as `open_row` returns it, from entry ``first`` on; returns what it keeps."""
    first_page, degree, entries, pages = row
    words = np.uint64(shape.entry_words)
    step, field = entry_strides(shape, entries)
    # What stands in front of the first entry that goes stays where it is.
    segment, number, position = seek(image, shape, first_page, entries, first)
    at = first_entry(shape, segment, pages) + position * step
    kept = np.uint64(first)
    left = degree - kept
    # Where the next one that stays is to be, and for how many there is space.
    target, to_number, to, space = segment, number, at, entries - position
    here = min(left, space)
    while left > _ZERO:
        for _ in range(here):
            if read_time(image, at + _LAST * field, field) > until:
                if space == _ZERO:
                    to_number += 1
                    target = segment_after(image, shape, first_page, target, to_number)
                    to = first_entry(shape, target, pages)
                    space = entries
                copy_entry(image, at, to, field, words)
                to += step
                space -= _ONE
                kept += _ONE
            at += step
        left -= here
        here = min(left, entries)
        if left > _ZERO:
            number += 1
            segment = segment_after(image, shape, first_page, segment, number)
            at = first_entry(shape, segment, pages)
    return kept


@borrowing
def move_words(image, shape, row, closer, kept):
    """Have the ``kept`` entries of a run lie as in one of ``closer`` entries at the same word."""
    first_page, _, entries, pages = row
    _, field = entry_strides(shape, entries)
    start = first_entry(shape, first_page, pages)
    for word in range(np.uint64(shape.entry_words)):
        for i in range(kept):
            image[start + word * closer + i] = image[start + word * field + i]


@compiled
def close_rows(low, high, image, shape, rooms, expired, left_rooms):
    """Close up rows ``low … high - 1`` of those that have expired entries.

    Parameters
    ----------
    expired
        Rows, positions of their first expired entries, and the time that decides.
    left_rooms
        uint32 each, filled in: where each row began, and its room before and after.
    """
    rows, first, until = expired
    begin, room_before, room_now = left_rooms
    paged = is_paged(shape)
    final = np.uint64(high) - _ONE
    for item in range(np.uint64(low), np.uint64(high)):
        prefetch_coming(image, shape, rooms, rows, item, final)
        vertex = np.int64(rows[item])
        state = image[shape.vertex_base + vertex * shape.vertex_words]
        row = open_row(image, shape, rooms, vertex)
        first_page, degree, _, pages = row
        kept = close_row(image, shape, row, first[item], until)
        before = room_of(shape, state, np.int64(degree))
        now = before
        if paged or np.int64(kept) < rooms.least[state_class(shape, state)]:
            now = room_after(shape, before, np.int64(kept))
            if shape.soa != 0 and not paged:
                move_words(image, shape, row, np.uint64(rooms.most[now]), kept)
        begin[item] = first_page
        room_before[item] = before
        room_now[item] = now
        # What stays of a run are its upper pages.
        segment = first_page + pages - np.uint64(segment_pages(shape, now))
        write_record(image, shape, vertex, now, np.int64(kept), np.int64(segment))
