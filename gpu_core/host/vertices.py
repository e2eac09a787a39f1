"""Small kernels over the vertex table: who is there, who is new, who mentions a deleted vertex."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..image import NONE, PRESENT_BIT, Field, Table
from ..layouts import next_segment, open_adjacency, segment_base, strides
from . import dictionary
from .compile import compiled
from .parallel import for_ranges
from .prefetch import AHEAD, FAR_AHEAD, prefetch, prefetch_row

if TYPE_CHECKING:
    from .engine import HostEngine
    from .identify import Identified

_PRESENT = np.uint32(PRESENT_BIT)
_AHEAD = np.uint64(AHEAD)


def create_vertices(engine: HostEngine, mapped: Identified) -> None:
    """Enter created vertices: records, users' ids, dictionary. The table may have grown."""
    arena = engine.arena
    before = arena[Field.VERTEX_COUNT]
    arena.header[Field.VERTEX_COUNT] = mapped.vertex_count
    arena.vertex_table()[before:] = 0
    shape = arena.shape("out")
    created, created_ids = mapped.created, mapped.created_ids
    if arena[Field.DENSE_IDS]:
        for_ranges(enter_records, created.size, arena.image, shape, created, created_ids, None)
        return
    slots = arena.table(Table.DICTIONARY)
    ids = arena.table(Table.VERTEX_IDS).view(np.int64)
    if created.size:
        arena.take_vertices(mapped.recycled)
        for_ranges(enter_records, created.size, arena.image, shape, created, created_ids, ids)
    used = arena[Field.DICTIONARY_USED]
    if slots.size != engine.dictionary_slots:
        # A larger table: every vertex finds its slot anew.
        slots[:] = NONE
        present = np.empty(mapped.vertex_count, np.bool_)
        for_ranges(present_flags, present.size, arena.image, shape, present)
        dictionary.insert(slots, ids, np.flatnonzero(present).astype(np.uint32))
        engine.dictionary_slots = slots.size
    elif mapped.created.size:
        dictionary.insert(slots, ids, mapped.created)
    arena.header[Field.DICTIONARY_USED] = used + mapped.created.size


def remove_vertices(engine: HostEngine, gone: npt.NDArray[np.uint32]) -> None:
    """Take vertices, whose adjacencies are gone already, out of the graph."""
    if gone.size == 0:
        return
    arena = engine.arena
    if not arena[Field.DENSE_IDS]:
        ids = arena.table(Table.VERTEX_IDS).view(np.int64)
        dictionary.remove(arena.table(Table.DICTIONARY), ids, gone)
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
def present_flags(low, high, image, shape, out):
    """Tell for vertex indices ``low … high - 1`` whether the vertex is in the graph."""
    for vertex in range(low, high):
        out[vertex] = image[shape.vertex_base + vertex * shape.vertex_words] & _PRESENT != 0


@compiled
def is_present(low, high, image, shape, indices, out):
    """Tell for each of ``indices[low:high]``; an index beyond the table is not there."""
    for i in range(low, high):
        vertex = np.int64(indices[i])
        out[i] = (
            vertex < shape.vertex_count
            and image[shape.vertex_base + vertex * shape.vertex_words] & _PRESENT != 0
        )


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


@compiled
def degrees_of(low, high, image, shape, indices, out):
    """Degree of each of ``indices[low:high]``; 0 beyond the table."""
    for i in range(low, high):
        _, degree, _, _ = open_adjacency(image, shape, np.int64(indices[i]))
        out[i] = degree


@compiled
def copy_neighbours(low, high, image, shape, indices, indptr, out):
    """Write the adjacency of each of ``indices[low:high]`` to ``out[indptr[i]:indptr[i + 1]]``."""
    for i in range(low, high):
        prefetch_row(image, shape, np.int64(indices[min(i + FAR_AHEAD, high - 1)]))
        segment, degree, entries, pages = open_adjacency(image, shape, np.int64(indices[i]))
        step, _ = strides(shape, entries)
        at = indptr[i]
        while degree > 0:
            base = segment_base(shape, segment, pages)
            for entry in range(min(degree, entries)):
                out[at] = image[base + entry * step]
                at += 1
            degree -= entries
            if degree > 0:
                segment = next_segment(image, shape, segment)


@compiled
def count_mentions(low, high, image, shape, deleted):
    """Entries of rows ``low … high - 1`` that name a deleted vertex, deleted rows left out."""
    count = 0
    for vertex in range(low, high):
        prefetch_row(image, shape, vertex + FAR_AHEAD)
        if deleted[vertex]:
            continue
        segment, degree, entries, pages = open_adjacency(image, shape, vertex)
        step, _ = strides(shape, entries)
        while degree > 0:
            base = segment_base(shape, segment, pages)
            for entry in range(min(degree, entries)):
                count += deleted[image[base + entry * step]]
            degree -= entries
            if degree > 0:
                segment = next_segment(image, shape, segment)
    return count


@compiled
def list_mentions(image, shape, deleted, rows, columns):
    """Write what `count_mentions` counts, in order of the rows."""
    at = 0
    for vertex in range(shape.vertex_count):
        prefetch_row(image, shape, vertex + FAR_AHEAD)
        if deleted[vertex]:
            continue
        segment, degree, entries, pages = open_adjacency(image, shape, vertex)
        step, _ = strides(shape, entries)
        while degree > 0:
            base = segment_base(shape, segment, pages)
            for entry in range(min(degree, entries)):
                neighbour = image[base + entry * step]
                if deleted[neighbour]:
                    rows[at] = vertex
                    columns[at] = neighbour
                    at += 1
            degree -= entries
            if degree > 0:
                segment = next_segment(image, shape, segment)
