"""Common neighbors in CUDA, by the search of `parts/pairs.py`.

Kernel: ``common_neighbors.cu``.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ....rows import Rows
from ...grid import THREADS, blocks_for
from ...memory.workspace import Workspace
from ..parts.pairs import pairs_of_lengths
from ..parts.row_arguments import one_way

_SOURCE: Final = "common_neighbors.cu"

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]


def count_common(workspace: Workspace, rows: Rows, pairs: UInt32s) -> tuple[Int64s, Int64s]:
    """As of the host twin, in host memory. Waits."""
    device, count = workspace.device, pairs.shape[1]
    if count == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    keys, shared = device.empty(count, np.uint64), device.empty(2 * count, np.uint64)
    shorter = device.empty(count, np.uint32)
    device.launch(
        _SOURCE, "measure_pairs", blocks_for(count), THREADS, *device.to_device(pairs),
        np.int64(count), rows.degree, keys, shorter, shared,
    )  # fmt: skip
    measured = pairs_of_lengths(workspace, keys, shorter)
    device.launch(
        _SOURCE, "count_shared", measured.blocks, THREADS, *measured.listed, one_way(rows), shared
    )
    common, lengths = device.to_locked_host(shared).view(np.int64).reshape(2, count)
    return common, lengths
