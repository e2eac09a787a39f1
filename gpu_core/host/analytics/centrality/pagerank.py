"""PageRank on the host: a step pulls over in-edges, on all threads.

::

    G x = alpha (P^T x + m w) + (1 - alpha) p       P = D^-1 A,  m = sum of x over dangling vertices
    x' = G x + b (G x - x_before)                   b = 0 on directed graphs: power iteration

Each step gathers, for every vertex, the *shares* ``x[u] / strength[u]`` of its in-neighbors; the
same pass writes the new shares, the step's L1 residual and the next ``m``, so a step reads the
edges once and every vector once. How far it goes beyond the plain step ``G x`` on undirected graphs
is decided by `chebyshev.py`; intermediate entries may be negative.

Rows are a compact copy of the in-adjacencies (`compact_rows.py`), made once a call. Measured with
8 M edges of 2^20 vertices on two cores: a gather over pages 41 to 46 ms (``runs`` and ``chain``
alike), over the copy 21 ms, and the copy itself 17 to 25 ms; so it pays from the second step on.
Without a reverse adjacency the copy is transposed, which costs four to five gathers.

Sums are taken in the order of vertex indices: within a row, within a block of rows, and over the
blocks exactly (`math.fsum`). How many threads there are changes no bit, and neither do layout and
storage, which the copy has shed.

Not here: what the vectors mean, normalization, when to stop (`algorithms/centrality/pagerank.py`).

Source: Beamer, Asanović, Patterson, "Reducing PageRank Communication via Propagation Blocking",
IPDPS 2017 (the pull baseline); the dangling term is networkx'.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ....algorithms.shared.pagerank_bound import EXTREME, Rounding
from ....algorithms.shared.surfer import Surfer
from ....jit.compile import compiled
from ....jit.parallel import for_ranges
from ....jit.prefetch import FAR_AHEAD, prefetch_words
from ....rows import Adjacencies, Rows
from ..parts.compact_rows import ROW_COST, blocks_of_rows, in_rows
from ..parts.strengths import can_be_shared
from .chebyshev import Chebyshev
from .pagerank_start import start_of

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]
Vector = npt.NDArray[np.float64]


def out_strengths(workspace: None, out: Rows, *, weighted: bool) -> Vector:
    """Number of out-edges of each vertex, or the sum of their weights.

    Returns
    -------
    strengths : float64[vertex_count]
        NaN where a weight is negative, and where they add up to infinity or, unless to 0, to less
        than `LEAST_STRENGTH`. (A batch takes finite weights only.)
    """
    if not weighted:
        return out.degree.astype(np.float64)
    strengths = np.empty(out.count, np.float64)
    for_ranges(
        sum_weights, out.count, out.weight_begin, out.degree, out.step, out.weights, strengths
    )
    return strengths


def refused_sources(workspace: None, strengths: Vector) -> npt.NDArray[np.int64]:
    """Vertex indices whose strength is NaN."""
    return np.flatnonzero(np.isnan(strengths))


def start_at_kept(
    workspace: None, out: Rows, ids: Int64s | None, kept: object, alpha: float
) -> None:
    """None: ranks that an engine keeps elsewhere are not for this one to read."""


def start_from(
    workspace: None, out: Rows, ranks: Vector, degrees: UInt32s | None, alpha: float
) -> Vector:
    """A start from earlier ranks by vertex index; see `pagerank_start.start_of`."""
    return start_of(out, alpha, ranks, degrees)


def iterate(
    workspace: None,
    adjacencies: Adjacencies,
    ids: Int64s | None,
    surfer: Surfer,
    start: Vector | None,
    *,
    most_radius: float,
    threshold: float,
    max_iter: int,
) -> tuple[Vector, int, float, Callable[[], Rounding]]:
    """Make steps until the residual is at most ``threshold``, or ``max_iter`` of them.

    Parameters are those of `Iteration` and `Chebyshev`; a vector that is `None` is the same for all
    present vertices, but the start, which goes by degrees where these say something of the ranks
    (`pagerank_start.py`). What a twin on a device needs, a workspace and users' ids, is of no use
    here.

    Returns
    -------
    ranks : float64[vertex_count]
    iterations, residual
        Steps made, and the L1 residual of the last of them.
    rounding
        Gives what is known of the rounding of that step.
    """
    if start is None and most_radius > 0.0 and surfer.is_even:
        start = start_of(adjacencies.out, surfer.alpha)
    uniform = adjacencies.out.present / adjacencies.out.num_vertices
    vectors = start, surfer.teleport, surfer.dangling
    start, teleport, dangling = (uniform if each is None else each for each in vectors)
    given = surfer._replace(teleport=teleport, dangling=dangling)
    iteration = Iteration(adjacencies, given, start)
    steps = Chebyshev(most_radius, int(np.count_nonzero(surfer.strengths)), iteration.entries)
    residual, iterations = math.inf, 0
    while iterations < max_iter and not (residual <= threshold and steps.is_plain):
        iterations += 1
        residual = iteration.step(steps.next_step(threshold, is_last=iterations == max_iter))
        steps.record(residual)
    # No rank of the solution is negative, so 0 is nearer to it than what is below.
    ranks = np.maximum(iteration.x, 0.0)
    rounding = iteration.rounding(ranks, adjacencies.out.degree if surfer.weighted else None)
    return ranks, iterations, residual, lambda: rounding


class Given(NamedTuple):
    """Vectors that stay as they are, float64[vertex_count]: ``1 / strength``, ``p`` and ``w``."""

    inverse: Vector
    teleport: Vector
    dangling: Vector


class RankVectors(NamedTuple):
    """Vectors that a step reads, float64[vertex_count], and writes for the next one."""

    x: Vector
    #: Overwritten by the vector after the step.
    x_before: Vector
    shares: Vector
    next_shares: Vector


class Factors(NamedTuple):
    """Numbers of a step: damping, ``m``, and how far it goes beyond a plain one."""

    alpha: float
    mass: float
    beyond: float


class BlockSums(NamedTuple):
    """Sums of a step by block of rows: its residual, and the next ``m``."""

    residuals: Vector
    masses: Vector


class Iteration:
    """The state between two steps: the vectors, and what the next step gathers.

    Parameters
    ----------
    adjacencies
        Rows that are read now; they may change afterwards.
    surfer
        With all of its vectors.
    start
        float64[vertex_count] with sum 1, 0 for absent vertices: ``x``.
    """

    def __init__(self, adjacencies: Adjacencies, surfer: Surfer, start: Vector) -> None:
        self._rows = in_rows(adjacencies, weighted=surfer.weighted)
        self._alpha, strengths = surfer.alpha, surfer.strengths
        inverse = np.zeros_like(strengths)
        np.divide(1.0, strengths, out=inverse, where=strengths > 0)
        self._given = Given(inverse, surfer.teleport, surfer.dangling)
        # The first step is plain: what was before is of no meaning.
        self._ranks = RankVectors(start.copy(), start.copy(), start * inverse, np.empty_like(start))
        self._mass = float(np.sum(start[strengths == 0]))
        self._bounds = blocks_of_rows(np.diff(self._rows.indptr) + ROW_COST)
        blocks = self._bounds.size - 1
        self._sums = BlockSums(np.empty(blocks), np.empty(blocks))
        self._is_extreme = bool(strengths.max(initial=0.0) >= EXTREME)

    @property
    def x(self) -> Vector:
        """float64[vertex_count], the ranks so far."""
        return self._ranks.x

    @property
    def entries(self) -> int:
        """Entries of the rows."""
        return self._rows.indices.size

    def rounding(self, ranks: Vector, out_degree: UInt32s | None) -> Rounding:
        """Bounds of the rounding of a step that made ``ranks``.

        ``out_degree``: weights that were added up for the strength of each vertex; None: none.
        """
        additions = np.diff(self._rows.indptr)
        if out_degree is not None:
            additions = additions + out_degree
        # This sum is rounded as well.
        weighted = float(additions.astype(np.float64) @ ranks) * (1 + 2.0**-20)
        summed = int(np.diff(self._bounds).max(initial=0))
        return Rounding(weighted, summed, 0.0, self._is_extreme)

    def step(self, beyond: float = 0.0) -> float:
        """Make a step that goes so far beyond a plain one; return its L1 residual ``|G x - x|``."""
        for_ranges(
            pull, self._bounds.size - 1, self._bounds, self._rows, self._given, self._ranks,
            Factors(self._alpha, self._mass, beyond), self._sums, serial_items=2,
        )  # fmt: skip
        x, x_before, shares, next_shares = self._ranks
        self._ranks = RankVectors(x_before, x, next_shares, shares)
        self._mass = math.fsum(self._sums.masses)
        return math.fsum(self._sums.residuals)


@compiled
def sum_weights(low, high, begin, degree, step, weights, strengths):
    """Sum the weights of each row."""
    last = begin.size - 1
    for vertex in range(low, high):
        ahead = min(vertex + FAR_AHEAD, last)
        prefetch_words(weights, begin[ahead], np.int64(degree[ahead]) * step)
        total = 0.0
        base = begin[vertex]
        for i in range(base, base + np.int64(degree[vertex]) * step, step):
            weight = np.float64(weights[i])
            total += weight if weight >= 0.0 else np.nan
        strengths[vertex] = total if can_be_shared(total) else np.nan


@compiled
def pull(low, high, bounds, rows, given, ranks, factors, sums):
    """One step for the rows of blocks ``low … high - 1``."""
    indptr, indices, weight = rows
    inverse, teleport, dangling = given
    x, x_before, shares, next_shares = ranks
    alpha, mass, beyond = factors
    weighted = weight.size > 0
    for block in range(low, high):
        residual, next_mass = 0.0, 0.0
        for vertex in range(bounds[block], bounds[block + 1]):
            # gathered = (P^T x)[vertex]
            gathered = 0.0
            if weighted:
                for i in range(indptr[vertex], indptr[vertex + 1]):
                    gathered += shares[indices[i]] * np.float64(weight[i])
            else:
                for i in range(indptr[vertex], indptr[vertex + 1]):
                    gathered += shares[indices[i]]
            # G x = alpha (P^T x + m w) + (1 - alpha) p
            rank = alpha * (gathered + mass * dangling[vertex]) + (1.0 - alpha) * teleport[vertex]
            residual += abs(rank - x[vertex])
            if beyond != 0.0:
                rank += beyond * (rank - x_before[vertex])
            x_before[vertex] = rank
            next_shares[vertex] = rank * inverse[vertex]
            if inverse[vertex] == 0.0:
                next_mass += rank
        sums.residuals[block] = residual
        sums.masses[block] = next_mass
