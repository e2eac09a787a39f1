"""CSR copy of rows that lie on pages, for readers that need contiguous rows.

Kernels: ``paged_rows.cu``. What it needs for that is memory of its own, not scratch.
"""

from typing import Final

import numpy as np

from ...image.view import ImageView
from ..device.compile import shape_argument
from ..device.declarations import constant
from ..device.device import Array, Device
from ..device.stream_words import ticket_of
from ..grid import THREADS, blocks_for

_SOURCE: Final = "paged_rows.cu"
_TILE: Final = constant(_SOURCE, "TILE")


def copy_paged_rows(
    device: Device,
    arena: ImageView,
    direction: str,
    selected: Array | None,
    indptr: Array,
    entries: int,
    indices: Array | None,
    word: tuple[int, Array] | None = None,
) -> None:
    """Fill an array with the neighbors of rows, another one with one word of each entry.

    Parameters
    ----------
    selected
        uint32[rows]: vertices whose rows they are; `None`: all by index.
    indptr
        int64[rows + 1]: their degrees summed up.
    entries
        The last of these.
    indices
        uint32[entries]: neighbors; `None`: not asked for.
    word
        Number of a word of an entry, and uint32[entries] for it.
    """
    rows = int(indptr.size) - 1
    if rows == 0 or entries == 0:
        return
    number, words = (0, None) if word is None else word
    page_at, pages = list_pages(device, arena, direction, selected, indptr, entries)
    device.launch(
        _SOURCE, "copy_entries", blocks_for(entries, _TILE), THREADS, arena.image,
        shape_argument(arena.shape(direction)), indptr, np.int64(rows), np.int64(entries), page_at,
        pages, np.int64(number), indices, words,
    )  # fmt: skip


def list_pages(
    device: Device,
    arena: ImageView,
    direction: str,
    selected: Array | None,
    indptr: Array,
    entries: int,
) -> tuple[Array, Array]:
    """List the pages of rows, at least one of which has an entry; arguments as above.

    Returns
    -------
    page_at : int64[rows]
        Pages of the rows before.
    pages : uint32[…]
        Pages of one row after those of the other.
    """
    rows, shape = int(indptr.size) - 1, arena.shape(direction)
    on_page = arena.layout.page_entries(shape.page_words, shape.entry_words)
    # Each row's last page may hold one entry.
    pages = device.empty(entries // on_page + min(rows, entries), np.uint32)
    page_at, blocks = device.empty(rows, np.int64), blocks_for(rows, _TILE)
    sums, about = device.empty(blocks, np.int64), shape_argument(shape)
    device.launch(
        _SOURCE, "measure_pages", blocks, THREADS, about, indptr, np.int64(rows), page_at, sums,
        ticket_of(device),
    )  # fmt: skip
    device.launch(
        _SOURCE, "list_pages", blocks_for(rows), THREADS, arena.image, about, selected,
        indptr, np.int64(rows), sums, page_at, pages,
    )  # fmt: skip
    return page_at, pages
