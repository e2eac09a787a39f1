"""PageRank after a small change in CUDA: residuals of earlier ranks, pushed until they are small.

Residuals of live ranks have followed the batch (`residual_repair.py`). Else they are computed from
nothing, by one pass over the rows where they lie: the same ones, as all are whole numbers. Then
rounds: all vertices are looked at, and those with large residuals push them to their out-neighbors.
Where residuals lie all over the graph, all vertices make a step, and the next residuals are
computed from nothing: that round is *pulled*. When it is all given up:
`algorithms/maintained/pushing.py`. Kernels: ``pushed_ranks.cu``.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ....algorithms.maintained.pagerank_residuals import ResidualTotals
from ....algorithms.maintained.pushing import PushedRanks, PushLimits
from ....algorithms.shared.adjacencies import adjacencies_of
from ....rows import Adjacencies, Rows
from ...device.compile import SHAPE_DTYPE
from ...device.declarations import constant, structure, words_of
from ...device.device import Array
from ...device.packed_arguments import address, pack
from ...device.pending_read import done_when_broken_off
from ...grid import THREADS
from ...memory.workspace import Workspace
from ...update.state import UpdatableGraph
from ..centrality.kept_ranks import KeptRanks
from ..parts.compact_rows import bytes_of
from ..parts.hubs.hub_cache import NO_CACHE, HubCache, fits_cache, hub_cache, hub_cache_bytes
from ..parts.slices import in_slices, in_slices_bytes
from .residual_repair import STATE, WHOLE, KeptResiduals, degrees_after, earlier_of, image_of

__all__ = ["WHOLE", "audited", "can_push", "push", "push_repaired"]

Int64s = npt.NDArray[np.int64]

_SOURCE: Final = "pushed_ranks.cu"

_PULL_BLOCKS: Final = constant(_SOURCE, "PULL_BLOCKS")
_CACHED_PULL_THREADS: Final = constant(_SOURCE, "CACHED_PULL_THREADS")
_BEGIN_BLOCKS: Final = constant(_SOURCE, "BEGIN_BLOCKS")
_BEGIN_THREADS: Final = constant(_SOURCE, "BEGIN_THREADS")
_ROUND_BLOCKS: Final = constant(_SOURCE, "ROUND_BLOCKS")
_ROUND_THREADS: Final = constant(_SOURCE, "ROUND_THREADS")
_PART: Final = constant(_SOURCE, "PART")
_ITEM: Final = structure(_SOURCE, "Item")
_IS_DONE: Final = constant(_SOURCE, "IS_DONE")
_NEEDS_PULL: Final = constant(_SOURCE, "NEEDS_PULL")

#: Vertices and entries pushed in one round at most, and in all of them, as shares of the graph's
#: entries: an atomic operation takes as long as two or three entries of a pull.
_MOST_PUSHED: Final = 1 / 4
_MOST_WORK: Final = 3
#: Rounds at most: a few vertices that pass residuals to and fro have many.
_MOST_SELECTIONS: Final = 128
#: Pulls that are started together where more were needed than before.
_MORE_PULLS: Final = 2


def can_push(adjacencies: Adjacencies) -> bool:
    """Whether there are rows of in-neighbors whose entries lie side by side."""
    return adjacencies.into is not None and adjacencies.into.step == 1


def push(
    workspace: Workspace,
    adjacencies: Adjacencies,
    ids: Array | None,
    earlier: KeptRanks,
    *,
    alpha: float,
    limits: PushLimits,
) -> PushedRanks | None:
    """Push residuals of earlier ranks, which are computed from nothing; waits for the device.

    Parameters
    ----------
    adjacencies
        Of a graph with a vertex, for which `can_push` is true.
    ids
        int64[vertex_count], users' ids by index; None: they are the indices.
    earlier
        By vertex index.

    Returns
    -------
    PushedRanks
        None where it would take too long.
    """
    device, out = workspace.device, adjacencies.out
    graph = _Size(adjacencies.directed, out.count, out.num_vertices, out.num_entries)
    with ExitStack() as taken, done_when_broken_off(device):
        residuals = KeptResiduals(device, out.count)
        rounds = _Rounds(workspace, taken, graph, residuals, alpha)
        pulls = _begun(workspace, taken, adjacencies, earlier, rounds)
        rounds.start(_live_or_pinned(out), limits, most_selections=_MOST_SELECTIONS)
        return rounds.end(earlier, ids, lambda: pulls)


def push_repaired(
    graph: UpdatableGraph,
    ids: Array | None,
    earlier: KeptRanks,
    residuals: KeptResiduals,
    *,
    alpha: float,
    limits: PushLimits,
) -> PushedRanks | None:
    """As `push`, by residuals that have followed the batch, which are written."""
    device, workspace, arena = graph.device, graph.workspace, graph.arena
    size = _Size(graph.directed, residuals.count, graph.num_vertices, arena.num_entries)
    with ExitStack() as taken, done_when_broken_off(device):
        rounds = _Rounds(workspace, taken, size, residuals, alpha)
        shape = arena.shape("out")
        image = image_of(graph, shape)
        # Residuals are measured first, which `push` learns from its pull.
        rounds.start(
            pack(0, 0) + image[:8] + pack(shape.entry_step) + image[8:], limits,
            most_selections=_MOST_SELECTIONS + 1,
        )  # fmt: skip
        degrees = earlier.degrees
        if degrees is not None and not earlier.pulls:
            # While the device has the rounds to do.
            degrees = degrees_after(device, image, residuals, degrees)
        found = rounds.end(
            earlier, ids,
            lambda: _Pulls(workspace, taken, adjacencies_of(graph), earlier.hubs, rounds),
        )  # fmt: skip
    if found is not None and not earlier.pulls:
        found.ranks.degrees = degrees
    return found


def audited(
    workspace: Workspace,
    adjacencies: Adjacencies,
    earlier: KeptRanks,
    kept: KeptResiduals,
    *,
    alpha: float,
) -> tuple[Int64s, Int64s]:
    """Residuals that were kept, and those that `push` begins with, in host memory."""
    device, out = workspace.device, adjacencies.out
    graph = _Size(adjacencies.directed, out.count, out.num_vertices, out.num_entries)
    with ExitStack() as taken, done_when_broken_off(device):
        found = KeptResiduals(device, out.count)
        rounds = _Rounds(workspace, taken, graph, found, alpha)
        _begun(workspace, taken, adjacencies, earlier, rounds)
        return device.to_host(kept.residuals), device.to_host(found.residuals)


def _begun(
    workspace: Workspace, taken: ExitStack, adjacencies: Adjacencies, earlier: KeptRanks,
    rounds: "_Rounds",
) -> "_Pulls":  # fmt: skip
    """Begin with earlier ranks, and compute their residuals."""
    out = adjacencies.out
    workspace.device.fill_bytes(rounds.state, 8 * words_of(STATE), 0)
    pulls = _Pulls(workspace, taken, adjacencies, earlier.hubs, rounds)
    pulls.begin(earlier_of(earlier, out.num_entries, out.num_vertices), earlier)
    return pulls


class _Size(NamedTuple):
    """What rounds go by, of a graph."""

    directed: bool
    #: Vertex records, vertices, and entries of the rows.
    records: int
    vertices: int
    entries: int


_NO_SHAPE: Final = bytes(SHAPE_DTYPE.itemsize)


def _live_or_pinned(out: Rows) -> bytes:
    """The first fields of ``Pushes``: rows that have been located."""
    return pack(address(out.begin), address(out.degree), address(out.columns), out.step) + _NO_SHAPE


class _Rounds:
    """Launches of ``push_rounds``, and their scratch."""

    def __init__(
        self, workspace: Workspace, taken: ExitStack, graph: _Size, residuals: KeptResiduals,
        alpha: float,
    ) -> None:  # fmt: skip
        self.device, self.graph, self.residuals, self.alpha = (
            workspace.device, graph, residuals, alpha
        )  # fmt: skip
        count, items = graph.records, graph.records + graph.entries // _PART
        scratch = taken.enter_context(
            workspace.scratch(bytes_of((count, np.int64), (items, _ITEM), (count, np.uint8)))
        )
        self._queue = scratch.reserve(_ITEM.itemsize * items)
        #: Addresses of arrays of the kernels.
        self.last, self.pushed = scratch.reserve(8 * count), scratch.reserve(count)
        self.state = address(residuals.state)

    def start(self, rows: bytes, limits: PushLimits, *, most_selections: int) -> None:
        """Start the first; ``rows``: the first fields of ``Pushes``."""
        device, graph, residuals = self.device, self.graph, self.residuals
        residuals.report[:] = 0
        self._ranks = device.empty(graph.records, np.float64)
        tolerance, rounding, least, most_residual = limits
        self._arguments = rows + pack(
            graph.records, graph.vertices, graph.entries, self.alpha,
            0.0 if graph.directed else self.alpha, tolerance, rounding, most_residual, least,
            int(graph.entries * _MOST_PUSHED), graph.entries * _MOST_WORK, most_selections,
            address(residuals.masses), address(residuals.residuals), self.last, self.pushed,
            self._queue, address(self._ranks), self.state, residuals.report.ctypes.data,
        )  # fmt: skip
        self._go_on()

    def _go_on(self) -> None:
        self.device.launch_together(
            _SOURCE, "push_rounds", _ROUND_BLOCKS, _ROUND_THREADS, self._arguments
        )

    def end(
        self, earlier: KeptRanks, ids: Array | None, made_pulls: Callable[[], "_Pulls"]
    ) -> PushedRanks | None:
        """Start the others, and wait for all."""
        pulls, ahead = None, earlier.pulls
        ids = None if ids is None else ids.copy()
        while True:
            # While the device has the rounds to do.
            for _ in range(ahead):
                pulls = pulls or made_pulls()
                pulls.step()
                self._go_on()
            self.device.synchronize()
            # The fields of `REPORT`, in their order.
            (end, rounds, pulled, mass, below, absolute, signed, base, is_rounded, longest) = (
                self.residuals.report.tolist()
            )
            if end != _NEEDS_PULL:
                break
            ahead = _MORE_PULLS
        if end != _IS_DONE:
            return None
        kept = KeptRanks(self.device, self._ranks, ids)
        kept.hubs, kept.pulls = earlier.hubs, pulled
        if longest:
            self.residuals.longest = longest
        # Otherwise ranks do not tell what residuals are of.
        left = None if is_rounded else self.residuals
        return PushedRanks(kept, rounds, ResidualTotals(absolute, signed, mass, below), base, left)


class _Pulls:
    """Residuals from nothing: what is launched for them, and its scratch."""

    def __init__(
        self, workspace: Workspace, taken: ExitStack, adjacencies: Adjacencies, hubs: int,
        rounds: _Rounds,
    ) -> None:  # fmt: skip
        device, out = workspace.device, adjacencies.out
        self._device, self._adjacencies, self._rounds = device, adjacencies, rounds
        is_cached = hubs > 0 and fits_cache(device, out.count)
        need = in_slices_bytes(device, adjacencies, in_place=True)
        need += bytes_of((out.count, np.int64)) + (hub_cache_bytes(device) if is_cached else 0)
        self._scratch = scratch = taken.enter_context(workspace.scratch(need))
        self._cache = HubCache(NO_CACHE, 0)
        if is_cached:
            self._cache = hub_cache(device, scratch, out.degree)
        self._shares = scratch.reserve(8 * out.count)
        self._rows: bytes | None = None

    def begin(self, start: bytes, earlier: KeptRanks) -> None:
        """Begin with earlier ranks, and compute their residuals."""
        out, rounds = self._adjacencies.out, self._rounds
        residuals, base = rounds.residuals, earlier.push_trials.base
        self._launch(
            "begin_masses",
            pack(address(out.present), address(out.degree), out.count) + start
            + pack(
                int(earlier.push_trials.mass > 0), base, rounds.alpha, address(residuals.masses),
                self._shares, address(residuals.residuals), rounds.state,
            ),
        )  # fmt: skip
        self._pull()

    def step(self) -> None:
        """Do the rest of a round that is pulled, if one is."""
        out, rounds = self._adjacencies.out, self._rounds
        self._launch(
            "step_masses",
            pack(
                address(out.degree), out.count, rounds.alpha, address(rounds.residuals.masses),
                self._shares, address(rounds.residuals.residuals), rounds.last, rounds.pushed,
                rounds.state,
            ),
        )  # fmt: skip
        self._pull()

    def _launch(self, kernel: str, arguments: bytes) -> None:
        self._device.launch_packed(
            _SOURCE, kernel, _BEGIN_BLOCKS * self._device.multiprocessors, _BEGIN_THREADS,
            arguments + self._cache.arguments,
        )  # fmt: skip

    def _pull(self) -> None:
        device, rounds = self._device, self._rounds
        if self._rows is None:
            # While the device has the launch before to do.
            rows = in_slices(device, self._scratch, self._adjacencies, in_place=True)
            self._rows = rows.arguments + rows.chunk_sums + pack(rows.indices)
        arguments = self._rows + pack(
            address(rounds.residuals.masses), self._shares, address(rounds.residuals.residuals),
            rounds.graph.vertices, rounds.state,
        )  # fmt: skip
        if self._cache.shared_bytes:
            device.launch_packed(
                _SOURCE, "pull_cached_residuals", device.multiprocessors, _CACHED_PULL_THREADS,
                arguments + self._cache.arguments, shared_bytes=self._cache.shared_bytes,
            )  # fmt: skip
            return
        device.launch_packed(
            _SOURCE, "pull_residuals", _PULL_BLOCKS * device.multiprocessors, THREADS,
            arguments,
        )  # fmt: skip
