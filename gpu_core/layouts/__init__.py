"""How an adjacency lies on pages, and the few questions that updates, queries and algorithms ask.

An adjacency is a sequence of equal *segments*, each contiguous in memory; its entries, sorted by
neighbor, fill the segments in order. Kernels walk it like this, whatever the layout::

    first_page, degree, entries, pages = open_adjacency(image, shape, vertex)
    segment, number = first_page, 0
    step, field = strides(shape, entries)
    while degree > 0:
        base = segment_base(shape, segment, pages)
        for i in range(base, base + min(degree, entries) * step, step):
            neighbor = image[i]            # word w of this entry: image[i + w * field]
        degree -= entries
        if degree > 0:
            number += 1
            segment = page_after(image, shape, first_page, segment, number)

This file puts two families side by side: runs (``runs.py``), where an adjacency is one segment, and
pages (``pages.py``), where each segment is a page. Of a family it asks ``room_of``, ``room_after``
and ``degrees_kept`` (how much room an adjacency has before and after a batch, and when it stays),
``segment_entries`` and ``segment_pages`` (what a segment of such an adjacency holds and takes).
How pages are linked, and so where the next one is, stands in ``pages.py`` alone. The rules that
every layout keeps: ``layout.py``.

Functions that take the image only borrow it (`jit/borrowed_arrays.py`): others count at each call
who holds it, and threads fight over the count.
"""

import numpy as np

from ..errors import CorruptImageError
from ..image.fields import CLASS_MASK
from ..jit.compile import borrowing, inlined
from . import runs
from .layout import Layout
from .pages import (
    PAGED,
    is_paged,
    link_word,
    page_after,
    page_entries,
    pages_of,
    parent_of,
    search_start,
)

__all__ = [
    "LAYOUTS", "degrees_kept", "first_word", "is_paged", "layout_of", "link_word", "moves_to_grow",
    "open_adjacency", "page_after", "parent_of", "room_after", "room_of", "search_start",
    "segment_base", "segment_entries", "segment_pages", "state_class", "strides", "write_room",
]  # fmt: skip

#: Layout name -> layout.
LAYOUTS = {module.LAYOUT.name: module.LAYOUT for module in (runs, *PAGED)}
_BY_CODE = {layout.code: layout for layout in LAYOUTS.values()}


def layout_of(code: int) -> Layout:
    """Layout that ``Field.LAYOUT`` of an image names.

    Raises
    ------
    CorruptImageError
        There is none of this code.
    """
    if code not in _BY_CODE:
        msg = f"corrupt image: no layout has the code {code}; rebuild the graph from its log"
        raise CorruptImageError(msg)
    return _BY_CODE[code]


_CLASS_MASK = np.uint64(CLASS_MASK)


@inlined
def room_of(shape, state, degree):
    """Room that an adjacency has, from its vertex's state word and degree.

    Room is counted in what the family allocates: size class + 1 of the run (0: no run), or pages.
    """
    if is_paged(shape):
        return pages_of(shape, degree)
    return runs.room_of(shape, state, degree)


@inlined
def room_after(shape, room, degree):
    """Room that an adjacency has after a batch, from its old room and its exact new degree."""
    if is_paged(shape):
        return pages_of(shape, degree)
    return runs.room_after(shape, room, degree)


@inlined
def state_class(shape, state):
    """Size class bits of a vertex's state word: its room on runs, 0 on pages."""
    return (np.uint64(state) >> np.uint64(shape.class_shift)) & _CLASS_MASK


@inlined
def degrees_kept(shape, room):
    """Least and largest degree at which an adjacency with this room keeps it, in one segment."""
    if is_paged(shape):
        return np.int64(1), np.int64(page_entries(shape))
    return runs.degrees_kept(shape, room)


@inlined
def segment_entries(shape, room):
    """Entries that one segment of an adjacency with this room holds."""
    if is_paged(shape):
        return page_entries(shape)
    return runs.segment_entries(shape, room)


@inlined
def segment_pages(shape, room):
    """Pages that one segment of an adjacency with this room takes."""
    if is_paged(shape):
        return np.int64(1)
    return runs.segment_pages(shape, room)


@inlined
def moves_to_grow(shape, degree):
    """Whether an adjacency whose room grows gets another first segment."""
    return degree == 0 or not is_paged(shape)


@borrowing
def write_room(image, shape, record, room):
    """Store the room in the state word of the vertex record at ``record``, if it is kept there."""
    if not is_paged(shape):
        state = np.int64(image[record]) & ~(np.int64(CLASS_MASK) << shape.class_shift)
        image[record] = state | (np.int64(room) << shape.class_shift)


@borrowing
def open_adjacency(image, shape, vertex):
    """First segment, degree, entries a segment, pages a segment of a vertex's adjacency.

    A vertex index at or beyond the table's end, or an absent vertex, has degree 0.
    """
    if vertex >= shape.vertex_count:
        return np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    record = shape.vertex_base + vertex * shape.vertex_words
    segment = np.int64(image[record + shape.first_word])
    degree = np.int64(image[record + shape.degree_word])
    room = room_of(shape, image[record], degree)
    return segment, degree, segment_entries(shape, room), segment_pages(shape, room)


@inlined
def segment_base(shape, segment, pages):
    """Word of entry 0 of a segment of ``pages`` pages that begins at page ``segment``."""
    return shape.page_end - (segment + pages) * shape.page_words


@inlined
def first_word(shape, state, segment, degree):
    """Word of the first entry of an adjacency, from the words of its vertex record.

    Kernels ask for this word a few rows ahead (`jit/prefetch.py`).
    """
    room = room_of(shape, state, np.int64(degree))
    return segment_base(shape, np.int64(segment), segment_pages(shape, room))


@inlined
def strides(shape, entries):
    """Words from one entry of a segment to the next, and from one word of an entry to the next."""
    if shape.soa != 0:
        return np.int64(1), np.int64(entries)
    return np.int64(shape.entry_words), np.int64(1)
