"""The ``chain`` layout: the adjacency of a vertex is a chain of pages of one size.

The last word of a page names the next page. Pages come from the page queue, freed ones first, and
go back to it as soon as they are empty, so a chain always has exactly the pages that its degree
needs; growth links pages at the end and moves nothing.

Source: aimGraph/faimGraph (papers/000): edge blocks with the next block's index in the last place.
"""

import numpy as np

from ..host.compile import inlined
from ..image import Shape

CODE = 1
DEFAULT_PAGE_BYTES = 128

_VERTEX_BASE = int(Shape.VERTEX_BASE)
_VERTEX_WORDS = int(Shape.VERTEX_WORDS)
_VERTEX_COUNT = int(Shape.VERTEX_COUNT)
_FIRST_WORD = int(Shape.FIRST_WORD)
_DEGREE_WORD = int(Shape.DEGREE_WORD)
_PAGE_END = int(Shape.PAGE_END)
_PAGE_WORDS = int(Shape.PAGE_WORDS)
_ENTRY_WORDS = int(Shape.ENTRY_WORDS)


@inlined
def segment_entries(shape, room):
    """Entries of a page: all but the word that names the next page."""
    return (shape[_PAGE_WORDS] - 1) // shape[_ENTRY_WORDS]


@inlined
def room_of(image, shape, vertex):
    """Pages of the vertex's chain."""
    if vertex >= shape[_VERTEX_COUNT]:
        return np.int64(0)
    record = shape[_VERTEX_BASE] + vertex * shape[_VERTEX_WORDS]
    entries = segment_entries(shape, 1)
    return (np.int64(image[record + shape[_DEGREE_WORD]]) + entries - 1) // entries


@inlined
def open_adjacency(image, shape, vertex):
    """The first page of the chain."""
    if vertex >= shape[_VERTEX_COUNT]:
        return 0, 0, 0, 0
    record = shape[_VERTEX_BASE] + vertex * shape[_VERTEX_WORDS]
    first = np.int64(image[record + shape[_FIRST_WORD]])
    degree = np.int64(image[record + shape[_DEGREE_WORD]])
    return first, degree, segment_entries(shape, 1), 1


@inlined
def next_segment(image, shape, segment):
    """Return the page that the last word of page ``segment`` names."""
    return np.int64(image[shape[_PAGE_END] - segment * shape[_PAGE_WORDS] - 1])


@inlined
def room_after(shape, room, degree):
    """Pages after a batch: exactly what the degree needs."""
    entries = segment_entries(shape, 1)
    return (degree + entries - 1) // entries
