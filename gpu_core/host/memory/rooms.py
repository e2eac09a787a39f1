"""Tables of all capacities that an adjacency of one direction may have.

What the layout computes with divisions (`layouts`), for kernels that walk many rows.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...image.fields import CLASS_MASK, CLASSES
from ...jit.compile import compiled
from ...layouts import degrees_kept, segment_pages

Int64s = npt.NDArray[np.int64]

LARGEST_ROOM = CLASSES - 1
_STATE_CLASSES = CLASS_MASK + 1


class Rooms(NamedTuple):
    """What the layout says of each room, by the class bits of the state word. Kernels take it."""

    #: int64: `degrees_kept`.
    least: Int64s
    most: Int64s
    #: uint64: `segment_pages`.
    pages: npt.NDArray[np.uint64]


@compiled
def rooms_of(shape):
    """All rooms of one direction: kernels that walk many rows look up what they would compute."""
    least = np.empty(_STATE_CLASSES, np.int64)
    most = np.empty(_STATE_CLASSES, np.int64)
    pages = np.empty(_STATE_CLASSES, np.uint64)
    for room in range(_STATE_CLASSES):
        real = min(np.int64(room), np.int64(LARGEST_ROOM))
        least[room], most[room] = degrees_kept(shape, real)
        pages[room] = segment_pages(shape, real)
    return Rooms(least, most, pages)
