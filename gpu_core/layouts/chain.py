"""The ``chain`` layout: the adjacency of a vertex is a chain of pages of one size.

The last word of a page names the next page. Pages come from the page queue, freed ones first, and
go back to it as soon as they are empty, so a chain always has exactly the pages that its degree
needs; growth links pages at the end and moves nothing.

CUDA twin: ``chain.cuh``.

Source: aimGraph/faimGraph (papers/000): edge blocks with the next block's index in the last place.
"""

import numpy as np

from ..jit.compile import inlined
from .layout import Layout

CODE = 1
LINK_WORDS = 1
LAYOUT = Layout("chain", CODE, default_page_bytes=128, link_words=LINK_WORDS)


@inlined
def segment_entries(shape, room):
    """Entries of a page: all but the word that names the next page."""
    return (shape.page_words - LINK_WORDS) // shape.entry_words


@inlined
def segment_pages(shape, room):
    """One: a segment is a page."""
    return np.int64(1)


@inlined
def room_after(shape, room, degree):
    """Pages after a batch: exactly what the degree needs."""
    entries = segment_entries(shape, 1)
    return np.int64(degree + entries - 1) // entries


@inlined
def room_of(shape, state, degree):
    """Pages of the chain: what the degree needs."""
    return room_after(shape, np.int64(0), degree)


@inlined
def degrees_kept(shape, room):
    """Least and largest degree of one page."""
    return np.int64(1), np.int64(segment_entries(shape, room))


@inlined
def parent_of(number):
    """Page of an adjacency that names page ``number``, which is not the first."""
    return number - 1


@inlined
def link_word(shape, parent, number):
    """Word of page ``parent`` that names page ``number`` of its adjacency."""
    return shape.page_end - parent * shape.page_words - 1


@inlined
def next_segment(image, shape, segment):
    """Return the page that the last word of page ``segment`` names."""
    return np.int64(image[link_word(shape, segment, 0)])
