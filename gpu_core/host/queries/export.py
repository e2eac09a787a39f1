"""Copy the adjacencies out of the image as CSR, with the properties of their entries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...batch.serial_sort import SHORT_RUN, insertion_sort
from ...jit.compile import compiled
from ...jit.parallel import for_ranges
from ...jit.prefetch import FAR_AHEAD, prefetch, prefetch_row
from ...layouts import open_adjacency, page_after, segment_base, strides
from ...records import FIRST_WORD, LAST_WORD, TYPE_WORD, WEIGHT_WORD, Record
from ..update.entries import has_wide_weight, read_time
from ..update.parallel_sort import sort_alone
from .host_graph import HostGraph

#: Bits of a key below the rank, for the position in the row.
_AT_BITS = np.int64(32)
_AT_MASK = np.uint64((1 << 32) - 1)
#: Entries that the memory for one row holds at first; it grows with the longest row.
_ROOM = 1 << 10


class ExportedRows(NamedTuple):
    """Targets of copied rows; properties that the records lack are of length 0."""

    #: int64[n + 1]
    indptr: npt.NDArray[np.int64]
    columns: npt.NDArray[np.uint32]
    #: uint32: one word of an entry's weight, or two.
    weight: npt.NDArray[np.uint32]
    kind: npt.NDArray[np.uint32]
    #: int64
    first: npt.NDArray[Any]
    last: npt.NDArray[Any]


def csr_of(
    engine: HostGraph, order: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], dict[str, npt.NDArray[np.generic]]]:
    """Adjacencies of the vertices ``order`` as CSR.

    Returns
    -------
    indptr : int64[n + 1]
    columns : uint32[m]
        Positions in ``order``, increasing within a row.
    properties : dict of arrays of m items
    """
    indices = order.astype(np.uint32)
    degrees = engine.degrees(indices)
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    ordered = bool(np.all(order[:-1] < order[1:]))
    # Where all come in order, positions are indices, and no rank is looked up for each entry.
    rank = np.empty(0, np.uint32)
    if not (ordered and order.size == engine.vertex_count):
        rank = np.zeros(engine.vertex_count, np.uint32)
        rank[order] = np.arange(order.size, dtype=np.uint32)
    size = int(indptr[-1])
    columns = np.empty(size, np.uint32)
    properties = _property_columns(engine.record, size)
    exported = ExportedRows(
        indptr,
        columns,
        properties.get("weight", np.empty(0, np.float32)).view(np.uint32),
        properties.get("type", np.empty(0, np.int32)).view(np.uint32),
        properties.get("first", np.empty(0, np.int64)),
        properties.get("last", np.empty(0, np.int64)),
    )
    shape = engine.shape("out")
    for_ranges(
        copy_rows, order.size, engine.image, shape, indices, rank, ordered, exported,
    )  # fmt: skip
    return indptr, columns, properties


def _property_columns(record: Record, size: int) -> dict[str, npt.NDArray[np.generic]]:
    return {name: np.empty(size, dtype) for name, dtype in record.dtypes.items()}


@compiled
def copy_rows(low, high, image, shape, indices, rank, ordered, exported):
    """Copy rows ``low … high - 1``; where ranks do not grow with indices, each row is sorted.

    ``rank`` is empty where each vertex has its index for a rank.
    """
    indptr, columns, weight, kind, first, last = exported
    wide = has_wide_weight(shape.entry_words)
    has_properties = weight.size > 0 or last.size > 0
    # For all rows: most are short, and to take memory takes longer than to sort them.
    keys, spare = np.empty(_ROOM, np.uint64), np.empty(_ROOM, np.uint64)
    moved_to = np.empty(_ROOM, np.int64)
    for row in range(low, high):
        # In any order but that of the table, the record is far away too.
        later = np.int64(indices[min(row + 2 * FAR_AHEAD, high - 1)])
        prefetch(image, shape.vertex_base + later * shape.vertex_words)
        prefetch_row(image, shape, np.int64(indices[min(row + FAR_AHEAD, high - 1)]))
        first_page, degree, entries, pages = open_adjacency(image, shape, np.int64(indices[row]))
        start = indptr[row]
        size = degree
        step, field = strides(shape, entries)
        if not ordered:
            if size > keys.size:
                keys, spare = np.empty(2 * size, np.uint64), np.empty(2 * size, np.uint64)
                moved_to = np.empty(2 * size, np.int64)
            at = 0
            segment, number = first_page, 0
            left = degree
            while left > 0:
                base = segment_base(shape, segment, pages)
                for entry in range(min(left, entries)):
                    position = rank[image[base + entry * step]]
                    keys[at] = np.uint64(position) << np.uint64(_AT_BITS) | np.uint64(at)
                    at += 1
                left -= entries
                if left > 0:
                    number += 1
                    segment = page_after(image, shape, first_page, segment, number)
            row_keys = keys[:size]
            if size > SHORT_RUN:
                row_keys = sort_alone(row_keys, spare[:size], _AT_BITS)
            else:
                insertion_sort(row_keys, np.uint64(0), np.uint64(size), _AT_BITS)
            for i in range(size):
                columns[start + i] = row_keys[i] >> np.uint64(_AT_BITS)
            if not has_properties:
                continue
            for i in range(size):
                moved_to[row_keys[i] & _AT_MASK] = i
        at = 0
        segment, number = first_page, 0
        while degree > 0:
            base = segment_base(shape, segment, pages)
            for entry in range(min(degree, entries)):
                slot = base + entry * step
                to = start + (at if ordered else moved_to[at])
                if ordered:
                    neighbor = image[slot]
                    columns[to] = rank[neighbor] if rank.size else neighbor
                if wide:
                    weight[2 * to] = image[slot + WEIGHT_WORD * field]
                    weight[2 * to + 1] = image[slot + (shape.entry_words - 1) * field]
                elif weight.size:
                    weight[to] = image[slot + WEIGHT_WORD * field]
                if last.size:
                    kind[to] = image[slot + TYPE_WORD * field]
                    first[to] = read_time(image, slot + FIRST_WORD * field, field)
                    last[to] = read_time(image, slot + LAST_WORD * field, field)
                at += 1
            degree -= entries
            if degree > 0:
                number += 1
                segment = page_after(image, shape, first_page, segment, number)
