"""Edges whose last time is a given one or earlier, found by a scan of rows.

An entry of any time can be anywhere in a row, because rows are in the order of neighbors, so rows
are read whole. Which rows can have such an entry: ``host/update/oldest_times.py``.

CUDA twin: ``cuda/queries/expired.py``, which reads all rows.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...image.view import ImageView
from ...jit.compile import compiled, inlined
from ...jit.parallel import for_ranges
from ...jit.prefetch import FAR_AHEAD, prefetch, prefetch_words
from ...layouts import open_adjacency, page_after, segment_base, strides
from ...records import LAST_WORD
from ..analytics.parts.compact_rows import ROW_COST, blocks_of_rows, indptr_of
from ..update.entries import read_time
from .queries import degrees_of

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]

#: What the oldest edge of a row without edges is taken to be.
LATEST = np.iinfo(np.int64).max


class Expired(NamedTuple):
    """Edges of some rows that have expired, by vertex index, in order of (source, target)."""

    #: uint32[m] each; an undirected edge is told once, with the lower index first.
    sources: UInt32s
    targets: UInt32s
    #: int64, an item a row: edges of it that have, and last time of the oldest edge that has not,
    #: `LATEST`: there is none. Of an undirected edge in the row of the lower index.
    found: Int64s
    oldest: Int64s


def expired_edges(arena: ImageView, rows: UInt32s, until: int, *, directed: bool) -> Expired:
    """Find the edges of rows whose last time is ``until`` or before.

    Parameters
    ----------
    arena
        An image of entries with times.
    rows
        Vertex indices, increasing.
    until
        In the unit of those times.
    directed
        Else edges are looked for in the row of their lower index.
    """
    image, shape = arena.image, arena.shape("out")
    degree, found, oldest = (np.empty(rows.size, np.int64) for _ in range(3))
    for_ranges(degrees_of, rows.size, image, shape, rows, degree)
    bounds, room = blocks_of_rows(degree + ROW_COST), indptr_of(degree)
    # Memory that nothing is written to costs nothing.
    listed = np.empty(int(room[-1]), np.uint32)
    for_ranges(
        list_expired, bounds.size - 1, bounds, image, shape, rows, np.int64(until), directed,
        room, listed, found, oldest, serial_items=2,
    )  # fmt: skip
    indptr = indptr_of(found)
    targets = np.empty(int(indptr[-1]), np.uint32)
    for_ranges(move_together, rows.size, room, listed, indptr, targets)
    return Expired(np.repeat(rows, found), targets, found, oldest)


@inlined
def prefetch_times(image, shape, vertex):
    """Ask for neighbors and last times of a vertex' first segment."""
    segment, degree, entries, pages = open_adjacency(image, shape, vertex)
    if degree > 0:
        step, field = strides(shape, entries)
        base = segment_base(shape, segment, pages)
        words = min(degree, entries) * step
        prefetch_words(image, base, words)
        if shape.soa != 0:
            prefetch_words(image, base + LAST_WORD * field, words)
            prefetch_words(image, base + (LAST_WORD + 1) * field, words)


@compiled
def list_expired(
    low, high, bounds, image, shape, rows, until, directed, room, listed, found, oldest
):
    """Read the rows of blocks ``low … high - 1``; their targets go to where ``room`` is for all."""
    end = bounds[high]
    for row in range(bounds[low], end):
        # The record first, and, once that is there, the row that it names.
        far = np.int64(rows[min(row + 2 * FAR_AHEAD, end - 1)])
        prefetch(image, shape.vertex_base + far * shape.vertex_words)
        prefetch_times(image, shape, np.int64(rows[min(row + FAR_AHEAD, end - 1)]))
        vertex = np.int64(rows[row])
        first_page, degree, entries, pages = open_adjacency(image, shape, vertex)
        segment, number, to, remaining = first_page, 0, room[row], LATEST
        step, field = strides(shape, entries)
        while degree > 0:
            base = segment_base(shape, segment, pages)
            for at in range(base, base + min(degree, entries) * step, step):
                if directed or image[at] > vertex:
                    last = read_time(image, at + LAST_WORD * field, field)
                    if last <= until:
                        listed[to] = image[at]
                        to += 1
                    else:
                        remaining = min(remaining, last)
            degree -= entries
            if degree > 0:
                number += 1
                segment = page_after(image, shape, first_page, segment, number)
        found[row] = to - room[row]
        oldest[row] = remaining


@compiled
def move_together(low, high, room, listed, indptr, targets):
    """Leave out the room that is left of each row."""
    for row in range(low, high):
        for i in range(indptr[row + 1] - indptr[row]):
            targets[indptr[row] + i] = listed[room[row] + i]
