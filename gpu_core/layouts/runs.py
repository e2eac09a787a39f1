"""The ``runs`` layout: the adjacency of a vertex is one contiguous run of ``2**c`` pages.

A run that is outgrown is left for a larger one; contiguity buys binary search, intersection by
streaming, and views without a copy. The size class ``c`` is kept in the vertex's state word.

Room after a batch: the smallest class that holds the new degree when it does not fit; one class
down when the degree is at most a quarter of the capacity; no run at degree 0.

CUDA twin: ``runs.cuh``.

Source: cuSTINGER v2/Hornet (papers/004): one block a vertex, sizes in powers of two.
"""

import numpy as np

from ..image.fields import CLASS_MASK
from ..jit.compile import inlined
from .layout import Layout

LAYOUT = Layout("runs", 0, default_page_bytes=32)


@inlined
def segment_entries(shape, room):
    """Entries of a run of class ``room - 1``."""
    if room == 0:
        return 0
    words = shape.page_words << (room - 1)
    # A division costs as much as a cache line, and most graphs have entries of one word.
    return words if shape.entry_words == 1 else words // shape.entry_words


@inlined
def segment_pages(shape, room):
    """Pages of a run of class ``room - 1``."""
    return np.int64(1) << (room - 1) if room > 0 else np.int64(0)


@inlined
def room_of(shape, state, degree):
    """Size class + 1 of the run, from the vertex's state word; 0 = no run."""
    return (np.int64(state) >> shape.class_shift) & CLASS_MASK


@inlined
def room_after(shape, room, degree):
    """Size class + 1 after a batch."""
    if degree == 0:
        return np.int64(0)
    if room == 0 or degree > segment_entries(shape, room):
        room = max(room, 1)
        while segment_entries(shape, room) < degree:
            room += 1
        return room
    if (
        room > 1
        and 4 * degree <= segment_entries(shape, room)
        and degree <= segment_entries(shape, room - 1)
    ):
        return room - 1
    return room


@inlined
def degrees_kept(shape, room):
    """Least and largest degree at which a batch leaves the class as it is."""
    most = segment_entries(shape, room)
    least = min(most // 4, segment_entries(shape, room - 1)) + 1 if room > 1 else 1
    return np.int64(least), np.int64(most)
