"""The ``tree`` layout: the adjacency of a vertex is a complete binary tree of pages.

Pages are numbered level by level, as in a binary heap: page ``n`` names pages ``2 n + 1`` and
``2 n + 2`` in its last two words. So the bits of ``n + 1`` after the first are the way from page 0
to page ``n``: 0 left, 1 right. Rows grow and shrink at the end of the last level, so a tree is
always complete, and its height the least there can be.

CUDA twin: ``tree.cuh``.

Source: GraphVine (papers/001): edge blocks as a complete binary tree, found by a string of bits.
"""

import numpy as np

from ..jit.compile import borrowing, inlined
from .layout import Layout

LINK_WORDS = 2
LAYOUT = Layout("tree", 2, default_page_bytes=128, link_words=LINK_WORDS)


@inlined
def parent_of(number):
    """Page of an adjacency that names page ``number``, left or right below it."""
    return (number - 1) >> 1


@inlined
def link_word(shape, parent, number):
    """Word of page ``parent`` that names page ``number``: left the last but one, right the last."""
    return shape.page_end - parent * shape.page_words - 1 - (number & 1)


@borrowing
def page_after(image, shape, first, page, number):
    """Page ``number`` of the adjacency that begins at page ``first``, down from that one."""
    level = 0
    while (number + 1) >> (level + 1) > 0:
        level += 1
    page = first
    while level > 0:
        level -= 1
        page = np.int64(image[link_word(shape, page, ((number + 1) >> level) - 1)])
    return page


@borrowing
def search_start(image, shape, first, pages, neighbor, page, number):
    """Page where a search begins, and its number: the last one that begins up to ``neighbor``.

    Any page is found by its number, so this is a binary search.
    """
    page, low, high = np.int64(first), np.int64(0), np.int64(pages)
    while high - low > 1:
        middle = (low + high) >> 1
        there = page_after(image, shape, first, first, middle)
        if image[shape.page_end - (there + 1) * shape.page_words] <= neighbor:
            page, low = there, middle
        else:
            high = middle
    return page, low
