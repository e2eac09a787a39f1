"""`Rows` of a graph in device memory: live ones that point into the image, and CSR copies.

Layouts of pages give copies only (`paged_rows.py`).

Host twin: ``host/queries/rows.py``. Kernel: ``rows.cu``. What rows are: `gpu_core/rows.py`. New
arrays on the device; for rows that lie on runs nothing here waits for it.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from ...image.fields import Field
from ...image.view import ImageView
from ...records import WEIGHT_WORD, weights_of_entry
from ...rows import EntryTimes, Rows
from ..analytics.parts.compact_rows import copy_rows, measure_rows
from ..device.compile import shape_argument
from ..device.device import Array, Device
from ..device.packed_arguments import address, pack
from ..grid import THREADS, blocks_for
from ..memory.scratch import PoolScratch
from .paged_rows import copy_paged_rows

_SOURCE: Final = "rows.cu"
_POSITIONS: Final = "queries.cu"


def live_rows(device: Device, arena: ImageView, direction: str, *, weighted: bool = False) -> Rows:
    """Rows of all vertices: where they lie in the image, or copied; see `Rows`.

    Those on pages are copied, and those with float64 weights.
    """
    if weighted and weights_of_entry(arena.shape(direction).entry_words) == "float64":
        return pinned_rows(device, arena, direction, weighted=True)
    return _all_rows(device, arena, direction, WEIGHT_WORD if weighted else None)


def _all_rows(device: Device, arena: ImageView, direction: str, word: int | None) -> Rows:
    """Rows of all vertices; their ``weights`` are the word ``word`` of each entry."""
    rows = locate(device, arena, direction, None, arena[Field.VERTEX_COUNT], word)
    if arena.layout.is_paged:
        rows = _copied(device, arena, direction, None, rows, arena.num_entries, word)
    return rows


def selected_rows(
    device: Device, arena: ImageView, direction: str, selected: Array, word: int | None = None
) -> Rows:
    """Rows of the vertices ``selected`` (uint32), where they lie in the image.

    ``weights`` are then the word ``word`` of each entry, and ``columns`` of no meaning. How many
    entries there are is not known here: ``num_entries`` is 0. Rows of a layout of pages are copied;
    the device is waited for then, for their size.
    """
    rows = locate(device, arena, direction, selected, int(selected.size), word)
    if arena.layout.is_paged:
        rows = _copied(device, arena, direction, selected, rows, None, word)
    return rows


def _copied(
    device: Device,
    arena: ImageView,
    direction: str,
    selected: Array | None,
    rows: Rows,
    entries: int | None,
    word: int | None,
) -> Rows:
    """Rows of a layout of pages, of which the degrees are known, copied one after the other."""
    indptr = measure_rows(device, PoolScratch(device), rows.degree)
    if entries is None:
        entries = int(device.read_words(indptr[rows.count :])[0])
    columns, words = rows.columns, None
    if selected is None or word is None:
        columns = device.empty(entries, np.uint32)
    if word is not None:
        words = device.empty(entries, np.uint32)
    copy_paged_rows(
        device, arena, direction, selected, indptr, entries,
        None if columns is rows.columns else columns, None if word is None else (word, words),
    )  # fmt: skip
    return replace(
        rows, begin=indptr[:-1], columns=columns, step=1, indptr=indptr, in_pairs=False,
        weights=None if words is None else words.view(np.float32),
        weight_begin=None if words is None else indptr[:-1],
    )  # fmt: skip


def pinned_rows(
    device: Device, arena: ImageView, direction: str, *, weighted: bool = False
) -> Rows:
    """Copy the rows of all vertices to memory of their own; see `Rows`."""
    rows = _pinned(device, arena, direction, WEIGHT_WORD if weighted else None)
    entry_words = arena.shape(direction).entry_words
    if not weighted or weights_of_entry(entry_words) == "float32":
        return rows
    assert rows.weights is not None
    high = _pinned(device, arena, direction, entry_words - 1)
    return replace(rows, weights=_of_two_words(device, rows, high, np.float64))


def entry_times(device: Device, arena: ImageView, word: int) -> EntryTimes:
    """Copy the time that begins at a word of each entry of the out-rows; see `EntryTimes`."""
    low, high = (_pinned(device, arena, "out", each) for each in (word, word + 1))
    return EntryTimes(low.indptr, _of_two_words(device, low, high, np.int64))


def _of_two_words(device: Device, low: Rows, high: Rows, dtype: type[np.generic]) -> Array:
    """Items of 64 bits out of what two copies of the rows have as their ``weights``."""
    assert low.weights is not None
    assert high.weights is not None
    items = device.empty(low.num_entries, dtype)
    device.launch(
        _POSITIONS, "gather_words", blocks_for(low.num_entries), THREADS, None,
        low.weights.view(np.uint32), high.weights.view(np.uint32), np.int64(low.num_entries),
        items.view(np.uint32),
    )  # fmt: skip
    return items


def _pinned(device: Device, arena: ImageView, direction: str, word: int | None) -> Rows:
    """Copy rows as `_all_rows` has them."""
    live = _all_rows(device, arena, direction, word)
    if live.indptr is not None:
        return live
    memory = PoolScratch(device)
    indptr = measure_rows(device, memory, live.degree)
    words = None if live.weights is None else live.weights.view(np.uint32)
    compact = copy_rows(device, memory, live, indptr, words, live.weight_begin)
    return replace(
        live, begin=indptr[:-1], columns=compact.indices, step=1, indptr=indptr, in_pairs=False,
        weights=None if compact.words is None else compact.words.view(np.float32),
        weight_begin=None if word is None else indptr[:-1],
    )  # fmt: skip


def locate(
    device: Device,
    arena: ImageView,
    direction: str,
    selected: Array | None,
    count: int,
    word: int | None,
) -> Rows:
    """First positions of rows of any layout in the image, and their lengths; as `selected_rows`."""
    shape = arena.shape(direction)
    begin, degree = device.empty(count, np.int64), device.empty(count, np.uint32)
    present = device.empty(count, np.bool_)
    word_begin = None if word is None else device.empty(count, np.int64)
    device.launch_packed(
        _SOURCE, "locate_rows", blocks_for(count), THREADS,
        pack(address(arena.image)) + shape_argument(shape).tobytes() + pack(
            address(selected), count, word or 0, address(begin), address(degree), address(present),
            address(word_begin),
        ),
    )  # fmt: skip
    entries, vertices = 0, count
    if selected is None:
        entries, vertices = arena.num_entries, arena[Field.NUM_VERTICES]
    return Rows(
        begin, degree, present, arena.image, shape.entry_step, entries,
        vertices, weights=None if word is None else arena.image.view(np.float32),
        weight_begin=word_begin,
        in_pairs=shape.in_pairs,
    )  # fmt: skip
