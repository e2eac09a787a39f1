"""Personalized PageRank in CUDA: `LANES` sources at a time share each read of the in-edges.

Kernels: ``personalized_pagerank.cu``. A step is three launches: rows of a warp each, long rows of a
block each, and what the step has changed, which the host looks at after every step. Rows are read
where they are. Ranks are those of the host twin up to the order of sums, which is fixed on either
side; each source's are fetched when it has ended.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from ....algorithms.centrality.personalized_pagerank import SourceRanks
from ....algorithms.shared.pagerank_bound import EXTREME, Rounding
from ....rows import Adjacencies, Rows
from ...device.declarations import constant
from ...device.device import Array, Device
from ...memory.scratch import DeviceScratch
from ...memory.workspace import Workspace
from ..parts.compact_rows import THREADS, blocks_for, bytes_of, in_rows, in_rows_bytes, zeros

_SOURCE: Final = "personalized_pagerank.cu"

LANES: Final = constant(_SOURCE, "LANES")
BLOCK_ENTRIES: Final = constant(_SOURCE, "BLOCK_ENTRIES")
_MEASURED: Final = constant(_SOURCE, "MEASURED")

_WARP: Final = 32
_NO_VERTEX: Final = -1


def iterate(
    workspace: Workspace,
    sides: Adjacencies,
    strengths: Array,
    sources: npt.NDArray[np.uint32],
    *,
    alpha: float,
    weighted: bool,
    threshold: float,
    max_iter: int,
    take: Callable[[SourceRanks], None],
) -> None:
    """Find the ranks of each source, block by block. Waits for the device at each step.

    Parameters are those of the host twin, ``strengths`` on the device.
    """
    device, count = workspace.device, sides.out.count
    if not sources.size:
        return
    strong = device.to_host(strengths).astype(np.float64)
    inverse = np.zeros_like(strong)
    np.divide(1.0, strong, out=inverse, where=strong > 0)
    need = in_rows_bytes(device, sides, weighted=weighted)
    need += bytes_of((3 * count * LANES, np.float64), (count, np.float64))
    with workspace.scratch(need) as scratch:
        rows = in_rows(device, scratch, sides, weighted=weighted)
        additions = device.to_host(rows.degree).astype(np.float64)
        if weighted:
            additions += device.to_host(sides.out.degree)
        steps = _Steps(device, scratch, rows, inverse, alpha, weighted=weighted)
        rounded = 2 * _MEASURED + steps.measuring, 0.0, bool(strong.max(initial=0.0) >= EXTREME)
        for first in range(0, sources.size, LANES):
            left = steps.begin(sources[first : first + LANES].astype(np.int64))
            iterations = 0
            while left:
                iterations += 1
                residual = steps.step()
                for lane in sorted(left):
                    if residual[lane] <= threshold or iterations == max_iter:
                        left.remove(lane)
                        ranks = steps.ranks_of(lane)
                        # This sum is rounded as well.
                        added = float(additions @ ranks) * (1 + 2.0**-20)
                        last = float(residual[lane])
                        rounding = Rounding(added, *rounded)
                        take(SourceRanks(first + lane, ranks, iterations, last, rounding))


class _Steps:
    """Steps from a block of sources, one a lane.

    Parameters
    ----------
    scratch
        Has room for three vectors of float64[count * LANES].
    rows
        Of in-neighbors.
    inverse
        float64[count], one over the strength of each vertex; 0 where it has none.
    """

    def __init__(
        self,
        device: Device,
        scratch: DeviceScratch,
        rows: Rows,
        inverse: npt.NDArray[np.float64],
        alpha: float,
        *,
        weighted: bool,
    ) -> None:
        self._device, self._count, self._alpha = device, rows.count, np.float64(alpha)
        self._inverse, self._inverses = inverse, device.to_device(inverse)
        self._long_rows = device.xp.flatnonzero(rows.degree > BLOCK_ENTRIES).astype(np.uint32)
        #: Blocks that sum up the change of a step.
        self.measuring = blocks_for(rows.count, _MEASURED)
        self._vectors = [zeros(scratch, rows.count * LANES, np.float64) for _ in range(3)]
        self._sums = device.empty(2 * self.measuring * LANES, np.float64)
        weights = rows.weights if weighted else None
        is_wide = weights is not None and weights.itemsize == 8
        self._read = (
            *rows.walked, None if is_wide else weights, weights if is_wide else None,
            None if weights is None else rows.weight_begin,
        )  # fmt: skip

    def begin(self, sources: npt.NDArray[np.int64]) -> set[int]:
        """Set the vectors of these sources, `LANES` of them at most; returns their lanes."""
        device, lanes = self._device, np.arange(sources.size)
        at = np.full(LANES, _NO_VERTEX)
        at[lanes] = sources
        self._at = device.to_device(at)
        x, _, shares = self._vectors
        x.fill(0.0)
        shares.fill(0.0)
        places = device.to_device(sources * LANES + lanes)
        x[places] = 1.0
        shares[places] = device.to_device(self._inverse[sources])
        #: Dangling rank of each lane.
        self._mass = np.zeros(LANES)
        self._mass[lanes] = self._inverse[sources] == 0
        return set(lanes.tolist())

    def step(self) -> npt.NDArray[np.float64]:
        """Make a step; float64[LANES]: what it changed."""
        device, count = self._device, np.int64(self._count)
        x, following, shares = self._vectors
        mass = device.to_device(np.ascontiguousarray(self._mass))
        behind = self._alpha, self._at, mass, shares, following
        device.launch(
            _SOURCE, "pull_rows", blocks_for(self._count * _WARP), THREADS, *self._read, count,
            *behind,
        )  # fmt: skip
        device.launch(
            _SOURCE, "pull_long_rows", self._long_rows.size, THREADS, *self._read, self._long_rows,
            *behind,
        )  # fmt: skip
        device.launch(
            _SOURCE, "measure_step", self.measuring, THREADS, x, following, self._inverses, count,
            shares, self._sums,
        )  # fmt: skip
        self._vectors[:2] = following, x
        sums = device.to_host(self._sums).reshape(self.measuring, 2, LANES)
        changed: npt.NDArray[np.float64]
        changed, self._mass = sums.sum(axis=0)
        return changed

    def ranks_of(self, lane: int) -> npt.NDArray[np.float64]:
        """float64[count]: ranks of the source of a lane."""
        ranks = self._device.empty(self._count, np.float64)
        self._device.launch(
            _SOURCE, "copy_lane", blocks_for(self._count), THREADS, self._vectors[0],
            np.int64(self._count), np.int64(lane), ranks,
        )  # fmt: skip
        found: npt.NDArray[np.float64] = self._device.to_host(ranks)
        return found
