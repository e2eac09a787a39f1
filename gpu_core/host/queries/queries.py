"""Bulk queries about vertices and pairs, read from the image in host memory.

CUDA twin: ``cuda/queries/queries.py``.
"""

import numpy as np
import numpy.typing as npt

from ...image.fields import NONE, PRESENT_BIT, Field, ImageTable
from ...jit.compile import compiled
from ...jit.parallel import for_ranges
from ...jit.prefetch import AHEAD, FAR_AHEAD, prefetch, prefetch_row
from ...layouts import (
    open_adjacency,
    page_after,
    room_of,
    search_start,
    segment_base,
    strides,
)
from ..memory import dictionary
from ..memory.arena import Arena
from .row_search import first_in_row

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]

_PRESENT = np.uint32(PRESENT_BIT)
_AHEAD = np.uint64(AHEAD)


def indices_of(arena: Arena, ids: Int64s) -> UInt32s:
    """Vertex index of each id; `NONE` for ids that are not in the graph."""
    if arena[Field.DENSE_IDS]:
        there = np.empty(ids.size, np.bool_)
        for_ranges(is_present, ids.size, arena.image, arena.shape("out"), ids, there)
        return np.where(there, ids, NONE).astype(np.uint32)
    out = np.empty(ids.size, np.uint32)
    look_up(known_ids(arena), ids, out)
    return out


def known_ids(arena: Arena) -> tuple[UInt32s, Int64s]:
    """Tables of the users' ids that the graph has, for `look_up`: slots, and ids by index."""
    return arena.table(ImageTable.DICTIONARY), arena.table(ImageTable.VERTEX_IDS).view(np.int64)


def look_up(known: tuple[UInt32s, Int64s], ids: Int64s, out: UInt32s) -> int:
    """Write the vertex index of each id to ``out``, `NONE` if unknown; returns how many are."""
    return sum(for_ranges(dictionary.look_up, ids.size, *known, ids, out))


@compiled
def present_flags(low, high, image, shape, out):
    """Return for vertex indices ``low … high - 1`` whether the vertex is in the graph."""
    for vertex in range(low, high):
        out[vertex] = image[shape.vertex_base + vertex * shape.vertex_words] & _PRESENT != 0


@compiled
def is_present(low, high, image, shape, indices, out):
    """Return for each of ``indices[low:high]``; one that is no index of the table is not there."""
    for i in range(low, high):
        vertex = np.int64(indices[i])
        out[i] = (
            0 <= vertex < shape.vertex_count
            and image[shape.vertex_base + vertex * shape.vertex_words] & _PRESENT != 0
        )


@compiled
def degrees_of(low, high, image, shape, indices, out):
    """Degree of each of ``indices[low:high]``; 0 beyond the table."""
    for i in range(low, high):
        _, degree, _, _ = open_adjacency(image, shape, np.int64(indices[i]))
        out[i] = degree


@compiled
def copy_neighbors(low, high, image, shape, indices, indptr, out):
    """Write the adjacency of each of ``indices[low:high]`` to ``out[indptr[i]:indptr[i + 1]]``."""
    for i in range(low, high):
        prefetch_row(image, shape, np.int64(indices[min(i + FAR_AHEAD, high - 1)]))
        first_page, degree, entries, pages = open_adjacency(image, shape, np.int64(indices[i]))
        segment, number = first_page, 0
        step, _ = strides(shape, entries)
        at = indptr[i]
        while degree > 0:
            base = segment_base(shape, segment, pages)
            for entry in range(min(degree, entries)):
                out[at] = image[base + entry * step]
                at += 1
            degree -= entries
            if degree > 0:
                number += 1
                segment = page_after(image, shape, first_page, segment, number)


@compiled
def find_entries(low, high, image, shape, sources, targets, word, out):
    """Positions of word ``word`` of the entries ``sources[i]``, ``targets[i]``; -1: none.

    A search may go on from the page where the one before ended, if that was for a lower target of
    the same source: so on a chain all entries of a row, in order, are found by one walk.
    """
    segment, number = np.int64(0), np.int64(0)
    for i in range(low, high):
        prefetch_row(image, shape, np.int64(sources[min(i + FAR_AHEAD, high - 1)]))
        target = targets[i]
        first_page, degree, entries, pages = open_adjacency(image, shape, np.int64(sources[i]))
        step, field = strides(shape, entries)
        out[i] = -1
        if i == low or sources[i] != sources[i - 1] or target < targets[i - 1]:
            segment, number = first_page, np.int64(0)
        if degree > entries:
            room = room_of(shape, 0, degree)
            segment, number = search_start(image, shape, first_page, room, target, segment, number)
        left = degree - number * entries
        while left > 0:
            base = segment_base(shape, segment, pages)
            count = min(left, entries)
            if image[base + (count - 1) * step] >= target:
                at = base + step * first_in_row(image, base, step, np.int64(0), count, target)
                if image[at] == target:
                    out[i] = at + word * field
                break
            left -= entries
            if left > 0:
                number += 1
                segment = page_after(image, shape, first_page, segment, number)


@compiled
def mark_absent(low, high, image, shape, indices, absent):
    """Set ``absent[v]`` for each ``v`` of ``indices[low:high]`` that is not in the graph."""
    # Unsigned indices: Numba then leaves out the step for those below 0.
    table = np.uint64(shape.vertex_base)
    words = np.uint64(shape.vertex_words)
    count = np.uint64(shape.vertex_count)
    last = np.uint64(high - 1)
    for i in range(np.uint64(low), np.uint64(high)):
        prefetch(image, table + np.uint64(indices[min(i + _AHEAD, last)]) * words)
        vertex = np.uint64(indices[i])
        if vertex >= count or image[table + vertex * words] & _PRESENT == 0:
            absent[vertex] = True
