"""Copy the adjacencies out of the image as CSR, with the properties of their entries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...batch.serial_sort import SHORT_RUN, insertion_sort
from ...jit.compile import borrowing, compiled
from ...jit.parallel import for_ranges
from ...jit.prefetch import FAR_AHEAD, prefetch, prefetch_row
from ...layouts import open_adjacency, page_after, segment_base, strides
from ...records import FIRST_WORD, LAST_WORD, TYPE_WORD, WEIGHT_WORD, Record
from ..update.parallel_sort import sort_alone
from ..update.rows.entries import has_wide_weight, read_time
from .host_graph import HostGraph

#: Bits of a key below the rank, for the position in the row.
_AT_BITS = np.int64(32)
_AT_MASK = np.uint64((1 << 32) - 1)


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


@borrowing
def longest_row(low, high, indptr):
    """Entries of the longest of rows ``low … high - 1``."""
    longest = np.int64(0)
    for row in range(low, high):
        longest = max(longest, indptr[row + 1] - indptr[row])
    return longest


@borrowing
def prefetch_later(image, shape, indices, row, high):
    """Ask for the record of a later row, and for the row of an earlier one of those."""
    # In any order but that of the table, the record is far away too.
    later = np.int64(indices[min(row + 2 * FAR_AHEAD, high - 1)])
    prefetch(image, shape.vertex_base + later * shape.vertex_words)
    prefetch_row(image, shape, np.int64(indices[min(row + FAR_AHEAD, high - 1)]))


@borrowing
def key_entries(image, shape, adjacency, rank, keys):
    """Write a key of each entry of a row: its neighbor's rank, and below that where it stands."""
    first_page, left, entries, pages = adjacency
    step, _ = strides(shape, entries)
    at = 0
    segment, number = first_page, 0
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


@borrowing
def place_entries(keys, size, start, columns, moved_to):
    """Write the ranks in a row's sorted keys to ``columns``, and where each entry has got to."""
    for i in range(size):
        columns[start + i] = keys[i] >> np.uint64(_AT_BITS)
    if moved_to.size:
        for i in range(size):
            moved_to[keys[i] & _AT_MASK] = i


@borrowing
def copy_properties(image, slot, field, words, exported, to):
    """Copy the properties of the entry at word ``slot`` to item ``to``."""
    if has_wide_weight(words):
        exported.weight[2 * to] = image[slot + WEIGHT_WORD * field]
        exported.weight[2 * to + 1] = image[slot + (words - 1) * field]
    elif exported.weight.size:
        exported.weight[to] = image[slot + WEIGHT_WORD * field]
    if exported.last.size:
        exported.kind[to] = image[slot + TYPE_WORD * field]
        exported.first[to] = read_time(image, slot + FIRST_WORD * field, field)
        exported.last[to] = read_time(image, slot + LAST_WORD * field, field)


@borrowing
def copy_row(image, shape, adjacency, start, rank, ordered, moved_to, exported):
    """Copy the entries of a row from item ``start`` on; in another order only their properties."""
    first_page, left, entries, pages = adjacency
    step, field = strides(shape, entries)
    at = 0
    segment, number = first_page, 0
    while left > 0:
        base = segment_base(shape, segment, pages)
        for entry in range(min(left, entries)):
            slot = base + entry * step
            to = start + (at if ordered else moved_to[at])
            if ordered:
                neighbor = image[slot]
                exported.columns[to] = rank[neighbor] if rank.size else neighbor
            copy_properties(image, slot, field, shape.entry_words, exported, to)
            at += 1
        left -= entries
        if left > 0:
            number += 1
            segment = page_after(image, shape, first_page, segment, number)


@compiled
def copy_rows(low, high, image, shape, indices, rank, ordered, exported):
    """Copy rows ``low … high - 1``; where ranks do not grow with indices, each row is sorted.

    ``rank`` is empty where each vertex has its index for a rank.
    """
    indptr, columns = exported.indptr, exported.columns
    has_properties = exported.weight.size > 0 or exported.last.size > 0
    # For all rows: most are short, and to take memory takes longer than to sort them.
    longest = np.int64(0) if ordered else longest_row(low, high, indptr)
    keys, spare = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    moved_to = np.empty(longest if has_properties else np.int64(0), np.int64)
    for row in range(low, high):
        prefetch_later(image, shape, indices, row, high)
        adjacency = open_adjacency(image, shape, np.int64(indices[row]))
        start, size = indptr[row], adjacency[1]
        if not ordered:
            key_entries(image, shape, adjacency, rank, keys)
            if size > SHORT_RUN:
                row_keys = sort_alone(keys[:size], spare[:size], _AT_BITS)
                place_entries(row_keys, size, start, columns, moved_to)
            else:
                insertion_sort(keys, np.uint64(0), np.uint64(size), _AT_BITS)
                place_entries(keys, size, start, columns, moved_to)
        if ordered or has_properties:
            copy_row(image, shape, adjacency, start, rank, ordered, moved_to, exported)
