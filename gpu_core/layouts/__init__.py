"""How an adjacency lies on pages, and the few questions that updates, queries and algorithms ask.

An adjacency is a sequence of equal *segments*, each contiguous in memory; its entries, sorted by
neighbour, fill the segments in order. Kernels walk it like this, whatever the layout::

    segment, degree, entries, pages = open_adjacency(image, shape, vertex)
    step, field = strides(shape, entries)
    while degree > 0:
        base = segment_base(shape, segment, pages)
        for i in range(base, base + min(degree, entries) * step, step):
            neighbour = image[i]            # word w of this entry: image[i + w * field]
        degree -= entries
        if degree > 0:
            segment = next_segment(image, shape, segment)

A layout is a module here with a ``CODE`` and five compiled functions: ``open_adjacency``,
``next_segment``, ``room_of`` and ``room_after`` (how much room an adjacency has before and after a
batch) and ``segment_entries``. This file picks the module by ``shape[Shape.LAYOUT]``; a third
layout adds one branch to each function below.

==========  ==================  ==========================================  ==================
layout      from                segments of a vertex                        default page
==========  ==================  ==========================================  ==================
``runs``    cuSTINGER v2/Hornet one run of ``2**c`` pages                   32 bytes
``chain``   aimGraph/faimGraph  pages, each naming the next in its last word  128 bytes
==========  ==================  ==========================================  ==================
"""

from ..host.compile import inlined
from ..image import Shape
from . import chain, runs

#: Layout name -> module.
LAYOUTS = {"runs": runs, "chain": chain}

_LAYOUT = int(Shape.LAYOUT)
_PAGE_END = int(Shape.PAGE_END)
_PAGE_WORDS = int(Shape.PAGE_WORDS)
_ENTRY_WORDS = int(Shape.ENTRY_WORDS)
_SOA = int(Shape.SOA)

_runs_open = runs.open_adjacency
_runs_next = runs.next_segment
_runs_room_of = runs.room_of
_runs_room_after = runs.room_after
_runs_entries = runs.segment_entries
_chain_open = chain.open_adjacency
_chain_next = chain.next_segment
_chain_room_of = chain.room_of
_chain_room_after = chain.room_after
_chain_entries = chain.segment_entries
_CHAIN = chain.CODE


@inlined
def open_adjacency(image, shape, vertex):
    """First segment, degree, entries a segment, pages a segment of a vertex's adjacency.

    A vertex index at or beyond the table's end, or an absent vertex, has degree 0.
    """
    if shape[_LAYOUT] == _CHAIN:
        return _chain_open(image, shape, vertex)
    return _runs_open(image, shape, vertex)


@inlined
def next_segment(image, shape, segment):
    """Return the segment behind ``segment``; only asked where the adjacency has one."""
    if shape[_LAYOUT] == _CHAIN:
        return _chain_next(image, shape, segment)
    return _runs_next(image, shape, segment)


@inlined
def room_of(image, shape, vertex):
    """Room that the adjacency of a vertex has.

    Room is counted in what the layout hands out: size class + 1 of the run for ``runs`` (0: no
    run), pages for ``chain``.
    """
    if shape[_LAYOUT] == _CHAIN:
        return _chain_room_of(image, shape, vertex)
    return _runs_room_of(image, shape, vertex)


@inlined
def room_after(shape, room, degree):
    """Room that an adjacency has after a batch, from its old room and its exact new degree."""
    if shape[_LAYOUT] == _CHAIN:
        return _chain_room_after(shape, room, degree)
    return _runs_room_after(shape, room, degree)


@inlined
def segment_entries(shape, room):
    """Entries that one segment of an adjacency with this room holds."""
    if shape[_LAYOUT] == _CHAIN:
        return _chain_entries(shape, room)
    return _runs_entries(shape, room)


@inlined
def segment_base(shape, segment, pages):
    """Word of entry 0 of a segment of ``pages`` pages that begins at page ``segment``."""
    return shape[_PAGE_END] - (segment + pages) * shape[_PAGE_WORDS]


@inlined
def strides(shape, entries):
    """Words from one entry of a segment to the next, and from one word of an entry to the next."""
    if shape[_SOA] != 0:
        return 1, entries
    return shape[_ENTRY_WORDS], 1
