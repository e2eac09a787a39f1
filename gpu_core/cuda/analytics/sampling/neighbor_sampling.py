"""Neighbor sampling in CUDA: one thread for each vertex that is expanded.

Kernels: ``neighbor_sampling.cu``. By weight or time a thread reads all of its row: a hub of a
million entries takes one thread tens of milliseconds.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ....algorithms.sampling.neighbor_sampling import ALL, Hop, packed
from ....rows import Rows
from ...memory.workspace import Workspace
from ..parts.compact_rows import THREADS, blocks_for

_SOURCE: Final = "neighbor_sampling.cu"


def sample(
    workspace: Workspace, rows: Rows, hop: Hop
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Sample the rows of a hop. Waits.

    Parameters and what is returned, in host memory, are those of the host twin.
    """
    device, size = workspace.device, int(hop.slots[-1])
    found = device.empty(size, np.uint32)
    counts = device.empty(hop.frontier.size, np.int64)
    drawn = (
        device.to_device(hop.frontier), device.to_device(hop.slots), np.int64(hop.frontier.size),
        hop.first_word, np.uint32(hop.replace),
    )  # fmt: skip
    blocks = blocks_for(hop.frontier.size)
    if not hop.weighted and hop.seen is None:
        device.launch(_SOURCE, "sample_alike", blocks, THREADS, *rows.walked, *drawn, found, counts)
    else:
        weights = rows.weights if hop.weighted else None
        is_wide = weights is not None and weights.itemsize == 8
        seen, out = hop.seen, None if hop.seen is None else hop.seen.out
        device.launch(
            _SOURCE, "sample_chosen", blocks, THREADS, *rows.walked, None if is_wide else weights,
            weights if is_wide else None, None if weights is None else rows.weight_begin,
            None if seen is None else seen.times.indptr,
            None if seen is None else seen.times.values,
            None if seen is None else device.to_device(seen.bounds),
            *((None, None, None, np.int64(1)) if out is None else out.walked),
            *drawn, np.uint32(hop.fanout == ALL), device.empty(size, np.float64), found, counts,
        )  # fmt: skip
    filled = device.to_host(counts)
    return packed(device.to_host(found), hop.slots, filled), filled
