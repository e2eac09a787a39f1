"""Accounts of adjacencies by the size of their blocks, counted from the vertex table, where it is.

What is counted: `memory.MemoryDetail`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..rows import Array
from .fields import CLASS_MASK, CLASSES, HEADER_WORDS, STATE_WORD, WORD_BYTES, Field, Shape
from .free_runs import LEVELS, tree_geometry
from .memory import MemoryDetail, SizeClass
from .view import ImageView

#: Vertex records that are counted at a time: what that takes beside the image stays small.
_ROWS = 1 << 19


def detail_of(arena: ImageView) -> MemoryDetail:
    """Count the blocks of an image; writers are locked out."""
    page_bytes = arena[Field.PAGE_WORDS] * WORD_BYTES
    classes = tuple(each for name in arena.directions() for each in _classes(arena, name))
    free = {
        1 << size_class: int(count)
        for size_class, count in enumerate(arena.free_run_counts())
        if count
    }
    if arena.pages_queued:
        free[1] = free.get(1, 0) + arena.pages_queued
    max_pages = (arena[Field.PAGE_END] - HEADER_WORDS) // arena[Field.PAGE_WORDS]
    words = tree_geometry(max_pages)[0][:, LEVELS:].sum(axis=1)
    trees = {1 << number: WORD_BYTES * size for number, size in enumerate(words.tolist()) if size}
    return MemoryDetail(classes, dict(sorted(free.items())), page_bytes, trees)


def rehearse(arena: ImageView) -> None:
    """Have CuPy compile the kernels of its own that `detail_of` needs, with nothing locked."""
    record = arena.xp.zeros((1, arena.vertex_table().shape[1]), np.uint32)
    for direction in arena.directions():
        shape = arena.shape(direction)
        _counts(arena, shape, record, _page_entries(arena, shape))


def _page_entries(arena: ImageView, shape: Shape) -> int:
    """Entries of a page, of layouts of pages; 0: adjacencies are runs."""
    layout = arena.layout
    return layout.page_entries(shape.page_words, shape.entry_words) if layout.is_paged else 0


def _classes(arena: ImageView, direction: str) -> list[SizeClass]:
    shape, layout = arena.shape(direction), arena.layout
    on_page = _page_entries(arena, shape)
    table = arena.vertex_table()
    counts = sum(
        (
            _counts(arena, shape, table[first : first + _ROWS], on_page)
            for first in range(0, len(table), _ROWS)
        ),
        np.zeros((3, CLASSES), np.int64),
    )
    found = []
    for number, (adjacencies, blocks, entries) in enumerate(counts.T.tolist()):
        if adjacencies:
            block_words = shape.page_words << (0 if layout.is_paged else number)
            room = on_page if layout.is_paged else block_words // shape.entry_words
            found.append(
                SizeClass(
                    direction, 1 << number, adjacencies, blocks, block_words * WORD_BYTES, entries,
                    blocks * room,
                )
            )  # fmt: skip
    return found


def _counts(arena: ImageView, shape: Shape, rows: Array, on_page: int) -> npt.NDArray[np.int64]:
    """int64[3, CLASSES]: adjacencies, blocks and entries of some vertex records, by size.

    ``on_page``: entries of a page, of layouts of pages; 0: adjacencies are runs.
    """
    xp, degree = arena.xp, rows[:, shape.degree_word]
    if on_page:
        pages = -(-degree.astype(np.int64) // on_page)
        # Where there are any, bits of the number of pages but one: 1 2 4 … are the last of a class.
        number = xp.where(pages > 0, xp.frexp((pages - 1).astype(np.float64))[1] + 1, 0)
        sums = [_sums(xp, number, each) for each in (None, pages, degree)]
    else:
        number = (rows[:, STATE_WORD] >> np.uint32(shape.class_shift)) & np.uint32(CLASS_MASK)
        adjacencies, entries = (_sums(xp, number, each) for each in (None, degree))
        sums = [adjacencies, adjacencies, entries]
    return np.array(sums, np.int64)


def _sums(xp: Any, number: Array, values: Array) -> list[float]:
    """Sum of the values of each class, 1 each for None; whole numbers below 2^53."""
    sums: list[float] = xp.bincount(number, values, minlength=CLASSES + 1).tolist()
    return sums[1:]
