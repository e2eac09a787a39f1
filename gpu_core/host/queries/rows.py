"""`Rows` of a graph in host memory: live ones that point into the image, and CSR copies.

CUDA twin: ``cuda/queries/rows.py``. What rows are: `gpu_core/rows.py`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...image.fields import PRESENT_BIT, Field
from ...image.view import ImageView
from ...jit.compile import compiled
from ...jit.parallel import for_ranges
from ...jit.prefetch import FAR_AHEAD, prefetch_row
from ...layouts import open_adjacency, page_after, segment_base, strides
from ...records import WEIGHT_WORD, weights_of_entry
from ...rows import EntryTimes, Rows
from ..analytics.parts.compact_rows import ROW_COST, blocks_of_rows, indptr_of
from ..update.rows.entries import has_wide_weight

_PRESENT = np.uint32(PRESENT_BIT)


def live_rows(arena: ImageView, direction: str, *, weighted: bool = False) -> Rows:
    """Rows where they lie in the image, of layout ``runs`` and float32 weights; see `Rows`."""
    image, shape = arena.image, arena.shape(direction)
    located = _located(arena, direction, weighted=weighted)
    return Rows(
        located.begin, located.degree, located.present, image, shape.entry_step,
        arena.num_entries, arena[Field.NUM_VERTICES],
        weights=image.view(np.float32) if weighted else None,
        weight_begin=located.weight_begin if weighted else None,
        in_pairs=shape.in_pairs,
    )  # fmt: skip


def pinned_rows(arena: ImageView, direction: str, *, weighted: bool = False) -> Rows:
    """Copy the rows, of any layout, to memory of their own; see `Rows`."""
    image, shape = arena.image, arena.shape(direction)
    located = _located(arena, direction)
    indptr = indptr_of(located.degree)
    columns = np.empty(indptr[-1], np.uint32)
    weights = np.empty(indptr[-1] if weighted else 0, weights_of_entry(shape.entry_words))
    bounds = blocks_of_rows(np.diff(indptr) + ROW_COST)
    for_ranges(
        copy_rows, bounds.size - 1, bounds, image, shape, indptr, columns,
        weights.view(np.uint32), serial_items=2,
    )  # fmt: skip
    return Rows(
        indptr[:-1], located.degree, located.present, columns, 1,
        int(indptr[-1]), arena[Field.NUM_VERTICES],
        indptr=indptr,
        weights=weights if weighted else None,
        weight_begin=indptr[:-1] if weighted else None,
    )  # fmt: skip


def entry_times(arena: ImageView, word: int) -> EntryTimes:
    """Copy the time that begins at a word of each entry of the out-rows; see `EntryTimes`."""
    shape = arena.shape("out")
    indptr = indptr_of(_located(arena, "out").degree)
    times = np.empty(indptr[-1], np.int64)
    bounds = blocks_of_rows(np.diff(indptr) + ROW_COST)
    for_ranges(
        copy_times, bounds.size - 1, bounds, arena.image, shape, indptr, word,
        times.view(np.uint32), serial_items=2,
    )  # fmt: skip
    return EntryTimes(indptr, times)


class _Located(NamedTuple):
    """Where the rows of all vertices are, as `locate_rows` writes it."""

    #: int64[vertex_count]: word of the first entry.
    begin: npt.NDArray[np.int64]
    #: uint32[vertex_count].
    degree: npt.NDArray[np.uint32]
    #: bool[vertex_count].
    present: npt.NDArray[np.bool_]
    #: int64[vertex_count]: word of the first weight; empty where none was asked for.
    weight_begin: npt.NDArray[np.int64]


def _located(arena: ImageView, direction: str, *, weighted: bool = False) -> _Located:
    """Locate the rows of all vertices."""
    shape, count = arena.shape(direction), arena[Field.VERTEX_COUNT]
    begin, degree = np.empty(count, np.int64), np.empty(count, np.uint32)
    present = np.empty(count, np.bool_)
    weight_begin = np.empty(count if weighted else 0, np.int64)
    located = _Located(begin, degree, present, weight_begin)
    for_ranges(locate_rows, count, arena.image, shape, *located)
    return located


@compiled
def copy_times(low, high, bounds, image, shape, indptr, word, times):
    """Copy two words of each entry of the rows of blocks ``low … high - 1``."""
    for vertex in range(bounds[low], bounds[high]):
        first_page, degree, entries, pages = open_adjacency(image, shape, vertex)
        segment, number = first_page, 0
        step, field = strides(shape, entries)
        at = 2 * indptr[vertex]
        while degree > 0:
            base = segment_base(shape, segment, pages) + word * field
            here = min(degree, entries)
            for i in range(here):
                times[at + 2 * i] = image[base + i * step]
                times[at + 2 * i + 1] = image[base + i * step + field]
            at += 2 * here
            degree -= entries
            if degree > 0:
                number += 1
                segment = page_after(image, shape, first_page, segment, number)


@compiled
def locate_rows(low, high, image, shape, begin, degree, present, weight_begin):
    """Write where each row's first segment begins, how long the row is, and who is present.

    ``weight_begin`` is empty where no weights were asked for.
    """
    weighted = weight_begin.size > 0
    for vertex in range(low, high):
        segment, length, entries, pages = open_adjacency(image, shape, vertex)
        _, field = strides(shape, entries)
        begin[vertex] = segment_base(shape, segment, pages)
        degree[vertex] = length
        present[vertex] = image[shape.vertex_base + vertex * shape.vertex_words] & _PRESENT != 0
        if weighted:
            weight_begin[vertex] = begin[vertex] + WEIGHT_WORD * field


@compiled
def copy_rows(low, high, bounds, image, shape, indptr, columns, weights):
    """Copy the rows of blocks ``low … high - 1``; ``weights`` takes the words of weights."""
    weighted = weights.size > 0
    wide = has_wide_weight(shape.entry_words)
    for vertex in range(bounds[low], bounds[high]):
        prefetch_row(image, shape, vertex + FAR_AHEAD)
        first_page, degree, entries, pages = open_adjacency(image, shape, vertex)
        segment, number = first_page, 0
        step, field = strides(shape, entries)
        at = indptr[vertex]
        while degree > 0:
            base = segment_base(shape, segment, pages)
            here = min(degree, entries)
            for i in range(here):
                columns[at + i] = image[base + i * step]
            if weighted and wide:
                high_word = base + (shape.entry_words - 1) * field
                for i in range(here):
                    weights[2 * (at + i)] = image[base + i * step + WEIGHT_WORD * field]
                    weights[2 * (at + i) + 1] = image[high_word + i * step]
            elif weighted:
                for i in range(here):
                    weights[at + i] = image[base + i * step + WEIGHT_WORD * field]
            at += here
            degree -= entries
            if degree > 0:
                number += 1
                segment = page_after(image, shape, first_page, segment, number)
