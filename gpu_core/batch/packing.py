"""Copy and narrow all lists of a batch in one multi-threaded pass.

A batch is a dozen arrays, and to hand each of them to threads takes longer than to copy it. So the
lists are written down as lines of one table, and threads take ranges of all bytes that are read:
such a range may be the end of one list and the beginning of the next.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import carray

from ..jit.compile import compiled
from ..jit.parallel import for_ranges
from ..jit.pointers import bytes_at, int64s_at, uint32s_at
from .dense_ids import narrow_ids

#: What becomes of a list: copied as it is; offsets to uint32; dense ids to uint32, of the lists to
#: put and of those to delete.
COPY, OFFSETS, PUT_IDS, DELETE_IDS = range(4)

#: Columns of the table: one of these, addresses of source and target, bytes that are read, and
#: their position among those of all lists.
_MODE, _SOURCE, _TARGET, _BYTES, _BEGIN = range(5)
#: Lists begin, and ranges are cut, at multiples of so many bytes that are read: no item is cut, and
#: no line of the cache is written by two threads.
_CUT_BYTES: Final = 128
#: A thread is handed so much at least: to start it takes as long as to copy a part of that.
_BYTES_A_THREAD: Final = 1 << 20


class Narrowed(NamedTuple):
    """Result of narrowing the ids to put, or to delete."""

    #: All bits that are set in any of them: negative where one is.
    bits: int
    #: The largest, if all are below 2^32; -1 where there is none.
    largest: int


def copy_lists(
    lists: list[tuple[int, npt.NDArray[Any], npt.NDArray[Any]]], threads: int
) -> tuple[Narrowed, Narrowed]:
    """Copy contiguous lists; returns the results for ids to put and to delete.

    Parameters
    ----------
    lists
        What becomes of each list; its source, int64 where it is narrowed; and its target, as many
        items, uint32 where it is narrowed.
    threads
        That work at most.
    """
    table = np.empty((len(lists), 5), np.int64)
    size = 0
    for line, (mode, source, target) in zip(table, lists, strict=True):
        line[:] = mode, source.ctypes.data, target.ctypes.data, source.nbytes, size
        size += -(-source.nbytes // _CUT_BYTES) * _CUT_BYTES
    share = max(-(-size // threads), _BYTES_A_THREAD)
    share = -(-share // _CUT_BYTES) * _CUT_BYTES
    found = for_ranges(copy_bytes, size, table, block=share, serial_items=0)
    put, delete = [0, -1], [0, -1]
    for put_bits, put_largest, delete_bits, delete_largest in found:
        put = [put[0] | put_bits, max(put[1], put_largest)]
        delete = [delete[0] | delete_bits, max(delete[1], delete_largest)]
    return Narrowed(*put), Narrowed(*delete)


@compiled
def copy_bytes(low, high, table):
    """Copy bytes ``low … high - 1`` of all lists together.

    Returns
    -------
    put_bits, put_largest, delete_bits, delete_largest : int64
        As of `Narrowed`.
    """
    put_bits, put_largest = np.int64(0), np.int64(-1)
    delete_bits, delete_largest = np.int64(0), np.int64(-1)
    for number in range(table.shape[0]):
        begin, size = table[number, _BEGIN], table[number, _BYTES]
        first, last = max(low - begin, 0), min(high - begin, size)
        if first >= last:
            continue
        mode = table[number, _MODE]
        source, target = table[number, _SOURCE], table[number, _TARGET]
        if mode == COPY:
            read = carray(bytes_at(source + first), last - first)
            written = carray(bytes_at(target + first), last - first)
            for i in range(np.uint64(last - first)):
                written[i] = read[i]
            continue
        items = (last - first) // 8
        wide = carray(int64s_at(source + first), items)
        narrow = carray(uint32s_at(target + first // 2), items)
        bits, largest = narrow_ids(0, items, wide, narrow)
        if mode == PUT_IDS:
            put_bits, put_largest = put_bits | bits, max(put_largest, largest)
        elif mode == DELETE_IDS:
            delete_bits, delete_largest = delete_bits | bits, max(delete_largest, largest)
    return put_bits, put_largest, delete_bits, delete_largest
