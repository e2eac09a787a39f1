"""CUDA twin of maintained triangles: common neighbors of changed edges, by search in equal tiles.

The shorter row of each edge is read, and each of its entries looked for in the longer one by binary
search; what is found is added where it is. The entries of all shorter rows, put end to end, are cut
into tiles of a block: an edge between two hubs is spread over many. Kernels:
``maintained_triangles.cu``.

The host waits once a step, for the number of look-ups, by which it chooses.

Host twin: `host/analytics/maintained_triangles.py`. Not here: which of a triangle's changed edges
counts it, and when (`algorithms/maintained_triangles.py`).
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ...rows import Rows
from ..device.device import Array
from ..device.sorting import Plain
from ..memory.workspace import Workspace
from .compact_rows import THREADS, blocks_for, measure_rows
from .triangles import DeviceCounts

_SOURCE: Final = "maintained_triangles.cu"

#: Look-ups of a repair in the time that a recount takes for a triangle: on an H200 it
#: takes 65 ps for an entry of G1, G3 and G4, as a look-up does, and 28 ps for a triangle.
LOOK_UPS_A_TRIANGLE = 0.4
#: Twin of the constant of ``maintained_triangles.cu``.
_PAIR_ENTRIES: Final = 1024


class Pairs(NamedTuple):
    """Edges of which all triangles are to be counted."""

    #: uint64[k]: as of `gpu_core/changes.py`, increasing.
    keys: Array
    #: int64[k + 1]: entries of the shorter rows before each edge.
    starts: Array
    #: Entries that are looked up: the last of ``starts``.
    work: int


def pairs_of(workspace: Workspace, rows: Rows, keys: Array) -> Pairs:
    """Measure the work of some edges, all of which the rows have."""
    device, count = workspace.device, int(keys.size)
    lengths = device.empty(count, np.uint32)
    device.launch(
        _SOURCE, "shorter_lengths", blocks_for(count), THREADS, keys, np.int64(count),
        rows.degree, lengths,
    )  # fmt: skip
    starts = measure_rows(device, Plain(device), lengths)
    return Pairs(keys, starts, int(device.read_words(starts[count:])[0]))


def count_pairs(
    workspace: Workspace, rows: Rows, pairs: Pairs, triangles: Array, sign: int
) -> None:
    """Add ``sign`` for each triangle that has one of the edges, once, to each of its corners."""
    workspace.device.launch(
        _SOURCE, "count_common", blocks_for(pairs.work, _PAIR_ENTRIES), THREADS, pairs.keys,
        pairs.starts, np.int64(pairs.keys.size), *rows.walked, np.int64(sign), triangles,
    )  # fmt: skip


def resized(workspace: Workspace, triangles: Array, count: int) -> Array:
    """Copy counts, with zeros for vertices that there were not."""
    copied = workspace.device.empty(count, np.uint64)
    copied[: triangles.size] = triangles
    copied[triangles.size :] = 0
    return copied


def counts_of(workspace: Workspace, rows: Rows, triangles: Array) -> DeviceCounts:
    """Counts as `triangles.count_triangles` returns them, of an undirected graph."""
    return DeviceCounts(rows.degree, triangles, None, None)


def from_host(workspace: Workspace, triangles: npt.NDArray[np.int64]) -> Array:
    """Counts of a checkpoint as they are kept here."""
    return workspace.device.to_device(np.array(triangles, np.int64).view(np.uint64))


def to_host(workspace: Workspace, triangles: Array) -> npt.NDArray[np.int64]:
    """int64[vertex_count]: a copy for a checkpoint."""
    return workspace.device.to_host(triangles).view(np.int64)


def total(workspace: Workspace, triangles: Array) -> int:
    """Triangles of the graph."""
    device = workspace.device
    return int(device.read_words(triangles.sum(keepdims=True))[0]) // 3
