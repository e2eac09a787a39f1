"""Move every adjacency into another image: compaction and growth.

Runs go to the next free place of their size class, vertex by vertex in order of index, so a fresh
image reads its rows in order. Chains go page by page and are linked anew.
"""

from functools import partial

import numpy as np
import numpy.typing as npt

from ..image import CLASSES, Shape
from ..layouts import chain as _chain
from ..layouts import next_segment, open_adjacency, room_of, segment_base
from .compile import compiled, inlined
from .parallel import for_ranges, ranges_of, run_all
from .prefetch import FAR_AHEAD, prefetch_row

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]

_CHAIN = _chain.CODE
_CLASSES = CLASSES


def runs_of(image: UInt32s, shape: Shape) -> Int64s:
    """int64[CLASSES]: runs that the adjacencies of one direction have, by size class."""
    counts = for_ranges(count_runs, shape.vertex_count, image, shape)
    return np.sum(counts, axis=0, dtype=np.int64) if counts else np.zeros(CLASSES, np.int64)


def move_adjacencies(
    old: UInt32s, old_shape: Shape, new: UInt32s, new_shape: Shape, following: Int64s
) -> None:
    """Copy the adjacencies of one direction and enter their places in the records.

    Parameters
    ----------
    following
        int64[CLASSES]: page that the next run of each size class goes to; moves on. Chains go to
        that of class 0.
    """
    move = move_chains if old_shape.layout == _CHAIN else move_runs
    counts = for_ranges(count_runs, old_shape.vertex_count, old, old_shape)
    calls = []
    for (low, high), count in zip(ranges_of(old_shape.vertex_count), counts, strict=True):
        # Each thread goes on where the one before will end.
        calls.append(partial(move, low, high, old, old_shape, new, new_shape, following.copy()))
        following += count << np.arange(CLASSES)
    run_all(calls)


@inlined
def _room(image, shape, vertex):
    record = shape.vertex_base + vertex * shape.vertex_words
    return room_of(shape, image[record], np.int64(image[record + shape.degree_word]))


@compiled
def count_runs(low, high, image, shape):
    """int64[CLASSES]: runs of vertices ``low … high - 1``; of chains the pages, in class 0."""
    counts = np.zeros(_CLASSES, np.int64)
    for vertex in range(low, high):
        room = _room(image, shape, vertex)
        if shape.layout == _CHAIN:
            counts[0] += room
        elif room > 0:
            counts[room - 1] += 1
    return counts


@compiled
def move_runs(low, high, old, old_shape, new, new_shape, following):
    """Copy each run to page ``following[class]``, which moves on, and enter it in the record."""
    words = old_shape.page_words
    for vertex in range(low, high):
        prefetch_row(old, old_shape, vertex + FAR_AHEAD)
        segment, _, _, pages = open_adjacency(old, old_shape, vertex)
        if pages == 0:
            continue
        size_class = _room(old, old_shape, vertex) - 1
        place = following[size_class]
        following[size_class] += pages
        base = segment_base(old_shape, segment, pages)
        to_base = segment_base(new_shape, place, pages)
        for i in range(pages * words):
            new[to_base + i] = old[base + i]
        record = new_shape.vertex_base + vertex * new_shape.vertex_words
        new[record + new_shape.first_word] = place


@compiled
def move_chains(low, high, old, old_shape, new, new_shape, following):
    """Copy each chain page by page to ``following[0]``, which moves on, and link it anew."""
    words = old_shape.page_words
    for vertex in range(low, high):
        pages = _room(old, old_shape, vertex)
        if pages == 0:
            continue
        segment, _, _, _ = open_adjacency(old, old_shape, vertex)
        record = new_shape.vertex_base + vertex * new_shape.vertex_words
        new[record + new_shape.first_word] = following[0]
        for page in range(pages):
            base = segment_base(old_shape, segment, 1)
            place = following[0]
            following[0] += 1
            to_base = segment_base(new_shape, place, 1)
            for i in range(words):
                new[to_base + i] = old[base + i]
            if page + 1 < pages:
                new[to_base + words - 1] = place + 1
                segment = next_segment(old, old_shape, segment)


@compiled
def list_pages(image, shape, bump):
    """int64: every page that the adjacencies of one direction hold, in order of the vertices.

    A link to a page at or beyond ``bump`` is listed and not followed.
    """
    total = 0
    for vertex in range(shape.vertex_count):
        room = _room(image, shape, vertex)
        if shape.layout == _CHAIN:
            total += room
        elif room > 0:
            total += np.int64(1) << (room - 1)
    pages = np.empty(total, np.int64)
    at = 0
    for vertex in range(shape.vertex_count):
        room = _room(image, shape, vertex)
        if room == 0:
            continue
        segment, _, _, _ = open_adjacency(image, shape, vertex)
        if shape.layout == _CHAIN:
            for page in range(room):
                pages[at] = segment
                at += 1
                if page + 1 < room and segment < bump:
                    segment = next_segment(image, shape, segment)
        else:
            for page in range(np.int64(1) << (room - 1)):
                pages[at] = segment + page
                at += 1
    return pages
