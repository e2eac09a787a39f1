"""Each edge of an undirected graph once, of a CSR that has its entry in both rows.

Entries of a row increase, so those that are kept, from the row's own number on, are its end: found
by bisection, and copied. Kernels release the GIL, so batches are applied meanwhile.
"""

import numpy as np
import numpy.typing as npt

from ..jit.arrays import readonly
from ..jit.compile import compiled
from ..jit.parallel import for_ranges

Int64s = npt.NDArray[np.int64]


def edges_once(
    indptr: Int64s, columns: npt.NDArray[np.uint32], *, with_sources: bool
) -> tuple[Int64s, npt.NDArray[np.uint32], Int64s]:
    """Of two entries of an edge keep the one with row <= column.

    Parameters
    ----------
    indptr, columns
        int64[n + 1], uint32[m]: rows, and positions of rows that increase within each.
    with_sources
        Whether to return which entry each one was.

    Returns
    -------
    degrees : int64[n]
        Edges of each row.
    columns : uint32[number of edges]
    sources : int64[number of edges]
        Positions in the columns that were given; empty unless requested.
    """
    count = indptr.size - 1
    first, starts = np.empty(count, np.int64), np.zeros(count + 1, np.int64)
    columns = readonly(columns)
    for_ranges(find_ends, count, indptr, columns, first)
    degrees = indptr[1:] - first
    np.cumsum(degrees, out=starts[1:])
    kept = np.empty(starts[-1], np.uint32)
    sources = np.empty(kept.size if with_sources else 0, np.int64)
    for_ranges(copy_ends, count, first, starts, columns, kept, sources)
    return degrees, kept, sources


@compiled
def find_ends(low, high, indptr, columns, first):
    """First entry of each row that is not below the row's number; the row's end: there is none."""
    for row in range(low, high):
        begin, end = indptr[row], indptr[row + 1]
        while begin < end:
            middle = (begin + end) >> 1
            if columns[middle] < row:
                begin = middle + 1
            else:
                end = middle
        first[row] = begin


@compiled
def copy_ends(low, high, first, starts, columns, out, sources):
    """Copy the entries from ``first[row]`` on to ``starts[row]`` on."""
    for row in range(low, high):
        start, to = first[row], starts[row]
        size = starts[row + 1] - to
        for at in range(np.uint64(size)):
            out[np.uint64(to) + at] = columns[np.uint64(start) + at]
        if sources.size:
            for at in range(size):
                sources[to + at] = start + at
