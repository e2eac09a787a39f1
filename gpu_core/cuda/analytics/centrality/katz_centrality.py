"""CUDA twin of Katz centrality: steps pulled over slices of in-neighbors, ended by the device.

A step is two launches (``katz_centrality.cu``): one gathers the values of in-neighbors over a copy
of the rows made for that (`slices.py`), one measures what it has changed. Launches behind the last
step change nothing, so the host starts some before it looks.

Values are those of the host twin up to the order of sums, which is fixed on either side.
"""

from typing import Final

import numpy as np

from ....rows import Adjacencies
from ...device.device import Array
from ...device.packed_arguments import address, pack
from ...device.stream_words import ticket_of
from ...memory.workspace import Workspace
from ..parts.compact_rows import THREADS, blocks_for, bytes_of, zeros
from ..parts.slices import in_slices, in_slices_bytes

_SOURCE: Final = "katz_centrality.cu"

#: Twin of the constant of ``katz_centrality.cu``.
_MEASURED: Final = 4096

#: Twin of ``State`` in ``katz_centrality.cu``.
STATE_DTYPE: Final = np.dtype(
    [
        ("steps", np.int64),
        ("ended", np.int64),
        ("residual", np.float64),
        ("norm", np.float64),
    ]
)
#: Steps that are started before the host looks.
_STEPS: Final = 4


def iterate(
    workspace: Workspace,
    sides: Adjacencies,
    *,
    alpha: float,
    beta: float,
    threshold: float,
    max_iter: int,
    normalized: bool,
    weighted: bool,
) -> tuple[Array, int, float]:
    """Make steps until one changes the values by less than ``threshold``, or ``max_iter`` of them.

    Parameters and what is returned are those of the host twin, the values float64[vertex_count] on
    the device. Waits for it.
    """
    device, count = workspace.device, sides.out.count
    vectors = device.empty(count, np.float64), device.empty(count, np.float64)
    for vector in vectors:
        vector.fill(0)
    if not count:
        return vectors[0], 0, 0.0
    measuring, words = blocks_for(count, _MEASURED), STATE_DTYPE.itemsize // 8
    need = in_slices_bytes(device, sides, weighted=weighted)
    need += bytes_of((2 * measuring, np.float64), (words, np.uint64))
    with workspace.scratch(need) as scratch:
        rows = in_slices(device, scratch, sides, weighted=weighted)
        sums, state = scratch.place(16 * measuring), zeros(scratch, words, np.uint64)
        wide = bool(rows.weight_form)
        weights = pack(0 if wide else rows.weight, rows.weight if wide else 0) if weighted else b""
        kernel = "pull_weighted_values" if weighted else "pull_values"
        before = rows.arguments + rows.chunk_sums + pack(rows.indices, alpha, beta)
        behind = pack(sums, address(state), address(ticket_of(device)))

        def launch(step: int) -> None:
            x, following = address(vectors[(step - 1) % 2]), address(vectors[step % 2])
            device.launch_packed(
                _SOURCE, kernel, rows.blocks, THREADS,
                before + pack(x, following, address(state)) + weights,
            )  # fmt: skip
            device.launch_packed(
                _SOURCE, "measure_step", measuring, THREADS,
                pack(x, following, count, float(threshold)) + behind,
            )  # fmt: skip

        launched = 0
        while True:
            steps = range(launched + 1, min(launched + _STEPS, max_iter) + 1)
            for step in steps:
                launch(step)
            launched = steps[-1]
            [told] = device.read_words(state).view(STATE_DTYPE)
            if told["ended"] or launched == max_iter:
                break
    values, iterations = vectors[int(told["steps"]) % 2], int(told["steps"])
    norm, residual = float(told["norm"]), float(told["residual"])
    if normalized and 0 < norm < np.inf:
        device.launch(
            _SOURCE, "divide_values", blocks_for(count), THREADS, np.int64(count),
            np.float64(norm), values,
        )  # fmt: skip
    return values, iterations, residual
