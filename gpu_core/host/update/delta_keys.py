"""Keys of the entries of a delta, which sort them: row | column | kind | number of the put.

Keys are packed here, and unpacked to entries that are grouped by row; between the two `deltas.py`
sorts them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...jit.compile import compiled


class KeyBits(NamedTuple):
    """Bits of the parts of a key, row | column | kind | number of the put."""

    #: Of the row, and of the column.
    vertex: int
    #: Of the number, which is there to be sorted along; 0: it does not fit, or there is none.
    number: int

    @classmethod
    def of(cls, vertex_count: int, number: int) -> KeyBits:
        """Bits for indices below ``vertex_count``, and for a number of so many bits if they fit."""
        vertex = max(int(vertex_count - 1).bit_length(), 1)
        return cls(vertex, number if 2 * vertex + 2 + number <= 64 else 0)

    @property
    def below_row(self) -> int:
        """Bits of all parts but the row."""
        return self.vertex + 2 + self.number


@compiled
def pack_keys(low, high, rows, columns, kind, bits, number_bits, keys):
    """Pack row | column | kind, and the entry's number where it fits, into one 64-bit key."""
    row_shift = np.uint64(bits + 2 + number_bits)
    column_shift = np.uint64(2 + number_bits)
    numbered = np.uint64(number_bits > 0)
    operation = np.uint64(kind) << np.uint64(number_bits)
    for i in range(low, high):
        keys[i] = (
            (np.uint64(rows[i]) << row_shift)
            | (np.uint64(columns[i]) << column_shift)
            | operation
            | (np.uint64(i) * numbered)
        )


@compiled
def pack_transposed(low, high, delta, bits, number_bits, keys):
    """Pack column | row | kind | source of the entries of rows ``low … high - 1``."""
    rows, indptr, columns, kinds = delta.rows, delta.indptr, delta.columns, delta.kinds
    row_shift = np.uint64(bits + 2 + number_bits)
    column_shift = np.uint64(2 + number_bits)
    for row in range(low, high):
        column = np.uint64(rows[row]) << column_shift
        for entry in range(indptr[row], indptr[row + 1]):
            keys[entry] = (
                (np.uint64(columns[entry]) << row_shift)
                | column
                | (np.uint64(kinds[entry]) << np.uint64(number_bits))
            )
            if number_bits > 0:
                keys[entry] |= np.uint64(delta.source[entry])


@compiled
def count_rows(low, high, keys, row_shift):
    """Rows that begin among ``keys[low:high]``."""
    one = np.uint64(1)
    count = np.int64(low == 0)
    for i in range(np.uint64(max(low, 1)), np.uint64(high)):
        count += keys[i] >> row_shift != keys[i - one] >> row_shift
    return count


@compiled
def unpack_keys(low, high, keys, bits_of_key, ranges, delta):
    """Undo `pack_keys` and group by row.

    Parameters
    ----------
    bits_of_key
        Bits of a vertex index, and of the number of a put.
    ranges
        int64 each: where the ranges of all calls begin, and the rows that begin before each.
    delta
        Filled in: rows, indptr, columns, kinds, and numbers of puts.
    """
    bits, number_bits = bits_of_key
    starts, offsets = ranges
    rows, indptr, columns, kinds, source = delta
    one = np.uint64(1)
    row_shift = np.uint64(bits + 2 + number_bits)
    column_shift = np.uint64(2 + number_bits)
    mask = (one << np.uint64(bits)) - one
    numbers = (one << np.uint64(number_bits)) - one
    # Rows begun so far, and where the last one of them began: before this range, maybe.
    count = np.uint64(0)
    for part in range(starts.size):
        if starts[part] == low:
            count = np.uint64(offsets[part])
    begin = low
    while begin > 0 and keys[begin - 1] >> row_shift == keys[low] >> row_shift:
        begin -= 1
    before = keys[low - 1] >> row_shift if low > 0 else ~np.uint64(0)
    for i in range(np.uint64(low), np.uint64(high)):
        key = keys[i]
        row = key >> row_shift
        # Written for each entry, the same for all of a row: a branch would be guessed wrong.
        count += np.uint64(row != before)
        begin = np.int64(i) if row != before else begin
        rows[count - one] = row
        indptr[count - one] = begin
        before = row
        columns[i] = (key >> column_shift) & mask
        kinds[i] = (key >> np.uint64(number_bits)) & np.uint64(3)
        if number_bits > 0:
            source[i] = key & numbers
