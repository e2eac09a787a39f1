"""Edges whose last time is a given one or earlier, found by a scan of rows.

An entry of any time can be anywhere in a row, because rows are in the order of neighbors, so rows
are read whole. Which rows can have such an entry: ``host/update/oldest_times.py``.

CUDA twin: ``cuda/queries/expired.py``, which reads all rows.
"""

import numpy as np
import numpy.typing as npt

from ...image.view import ImageView
from ...jit.compile import compiled
from ...jit.parallel import for_ranges
from ...jit.prefetch import FAR_AHEAD, prefetch_row
from ...layouts import open_adjacency, page_after, segment_base, strides
from ...records import LAST_WORD
from ..update.entries import read_time
from .queries import degrees_of

UInt32s = npt.NDArray[np.uint32]


def expired_edges(
    arena: ImageView, rows: UInt32s, until: int, *, directed: bool
) -> tuple[UInt32s, UInt32s]:
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

    Returns
    -------
    sources, targets
        uint32[m] each: vertex indices, in order of (source, target).
    """
    image, shape = arena.image, arena.shape("out")
    degree, found = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
    for_ranges(degrees_of, rows.size, image, shape, rows, degree)
    room = np.cumsum(degree) - degree
    # Memory that nothing is written to costs nothing.
    listed = np.empty(int(degree.sum()), np.uint32)
    for_ranges(
        list_expired, rows.size, image, shape, rows, np.int64(until), directed, room, listed, found
    )
    sources = np.repeat(rows, found)
    offset = np.repeat(room - (np.cumsum(found) - found), found)
    return sources, listed[offset + np.arange(sources.size)]


@compiled
def list_expired(low, high, image, shape, rows, until, directed, room, listed, found):
    """Read ``rows[low:high]``; the targets of each go to where ``room`` is for all."""
    for row in range(low, high):
        prefetch_row(image, shape, np.int64(rows[min(row + FAR_AHEAD, high - 1)]))
        vertex = np.int64(rows[row])
        first_page, degree, entries, pages = open_adjacency(image, shape, vertex)
        segment, number, to = first_page, 0, room[row]
        step, field = strides(shape, entries)
        while degree > 0:
            base = segment_base(shape, segment, pages)
            for at in range(base, base + min(degree, entries) * step, step):
                if directed or image[at] > vertex:
                    if read_time(image, at + LAST_WORD * field, field) <= until:
                        listed[to] = image[at]
                        to += 1
            degree -= entries
            if degree > 0:
                number += 1
                segment = page_after(image, shape, first_page, segment, number)
        found[row] = to - room[row]
