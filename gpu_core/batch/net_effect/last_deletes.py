"""Edge rows that come after the last delete of both their end points.

A batch deletes few vertices and names many end points, so the deleted ones go into a hash table of
at most one quarter load, and every end point is looked up there. A filter before it has a *mark* of
one bit for each sixteenth of a slot: nearly all end points find none, so nearly all branches are
predicted, and the filter is small enough for the first cache. The table is only looked up in, so
its order of insertion does not show in any result.

Input: ``deleted`` has no repeats. Not here: which delete is the last one (`net_effect.py`).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...jit.arrays import readonly
from ...jit.compile import compiled, inlined

#: Fate of a row: 0 is a vertex row. An edge row that stays has all three bits.
EDGE, SRC_LIVES, DST_LIVES = 1, 2, 4
STAYS = EDGE | SRC_LIVES | DST_LIVES
#: A self loop that is dropped.
LOOP = 8

#: 2^MARK_BITS marks a slot.
MARK_BITS = 4


class DeletedVertices(NamedTuple):
    """Hash table of the vertices that a batch deletes. Kernels take it as it is."""

    #: int64[k]: these vertices, and the position of the last row that deletes each.
    vertices: npt.NDArray[np.int64]
    last_delete: npt.NDArray[np.int64]
    #: int64[2^bits]: position in ``vertices``, -1 is empty.
    slots: npt.NDArray[np.int64]
    #: uint64: a bit for each mark.
    marks: npt.NDArray[np.uint64]
    bits: int


def fates_of_rows(
    src: npt.NDArray[np.int64],
    dst: npt.NDArray[np.int64],
    is_vertex: npt.NDArray[np.bool_],
    deleted: npt.NDArray[np.int64],
    last_delete: npt.NDArray[np.int64],
    *,
    keep_loops: bool,
) -> npt.NDArray[np.uint8]:
    """Fate of each row, uint8[n].

    Parameters
    ----------
    src, dst, is_vertex
        int64[n], int64[n], bool[n]
    deleted, last_delete
        int64[k]: the vertices that the batch deletes, and the position of the last such row.
    keep_loops
        Whether self loops stay.
    """
    bits = max(2, (4 * deleted.size - 1).bit_length())
    table = DeletedVertices(
        readonly(deleted),
        readonly(last_delete),
        np.full(1 << bits, -1, dtype=np.int64),
        np.zeros(1 << (bits + MARK_BITS - 6), dtype=np.uint64),
        bits,
    )
    fill_slots(table)
    fates = np.empty(src.size, dtype=np.uint8)
    write_fates(readonly(src), readonly(dst), readonly(is_vertex), table, keep_loops, fates)
    return fates


@inlined
def hash_of(vertex, bits):
    """The high bits of a product with the golden ratio (Fibonacci hash)."""
    return (np.uint64(vertex) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits)


@compiled
def fill_slots(table):
    """Put the position of each vertex into its slot, and set its mark."""
    deleted, _, slots, marks, bits = table
    mask = slots.size - 1
    for i in range(deleted.size):
        mark = hash_of(deleted[i], bits + MARK_BITS)
        marks[mark >> np.uint64(6)] |= np.uint64(1) << (mark & np.uint64(63))
        slot = np.int64(mark >> np.uint64(MARK_BITS))
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = i


@inlined
def last_delete_of(vertex, deleted, last_delete, slots, marks, bits):
    """Position of the last delete of a vertex; -1 if the batch does not delete it."""
    mark = hash_of(vertex, bits + MARK_BITS)
    if marks[mark >> np.uint64(6)] >> (mark & np.uint64(63)) & np.uint64(1) == 0:
        return np.int64(-1)
    mask = slots.size - 1
    slot = np.int64(mark >> np.uint64(MARK_BITS))
    while slots[slot] >= 0:
        if deleted[slots[slot]] == vertex:
            return last_delete[slots[slot]]
        slot = (slot + 1) & mask
    return np.int64(-1)


@compiled
def write_fates(src, dst, is_vertex, table, keep_loops, fates):
    """Write the fate of each row."""
    deleted, last_delete, slots, marks, bits = table
    for row in range(src.size):
        if is_vertex[row]:
            fates[row] = 0
        elif src[row] == dst[row] and not keep_loops:
            fates[row] = LOOP
        else:
            fate = EDGE
            if row > last_delete_of(src[row], deleted, last_delete, slots, marks, bits):
                fate |= SRC_LIVES
            if row > last_delete_of(dst[row], deleted, last_delete, slots, marks, bits):
                fate |= DST_LIVES
            fates[row] = fate
