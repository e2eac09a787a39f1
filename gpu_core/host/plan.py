"""What a batch will do to each row that it touches, found without touching anything.

Part of   the apply path: halves -> **plan** -> arena.prepare -> commit
Reads     the image, and one *half* of a batch: its entries for one direction, grouped by row and
          sorted by (column, kind) within a row
Writes    for each entry its position in the old adjacency and whether it was there; for each row
          the degree and the room before and after
Keeps     every count of the batch's report is exact before the first word of the image changes, so
          a batch that does not fit is refused whole

Kinds of an entry: `MENTION` (the neighbour is deleted, its mentions go), `DELETE`, `PUT`, applied
in this order. ``clear[row]`` says that the row's own vertex is deleted: all old entries go.
"""

import numpy as np

from ..layouts import (
    next_segment,
    open_adjacency,
    room_after,
    room_of,
    segment_base,
    strides,
)
from .compile import compiled, inlined

MENTION = 0
DELETE = 1
PUT = 2


@inlined
def lower_bound(image, base, step, low, high, column):
    """First position in ``[low, high)`` whose neighbour is not below ``column``, else ``high``."""
    near = min(high, low + 16)
    while low < near and image[base + low * step] < column:
        low += 1
    if low < near or low == high:
        return low
    while low < high:
        middle = (low + high) >> 1
        if image[base + middle * step] < column:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def plan_rows(
    low,
    high,
    image,
    shape,
    rows,
    indptr,
    columns,
    kinds,
    clear,
    position,
    found,
    degree_before,
    degree_after,
    room_before,
    room_afterwards,
):
    """Plan rows ``low … high - 1``.

    Returns
    -------
    added, found_puts, found_deletes, removed, replaced : int
        Entries put that were not there; put and there; deleted and there; taken away, those lost
        with a vertex included; lost with a vertex and put again, which count as added and removed.
    """
    added = 0
    found_puts = 0
    found_deletes = 0
    removed = 0
    replaced = 0
    for row in range(low, high):
        vertex = np.int64(rows[row])
        segment, degree, entries, pages = open_adjacency(image, shape, vertex)
        degree_before[row] = degree
        room = room_of(image, shape, vertex)
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
                end = min(degree - start, entries)
                here = start + lower_bound(image, base, step, here - start, end, column)
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
        after = np.int64(degree_before[row]) + row_added - row_removed
        degree_after[row] = after
        room_before[row] = room
        room_afterwards[row] = room_after(shape, room, after)
        added += row_added
        removed += row_removed
    return added, found_puts, found_deletes, removed, replaced
