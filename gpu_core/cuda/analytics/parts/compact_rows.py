"""Temporary CSR copy of `Rows` on the device, cut into windows of equal cost.

Host twin: `host/analytics/parts/compact_rows.py`. Kernels: ``compact_rows.cu``; what a window is:
``windows.cuh``. Work is cut by entries, so a long row is spread over many blocks. What sums
up every row again and again has its entries in another order (`slices.py`).

Arrays are scratch of the caller, who states the bytes before (`rows_bytes`, `in_rows_bytes`). How
many entries there are is known beforehand, so nothing is read back and nothing waits.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ....rows import Adjacencies, Rows
from ...device.declarations import constant
from ...device.device import Array, Device
from ...device.sorting.sorting import RadixSort, sort_bytes
from ...device.stream_words import ticket_of
from ...grid import THREADS, blocks_for
from ...memory.scratch import Scratch

_SOURCE: Final = "compact_rows.cu"
#: Threads of a block, of most kernels of analytics.
WINDOW_COST: Final = constant(_SOURCE, "WINDOW_COST")
ROW_COST: Final = constant(_SOURCE, "ROW_COST")
SCAN_ROWS: Final = constant(_SOURCE, "SCAN_ROWS")
_POSITIONS: Final = "queries.cu"


class CompactRows(NamedTuple):
    """Rows one after the other; arrays on the device."""

    #: int64[rows + 1]
    indptr: Array
    #: uint32[entries], increasing within a row.
    indices: Array
    #: uint32[entries]: the other word of each entry; None where none was asked for.
    words: Array | None
    #: int64[windows + 1]: first row and first entry of each window, and of the end.
    window_rows: Array
    window_entries: Array

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return int(self.indptr.size) - 1

    @property
    def blocks(self) -> int:
        """Blocks of a launch that works window by window."""
        return int(self.window_rows.size) - 1

    @property
    def windows(self) -> tuple[Array, Array, Array]:
        """Arguments of a kernel that works window by window."""
        return self.indptr, self.window_rows, self.window_entries


def bytes_of(*pieces: tuple[int, npt.DTypeLike]) -> int:
    """Bytes of arrays, each by its length and type."""
    return sum(count * np.dtype(kind).itemsize for count, kind in pieces)


def weight_bytes(rows: Rows, *, weighted: bool) -> int:
    """Bytes of each weight that is copied: 4 or, of float64 weights, 8; 0: none are asked for."""
    return int(rows.weights.itemsize) if weighted and rows.weights is not None else 0


def rows_bytes(rows: int, entries: int, *, with_words: bool = False) -> int:
    """Bytes of scratch that `compact_rows` of ``rows`` rows and entries takes."""
    return windows_bytes(rows, entries) + bytes_of(((2 if with_words else 1) * entries, np.uint32))


def windows_bytes(rows: int, entries: int) -> int:
    """Bytes of scratch that `measure_rows` and `cut_windows` take."""
    windows = window_count(rows, entries)
    return bytes_of((rows + 1 + blocks_for(rows, SCAN_ROWS) + 2 * (windows + 1), np.int64))


def window_count(rows: int, entries: int) -> int:
    """Windows that rows are cut into."""
    return blocks_for(entries + ROW_COST * rows, WINDOW_COST)


def compact_rows(
    device: Device, scratch: Scratch, rows: Rows, *, weighted: bool = False
) -> CompactRows:
    """Copy rows to scratch; their memory must not change until the copy is used up.

    Weights are copied of float32 only.
    """
    indptr = measure_rows(device, scratch, rows.degree)
    words = rows.weights.view(np.uint32) if weighted and rows.weights is not None else None
    return copy_rows(device, scratch, rows, indptr, words, rows.weight_begin)


def measure_rows(device: Device, scratch: Scratch, degree: Array) -> Array:
    """int64[rows + 1]: sums of the degrees (uint32[rows])."""
    rows = int(degree.size)
    blocks = blocks_for(rows, SCAN_ROWS)
    indptr = scratch.take(rows + 1, np.int64)
    sums = scratch.take(blocks, np.int64)
    device.launch(
        _SOURCE, "measure_rows", blocks, THREADS, degree, np.int64(rows), indptr, sums,
        ticket_of(device),
    )  # fmt: skip
    device.launch(
        _SOURCE, "add_block_sums", blocks_for(rows + 1), THREADS, sums, np.int64(rows), indptr
    )
    return indptr


def cut_windows(
    device: Device, scratch: Scratch, indptr: Array, entries: int
) -> tuple[Array, Array]:
    """First row and first entry of each window of rows with ``entries`` entries, and of the end."""
    rows = int(indptr.size) - 1
    windows = window_count(rows, entries)
    window_rows = scratch.take(windows + 1, np.int64)
    window_entries = scratch.take(windows + 1, np.int64)
    device.launch(
        _SOURCE, "cut_windows", blocks_for(windows + 1), THREADS, indptr, np.int64(rows),
        np.int64(windows), window_rows, window_entries,
    )  # fmt: skip
    return window_rows, window_entries


def copy_rows(
    device: Device,
    scratch: Scratch,
    rows: Rows,
    indptr: Array,
    words: Array | None = None,
    word_begin: Array | None = None,
    *,
    indices: Array | None = None,
) -> CompactRows:
    """Copy the rows that `measure_rows` measured, to ``indices`` (scratch where it is None).

    ``words`` (uint32) hold another word of each entry, of each row from ``word_begin`` on; they are
    copied too.
    """
    entries = rows.num_entries
    window_rows, window_entries = cut_windows(device, scratch, indptr, entries)
    if indices is None:
        indices = scratch.take(entries, np.uint32)
    copied = None if words is None else scratch.take(entries, np.uint32)
    compact = CompactRows(indptr, indices, copied, window_rows, window_entries)
    copy_words(device, rows, compact, words, word_begin)
    return compact


def copy_words(
    device: Device,
    rows: Rows,
    compact: CompactRows,
    words: Array | None,
    word_begin: Array | None,
    *,
    columns: bool = True,
) -> None:
    """Fill the arrays of ``compact``; with ``columns`` False its words alone."""
    if words is None:
        word_begin = None
    device.launch(
        _SOURCE, "copy_rows", compact.blocks, THREADS, rows.columns, rows.begin, words, word_begin,
        np.int64(rows.step), *compact.windows, compact.indices if columns else None,
        compact.words,
    )  # fmt: skip


def transposed(device: Device, scratch: Scratch, rows: Rows, *, weighted: bool = False) -> Rows:
    """Turn every edge around: the rows of the other direction, by a stable sort by target."""
    is_wide = weight_bytes(rows, weighted=weighted) == 8
    compact = compact_rows(device, scratch, rows, weighted=weighted and not is_wide)
    count, entries = rows.count, rows.num_entries
    sort = RadixSort(
        device, scratch, entries, 32, 32 + max(count - 1, 1).bit_length(), with_values=weighted
    )
    device.launch(
        _SOURCE, "make_keys", compact.blocks, THREADS, *compact.windows, compact.indices,
        np.uint32(0), sort.keys,
    )  # fmt: skip
    if is_wide:
        # Two words do not travel with a key: the position of the entry does. Rows are pinned ones.
        items = np.int64(entries)
        device.launch(_POSITIONS, "number_items", blocks_for(entries), THREADS, items, sort.values)
    elif compact.words is not None and sort.values is not None:
        sort.values[:] = compact.words
    keys, values = sort.run(counted=False)
    indptr = scratch.take(count + 1, np.int64)
    degree = scratch.take(count, np.uint32)
    indices = scratch.take(entries, np.uint32)
    device.launch(
        _SOURCE, "rows_of_keys", blocks_for(max(entries, count + 1)), THREADS, keys,
        np.int64(entries), np.int64(count), indptr, degree, indices,
    )  # fmt: skip
    weights = None
    if is_wide:
        weights = scratch.take(entries, np.float64)
        device.xp.take(rows.weights, values, out=weights)
    elif weighted and values is not None:
        weights = values.view(np.float32)
    return Rows(
        indptr[:-1], degree, rows.present, indices, 1, entries, rows.num_vertices, indptr=indptr,
        weights=weights, weight_begin=indptr[:-1],
    )  # fmt: skip


def in_rows_bytes(device: Device, adjacencies: Adjacencies, *, weighted: bool = False) -> int:
    """Bytes of scratch that `in_rows` takes."""
    if adjacencies.into is not None:
        return 0
    count, entries = adjacencies.out.count, adjacencies.out.num_entries
    # Float64 weights, which the copy before the sort does without, take both words after it.
    need = 2 * rows_bytes(count, entries, with_words=weighted) + bytes_of((count, np.uint32))
    return need + sort_bytes(device, entries, with_values=weighted)


def in_rows(
    device: Device, scratch: Scratch, adjacencies: Adjacencies, *, weighted: bool = False
) -> Rows:
    """Rows of in-neighbors, also where no reverse adjacency is stored."""
    if adjacencies.into is not None:
        return adjacencies.into
    return transposed(device, scratch, adjacencies.out, weighted=weighted)


def zeros(scratch: Scratch, count: int, dtype: type[np.generic]) -> Array:
    """Scratch of ``count`` items that are 0."""
    array = scratch.take(count, dtype)
    array.fill(0)
    return array
