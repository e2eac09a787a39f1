"""Rewrite settled rows: those whose capacity does not change (`plan.py`).

Part of   the apply path: deltas -> plan -> arena.prepare, arena.take -> **commit**
Reads     one delta of a batch, and the list of its settled rows
Writes    the one segment of each settled row, and its degree
Keeps     rows sorted by neighbor. Asks for no page: a settled row has the room.

Short rows are merged in registers (`lanes.py`). In the others, and in those whose entries have
properties, entries are moved in one by one, as insertion sort does.

It is one long kernel: with its parts as `inlined` functions, which count who holds the arrays that
they take, it took a fifth longer (1 M inserts into 8 M edges without properties).
"""

import numpy as np

from ...image.fields import KIND_DELETE, KIND_PUT
from ...jit.compile import compiled
from ...jit.prefetch import AHEAD, prefetch, prefetch_words
from ...layouts import segment_entries, state_class, strides
from ..queries.row_search import first_in_row
from .entries import write_properties
from .lanes import FEW, load_few, load_many, store
from .plan import NEAR, longest_short, merge_lanes

_AHEAD = np.uint64(AHEAD)


@compiled
def merge_settled(low, high, image, shape, delta, rooms, settled, properties):
    """Rewrite the rows ``settled[low:high]``; returns sums as `plan_rows` does."""
    rows, indptr, columns, kinds = delta.rows, delta.indptr, delta.columns, delta.kinds
    words = shape.entry_words
    short = longest_short(shape)
    # Unsigned indices: Numba then leaves out the step for those below 0.
    one = np.uint64(1)
    record_words = np.uint64(shape.vertex_words)
    to_first = np.uint64(shape.first_word)
    to_degree = np.uint64(shape.degree_word)
    table = np.uint64(shape.vertex_base)
    page_end = np.uint64(shape.page_end)
    page_words = np.uint64(shape.page_words)
    added = 0
    found_puts = 0
    found_deletes = 0
    removed = 0
    replaced = 0
    appended = 0
    merged = 0
    last = np.uint64(high) - one
    for item in range(np.uint64(low), np.uint64(high)):
        # The record first, and, once that is there, the row that it names.
        far = table + np.uint64(rows[settled[min(item + _AHEAD + _AHEAD, last)]]) * record_words
        prefetch(image, far)
        ahead = min(item + _AHEAD, last)
        coming = table + np.uint64(rows[settled[ahead]]) * record_words
        room = state_class(shape, image[coming])
        pages = rooms.pages[room]
        start = page_end - (np.uint64(image[coming + to_first]) + pages) * page_words
        prefetch(image, start)
        if words > 1:
            # Each word of the entries lies apart, or the row takes several lines.
            degree = np.int64(image[coming + to_degree])
            step, field = strides(shape, segment_entries(shape, np.int64(room)))
            lines = words if shape.soa != 0 else 1
            for word in range(lines):
                prefetch_words(image, np.int64(start) + word * field, degree * step)
        row = np.uint64(settled[item])
        record = table + np.uint64(rows[row]) * record_words
        room = state_class(shape, image[record])
        first = np.uint64(image[record + to_first]) + rooms.pages[room]
        base = np.int64(page_end - first * page_words)
        degree = np.int64(image[record + to_degree])
        before = degree
        begin = indptr[row]
        end = indptr[row + one]
        step, field = strides(shape, segment_entries(shape, np.int64(room)))
        # Whether all entries of the batch come after what is there.
        appends = np.int64(0)
        if degree > 0 and begin < end:
            appends = np.int64(image[base + (degree - 1) * step] < columns[begin])
        if degree + end - begin <= short:
            if degree + end - begin <= FEW:
                old = load_few(image, base, degree)
                lanes, more, puts, deletes, less, again = merge_lanes(
                    old, old, begin, end, columns, kinds
                )
                degree += more - less
                store(image, base, degree, lanes)
            else:
                long = load_many(image, base, degree)
                wide, more, puts, deletes, less, again = merge_lanes(
                    long, long, begin, end, columns, kinds
                )
                degree += more - less
                store(image, base, degree, wide)
            image[record + to_degree] = degree
            added += more
            found_puts += puts
            found_deletes += deletes
            removed += less
            replaced += again
            changed = np.int64(more != less)
            appended += changed & appends
            merged += changed & (1 - appends)
            continue
        gone = np.int64(-1)
        for entry in range(begin, end):
            column = columns[entry]
            operation = kinds[entry]
            at = np.int64(0)
            if degree <= NEAR:
                while at < degree and image[base + at * step] < column:
                    at += 1
            else:
                at = first_in_row(image, base, step, at, degree, column)
            slot = base + at * step
            there = at < degree and image[slot] == column
            if operation == KIND_PUT:
                if there:
                    found_puts += 1
                else:
                    for word in range(words):
                        bottom = slot + word * field
                        position = base + word * field + degree * step
                        while position > bottom:
                            image[position] = image[position - step]
                            position -= step
                    image[slot] = column
                    degree += 1
                    added += 1
                    replaced += gone == np.int64(column)
                if words > 1:
                    number = np.int64(delta.source[entry])
                    write_properties(image, slot, field, words, number, not there, properties)
            elif there:
                degree -= 1
                for word in range(words):
                    position = slot + word * field
                    top = base + word * field + degree * step
                    while position < top:
                        image[position] = image[position + step]
                        position += step
                removed += 1
                if operation == KIND_DELETE:
                    found_deletes += 1
                else:
                    gone = np.int64(column)
        if degree != before:
            image[record + to_degree] = degree
            appended += appends
            merged += 1 - appends
    return added, found_puts, found_deletes, removed, replaced, 0, appended, merged
