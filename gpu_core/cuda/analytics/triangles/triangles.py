"""Triangle counting in CUDA: oriented edges, looked up in hash tables in shared memory.

Each edge of the undirected simple graph points from its lower to its higher end
(`oriented_edges.py`). For every vertex ``u`` its targets are put into a hash table; each target
``v`` of ``u`` and each target ``w`` of ``v`` that is in the table is a triangle, found once.
Vertices with few targets take a warp, others a block or several (``triangles.cu``).

Nothing is read back before the counts are: the kernels list for each other what is left to do.

Not here: clustering coefficients (`clustering.py`).

Source: see ``triangles.cu``.
"""

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ....rows import Adjacencies
from ...device.compile import DIRECTED, PRODUCTS
from ...device.declarations import constant
from ...device.device import Array, Device
from ...grid import THREADS, blocks_for
from ...memory.workspace import Workspace
from ..parts.compact_rows import bytes_of
from ..parts.oriented_edges import Cleared, OrientedEdges, oriented_edges, oriented_edges_bytes

_SOURCE: Final = "triangles.cu"

_SMALL_LENGTH: Final = constant(_SOURCE, "SMALL_LENGTH")
_MEDIUM_LENGTH: Final = constant(_SOURCE, "MEDIUM_LENGTH")
_TASK_TARGETS: Final = 512
_TASK_TABLE: Final = 1024
_VERTICES_A_BLOCK: Final = 8 * (THREADS // 32)

#: Blocks a multiprocessor of kernels whose blocks take work until there is none left.
_BLOCKS: Final = 6


class DeviceCounts(NamedTuple):
    """Counts by vertex index on the device; 0 for absent vertices."""

    #: uint32[vertex_count], neighbors in either direction, without the vertex itself.
    degree: Array
    #: uint64[vertex_count], triangles of the undirected simple graph at each vertex.
    triangles: Array
    #: uint64[vertex_count], ordered pairs (v, w) of neighbors with an edge v -> w; with
    #: ``products`` directed triangles. None for an undirected graph, where they are twice the
    #: triangles.
    links: Array | None
    #: uint32[vertex_count], neighbors with edges both ways; None: not asked for.
    both_ways: Array | None


def triangles_in_order(
    workspace: Workspace, counts: DeviceCounts, order: Array | None
) -> npt.NDArray[np.int64]:
    """int64[num_vertices]: triangles at the vertices of these indices (None: of all), on the host.

    Nothing else goes to host memory, and where indices are ids, nothing is put in order: for a
    million vertices more time went into that than into the counting.
    """
    triangles = counts.triangles if order is None else counts.triangles[order]
    return workspace.device.to_locked_host(triangles).view(np.int64)


def count_triangles(
    workspace: Workspace, adjacencies: Adjacencies, *, products: bool = False
) -> DeviceCounts:
    """Count the triangles at every vertex; new arrays on the device, waits for nothing.

    Parameters
    ----------
    products
        Of a directed graph: count directed triangles, and neighbors with edges both ways.

    Raises
    ------
    EngineError
        The graph is too large for the encoding of targets.
    """
    device, count = workspace.device, adjacencies.out.count
    edges = adjacencies.out.num_entries // (1 if adjacencies.directed else 2)
    need = oriented_edges_bytes(device, adjacencies)
    medium, large = _list_sizes(edges)
    need += bytes_of((medium + 4, np.uint32), (large, np.uint64))
    counts = DeviceCounts(
        device.empty(count, np.uint32),
        device.empty(count, np.uint64),
        device.empty(count, np.uint64) if adjacencies.directed else None,
        device.empty(count, np.uint32) if adjacencies.directed and products else None,
    )
    with workspace.scratch(need) as scratch:
        sizes = scratch.take(4, np.uint32)
        cleared = Cleared(counts.triangles, counts.links, sizes)
        targets = oriented_edges(
            device, scratch, adjacencies, counts.degree, cleared, counts.both_ways
        )
        lists = scratch.take(medium, np.uint32), scratch.take(large, np.uint64)
        _count(device, targets, counts, sizes, lists)
    return counts


def _list_sizes(edges: int) -> tuple[int, int]:
    """Vertices that one warp counts but for the small ones, and tasks of blocks, at most."""
    # A row of L targets, of more than 128, makes ceil(L / 512) ceil(L / table) tasks, less than
    # L^2 / (512 table) + L / 512 + L / table + 1; and L is at most sqrt(2 m).
    longest = math.isqrt(2 * edges) + 1
    tasks = edges * (longest // _TASK_TABLE + 2) // _TASK_TARGETS
    tasks += edges // _TASK_TABLE + edges // (_MEDIUM_LENGTH + 1) + 4
    return edges // (_SMALL_LENGTH + 1), tasks


def _count(
    device: Device,
    targets: OrientedEdges,
    counts: DeviceCounts,
    sizes: Array,
    lists: tuple[Array, Array],
) -> None:
    medium, large = lists
    count = int(counts.degree.size)
    found, defines = (counts.triangles, counts.links), {}
    if counts.links is not None:
        defines = DIRECTED if counts.both_ways is None else PRODUCTS
    device.launch(
        _SOURCE, "count_small", blocks_for(count, _VERTICES_A_BLOCK), THREADS, *targets,
        np.int64(count), *found, medium, large, sizes, defines=defines,
    )  # fmt: skip
    blocks = _BLOCKS * device.multiprocessors
    for size, listed in (("medium", medium), ("large", large)):
        device.launch(
            _SOURCE, f"count_{size}", blocks, THREADS, *targets, *found, listed, sizes,
            defines=defines,
        )  # fmt: skip
