"""Merge short rows, those that fit lanes, in registers (`lanes.py`).

Part of   the apply path: deltas -> **plan** -> arena.prepare, arena.take -> **commit**
Reads     a row and its entries of the batch
Writes    the segment that the row will lie in; nothing where it is planned
Keeps     rows sorted by neighbor

A row is *short* if it lies in one segment, with one-word entries, and fits lanes whatever its
entries meet. The kinds of an entry are applied in their order (`image.fields.KIND_DANGLING` and so
on).
"""

import numpy as np

from ....image.fields import KIND_DELETE, KIND_PUT
from ....jit.compile import borrowing, inlined
from ....layouts import segment_base, segment_entries
from ...memory.rooms import LARGEST_ROOM
from .lanes import FEW, MANY, holds, load_few, load_many, store, with_key, without_key


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
    counts
        As of `plan_rows`, of entries; those removed are of the batch only.
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
    return lanes, (added, found_puts, found_deletes, removed, replaced)


@borrowing
def plan_short(image, shape, adjacency, clear, delta, span):
    """Count what becomes of a row's entries of the batch.

    Parameters and what is returned are those of `planned_entries.plan_entries`.
    """
    first_page, degree, _, pages = adjacency
    begin, end = span
    base = segment_base(shape, first_page, pages)
    kept = np.int64(0) if clear else degree
    if degree + end - begin <= FEW:
        few = load_few(image, base, kept), load_few(image, base, degree)
        _, counts = merge_lanes(few[0], few[1], begin, end, delta.columns, delta.kinds)
    else:
        many = load_many(image, base, kept), load_many(image, base, degree)
        _, counts = merge_lanes(many[0], many[1], begin, end, delta.columns, delta.kinds)
    appends = begin < end and not clear
    if appends:  # else there may be no entry to read
        appends = degree == 0 or image[base + degree - 1] < delta.columns[begin]
    added, found_puts, found_deletes, removed, replaced = counts
    return (added, found_puts, found_deletes, removed + degree - kept, replaced), appends


@borrowing
def merge_short(image, base, degree, longest, delta, span, to):
    """Merge a row of ``degree`` entries at word ``base`` with its entries of the batch.

    Parameters
    ----------
    longest
        The most entries that this may come to.
    span
        First and end of the row's entries in the delta.
    to
        Word of the first of the entries that are written.

    Returns
    -------
    counts
        As of `plan_rows`, of entries.
    """
    begin, end = span
    if longest <= FEW:
        few = load_few(image, base, degree)
        lanes, counts = merge_lanes(few, few, begin, end, delta.columns, delta.kinds)
        store(image, to, degree + counts[0] - counts[3], lanes)
    else:
        many = load_many(image, base, degree)
        wide, counts = merge_lanes(many, many, begin, end, delta.columns, delta.kinds)
        store(image, to, degree + counts[0] - counts[3], wide)
    return counts
