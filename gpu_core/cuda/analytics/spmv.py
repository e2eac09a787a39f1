"""Sparse matrix-vector product in CUDA: one warp a row, without a copy of the rows.

Kernel: ``spmv.cu``. A row of a million entries is the work of one warp; a product reads each entry
once, so a copy that shares hubs out (`slices.py`) would cost more than it saves.
"""

from typing import Final

import numpy as np

from ...rows import Adjacencies
from ..device.device import Array
from ..grid import THREADS, WARP, blocks_for
from ..memory.workspace import Workspace
from .parts.compact_rows import in_rows, in_rows_bytes
from .parts.row_arguments import with_weights

_SOURCE: Final = "spmv.cu"


def multiply(
    workspace: Workspace,
    adjacencies: Adjacencies,
    x: Array,
    *,
    transpose: bool,
    weighted: bool,
) -> Array:
    """float64[vertex_count] on the device: ``A x``, or ``A^T x``; 0 for absent vertices.

    Parameters are those of the host twin, ``x`` on the device. Waits for nothing.
    """
    device = workspace.device
    y = device.empty(adjacencies.out.count, np.float64)
    stored = adjacencies.into if transpose else adjacencies.out
    need = in_rows_bytes(device, adjacencies, weighted=weighted) if stored is None else 0
    with workspace.scratch(need) as scratch:
        rows = (
            in_rows(device, scratch, adjacencies, weighted=weighted) if stored is None else stored
        )
        device.launch(
            _SOURCE, "multiply_rows", blocks_for(rows.count * WARP), THREADS,
            with_weights(rows, weighted=weighted), np.int64(rows.count), x, y,
        )  # fmt: skip
    return y
