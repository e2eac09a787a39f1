"""Katz centrality in CUDA: power iteration over sliced rows; the device tests for convergence.

In the first step all values are 0, in the second all are ``beta``: rows are summed up by their
lengths, and what the first changes is known, so one launch makes both (``katz_centrality.cu``). A
later step, or the second by weight, is two launches: one gathers the values of in-neighbors over a
sliced copy of the rows (`slices.py`), one sums up the change. Where few steps are likely, rows
without weights are read where they are instead, in the same order. Launches after the last step
change nothing, so the host starts as many as the fall of the residual makes likely before it looks,
and after them what the values become.

Values are those of the host twin up to the order of sums, which is fixed on either side.
"""

from typing import Final, NamedTuple

import numpy as np

from ....algorithms.centrality.katz_centrality import LEAST_NORM, MOST_NORM, normalize
from ....rows import Adjacencies, Rows
from ...device.declarations import constant, structure, words_of
from ...device.device import Array, Device
from ...device.packed_arguments import address, pack
from ...device.stream_words import words_of_stream
from ...memory.scratch import DeviceScratch
from ...memory.workspace import Workspace
from ..parts.compact_rows import THREADS, blocks_for, bytes_of
from ..parts.hubs.hub_cache import NO_CACHE, fits_cache, hub_cache, hub_cache_bytes
from ..parts.slices import Slices, in_slices, in_slices_bytes
from ..parts.steps_ahead import steps_to

_SOURCE: Final = "katz_centrality.cu"

_MEASURED: Final = constant(_SOURCE, "MEASURED")
_IN_PLACE_THREADS: Final = constant(_SOURCE, "IN_PLACE_THREADS")
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
    if not adjacencies.out.num_vertices:
        values = device.empty(count, np.float64)
        values.fill(0)
        return values, 0, 0.0
    measuring, words = blocks_for(count, _MEASURED), words_of(_STATE)
    ahead = _first_steps(adjacencies.out, alpha, beta, threshold)
    # Entries of a row in place lie side by side.
    is_spaced = adjacencies.into is not None and adjacencies.into.step > 1
    in_place = ahead <= _IN_PLACE_STEPS and not (weighted or is_spaced)
    in_place = in_place and fits_cache(device, count)
    need = in_slices_bytes(device, adjacencies, weighted=weighted, in_place=in_place)
    need += bytes_of((2 * count + 2 * measuring, np.float64), (words, np.uint64))
    need += hub_cache_bytes(device) if in_place else 0
    with workspace.scratch(need) as scratch:
        rows = in_slices(device, scratch, adjacencies, weighted=weighted, in_place=in_place)
        # Values after steps of even and of odd numbers.
        vectors = scratch.reserve(8 * count), scratch.reserve(8 * count)
        sums, state = scratch.reserve(16 * measuring), scratch.take(words, np.uint64)
        pull = (
            _pull_in_place(device, scratch, adjacencies.out)
            if in_place
            else _pull_slices(rows, weighted=weighted)
        )
        before = rows.arguments + rows.chunk_sums + pack(rows.indices, alpha, beta)
        measured = pack(float(threshold), sums, address(state), words_of_stream(device).ticket)
        # The first step gives each vertex beta. By weight, a row of equal values is summed up no
        # sooner than any other.
        change = abs(beta) * adjacencies.out.num_vertices
        is_first = weighted or max_iter == 1 or change < threshold
        common, before_alike = (0.0, 0) if is_first else (beta, 1)
        launched = before_alike + 1
        device.launch_packed(
            _SOURCE, "step_alike", measuring, THREADS,
            pack(
                rows.lengths, count, alpha, beta, common, before_alike,
                vectors[launched % 2], vectors[before_alike % 2],
            ) + pull.cache + measured,
        )  # fmt: skip

        def launch(step: int) -> None:
            x, following = vectors[(step - 1) % 2], vectors[step % 2]
            device.launch_packed(
                _SOURCE, pull.kernel, pull.blocks, pull.threads,
                before + pack(x, following, address(state)) + pull.arguments,
                shared_bytes=pull.shared_bytes,
            )  # fmt: skip
            device.launch_packed(
                _SOURCE, "measure_step", measuring, THREADS,
                pack(x, following, count) + pull.cache + measured,
            )  # fmt: skip

        last, values = min(ahead, max_iter), None
        while True:
            for step in range(launched + 1, last + 1):
                launch(step)
            launched = last
            if values is None:  # the device has steps to make meanwhile
                values = device.empty(count, np.float64)
            device.launch_packed(
                _SOURCE, "end_values", blocks_for(count), THREADS,
                pack(
                    *vectors, count, launched == max_iter, normalized, LEAST_NORM, MOST_NORM,
                    address(state), address(values),
                ),
            )  # fmt: skip
            [read] = device.read_words(state).view(_STATE)
            residual = float(read["residual"])
            if read["ended"] or launched == max_iter:
                if normalized and not LEAST_NORM < float(read["norm"]) < MOST_NORM:
                    normalize(values)
                return values, int(read["steps"]), residual
            steps = steps_to(threshold, residual, float(read["previous"]), unknown=_UNKNOWN_STEPS)
            last = min(launched + _at_most(steps), max_iter)


class _Pull(NamedTuple):
    """The launch that gathers the values of in-neighbors, one of three kernels."""

    kernel: str
    blocks: int
    threads: int
    #: Arguments after those that all three have: weights, or the cache.
    arguments: bytes = b""
    #: Arguments of the hub cache, which the other launches of a step have, too.
    cache: bytes = NO_CACHE
    shared_bytes: int = 0


def _pull_in_place(device: Device, scratch: DeviceScratch, out: Rows) -> _Pull:
    cache, shared_bytes = hub_cache(device, scratch, out.degree)
    blocks = device.multiprocessors
    return _Pull("pull_in_place", blocks, _IN_PLACE_THREADS, cache, cache, shared_bytes)


def _pull_slices(rows: Slices, *, weighted: bool) -> _Pull:
    if not weighted:
        return _Pull("pull_values", rows.blocks, THREADS)
    is_wide = bool(rows.weight_form)
    weights = pack(0 if is_wide else rows.weight, rows.weight if is_wide else 0)
    return _Pull("pull_weighted_values", rows.blocks, THREADS, weights)


def _first_steps(out: Rows, alpha: float, beta: float, threshold: float) -> int:
    """Steps before the first look: one more than if residuals fell as from the first to the second.

    What these two are is known; on graphs with hubs they come to fall more slowly.
    """
    first, second = abs(beta) * out.num_vertices, abs(alpha * beta) * out.num_entries
    return _at_most(3 + steps_to(threshold, second, first, unknown=_UNKNOWN_STEPS))


def _at_most(steps: int) -> int:
    return min(max(steps, 1), _MOST_STEPS)
