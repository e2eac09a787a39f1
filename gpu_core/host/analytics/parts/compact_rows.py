"""Temporary CSR copy of all adjacency lists, for one call of an algorithm.

Result: ``indptr`` int64[n + 1] and ``indices`` uint32[m] by vertex index, neighbors in increasing
order, and the weights where they are asked for. Absent vertices have empty rows.

Algorithms read every edge many times (PageRank) or out of order (triangles). Over plain arrays
there are no gaps between them and the next edge. Rows that are pinned are compact already.

Work is cut into *blocks of rows* of about equal cost (`blocks_of_rows`). The cut depends on the
rows alone, never on the number of threads, so sums that are taken block by block keep their order.

Not here: snapshots for users (`copies/snapshot.py`), which renumber vertices by users' ids.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....jit.compile import compiled
from ....jit.parallel import for_ranges
from ....jit.prefetch import FAR_AHEAD, prefetch_words
from ....rows import Adjacencies, Rows
from .weighted_rows import weighted_rows

Int64s = npt.NDArray[np.int64]

#: Cost of a block; a row costs one per entry and `ROW_COST` for itself.
BLOCK_COST = 1 << 15
ROW_COST = 4


class CompactRows(NamedTuple):
    """Rows of all vertices in one direction, one after the other."""

    #: int64[vertex_count + 1]
    indptr: Int64s
    #: uint32[indptr[-1]], increasing within a row.
    indices: npt.NDArray[np.uint32]
    #: float32 or float64[indptr[-1]]; empty where no weights were asked for.
    weight: npt.NDArray[np.floating[Any]]


def blocks_of_rows(cost: Int64s, block_cost: int = BLOCK_COST) -> Int64s:
    """Cut rows into blocks of about equal cost.

    Parameters
    ----------
    cost
        int64[n], cost of each row, ``>= 0``.

    Returns
    -------
    bounds : int64[b + 1]
        Block ``k`` has rows ``bounds[k] … bounds[k + 1] - 1``; a row is never cut.
    """
    upto = np.cumsum(cost)
    total = int(upto[-1]) if upto.size else 0
    cuts = np.searchsorted(upto, np.arange(block_cost, total, block_cost)) + 1
    return np.unique(np.concatenate([[0], cuts, [cost.size]])).astype(np.int64)


def compact_rows(rows: Rows, *, weighted: bool = False) -> CompactRows:
    """Rows without gaps: those of a pinned copy as they are, those of a live graph copied.

    Parameters
    ----------
    rows
        Of one direction.
    weighted
        With the weights, which ``rows`` must have.
    """
    weights = np.empty(0, np.float32) if rows.weights is None or not weighted else rows.weights
    if rows.indptr is not None:
        return CompactRows(rows.indptr, rows.columns, weights)
    indptr = indptr_of(rows.degree)
    copied = CompactRows(
        indptr,
        np.empty(indptr[-1], np.uint32),
        np.empty(indptr[-1] if weighted else 0, weights.dtype),
    )
    bounds = blocks_of_rows(np.diff(indptr) + ROW_COST)
    for_ranges(
        copy_rows, bounds.size - 1, bounds, weighted_rows(rows, weighted=weighted), copied,
        serial_items=2,
    )  # fmt: skip
    return copied


def in_rows(adjacencies: Adjacencies, *, weighted: bool = False) -> CompactRows:
    """Rows of in-neighbors, also where no reverse adjacency is stored."""
    if adjacencies.into is not None:
        return compact_rows(adjacencies.into, weighted=weighted)
    return transposed(compact_rows(adjacencies.out, weighted=weighted))


def transposed(rows: CompactRows) -> CompactRows:
    """Turn every edge around: the rows of the other direction, by counting sort."""
    count = rows.indptr.size - 1
    lengths = np.zeros(count, np.int64)
    for_ranges(count_targets, count, rows.indices, lengths)
    out = CompactRows(indptr_of(lengths), np.empty_like(rows.indices), np.empty_like(rows.weight))
    for_ranges(transpose_rows, count, *rows, out.indptr[:-1].copy(), out.indices, out.weight)
    return out


def indptr_of(lengths: npt.NDArray[np.integer[Any]]) -> Int64s:
    """int64[n + 1]: where each of rows of these lengths begins, one after the other."""
    indptr = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr


@compiled
def copy_rows(low, high, bounds, rows, copied):
    """Copy the rows of blocks ``low … high - 1``."""
    begin, _, columns, step, weights, weight_begin = rows
    indptr, indices, weight = copied
    weighted = weight.size > 0
    last = begin.size - 1
    for vertex in range(bounds[low], bounds[high]):
        ahead = min(vertex + FAR_AHEAD, last)
        prefetch_words(columns, begin[ahead], (indptr[ahead + 1] - indptr[ahead]) * step)
        at = indptr[vertex]
        degree = indptr[vertex + 1] - at
        base = begin[vertex]
        for i in range(degree):
            indices[at + i] = columns[base + i * step]
        if weighted:
            base = weight_begin[vertex]
            for i in range(degree):
                weight[at + i] = weights[base + i * step]


@compiled
def count_targets(low, high, indices, lengths):
    """Count how often each of the vertices ``low … high - 1`` is a neighbor."""
    for i in range(indices.size):
        target = np.int64(indices[i])
        if low <= target < high:
            lengths[target] += 1


@compiled
def transpose_rows(low, high, indptr, indices, weight, position, transposed, transposed_weight):
    """Write the rows of targets ``low … high - 1``; ``position``: where each target's row goes on.

    Sources come in increasing order, so the new rows are sorted too.
    """
    weighted = weight.size > 0
    for source in range(indptr.size - 1):
        for i in range(indptr[source], indptr[source + 1]):
            target = np.int64(indices[i])
            if low <= target < high:
                at = position[target]
                position[target] = at + 1
                transposed[at] = np.uint32(source)
                if weighted:
                    transposed_weight[at] = weight[i]
