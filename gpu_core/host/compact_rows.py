"""Compact rows: a CSR copy of all adjacencies, made for one call of an algorithm and then dropped.

Result: ``indptr`` int64[n + 1] and ``indices`` uint32[m] by vertex index, neighbours in increasing
order as they stand on the pages, and float32 weights where they are asked for. Absent vertices have
empty rows.

A copy takes one walk over the pages. Algorithms that read every edge many times (PageRank) or out
of order (triangles) then read plain arrays: no vertex record, no size class and no chain between
them and the next edge, and one compiled loop for every layout and storage.

Work is cut into *blocks of rows* of about equal cost (`blocks_of_rows`). The cut depends on the
rows alone, never on the number of threads, so sums that are taken block by block keep their order.

Not here: snapshots for users (`snapshot.py`), which renumber vertices by users' ids.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..layouts import next_segment, open_adjacency, segment_base, strides
from .compile import compiled
from .parallel import for_ranges
from .prefetch import FAR_AHEAD, prefetch_row

Int64s = npt.NDArray[np.int64]

#: Cost of a block; a row costs one per entry and `ROW_COST` for itself.
BLOCK_COST = 1 << 15
ROW_COST = 4


class CompactRows(NamedTuple):
    """Adjacencies of all vertices in one direction."""

    #: int64[vertex_count + 1]
    indptr: Int64s
    #: uint32[indptr[-1]], increasing within a row.
    indices: npt.NDArray[np.uint32]
    #: float32[indptr[-1]], or float32[0] where no weights were asked for.
    weight: npt.NDArray[np.float32]


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


def compact_rows(engine: Any, direction: str, *, weighted: bool = False) -> CompactRows:
    """Copy the adjacencies of one direction.

    Parameters
    ----------
    engine
        Whose image is read.
    direction
        ``out``, or ``in`` where the engine has the reverse adjacency.
    weighted
        Copy the weights too; the records must have some.
    """
    image, shape, count = engine.image, engine.shape(direction), engine.vertex_count
    lengths = np.empty(count, np.int64)
    for_ranges(row_lengths, count, image, shape, lengths)
    indptr = _indptr(lengths)
    entries = int(indptr[-1])
    rows = CompactRows(
        indptr,
        np.empty(entries, np.uint32),
        np.empty(entries if weighted else 0, np.float32),
    )
    bounds = blocks_of_rows(lengths + ROW_COST)
    for_ranges(
        copy_rows,
        bounds.size - 1,
        bounds,
        image,
        image.view(np.float32),
        shape,
        *rows,
        serial_items=2,
    )
    return rows


def transposed(rows: CompactRows) -> CompactRows:
    """Turn every edge around: the rows of the other direction, by counting sort."""
    count = rows.indptr.size - 1
    lengths = np.zeros(count, np.int64)
    for_ranges(count_targets, count, rows.indices, lengths)
    out = CompactRows(_indptr(lengths), np.empty_like(rows.indices), np.empty_like(rows.weight))
    for_ranges(turn_rows, count, *rows, out.indptr[:-1].copy(), out.indices, out.weight)
    return out


def _indptr(lengths: Int64s) -> Int64s:
    indptr = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr


@compiled
def row_lengths(low, high, image, shape, lengths):
    """Degree of each vertex in the direction of ``shape``."""
    for vertex in range(low, high):
        lengths[vertex] = open_adjacency(image, shape, vertex)[1]


@compiled
def copy_rows(low, high, bounds, image, floats, shape, indptr, indices, weight):
    """Copy the rows of blocks ``low … high - 1``; ``floats`` is the image seen as float32."""
    weighted = weight.size > 0
    for vertex in range(bounds[low], bounds[high]):
        prefetch_row(image, shape, vertex + FAR_AHEAD)
        segment, degree, entries, pages = open_adjacency(image, shape, vertex)
        step, field = strides(shape, entries)
        at = indptr[vertex]
        while degree > 0:
            base = segment_base(shape, segment, pages)
            here = min(degree, entries)
            for i in range(here):
                indices[at + i] = image[base + i * step]
            if weighted:
                for i in range(here):
                    weight[at + i] = floats[base + i * step + field]
            at += here
            degree -= entries
            if degree > 0:
                segment = next_segment(image, shape, segment)


@compiled
def count_targets(low, high, indices, lengths):
    """Count how often each of the vertices ``low … high - 1`` is a neighbour."""
    for i in range(indices.size):
        target = np.int64(indices[i])
        if low <= target < high:
            lengths[target] += 1


@compiled
def turn_rows(low, high, indptr, indices, weight, place, turned, turned_weight):
    """Write the rows of targets ``low … high - 1``; ``place`` says where each target's row goes on.

    Sources come in increasing order, so the new rows are sorted too.
    """
    weighted = weight.size > 0
    for source in range(indptr.size - 1):
        for i in range(indptr[source], indptr[source + 1]):
            target = np.int64(indices[i])
            if low <= target < high:
                at = place[target]
                place[target] = at + 1
                turned[at] = np.uint32(source)
                if weighted:
                    turned_weight[at] = weight[i]
