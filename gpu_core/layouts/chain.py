"""The ``chain`` layout: the adjacency of a vertex is a chain of pages, each naming the next.

The link is the last word of a page. Growth links pages at the end and moves nothing.

CUDA twin: ``chain.cuh``.

Source: aimGraph/faimGraph (papers/000): edge blocks with the next block's index in the last place.
"""

import numpy as np

from ..jit.compile import borrowing, inlined
from .layout import Layout

LINK_WORDS = 1
LAYOUT = Layout("chain", 1, default_page_bytes=128, link_words=LINK_WORDS)


@inlined
def parent_of(number):
    """Page of an adjacency that names page ``number``: the one before."""
    return number - 1


@inlined
def link_word(shape, parent, number):
    """Word of page ``parent`` that names page ``number`` of its adjacency: the last one."""
    return shape.page_end - parent * shape.page_words - 1


@borrowing
def page_after(image, shape, first, page, number):
    """Page ``number`` of the adjacency that begins at page ``first``, from the one before it."""
    return np.int64(image[link_word(shape, page, number)])


@borrowing
def search_start(image, shape, first, pages, neighbor, page, number):
    """Page where a search begins, and its number: the given one, for later ones hang on it."""
    return np.int64(page), np.int64(number)
