"""Common neighbors in CUDA, by the search of `pairs.py`.

Kernel: ``common_neighbors.cu``.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ....rows import Rows
from ...memory.workspace import Workspace
from ..parts.compact_rows import THREADS
from ..parts.pairs import pairs_of

_SOURCE: Final = "common_neighbors.cu"

UInt32s = npt.NDArray[np.uint32]


def count_common(
    workspace: Workspace, rows: Rows, sources: UInt32s, targets: UInt32s
) -> npt.NDArray[np.int64]:
    """int64[k] in host memory: neighbors that both vertices of each pair have. Waits.

    Parameters
    ----------
    rows
        Of one direction.
    sources, targets
        uint32[k] in host memory: vertex indices.
    """
    device = workspace.device
    if not sources.size:
        return np.empty(0, np.int64)
    keys = device.to_device(sources.astype(np.uint64) << np.uint64(32) | targets)
    pairs = pairs_of(workspace, rows, keys)
    counts = device.empty(sources.size, np.uint64)
    counts.fill(0)
    device.launch(
        _SOURCE, "count_shared", pairs.blocks, THREADS, *pairs.listed, *rows.walked, counts
    )
    return device.to_host(counts).view(np.int64)
