"""Write a planned batch into the adjacencies.

Part of   the apply path: halves -> plan -> arena.prepare -> **commit**
Reads     one half of a batch and its plan (`plan.py`), and the pages handed out for it
Writes    segments and vertex records of the touched rows, and nothing else
Keeps     rows sorted by neighbour; a row's room is what the plan says. Cannot fail.

A row that lies in one segment before and after is rewritten by moving blocks: taken-away entries
are closed up from the front, new ones opened from the back, each entry moves at most twice. Of any
other row, the segments from the first changed one on are gathered into a buffer, merged into a
second one, and written back.

Each row belongs to one range, and no two rows share a page: ranges run side by side.
"""

import numpy as np

from ..image import CLASS_MASK, Shape
from ..layouts import (
    next_segment,
    open_adjacency,
    segment_base,
    segment_entries,
    strides,
)
from ..layouts import chain as _chain
from ..records import FIRST_WORD, LAST_WORD, TYPE_WORD, WEIGHT_WORD
from .compile import compiled, inlined
from .plan import PUT

_LAYOUT = int(Shape.LAYOUT)
_VERTEX_BASE = int(Shape.VERTEX_BASE)
_VERTEX_WORDS = int(Shape.VERTEX_WORDS)
_FIRST = int(Shape.FIRST_WORD)
_DEGREE = int(Shape.DEGREE_WORD)
_CLASS_SHIFT = int(Shape.CLASS_SHIFT)
_PAGE_END = int(Shape.PAGE_END)
_PAGE_WORDS = int(Shape.PAGE_WORDS)
_WORDS = int(Shape.ENTRY_WORDS)
_CLASS_MASK = CLASS_MASK
_CHAIN = _chain.CODE
_WEIGHT = WEIGHT_WORD
_TYPE = TYPE_WORD
_FIRST_TIME = FIRST_WORD
_LAST_TIME = LAST_WORD


@inlined
def write_time(image, at, field, value):
    """Store an int64 in two words of an entry, low word first."""
    bits = np.uint64(value)
    image[at] = np.uint32(bits & np.uint64(0xFFFFFFFF))
    image[at + field] = np.uint32(bits >> np.uint64(32))


@inlined
def write_properties(image, at, field, words, put, new, weight, kind, first, last, reset):
    """Store the properties of put number ``put`` in the entry at word ``at``."""
    if words > _WEIGHT:
        image[at + _WEIGHT * field] = weight[put]
    if words > _LAST_TIME:
        image[at + _TYPE * field] = kind[put]
        if new or reset[put]:
            write_time(image, at + _FIRST_TIME * field, field, first[put])
        write_time(image, at + _LAST_TIME * field, field, last[put])


@inlined
def move_up(image, base, step, field, words, low, high, by):
    """Move entries ``[low, high)`` up by ``by`` places, last one first."""
    for word in range(words):
        start = base + word * field
        for i in range(high - 1, low - 1, -1):
            image[start + (i + by) * step] = image[start + i * step]


@inlined
def move_down(image, base, step, field, words, low, high, to):
    """Move entries ``[low, high)`` down to place ``to``, first one first."""
    for word in range(words):
        start = base + word * field
        for i in range(high - low):
            image[start + (to + i) * step] = image[start + (low + i) * step]


@inlined
def copy_block(image, base, step, field, low, high, into, to_base, to_step, to_field, to, words):
    """Copy entries ``[low, high)`` of one segment to place ``to`` of another, maybe elsewhere."""
    for word in range(words):
        start = base + word * field
        target = to_base + word * to_field
        for i in range(high - low):
            into[target + (to + i) * to_step] = image[start + (low + i) * step]


@inlined
def rewrite_in_place(
    image, base, step, field, words, degree, low, high, columns, kinds, position, found, source,
    weight, kind, first, last, reset,
):  # fmt: skip
    """Merge entries ``[low, high)`` of the batch into one segment that has the room."""
    new = 0
    write = -1
    read = 0
    shift = 0
    for entry in range(low, high):
        if kinds[entry] == PUT:
            if found[entry]:
                write_properties(
                    image, base + np.int64(position[entry]) * step, field, words,
                    np.int64(source[entry]) if words > 1 else 0, False,
                    weight, kind, first, last, reset,
                )  # fmt: skip
            else:
                new += 1
                # Its place once the entries taken away before it are closed up.
                position[entry] -= np.uint32(shift)
        elif found[entry]:
            at = np.int64(position[entry])
            if write < 0:
                write = at
            else:
                move_down(image, base, step, field, words, read, at, write)
                write += at - read
            read = at + 1
            shift += 1
    if write >= 0:
        move_down(image, base, step, field, words, read, degree, write)
    end = degree - shift
    for entry in range(high - 1, low - 1, -1):
        if new == 0:
            break
        if kinds[entry] == PUT and not found[entry]:
            at = np.int64(position[entry])
            move_up(image, base, step, field, words, at, end, new)
            end = at
            new -= 1
            slot = base + (at + new) * step
            image[slot] = columns[entry]
            write_properties(
                image, slot, field, words, np.int64(source[entry]) if words > 1 else 0, True,
                weight, kind, first, last, reset,
            )  # fmt: skip


@inlined
def rewrite_elsewhere(
    image, base, step, field, degree, into, to_base, to_step, to_field, words, low, high,
    columns, kinds, position, found, source, weight, kind, first, last, reset,
):  # fmt: skip
    """Merge one segment and entries ``[low, high)`` of the batch into another segment."""
    read = 0
    write = 0
    for entry in range(low, high):
        there = found[entry]
        put = kinds[entry] == PUT
        if not (put or there):
            continue
        at = np.int64(position[entry])
        if at > read:
            copy_block(
                image, base, step, field, read, at,
                into, to_base, to_step, to_field, write, words,
            )  # fmt: skip
            write += at - read
            read = at
        if put:
            slot = to_base + write * to_step
            if there:
                copy_block(
                    image, base, step, field, at, at + 1,
                    into, to_base, to_step, to_field, write, words,
                )  # fmt: skip
            into[slot] = columns[entry]
            write_properties(
                into, slot, to_field, words, np.int64(source[entry]) if words > 1 else 0,
                not there, weight, kind, first, last, reset,
            )  # fmt: skip
            write += 1
        if there:
            read = at + 1
    copy_block(
        image, base, step, field, read, degree, into, to_base, to_step, to_field, write, words
    )


@inlined
def rewrite_chain(
    image, shape, segment, degree, after, entries, words, low, high,
    columns, kinds, position, found, source, weight, kind, first, last, reset,
):  # fmt: skip
    """Merge entries ``[low, high)`` of the batch into a chain whose pages are all linked already."""
    step, field = strides(shape, entries)
    # Whole segments before the first changed entry stay as they are.
    start = np.int64(0)
    while start + entries <= np.int64(position[low]):
        start += entries
        if start < max(degree, after):
            segment = next_segment(image, shape, segment)
    old = np.empty(max(degree - start, 0) * words, np.uint32)
    page = segment
    for at in range(start, degree, entries):
        base = segment_base(shape, page, 1)
        count = min(entries, degree - at)
        copy_block(image, base, step, field, 0, count, old, 0, words, 1, at - start, words)
        if at + entries < degree:
            page = next_segment(image, shape, page)
    new = np.empty((after - start) * words, np.uint32)
    for entry in range(low, high):
        position[entry] -= np.uint32(start)
    rewrite_elsewhere(
        old, 0, words, 1, max(degree - start, 0), new, 0, words, 1, words, low, high,
        columns, kinds, position, found, source, weight, kind, first, last, reset,
    )  # fmt: skip
    page = segment
    for at in range(start, after, entries):
        base = segment_base(shape, page, 1)
        count = min(entries, after - at)
        copy_block(
            new, 0, words, 1, at - start, at - start + count, image, base, step, field, 0, words
        )
        if at + entries < after:
            page = next_segment(image, shape, page)


@inlined
def write_record(image, shape, vertex, room, degree, page):
    """Store size class, degree and first page of an adjacency in its vertex record."""
    record = shape[_VERTEX_BASE] + vertex * shape[_VERTEX_WORDS]
    image[record + shape[_DEGREE]] = degree
    image[record + shape[_FIRST]] = page
    if shape[_LAYOUT] != _CHAIN:
        shift = shape[_CLASS_SHIFT]
        state = np.int64(image[record]) & ~(np.int64(_CLASS_MASK) << shift)
        image[record] = state | (np.int64(room) << shift)


@compiled
def commit_runs(
    low, high, image, shape, rows, indptr, columns, kinds, clear, position, found, source,
    degree_before, degree_after, room_before, room_afterwards, taken_first, freed_first,
    freed_class, weight, kind, first, last, reset,
):  # fmt: skip
    """Rewrite rows ``low … high - 1`` of the ``runs`` layout.

    ``taken_first[row]`` is the run handed out for a row that outgrows its own;
    ``freed_first/freed_class[row]`` receive the run that the row leaves (class 255: none).
    """
    words = shape[_WORDS]
    for row in range(low, high):
        vertex = np.int64(rows[row])
        segment, degree, entries, pages = open_adjacency(image, shape, vertex)
        if clear[row]:
            degree = 0
        before = np.int64(room_before[row])
        after = np.int64(room_afterwards[row])
        freed_class[row] = 255
        if after == 0:
            if before > 0:
                freed_first[row] = segment
                freed_class[row] = before - 1
            write_record(image, shape, vertex, 0, 0, 0)
            continue
        base = segment_base(shape, segment, pages)
        step, field = strides(shape, entries)
        if after > before:
            to_entries = segment_entries(shape, after)
            to_step, to_field = strides(shape, to_entries)
            to_segment = np.int64(taken_first[row])
            to_base = segment_base(shape, to_segment, np.int64(1) << (after - 1))
            rewrite_elsewhere(
                image, base, step, field, degree, image, to_base, to_step, to_field, words,
                indptr[row], indptr[row + 1], columns, kinds, position, found, source,
                weight, kind, first, last, reset,
            )  # fmt: skip
            if before > 0:
                freed_first[row] = segment
                freed_class[row] = before - 1
            segment = to_segment
        else:
            rewrite_in_place(
                image, base, step, field, words, degree, indptr[row], indptr[row + 1],
                columns, kinds, position, found, source, weight, kind, first, last, reset,
            )  # fmt: skip
            if after < before:
                # The half at the low address stays: its pages are the run's upper ones.
                half = np.int64(1) << (after - 1)
                freed_first[row] = segment
                freed_class[row] = after - 1
                segment += half
                to_entries = segment_entries(shape, after)
                _, to_field = strides(shape, to_entries)
                if to_field != field:
                    count = np.int64(degree_after[row])
                    for word in range(1, words):
                        for i in range(count):
                            image[base + word * to_field + i] = image[base + word * field + i]
        write_record(image, shape, vertex, after, degree_after[row], segment)


@compiled
def commit_chain(
    low, high, image, shape, rows, indptr, columns, kinds, clear, position, found, source,
    degree_before, degree_after, room_before, room_afterwards, taken_from, taken, freed_from,
    freed, weight, kind, first, last, reset,
):  # fmt: skip
    """Rewrite rows ``low … high - 1`` of the ``chain`` layout.

    ``taken[taken_from[row]:taken_from[row + 1]]`` are the pages handed out for a row that grows;
    the pages that a row leaves go to ``freed`` likewise.
    """
    words = shape[_WORDS]
    entries = segment_entries(shape, 1)
    for row in range(low, high):
        vertex = np.int64(rows[row])
        segment = np.int64(
            image[shape[_VERTEX_BASE] + vertex * shape[_VERTEX_WORDS] + shape[_FIRST]]
        )
        degree = np.int64(degree_before[row])
        before = np.int64(room_before[row])
        after = np.int64(room_afterwards[row])
        if clear[row]:
            degree = 0
        link = segment
        for _ in range(before - 1):
            if after > before:
                link = next_segment(image, shape, link)
        for i in range(taken_from[row], taken_from[row + 1]):
            page = np.int64(taken[i])
            if before == 0 and i == taken_from[row]:
                segment = page
            else:
                image[shape[_PAGE_END] - link * shape[_PAGE_WORDS] - 1] = page
            link = page
        if max(before, after) <= 1:
            step, field = strides(shape, entries)
            rewrite_in_place(
                image, segment_base(shape, segment, 1), step, field, words, degree,
                indptr[row], indptr[row + 1],
                columns, kinds, position, found, source, weight, kind, first, last, reset,
            )  # fmt: skip
        elif indptr[row] < indptr[row + 1]:
            rewrite_chain(
                image, shape, segment, degree, np.int64(degree_after[row]), entries, words,
                indptr[row], indptr[row + 1],
                columns, kinds, position, found, source, weight, kind, first, last, reset,
            )  # fmt: skip
        if after < before:
            page = segment
            for _ in range(after - 1):
                page = next_segment(image, shape, page)
            if after > 0:
                page = next_segment(image, shape, page)
            for i in range(freed_from[row], freed_from[row + 1]):
                freed[i] = page
                if i + 1 < freed_from[row + 1]:
                    page = next_segment(image, shape, page)
        if after == 0:
            segment = np.int64(0)
        write_record(image, shape, vertex, after, degree_after[row], segment)
