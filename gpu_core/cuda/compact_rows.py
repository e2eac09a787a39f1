"""Compact rows on the device: a CSR copy of adjacencies, made for one call, cut into windows.

Host twin: `host/compact_rows.py`. Kernels: ``kernels/compact_rows.cu``; what a window is:
``kernels/windows.cuh``. Work is cut by entries, so a long row is spread over many blocks. What sums
up every row again and again has its entries in another order (`slices.py`).

Arrays are scratch of the caller, who states the bytes before (`rows_bytes`, `in_rows_bytes`). How
many entries there are is known from the header, so nothing is read back and nothing waits.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..image import BatchField
from ..records import WEIGHT_WORD
from .compile import shape_argument
from .device import Array
from .sorting import RadixSort, Scratch, sort_bytes

if TYPE_CHECKING:
    from .engine import CudaEngine

#: Twins of the constants of ``windows.cuh`` and ``compact_rows.cu``.
THREADS: Final = 256
WINDOW_COST: Final = 2048
ROW_COST: Final = 4
SCAN_ROWS: Final = 2048

_SOURCE: Final = "compact_rows.cu"


class CompactRows(NamedTuple):
    """Adjacencies of vertices in one direction; arrays on the device."""

    #: int64[rows + 1]
    indptr: Array
    #: uint32[entries], increasing within a row.
    indices: Array
    #: float32[entries], or None where no weights were asked for.
    weight: Array | None
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


def entry_count(engine: "CudaEngine") -> int:
    """Entries of all adjacencies in one direction."""
    # An undirected edge stands in both rows; an undirected graph has no self loops.
    return engine.num_edges if engine.directed else 2 * engine.num_edges


def bytes_of(*pieces: tuple[int, npt.DTypeLike]) -> int:
    """Bytes that so many items of these types take."""
    return sum(count * np.dtype(kind).itemsize for count, kind in pieces)


def rows_bytes(rows: int, entries: int, *, weighted: bool = False) -> int:
    """Bytes of scratch that `compact_rows` of so many rows and entries takes."""
    windows = window_count(rows, entries)
    return bytes_of(
        (rows + 1 + blocks_for(rows, SCAN_ROWS) + 2 * (windows + 1), np.int64),
        ((2 if weighted else 1) * entries, np.uint32),
    )


def window_count(rows: int, entries: int) -> int:
    """Windows that rows are cut into."""
    return blocks_for(entries + ROW_COST * rows, WINDOW_COST)


def blocks_for(items: int, block: int = THREADS) -> int:
    """Blocks of so many items that cover all of them."""
    return -(-items // block)


def compact_rows(
    engine: "CudaEngine", scratch: Scratch, direction: str, *, weighted: bool = False
) -> CompactRows:
    """Copy all adjacencies of one direction (``out`` or ``in``) out of the image.

    Absent vertices have empty rows. ``engine.image`` must not change until the copy is used up.
    """
    entries = entry_count(engine)
    indptr = measure_rows(engine, scratch, direction, None, engine.vertex_count)
    return copy_rows(engine, scratch, direction, None, indptr, entries, weighted=weighted)


def measure_rows(
    engine: "CudaEngine", scratch: Scratch, direction: str, selected: Array | None, rows: int
) -> Array:
    """int64[rows + 1]: sums of the degrees of all vertices, or of those ``selected`` (uint32)."""
    device = engine.device
    blocks = blocks_for(rows, SCAN_ROWS)
    indptr = scratch.take(rows + 1, np.int64)
    sums = scratch.take(blocks, np.int64)
    device.launch(
        _SOURCE, "measure_rows", blocks, THREADS, engine.image,
        shape_argument(engine.shape(direction)), selected, np.int64(rows), indptr, sums,
        ticket_of(engine),
    )  # fmt: skip
    device.launch(
        _SOURCE, "add_block_sums", blocks_for(rows + 1), THREADS, sums, np.int64(rows), indptr
    )
    return indptr


def cut_windows(
    engine: "CudaEngine", scratch: Scratch, indptr: Array, entries: int
) -> tuple[Array, Array]:
    """First row and first entry of each window of rows with so many entries, and of the end."""
    rows = int(indptr.size) - 1
    windows = window_count(rows, entries)
    window_rows = scratch.take(windows + 1, np.int64)
    window_entries = scratch.take(windows + 1, np.int64)
    engine.device.launch(
        _SOURCE, "cut_windows", blocks_for(windows + 1), THREADS, indptr, np.int64(rows),
        np.int64(windows), window_rows, window_entries,
    )  # fmt: skip
    return window_rows, window_entries


def copy_rows(
    engine: "CudaEngine",
    scratch: Scratch,
    direction: str,
    selected: Array | None,
    indptr: Array,
    entries: int,
    *,
    weighted: bool = False,
    indices: Array | None = None,
) -> CompactRows:
    """Copy the rows that `measure_rows` measured, to ``indices`` (scratch where it is None)."""
    window_rows, window_entries = cut_windows(engine, scratch, indptr, entries)
    if indices is None:
        indices = scratch.take(entries, np.uint32)
    weight = scratch.take(entries, np.uint32) if weighted else None
    rows = CompactRows(indptr, indices, weight, window_rows, window_entries)
    copy_words(engine, rows, direction, selected, indices, weight, WEIGHT_WORD)
    return rows if weight is None else rows._replace(weight=weight.view(np.float32))


def copy_words(
    engine: "CudaEngine",
    rows: CompactRows,
    direction: str,
    selected: Array | None,
    indices: Array | None,
    words: Array | None,
    word: int,
) -> None:
    """Fill ``indices`` with neighbours and ``words`` with word ``word`` of the entries of rows."""
    engine.device.launch(
        _SOURCE, "copy_rows", rows.blocks, THREADS, engine.image,
        shape_argument(engine.shape(direction)), selected, *rows.windows, np.int64(word), indices,
        words,
    )  # fmt: skip


def transposed(engine: "CudaEngine", scratch: Scratch, rows: CompactRows) -> CompactRows:
    """Turn every edge around: the rows of the other direction, by a stable sort by target."""
    device, count, entries = engine.device, rows.row_count, int(rows.indices.size)
    sort = RadixSort(
        device, scratch, entries, 32, 32 + max(count - 1, 1).bit_length(),
        with_values=rows.weight is not None,
    )  # fmt: skip
    device.launch(
        _SOURCE, "make_keys", rows.blocks, THREADS, *rows.windows, rows.indices, np.uint32(0),
        sort.keys,
    )  # fmt: skip
    if rows.weight is not None and sort.values is not None:
        sort.values[:] = rows.weight.view(np.uint32)
    keys, weight = sort.run(counted=False)
    indptr = scratch.take(count + 1, np.int64)
    indices = scratch.take(entries, np.uint32)
    device.launch(
        _SOURCE, "rows_of_keys", blocks_for(max(entries, count + 1)), THREADS, keys,
        np.int64(entries), np.int64(count), indptr, indices,
    )  # fmt: skip
    weight = None if weight is None else weight.view(np.float32)
    return CompactRows(indptr, indices, weight, *cut_windows(engine, scratch, indptr, entries))


def in_rows_bytes(engine: "CudaEngine", *, weighted: bool = False) -> int:
    """Bytes of scratch that `in_rows` takes."""
    count, entries = engine.vertex_count, entry_count(engine)
    need = rows_bytes(count, entries, weighted=weighted)
    if not engine.has_reverse:
        need += rows_bytes(count, entries)
        need += sort_bytes(engine.device, entries, with_values=weighted)
    return need


def in_rows(engine: "CudaEngine", scratch: Scratch, *, weighted: bool = False) -> CompactRows:
    """Rows of in-neighbours, also where no reverse adjacency is stored."""
    if engine.has_reverse:
        return compact_rows(engine, scratch, "in", weighted=weighted)
    return transposed(engine, scratch, compact_rows(engine, scratch, "out", weighted=weighted))


def ticket_of(engine: "CudaEngine") -> Array:
    """uint32[1] of the header's tickets: 0, and 0 again behind each kernel that uses it."""
    first = 2 * BatchField.TICKETS
    return engine.image[first : first + 1]


def zeros(scratch: Scratch, count: int, dtype: type[np.generic]) -> Array:
    """Scratch of ``count`` items that are 0."""
    array = scratch.take(count, dtype)
    array.fill(0)
    return array
