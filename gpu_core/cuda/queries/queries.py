"""Bulk queries about vertices and pairs: device arrays in, new device arrays out.

Host twins: `host/queries/queries.py`. Kernels: ``queries.cu``, ``rows.cu``, ``compact_rows.cu``.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from ...image.fields import Field
from ..analytics.parts.compact_rows import copy_rows, measure_rows
from ..device.compile import shape_argument
from ..device.device import Array
from ..grid import THREADS, blocks_for
from ..memory.dictionary import look_up
from ..memory.scratch import PoolScratch
from .device_graph import DeviceGraph
from .rows import selected_rows

_SOURCE: Final = "queries.cu"


def indices_of(engine: "DeviceGraph", ids: Array) -> Array:
    """uint32: vertex index of each of the ids (int64); `NONE` for ids that are not in the graph."""
    arena, device = engine.arena, engine.device
    indices = device.empty(ids.size, np.uint32)
    if not arena[Field.DENSE_IDS]:
        return look_up(arena, ids, indices)
    device.launch(
        _SOURCE, "indices_of_dense", blocks_for(ids.size), THREADS, arena.image,
        shape_argument(arena.shape("out")), ids, np.int64(ids.size), indices,
    )  # fmt: skip
    return indices


def find_entries(engine: "DeviceGraph", sources: Array, targets: Array, *, word: int = 0) -> Array:
    """Positions in the image of the entries of pairs, in one direction.

    Parameters
    ----------
    sources, targets
        uint32[pairs], vertex indices; a pair with ``NONE`` is no edge.
    word
        Word of the entry.

    Returns
    -------
    positions : int64[pairs]
        -1 where the source's adjacency does not name the target.
    """
    device = engine.device
    positions = device.empty(sources.size, np.int64)
    device.launch(
        _SOURCE, "find_entries", blocks_for(sources.size), THREADS, engine.image,
        shape_argument(engine.shape("out")), sources, targets, np.int64(sources.size),
        np.int64(word), positions,
    )  # fmt: skip
    return positions


def degrees_of(engine: "DeviceGraph", indices: Array, direction: str = "out") -> Array:
    """int64: degree of each of ``indices`` (uint32); 0 at or beyond the end of the table."""
    device = engine.device
    degrees = device.empty(indices.size, np.int64)
    device.launch(
        _SOURCE, "degrees_of", blocks_for(indices.size), THREADS, engine.image,
        shape_argument(engine.shape(direction)), indices, np.int64(indices.size), degrees,
    )  # fmt: skip
    return degrees


def copy_neighbors(
    engine: "DeviceGraph", indices: Array, direction: str = "out"
) -> tuple[Array, Array]:
    """Adjacencies of several vertices as CSR; waits for the device once, for their size.

    Returns
    -------
    indptr : int64[k + 1]
    columns : uint32[m]
        Vertex indices, increasing within a row.
    """
    device, memory = engine.device, PoolScratch(engine.device)
    rows = selected_rows(device, engine.arena, direction, indices)
    indptr = measure_rows(device, memory, rows.degree)
    entries = int(device.read_words(indptr[int(indices.size) :])[0])
    rows = replace(rows, num_entries=entries)
    return indptr, copy_rows(device, memory, rows, indptr).indices
