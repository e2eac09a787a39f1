"""Copy the adjacencies out of the image as CSR, with the properties of their entries.

Host twin: `host/queries/export.py`. All of it happens on the device; what comes out are new arrays
there.
"""

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from ...image.fields import Field
from ...image.view import ImageView
from ...records import Record
from ..analytics.parts.compact_rows import (
    CompactRows,
    bytes_of,
    copy_rows,
    copy_words,
    measure_rows,
    window_count,
)
from ..device.device import Array, Device
from ..device.sorting.sorting import RadixSort, sort_bytes
from ..grid import THREADS, blocks_for
from ..memory.scratch import PoolScratch, Scratch
from ..memory.workspace import Workspace
from .rows import selected_rows

Int64s = npt.NDArray[np.int64]

_SOURCE: Final = "queries.cu"
_ROWS: Final = "compact_rows.cu"


def csr_of(
    workspace: Workspace, arena: ImageView, record: Record, order: Int64s
) -> tuple[Array, Array, dict[str, Array]]:
    """Adjacencies of all vertices as CSR.

    Parameters
    ----------
    record
        What the entries of the image are.
    order
        int64[n] in host memory, indices of the vertices in the graph.

    Returns
    -------
    indptr : int64[n + 1]
    columns : uint32[m]
        Positions in ``order``, increasing within a row.
    properties : dict of arrays of m items
    """
    device = workspace.device
    count, entries = int(order.size), arena.num_entries
    is_ordered = bool(np.all(order[:-1] < order[1:]))
    selected = device.to_device(order.astype(np.uint32))
    rows = replace(selected_rows(device, arena, "out", selected), num_entries=entries)
    indptr = measure_rows(device, PoolScratch(device), rows.degree)
    columns = device.empty(entries, np.uint32)
    properties = {name: device.empty(entries, dtype) for name, dtype in record.dtypes.items()}
    need = bytes_of(
        (2 * (window_count(count, entries) + 1), np.int64),
        (arena[Field.VERTEX_COUNT] + (2 * entries if properties else 0), np.uint32),
    )
    if not is_ordered:
        need += sort_bytes(device, entries, with_values=bool(properties))
    with workspace.scratch(need) as scratch:
        # The image may have moved, to make room.
        rows = replace(selected_rows(device, arena, "out", selected), num_entries=entries)
        compact = copy_rows(device, scratch, rows, indptr, indices=columns)
        rank = scratch.take(arena[Field.VERTEX_COUNT], np.uint32)
        device.launch(
            _SOURCE, "rank_vertices", blocks_for(count), THREADS, selected, np.int64(count), rank
        )
        device.launch(
            _SOURCE, "rename_columns", blocks_for(entries), THREADS, rank, np.int64(entries),
            columns,
        )  # fmt: skip
        positions = None if is_ordered else _sort_rows(device, scratch, compact, bool(properties))
        low, high = (scratch.take(entries if properties else 0, np.uint32) for _ in range(2))
        for name, out in properties.items():
            words = record.words_of(name)
            for number, copied in zip(words, (low, high), strict=False):
                word = selected_rows(device, arena, "out", selected, number)
                assert word.weights is not None
                copy_words(
                    device, word, compact._replace(words=copied), word.weights.view(np.uint32),
                    word.weight_begin, columns=False,
                )  # fmt: skip
            device.launch(
                _SOURCE, "gather_words", blocks_for(entries), THREADS, positions, low,
                high if len(words) > 1 else None, np.int64(entries), out.view(np.uint32),
            )  # fmt: skip
    return indptr, columns, properties


def _sort_rows(
    device: Device, scratch: Scratch, rows: CompactRows, with_positions: bool
) -> Array | None:
    """Sort the columns of each row; also the former positions of the entries, if requested."""
    entries = int(rows.indices.size)
    # A key is the row and the column, which are below the number of rows both.
    bits = max(rows.row_count - 1, 1).bit_length()
    sort = RadixSort(device, scratch, entries, 0, 2 * bits, with_values=with_positions)
    device.launch(
        _ROWS, "make_keys", rows.blocks, THREADS, *rows.windows, rows.indices, np.uint32(bits),
        sort.keys,
    )  # fmt: skip
    if sort.values is not None:
        device.launch(
            _SOURCE, "number_items", blocks_for(entries), THREADS, np.int64(entries), sort.values
        )
    keys, positions = sort.run(counted=False)
    device.launch(
        _SOURCE, "low_bits", blocks_for(entries), THREADS, keys, np.int64(entries),
        np.uint32((1 << bits) - 1), rows.indices,
    )  # fmt: skip
    return positions
