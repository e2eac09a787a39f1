"""How an adjacency lies on pages, and the few questions that updates, queries and algorithms ask.

An adjacency is a sequence of equal *segments*, each contiguous in memory; its entries, sorted by
neighbor, fill the segments in order. Kernels walk it like this, whatever the layout::

    segment, degree, entries, pages = open_adjacency(image, shape, vertex)
    step, field = strides(shape, entries)
    while degree > 0:
        base = segment_base(shape, segment, pages)
        for i in range(base, base + min(degree, entries) * step, step):
            neighbor = image[i]            # word w of this entry: image[i + w * field]
        degree -= entries
        if degree > 0:
            segment = next_segment(image, shape, segment)

A layout is a module here with a ``CODE``, a ``DEFAULT_PAGE_BYTES`` and six compiled functions:
``room_of``, ``room_after`` and ``degrees_kept`` (how much room an adjacency has before and after a
batch, and when it stays), ``segment_entries`` and ``segment_pages`` (what a segment of such an
adjacency holds and takes) and ``next_segment``. This file picks the module by ``shape.layout``; a
third layout adds one branch to each function below.

Questions that kernels ask in their inner loops take numbers, not arrays: an array handed to a
function costs an atomic count of references, which two threads fight over.

==========  ==================  ==========================================  ==================
layout      from                segments of a vertex                        default page
==========  ==================  ==========================================  ==================
``runs``    cuSTINGER v2/Hornet one run of ``2**c`` pages                   32 bytes
``chain``   aimGraph/faimGraph  pages, each naming the next in its last word  128 bytes
==========  ==================  ==========================================  ==================
"""

import numpy as np

from ..image.fields import CLASS_MASK
from ..jit.compile import inlined
from . import chain, runs
from .layout import Layout

#: Layout name -> layout.
LAYOUTS = {layout.name: layout for layout in (runs.LAYOUT, chain.LAYOUT)}
_BY_CODE = {layout.code: layout for layout in LAYOUTS.values()}


def layout_of(code: int) -> Layout:
    """Layout that ``Field.LAYOUT`` of an image names."""
    return _BY_CODE[code]


_runs_room_of = runs.room_of
_runs_room_after = runs.room_after
_runs_degrees_kept = runs.degrees_kept
_runs_entries = runs.segment_entries
_runs_pages = runs.segment_pages
_runs_next = runs.next_segment
_chain_room_of = chain.room_of
_chain_room_after = chain.room_after
_chain_degrees_kept = chain.degrees_kept
_chain_entries = chain.segment_entries
_chain_pages = chain.segment_pages
_chain_next = chain.next_segment
_chain_link_word = chain.link_word
_CHAIN = chain.CODE
_CLASS_MASK = np.uint64(CLASS_MASK)


@inlined
def room_of(shape, state, degree):
    """Room that an adjacency has, from its vertex's state word and degree.

    Room is counted in what the layout hands out: size class + 1 of the run for ``runs`` (0: no
    run), pages for ``chain``.
    """
    if shape.layout == _CHAIN:
        return _chain_room_of(shape, state, degree)
    return _runs_room_of(shape, state, degree)


@inlined
def room_after(shape, room, degree):
    """Room that an adjacency has after a batch, from its old room and its exact new degree."""
    if shape.layout == _CHAIN:
        return _chain_room_after(shape, room, degree)
    return _runs_room_after(shape, room, degree)


@inlined
def state_class(shape, state):
    """Size class bits of a vertex's state word: its room for ``runs``, 0 for ``chain``."""
    return (np.uint64(state) >> np.uint64(shape.class_shift)) & _CLASS_MASK


@inlined
def degrees_kept(shape, room):
    """Least and largest degree at which an adjacency with this room keeps it, in one segment."""
    if shape.layout == _CHAIN:
        return _chain_degrees_kept(shape, room)
    return _runs_degrees_kept(shape, room)


@inlined
def segment_entries(shape, room):
    """Entries that one segment of an adjacency with this room holds."""
    if shape.layout == _CHAIN:
        return _chain_entries(shape, room)
    return _runs_entries(shape, room)


@inlined
def segment_pages(shape, room):
    """Pages that one segment of an adjacency with this room takes."""
    if shape.layout == _CHAIN:
        return _chain_pages(shape, room)
    return _runs_pages(shape, room)


@inlined
def next_segment(image, shape, segment):
    """Return the segment behind ``segment``; only asked where the adjacency has one."""
    if shape.layout == _CHAIN:
        return _chain_next(image, shape, segment)
    return _runs_next(image, shape, segment)


@inlined
def is_paged(shape):
    """Whether adjacencies lie on pages of one size; otherwise on a run each."""
    return shape.layout == _CHAIN


@inlined
def moves_to_grow(shape, degree):
    """Whether an adjacency whose room grows gets another first segment."""
    return degree == 0 or not is_paged(shape)


@inlined
def write_room(image, shape, record, room):
    """Store the room in the state word of the vertex record at ``record``, if it is kept there."""
    if not is_paged(shape):
        state = np.int64(image[record]) & ~(np.int64(CLASS_MASK) << shape.class_shift)
        image[record] = state | (np.int64(room) << shape.class_shift)


@inlined
def link_word(shape, parent, number):
    """Word of page ``parent`` that names page ``number`` of its adjacency; layouts of pages."""
    return _chain_link_word(shape, parent, number)


@inlined
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
