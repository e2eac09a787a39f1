"""CUDA twin of maintained triangles: common neighbors of changed edges, by search in equal tiles.

How they are found: `pairs.py`; what is found is added where it is. Kernels:
``maintained_triangles.cu``. The host chooses by the number of look-ups.

Host twin: `host/analytics/maintained/maintained_triangles.py`. Not here: which of a triangle's
changed edges counts it, and when (`algorithms/maintained/maintained_triangles.py`).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ....rows import Rows
from ...device.device import Array
from ...memory.workspace import Workspace
from ..parts.compact_rows import THREADS
from ..parts.pairs import Pairs
from ..parts.pairs import pairs_of as pairs_of  # which is asked of this module
from ..triangles.triangles import DeviceCounts

_SOURCE: Final = "maintained_triangles.cu"

#: Look-ups of a repair in the time that a recount takes for a triangle: on an H200 it
#: takes 65 ps for an entry of G1, G3 and G4, as a look-up does, and 28 ps for a triangle.
LOOK_UPS_A_TRIANGLE = 0.4


def count_pairs(
    workspace: Workspace, rows: Rows, pairs: Pairs, triangles: Array, sign: int
) -> None:
    """Add ``sign`` for each triangle that has one of the edges, once, to each of its corners."""
    workspace.device.launch(
        _SOURCE, "count_common", pairs.blocks, THREADS, *pairs.listed, *rows.walked,
        np.int64(sign), triangles,
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
