"""Accounts of adjacencies by the size of their blocks, counted from the vertex table, where it is.

What is counted: `memory.MemoryDetail`.
"""

from typing import Any

import numpy as np

from .fields import CLASS_MASK, CLASSES, STATE_WORD, WORD_BYTES, Field
from .memory import MemoryDetail, SizeClass
from .view import ImageView


def detail_of(arena: ImageView) -> MemoryDetail:
    """Count the blocks of an image; whoever changes it is locked out."""
    page_bytes = arena[Field.PAGE_WORDS] * WORD_BYTES
    classes = tuple(each for name in arena.directions() for each in _classes(arena, name))
    free = {
        1 << size_class: int(count)
        for size_class, count in enumerate(arena.free_run_counts())
        if count
    }
    if arena.pages_queued:
        free[1] = free.get(1, 0) + arena.pages_queued
    return MemoryDetail(classes, dict(sorted(free.items())), page_bytes)


def _classes(arena: ImageView, direction: str) -> list[SizeClass]:
    shape, xp, layout = arena.shape(direction), arena.xp, arena.layout
    table = arena.vertex_table()
    degree = table[:, shape.degree_word].astype(np.int64)
    if layout.is_paged:
        on_page = layout.page_entries(shape.page_words, shape.entry_words)
        pages = -(-degree // on_page)
        size_class = xp.ceil(xp.log2(xp.maximum(pages, 1))).astype(np.int64)
        taken = pages > 0
    else:
        room = (table[:, STATE_WORD] >> np.uint32(shape.class_shift)) & np.uint32(CLASS_MASK)
        size_class, taken = room.astype(np.int64) - 1, room > 0
        pages = xp.ones_like(degree)
    size_class = size_class[taken]
    sums = [_sums(xp, size_class, each[taken]) for each in (xp.ones_like(degree), pages, degree)]
    found = []
    for number, (adjacencies, blocks, entries) in enumerate(zip(*sums, strict=True)):
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


def _sums(xp: Any, size_class: Any, values: Any) -> list[int]:
    """Sum of the values of each class; whole numbers below 2^53."""
    if size_class.size == 0:
        return [0] * CLASSES
    sums = xp.bincount(size_class, weights=values, minlength=CLASSES)
    return [int(each) for each in sums.tolist()]
