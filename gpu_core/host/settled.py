"""Rewrite the settled rows of a batch: those whose room does not change (`plan.py`).

Part of   the apply path: halves -> plan -> arena.prepare, arena.take -> **commit**
Reads     one half of a batch, and the vertex records as they were when it was planned
Writes    the one segment of each settled row, and its degree
Keeps     rows sorted by neighbour. Asks for no page: a settled row has the room.

Entries are moved in one by one, as insertion sort does: rows are short, and so are the moves.
"""

import numpy as np

from ..layouts import first_word, room_of, segment_base, segment_entries, segment_pages, strides
from .compile import compiled
from .entries import write_properties
from .plan import DELETE, PUT, SHORT, is_settled
from .prefetch import AHEAD, prefetch


@compiled
def merge_settled(low, high, image, shape, half, puts, deletes, properties):
    """Rewrite the settled ones of rows ``low … high - 1``; returns sums as `plan_rows` does."""
    rows, indptr, columns = half.rows, half.indptr, half.columns
    kinds, clear = half.kinds, half.clear
    words = shape.entry_words
    added = 0
    found_puts = 0
    found_deletes = 0
    removed = 0
    replaced = 0
    for row in range(low, high):
        if row + AHEAD < high and np.int64(rows[row + AHEAD]) < shape.vertex_count:
            ahead = shape.vertex_base + np.int64(rows[row + AHEAD]) * shape.vertex_words
            coming = image[ahead + shape.first_word]
            held = image[ahead + shape.degree_word]
            prefetch(image, first_word(shape, image[ahead], coming, held))
        vertex = np.int64(rows[row])
        if vertex >= shape.vertex_count:
            continue
        record = shape.vertex_base + vertex * shape.vertex_words
        state = image[record]
        degree = np.int64(image[record + shape.degree_word])
        begin = indptr[row]
        end = indptr[row + 1]
        if not is_settled(shape, state, degree, clear[row], end - begin, puts, deletes):
            continue
        room = room_of(shape, state, degree)
        entries = segment_entries(shape, room)
        segment = np.int64(image[record + shape.first_word])
        base = segment_base(shape, segment, segment_pages(shape, room))
        step, field = strides(shape, entries)
        before = degree
        gone = np.int64(-1)
        for entry in range(begin, end):
            column = columns[entry]
            operation = kinds[entry]
            if words == 1 and operation == PUT and degree <= SHORT:
                # The step of insertion sort: look up and make room at once.
                # Unsigned: Numba then leaves out the step for indices below 0.
                place = np.uint64(base + degree)
                bottom = np.uint64(base)
                one = np.uint64(1)
                while place > bottom and image[place - one] > column:
                    image[place] = image[place - one]
                    place -= one
                if place > bottom and image[place - one] == column:
                    # It is there: close up again.
                    top = np.uint64(base + degree)
                    while place < top:
                        image[place] = image[place + one]
                        place += one
                    found_puts += 1
                else:
                    image[place] = column
                    degree += 1
                    added += 1
                    replaced += gone == np.int64(column)
                continue
            at = np.int64(0)
            if degree <= SHORT:
                while at < degree and image[base + at * step] < column:
                    at += 1
            else:
                top = degree
                while at < top:
                    middle = (at + top) >> 1
                    if image[base + middle * step] < column:
                        at = middle + 1
                    else:
                        top = middle
            slot = base + at * step
            there = at < degree and image[slot] == column
            if operation == PUT:
                if there:
                    found_puts += 1
                else:
                    for word in range(words):
                        bottom = slot + word * field
                        place = base + word * field + degree * step
                        while place > bottom:
                            image[place] = image[place - step]
                            place -= step
                    image[slot] = column
                    degree += 1
                    added += 1
                    replaced += gone == np.int64(column)
                if words > 1:
                    number = np.int64(half.source[entry])
                    write_properties(image, slot, field, words, number, not there, properties)
            elif there:
                degree -= 1
                for word in range(words):
                    place = slot + word * field
                    top = base + word * field + degree * step
                    while place < top:
                        image[place] = image[place + step]
                        place += step
                removed += 1
                if operation == DELETE:
                    found_deletes += 1
                else:
                    gone = np.int64(column)
        if degree != before:
            image[record + shape.degree_word] = degree
    return added, found_puts, found_deletes, removed, replaced
