"""The vertex table on the device: who is there, who is entered, who is taken out.

Kernels that change the image do nothing unless the batch's status is OK; the header that they
change is the device's: whoever applies the batch reads it back.

Kernels: ``kernels/vertices.cu``. Host twin: ``host/vertices.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..image import Field, Table
from . import dictionary
from .batch_launches import write_clearing
from .compile import shape_argument
from .launches import empty_list

if TYPE_CHECKING:
    from .device import Array
    from .engine import CudaEngine
    from .identified import Identified

_THREADS = 256


def create_vertices(engine: CudaEngine, mapped: Identified) -> None:
    """Enter created vertices: records, users' ids, dictionary. The tables may have grown."""
    arena, device = engine.arena, engine.device
    about = engine.image, shape_argument(arena.shape("out"))
    after = mapped.vertex_count
    _clear_records(engine, after)
    dense = bool(arena[Field.DENSE_IDS])
    if mapped.created.size:
        ids = None if dense else arena.table(Table.VERTEX_IDS).view(np.int64)
        device.launch(
            "vertices.cu", "enter_vertices", _blocks(mapped.created.size), _THREADS,
            *about, mapped.created, mapped.created_ids, np.int64(mapped.created.size),
            np.int64(after), np.int64(mapped.recycled), ids,
        )  # fmt: skip
    if dense:
        return
    slots = arena.table(Table.DICTIONARY).size
    if slots != engine.dictionary_slots:
        # A larger table: every vertex finds its slot anew.
        dictionary.fill(engine, after)
        engine.dictionary_slots = slots
    elif mapped.created.size:
        dictionary.insert(engine, mapped.created)


def _clear_records(engine: CudaEngine, after: int) -> None:
    """Clear the records that the table gains."""
    arena, device, lines = engine.arena, engine.device, empty_list()
    shape = np.frombuffer(arena.image_argument("out"), np.int64)
    kernel = device.kernel("vertices.cu", "clear_records")
    before = arena[Field.VERTEX_COUNT]
    write_clearing(lines, kernel, shape, before, after, device.multiprocessors)
    device.run(lines)


def remove_vertices(engine: CudaEngine, gone: Array) -> None:
    """Take vertices (uint32), whose adjacencies are gone already, out of the graph."""
    if gone.size == 0:
        return
    arena = engine.arena
    dense = bool(arena[Field.DENSE_IDS])
    queue = None if dense else arena.table(Table.VERTEX_QUEUE)
    engine.device.launch(
        "vertices.cu", "remove_vertices", _blocks(gone.size), _THREADS,
        engine.image, shape_argument(arena.shape("out")), gone, np.int64(gone.size),
        queue, np.int64(0 if queue is None else queue.size),
        np.int64(arena[Field.VERTEX_QUEUE_BACK]),
    )  # fmt: skip
    if not dense:
        dictionary.remove(engine, gone)


def is_present(engine: CudaEngine, indices: Array) -> Array:
    """bool: whether each vertex (uint32) is in the graph; one beyond the table is not."""
    out = engine.device.empty(indices.size, np.bool_)
    engine.device.launch(
        "vertices.cu", "is_present", _blocks(indices.size), _THREADS,
        engine.image, shape_argument(engine.arena.shape("out")), indices, np.int64(indices.size),
        out.view(np.uint8),
    )  # fmt: skip
    return out


def mark_absent(engine: CudaEngine, indices: Array, flags: Array) -> None:
    """Set ``flags`` (uint8) of the vertices (uint32) that are not in the graph."""
    engine.device.launch(
        "vertices.cu", "mark_absent", _blocks(indices.size), _THREADS,
        engine.image, shape_argument(engine.arena.shape("out")), indices, np.int64(indices.size),
        flags,
    )  # fmt: skip


def degrees_of(engine: CudaEngine, direction: str, indices: Array | None = None) -> Array:
    """int64: degree of each vertex (uint32), or of all by index; 0 beyond the table."""
    count = engine.vertex_count if indices is None else indices.size
    out = engine.device.empty(count, np.int64)
    engine.device.launch(
        "vertices.cu", "degrees_of", _blocks(count), _THREADS,
        engine.image, shape_argument(engine.arena.shape(direction)), indices, np.int64(count), out,
    )  # fmt: skip
    return out


def _blocks(items: int) -> int:
    return -(-items // _THREADS)
