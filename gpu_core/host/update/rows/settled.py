"""Rewrite settled rows: those whose capacity does not change (`plan.py`).

Part of   the apply path: deltas -> plan -> arena.prepare, arena.take -> **commit**
Reads     one delta of a batch, and the list of its settled rows
Writes    the one segment of each settled row, and its degree
Keeps     rows sorted by neighbor. Asks for no page: a settled row has the room.

Short rows are merged in registers (`short_rows.py`). In the others, and in those whose entries have
properties, entries are moved in one by one, as insertion sort does.
"""

import numpy as np

from ....image.fields import KIND_DELETE, KIND_PUT
from ....jit.compile import borrowing, compiled
from ....jit.prefetch import AHEAD, prefetch, prefetch_words
from ....layouts import segment_entries, state_class, strides
from ...queries.row_search import nearest_in_row
from ..tally import NO_ENTRIES, add_entries
from .entries import write_properties
from .short_rows import longest_short, merge_short

_AHEAD = np.uint64(AHEAD)


@compiled
def merge_settled(low, high, image, shape, delta, rooms, settled, properties):
    """Rewrite the rows ``settled[low:high]``; returns sums as `plan_rows` does."""
    rows, indptr = delta.rows, delta.indptr
    short = longest_short(shape)
    # Unsigned indices: Numba then leaves out the step for those below 0.
    one = np.uint64(1)
    table = np.uint64(shape.vertex_base)
    record_words = np.uint64(shape.vertex_words)
    to_degree = np.uint64(shape.degree_word)
    counts = NO_ENTRIES
    appended = 0
    merged = 0
    last = np.uint64(high) - one
    for item in range(np.uint64(low), np.uint64(high)):
        # The record first, and, once that is there, the row that it names.
        far = settled[min(item + _AHEAD + _AHEAD, last)]
        prefetch(image, table + np.uint64(rows[far]) * record_words)
        coming = settled[min(item + _AHEAD, last)]
        prefetch_segment(image, shape, rooms, table + np.uint64(rows[coming]) * record_words)
        row = np.uint64(settled[item])
        record = table + np.uint64(rows[row]) * record_words
        base, step, field = open_segment(image, shape, rooms, record)
        degree = np.int64(image[record + to_degree])
        span = indptr[row], indptr[row + one]
        # Whether all entries of the batch come after what is there.
        appends = np.int64(0)
        if degree > 0 and span[0] < span[1]:
            appends = np.int64(image[base + (degree - 1) * step] < delta.columns[span[0]])
        longest = degree + span[1] - span[0]
        if longest <= short:
            more = merge_short(image, base, degree, longest, delta, span, base)
            after = degree + more[0] - more[3]
            image[record + to_degree] = after
        else:
            more = move_entries(
                image, shape.entry_words, base, step, field, degree, delta, span, properties
            )
            after = degree + more[0] - more[3]
            if after != degree:
                image[record + to_degree] = after
        counts = add_entries(counts, more)
        changed = np.int64(after != degree)
        appended += changed & appends
        merged += changed & (1 - appends)
    return (*counts, 0, appended, merged)


@borrowing
def open_segment(image, shape, rooms, record):
    """Word of the first entry of a row's one segment, and its `strides`."""
    room = state_class(shape, image[record])
    page = np.uint64(image[record + np.uint64(shape.first_word)]) + rooms.pages[room]
    base = np.uint64(shape.page_end) - page * np.uint64(shape.page_words)
    step, field = strides(shape, segment_entries(shape, np.int64(room)))
    return np.int64(base), step, field


@borrowing
def prefetch_segment(image, shape, rooms, record):
    """Ask for the entries of a row, whose record is there by now."""
    base, step, field = open_segment(image, shape, rooms, record)
    prefetch(image, base)
    if shape.entry_words > 1:
        # Each word of the entries lies apart, or the row takes several lines.
        degree = np.int64(image[record + np.uint64(shape.degree_word)])
        for word in range(shape.entry_words if shape.soa != 0 else 1):
            prefetch_words(image, base + word * field, degree * step)


@borrowing
def move_entries(image, words, base, step, field, degree, delta, span, properties):
    """Move a row's entries of the batch in or out, one by one.

    Parameters
    ----------
    words
        Words of an entry.
    base
        Word of the row's first entry.
    step, field
        As of `layouts.strides`.
    span
        First and end of the row's entries in the delta.

    Returns
    -------
    counts
        As of `plan_rows`, of entries.
    """
    added = 0
    found_puts = 0
    found_deletes = 0
    removed = 0
    replaced = 0
    gone = np.int64(-1)
    at = np.int64(0)
    for entry in range(span[0], span[1]):
        column = delta.columns[entry]
        at = nearest_in_row(image, base, step, at, degree, column)
        slot = base + at * step
        there = at < degree and image[slot] == column
        if delta.kinds[entry] == KIND_PUT:
            if there:
                found_puts += 1
            else:
                make_gap(image, slot, (degree - at) * step, step, words, field)
                image[slot] = column
                degree += 1
                added += 1
                replaced += gone == np.int64(column)
            if words > 1:
                number = np.int64(delta.source[entry])
                write_properties(image, slot, field, words, number, not there, properties)
        elif there:
            degree -= 1
            close_gap(image, slot, (degree - at) * step, step, words, field)
            removed += 1
            if delta.kinds[entry] == KIND_DELETE:
                found_deletes += 1
            else:
                gone = np.int64(column)
    return added, found_puts, found_deletes, removed, replaced


@borrowing
def make_gap(image, slot, length, step, words, field):
    """Shift ``length`` words from ``slot`` on by one entry, in each of the words of entries."""
    for word in range(words):
        bottom = slot + word * field
        position = bottom + length
        while position > bottom:
            image[position] = image[position - step]
            position -= step


@borrowing
def close_gap(image, slot, length, step, words, field):
    """Shift ``length`` words after the entry at ``slot`` back over it."""
    for word in range(words):
        position = slot + word * field
        top = position + length
        while position < top:
            image[position] = image[position + step]
            position += step
