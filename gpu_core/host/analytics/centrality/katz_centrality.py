"""Katz centrality on the host: a step pulls over in-edges, on all threads.

Rows are a compact copy of the in-adjacencies (`compact_rows.py`), as of PageRank: a step reads the
edges once and every vector once. As long as all values are the same, 0 before the first step and
``beta`` before the second, a row without weights is summed up by its length. Sums are taken within
a row, within a block of rows, and over the blocks, so threads change no bit.

Not here: what the values mean, and when to stop (`algorithms/centrality/katz_centrality.py`).
"""

import math

import numpy as np
import numpy.typing as npt

from ....algorithms.centrality.katz_centrality import LEAST_NORM, MOST_NORM, normalize
from ....jit.compile import compiled
from ....jit.parallel import for_ranges
from ....rows import Adjacencies
from ..parts.compact_rows import ROW_COST, blocks_of_rows, in_rows

Vector = npt.NDArray[np.float64]


def iterate(
    workspace: None,
    adjacencies: Adjacencies,
    *,
    alpha: float,
    beta: float,
    threshold: float,
    max_iter: int,
    normalized: bool,
    weighted: bool,
) -> tuple[Vector, int, float]:
    """Make steps until one changes the values by less than ``threshold``, or ``max_iter`` of them.

    It ends as well where the values are no numbers any more.

    Parameters
    ----------
    adjacencies
        Rows that are read, with weights if ``weighted``.
    alpha, beta, normalized
        As of `algorithms.centrality.katz_centrality`.

    Returns
    -------
    values : float64[vertex_count]
    iterations, residual
        Steps made, and the L1 norm of what the last of them changed.
    """
    if not adjacencies.out.num_vertices:
        return np.zeros(adjacencies.out.count), 0, 0.0
    rows = in_rows(adjacencies, weighted=weighted)
    bounds = blocks_of_rows(np.diff(rows.indptr) + ROW_COST)
    # Absent vertices stay at 0.
    x, following = np.zeros(adjacencies.out.count), np.zeros(adjacencies.out.count)
    residuals, squares = np.empty(bounds.size - 1), np.empty(bounds.size - 1)
    present, residual, norm, iterations = adjacencies.out.present, math.inf, 0.0, 0
    # By weight, a row of equal values is summed up no sooner than any other.
    commons = (0.0,) if weighted else (0.0, beta)
    while iterations < max_iter and not residual < threshold:
        common = commons[iterations] if iterations < len(commons) else math.nan
        for_ranges(
            pull, residuals.size, bounds, rows, (alpha, beta, common), (present, x, following),
            (residuals, squares), serial_items=2,
        )  # fmt: skip
        x, following = following, x
        iterations += 1
        with np.errstate(over="ignore"):
            residual, norm = float(residuals.sum()), math.sqrt(squares.sum())
        if not math.isfinite(residual):
            break
    if normalized and LEAST_NORM < norm < MOST_NORM:
        x /= norm
    elif normalized:
        normalize(x)
    return x, iterations, residual


@compiled
def pull(low, high, bounds, rows, factors, vectors, sums):
    """One step for the rows of blocks ``low … high - 1``; ``common``: all of ``x``, or NaN."""
    indptr, indices, weight = rows
    alpha, beta, common = factors
    present, x, following = vectors
    residuals, squares = sums
    weighted, is_alike = weight.size > 0, not np.isnan(common)
    for block in range(low, high):
        residual, square = 0.0, 0.0
        for vertex in range(bounds[block], bounds[block + 1]):
            if not present[vertex]:
                continue
            gathered = 0.0
            if is_alike:
                gathered = common * (indptr[vertex + 1] - indptr[vertex])
            elif weighted:
                for i in range(indptr[vertex], indptr[vertex + 1]):
                    gathered += x[indices[i]] * np.float64(weight[i])
            else:
                for i in range(indptr[vertex], indptr[vertex + 1]):
                    gathered += x[indices[i]]
            # x' = alpha A^T x + beta
            value = alpha * gathered + beta
            following[vertex] = value
            residual += abs(value - x[vertex])
            square += value * value
        residuals[block] = residual
        squares[block] = square
