"""Take out the edges that are too old: rows that may have some are read once, and closed up.

Part of   the apply path, in place of deltas -> plan -> rewrite for the adjacency ``out``: an edge
          that is too old is so in each row that it stands in, so each row is filtered by itself,
          and nothing is listed, sorted or looked up
Reads     the last times of the rows that may have such edges (`oldest_times.py`)
Writes    segments and vertex records of the rows that have some, and the oldest time of all that
          were read
Keeps     rows sorted by neighbor; the room of a row is what its new degree asks for, as after any
          other batch. No row gets longer, so the arena is asked for nothing.

Rows are taken in blocks. The times of all rows of a block are read, and for the rows that have such
edges all other words are asked for; then these rows are closed up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...jit.compile import compiled, inlined
from ...jit.parallel import for_ranges
from ...jit.prefetch import AHEAD, prefetch, prefetch_words
from ...layouts import is_paged, page_after, room_after, room_of, segment_pages, state_class
from ...records import LAST_WORD
from ..queries.expired import LATEST
from .commit import Written, list_left_pages, write_record
from .entries import read_time
from .plan import Tally, rooms_of

if TYPE_CHECKING:
    from ..queries.host_graph import HostGraph
    from .expiring_batch import ExpiringBatch

#: Rows.
_BLOCK = 32

#: Words of the smallest record with times: the last of them are its last time.
_WORDS = LAST_WORD + 2

_ONE, _ZERO, _AHEAD = np.uint64(1), np.uint64(0), np.uint64(AHEAD)
_LAST = np.uint64(LAST_WORD)


def filter_expired(engine: HostGraph, batch: ExpiringBatch) -> Written:
    """Take the edges of the batch out of the adjacency ``out``."""
    image, arena, rows = engine.image, engine.arena, batch.rows_due
    if engine.directed and engine.has_reverse:
        # Their edges were listed for the reverse adjacency: rows that have none are known.
        batch.oldest[rows] = batch.edges.oldest
        rows = rows[batch.edges.found > 0]
    shape = arena.shape("out")
    first, before, after = (np.empty(rows.size, np.uint32) for _ in range(3))
    counts = for_ranges(
        filter_rows, rows.size, image, shape, rooms_of(shape), rows, np.int64(batch.until),
        batch.oldest, first, before, after,
    )  # fmt: skip
    removed, changed = (sum(part) for part in zip((0, 0), *counts, strict=True))
    tally = Tally(found_deletes=removed, removed=removed, merged_rows=changed)
    smaller = np.flatnonzero(after < before)
    first, before, after = first[smaller], before[smaller], after[smaller]
    if arena.layout.is_paged:
        freed_from = np.concatenate([[0], np.cumsum(before - after, dtype=np.int64)])
        freed = np.empty(freed_from[-1], np.uint32)
        for_ranges(list_left_pages, smaller.size, image, shape, after, first, freed_from, freed)
        return Written(tally, lambda: arena.give_back_pages(freed))
    size_class = (np.where(after > 0, after, before) - 1).astype(np.uint8)
    return Written(tally, lambda: arena.give_back_runs(first, size_class))


@inlined
def segment_after(image, shape, first_page, segment, number):
    """As `page_after`, of unsigned numbers."""
    return np.uint64(page_after(image, shape, np.int64(first_page), np.int64(segment), number))


@compiled
def filter_rows(low, high, image, shape, rooms, rows, until, oldest, first, room_before, room_now):
    """Filter ``rows[low:high]``; say where each began, and its room before and after.

    Returns
    -------
    removed, changed : int
        Entries taken out, and rows that had some.
    """
    # Unsigned indices: Numba then leaves out the step for those below 0.
    words = np.uint64(shape.entry_words)
    record_words = np.uint64(shape.vertex_words)
    to_first = np.uint64(shape.first_word)
    to_degree = np.uint64(shape.degree_word)
    table = np.uint64(shape.vertex_base)
    page_end = np.uint64(shape.page_end)
    page_words = np.uint64(shape.page_words)
    soa = shape.soa != 0
    paged = is_paged(shape)
    removed = 0
    changed = 0
    # Rows of a block that have entries to go, and how many stand in front of the first one.
    due = np.empty(_BLOCK, np.uint64)
    clean = np.empty(_BLOCK, np.uint64)
    final = np.uint64(high) - _ONE
    for block in range(low, high, _BLOCK):
        found = _ZERO
        for item in range(np.uint64(block), np.uint64(min(block + _BLOCK, high))):
            # The record first, and, once that is there, the times of the row that it names.
            far = table + np.uint64(rows[min(item + _AHEAD + _AHEAD, final)]) * record_words
            prefetch(image, far)
            coming = table + np.uint64(rows[min(item + _AHEAD, final)]) * record_words
            room = state_class(shape, image[coming])
            segment = np.uint64(image[coming + to_first])
            begin = np.int64(page_end - (segment + rooms.pages[room]) * page_words)
            space = rooms.most[room]
            here = min(np.int64(image[coming + to_degree]), space)
            if soa:
                prefetch_words(image, begin + LAST_WORD * space, here)
                prefetch_words(image, begin + (LAST_WORD + 1) * space, here)
            else:
                prefetch_words(image, begin, here * np.int64(words))
            record = table + np.uint64(rows[item]) * record_words
            room = state_class(shape, image[record])
            pages = rooms.pages[room]
            first_page = np.uint64(image[record + to_first])
            degree = np.uint64(image[record + to_degree])
            space = np.uint64(rooms.most[room])
            step = _ONE if soa else words
            field = space if soa else _ONE
            gone = _ZERO
            front = _ZERO
            remaining = LATEST
            segment, number = first_page, np.int64(0)
            left = degree
            while left > _ZERO:
                at = page_end - (segment + pages) * page_words + _LAST * field
                # Without branches: which entries go is chance.
                for _ in range(min(left, space)):
                    last = read_time(image, at, field)
                    goes = last <= until
                    gone += np.uint64(goes)
                    front += np.uint64(gone == _ZERO)
                    remaining = min(remaining, LATEST if goes else last)
                    at += step
                left -= min(left, space)
                if left > _ZERO:
                    number += 1
                    segment = segment_after(image, shape, first_page, segment, number)
            oldest[rows[item]] = remaining
            first[item] = first_page
            before = room_of(shape, image[record], np.int64(degree)) if paged else np.int64(room)
            room_before[item] = before
            room_now[item] = before
            due[found] = item
            clean[found] = front
            if gone > _ZERO:
                found += _ONE
                removed += np.int64(gone)
                if soa:
                    begin = np.int64(page_end - (first_page + pages) * page_words)
                    here = np.int64(min(degree, space))
                    for word in range(np.int64(words)):
                        prefetch_words(image, begin + word * np.int64(space), here)
        changed += np.int64(found)
        for k in range(found):
            item = due[k]
            record = table + np.uint64(rows[item]) * record_words
            room = state_class(shape, image[record])
            pages = rooms.pages[room]
            first_page = np.uint64(image[record + to_first])
            degree = np.uint64(image[record + to_degree])
            space = np.uint64(rooms.most[room])
            step = _ONE if soa else words
            field = space if soa else _ONE
            # The first entry that goes, in its segment.
            place = clean[k]
            left = degree - place
            kept = place
            segment, number = first_page, np.int64(0)
            while place >= space:
                place -= space
                number += 1
                segment = segment_after(image, shape, first_page, segment, number)
            at = page_end - (segment + pages) * page_words + place * step
            # Where the next one that stays is to be, and for how many there is space.
            target, to_number, to, free = segment, number, at, space - place
            here = min(left, free)
            while left > _ZERO:
                for _ in range(here):
                    if read_time(image, at + _LAST * field, field) > until:
                        if free == _ZERO:
                            to_number += 1
                            target = segment_after(image, shape, first_page, target, to_number)
                            to = page_end - (target + pages) * page_words
                            free = space
                        word_from, word_to = at, to
                        for _ in range(_WORDS):
                            image[word_to] = image[word_from]
                            word_from += field
                            word_to += field
                        if words > np.uint64(_WORDS):
                            image[word_to] = image[word_from]
                        to += step
                        free -= _ONE
                        kept += _ONE
                    at += step
                left -= here
                here = min(left, space)
                if left > _ZERO:
                    number += 1
                    segment = segment_after(image, shape, first_page, segment, number)
                    at = page_end - (segment + pages) * page_words
            before = np.int64(room_before[item])
            now = before
            if paged or np.int64(kept) < rooms.least[room]:
                now = room_after(shape, before, np.int64(kept))
                room_now[item] = now
                if soa and not paged:
                    # A shorter run: it begins at the same word, and its words lie closer together.
                    closer = np.uint64(rooms.most[now])
                    begin = page_end - (first_page + pages) * page_words
                    for word in range(words):
                        for i in range(kept):
                            image[begin + word * closer + i] = image[begin + word * field + i]
            # What stays of a run are its upper pages.
            segment = first_page + pages - np.uint64(segment_pages(shape, now))
            write_record(image, shape, np.int64(rows[item]), now, np.int64(kept), np.int64(segment))
    return removed, changed
