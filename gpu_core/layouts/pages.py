"""Adjacencies on pages of one size, whatever layout links them.

CUDA twin: ``pages.cuh``, same names and arithmetic, but that a thread searches once, from the first
page. The rules: ``layout.py``.

A layout of pages is a module here and a header of the same name, which say where its links are:
``LINK_WORDS``, ``parent_of``, ``link_word``, ``page_after`` and ``search_start``. One more of them
is one more module in `PAGED`: the functions of these names are written from it, here and, by
``cuda/device/compile.py``, for kernels.
"""

from typing import Any

import numpy as np

from ..jit.compile import borrowing, inlined
from . import chain, runs, tree

#: Modules of the layouts of pages.
PAGED = (chain, tree)

_RUNS = runs.LAYOUT.code


def _by_layout(head: str, answer: str = "") -> Any:
    """Compiled function with this head: what the module of the layout of ``shape`` answers.

    The last one is not asked for: `ImageView.shape` refuses a code that no layout has.
    """
    *others, last = (module.LAYOUT for module in PAGED)
    answer = answer or head
    lines = [
        f"def {head}:",
        *(f"    if shape.layout == {each.code}: return {each.name}.{answer}" for each in others),
        f"    return {last.name}.{answer}",
    ]
    names: dict[str, Any] = {module.LAYOUT.name: module for module in PAGED}
    names["__name__"] = __name__
    # Compiled as text of this file, by which Numba finds what it has kept.
    exec(compile("\n".join(lines), __file__, "exec"), names)
    return borrowing(names[head.partition("(")[0]])


@inlined
def is_paged(shape):
    """Whether adjacencies lie on pages of one size; otherwise on a run each."""
    return shape.layout != _RUNS


#: Words of a page that name other pages.
link_words = _by_layout("link_words(shape)", "LINK_WORDS")
#: Page of an adjacency that names page ``number``, which is not the first.
parent_of = _by_layout("parent_of(shape, number)", "parent_of(number)")
#: Word of page ``parent`` that names page ``number`` of its adjacency.
link_word = _by_layout("link_word(shape, parent, number)")
#: Page ``number`` of the adjacency that begins at page ``first``; ``page`` is the one before.
page_after = _by_layout("page_after(image, shape, first, page, number)")
#: Page from which a walk finds ``neighbor``, and its number, in an adjacency of ``pages``. Page
#: ``number`` is not behind it: the first one, or where the walk to a lower neighbor ended.
search_start = _by_layout("search_start(image, shape, first, pages, neighbor, page, number)")


@inlined
def page_entries(shape):
    """Entries of a page: all words but those that name other pages."""
    return (shape.page_words - link_words(shape)) // shape.entry_words


@inlined
def pages_of(shape, degree):
    """Pages of an adjacency of ``degree`` entries: exactly what they need."""
    entries = page_entries(shape)
    return np.int64(degree + entries - 1) // entries
