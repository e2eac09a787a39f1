"""Katz centrality in CUDA: power iteration over sliced rows; the device tests for convergence.

In the first step all values are 0, in the second all are ``beta``: rows are summed up by their
lengths (``katz_centrality.cu``). A later step, or the second by weight, is two launches: one
gathers the values of in-neighbors over a sliced copy of the rows (`slices.py`), one sums up the
change. Where few steps are likely, rows without weights are read where they are
instead, in the same order. Launches behind the last step change nothing, so the host starts as many
as the fall of the residual makes likely before it looks, and behind them what the values become.

Values are those of the host twin up to the order of sums, which is fixed on either side.
"""

from typing import Final

import numpy as np

from ....rows import Adjacencies, Rows
from ...device.declarations import constant, structure, words_of
from ...device.device import Array
from ...device.packed_arguments import address, pack
from ...device.stream_words import ticket_of
from ...memory.workspace import Workspace
from ..parts.compact_rows import THREADS, blocks_for, bytes_of, zeros
from ..parts.slices import in_slices, in_slices_bytes
from ..parts.steps_ahead import steps_to

_SOURCE: Final = "katz_centrality.cu"

_MEASURED: Final = constant(_SOURCE, "MEASURED")
_STATE: Final = structure(_SOURCE, "State")

#: Steps between two looks, at most and where residuals are no guide. These mostly fall more
#: slowly than they did, so that few launches find nothing to do.
_MOST_STEPS: Final = 64
_UNKNOWN_STEPS: Final = 4
#: Likely steps, the first two among them, up to which rows are read in place.
_IN_PLACE_STEPS: Final = 5


def iterate(
    workspace: Workspace,
    adjacencies: Adjacencies,
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
    device, count = workspace.device, adjacencies.out.count
    values = device.empty(count, np.float64)
    if not adjacencies.out.num_vertices:
        values.fill(0)
        return values, 0, 0.0
    measuring, words = blocks_for(count, _MEASURED), words_of(_STATE)
    ahead = _first_steps(adjacencies.out, alpha, beta, threshold)
    # Entries of a row in place lie side by side.
    is_spaced = adjacencies.into is not None and adjacencies.into.step > 1
    in_place = ahead <= _IN_PLACE_STEPS and not (weighted or is_spaced)
    need = in_slices_bytes(device, adjacencies, weighted=weighted, in_place=in_place)
    need += bytes_of((2 * count + 2 * measuring, np.float64), (words, np.uint64))
    with workspace.scratch(need) as scratch:
        rows = in_slices(device, scratch, adjacencies, weighted=weighted, in_place=in_place)
        # Pulled steps leave absent vertices out, and the first two write all.
        even, odd = zeros(scratch, count, np.float64), scratch.reserve(8 * count)
        vectors = address(even), odd
        sums, state = scratch.reserve(16 * measuring), zeros(scratch, words, np.uint64)
        wide = bool(rows.weight_form)
        weights = pack(0 if wide else rows.weight, rows.weight if wide else 0) if weighted else b""
        kernel = "pull_in_place" if in_place else "pull_values"
        kernel = "pull_weighted_values" if weighted else kernel
        before = rows.arguments + rows.chunk_sums + pack(rows.indices, alpha, beta)
        behind = pack(float(threshold), sums, address(state), address(ticket_of(device)))
        # By weight, a row of equal values is summed up no sooner than any other.
        commons = (0.0,) if weighted else (0.0, beta)

        def launch(step: int) -> None:
            x, following = vectors[(step - 1) % 2], vectors[step % 2]
            if step <= len(commons):
                device.launch_packed(
                    _SOURCE, "step_alike", measuring, THREADS,
                    pack(rows.lengths, count, alpha, beta, commons[step - 1], following) + behind,
                )  # fmt: skip
                return
            device.launch_packed(
                _SOURCE, kernel, rows.blocks, THREADS,
                before + pack(x, following, address(state)) + weights,
            )  # fmt: skip
            device.launch_packed(
                _SOURCE, "measure_step", measuring, THREADS, pack(x, following, count) + behind
            )

        launched = 0
        while True:
            last = min(launched + ahead, max_iter)
            for step in range(launched + 1, last + 1):
                launch(step)
            launched = last
            device.launch_packed(
                _SOURCE, "end_values", blocks_for(count), THREADS,
                pack(
                    *vectors, count, launched == max_iter, normalized, address(state),
                    address(values),
                ),
            )  # fmt: skip
            [told] = device.read_words(state).view(_STATE)
            residual = float(told["residual"])
            if told["ended"] or launched == max_iter:
                return values, int(told["steps"]), residual
            ahead = _at_most(
                steps_to(threshold, residual, float(told["previous"]), unknown=_UNKNOWN_STEPS)
            )


def _first_steps(out: Rows, alpha: float, beta: float, threshold: float) -> int:
    """Steps before the first look: one more than if residuals fell as from the first to the second.

    What these two are is known; on graphs with hubs they come to fall more slowly.
    """
    first, second = abs(beta) * out.num_vertices, abs(alpha * beta) * out.num_entries
    return _at_most(3 + steps_to(threshold, second, first, unknown=_UNKNOWN_STEPS))


def _at_most(steps: int) -> int:
    return min(max(steps, 1), _MOST_STEPS)
