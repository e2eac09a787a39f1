"""PageRank in CUDA: power iteration that pulls over in-edges; the device tests for convergence.

::

    G x = alpha (P^T x + m w) + (1 - alpha) p       P = D^-1 A,  m = sum of x over dangling vertices
    x' = G x + b (G x - x_before)                   b = 0 on directed graphs: power iteration

A step is one launch (``pagerank.cu``). It gathers the *shares* ``x[u] / strength[u]`` of
in-neighbors over a copy of the rows made for that (`slices.py`), makes new shares of them, and
adds up the residual, which the next step compares with the threshold. How far steps go beyond plain
ones, b, is planned on the device too, a step ahead (``chebyshev.cuh``). Once the threshold
is reached, launches change nothing: the host launches as many steps as the last fall of the
residual makes likely, and looks while the device goes on.

Ranks are those of the host twin up to the order of sums, which is fixed on either side. Shares are
float64, 8 bytes a vertex and gather, so for up to some 5 million vertices they stay in the L2 cache
of an H100. Of a graph with hubs rows and shares are in an order in which what is gathered most lies
together (`hubs.py`).

Not here: what the vectors mean, when to stop (`algorithms/centrality/pagerank.py`).

Source: see ``pagerank.cu``.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from ....algorithms.shared.pagerank_bound import EXTREME, Rounding
from ....algorithms.shared.surfer import Surfer
from ....rows import Adjacencies, Rows
from ...device.declarations import constant, structure, words_of
from ...device.device import Array, Device
from ...device.packed_arguments import address, pack
from ...device.pending_read import PendingReport, done_when_broken_off
from ...grid import THREADS, blocks_for
from ...memory.scratch import DeviceScratch
from ...memory.workspace import Workspace
from ..parts.compact_rows import bytes_of, weight_bytes
from ..parts.hubs.hubs import NO_HUBS, Hubs, hubs_bytes
from ..parts.slices import (
    Slices,
    can_be_in_place,
    in_slices,
    scratch_for_slices,
    slices,
    slices_bytes,
)
from ..parts.steps_ahead import steps_to
from .kept_ranks import KeptRanks
from .pagerank_start import start_of, start_of_same

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]
Vector = npt.NDArray[np.float64]

_SOURCE: Final = "pagerank.cu"

_SLOTS: Final = constant(_SOURCE, "SLOTS")
_FIXED_ONE: Final = float(constant(_SOURCE, "FIXED_ONE"))
_ADDITION: Final = float(constant(_SOURCE, "ADDITION"))
_STATE: Final = structure(_SOURCE, "State")
_REPORT: Final = structure(_SOURCE, "Report")

#: Threads of a block of ``pull_with_hubs``, of which a multiprocessor holds one.
_HUB_THREADS: Final = constant(_SOURCE, "HUB_THREADS")

#: Steps before the host looks for the first time, and at most between two looks: residuals come to
#: fall faster than they did.
_FIRST_STEPS: Final = 5
_MOST_STEPS: Final = 8


def out_strengths(workspace: Workspace, out: Rows, *, weighted: bool) -> Array:
    """Number of out-edges of each vertex, or the sum of their weights.

    Returns
    -------
    strengths : uint32[vertex_count] or, ``weighted``, float64[vertex_count], on the device
        NaN where a weight is negative, and where they add up to infinity or, unless to 0, to less
        than `LEAST_STRENGTH`. (A batch takes finite weights only.) 0 of absent vertices.
    """
    if not weighted:
        return out.degree
    device = workspace.device
    strengths = device.xp.zeros(out.count, np.float64)  # of absent vertices, which have no rows
    bytes_each = weight_bytes(out, weighted=True)
    need = slices_bytes(out.count, out.num_entries, weight_bytes=bytes_each)
    with workspace.scratch(need) as scratch:
        rows = slices(device, scratch, out, weighted=True)
        device.launch_packed(
            _SOURCE, "sum_weights", rows.blocks, THREADS,
            rows.arguments + rows.chunk_sums + pack(rows.weight, address(strengths)),
            rows.weight_form,
        )  # fmt: skip
    return strengths


def refused_sources(workspace: Workspace, strengths: Array) -> Int64s:
    """Vertex indices whose strength is NaN; waits for the device."""
    xp = workspace.device.xp
    return workspace.device.to_host(xp.flatnonzero(xp.isnan(strengths)))


def start_at_kept(
    workspace: Workspace, out: Rows, ids: Array | None, kept: object, alpha: float
) -> Array | None:
    """Start from ranks of an earlier result that are still here; see `pagerank_start.py`.

    ``alpha``: damping; 0: degrees do not count.

    Returns
    -------
    start : float64[vertex_count] on the device, or None
        None where a vertex of the result has left its index, so that indices do not tell which
        vertices are the same, and where the result is not of this engine.
    """
    if not isinstance(kept, KeptRanks) or (ids is None) != (kept.ids is None):
        return None
    degrees = kept.degrees if alpha > 0 else None
    return start_of_same(workspace, out, kept.ranks, degrees, kept.ids, ids, alpha=alpha)


def start_from(
    workspace: Workspace, out: Rows, ranks: Vector, degrees: UInt32s | None, alpha: float
) -> Array:
    """A start from earlier ranks by vertex index, in host memory; see `pagerank_start.start_of`."""
    device = workspace.device
    arrays = (None if each is None else device.to_device(each) for each in (ranks, degrees))
    return start_of(workspace, out, *arrays, alpha=alpha)


def start_at(
    workspace: Workspace, out: Rows, kept: KeptRanks | None, alpha: float
) -> tuple[Array, Vector]:
    """As `start_at_kept`, but by index, whichever vertex was there then; waits for nothing.

    ``kept`` None: the start goes by degrees alone. With it come two numbers that the device writes:
    the rank of a vertex without edges, and what each edge adds to it, 0 where degrees say nothing
    of ranks.
    """
    estimate: Vector = workspace.device.page_locked(2, np.float64)
    ranks, degrees = (None, None) if kept is None else (kept.ranks, kept.degrees)
    start = start_of(workspace, out, ranks, degrees, alpha=alpha, estimate=estimate.ctypes.data)
    return start, estimate


def kept_at(
    workspace: Workspace, ids: Array | None, ranks: Vector, degrees: UInt32s | None
) -> KeptRanks:
    """Ranks by vertex index, 0 of absent vertices, as `iterate` would have kept them.

    ``degrees``: uint32[vertex_count], of the graph that they are of; None: not known.
    """
    device, was_there = workspace.device, ranks > 0
    if degrees is not None:
        # Steps beyond plain ones may leave a vertex no rank.
        was_there |= degrees > 0
    kept = device.to_device(np.where(was_there, ranks, -1.0))
    found = KeptRanks(device, kept, None if ids is None else ids.copy())
    found.degrees = None if degrees is None else device.to_device(degrees)
    return found


def iterate(
    workspace: Workspace,
    adjacencies: Adjacencies,
    ids: Array | None,
    surfer: Surfer,
    start: "Vector | Array | None",
    *,
    most_radius: float,
    threshold: float,
    max_iter: int,
) -> tuple[KeptRanks, int, float, Callable[[], Rounding]]:
    """Make steps until the residual is at most ``threshold``, or ``max_iter`` of them.

    Parameters
    ----------
    adjacencies
        Rows that are read.
    ids
        int64[vertex_count], users' ids by index; None: they are the indices.
    surfer
        With strengths on the device, other vectors in host memory.
    start
        float64[vertex_count] with sum 1, 0 for absent vertices: ``x``. None: by degrees, where
        these say something of the ranks (`pagerank_start.py`), or the same for all present
        vertices.
    most_radius
        Bound of the radius by which steps go beyond plain ones (``chebyshev.cuh``); 0: none
        does.
    threshold, max_iter
        When to stop.

    Returns
    -------
    ranks, iterations, residual
        Steps made, and the L1 residual of the last of them.
    rounding
        Gives what is known of the rounding of that step; waits for the device.
    """
    device, count, weighted = workspace.device, adjacencies.out.count, surfer.weighted
    if start is None and most_radius > 0 and surfer.is_even:
        start = start_of(workspace, adjacencies.out, None, None, alpha=surfer.alpha)
    more = hubs_bytes(count) + bytes_of((2 * count, np.float64), (words_of(_STATE), np.uint64))
    # A copy is soon worth its time; without the memory for it, rows are read where they are.
    in_place = None if can_be_in_place(adjacencies, weighted=weighted) else False
    taken = scratch_for_slices(workspace, adjacencies, more, weighted=weighted, in_place=in_place)
    with taken as (scratch, in_place), done_when_broken_off(device):
        # Of an undirected graph the lengths of the rows that are pulled are the degrees.
        degrees = surfer.strengths if adjacencies.directed or weighted else None
        hubs = None if weighted or in_place else Hubs(device, scratch, adjacencies.out)
        if hubs is not None:
            hubs.choose(adjacencies.out.num_entries)
        rows = in_slices(
            device, scratch, adjacencies, weighted=weighted, hubs=hubs, in_place=in_place
        )
        read = surfer._replace(strengths=degrees)
        iteration = Iteration(device, scratch, adjacencies.out, rows, hubs, read, start)
        iterations, residual = iteration.run(most_radius, threshold, max_iter)
        found = iteration.rounding
        kept = KeptRanks(device, iteration.ranks, None if ids is None else ids.copy())
        kept.first_residual, kept.hubs = iteration.first_residual, iteration.hub_count
        if surfer.is_even and not adjacencies.directed:
            # An array of its own, also of live rows: no batch writes to it.
            kept.degrees = adjacencies.out.degree

    def rounding() -> Rounding:
        additions, is_extreme = device.to_host(found).tolist()
        return Rounding(additions / _ADDITION, 0, count / _FIXED_ONE, bool(is_extreme))

    return kept, iterations, residual, rounding


class Iteration:
    """The state between two steps; arguments as of `iterate`, and rows in scratch."""

    def __init__(
        self,
        device: Device,
        scratch: DeviceScratch,
        out: Rows,
        rows: Slices,
        hubs: Hubs | None,
        surfer: Surfer,
        start: "Vector | Array | None",
    ) -> None:
        self._device, self._rows, self._hubs = device, rows, hubs
        self._entries = out.num_entries
        #: Of the first step, and how many hubs there are, after `run`.
        self.first_residual, self.hub_count = np.inf, 0
        uniform, strengths = 1.0 / out.num_vertices, surfer.strengths
        begin = None if start is None else self._device.xp.asarray(start)
        jump = landing = _upload(self._device, surfer.teleport)
        if surfer.dangling is not surfer.teleport:
            landing = _upload(self._device, surfer.dangling)
        #: Arrays whose addresses are in the launches.
        self._held = strengths, begin, jump, landing
        #: Shares after steps of even and of odd numbers.
        self._shares = scratch.reserve(8 * rows.rows), scratch.reserve(8 * rows.rows)
        hub_arguments = NO_HUBS if hubs is None else hubs.arguments
        #: Arguments of a step before and after those that differ from step to step.
        self._before = rows.arguments + rows.chunk_sums
        if rows.weight:
            degrees, weighted = 0, address(strengths)
            self._before += pack(rows.indices, rows.weight, weighted)
        else:
            degrees, weighted = address(strengths) or rows.lengths, 0
            self._before += pack(rows.indices, degrees)
        self._before += pack(address(jump), address(landing), uniform, float(surfer.alpha))
        state = scratch.reserve(8 * words_of(_STATE))
        device.fill_bytes(state, 8 * words_of(_STATE), 0)
        self._report = self._device.page_locked(words_of(_REPORT), np.uint64)
        self._after = pack(state, self._report.ctypes.data)
        ranks = pack(rows.lengths, rows.rows, degrees, weighted)
        self._device.launch_packed(
            _SOURCE, "begin_ranks", blocks_for(rows.rows), THREADS,
            ranks + pack(address(begin), uniform) + hub_arguments
            + pack(self._shares[0], state),
            rows.weight_form,
        )  # fmt: skip
        # By weight, weights were added up for the strength of each vertex.
        added = pack(rows.lengths, rows.rows, address(out.degree) if rows.weight else 0, weighted)
        #: Arguments of the kernels at the end before those of what they write.
        self._ending = (
            ranks + hub_arguments + pack(*self._shares) + self._after, added + hub_arguments
        )  # fmt: skip

    # Made while the device has steps to make.
    @cached_property
    def ranks(self) -> Array:
        """float64[vertex_count], after `run`; negative: the vertex is absent."""
        return self._device.empty(self._rows.rows, np.float64)

    @cached_property
    def rounding(self) -> Array:
        """uint64[2], after `run`: entries times rank of all vertices; is a strength extreme."""
        return self._device.empty(2, np.uint64)

    def run(self, most_radius: float, threshold: float, max_iter: int) -> tuple[int, float]:
        """Make steps until the residual is at most ``threshold``, or ``max_iter`` of them.

        Returns the number of steps and the last residual.
        """
        self._choose_kernel()
        entries = float(self._entries)
        going_on = pack(float(threshold), float(most_radius), entries)
        # The last step that is allowed is a plain one, as whatever ends the iteration is.
        stopping = pack(float(threshold), 0.0, entries)

        def launch(first: int, last: int) -> int:
            for step in range(first, last + 1):
                self._launch_step(step, stopping if step == max_iter else going_on)
            return max(first - 1, last)

        launched, aim = 0, min(_FIRST_STEPS, max_iter)
        # Whether the step that is looked at may be the last one.
        is_end = True
        while True:
            launched = launch(launched + 1, min(aim + 1, max_iter))
            is_last = launched == max_iter
            if is_last:
                self._launch_end()
            look = PendingReport(self._device, self._report)
            if not is_last:
                # While the host looks, the device has something to do: one more step, or the end.
                launched = launch(launched + 1, min(aim + 2, max_iter))
                if is_end:
                    self._launch_end()
            report = look.wait().view(_REPORT)[0]
            # In this order: steps that go on write to other slots.
            made = int(report["steps"])
            residual, previous = (
                float(report["residual"][step % _SLOTS]) / _FIXED_ONE for step in (made, made - 1)
            )
            self.first_residual = float(report["first"]) / _FIXED_ONE
            if made in (report["last_step"], max_iter):
                if not (is_last or is_end):
                    self._launch_end()
                return made, residual
            steps = steps_to(threshold, residual, previous, unknown=_FIRST_STEPS)
            is_end = steps <= _MOST_STEPS
            aim = min(max(made + min(steps, _MOST_STEPS), aim + 1), max_iter)

    def _choose_kernel(self) -> None:
        """Find out whether there are hubs, and take the kernel that is made for that."""
        hubs, rows = self._hubs, self._rows
        self._hub_arguments = b""
        self._shared_bytes = 0
        self._blocks, self._threads = rows.blocks, THREADS
        self._kernel = "pull_in_place" if rows.in_place else "pull"
        if rows.weight:
            self._kernel = "pull_weighted"
        self.hub_count = hubs.wait() if hubs else 0
        if hubs is None or self.hub_count == 0:
            return
        self._kernel, self._shared_bytes = "pull_with_hubs", 8 * self.hub_count
        self._blocks, self._threads = self._device.multiprocessors, _HUB_THREADS
        self._hub_arguments = hubs.arguments

    def _launch_step(self, step: int, limits: bytes) -> None:
        shares, next_shares = self._shares[(step - 1) % 2], self._shares[step % 2]
        self._device.launch_packed(
            _SOURCE, self._kernel, self._blocks, self._threads,
            self._before + limits + pack(step, shares, next_shares) + self._after
            + self._hub_arguments,
            self._rows.weight_form,
            shared_bytes=self._shared_bytes,
        )  # fmt: skip

    def _launch_end(self) -> None:
        """Find the ranks and their rounding; of no use where a step is still to be made."""
        device, form = self._device, self._rows.weight_form
        blocks, (end, added) = blocks_for(self._rows.rows), self._ending
        device.launch_packed(
            _SOURCE, "end_ranks", blocks, THREADS, end + pack(address(self.ranks)), form
        )
        device.fill_bytes(address(self.rounding), self.rounding.nbytes, 0)
        device.launch_packed(
            _SOURCE, "add_roundings", blocks, THREADS,
            added + pack(address(self.ranks), EXTREME, address(self.rounding)), form,
        )  # fmt: skip


def _upload(device: Device, vector: Vector | None) -> Array | None:
    return None if vector is None else device.to_device(vector)
