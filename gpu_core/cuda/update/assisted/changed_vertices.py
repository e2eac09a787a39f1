"""Vertices that a batch creates, deletes and puts again: found, and entered into its lists.

Part of   `map_ids.py`, for batches that the host assists. The host waits for the device here, and
          CuPy's own functions sort and search: batches that change the set of vertices pay for it.
Twin      ``host/update/map_ids.py``

New ids are sorted and get their indices: freed ones first, in queue order, then fresh ones, in
increasing order of the ids. Deletes that name unknown vertices are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....batch.dense_ids import check_vertex_count
from ....batch.end_points import check_end_points
from ....image.fields import NONE, Field
from ...device.device import Array, Device
from ...device.flags import all_set, any_set
from ...memory.dictionary import look_up
from ..state import UpdatableGraph
from .dangling import references_to
from .mapped import Mapped
from .vertices import is_present, mark_absent

#: CuPy's count: from so many items on it scans with one kernel more.
_LONG = 512 * 512 + 1


def find_changes(graph: UpdatableGraph, mapped: Mapped) -> None:
    """Complete what the mapping kernels found.

    Raises
    ------
    BatchError
        The graph would have too many vertex records, or, without ``create_vertices``, an end point
        of a put is missing.
    """
    if mapped.batch.dense:
        _find_created(graph, mapped)
    else:
        _number_created(graph, mapped)
    _drop_unknown_deletes(graph, mapped)
    there = _find_deleted(graph, mapped)
    if not mapped.create_vertices:
        _check_end_points(graph, mapped)
    _find_fates(graph, mapped, there)
    if mapped.deleted.size:
        mapped.dangling = references_to(graph, mapped.deleted)
        mapped.clear = graph.device.xp.zeros(mapped.vertex_count, np.uint8)
        mapped.clear[mapped.deleted] = 1


def _find_created(graph: UpdatableGraph, mapped: Mapped) -> None:
    """Vertices that dense ids put and that are not there, increasing."""
    arena, batch, xp = graph.arena, mapped.batch, graph.device.xp
    before, top = arena[Field.VERTEX_COUNT], batch.put_top
    assert top is not None
    mapped.vertex_count = max(before, top + 1)
    if arena[Field.NUM_VERTICES] == before and top < before:
        return
    flags = xp.zeros(mapped.vertex_count, np.uint8)
    for indices in (mapped.put_rows, mapped.put_columns, mapped.put_vertices):
        mark_absent(graph, indices, flags)
    mapped.created, mapped.created_ids = _flagged(xp, flags)


def _number_created(graph: UpdatableGraph, mapped: Mapped) -> None:
    """Give unknown users' ids their indices: freed ones in queue order, then fresh ones."""
    arena, batch, xp = graph.arena, mapped.batch, graph.device.xp
    lists = (
        (batch.put_rows, mapped.put_rows),
        (batch.put_indices, mapped.put_columns),
        (batch.put_vertices, mapped.put_vertices),
    )
    unknown, strangers, ids = _unknown(xp, lists)
    if not ids.size:
        return
    before = arena[Field.VERTEX_COUNT]
    queued = arena.queued_vertices()[: ids.size]
    after = before + ids.size - queued.size
    check_vertex_count(batch.batch_id, after)
    created = xp.concatenate([queued, xp.arange(before, after, dtype=np.uint32)])
    for (_, out), at, stranger in zip(lists, unknown, strangers, strict=True):
        _enter_created(xp, out, at, created, ids, stranger)
    mapped.created, mapped.created_ids = created, ids
    mapped.recycled, mapped.vertex_count = queued.size, after


def _drop_unknown_deletes(graph: UpdatableGraph, mapped: Mapped) -> None:
    """Keep the edge deletes whose end points both have a record, as a CSR."""
    xp, count = graph.device.xp, graph.arena[Field.VERTEX_COUNT]
    kept = _known_deletes(
        xp, count, mapped.delete_rows, mapped.delete_indptr, mapped.delete_columns,
        mapped.delete_entry_rows,
    )  # fmt: skip
    if kept is None:
        return
    mapped.delete_rows, mapped.delete_indptr, mapped.delete_columns = kept[:3]
    mapped.delete_entry_rows = kept[3]
    mapped.delete_row_count = graph.device.to_device(np.array([kept[0].size], np.uint32))


def _find_deleted(graph: UpdatableGraph, mapped: Mapped) -> Array:
    """Vertices that the batch deletes, increasing; returns which of its list are there."""
    batch, xp = mapped.batch, graph.device.xp
    if batch.dense:
        indices = batch.delete_vertices
        there = is_present(graph, indices)
    else:
        out = graph.device.empty(batch.delete_vertices.size, np.uint32)
        indices = look_up(graph.arena, batch.delete_vertices, out)
        there = indices != np.uint32(NONE)
    mapped.deleted = xp.sort(indices[xp.flatnonzero(there)])
    return there


def _check_end_points(graph: UpdatableGraph, mapped: Mapped) -> None:
    """Without ``create_vertices``, end points must exist after the batch's vertex rows."""
    batch, to_host = mapped.batch, graph.device.to_host
    fresh = graph.device.xp.zeros(mapped.vertex_count, np.bool_)
    fresh[mapped.created] = True
    fresh[mapped.deleted] = True
    fresh[mapped.put_vertices] = False
    rows = mapped.put_rows[mapped.put_entry_rows]
    if not any_set(fresh[rows] | fresh[mapped.put_columns]):
        return
    ids = [to_host(array).astype(np.int64) for array in (
        batch.put_rows, batch.put_indptr, batch.put_indices,
    )]  # fmt: skip
    indices = to_host(mapped.put_rows), to_host(mapped.put_columns)
    check_end_points(batch.batch_id, (ids[0], ids[1], ids[2]), indices, to_host(fresh))


def _find_fates(graph: UpdatableGraph, mapped: Mapped, there: Array) -> None:
    """Which deleted vertices go for good, and how many vertex rows found their vertex."""
    batch, xp = mapped.batch, graph.device.xp
    if mapped.created.size + mapped.deleted.size == 0:
        return
    flags = xp.zeros(mapped.vertex_count, np.bool_)
    if batch.put_vertex_row_count:
        # Against the graph as it stands once the deleted vertices are gone.
        flags[mapped.created] = True
        flags[mapped.deleted] = True
        missing = flags[mapped.put_vertices] & (batch.put_vertex_rows != 0)
        mapped.row_puts_found = mapped.row_puts - int(missing.sum())
        flags[:] = False
    if mapped.deleted.size:
        mapped.row_deletes_found = int((there & (batch.delete_vertex_rows != 0)).sum())
        for indices in (mapped.put_rows, mapped.put_columns, mapped.put_vertices):
            flags[indices] = True
        mapped.gone = mapped.deleted[xp.flatnonzero(~flags[mapped.deleted])]


# -- what CuPy computes


def rehearse(device: Device) -> None:
    """Have CuPy compile the kernels of its own that this module needs.

    Where they were never compiled, each takes it 0.1 s, and the first batch would meet twenty. Long
    arrays are summed up by others than short ones.
    """
    xp, nothing = device.xp, np.uint32(NONE)
    for count in (1, _LONG):
        _flagged(xp, xp.ones(count, np.uint8))
    rows, indptr = xp.arange(2, dtype=np.uint32), xp.arange(3, dtype=np.uint32)
    _known_deletes(xp, 1, rows, indptr, rows, rows)
    lists = ((xp.arange(2, dtype=np.int64), xp.full(2, nothing, np.uint32)),)
    unknown, strangers, ids = _unknown(xp, lists)
    created = xp.concatenate([rows[:1], xp.arange(1, 2, dtype=np.uint32)])
    _enter_created(xp, lists[0][1], unknown[0], created, ids, strangers[0])


def _flagged(xp: Any, flags: Array) -> tuple[Array, Array]:
    """uint32 and int64: where uint8[n] are not 0."""
    indices = xp.flatnonzero(flags).astype(np.uint32)
    return indices, indices.astype(np.int64)


def _unknown(
    xp: Any, lists: Sequence[tuple[Array, Array]]
) -> tuple[list[Array], list[Array], Array]:
    """Of ids, int64[n], and their indices, uint32[n]: those without an index.

    Returns where they are in each list, which they are, and each id once, increasing.
    """
    unknown = [xp.flatnonzero(out == np.uint32(NONE)) for _, out in lists]
    strangers = [ids[at] for (ids, _), at in zip(lists, unknown, strict=True)]
    ids = xp.concatenate(strangers)
    return unknown, strangers, xp.unique(ids) if ids.size else ids


def _enter_created(
    xp: Any, out: Array, at: Array, created: Array, ids: Array, stranger: Array
) -> None:
    """Write the indices, ``created``, of ``ids`` where they were unknown."""
    if at.size:
        out[at] = created[xp.searchsorted(ids, stranger)]


def _known_deletes(
    xp: Any, count: int, rows: Array, indptr: Array, columns: Array, entry_rows: Array
) -> tuple[Array, Array, Array, Array] | None:
    """Entries of a CSR, with the row of each, whose ids are both below ``count``; None: all are."""
    known_rows, known_columns = rows < count, columns < count
    if all_set(known_rows) and all_set(known_columns):
        return None
    keep = known_rows[entry_rows] & known_columns
    sums = xp.concatenate([xp.zeros(1, np.uint32), xp.cumsum(keep, dtype=np.uint32)])
    bounds = sums[indptr]
    full = bounds[1:] > bounds[:-1]
    rows_at, entries_at = xp.flatnonzero(full), xp.flatnonzero(keep)
    numbers = xp.cumsum(full, dtype=np.uint32) - np.uint32(1)
    return (
        rows[rows_at],
        xp.concatenate([bounds[:-1][rows_at], bounds[-1:]]),
        columns[entries_at],
        numbers[entry_rows[entries_at]],
    )
