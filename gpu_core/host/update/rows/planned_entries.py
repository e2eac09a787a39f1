"""Plan a row that does not fit lanes: where its entries of the batch belong, without any write.

Part of   the apply path: deltas -> **plan** -> arena.prepare, arena.take -> commit
Reads     a row and its entries of the batch
Writes    of each entry its position in the old adjacency, and whether it was there (`PlannedRows`)

The kinds of an entry are applied in their order (`image.fields.KIND_DANGLING` and so on).
"""

import numpy as np

from ....image.fields import KIND_DELETE, KIND_PUT
from ....jit.compile import borrowing
from ....layouts import page_after, segment_base, strides
from ...queries.row_search import nearest_in_row


@borrowing
def plan_entries(image, shape, adjacency, clear, delta, span, plan):
    """Search a row for its entries of the batch.

    Parameters
    ----------
    adjacency
        The row, as of `layouts.open_adjacency`.
    clear
        The row's own vertex is deleted: all old entries go.
    span
        First and end of the row's entries in the delta.

    Returns
    -------
    counts
        As of `plan_rows`, of entries.
    appends : bool
        Whether all of the batch's entries come after all that is there.
    """
    first_page, degree, _, _ = adjacency
    added = 0
    found_puts = 0
    found_deletes = 0
    removed = degree if clear else np.int64(0)
    replaced = 0
    dangled = np.int64(-1)
    cursor = np.int64(0), first_page, np.int64(0), np.int64(0)
    for entry in range(span[0], span[1]):
        column = delta.columns[entry]
        kind = delta.kinds[entry]
        cursor, there = seek(image, shape, adjacency, cursor, column)
        position, found = cursor[0], there
        if clear or dangled == np.int64(column):
            # Removed already, with its row or as a dangling reference; a put follows the gap.
            replaced += there and kind == KIND_PUT
            found = False
            position = np.int64(0) if clear else position + 1
        plan.position[entry] = position
        plan.found[entry] = found
        if kind == KIND_PUT:
            found_puts += found
            added += not found
        elif found:
            removed += 1
            if kind == KIND_DELETE:
                found_deletes += 1
            else:
                dangled = np.int64(column)
    appends = span[0] < span[1] and not clear and np.int64(plan.position[span[0]]) == degree
    return (added, found_puts, found_deletes, removed, replaced), appends


@borrowing
def seek(image, shape, adjacency, cursor, column):
    """Move a cursor on to the first entry whose neighbor is not below ``column``.

    A cursor is the position of an entry, the page and number of its segment, and the position of
    the first entry there.

    Returns
    -------
    cursor, there : tuple, bool
        Where it is now, and whether that neighbor is ``column``.
    """
    first_page, degree, entries, pages = adjacency
    here, page, number, start = cursor
    step, _ = strides(shape, entries)
    while True:
        base = segment_base(shape, page, pages)
        top = min(degree - start, entries)
        here = start + nearest_in_row(image, base, step, here - start, top, column)
        if here < start + entries or here >= degree:
            break
        number += 1
        page = page_after(image, shape, first_page, page, number)
        start += entries
    there = here < degree and image[base + (here - start) * step] == column
    return (here, page, number, start), there
