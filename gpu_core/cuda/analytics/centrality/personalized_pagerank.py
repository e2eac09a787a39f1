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
from ....rows import Adjacencies
from ...device.declarations import constant
from ...device.device import Array
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
    inverses = device.to_device(inverse)
    need = in_rows_bytes(device, sides, weighted=weighted)
    need += bytes_of((3 * count * LANES, np.float64), (count, np.float64))
    with workspace.scratch(need) as scratch:
        rows = in_rows(device, scratch, sides, weighted=weighted)
        long_rows = device.xp.flatnonzero(rows.degree > BLOCK_ENTRIES).astype(np.uint32)
        additions = device.to_host(rows.degree).astype(np.float64)
        if weighted:
            additions += device.to_host(sides.out.degree)
        measuring = blocks_for(count, _MEASURED)
        rounded = 2 * _MEASURED + measuring, 0.0, bool(strong.max(initial=0.0) >= EXTREME)
        vectors = [zeros(scratch, count * LANES, np.float64) for _ in range(3)]
        sums = device.empty(2 * measuring * LANES, np.float64)
        weights = rows.weights if weighted else None
        is_wide = weights is not None and weights.itemsize == 8
        read = (
            *rows.walked, None if is_wide else weights, weights if is_wide else None,
            None if weights is None else rows.weight_begin,
        )  # fmt: skip

        def step(at: Array, mass: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
            """Make a step; float64[2, LANES]: what it changed, and the dangling rank behind it."""
            x, following, shares = vectors
            behind = np.float64(alpha), at, device.to_device(mass), shares, following
            device.launch(
                _SOURCE, "pull_rows", blocks_for(count * _WARP), THREADS, *read, np.int64(count),
                *behind,
            )  # fmt: skip
            device.launch(
                _SOURCE, "pull_long_rows", long_rows.size, THREADS, *read, long_rows, *behind
            )
            device.launch(
                _SOURCE, "measure_step", measuring, THREADS, x, following, inverses,
                np.int64(count), shares, sums,
            )  # fmt: skip
            vectors[:2] = following, x
            found: npt.NDArray[np.float64] = device.to_host(sums)
            return found.reshape(measuring, 2, LANES).sum(axis=0)

        def ranks_of(lane: int) -> npt.NDArray[np.float64]:
            ranks = device.empty(count, np.float64)
            device.launch(
                _SOURCE, "copy_lane", blocks_for(count), THREADS, vectors[0], np.int64(count),
                np.int64(lane), ranks,
            )  # fmt: skip
            found: npt.NDArray[np.float64] = device.to_host(ranks)
            return found

        for first in range(0, sources.size, LANES):
            own = sources[first : first + LANES].astype(np.int64)
            lanes = np.arange(own.size)
            sources_at = np.full(LANES, _NO_VERTEX)
            sources_at[lanes] = own
            at = device.to_device(sources_at)
            x, _, shares = vectors
            x.fill(0.0)
            shares.fill(0.0)
            places = device.to_device(own * LANES + lanes)
            x[places] = 1.0
            shares[places] = device.to_device(inverse[own])
            mass = np.zeros(LANES)
            mass[lanes] = inverse[own] == 0
            left, iterations = set(lanes.tolist()), 0
            while left:
                iterations += 1
                residual, mass = step(at, np.ascontiguousarray(mass))
                for lane in sorted(left):
                    if residual[lane] <= threshold or iterations == max_iter:
                        left.remove(lane)
                        ranks = ranks_of(lane)
                        # This sum is rounded as well.
                        added = float(additions @ ranks) * (1 + 2.0**-20)
                        last = float(residual[lane])
                        rounding = Rounding(added, *rounded)
                        take(SourceRanks(first + lane, ranks, iterations, last, rounding))
