"""Maintained PageRank in CUDA: residuals in fixed point, repaired after a batch and pushed.

Residuals are added to with integer atomics, in any order. The entries of all rows that pass
something on, put end to end, are cut into tiles of a block, so a hub is spread over many. A round
of pushes is a look at all vertices, after which the host chooses, and launches for those whose
residual is above the round's threshold, a quarter of the one before. Kernels:
``maintained_pagerank.cu``.

Host twin: `host/analytics/maintained/maintained_pagerank.py`. Not here: what the numbers mean, and
whether to push (`algorithms/maintained/maintained_pagerank.py`).
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ....algorithms.maintained.maintained_pagerank import Pushed, Totals
from ....rows import Adjacencies, Rows
from ...device.declarations import constant, structure, words_of
from ...device.device import Array
from ...device.sorting.sorting import Plain
from ...memory.workspace import Workspace
from ..centrality.pagerank import KeptRanks
from ..parts.compact_rows import THREADS, blocks_for, measure_rows

_SOURCE: Final = "maintained_pagerank.cu"

#: Entries that full steps read in the time in which one is pushed.
ENTRIES_A_PUSH = 4
#: Steps in whose time rows are copied before full steps, and residuals are computed behind them.
STEPS_TO_BEGIN = 8

_TILE_ENTRIES: Final = constant(_SOURCE, "ROW_TILE_ENTRIES")
_SUMS: Final = structure(_SOURCE, "Sums")
_NONE: Final = np.uint64((1 << 64) - 1)
_FALL: Final = 4


class Entries(NamedTuple):
    """Entries that a batch adds or removes."""

    #: uint64[k]: ``source << 32 | target``, increasing.
    keys: Array
    #: int64[s]: the first entry of each source; uint32[s]: the sources.
    firsts: Array
    sources: Array
    #: int64[s + 1]: entries of the rows of the sources before each of them.
    starts: Array
    #: Entries of these rows.
    work: int


def entries_of(workspace: Workspace, rows: Rows, edges: Array, *, directed: bool) -> Entries:
    """Find the entries of edges, keys as of `gpu_core/changes.py`."""
    device = workspace.device
    xp, half = device.xp, np.uint64(32)
    keys = edges
    if not directed:
        keys = xp.sort(xp.concatenate([edges, edges << half | edges >> half]))
    sources = (keys >> half).astype(np.uint32)
    is_first = xp.ones(keys.size, np.bool_)
    is_first[1:] = sources[1:] != sources[:-1]
    firsts = xp.flatnonzero(is_first).astype(np.int64)
    sources = sources[firsts]
    starts = measure_rows(device, Plain(device), rows.degree[sources])
    return Entries(keys, firsts, sources, starts, int(device.read_words(starts[sources.size :])[0]))


def follow_entries(
    workspace: Workspace, rows: Rows, entries: Entries, mass: Array, residuals: Array,
    alpha: float, sign: int,
) -> None:  # fmt: skip
    """Add to ``residuals`` what entries change that the rows have; ``sign``: -1, removed ones."""
    device, count, sources = workspace.device, int(entries.keys.size), int(entries.sources.size)
    more, others = device.empty(sources, np.int64), device.empty(sources, np.int64)
    changed = entries.keys, np.int64(count), entries.firsts, np.int64(sources)
    device.launch(
        _SOURCE, "measure_sources", blocks_for(sources), THREADS, *changed, rows.degree, mass,
        np.float64(alpha), np.int64(sign), more, others,
    )  # fmt: skip
    device.launch(
        _SOURCE, "add_to_targets", blocks_for(count), THREADS, *changed, others, residuals
    )
    _add_to_rows(workspace, rows, entries.sources, entries.starts, entries.work, more, residuals)


def _add_to_rows(
    workspace: Workspace, rows: Rows, vertices: Array | None, starts: Array, entries: int,
    more: Array, residuals: Array,
) -> None:  # fmt: skip
    begin, _, columns, step = rows.walked
    workspace.device.launch(
        _SOURCE, "add_to_rows", blocks_for(entries, _TILE_ENTRIES), THREADS, vertices, starts,
        np.int64(starts.size - 1), more, begin, columns, step, residuals,
    )  # fmt: skip


def resized(workspace: Workspace, items: Array, count: int) -> Array:
    """Copy items, with zeros for vertices that there were not."""
    copied = workspace.device.empty(count, items.dtype)
    copied[: items.size] = items
    copied[items.size :] = 0
    return copied


def nothing(workspace: Workspace, count: int) -> tuple[Array, Array, Array]:
    """``y``, ``r`` and presence of no vertices."""
    xp = workspace.device.xp
    return xp.zeros(count, np.int64), xp.zeros(count, np.int64), xp.zeros(count, np.bool_)


def start_of(workspace: Workspace, rows: Rows, mass: Array) -> Array:
    """float64[vertex_count], sum 1: the ranks of ``y``, and ``1/n`` for vertices without one."""
    xp = workspace.device.xp
    above = xp.maximum(resized(workspace, mass, rows.count), 0).astype(np.float64)
    ranks = above / xp.maximum(above.sum(keepdims=True), 1.0)
    ranks = xp.where(rows.present, xp.where(ranks > 0, ranks, 1 / rows.num_vertices), 0.0)
    return ranks / ranks.sum(keepdims=True)


def dangling_of(workspace: Workspace, rows: Rows, kept: KeptRanks) -> float:
    """Rank on vertices without out-edges."""
    device = workspace.device
    ranks = device.xp.where(rows.present & (rows.degree == 0), kept.ranks, 0.0)
    return float(device.read_words(ranks.sum(keepdims=True))[0])


def masses_of(workspace: Workspace, rows: Rows, kept: KeptRanks, whole: float) -> Array:
    """``y`` of ranks, which sums to about ``whole``."""
    xp = workspace.device.xp
    return xp.rint(xp.maximum(kept.ranks, 0.0) * whole).astype(np.int64)


def copy_of(workspace: Workspace, present: Array) -> Array:
    """Copy of what rows say of vertices."""
    return present.copy()


def are_same(workspace: Workspace, one: Array, other: Array) -> bool:
    """Whether the same vertices are present."""
    if one.size != other.size:
        return False
    differing = (one != other).any(keepdims=True)
    return not bool(workspace.device.read_words(differing)[0])


def residuals_of(workspace: Workspace, sides: Adjacencies, mass: Array, alpha: float) -> Array:
    """``r`` from nothing, but for ``b``."""
    device, rows, count = workspace.device, sides.out, int(mass.size)
    residuals, shares = device.empty(count, np.int64), device.empty(count, np.int64)
    device.launch(
        _SOURCE, "share_out", blocks_for(count), THREADS, mass, rows.degree, np.int64(count),
        np.float64(alpha), shares, residuals,
    )  # fmt: skip
    starts = measure_rows(device, Plain(device), rows.degree)
    _add_to_rows(workspace, rows, None, starts, rows.num_entries, shares, residuals)
    return residuals


def add_base(workspace: Workspace, rows: Rows, residuals: Array, base: int) -> None:
    """Add ``b`` where there is a vertex."""
    residuals += rows.present * np.int64(base)


def take_vertices(
    workspace: Workspace, rows: Rows, mass: Array, residuals: Array, present: Array, base: int
) -> None:
    """Give ``b`` to new vertices, and nothing to those that are gone; ``present``: as it was."""
    workspace.device.launch(
        _SOURCE, "take_vertices", blocks_for(rows.count), THREADS, rows.present,
        np.int64(rows.count), np.int64(base), mass, residuals, present,
    )  # fmt: skip


def totals_of(workspace: Workspace, mass: Array, residuals: Array) -> Totals:
    """Sums over all vertices; waits for the device."""
    return _totals(_sums(workspace, mass, residuals, None, _NONE))


def _sums(
    workspace: Workspace, mass: Array, residuals: Array, degree: Array | None, threshold: np.uint64
) -> Any:
    device = workspace.device
    found = device.xp.zeros(words_of(_SUMS), np.uint64)
    device.launch(
        _SOURCE, "add_up", blocks_for(mass.size), THREADS, mass, residuals, degree,
        np.int64(mass.size), threshold, found,
    )  # fmt: skip
    return device.read_words(found).view(_SUMS)[0]


def _totals(sums: Any) -> Totals:
    absolute, mass, below = (int(sums[name]) for name in ("absolute", "mass", "below"))
    return Totals(absolute, int(sums["signed_sum"]), mass, below)


def ranks_of(
    workspace: Workspace, rows: Rows, mass: Array, total: int, ids: Array | None
) -> KeptRanks:
    """Ranks of ``y``, of which those above 0 sum to ``total``; they stay on the device."""
    device = workspace.device
    above = device.xp.maximum(resized(workspace, mass, rows.count), 0) / float(total)
    ranks = device.xp.where(rows.present, above, -1.0)
    return KeptRanks(device, ranks, None if ids is None else ids.copy())


def from_host(workspace: Workspace, mass: npt.NDArray[np.int64]) -> Array:
    """``y`` of a checkpoint as it is kept here."""
    return workspace.device.to_device(np.array(mass, np.int64))


def to_host(workspace: Workspace, items: Array) -> npt.NDArray[np.int64]:
    """int64[vertex_count]: a copy."""
    return workspace.device.to_host(items).copy()


class Pushes:
    """Vertices whose residuals are above ``least``, to be pushed.

    Parameters
    ----------
    rows
        Of out-neighbors.
    mass, residuals
        ``y`` and ``r``, which are written.
    """

    def __init__(
        self, workspace: Workspace, rows: Rows, mass: Array, residuals: Array, alpha: float,
        least: int,
    ) -> None:  # fmt: skip
        self._workspace, self._rows, self._alpha, self._least = workspace, rows, alpha, least
        self._mass, self._residuals = mass, residuals
        most = int(_sums(workspace, mass, residuals, None, _NONE)["most"])
        self._threshold = max(most // _FALL, least)
        self._sums = self._look()
        #: Entries of the first round.
        self.active = int(self._sums["entries"])

    def _look(self) -> Any:
        threshold = np.uint64(self._threshold)
        return _sums(self._workspace, self._mass, self._residuals, self._rows.degree, threshold)

    def run(self, totals: Totals, allowed: int, budget: int) -> Pushed:
        """Push until ``A + |S|`` is at most ``allowed``, or so many entries were pushed."""
        rounds = entries = 0
        sums = self._sums
        while int(sums["absolute"]) + abs(int(sums["signed_sum"])) > allowed:
            active = int(sums["active"])
            is_last = self._threshold == self._least
            if entries + int(sums["entries"]) > budget or (active == 0 and is_last):
                return Pushed(rounds, entries, is_enough=False)
            if active:
                self._push(active, int(sums["entries"]))
                rounds, entries = rounds + 1, entries + int(sums["entries"])
            self._threshold = max(self._threshold // _FALL, self._least)
            sums = self._look()
        return Pushed(rounds, entries, is_enough=True)

    def _push(self, active: int, entries: int) -> None:
        device, rows = self._workspace.device, self._rows
        vertices, lengths = device.empty(active, np.uint32), device.empty(active, np.uint32)
        more, listed = device.empty(active, np.int64), device.xp.zeros(1, np.uint64)
        device.launch(
            _SOURCE, "take_active", blocks_for(rows.count), THREADS, self._mass, self._residuals,
            rows.degree, np.int64(rows.count), np.float64(self._alpha), np.uint64(self._threshold),
            vertices, lengths, more, listed,
        )  # fmt: skip
        starts = measure_rows(device, Plain(device), lengths)
        _add_to_rows(self._workspace, rows, vertices, starts, entries, more, self._residuals)
