"""One delta of a batch: its entries for one direction by vertex index, grouped by row and sorted.

Part of   the apply path: **deltas** -> plan -> arena.prepare, arena.take -> commit

A batch names each edge once, in users' ids. An adjacency wants its entries by row (source for the
forward delta, destination for the reverse or mirrored one) and, within a row, sorted by column. The
mirror is made here by one sort of packed keys (`delta_keys.py`). A CSR of puts or of deletes
alone keeps its rows, whose entries are put in order row by row (`row_order.py`) unless indices grow
with users' ids (``Mapped.ordered``); puts and deletes in order are merged.

The properties of a put stay in the batch's arrays; ``source`` names the put of each entry, and is
empty where records have no properties.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...batch.update_batch import UpdateBatch
from ...image.fields import KIND_DANGLING, KIND_DELETE, KIND_PUT
from ...jit.arrays import readonly
from ...jit.compile import compiled
from ...jit.parallel import for_ranges, ranges_of
from ..queries.host_graph import HostGraph
from .delta_keys import KeyBits, count_rows, pack_keys, pack_transposed, unpack_keys
from .expiring_batch import ExpiringBatch
from .map_ids import Mapped
from .parallel_sort import merge_keys, order_runs, sort_keys
from .row_order import ordered_columns
from .vertices import find_dangling

UInt32s = npt.NDArray[np.uint32]


class DeltaEntries(NamedTuple):
    """Entries of one kind, not yet grouped: by index."""

    kind: int
    rows: UInt32s
    columns: UInt32s


class Delta(NamedTuple):
    """Entries for one direction, grouped by row and sorted by (column, kind) within a row.

    Kernels take it as it is.
    """

    #: Vertex index of each row, distinct.
    rows: UInt32s
    #: int64[rows + 1]: where each row's entries begin.
    indptr: npt.NDArray[np.int64]
    columns: UInt32s
    #: uint8: `KIND_DANGLING`, `KIND_DELETE` or `KIND_PUT`.
    kinds: npt.NDArray[np.uint8]
    #: uint32: number of the put that an entry comes from; empty where puts carry nothing.
    source: UInt32s
    #: bool[rows]: the row's vertex is deleted, all its old entries go.
    clear: npt.NDArray[np.bool_]


_NO_SOURCE = np.empty(0, np.uint32)


def delta_of_csr(
    kind: int,
    rows: UInt32s,
    indptr: npt.NDArray[np.int64],
    columns: UInt32s,
    *,
    with_source: bool,
    ordered: bool,
) -> Delta:
    """Delta of a CSR of entries of one kind.

    Its rows stay in the order of users' ids; the entries of each are sorted unless ``ordered`` says
    that they are.
    """
    if ordered:
        source = np.arange(columns.size, dtype=np.uint32) if with_source else _NO_SOURCE
    else:
        columns, source = ordered_columns(indptr, columns, with_source=with_source)
    kinds = np.full(columns.size, kind, np.uint8)
    return _delta(rows, indptr, columns, kinds, source, np.zeros(rows.size, np.bool_))


def _delta(*arrays: npt.NDArray[Any]) -> Delta:
    """Delta of read-only views: a batch's own arrays are, and kernels compile for one type."""
    return Delta(*map(readonly, arrays))


def sorted_delta(
    groups: list[DeltaEntries],
    cleared: UInt32s,
    vertex_count: int,
    *,
    mirrored: bool,
    both: bool,
    with_source: bool,
    ordered: bool,
) -> Delta:
    """Group and sort entries of several kinds for one direction.

    Parameters
    ----------
    groups
        Entries by kind. Dangling references are in this direction already and are never transposed.
    cleared
        Vertices that are deleted: each gets a row, with ``clear`` set.
    vertex_count
        Indices are below this; at most `MAX_VERTICES`, so that two of them fit a key.
    mirrored
        Turn puts and deletes round: row = destination.
    both
        Add the transposed entries to the others (undirected graphs).
    with_source
        Keep the number of the put.
    ordered
        The entries of each group are sorted by (row, column) as they are given.
    """
    pieces = _pieces_of(groups, mirrored=mirrored, both=both)
    sizes = [piece.rows.size for piece in pieces]
    most = max(sizes, default=1)
    bits = KeyBits.of(vertex_count, (most - 1).bit_length() if with_source else 0)
    starts = [0, *accumulate(sizes)]
    keys = np.empty(starts[-1], np.uint64)
    for (kind, rows, columns), begin, size in zip(pieces, starts, sizes, strict=False):
        for_ranges(pack_keys, size, rows, columns, kind, *bits, keys[begin : begin + size])
    source = _NO_SOURCE
    if with_source and not bits.number:
        numbers = [np.arange(size, dtype=np.uint32) for size in sizes]
        # No two keys are equal, so any order of sorting is the same.
        order = np.argsort(keys)
        keys = keys[order]
        source = np.concatenate(numbers)[order] if numbers else _NO_SOURCE
    else:
        if ordered and not both and len(pieces) == 2:
            keys = merge_keys(keys[: starts[1]], keys[starts[1] :])
        else:
            # Most rows have few entries: sorted by row, the rest is soon done.
            keys = sort_keys(keys, bits.below_row)
            for_ranges(order_runs, keys.size, keys, bits.below_row)
        if with_source:
            source = np.empty(keys.size, np.uint32)
    return _unpacked(keys, source, cleared, bits)


def _pieces_of(groups: list[DeltaEntries], *, mirrored: bool, both: bool) -> list[DeltaEntries]:
    """Entries of one direction, not grouped by row yet; arguments of `sorted_delta`."""
    pieces = []
    for group in groups:
        if group.rows.size == 0:
            continue
        is_fixed = group.kind == KIND_DANGLING
        if is_fixed or both or not mirrored:
            pieces.append(group)
        if not is_fixed and (both or mirrored):
            pieces.append(DeltaEntries(group.kind, group.columns, group.rows))
    return pieces


def transposed(delta: Delta, vertex_count: int, *, ordered: bool) -> Delta:
    """Turn a delta round: rows become columns. It must not clear rows.

    Where its rows are in order of their vertices one stable sort by the new row is enough.
    """
    number_bits = int(max(delta.source.max(initial=0), 1)).bit_length() if delta.source.size else 0
    bits = KeyBits.of(vertex_count, number_bits)
    keys = np.empty(delta.columns.size, np.uint64)
    for_ranges(pack_transposed, delta.rows.size, delta, *bits, keys)
    source = delta.source
    if source.size and not bits.number:
        order = np.argsort(keys)
        keys, source = keys[order], source[order]
    else:
        keys = sort_keys(keys, bits.below_row)
        if not ordered:
            for_ranges(order_runs, keys.size, keys, bits.below_row)
        source = np.empty_like(source)
    return _unpacked(keys, source, np.empty(0, np.uint32), bits)


def _unpacked(
    keys: npt.NDArray[np.uint64], source: UInt32s, cleared: UInt32s, bits: KeyBits
) -> Delta:
    starts = np.array([low for low, _ in ranges_of(keys.size)], np.int64)
    counts = for_ranges(count_rows, keys.size, keys, np.uint64(bits.below_row))
    offsets = np.array([0, *accumulate(counts)], np.int64)
    count = int(offsets[-1])
    rows = np.empty(count, np.uint32)
    indptr = np.empty(count + 1, np.int64)
    indptr[count] = keys.size
    columns = np.empty(keys.size, np.uint32)
    kinds = np.empty(keys.size, np.uint8)
    for_ranges(
        unpack_keys, keys.size, keys, tuple(bits), (starts, offsets),
        (rows, indptr, columns, kinds, source),
    )  # fmt: skip
    clear = np.zeros(count, np.bool_)
    if cleared.size:
        rows, indptr, clear = _with_cleared(rows, indptr, cleared)
    return _delta(rows, indptr, columns, kinds, source, clear)


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


def deltas_of(engine: HostGraph, mapped: Mapped, batch: UpdateBatch) -> list[tuple[str, Delta]]:
    """The batch's entries for each stored direction; of an `ExpiringBatch` only of the reverse."""
    reverse = engine.directed and engine.has_reverse
    if isinstance(batch, ExpiringBatch):
        return [("in", _expired_delta(batch, mapped.vertex_count))] if reverse else []
    has_properties = bool(engine.record.properties)
    puts = mapped.put_columns.size
    deletes = mapped.delete_columns.size
    if engine.directed and mapped.deleted.size == 0 and (puts == 0 or deletes == 0):
        listed = (
            (KIND_PUT, mapped.put_rows, batch.put_indptr, mapped.put_columns)
            if puts
            else (KIND_DELETE, mapped.delete_rows, mapped.delete_indptr, mapped.delete_columns)
        )
        out = delta_of_csr(*listed, with_source=has_properties, ordered=mapped.ordered)
        if not reverse:
            return [("out", out)]
        return [("out", out), ("in", transposed(out, mapped.vertex_count, ordered=mapped.ordered))]
    groups = [
        DeltaEntries(KIND_PUT, _expanded(mapped.put_rows, batch.put_indptr), mapped.put_columns),
        DeltaEntries(KIND_DELETE, _expanded(mapped.delete_rows, mapped.delete_indptr),
                mapped.delete_columns),
    ]  # fmt: skip
    out = sorted_delta(
        [_dangling(engine, mapped.deleted, "out"), *groups], mapped.deleted, mapped.vertex_count,
        mirrored=False, both=not engine.directed, with_source=has_properties,
        ordered=mapped.ordered and mapped.deleted.size == 0,
    )  # fmt: skip
    if not reverse:
        return [("out", out)]
    if mapped.deleted.size == 0:
        return [("out", out), ("in", transposed(out, mapped.vertex_count, ordered=True))]
    # The dangling references of the two directions differ: this delta is no mirror of the other.
    back = sorted_delta(
        [_dangling(engine, mapped.deleted, "in"), *groups], mapped.deleted, mapped.vertex_count,
        mirrored=True, both=False, with_source=has_properties, ordered=False,
    )  # fmt: skip
    return [("out", out), ("in", back)]


def _expired_delta(batch: ExpiringBatch, vertex_count: int) -> Delta:
    edges = batch.edges
    out = delta_of_csr(
        KIND_DELETE, edges.rows, edges.indptr, edges.targets, with_source=False, ordered=True
    )
    return transposed(out, vertex_count, ordered=True)


def _dangling(engine: HostGraph, deleted: UInt32s, direction: str) -> DeltaEntries:
    """Entries of one direction, in rows of vertices that stay, that name a deleted vertex."""
    empty = np.empty(0, np.uint32)
    if deleted.size == 0:
        return DeltaEntries(KIND_DANGLING, empty, empty)
    flags = np.zeros(engine.vertex_count, np.bool_)
    flags[deleted] = True
    if engine.has_reverse:
        # Rows that name a vertex are listed in its adjacency of the other direction.
        opposite = "in" if direction == "out" else "out"
        indptr, rows = engine.neighbors(deleted, opposite)
        columns = np.repeat(deleted, np.diff(indptr))
        stays = ~flags[rows]
        return DeltaEntries(KIND_DANGLING, rows[stays], columns[stays])
    shape = engine.shape("out")
    size = sum(for_ranges(find_dangling, flags.size, engine.image, shape, flags, None, None))
    rows, columns = np.empty(size, np.uint32), np.empty(size, np.uint32)
    find_dangling(0, flags.size, engine.image, shape, flags, rows, columns)
    return DeltaEntries(KIND_DANGLING, rows, columns)


def _expanded(rows: UInt32s, indptr: npt.NDArray[np.int64]) -> UInt32s:
    out = np.empty(int(indptr[-1]), np.uint32)
    for_ranges(expand_rows, rows.size, rows, indptr, out)
    return out


@compiled
def expand_rows(low, high, rows, indptr, out):
    """Write the row of each entry of CSR rows ``low … high - 1``."""
    for row in range(low, high):
        for entry in range(indptr[row], indptr[row + 1]):
            out[entry] = rows[row]
