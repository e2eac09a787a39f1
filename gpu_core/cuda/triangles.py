"""CUDA twin of triangle counting: every triangle once, by hash tables in shared memory.

Each edge of the undirected simple graph points from its lower to its higher end (`targets.py`). For
every vertex ``u`` its targets are put into a hash table; each target ``v`` of ``u`` and each target
``w`` of ``v`` that is in the table is a triangle, found once. Vertices with few targets take a
warp, others a block or several (``kernels/triangles.cu``).

Nothing is read back before the counts are: the kernels list for each other what is left to do.

Not here: clustering coefficients (`clustering.py`).

Source: see ``kernels/triangles.cu``.
"""

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from .compact_rows import THREADS, blocks_for, bytes_of
from .device import Array
from .sorting import Scratch
from .targets import Cleared, Targets, targets_bytes, targets_of
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
    """Count the triangles at every vertex; new arrays on the device, waits for nothing.

    Raises
    ------
    EngineError
        The graph is too large for the encoding of targets.
    """
    need = targets_bytes(engine)
    medium, large = _list_sizes(engine.num_edges)
    need += bytes_of((medium + 4, np.uint32), (large, np.uint64))
    counts = _new_counts(engine)
    with engine.arena.scratch(need) as scratch:
        sizes = scratch.take(4, np.uint32)
        cleared = Cleared(counts.triangles, counts.neighbour_edges, sizes)
        targets = targets_of(engine, scratch, counts.degree, cleared)
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


def _list_sizes(edges: int) -> tuple[int, int]:
    """Vertices that one warp counts but for the small ones, and tasks of blocks, at most."""
    # A row of L targets, of more than 128, makes ceil(L / 512) ceil(L / table) tasks, less than
    # L^2 / (512 table) + L / 512 + L / table + 1; and L is at most sqrt(2 m).
    longest = math.isqrt(2 * edges) + 1
    tasks = edges * (longest // _TASK_TABLE + 2) // _TASK_TARGETS
    tasks += edges // _TASK_TABLE + edges // (_MEDIUM_LENGTH + 1) + 4
    return edges // (_SMALL_LENGTH + 1), tasks


def _count(
    engine: "CudaEngine", scratch: Scratch, targets: Targets, counts: DeviceCounts, sizes: Array
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
        _SOURCE, f"count_small{form}", blocks_for(count, _VERTICES_A_BLOCK), THREADS, *targets,
        np.int64(count), *found, medium, large, sizes,
    )  # fmt: skip
    blocks = _BLOCKS * device.multiprocessors
    device.launch(_SOURCE, f"count_medium{form}", blocks, THREADS, *targets, *found, medium, sizes)
    device.launch(_SOURCE, f"count_large{form}", blocks, THREADS, *targets, *found, large, sizes)
