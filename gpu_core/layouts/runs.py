"""The ``runs`` layout: the adjacency of a vertex is one contiguous run of ``2**c`` pages.

A run that is outgrown is left for a larger one; contiguity buys binary search, intersection by
streaming, and views without a copy. The size class ``c`` is kept in the vertex's state word.

Room after a batch: the smallest class that holds the new degree when it does not fit; one class
down when the degree is at most a quarter of the capacity; no run at degree 0.

Source: cuSTINGER v2/Hornet (papers/004): one block a vertex, sizes in powers of two.
"""

import numpy as np

from ..host.compile import inlined
from ..image import CLASS_MASK, Shape

CODE = 0
DEFAULT_PAGE_BYTES = 32

_VERTEX_BASE = int(Shape.VERTEX_BASE)
_VERTEX_WORDS = int(Shape.VERTEX_WORDS)
_VERTEX_COUNT = int(Shape.VERTEX_COUNT)
_FIRST_WORD = int(Shape.FIRST_WORD)
_DEGREE_WORD = int(Shape.DEGREE_WORD)
_CLASS_SHIFT = int(Shape.CLASS_SHIFT)
_PAGE_WORDS = int(Shape.PAGE_WORDS)
_ENTRY_WORDS = int(Shape.ENTRY_WORDS)
_CLASS_MASK = CLASS_MASK


@inlined
def segment_entries(shape, room):
    """Entries of a run of class ``room - 1``."""
    if room == 0:
        return 0
    return (shape[_PAGE_WORDS] << (room - 1)) // shape[_ENTRY_WORDS]


@inlined
def room_of(image, shape, vertex):
    """Size class + 1 of the vertex's run, 0 = no run."""
    if vertex >= shape[_VERTEX_COUNT]:
        return np.int64(0)
    state = np.int64(image[shape[_VERTEX_BASE] + vertex * shape[_VERTEX_WORDS]])
    return (state >> shape[_CLASS_SHIFT]) & _CLASS_MASK


@inlined
def open_adjacency(image, shape, vertex):
    """The one run of the vertex."""
    room = room_of(image, shape, vertex)
    if room == 0:
        return 0, 0, 0, 0
    record = shape[_VERTEX_BASE] + vertex * shape[_VERTEX_WORDS]
    first = np.int64(image[record + shape[_FIRST_WORD]])
    degree = np.int64(image[record + shape[_DEGREE_WORD]])
    return first, degree, segment_entries(shape, room), 1 << (room - 1)


@inlined
def next_segment(image, shape, segment):
    """Never asked: a run has one segment."""
    return segment


@inlined
def room_after(shape, room, degree):
    """Size class + 1 after a batch."""
    if degree == 0:
        return 0
    if room == 0 or degree > segment_entries(shape, room):
        room = max(room, 1)
        while segment_entries(shape, room) < degree:
            room += 1
        return room
    if room > 1 and 4 * degree <= segment_entries(shape, room):
        if degree <= segment_entries(shape, room - 1):
            return room - 1
    return room
