"""Random walks in CUDA: one thread a walk; the walks stay in device memory until they are read.

Kernels: ``random_walks.cu``. Sums of weights are added up by a thread a row, from the last entry
to the first as on the host, so that both engines make the same walks: a row of a million entries
takes one thread some ten milliseconds.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from ....rows import Rows
from ...device.device import Array, Device
from ...grid import THREADS, blocks_for
from ...memory.workspace import Workspace
from ..parts.row_arguments import by_width, one_way

_SOURCE: Final = "random_walks.cu"


def walk(
    workspace: Workspace,
    rows: Rows,
    ids: Array | None,
    starts: npt.NDArray[np.uint32],
    length: int,
    *,
    first_word: np.uint64,
    weighted: bool,
    times: Array | None,
) -> tuple[Array, Array]:
    """Walk from each start. Waits for nothing.

    Parameters and what is returned are those of the host twin, ``ids``, ``times`` and the walks on
    the device, ``starts`` in host memory.
    """
    device = workspace.device
    walks = device.empty(starts.size * (length + 1), np.int64)
    lengths = device.empty(starts.size, np.int64)
    arguments = (
        device.to_device(starts), np.int64(starts.size), np.int64(length), ids, first_word, walks,
        lengths,
    )  # fmt: skip
    blocks = blocks_for(starts.size)
    if not weighted and times is None:
        device.launch(_SOURCE, "walk_freely", blocks, THREADS, one_way(rows), *arguments)
    else:
        ordered = _ordered(device, rows, times, weighted=weighted)
        device.launch(_SOURCE, "walk_in_order", blocks, THREADS, rows.indptr, *ordered, *arguments)
    return walks, lengths


def _ordered(
    device: Device, rows: Rows, times: Array | None, *, weighted: bool
) -> tuple[Array, Array | None, Array | None]:
    """Neighbors, times and sums of weights of all entries, within rows by time."""
    targets, weights, xp = rows.columns, rows.weights, device.xp
    assert rows.indptr is not None
    if times is not None:
        with device.errors_named("putting edges in the order of their times"):
            entries = xp.arange(targets.size, dtype=np.int64)
            owner = xp.searchsorted(rows.indptr, entries, side="right")
            order = xp.lexsort(xp.stack([entries, times, owner]))
            targets, times = targets[order], times[order]
            weights = weights[order] if weights is not None and weighted else None
    if not weighted or weights is None:
        return targets, times, None
    sums = device.empty(targets.size, np.float64)
    device.launch(
        _SOURCE, "add_up_rows", blocks_for(rows.count), THREADS, rows.indptr, np.int64(rows.count),
        *by_width(weights), sums,
    )  # fmt: skip
    return targets, times, sums
