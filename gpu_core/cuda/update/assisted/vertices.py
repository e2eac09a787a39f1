"""The vertex table on the device: presence, insertion and removal of vertices.

Kernels that change the image do nothing unless the batch's status is OK; the header that they
change is the device's: the caller that applies the batch reads it back.

Kernels: ``vertices.cu``. Host twin: ``host/update/vertices.py``.
"""

from __future__ import annotations

import numpy as np

from ....image.fields import Field, ImageTable
from ...device.compile import shape_argument
from ...device.device import Array
from ...device.launches import empty_list
from ...grid import THREADS, blocks_for
from ...memory import dictionary
from ...queries.device_graph import DeviceGraph
from ..rows.row_launches import write_clearing
from .mapped import Mapped


def create_vertices(graph: DeviceGraph, mapped: Mapped) -> None:
    """Enter created vertices: records, users' ids, dictionary. The tables may have grown."""
    arena, device = graph.arena, graph.device
    about = graph.image, shape_argument(arena.shape("out"))
    after = mapped.vertex_count
    _clear_records(graph, after)
    dense = bool(arena[Field.DENSE_IDS])
    # Of a checkpoint there may be records without a vertex.
    if mapped.created.size or after > arena[Field.VERTEX_COUNT]:
        ids = None if dense else arena.table(ImageTable.VERTEX_IDS).view(np.int64)
        device.launch(
            "vertices.cu", "enter_vertices", blocks_for(max(mapped.created.size, 1)), THREADS,
            *about, mapped.created, mapped.created_ids, np.int64(mapped.created.size),
            np.int64(after), np.int64(mapped.recycled), ids,
        )  # fmt: skip
    if dense:
        return
    slots = arena.table(ImageTable.DICTIONARY).size
    if slots != graph.dictionary_slots:
        # A larger table: every vertex is inserted again.
        dictionary.fill(graph.arena, after)
        graph.dictionary_slots = slots
    elif mapped.created.size:
        dictionary.insert(graph.arena, mapped.created)


def _clear_records(graph: DeviceGraph, after: int) -> None:
    """Clear the records that the table gains."""
    arena, device, lines = graph.arena, graph.device, empty_list()
    # A copy can be written, as the shape in a batch's facts: one type, compiled once.
    shape = np.frombuffer(arena.image_argument("out"), np.int64).copy()
    kernel = device.kernel("vertices.cu", "clear_records")
    before = arena[Field.VERTEX_COUNT]
    write_clearing(lines, kernel, shape, before, after, device.multiprocessors)
    device.run(lines)


def remove_vertices(graph: DeviceGraph, gone: Array) -> None:
    """Take vertices (uint32), whose adjacencies are gone already, out of the graph."""
    if gone.size == 0:
        return
    arena = graph.arena
    dense = bool(arena[Field.DENSE_IDS])
    queue = None if dense else arena.table(ImageTable.VERTEX_QUEUE)
    graph.device.launch(
        "vertices.cu", "remove_vertices", blocks_for(gone.size), THREADS,
        graph.image, shape_argument(arena.shape("out")), gone, np.int64(gone.size),
        queue, np.int64(0 if queue is None else queue.size),
        np.int64(arena[Field.VERTEX_QUEUE_BACK]),
    )  # fmt: skip
    if not dense:
        dictionary.remove(graph.arena, gone)


def is_present(graph: DeviceGraph, indices: Array) -> Array:
    """bool: whether each vertex (uint32) is in the graph; one beyond the table is not."""
    out = graph.device.empty(indices.size, np.bool_)
    graph.device.launch(
        "vertices.cu", "is_present", blocks_for(indices.size), THREADS,
        graph.image, shape_argument(graph.arena.shape("out")), indices, np.int64(indices.size),
        out.view(np.uint8),
    )  # fmt: skip
    return out


def mark_absent(graph: DeviceGraph, indices: Array, flags: Array) -> None:
    """Set ``flags`` (uint8) of the vertices (uint32) that are not in the graph."""
    graph.device.launch(
        "vertices.cu", "mark_absent", blocks_for(indices.size), THREADS,
        graph.image, shape_argument(graph.arena.shape("out")), indices, np.int64(indices.size),
        flags,
    )  # fmt: skip
