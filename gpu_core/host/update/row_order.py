"""Sort the entries within each row of a CSR.

Entries of a row stand together already, and most rows have few, which are sorted by insertion.
"""

import numpy as np
import numpy.typing as npt

from ...jit.compile import compiled
from ...jit.parallel import for_ranges
from .parallel_sort import sort_alone

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]

#: A key is column | number of the entry: vertex indices and numbers have 32 bits.
_COLUMN_BIT = 32
_NUMBER = np.uint64((1 << _COLUMN_BIT) - 1)
_COLUMN_SHIFT = np.uint64(_COLUMN_BIT)
#: Columns of a row up to this number are sorted by insertion.
_FEW = 24


def ordered_columns(
    indptr: Int64s, columns: UInt32s, *, with_source: bool
) -> tuple[UInt32s, UInt32s]:
    """Sort the columns of each row.

    Parameters
    ----------
    indptr, columns
        int64[r + 1] and uint32[m]; the columns of a row are distinct.
    with_source
        Whether to say where each entry was.

    Returns
    -------
    columns, source
        In order; ``source`` is uint32[m], the number that each entry had, or empty.
    """
    sorted_columns = np.empty_like(columns)
    source = np.empty(columns.size if with_source else 0, np.uint32)
    for_ranges(order_rows, indptr.size - 1, indptr, columns, sorted_columns, source)
    return sorted_columns, source


@compiled
def order_rows(low, high, indptr, columns, sorted_columns, source):
    """Write rows ``low … high - 1``, sorted within."""
    one = np.uint64(1)
    with_source = source.size > 0
    few = np.empty(_FEW, np.uint64)
    for row in range(np.uint64(low), np.uint64(high)):
        begin = np.uint64(indptr[row])
        count = np.uint64(indptr[row + one]) - begin
        if count == one:
            sorted_columns[begin] = columns[begin]
            if with_source:
                source[begin] = begin
            continue
        entries = few
        if count > np.uint64(_FEW):
            entries = np.empty(count, np.uint64)
        for j in range(count):
            entry = (np.uint64(columns[begin + j]) << _COLUMN_SHIFT) | (begin + j)
            position = j
            if count <= np.uint64(_FEW):
                while position > np.uint64(0) and entries[position - one] > entry:
                    entries[position] = entries[position - one]
                    position -= one
            entries[position] = entry
        if count > np.uint64(_FEW):
            entries = sort_alone(entries, np.empty(count, np.uint64), _COLUMN_BIT)
        for j in range(count):
            sorted_columns[begin + j] = entries[j] >> _COLUMN_SHIFT
            if with_source:
                source[begin + j] = entries[j] & _NUMBER
