"""CUDA twin of triangle counting: every triangle once, by hash tables in shared memory.

The edges of the undirected simple graph are pointed from the lower to the higher (degree, index).
For every vertex ``u`` its targets are put into a hash table; each target ``v`` of ``u`` and each
target ``w`` of ``v`` that is in the table is a triangle, found once. Vertices with few targets take
a warp, others a block or several (``kernels/triangles.cu``).

Nothing is read back before the counts are: the kernels list for each other what is left to do.

Not here: clustering coefficients (`algorithms/clustering.py`).

Source: see ``kernels/triangles.cu``.
"""

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import EngineError
from ..host.triangles import TriangleCounts
from ..image import Field
from .compact_rows import (
    THREADS,
    CompactRows,
    blocks_for,
    bytes_of,
    compact_rows,
    entry_count,
    in_rows,
    in_rows_bytes,
    rows_bytes,
    zeros,
)
from .device import Array
from .sorting import Scratch

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


def count_triangles(engine: "CudaEngine") -> TriangleCounts:
    """Count the triangles at every vertex; arrays in host memory."""
    counts = count_on_device(engine)
    to_host = engine.device.to_host
    triangles = to_host(counts.triangles).view(np.int64)
    if counts.neighbour_edges is None:
        neighbour_edges = 2 * triangles
    else:
        neighbour_edges = to_host(counts.neighbour_edges).view(np.int64)
    return TriangleCounts(to_host(counts.degree).astype(np.int64), triangles, neighbour_edges)


def triangles_by_id(engine: "CudaEngine") -> npt.NDArray[np.int64]:
    """int64[num_vertices]: triangles at every vertex, in increasing order of users' ids.

    Nothing else goes to host memory, and where every index is an id, nothing is put in order: for a
    million vertices more time went into that than into the counting.
    """
    triangles = count_on_device(engine).triangles
    is_in_order = engine.arena[Field.DENSE_IDS] and engine.num_vertices == engine.vertex_count
    if not is_in_order:
        triangles = triangles[engine.device.to_device(engine.sorted_order())]
    return engine.device.to_locked_host(triangles).view(np.int64)


def count_on_device(engine: "CudaEngine") -> DeviceCounts:
    """Count the triangles at every vertex; new arrays on the device, waits for nothing."""
    device, count, entries = engine.device, engine.vertex_count, entry_count(engine)
    room = 2 * entries if engine.directed else entries
    if (engine.directed and count >= 1 << 31) or room >= 1 << _START_BITS:
        msg = f"{count:,} vertices and {room:,} entries are too many to count triangles on a GPU"
        raise EngineError(msg)
    counts = DeviceCounts(
        device.empty(count, np.uint32),
        device.empty(count, np.uint64),
        device.empty(count, np.uint64) if engine.directed else None,
    )
    for array in counts:
        if array is not None:
            array.fill(0)
    with engine.arena.scratch(_bytes(engine, count, entries, room)) as scratch:
        targets = _orient(engine, scratch, counts.degree)
        _count(engine, scratch, targets, counts)
    return counts


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


def _orient(engine: "CudaEngine", scratch: Scratch, degree: Array) -> _Targets:
    """Point the edges upwards; fills ``degree``, which is 0."""
    device, count = engine.device, engine.vertex_count
    out = compact_rows(engine, scratch, "out")
    other: CompactRows | None = None
    if engine.directed:
        other = in_rows(engine, scratch)
        # In this order: the second search looks at marked rows, and sees over the marks.
        _mark_mutual(engine, other, out, degree, new_only=True)
        _mark_mutual(engine, out, other, degree, new_only=False)
    entries = int(out.indices.size)
    rows = scratch.take(count, np.uint64)
    targets = scratch.take(entries if other is None else 2 * entries, np.uint32)
    device.launch(
        _SOURCE, "begin_targets", blocks_for(count), THREADS, out.indptr,
        None if other is None else other.indptr, np.int64(count), degree, rows,
    )  # fmt: skip
    for some in (out, other):
        if some is not None:
            device.launch(
                _SOURCE, "orient_rows", some.blocks, THREADS, *some.windows, some.indices, degree,
                np.int64(other is not None), np.int64(some is other), rows, targets,
            )  # fmt: skip
    return _Targets(rows, targets)


def _mark_mutual(
    engine: "CudaEngine", marked: CompactRows, other: CompactRows, degree: Array, *, new_only: bool
) -> None:
    engine.device.launch(
        _SOURCE, "mark_mutual", marked.blocks, THREADS, *marked.windows, marked.indices,
        other.indptr, other.indices, np.int64(new_only), degree,
    )  # fmt: skip


def _count(engine: "CudaEngine", scratch: Scratch, rows: _Targets, counts: DeviceCounts) -> None:
    device, count = engine.device, engine.vertex_count
    medium_size, large_size = _list_sizes(engine.num_edges)
    medium = scratch.take(medium_size, np.uint32)
    large = scratch.take(large_size, np.uint64)
    sizes = zeros(scratch, 4, np.uint32)
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
