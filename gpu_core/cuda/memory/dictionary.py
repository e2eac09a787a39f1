"""Vertex dictionary on the device: a hash table of ids; look up, insert, remove.

The table is the host's, bit by bit: its order depends on the ids that are in it alone.

Kernels: ``dictionary.cu``. Host twin and source: ``host/memory/dictionary.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...image.fields import Field, ImageTable
from ..device.compile import shape_argument
from ..device.device import Array
from ..grid import THREADS, blocks_for
from .arena import DeviceArena

_IDS_A_BLOCK = 1024
#: Blocks of a kernel that goes over all slots.
_BLOCKS_A_MULTIPROCESSOR = 8


def look_up(arena: DeviceArena, ids: Array, out: Array) -> Array:
    """Write the vertex index of each of users' ids (int64) to ``out`` (uint32); `NONE`: unknown."""
    slots, known = _tables(arena)
    arena.device.launch(
        "dictionary.cu", "look_up", -(-ids.size // _IDS_A_BLOCK), THREADS,
        slots, np.int64(slots.size), known, ids, np.int64(ids.size), out,
    )  # fmt: skip
    return out


def insert(arena: DeviceArena, indices: Array) -> None:
    """Enter vertices (uint32) whose ids are in the table of ids and not in the dictionary."""
    _insert(arena, indices, indices.size)


def fill(arena: DeviceArena, vertex_count: int) -> None:
    """Enter all vertices below ``vertex_count`` that are in the graph into an undefined table."""
    slots, _ = _tables(arena)
    blocks = min(blocks_for(slots.size), _BLOCKS_A_MULTIPROCESSOR * arena.device.multiprocessors)
    arena.device.launch(
        "dictionary.cu", "clear_slots", blocks, THREADS, arena.image, slots, np.int64(slots.size)
    )
    _insert(arena, None, vertex_count)


def remove(arena: DeviceArena, gone: Array) -> None:
    """Take out vertices (uint32) whose records are cleared and whose ids are still in the table."""
    slots, known = _tables(arena)
    table = slots, np.int64(slots.size), known
    about = arena.image, shape_argument(arena.shape("out"))
    leaders = arena.device.empty(gone.size, np.uint32)
    blocks, count = blocks_for(gone.size), np.int64(gone.size)
    launch = arena.device.launch
    launch("dictionary.cu", "find_gaps", blocks, THREADS, *about, *table, gone, count, leaders)
    launch("dictionary.cu", "close_gaps", blocks, THREADS, *about, *table, leaders, count)


def _insert(arena: DeviceArena, indices: Array | None, count: int) -> None:
    slots, known = _tables(arena)
    arena.device.launch(
        "dictionary.cu", "insert", blocks_for(count), THREADS,
        arena.image, shape_argument(arena.shape("out")), slots, np.int64(slots.size), known,
        indices, np.int64(count),
    )  # fmt: skip


def _tables(arena: DeviceArena) -> tuple[Any, Any]:
    """Slots (uint32) and users' ids (int64)."""
    assert not arena[Field.DENSE_IDS]
    return arena.table(ImageTable.DICTIONARY), arena.table(ImageTable.VERTEX_IDS).view(np.int64)
