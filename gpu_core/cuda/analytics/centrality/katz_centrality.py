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

from typing import Any, Final, NamedTuple

import numpy as np

from ....algorithms.centrality.katz_centrality import LEAST_NORM, MOST_NORM, normalize
from ....rows import Adjacencies, Rows
from ...device.declarations import constant, structure, words_of
from ...device.device import Array, Device
from ...device.packed_arguments import address, pack
from ...device.stream_words import words_of_stream
from ...grid import THREADS, blocks_for
from ...memory.scratch import DeviceScratch
from ...memory.workspace import Workspace
from ..parts.compact_rows import bytes_of
from ..parts.hubs.hub_cache import NO_CACHE, fits_cache, hub_cache, hub_cache_bytes
from ..parts.slices import Slices, can_be_in_place, in_slices, scratch_for_slices
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
    device, out = workspace.device, adjacencies.out
    if not out.num_vertices:
        zeros = device.empty(out.count, np.float64)
        zeros.fill(0)
        return zeros, 0, 0.0
    ahead = _first_steps(out, alpha, beta, threshold)
    in_place: bool | None = False
    if can_be_in_place(adjacencies, weighted=weighted) and fits_cache(device, out.count):
        in_place = True if ahead <= _IN_PLACE_STEPS else None
    taken = scratch_for_slices(
        workspace, adjacencies, _Steps.bytes_beside_rows(device, out.count),
        weighted=weighted, in_place=in_place,
    )  # fmt: skip
    with taken as (scratch, in_place):
        steps = _Steps(
            device, scratch, adjacencies, (alpha, beta), float(threshold), weighted=weighted,
            in_place=in_place,
        )  # fmt: skip
        # The first step gives each vertex beta. By weight, a row of equal values is summed up no
        # sooner than any other.
        is_first = weighted or max_iter == 1 or abs(beta) * out.num_vertices < threshold
        values: Array | None = None
        launched, last = steps.launch_alike(1 if is_first else 2), min(ahead, max_iter)
        while True:
            for step in range(launched + 1, last + 1):
                steps.launch(step)
            launched = last
            if values is None:  # the device has steps to make meanwhile
                values = device.empty(out.count, np.float64)
            state = steps.end(values, is_last=launched == max_iter, normalized=normalized)
            residual = float(state["residual"])
            if state["ended"] or launched == max_iter:
                if normalized and not LEAST_NORM < float(state["norm"]) < MOST_NORM:
                    normalize(values)
                return values, int(state["steps"]), residual
            more = steps_to(threshold, residual, float(state["previous"]), unknown=_UNKNOWN_STEPS)
            last = min(launched + _at_most(more), max_iter)


def _first_steps(out: Rows, alpha: float, beta: float, threshold: float) -> int:
    """Steps before the first look: one more than if residuals fell as from the first to the second.

    What these two are is known; on graphs with hubs they come to fall more slowly.
    """
    first, second = abs(beta) * out.num_vertices, abs(alpha * beta) * out.num_entries
    return _at_most(3 + steps_to(threshold, second, first, unknown=_UNKNOWN_STEPS))


def _at_most(steps: int) -> int:
    return min(max(steps, 1), _MOST_STEPS)


class _Steps:
    """The launches of steps, and the scratch that they work in.

    Parameters
    ----------
    factors
        ``alpha`` and ``beta``.
    in_place
        Whether rows are read where they are; else in slices.
    """

    @staticmethod
    def bytes_beside_rows(device: Device, count: int) -> int:
        """Bytes of scratch that steps of ``count`` vertices take beside the rows."""
        numbers = 2 * count + 2 * blocks_for(count, _MEASURED)
        need = bytes_of((numbers, np.float64), (words_of(_STATE), np.uint64))
        return need + hub_cache_bytes(device)

    def __init__(
        self,
        device: Device,
        scratch: DeviceScratch,
        adjacencies: Adjacencies,
        factors: tuple[float, float],
        threshold: float,
        *,
        weighted: bool,
        in_place: bool,
    ) -> None:
        self._device, self._factors = device, factors
        count = self._count = adjacencies.out.count
        self._measuring = blocks_for(count, _MEASURED)
        rows = in_slices(device, scratch, adjacencies, weighted=weighted, in_place=in_place)
        self._lengths = rows.lengths
        #: Values after steps of even and of odd numbers.
        self._vectors = scratch.reserve(8 * count), scratch.reserve(8 * count)
        sums = scratch.reserve(16 * self._measuring)
        self._state = scratch.take(words_of(_STATE), np.uint64)
        self._pull = (
            _pull_in_place(device, scratch, adjacencies.out)
            if in_place
            else _pull_slices(rows, weighted=weighted)
        )
        #: Arguments that stand before the vectors of a step, and after them.
        self._rows = rows.arguments + rows.chunk_sums + pack(rows.indices, *factors)
        ticket = words_of_stream(device).ticket
        self._measured = self._pull.cache + pack(threshold, sums, address(self._state), ticket)

    def _of_step(self, step: int) -> tuple[int, int]:
        """Values before and after a step."""
        return self._vectors[(step - 1) % 2], self._vectors[step % 2]

    def launch_alike(self, steps: int) -> int:
        """Make the first step, or the first two, by the lengths of rows; returns ``steps``."""
        alpha, beta = self._factors
        common = 0.0 if steps == 1 else beta
        x, following = self._of_step(steps)
        self._device.launch_packed(
            _SOURCE, "step_alike", self._measuring, THREADS,
            pack(self._lengths, self._count, alpha, beta, common, steps - 1, following, x)
            + self._measured,
        )  # fmt: skip
        return steps

    def launch(self, step: int) -> None:
        """Make a step, which changes nothing after the last one."""
        pull, (x, following) = self._pull, self._of_step(step)
        self._device.launch_packed(
            _SOURCE, pull.kernel, pull.blocks, pull.threads,
            self._rows + pack(x, following, address(self._state)) + pull.arguments,
            shared_bytes=pull.shared_bytes,
        )  # fmt: skip
        self._device.launch_packed(
            _SOURCE, "measure_step", self._measuring, THREADS,
            pack(x, following, self._count) + self._measured,
        )  # fmt: skip

    def end(self, values: Array, *, is_last: bool, normalized: bool) -> Any:
        """Write the values as they are if steps have ended, and wait; returns the ``State``."""
        self._device.launch_packed(
            _SOURCE, "end_values", blocks_for(self._count), THREADS,
            pack(
                *self._vectors, self._count, is_last, normalized, LEAST_NORM, MOST_NORM,
                address(self._state), address(values),
            ),
        )  # fmt: skip
        [state] = self._device.read_words(self._state).view(_STATE)
        return state


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
