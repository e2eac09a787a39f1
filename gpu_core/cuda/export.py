"""Copy the adjacencies out of the image as CSR, with the properties of their entries.

Host twin: `host/export.py`. All of it happens on the device; what comes out are new arrays there.
"""

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from ..records import FIRST_WORD, LAST_WORD, PROPERTY_DTYPES, TYPE_WORD, WEIGHT_WORD
from .compact_rows import (
    THREADS,
    CompactRows,
    blocks_for,
    bytes_of,
    copy_rows,
    copy_words,
    entry_count,
    measure_rows,
    window_count,
)
from .device import Array
from .sorting import Plain, RadixSort, Scratch, sort_bytes

if TYPE_CHECKING:
    from .engine import CudaEngine

Int64s = npt.NDArray[np.int64]

_SOURCE: Final = "queries.cu"
_ROWS: Final = "compact_rows.cu"

_WORDS: Final = {
    "weight": WEIGHT_WORD,
    "type": TYPE_WORD,
    "first": FIRST_WORD,
    "last": LAST_WORD,
}


def csr_of(engine: "CudaEngine", order: Int64s) -> tuple[Array, Array, dict[str, Array]]:
    """Adjacencies of all vertices as CSR.

    Parameters
    ----------
    order
        int64[n] in host memory, indices of the vertices in the graph.

    Returns
    -------
    indptr : int64[n + 1]
    columns : uint32[m]
        Positions in ``order``, increasing within a row.
    properties : dict of arrays of m items
    """
    device, count, entries = engine.device, int(order.size), entry_count(engine)
    is_ordered = bool(np.all(order[:-1] < order[1:]))
    selected = device.to_device(order.astype(np.uint32))
    indptr = measure_rows(engine, Plain(device), "out", selected, count)
    columns = device.empty(entries, np.uint32)
    properties = {
        name: device.empty(entries, PROPERTY_DTYPES[name]) for name in engine.record.properties
    }
    need = bytes_of(
        (2 * (window_count(count, entries) + 1), np.int64),
        (engine.vertex_count + (2 * entries if properties else 0), np.uint32),
    )
    if not is_ordered:
        need += sort_bytes(device, entries, with_values=bool(properties))
    with engine.arena.scratch(need) as scratch:
        rows = copy_rows(engine, scratch, "out", selected, indptr, entries, indices=columns)
        rank = scratch.take(engine.vertex_count, np.uint32)
        device.launch(
            _SOURCE, "rank_vertices", blocks_for(count), THREADS, selected, np.int64(count), rank
        )
        device.launch(
            _SOURCE, "rename_columns", blocks_for(entries), THREADS, rank, np.int64(entries),
            columns,
        )  # fmt: skip
        places = None if is_ordered else _sort_rows(engine, scratch, rows, bool(properties))
        low, high = (scratch.take(entries if properties else 0, np.uint32) for _ in range(2))
        for name, out in properties.items():
            is_long = out.itemsize == 2 * low.itemsize
            copy_words(engine, rows, "out", selected, None, low, _WORDS[name])
            if is_long:
                copy_words(engine, rows, "out", selected, None, high, _WORDS[name] + 1)
            device.launch(
                _SOURCE, "place_words", blocks_for(entries), THREADS, places, low,
                high if is_long else None, np.int64(entries), out.view(np.uint32),
            )  # fmt: skip
    return indptr, columns, properties


def _sort_rows(
    engine: "CudaEngine", scratch: Scratch, rows: CompactRows, with_places: bool
) -> Array | None:
    """Sort the columns of each row; where the word of each entry stood before, if asked for."""
    device, entries = engine.device, int(rows.indices.size)
    # A key is the row and the column, which are below the number of rows both.
    bits = max(rows.row_count - 1, 1).bit_length()
    sort = RadixSort(device, scratch, entries, 0, 2 * bits, with_values=with_places)
    device.launch(
        _ROWS, "make_keys", rows.blocks, THREADS, *rows.windows, rows.indices, np.uint32(bits),
        sort.keys,
    )  # fmt: skip
    if sort.values is not None:
        device.launch(
            _SOURCE, "number_items", blocks_for(entries), THREADS, np.int64(entries), sort.values
        )
    keys, places = sort.run(counted=False)
    device.launch(
        _SOURCE, "low_bits", blocks_for(entries), THREADS, keys, np.int64(entries),
        np.uint32((1 << bits) - 1), rows.indices,
    )  # fmt: skip
    return places
