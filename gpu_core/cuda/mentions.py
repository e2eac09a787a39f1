"""What a deleted vertex adds to a half: its own row is cleared, and every entry that names it goes.

Who names a vertex stands in its adjacency of the other direction, where that is stored; otherwise
all adjacencies are scanned. Either way entries are cut into equal tiles, so a hub costs what its
entries cost. The host waits here: how many there are decides what is taken.

Part of `halves.py`. Twin: ``_mentions`` and ``_with_cleared`` of ``host/halves.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .compile import shape_argument
from .stream_words import ticket_of
from .vertices import degrees_of

if TYPE_CHECKING:
    from .device import Array
    from .engine import CudaEngine
    from .half import Half

_TILE_ENTRIES = 2048
_TILE_THREADS = 256


class Group(NamedTuple):
    """Entries that name a deleted vertex, in rows of vertices that stay: uint32, uint32."""

    rows: Array
    columns: Array


def groups_of(engine: CudaEngine, deleted: Array) -> dict[str, Group]:
    """Mentions by stored direction."""
    flags = engine.device.xp.zeros(engine.vertex_count, np.uint8)
    flags[deleted] = 1
    if not engine.has_reverse:
        return {"out": _scanned(engine, deleted, flags)}
    # Who names me stands in my adjacency of the other direction.
    groups = {"out": _named(engine, deleted, flags, "in")}
    if engine.directed:
        groups["in"] = _named(engine, deleted, flags, "out")
    return groups


def with_cleared(engine: CudaEngine, half: Half, cleared: Array) -> Half:
    """Give each cleared vertex (increasing) a row, empty where it has no entries."""
    xp = engine.device.xp
    count = int(engine.device.read_words(half.row_count)[0])
    rows = half.rows[:count]
    degrees = half.indptr[1 : count + 1] - half.indptr[:count]
    all_rows = xp.union1d(rows, cleared)
    places = xp.searchsorted(all_rows, rows).astype(np.uint32)
    counts = xp.zeros(all_rows.size, np.uint32)
    counts[places] = degrees
    clear = xp.zeros(all_rows.size, np.uint8)
    clear[xp.searchsorted(all_rows, cleared)] = 1
    indptr = xp.concatenate([xp.zeros(1, np.uint32), xp.cumsum(counts, dtype=np.uint32)])
    return replace(
        half,
        rows=all_rows,
        indptr=indptr,
        row_count=engine.device.to_device(np.array([all_rows.size], np.uint32)),
        max_rows=all_rows.size,
        entry_rows=places[half.entry_rows] if half.entries else half.entry_rows,
        clear=clear,
    )


def _named(engine: CudaEngine, deleted: Array, flags: Array, opposite: str) -> Group:
    """Who stands in the deleted vertices' own adjacencies and stays."""
    degrees = degrees_of(engine, opposite, deleted)
    columns, rows = _listed(engine, opposite, deleted, degrees, flags, wanted=0)
    return Group(rows, columns)


def _scanned(engine: CudaEngine, deleted: Array, flags: Array) -> Group:
    """Whose adjacency names a deleted vertex, by a scan of all that stay."""
    degrees = degrees_of(engine, "out")
    degrees[deleted] = 0
    vertices = engine.device.xp.arange(degrees.size, dtype=np.uint32)
    return Group(*_listed(engine, "out", vertices, degrees, flags, wanted=1))


def _listed(
    engine: CudaEngine,
    direction: str,
    vertices: Array,
    degrees: Array,
    flags: Array,
    *,
    wanted: int,
) -> tuple[Array, Array]:
    """(vertex, neighbour) of the entries of adjacencies whose neighbour's flag is ``wanted``."""
    device, xp = engine.device, engine.device.xp
    filled = xp.flatnonzero(degrees)
    nothing = vertices[:0]
    if filled.size == 0:
        return nothing, nothing
    vertices = vertices[filled]
    indptr = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(degrees[filled])])
    entries = int(device.read_words(indptr[-1:])[0])
    blocks = -(-entries // _TILE_ENTRIES)
    tiles, found = device.empty(blocks, np.int64), device.empty(1, np.int64)
    about = (
        engine.image, shape_argument(engine.arena.shape(direction)), vertices, indptr,
        np.int64(vertices.size), np.int64(entries), flags, np.uint32(wanted), tiles,
    )  # fmt: skip
    device.launch(
        "halves.cu", "count_mentions", blocks, _TILE_THREADS, *about, found, ticket_of(device)
    )
    size = int(device.read_words(found)[0])
    first, second = device.empty(size, np.uint32), device.empty(size, np.uint32)
    if size:
        device.launch("halves.cu", "list_mentions", blocks, _TILE_THREADS, *about, first, second)
    return first, second
