"""The undirected simple graph, each edge once: pointed from its lower to its higher end.

Lower is which has fewer neighbours or, of as many, the smaller index. So no vertex has more than
``sqrt(2 m)`` targets, hubs included, which is what bounds the work of counting triangles.

Not here: what is done with it (`triangles.py`).

Source: see ``kernels/targets.cu``.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ..errors import EngineError
from .compact_rows import (
    THREADS,
    CompactRows,
    blocks_for,
    bytes_of,
    compact_rows,
    cut_windows,
    entry_count,
    in_rows,
    in_rows_bytes,
    measure_rows,
    rows_bytes,
)
from .compile import shape_argument
from .device import Array
from .sorting import Scratch

if TYPE_CHECKING:
    from .engine import CudaEngine

_SOURCE: Final = "targets.cu"

#: Bits of the start of a row of targets; the other 24 are its length.
_START_BITS: Final = 40


class Targets(NamedTuple):
    """Rows of targets; see ``targets.cuh`` for the encoding."""

    #: uint64[vertex_count]
    rows: Array
    #: uint32, vertex indices; in no order within a row.
    targets: Array


class Cleared(NamedTuple):
    """Arrays that are filled with 0 by the way."""

    #: uint64[vertex_count]
    counts: Array
    #: The same again; None for an undirected graph.
    more_counts: Array | None
    #: uint32[4]
    sizes: Array


def targets_bytes(engine: "CudaEngine") -> int:
    """Bytes of scratch that `targets_of` takes.

    Raises
    ------
    EngineError
        The graph is too large for the encoding.
    """
    count, entries = engine.vertex_count, entry_count(engine)
    room = _room(engine)
    if (engine.directed and count >= 1 << 31) or room >= 1 << _START_BITS:
        msg = f"{count:,} vertices and {room:,} entries are too many to count triangles on a GPU"
        raise EngineError(msg)
    need = rows_bytes(count, entries)
    if engine.directed:
        need += in_rows_bytes(engine)
    return need + bytes_of((room, np.uint32), (count, np.uint64))


def _room(engine: "CudaEngine") -> int:
    """Entries that targets are written to: each row has room for all neighbours."""
    return entry_count(engine) * (2 if engine.directed else 1)


def targets_of(engine: "CudaEngine", scratch: Scratch, degree: Array, cleared: Cleared) -> Targets:
    """Point the edges upwards, in scratch.

    Parameters
    ----------
    degree
        uint32[vertex_count], filled in: neighbours in either direction, without the vertex itself.
    """
    count = engine.vertex_count
    rows = scratch.take(count, np.uint64)
    targets = scratch.take(_room(engine), np.uint32)
    if not engine.directed:
        indptr = measure_rows(engine, scratch, "out", None, count)
        _begin(engine, indptr, None, degree, rows, cleared)
        windows = (indptr, *cut_windows(engine, scratch, indptr, entry_count(engine)))
        # Each row is read once: where it lies, not out of a copy.
        _append_targets(engine, windows, None, degree, rows, targets)
        return Targets(rows, targets)
    out, other = compact_rows(engine, scratch, "out"), in_rows(engine, scratch)
    degree.fill(0)
    # In this order: the second search looks at marked rows, and sees over the marks.
    _mark_mutual(engine, other, out, degree, new_only=True)
    _mark_mutual(engine, out, other, degree, new_only=False)
    _begin(engine, out.indptr, other.indptr, degree, rows, cleared)
    _append_targets(engine, out.windows, out.indices, degree, rows, targets)
    _append_targets(engine, other.windows, other.indices, degree, rows, targets, new_only=True)
    return Targets(rows, targets)


def _begin(
    engine: "CudaEngine",
    indptr: Array,
    other_indptr: Array | None,
    degree: Array,
    rows: Array,
    cleared: Cleared,
) -> None:
    count = engine.vertex_count
    engine.device.launch(
        _SOURCE, "begin_targets", blocks_for(max(count, cleared.sizes.size)), THREADS, indptr,
        other_indptr, np.int64(count), degree, rows, *cleared,
    )  # fmt: skip


def _append_targets(
    engine: "CudaEngine",
    windows: tuple[Array, Array, Array],
    words: Array | None,
    degree: Array,
    rows: Array,
    targets: Array,
    *,
    new_only: bool = False,
) -> None:
    # Of a directed graph, another launch appends to the same rows.
    engine.device.launch(
        _SOURCE, "orient_rows", int(windows[1].size) - 1, THREADS, engine.image,
        shape_argument(engine.shape("out")), *windows, words, degree,
        np.int64(engine.directed), np.int64(new_only), rows, targets,
    )  # fmt: skip


def _mark_mutual(
    engine: "CudaEngine", marked: CompactRows, other: CompactRows, degree: Array, *, new_only: bool
) -> None:
    engine.device.launch(
        _SOURCE, "mark_mutual", marked.blocks, THREADS, *marked.windows, marked.indices,
        other.indptr, other.indices, np.int64(new_only), degree,
    )  # fmt: skip
