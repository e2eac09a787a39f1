"""Move every adjacency into another image: compaction and growth.

Runs go to the next free position of their size class, vertex by vertex in order of index, so a
fresh image reads its rows in order. Rows on pages go page by page and are relinked.

*Tight* runs are as small as those of a new graph with the same rows; otherwise each row has the
size of run that it had, and with it the capacity that a batch was planned with.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from ...image.fields import CLASSES, Shape
from ...image.view import PlacedRows
from ...jit.compile import compiled, inlined
from ...jit.parallel import for_ranges, ranges_of, run_all
from ...jit.prefetch import FAR_AHEAD, prefetch_row
from ...layouts import (
    is_paged,
    layout_of,
    link_word,
    open_adjacency,
    page_after,
    parent_of,
    room_after,
    room_of,
    segment_base,
    segment_entries,
    segment_pages,
    write_room,
)

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]


def runs_of(image: UInt32s, shape: Shape, *, tight: bool) -> Int64s:
    """int64[CLASSES]: runs that the adjacencies of one direction take, by size class."""
    counts = for_ranges(count_runs, shape.vertex_count, image, shape, tight)
    return np.sum(counts, axis=0, dtype=np.int64) if counts else np.zeros(CLASSES, np.int64)


def move_rows(old: PlacedRows, new: PlacedRows, following: Int64s, *, tight: bool) -> None:
    """Copy the rows of one direction and enter their positions in the records.

    Parameters
    ----------
    old, new
        Where they are, and the image that they go to; vertex records are copied already.
    following
        int64[CLASSES]: page that the next run of each size class goes to; moves on. Pages go to
        that of class 0.
    """
    count = old.shape.vertex_count
    counts = for_ranges(count_runs, count, *old, tight)
    calls: list[Callable[[], None]] = []
    for (low, high), runs in zip(ranges_of(count), counts, strict=True):
        # Each thread goes on where the one before will end.
        arguments = (low, high, *old, *new, following.copy())
        if layout_of(old.shape.layout).is_paged:
            calls.append(partial(move_pages, *arguments))
        else:
            calls.append(partial(move_runs, *arguments, tight))
        following += runs << np.arange(CLASSES)
    run_all(calls)


@inlined
def _room(image, shape, vertex, tight):
    record = shape.vertex_base + vertex * shape.vertex_words
    degree = np.int64(image[record + shape.degree_word])
    if tight:
        return room_after(shape, np.int64(0), degree)
    return room_of(shape, image[record], degree)


@compiled
def count_runs(low, high, image, shape, tight):
    """int64[CLASSES]: runs of vertices ``low … high - 1``; pages are runs of class 0."""
    counts = np.zeros(CLASSES, np.int64)
    for vertex in range(low, high):
        room = _room(image, shape, vertex, tight)
        if is_paged(shape):
            counts[0] += room
        elif room > 0:
            counts[room - 1] += 1
    return counts


@inlined
def copy_pages(old, base, new, to_base, words):
    """Copy ``words`` words, a multiple of four: a page has no fewer.

    Four at a time, read before they are written: what a compiler makes of a loop over words is made
    for long ones, and most rows are short.
    """
    for i in range(0, words, 4):
        first, second = old[base + i], old[base + i + 1]
        third, fourth = old[base + i + 2], old[base + i + 3]
        new[to_base + i], new[to_base + i + 1] = first, second
        new[to_base + i + 2], new[to_base + i + 3] = third, fourth


@compiled
def move_runs(low, high, old, old_shape, new, new_shape, following, tight):
    """Copy each run to page ``following[class]``, which moves on, and enter it in the record."""
    words = old_shape.page_words
    apart = old_shape.soa != 0 and old_shape.entry_words > 1
    for vertex in range(low, high):
        prefetch_row(old, old_shape, vertex + FAR_AHEAD)
        segment, _, entries, pages = open_adjacency(old, old_shape, vertex)
        if pages == 0:
            continue
        room = _room(old, old_shape, vertex, tight)
        to_pages = segment_pages(new_shape, room)
        position = following[room - 1]
        following[room - 1] += to_pages
        base = segment_base(old_shape, segment, pages)
        to_base = segment_base(new_shape, position, to_pages)
        if apart and to_pages != pages:
            # The words of an entry lie as far apart as the run has room for entries.
            to_entries = segment_entries(new_shape, room)
            for word in range(old_shape.entry_words):
                for i in range(to_entries):
                    new[to_base + word * to_entries + i] = old[base + word * entries + i]
        else:
            copy_pages(old, base, new, to_base, to_pages * words)
        record = new_shape.vertex_base + vertex * new_shape.vertex_words
        new[record + new_shape.first_word] = position
        write_room(new, new_shape, record, room)


@compiled
def move_pages(low, high, old, old_shape, new, new_shape, following):
    """Copy each row page by page to ``following[0]``, which moves on, and relink it."""
    words = old_shape.page_words
    for vertex in range(low, high):
        pages = _room(old, old_shape, vertex, False)
        if pages == 0:
            continue
        first_page, _, _, _ = open_adjacency(old, old_shape, vertex)
        record = new_shape.vertex_base + vertex * new_shape.vertex_words
        to = following[0]
        following[0] += pages
        new[record + new_shape.first_word] = to
        page = first_page
        for number in range(pages):
            if number > 0:
                page = page_after(old, old_shape, first_page, page, number)
            base = segment_base(old_shape, page, 1)
            copy_pages(old, base, new, segment_base(new_shape, to + number, 1), words)
            # After the parent was copied, with its links into the old image.
            if number > 0:
                new[link_word(new_shape, to + parent_of(new_shape, number), number)] = to + number


@compiled
def list_pages(image, shape, bump):
    """int64: every page that the adjacencies of one direction hold, in order of the vertices.

    A link to a page at or beyond ``bump`` is listed and not followed.
    """
    total = 0
    for vertex in range(shape.vertex_count):
        room = _room(image, shape, vertex, False)
        if is_paged(shape):
            total += room
        elif room > 0:
            total += np.int64(1) << (room - 1)
    pages = np.empty(total, np.int64)
    at = 0
    for vertex in range(shape.vertex_count):
        room = _room(image, shape, vertex, False)
        if room == 0:
            continue
        first_page, _, _, _ = open_adjacency(image, shape, vertex)
        if is_paged(shape):
            pages[at] = first_page
            for number in range(1, room):
                page = pages[at + parent_of(shape, number)]
                if page < bump:
                    page = np.int64(image[link_word(shape, page, number)])
                pages[at + number] = page
            at += room
        else:
            for page in range(np.int64(1) << (room - 1)):
                pages[at] = first_page + page
                at += 1
    return pages
