"""Adjacencies on pages of one size, whatever layout links them.

CUDA twin: ``pages.cuh``, same names and arithmetic. The rules: ``layout.py``.

A layout of pages is a module here and a header, which say by the same names where its links are:
``LINK_WORDS``, ``parent_of``, ``link_word``, ``page_after`` and ``search_start``. One more of them
is a name in ``PAGED`` more, and one more line in the functions of these names, here and in
``pages.cuh``.
"""

import numpy as np

from ..jit.compile import inlined
from . import chain, runs, tree

#: Layouts of pages.
PAGED = (chain.LAYOUT, tree.LAYOUT)

_RUNS = runs.CODE
_TREE = tree.CODE


@inlined
def is_paged(shape):
    """Whether adjacencies lie on pages of one size; otherwise on a run each."""
    return shape.layout != _RUNS


@inlined
def link_words(shape):
    """Words of a page that name other pages."""
    if shape.layout == _TREE:
        return tree.LINK_WORDS
    return chain.LINK_WORDS


@inlined
def parent_of(shape, number):
    """Page of an adjacency that names page ``number``, which is not the first."""
    if shape.layout == _TREE:
        return tree.parent_of(number)
    return chain.parent_of(number)


@inlined
def link_word(shape, parent, number):
    """Word of page ``parent`` that names page ``number`` of its adjacency."""
    if shape.layout == _TREE:
        return tree.link_word(shape, parent, number)
    return chain.link_word(shape, parent, number)


@inlined
def page_after(image, shape, first, page, number):
    """Page ``number`` of the adjacency that begins at page ``first``; ``page`` is one before."""
    if shape.layout == _TREE:
        return tree.page_after(image, shape, first, page, number)
    return chain.page_after(image, shape, first, page, number)


@inlined
def search_start(image, shape, first, pages, neighbor):
    """Page from which a walk finds ``neighbor``, and its number, in an adjacency of ``pages``."""
    if shape.layout == _TREE:
        return tree.search_start(image, shape, first, pages, neighbor)
    return chain.search_start(image, shape, first, pages, neighbor)


@inlined
def page_entries(shape):
    """Entries of a page: all words but those that name other pages."""
    return (shape.page_words - link_words(shape)) // shape.entry_words


@inlined
def pages_of(shape, degree):
    """Pages of an adjacency of so many entries: exactly what they need."""
    entries = page_entries(shape)
    return np.int64(degree + entries - 1) // entries
