"""CUDA twin of triangle counting: every triangle once, by hash tables in shared memory.

The edges of the undirected simple graph are pointed from the lower to the higher (degree, index).
For every vertex ``u`` its targets are put into a hash table; each target ``v`` of ``u`` and each
target ``w`` of ``v`` that is in the table is a triangle, found once. Vertices with few targets take
a warp, others a block or several (``kernels/triangles.cu``).

Nothing is read back before the counts are: the kernels list for each other what is left to do.

Not here: clustering coefficients (`clustering.py`).

Source: see ``kernels/triangles.cu``.
"""

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

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
from .vertex_order import order_by_id

if TYPE_CHECKING:
    from .engine import CudaEngine

_SOURCE: Final = "triangles.cu"

#: Twins of the constants of ``triangles.cu``.
_SMALL_LENGTH: Final = 32
_MEDIUM_LENGTH: Final = 128
_TASK_TARGETS: Final = 512
_TASK_TABLE: Final = 1024
_VERTICES_A_BLOCK: Final = 8 * (THREADS // 32)
#: Bits of the start of a row of targets; the other 24 are its length.
_START_BITS: Final = 40

#: Blocks a multiprocessor of kernels whose blocks take work until there is none left.
_BLOCKS: Final = 6


class DeviceCounts(NamedTuple):
    """Counts by vertex index on the device; 0 for absent vertices."""

    #: uint32[vertex_count], neighbours in either direction, without the vertex itself.
    degree: Array
    #: uint64[vertex_count], triangles of the undirected simple graph at each vertex.
    triangles: Array
    #: uint64[vertex_count], ordered pairs (v, w) of neighbours with an edge v -> w; None for an
    #: undirected graph, where they are twice the triangles.
    neighbour_edges: Array | None


class _Targets(NamedTuple):
    """The undirected simple graph, each edge once; see ``triangles.cu`` for the encoding."""

    #: uint64[vertex_count]
    rows: Array
    #: uint32, vertex indices; in no order within a row.
    targets: Array


def triangles_by_id(engine: "CudaEngine") -> npt.NDArray[np.int64]:
    """int64[num_vertices]: triangles at every vertex, in increasing order of users' ids.

    Nothing else goes to host memory, and where indices are ids, nothing is put in order: for a
    million vertices more time went into that than into the counting.
    """
    triangles = count_on_device(engine).triangles
    order = order_by_id(engine)
    if order is not None:
        triangles = triangles[order]
    return engine.device.to_locked_host(triangles).view(np.int64)


def count_on_device(engine: "CudaEngine") -> DeviceCounts:
    """Count the triangles at every vertex; new arrays on the device, waits for nothing."""
    count, entries = engine.vertex_count, entry_count(engine)
    room = 2 * entries if engine.directed else entries
    if (engine.directed and count >= 1 << 31) or room >= 1 << _START_BITS:
        msg = f"{count:,} vertices and {room:,} entries are too many to count triangles on a GPU"
        raise EngineError(msg)
    counts = _new_counts(engine)
    with engine.arena.scratch(_bytes(engine, count, entries, room)) as scratch:
        sizes = scratch.take(4, np.uint32)
        targets = _orient(engine, scratch, counts, sizes)
        _count(engine, scratch, targets, counts, sizes)
    return counts


def _new_counts(engine: "CudaEngine") -> DeviceCounts:
    """Arrays of undefined content."""
    device, count = engine.device, engine.vertex_count
    return DeviceCounts(
        device.empty(count, np.uint32),
        device.empty(count, np.uint64),
        device.empty(count, np.uint64) if engine.directed else None,
    )


def _bytes(engine: "CudaEngine", count: int, entries: int, room: int) -> int:
    """Bytes of scratch that counting takes."""
    need = rows_bytes(count, entries)
    if engine.directed:
        need += in_rows_bytes(engine)
    medium, large = _list_sizes(engine.num_edges)
    return need + bytes_of(
        (room + medium + 4, np.uint32),
        (count + large, np.uint64),
    )


def _list_sizes(edges: int) -> tuple[int, int]:
    """Vertices that one warp counts but for the small ones, and tasks of blocks, at most."""
    # A row of L targets, of more than 128, makes ceil(L / 512) ceil(L / table) tasks, less than
    # L^2 / (512 table) + L / 512 + L / table + 1; and L is at most sqrt(2 m).
    longest = math.isqrt(2 * edges) + 1
    tasks = edges * (longest // _TASK_TABLE + 2) // _TASK_TARGETS
    tasks += edges // _TASK_TABLE + edges // (_MEDIUM_LENGTH + 1) + 4
    return edges // (_SMALL_LENGTH + 1), tasks


def _orient(engine: "CudaEngine", scratch: Scratch, counts: DeviceCounts, sizes: Array) -> _Targets:
    """Point the edges upwards; fills in the degrees, and 0 for whatever is counted."""
    count, entries, degree = engine.vertex_count, entry_count(engine), counts.degree
    rows = scratch.take(count, np.uint64)
    if not engine.directed:
        targets = scratch.take(entries, np.uint32)
        indptr = measure_rows(engine, scratch, "out", None, count)
        _begin(engine, indptr, None, rows, counts, sizes)
        windows = (indptr, *cut_windows(engine, scratch, indptr, entries))
        # Each row is read once: where it lies, not out of a copy.
        _append_targets(engine, windows, None, degree, rows, targets)
        return _Targets(rows, targets)
    targets = scratch.take(2 * entries, np.uint32)
    out, other = compact_rows(engine, scratch, "out"), in_rows(engine, scratch)
    degree.fill(0)
    # In this order: the second search looks at marked rows, and sees over the marks.
    _mark_mutual(engine, other, out, degree, new_only=True)
    _mark_mutual(engine, out, other, degree, new_only=False)
    _begin(engine, out.indptr, other.indptr, rows, counts, sizes)
    _append_targets(engine, out.windows, out.indices, degree, rows, targets)
    _append_targets(engine, other.windows, other.indices, degree, rows, targets, new_only=True)
    return _Targets(rows, targets)


def _begin(
    engine: "CudaEngine",
    indptr: Array,
    other_indptr: Array | None,
    rows: Array,
    counts: DeviceCounts,
    sizes: Array,
) -> None:
    count = engine.vertex_count
    engine.device.launch(
        _SOURCE, "begin_targets", blocks_for(max(count, sizes.size)), THREADS, indptr,
        other_indptr, np.int64(count), counts.degree, rows, counts.triangles,
        counts.neighbour_edges, sizes,
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


def _count(
    engine: "CudaEngine", scratch: Scratch, rows: _Targets, counts: DeviceCounts, sizes: Array
) -> None:
    device, count = engine.device, engine.vertex_count
    medium_size, large_size = _list_sizes(engine.num_edges)
    medium = scratch.take(medium_size, np.uint32)
    large = scratch.take(large_size, np.uint64)
    found: tuple[Array, ...] = (counts.triangles,)
    form = ""
    if counts.neighbour_edges is not None:
        found, form = (*found, counts.neighbour_edges), "_directed"
    device.launch(
        _SOURCE, f"count_small{form}", blocks_for(count, _VERTICES_A_BLOCK), THREADS, *rows,
        np.int64(count), *found, medium, large, sizes,
    )  # fmt: skip
    blocks = _BLOCKS * device.multiprocessors
    device.launch(_SOURCE, f"count_medium{form}", blocks, THREADS, *rows, *found, medium, sizes)
    device.launch(_SOURCE, f"count_large{form}", blocks, THREADS, *rows, *found, large, sizes)
