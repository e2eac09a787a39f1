"""Personalized PageRank on the host: `LANES` sources at a time share each read of the in-edges.

Vectors of a block lie side by side, [vertex, lane]: the shares of a neighbor are one line of the
cache for all of them. As of PageRank (`pagerank.py`), rows are a compact copy, made once a call,
and sums are taken in the order of vertex indices, so threads change no bit; nor does a lane change
those of others.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ....algorithms.centrality.personalized_pagerank import SourceRanks
from ....algorithms.shared.pagerank_bound import EXTREME, Rounding
from ....algorithms.shared.surfer import Surfer
from ....jit.compile import compiled
from ....jit.parallel import for_ranges
from ....jit.prefetch import prefetch
from ....rows import Adjacencies
from ..parts.compact_rows import ROW_COST, blocks_of_rows, in_rows

Vector = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]

#: Sources of a block: float64 of one line.
LANES: Final = 8
#: Entries ahead whose line is asked for: a step took 3 times as long without (1 M entries).
_AHEAD: Final = 16
#: Cost of a block of rows: a step reads eight times what one of PageRank does.
_BLOCK_COST: Final = 1 << 13

_NO_VERTEX: Final = -1


def iterate(
    workspace: None,
    adjacencies: Adjacencies,
    ids: None,
    surfer: Surfer,
    sources: npt.NDArray[np.uint32],
    *,
    threshold: float,
    max_iter: int,
    take: Callable[[SourceRanks], None],
) -> None:
    """Find the ranks of each source, block by block.

    Parameters
    ----------
    adjacencies
        Rows, with weights if edges are followed by weight; they do not change meanwhile.
    surfer
        Its jumps lead to the source.
    sources
        uint32[s], vertex indices.
    threshold, max_iter
        A source ends when a step changes its ranks by at most that, or after ``max_iter`` steps.
    take
        Called with the ranks of each source as soon as they are found.
    """
    alpha, strengths, weighted = surfer.alpha, surfer.strengths, surfer.weighted
    rows = in_rows(adjacencies, weighted=weighted)
    count = adjacencies.out.count
    inverse = np.zeros_like(strengths)
    np.divide(1.0, strengths, out=inverse, where=strengths > 0)
    bounds = blocks_of_rows(np.diff(rows.indptr) + ROW_COST, _BLOCK_COST)
    blocks = bounds.size - 1
    additions = np.diff(rows.indptr).astype(np.float64)
    if weighted:
        additions += adjacencies.out.degree
    summed = int(np.diff(bounds).max(initial=0)) + blocks
    is_extreme = bool(strengths.max(initial=0.0) >= EXTREME)
    x, shares, next_shares = np.empty((3, count, LANES))
    residuals, masses = np.empty((2, blocks, LANES))
    for first in range(0, sources.size, LANES):
        own = sources[first : first + LANES].astype(np.int64)
        at, mass = _begin(own, inverse, x, shares)
        left, iterations = list(range(own.size)), 0
        while left:
            iterations += 1
            for_ranges(
                pull, blocks, bounds, rows, Sources(alpha, at, mass),
                Vectors(inverse, x, shares, next_shares), (residuals, masses), serial_items=2,
            )  # fmt: skip
            shares, next_shares = next_shares, shares
            # Rows are added one after the other, lane by lane.
            mass, residual = masses.sum(axis=0), residuals.sum(axis=0)
            is_ended = (residual <= threshold) | (iterations == max_iter)
            for lane in (lane for lane in left if is_ended[lane]):
                ranks = x[:, lane].copy()
                # This sum is rounded as well.
                added = float(additions @ ranks) * (1 + 2.0**-20)
                rounding = Rounding(added, summed, 0.0, is_extreme)
                last = float(residual[lane])
                take(SourceRanks(first + lane, ranks, iterations, last, rounding))
            left = [lane for lane in left if not is_ended[lane]]


def _begin(sources: Int64s, inverse: Vector, x: Vector, shares: Vector) -> tuple[Int64s, Vector]:
    """Put the first ranks of a block of sources into ``x`` and ``shares``, a lane each.

    Returns
    -------
    at : int64[LANES]
        The source of each lane.
    mass : float64[LANES]
        Rank of dangling vertices.
    """
    lanes = np.arange(sources.size)
    at, mass = np.full(LANES, _NO_VERTEX), np.zeros(LANES)
    at[lanes] = sources
    mass[lanes] = inverse[sources] == 0
    x.fill(0.0)
    x[sources, lanes] = 1.0
    shares.fill(0.0)
    shares[sources, lanes] = inverse[sources]
    return at, mass


class Sources(NamedTuple):
    """Damping; and by lane the source, -1: none, and ``m``."""

    alpha: float
    at: npt.NDArray[np.int64]
    mass: Vector


class Vectors(NamedTuple):
    """``1 / strength`` of vertices; ranks and shares, [vertex, lane]; the next shares."""

    inverse: Vector
    x: Vector
    shares: Vector
    next_shares: Vector


@compiled
def pull(low, high, bounds, rows, sources, vectors, sums):
    """One step of all lanes for the rows of blocks ``low … high - 1``."""
    indptr, indices, weight = rows
    alpha, at, mass = sources
    inverse, x, shares, next_shares = vectors
    residuals, masses = sums
    weighted = weight.size > 0
    gathered, lines, last = np.empty(LANES), shares.reshape(-1), indices.size - 1
    for block in range(low, high):
        for lane in range(LANES):
            residuals[block, lane] = masses[block, lane] = 0.0
        for vertex in range(bounds[block], bounds[block + 1]):
            # gathered = (P^T x)[vertex]
            for lane in range(LANES):
                gathered[lane] = 0.0
            if weighted:
                for i in range(indptr[vertex], indptr[vertex + 1]):
                    prefetch(lines, np.int64(indices[min(i + _AHEAD, last)]) * LANES)
                    line, share = np.int64(indices[i]) * LANES, np.float64(weight[i])
                    for lane in range(LANES):
                        gathered[lane] += lines[line + lane] * share
            else:
                for i in range(indptr[vertex], indptr[vertex + 1]):
                    prefetch(lines, np.int64(indices[min(i + _AHEAD, last)]) * LANES)
                    line = np.int64(indices[i]) * LANES
                    for lane in range(LANES):
                        gathered[lane] += lines[line + lane]
            for lane in range(LANES):
                # x' = alpha (P^T x + m s) + (1 - alpha) s
                rank = alpha * gathered[lane]
                if at[lane] == vertex:
                    rank = alpha * (gathered[lane] + mass[lane]) + (1.0 - alpha)
                residuals[block, lane] += abs(rank - x[vertex, lane])
                x[vertex, lane] = rank
                next_shares[vertex, lane] = rank * inverse[vertex]
                if inverse[vertex] == 0.0:
                    masses[block, lane] += rank
