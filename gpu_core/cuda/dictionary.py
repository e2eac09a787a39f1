"""Vertex dictionary on the device: look users' ids up, enter vertices, take them out.

The table is the host's, bit by bit: its order depends on the ids that are in it alone.

Kernels: ``kernels/dictionary.cu``. Host twin and source: ``host/dictionary.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..image import Field, Table
from .compile import shape_argument

if TYPE_CHECKING:
    from .device import Array
    from .engine import CudaEngine

_THREADS = 256
_IDS_A_BLOCK = 1024
#: Blocks of a kernel that goes over all slots.
_BLOCKS_A_MULTIPROCESSOR = 8


def look_up(engine: CudaEngine, ids: Array, out: Array) -> Array:
    """Write the vertex index of each of users' ids (int64) to ``out`` (uint32); `NONE`: unknown."""
    slots, known = _tables(engine)
    engine.device.launch(
        "dictionary.cu", "look_up", -(-ids.size // _IDS_A_BLOCK), _THREADS,
        slots, np.int64(slots.size), known, ids, np.int64(ids.size), out,
    )  # fmt: skip
    return out


def insert(engine: CudaEngine, indices: Array) -> None:
    """Enter vertices (uint32) whose ids are in the table of ids and not in the dictionary."""
    _insert(engine, indices, indices.size)


def fill(engine: CudaEngine, vertex_count: int) -> None:
    """Enter all vertices below ``vertex_count`` that are in the graph into an undefined table."""
    slots, _ = _tables(engine)
    blocks = min(
        -(-slots.size // _THREADS), _BLOCKS_A_MULTIPROCESSOR * engine.device.multiprocessors
    )
    engine.device.launch(
        "dictionary.cu", "clear_slots", blocks, _THREADS, engine.image, slots, np.int64(slots.size)
    )
    _insert(engine, None, vertex_count)


def remove(engine: CudaEngine, gone: Array) -> None:
    """Take out vertices (uint32) whose records are cleared and whose ids are still in the table."""
    slots, known = _tables(engine)
    table = slots, np.int64(slots.size), known
    about = engine.image, shape_argument(engine.arena.shape("out"))
    leaders = engine.device.empty(gone.size, np.uint32)
    blocks, count = -(-gone.size // _THREADS), np.int64(gone.size)
    launch = engine.device.launch
    launch("dictionary.cu", "find_gaps", blocks, _THREADS, *about, *table, gone, count, leaders)
    launch("dictionary.cu", "close_gaps", blocks, _THREADS, *about, *table, leaders, count)


def _insert(engine: CudaEngine, indices: Array | None, count: int) -> None:
    slots, known = _tables(engine)
    engine.device.launch(
        "dictionary.cu", "insert", -(-count // _THREADS), _THREADS,
        engine.image, shape_argument(engine.arena.shape("out")), slots, np.int64(slots.size), known,
        indices, np.int64(count),
    )  # fmt: skip


def _tables(engine: CudaEngine) -> tuple[Any, Any]:
    """Slots (uint32) and users' ids (int64)."""
    arena = engine.arena
    assert not arena[Field.DENSE_IDS]
    return arena.table(Table.DICTIONARY), arena.table(Table.VERTEX_IDS).view(np.int64)
