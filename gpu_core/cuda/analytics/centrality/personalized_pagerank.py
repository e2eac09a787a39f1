"""Personalized PageRank in CUDA: `LANES` sources at a time share each read of the in-edges.

Kernels: ``personalized_pagerank.cu``. A step is four launches: rows of a warp each, long rows of a
block each, what the step has changed, and the sum of that, which the host looks at after every
step. Rows are read where they are. Ranks are those of the host twin up to the order of sums, which
is fixed on either side; each source's stay on the device when it has ended (`KeptRanks`).
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from ....algorithms.centrality.personalized_pagerank import SourceRanks
from ....algorithms.shared.pagerank_bound import EXTREME, Rounding
from ....algorithms.shared.surfer import Surfer
from ....rows import Adjacencies, Rows
from ...device.declarations import constant
from ...device.device import Array
from ...grid import THREADS, WARP, blocks_for
from ...memory.scratch import DeviceScratch
from ...memory.workspace import Workspace
from ..parts.compact_rows import bytes_of, in_rows, in_rows_bytes, zeros
from ..parts.row_arguments import by_width
from .kept_ranks import KeptRanks

_SOURCE: Final = "personalized_pagerank.cu"

LANES: Final = constant(_SOURCE, "LANES")
BLOCK_ENTRIES: Final = constant(_SOURCE, "BLOCK_ENTRIES")
_MEASURED: Final = constant(_SOURCE, "MEASURED")
_SUMS: Final = constant(_SOURCE, "SUMS")
_MASS: Final = constant(_SOURCE, "MASS")

_NO_VERTEX: Final = -1


def iterate(
    workspace: Workspace,
    adjacencies: Adjacencies,
    ids: Array | None,
    surfer: Surfer,
    sources: npt.NDArray[np.uint32],
    *,
    threshold: float,
    max_iter: int,
    take: Callable[[SourceRanks], None],
) -> None:
    """Find the ranks of each source, block by block. Waits for the device at each step.

    Parameters are those of the host twin, strengths on the device, and ``ids`` as of
    `pagerank.iterate`.
    """
    device, count, weighted = workspace.device, adjacencies.out.count, surfer.weighted
    if not sources.size:
        return
    need = in_rows_bytes(device, adjacencies, weighted=weighted)
    need += bytes_of((3 * count * LANES, np.float64), (count, np.float64))
    with workspace.scratch(need) as scratch:
        rows = in_rows(device, scratch, adjacencies, weighted=weighted)
        surfer = surfer._replace(strengths=surfer.strengths.astype(np.float64))
        is_extreme = float(surfer.strengths.max()) >= EXTREME
        steps = _Steps(workspace, scratch, adjacencies, rows, surfer)
        for first in range(0, sources.size, LANES):
            left = steps.begin(sources[first : first + LANES].astype(np.int64))
            iterations = 0
            while left:
                iterations += 1
                residual, added = steps.step()
                for lane in sorted(left):
                    if residual[lane] <= threshold or iterations == max_iter:
                        left.remove(lane)
                        # This sum is rounded as well.
                        additions = float(added[lane]) * (1 + 2.0**-20)
                        summed = 2 * _MEASURED + steps.measuring
                        rounding = Rounding(additions, summed, 0.0, is_extreme)
                        kept = KeptRanks(device, steps.ranks_of(lane), ids)
                        last = float(residual[lane])
                        take(SourceRanks(first + lane, kept, iterations, last, rounding))


class _Steps:
    """Steps from a block of sources, one a lane.

    Parameters
    ----------
    scratch
        Has room for three vectors of float64[count * LANES].
    rows
        Of in-neighbors.
    surfer
        With strengths of float64.
    """

    def __init__(
        self,
        workspace: Workspace,
        scratch: DeviceScratch,
        adjacencies: Adjacencies,
        rows: Rows,
        surfer: Surfer,
    ) -> None:
        self._device = device = workspace.device
        strong, weighted = surfer.strengths, surfer.weighted
        self._count, self._alpha = rows.count, np.float64(surfer.alpha)
        self._inverse = 1.0 / device.xp.where(strong > 0, strong, np.inf)
        self._long_rows = device.xp.flatnonzero(rows.degree > BLOCK_ENTRIES).astype(np.uint32)
        self._present = adjacencies.out.present
        self._degrees = rows.degree, adjacencies.out.degree if weighted else None
        #: Blocks that sum up the change of a step.
        self.measuring = blocks_for(rows.count, _MEASURED)
        self._vectors = [zeros(scratch, rows.count * LANES, np.float64) for _ in range(3)]
        self._sums = device.empty(self.measuring * _SUMS * LANES, np.float64)
        self._totals = device.empty(_SUMS * LANES, np.float64)
        weights = rows.weights if weighted else None
        begin = None if weights is None else rows.weight_begin
        self._read = *rows.walked, *by_width(weights), begin

    def begin(self, sources: npt.NDArray[np.int64]) -> set[int]:
        """Set the vectors of these sources, `LANES` of them at most; returns their lanes."""
        at = np.full(LANES, _NO_VERTEX)
        at[: sources.size] = sources
        self._at = self._device.to_device(at)
        x, _, shares = self._vectors
        x.fill(0.0)
        shares.fill(0.0)
        self._device.launch(
            _SOURCE, "begin_lanes", 1, LANES, self._at, self._inverse, x, shares, self._totals
        )
        return set(range(sources.size))

    def step(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Make a step; float64[LANES] each: what it changed, and entries times rank."""
        device, count = self._device, np.int64(self._count)
        x, following, shares = self._vectors
        masses = self._totals[_MASS * LANES :]
        arguments = self._alpha, self._at, masses, shares, following
        device.launch(
            _SOURCE, "pull_rows", blocks_for(self._count * WARP), THREADS, *self._read, count,
            *arguments,
        )  # fmt: skip
        device.launch(
            _SOURCE, "pull_long_rows", self._long_rows.size, THREADS, *self._read, self._long_rows,
            *arguments,
        )  # fmt: skip
        device.launch(
            _SOURCE, "measure_step", self.measuring, THREADS, x, following, self._inverse,
            *self._degrees, count, shares, self._sums,
        )  # fmt: skip
        device.launch(
            _SOURCE, "add_up_step", 1, THREADS, self._sums, np.int64(self.measuring), self._totals
        )
        self._vectors[:2] = following, x
        changed, _, added = device.read_words(self._totals).reshape(_SUMS, LANES)
        return changed, added

    def ranks_of(self, lane: int) -> Array:
        """float64[count] on the device: ranks of the source of a lane; -1: an absent vertex."""
        ranks = self._device.empty(self._count, np.float64)
        self._device.launch(
            _SOURCE, "copy_lane", blocks_for(self._count), THREADS, self._vectors[0],
            self._present, np.int64(self._count), np.int64(lane), ranks,
        )  # fmt: skip
        return ranks
