"""Questions about many vertices or pairs at once: arrays of the device in, new ones out.

Host twins: `host/export.py` (`has_entries`), `host/vertices.py` (`degrees_of`, `copy_neighbours`).
Kernels: ``kernels/queries.cu``, ``kernels/compact_rows.cu``.
"""

from typing import TYPE_CHECKING, Final

import numpy as np

from .compact_rows import (
    THREADS,
    blocks_for,
    bytes_of,
    copy_rows,
    measure_rows,
    window_count,
)
from .compile import shape_argument
from .device import Array
from .sorting import Plain

if TYPE_CHECKING:
    from .engine import CudaEngine

_SOURCE: Final = "queries.cu"


def has_entries(
    engine: "CudaEngine", sources: Array, targets: Array, direction: str = "out"
) -> Array:
    """Tell for each pair whether the source's adjacency names the target.

    Parameters
    ----------
    sources, targets
        uint32[pairs], vertex indices; a pair with ``NONE`` is no edge.

    Returns
    -------
    found : bool[pairs]
    """
    device = engine.device
    found = device.empty(sources.size, np.bool_)
    device.launch(
        _SOURCE, "has_entries", blocks_for(sources.size), THREADS, engine.image,
        shape_argument(engine.shape(direction)), sources, targets, np.int64(sources.size), found,
    )  # fmt: skip
    return found


def degrees_of(engine: "CudaEngine", indices: Array, direction: str = "out") -> Array:
    """int64: degree of each of ``indices`` (uint32); 0 at or beyond the end of the table."""
    device = engine.device
    degrees = device.empty(indices.size, np.int64)
    device.launch(
        _SOURCE, "degrees_of", blocks_for(indices.size), THREADS, engine.image,
        shape_argument(engine.shape(direction)), indices, np.int64(indices.size), degrees,
    )  # fmt: skip
    return degrees


def copy_neighbours(
    engine: "CudaEngine", indices: Array, direction: str = "out"
) -> tuple[Array, Array]:
    """Adjacencies of several vertices as CSR; waits for the device once, for their size.

    Returns
    -------
    indptr : int64[k + 1]
    columns : uint32[m]
        Vertex indices, increasing within a row.
    """
    device, count = engine.device, int(indices.size)
    indptr = measure_rows(engine, Plain(device), direction, indices, count)
    entries = int(device.read_words(indptr[count:])[0])
    columns = device.empty(entries, np.uint32)
    with engine.arena.scratch(
        bytes_of((2 * (window_count(count, entries) + 1), np.int64))
    ) as scratch:
        copy_rows(engine, scratch, direction, indices, indptr, entries, indices=columns)
    return indptr, columns
