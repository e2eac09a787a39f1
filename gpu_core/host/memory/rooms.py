"""Tables of all capacities that an adjacency of one direction may have.

What the layout computes with divisions (`layouts`), for kernels that walk many rows.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...image.fields import CLASS_MASK, CLASSES, Shape
from ...jit.compile import compiled
from ...layouts import degrees_kept, segment_pages

Int64s = npt.NDArray[np.int64]

LARGEST_ROOM = CLASSES - 1
_STATE_CLASSES = CLASS_MASK + 1


class Rooms(NamedTuple):
    """Capacities of the layout, by the class bits of the state word. Kernels take it."""

    #: int64: `degrees_kept`.
    least: Int64s
    most: Int64s
    #: uint64: `segment_pages`.
    pages: npt.NDArray[np.uint64]


def rooms_of(shape: Shape) -> Rooms:
    """All rooms of one direction: kernels that walk many rows look up what they would compute."""
    return _rooms_of(shape.layout, shape.page_words, shape.entry_words)


@cache
def _rooms_of(layout: int, page_words: int, entry_words: int) -> Rooms:
    # Nothing else of a shape counts, so a graph keeps its rooms.
    nothing = Shape(*[0] * len(Shape._fields))
    return make_rooms(
        nothing._replace(layout=layout, page_words=page_words, entry_words=entry_words)
    )


@compiled
def make_rooms(shape):
    """Compute all `Rooms` of a shape."""
    least = np.empty(_STATE_CLASSES, np.int64)
    most = np.empty(_STATE_CLASSES, np.int64)
    pages = np.empty(_STATE_CLASSES, np.uint64)
    for room in range(_STATE_CLASSES):
        real = min(np.int64(room), np.int64(LARGEST_ROOM))
        least[room], most[room] = degrees_kept(shape, real)
        pages[room] = segment_pages(shape, real)
    return Rooms(least, most, pages)
