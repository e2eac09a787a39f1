"""Dangling references: entries that name a deleted vertex, in rows of vertices that stay.

Vertices that name a vertex are in its adjacency of the other direction, where that is stored; else
all adjacencies are scanned. Either way entries are cut into equal tiles, so a hub costs what its
entries cost. The host waits here: how many there are decides what is taken.

Part of `changed_vertices.py`. Twin: ``_dangling`` of ``host/update/deltas.py``.
"""

from __future__ import annotations

import numpy as np

from ...device.compile import shape_argument
from ...device.device import Array
from ...device.stream_words import ticket_of
from ...queries.device_graph import DeviceGraph
from ...queries.paged_rows import copy_paged_rows
from ...queries.queries import degrees_of
from ...structs import TILE_ENTRIES, TILE_THREADS


def references_to(graph: DeviceGraph, deleted: Array) -> dict[str, tuple[Array, Array]]:
    """uint32 rows and columns of the dangling references, by stored direction.

    Each deleted vertex has one of its own row besides, which finds nothing: the row is cleared.
    """
    flags = graph.device.xp.zeros(graph.vertex_count, np.uint8)
    flags[deleted] = 1
    if not graph.has_reverse:
        found = {"out": _scanned(graph, deleted, flags)}
    else:
        # Vertices that name one are in its adjacency of the other direction.
        found = {"out": _named(graph, deleted, flags, "in")}
        if graph.directed:
            found["in"] = _named(graph, deleted, flags, "out")
    concatenate = graph.device.xp.concatenate
    return {
        direction: (concatenate([rows, deleted]), concatenate([columns, deleted]))
        for direction, (rows, columns) in found.items()
    }


def _named(graph: DeviceGraph, deleted: Array, flags: Array, opposite: str) -> tuple[Array, Array]:
    """Neighbors of deleted vertices that stay."""
    degrees = degrees_of(graph, deleted, opposite)
    columns, rows = _listed(graph, opposite, deleted, degrees, flags, wanted=0)
    return rows, columns


def _scanned(graph: DeviceGraph, deleted: Array, flags: Array) -> tuple[Array, Array]:
    """Whose adjacency names a deleted vertex, by a scan of all that stay."""
    vertices = graph.device.xp.arange(graph.vertex_count, dtype=np.uint32)
    degrees = degrees_of(graph, vertices)
    degrees[deleted] = 0
    return _listed(graph, "out", vertices, degrees, flags, wanted=1)


def _listed(
    graph: DeviceGraph,
    direction: str,
    vertices: Array,
    degrees: Array,
    flags: Array,
    *,
    wanted: int,
) -> tuple[Array, Array]:
    """(vertex, neighbor) of the entries of adjacencies whose neighbor's flag is ``wanted``."""
    device, xp = graph.device, graph.device.xp
    filled = xp.flatnonzero(degrees)
    nothing = vertices[:0]
    if filled.size == 0:
        return nothing, nothing
    vertices = vertices[filled]
    indptr = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(degrees[filled])])
    entries = int(device.read_words(indptr[-1:])[0])
    columns = None
    if graph.arena.layout.is_paged:
        # To find an entry takes a walk over its row's pages: they are copied once.
        columns = device.empty(entries, np.uint32)
        copy_paged_rows(device, graph.arena, direction, vertices, indptr, entries, columns)
    blocks = -(-entries // TILE_ENTRIES)
    tiles, found = device.empty(blocks, np.int64), device.empty(1, np.int64)
    about = (
        graph.image, shape_argument(graph.arena.shape(direction)), vertices, indptr,
        np.int64(vertices.size), columns, np.int64(entries), flags, np.uint32(wanted), tiles,
    )  # fmt: skip
    device.launch(
        "deltas.cu", "count_references", blocks, TILE_THREADS, *about, found, ticket_of(device)
    )
    size = int(device.read_words(found)[0])
    first, second = device.empty(size, np.uint32), device.empty(size, np.uint32)
    if size:
        device.launch("deltas.cu", "list_references", blocks, TILE_THREADS, *about, first, second)
    return first, second
