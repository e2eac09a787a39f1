"""Rows of a CSR by vertex index, brought into the order of users' ids: for state hashes.

The same as an engine's ``csr`` makes of its image, but of the arrays of a checkpoint: so the hash
of a copy is computed by its owner, while the graph goes on.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..batch.serial_sort import SHORT_RUN, sort_by_radix, sort_keys
from ..jit.arrays import readonly
from ..jit.compile import compiled, inlined
from ..jit.parallel import for_ranges
from ..jit.prefetch import AHEAD, FAR_AHEAD, prefetch

Int64s = npt.NDArray[np.int64]

#: Bits of a key below the rank, for the position in the row.
_AT_BITS = 32
_AT_MASK = np.uint64((1 << 32) - 1)
#: Entries that the memory for one row holds at first; it grows with the longest row.
_ROOM = 1 << 10
#: Entries ahead of which ranks are asked for.
_ENTRIES_AHEAD = np.uint64(48)
#: After the ranks of a short row: none is above it.
_LAST_RANK = np.uint32((1 << 32) - 1)


class RowsInOrder(NamedTuple):
    """Adjacencies of the vertices in increasing order of their ids."""

    #: int32[m]: positions of the neighbors in that order, increasing within a row.
    columns: npt.NDArray[np.int32]
    #: int64[m]: which entry each of them was; empty unless requested.
    sources: Int64s


def order_of(ids: Int64s) -> Int64s:
    """int64[n]: positions that bring distinct ids into increasing order."""
    if ids.size == 0:
        return np.empty(0, np.int64)
    low, high = int(ids.min()), int(ids.max())
    bits, span = (ids.size - 1).bit_length(), (high - low).bit_length()
    # A key is what fits of an id, from the upper end, and its position.
    left_out = max(0, span + bits - 64)
    keys = (ids.view(np.uint64) - np.uint64(low % (1 << 64))) >> np.uint64(left_out)
    keys = (keys << np.uint64(bits)) | np.arange(ids.size, dtype=np.uint64)
    keys = sort_keys(keys, bits, span - left_out)
    order = (keys & np.uint64((1 << bits) - 1)).view(np.int64)
    ordered = ids[order]
    # Rare: of hashes, two in a million that agree in 44 bits.
    return order if np.all(ordered[:-1] < ordered[1:]) else np.argsort(ids)


def rows_in_order(
    order: Int64s,
    starts: Int64s,
    columns: npt.NDArray[np.uint32],
    *,
    with_sources: bool,
) -> RowsInOrder:
    """Copy adjacencies into the order of their vertices.

    Parameters
    ----------
    order
        int64[n]: vertex indices, as they are to come.
    starts
        int64[v + 1]: where the row of each vertex index begins.
    columns
        uint32[m]: neighbors by vertex index, all of them in ``order``, distinct within a row.
    with_sources
        Whether to return which entry each one was.
    """
    ranks = np.zeros(starts.size - 1, np.uint32)
    ranks[order] = np.arange(order.size, dtype=np.uint32)
    indptr = np.zeros(order.size + 1, np.int64)
    np.cumsum(np.diff(starts)[order], out=indptr[1:])
    out = np.empty(columns.size, np.int32)
    sources = np.empty(columns.size if with_sources else 0, np.int64)
    bits = max(1, order.size - 1).bit_length()
    for_ranges(
        copy_rows, starts.size - 1, starts, readonly(columns), ranks, bits, indptr, out, sources
    )
    return RowsInOrder(out, sources)


def gathered(items: Int64s, positions: npt.NDArray[np.int32]) -> Int64s:
    """int64[n]: ``items[positions]``; all positions must be there.

    NumPy widens positions first and checks each, which takes three times as long.
    """
    out = np.empty(positions.size, np.int64)
    for_ranges(gather, out.size, readonly(items), readonly(positions), out)
    return out


@compiled
def copy_rows(low, high, starts, columns, ranks, bits, indptr, out, sources):
    """Copy the rows of vertices ``low … high - 1`` to their positions, each sorted by rank.

    Read from front to back and written all over: the other way each row would be waited for, which
    takes twice as long.
    """
    # For all rows: most are short, and to take memory takes longer than to sort them.
    keys, spare = np.empty(_ROOM, np.uint64), np.empty(_ROOM, np.uint64)
    few = np.empty(SHORT_RUN, np.uint32)
    last = np.uint64(max(columns.size, 1) - 1)
    for vertex in range(low, high):
        prefetch(indptr, np.int64(ranks[min(vertex + FAR_AHEAD, high - 1)]))
        prefetch(out, indptr[ranks[min(vertex + AHEAD, high - 1)]])
        start, to = starts[vertex], indptr[ranks[vertex]]
        size = starts[vertex + 1] - start
        if size == 0:
            continue
        if size <= SHORT_RUN:
            for at in range(np.uint64(size)):
                position = np.uint64(start) + at
                prefetch(ranks, np.int64(columns[min(position + _ENTRIES_AHEAD, last)]))
                few[at] = ranks[columns[position]]
            # Of lengths that are known, the comparisons take few instructions.
            if size <= 8:
                _put_in_order(few, size, 8, start, to, out, sources)
            elif size <= 16:
                _put_in_order(few, size, 16, start, to, out, sources)
            else:
                _put_in_order(few, size, SHORT_RUN, start, to, out, sources)
            continue
        if size > keys.size:
            keys, spare = np.empty(2 * size, np.uint64), np.empty(2 * size, np.uint64)
        for at in range(size):
            rank = np.uint64(ranks[columns[start + at]])
            keys[at] = rank << np.uint64(_AT_BITS) | np.uint64(at)
        row_keys = sort_by_radix(keys[:size], spare[:size], _AT_BITS, bits)
        for at in range(size):
            out[to + at] = row_keys[at] >> np.uint64(_AT_BITS)
            if sources.size:
                sources[to + at] = start + np.int64(row_keys[at] & _AT_MASK)


@inlined
def _put_in_order(few, size, width, start, to, out, sources):
    """Write each of ``size`` distinct ranks after as many positions as others are below it.

    A sort has a branch for each step, which would be guessed wrong every other time.
    """
    for at in range(size, width):
        few[at] = _LAST_RANK
    for at in range(size):
        rank = few[at]
        below = np.int64(0)
        for other in range(np.uint64(width)):
            below += few[other] < rank
        out[to + below] = rank
        if sources.size:
            sources[to + below] = start + at


@compiled
def gather(low, high, items, positions, out):
    """Write the item at each position."""
    for i in range(np.uint64(low), np.uint64(high)):
        out[i] = items[np.uint64(positions[i])]
