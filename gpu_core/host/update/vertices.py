"""Kernels over the vertex table: present and new vertices, rows that name deleted ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...image.fields import NONE, PRESENT_BIT, Field, ImageTable
from ...jit.compile import compiled
from ...jit.parallel import for_ranges
from ...jit.prefetch import AHEAD, FAR_AHEAD, prefetch_row
from ...layouts import open_adjacency, page_after, segment_base, strides
from ..memory import dictionary
from ..queries.host_graph import HostGraph
from ..queries.queries import present_flags
from .map_ids import Mapped

_PRESENT = np.uint32(PRESENT_BIT)
_AHEAD = np.uint64(AHEAD)


def create_vertices(engine: HostGraph, mapped: Mapped) -> None:
    """Enter created vertices: records, users' ids, dictionary. The table may have grown."""
    arena = engine.arena
    before = arena[Field.VERTEX_COUNT]
    if mapped.created.size == 0 and mapped.vertex_count == before:
        return
    arena.header[Field.VERTEX_COUNT] = mapped.vertex_count
    arena.vertex_table()[before:] = 0
    shape = arena.shape("out")
    created, created_ids = mapped.created, mapped.created_ids
    if arena[Field.DENSE_IDS]:
        for_ranges(enter_records, created.size, arena.image, shape, created, created_ids, None)
        return
    slots = arena.table(ImageTable.DICTIONARY)
    ids = arena.table(ImageTable.VERTEX_IDS).view(np.int64)
    if created.size:
        arena.take_vertices(mapped.recycled)
        for_ranges(enter_records, created.size, arena.image, shape, created, created_ids, ids)
    used = arena[Field.DICTIONARY_USED]
    if slots.size != engine.dictionary_slots:
        # A larger table: every vertex is inserted again.
        slots[:] = NONE
        present = np.empty(mapped.vertex_count, np.bool_)
        for_ranges(present_flags, present.size, arena.image, shape, present)
        dictionary.insert(slots, ids, np.flatnonzero(present).astype(np.uint32))
        engine.dictionary_slots = slots.size
    elif mapped.created.size:
        dictionary.insert(slots, ids, mapped.created)
    arena.header[Field.DICTIONARY_USED] = used + mapped.created.size


def remove_vertices(engine: HostGraph, gone: npt.NDArray[np.uint32]) -> None:
    """Take vertices, whose adjacencies are gone already, out of the graph."""
    if gone.size == 0:
        return
    arena = engine.arena
    if not arena[Field.DENSE_IDS]:
        ids = arena.table(ImageTable.VERTEX_IDS).view(np.int64)
        dictionary.remove(arena.table(ImageTable.DICTIONARY), ids, gone)
        arena.header[Field.DICTIONARY_USED] -= gone.size
        arena.give_back_vertices(gone)
    arena.vertex_table()[gone] = 0


@compiled
def enter_records(low, high, image, shape, created, created_ids, ids):
    """Mark ``created[low:high]`` as present and, unless ``ids`` is `None`, enter users' ids."""
    for i in range(low, high):
        vertex = np.int64(created[i])
        image[shape.vertex_base + vertex * shape.vertex_words] |= _PRESENT
        if ids is not None:
            ids[vertex] = created_ids[i]


@compiled
def find_dangling(low, high, image, shape, deleted, rows, columns):
    """Entries of rows ``low … high - 1`` that name a deleted vertex, deleted rows left out.

    Returns how many they are; unless ``rows`` is `None`, they are written as well, row by row.
    """
    count = 0
    for vertex in range(low, high):
        prefetch_row(image, shape, vertex + FAR_AHEAD)
        if deleted[vertex]:
            continue
        first_page, degree, entries, pages = open_adjacency(image, shape, vertex)
        segment, number = first_page, 0
        step, _ = strides(shape, entries)
        while degree > 0:
            base = segment_base(shape, segment, pages)
            for entry in range(min(degree, entries)):
                neighbor = image[base + entry * step]
                if rows is not None and deleted[neighbor]:
                    rows[count] = vertex
                    columns[count] = neighbor
                count += deleted[neighbor]
            degree -= entries
            if degree > 0:
                number += 1
                segment = page_after(image, shape, first_page, segment, number)
    return count
