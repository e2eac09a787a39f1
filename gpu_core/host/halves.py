"""One half of a batch: its entries for one direction, by vertex index, grouped and sorted.

Part of   the apply path: **halves** -> plan -> arena.prepare -> commit

A batch names each edge once, in users' ids. An adjacency wants its entries by row (source for the
forward half, destination for the reverse or mirrored one) and, within a row, sorted by column. The
mirror is made here by one sort of packed keys, row | column | kind. Where the batch has only puts
or only deletes and indices grow with users' ids, its CSR is in order already and is used as it is.

The properties of a put stay in the batch's arrays; ``source`` names the put of each entry, and is
empty where records have no properties.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .compile import compiled
from .parallel import for_ranges
from .plan import DELETE, MENTION, PUT

UInt32s = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Entries:
    """Entries of one kind, not yet grouped: by index."""

    kind: int
    rows: UInt32s
    columns: UInt32s


@dataclass(frozen=True)
class Half:
    """Entries for one direction, grouped by row and sorted by (column, kind) within a row."""

    #: Vertex index of each row, distinct.
    rows: UInt32s
    #: int64[rows + 1]: where each row's entries begin.
    indptr: npt.NDArray[np.int64]
    columns: UInt32s
    #: uint8: `MENTION`, `DELETE` or `PUT`.
    kinds: npt.NDArray[np.uint8]
    #: uint32: number of the put that an entry comes from; empty where puts carry nothing.
    source: UInt32s
    #: bool[rows]: the row's vertex is deleted, all its old entries go.
    clear: npt.NDArray[np.bool_]


_NO_SOURCE = np.empty(0, np.uint32)


def in_order(kind: int, rows: UInt32s, indptr: npt.NDArray[np.int64], columns: UInt32s,
             *, with_source: bool) -> Half:  # fmt: skip
    """Half from a CSR whose columns are sorted already."""
    return Half(
        rows,
        indptr,
        columns,
        np.full(columns.size, kind, np.uint8),
        np.arange(columns.size, dtype=np.uint32) if with_source else _NO_SOURCE,
        np.zeros(rows.size, np.bool_),
    )


def sorted_half(
    groups: list[Entries],
    cleared: UInt32s,
    vertex_count: int,
    *,
    mirrored: bool,
    both: bool,
    with_source: bool,
) -> Half:
    """Group and sort entries of several kinds for one direction.

    Parameters
    ----------
    groups
        Entries by kind. Mentions are rows and columns of this direction already and never turned.
    cleared
        Vertices that are deleted: each gets a row, with ``clear`` set.
    vertex_count
        Indices are below this.
    mirrored
        Turn puts and deletes round: row = destination.
    both
        Add the turned entries to the straight ones (undirected graphs).
    with_source
        Keep the number of the put.
    """
    bits = max(int(vertex_count - 1).bit_length(), 1)
    keys_of, source_of = [], []
    for group in groups:
        turned = group.kind != MENTION and mirrored
        first, second = (group.columns, group.rows) if turned else (group.rows, group.columns)
        pairs = [(first, second)]
        if both and group.kind != MENTION:
            pairs.append((second, first))
        for rows, columns in pairs:
            keys = np.empty(rows.size, np.uint64)
            for_ranges(pack_keys, rows.size, rows, columns, group.kind, bits, keys)
            keys_of.append(keys)
            if with_source:
                numbers = np.arange(rows.size, dtype=np.uint32)
                source_of.append(numbers if group.kind == PUT else np.zeros_like(numbers))
    keys = np.concatenate(keys_of) if keys_of else np.empty(0, np.uint64)
    source = _NO_SOURCE
    if with_source and source_of:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        source = np.concatenate(source_of)[order]
    else:
        keys.sort()
    return _unpacked(keys, source, cleared, bits)


def _unpacked(keys: npt.NDArray[np.uint64], source: UInt32s, cleared: UInt32s, bits: int) -> Half:
    rows = np.empty(keys.size, np.uint32)
    starts = np.empty(keys.size + 1, np.int64)
    columns = np.empty(keys.size, np.uint32)
    kinds = np.empty(keys.size, np.uint8)
    count = unpack_keys(keys, bits, rows, starts, columns, kinds)
    rows, indptr = rows[:count], starts[: count + 1]
    clear = np.zeros(count, np.bool_)
    if cleared.size:
        rows, indptr, clear = _with_cleared(rows, indptr, cleared)
    return Half(rows, indptr, columns, kinds, source, clear)


def _with_cleared(
    rows: UInt32s, indptr: npt.NDArray[np.int64], cleared: UInt32s
) -> tuple[UInt32s, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Give each cleared vertex a row, empty where it has no entries."""
    all_rows = np.union1d(rows, cleared)
    counts = np.zeros(all_rows.size, np.int64)
    counts[np.searchsorted(all_rows, rows)] = np.diff(indptr)
    clear = np.zeros(all_rows.size, np.bool_)
    clear[np.searchsorted(all_rows, cleared)] = True
    return all_rows, np.concatenate([[0], np.cumsum(counts)]), clear


@compiled
def pack_keys(low, high, rows, columns, kind, bits, keys):
    """Pack row | column | kind into one 64-bit key an entry."""
    shift = np.uint64(bits + 2)
    for i in range(low, high):
        keys[i] = (
            (np.uint64(rows[i]) << shift)
            | (np.uint64(columns[i]) << np.uint64(2))
            | np.uint64(kind)
        )


@compiled
def unpack_keys(keys, bits, rows, starts, columns, kinds):
    """Undo `pack_keys` and group by row; returns the number of rows."""
    count = 0
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    shift = np.uint64(bits + 2)
    before = np.uint64(0)
    for i in range(keys.size):
        key = keys[i]
        row = key >> shift
        if i == 0 or row != before:
            rows[count] = row
            starts[count] = i
            count += 1
            before = row
        columns[i] = (key >> np.uint64(2)) & mask
        kinds[i] = key & np.uint64(3)
    starts[count] = keys.size
    return count


@compiled
def expand_rows(low, high, rows, indptr, out):
    """Write the row of each entry of CSR rows ``low … high - 1``."""
    for row in range(low, high):
        for entry in range(indptr[row], indptr[row + 1]):
            out[entry] = rows[row]


@compiled
def rows_are_sorted(low, high, indptr, columns):
    """Whether the columns grow strictly within each of the rows ``low … high - 1``."""
    for row in range(low, high):
        for entry in range(indptr[row] + 1, indptr[row + 1]):
            if columns[entry - 1] >= columns[entry]:
                return False
    return True


__all__ = [
    "DELETE",
    "MENTION",
    "PUT",
    "Entries",
    "Half",
    "expand_rows",
    "in_order",
    "rows_are_sorted",
    "sorted_half",
]
