"""Common neighbors on the host: two rows merged, or the shorter searched for in the longer.

Rows of like length are merged without a branch that could be guessed wrong. Where one is many times
longer, each entry of the other is looked for by galloping: from where the last one was found in
steps that double, then by halving. Threads have ranges of pairs.
"""

import numpy as np
import numpy.typing as npt

from ....jit.compile import compiled, inlined
from ....jit.parallel import for_ranges
from ....rows import Rows
from ...queries.row_search import gallop

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]

#: Entries that are merged in the time in which one is found by galloping.
_MERGED_A_SEARCH = 8
#: Pairs that one thread has counted before a second one has begun.
_SERIAL_PAIRS = 512


def count_common(workspace: None, rows: Rows, pairs: UInt32s) -> tuple[Int64s, Int64s]:
    """Count the neighbors of pairs.

    Parameters
    ----------
    rows
        Of one direction.
    pairs
        uint32[2, k]: vertex indices.

    Returns
    -------
    common, lengths : int64[k] each
        Neighbors that both vertices of each pair have, and how long their rows are together.
    """
    sources, targets = pairs
    counts = np.empty(sources.size, np.int64)
    for_ranges(
        count_pairs, sources.size, sources, targets, rows.walked, counts,
        serial_items=_SERIAL_PAIRS,
    )  # fmt: skip
    return counts, rows.degree[sources].astype(np.int64) + rows.degree[targets]


@compiled
def count_pairs(low, high, sources, targets, walked, counts):
    """Count for the pairs ``low … high - 1``."""
    begin, degree, columns, step = walked
    for pair in range(low, high):
        x, y = np.int64(sources[pair]), np.int64(targets[pair])
        if degree[x] > degree[y]:
            x, y = y, x
        here, there = begin[x], begin[y]
        few, many = np.int64(degree[x]), np.int64(degree[y])
        if few * _MERGED_A_SEARCH < many:
            counts[pair] = common_by_search(columns, here, few, there, many, step)
        else:
            counts[pair] = common_by_merge(columns, here, few, there, many, step)


@inlined
def common_by_search(columns, here, few, there, many, step):
    """Common entries of two rows, of which the second is much longer."""
    at = found = np.int64(0)
    for i in range(few):
        neighbor = columns[here + i * step]
        at = gallop(columns, there, many, step, at, neighbor)
        if at == many:
            break
        found += columns[there + at * step] == neighbor
    return found


@inlined
def common_by_merge(columns, here, few, there, many, step):
    """Common entries of two rows."""
    i = j = found = np.int64(0)
    while i < few and j < many:
        one, other = columns[here + i * step], columns[there + j * step]
        found += one == other
        i += one <= other
        j += other <= one
    return found
