"""Vertices that a batch creates and deletes, and what follows for its lists.

Part of   `map_ids.py`, for batches that the host assists. The host waits for the device here, and
          CuPy's own functions sort and search: batches that change the set of vertices pay for it.
Twin      ``host/update/map_ids.py``

New ids are sorted and get their indices: freed ones first, in queue order, then fresh ones, in
increasing order of the ids. Deletes that name unknown vertices are dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....batch.dense_ids import check_vertex_count
from ....batch.end_points import check_end_points
from ....image.fields import NONE, Field
from ...device.flags import all_set, any_set
from ...memory.dictionary import look_up
from .dangling import references_to
from .mapped import Mapped
from .vertices import is_present, mark_absent

if TYPE_CHECKING:
    from ...device.device import Array
    from ..state import UpdatableGraph


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
    mapped.created = xp.flatnonzero(flags).astype(np.uint32)
    mapped.created_ids = mapped.created.astype(np.int64)


def _number_created(graph: UpdatableGraph, mapped: Mapped) -> None:
    """Give unknown users' ids their indices: freed ones in queue order, then fresh ones."""
    arena, batch, xp = graph.arena, mapped.batch, graph.device.xp
    lists = (
        (batch.put_rows, mapped.put_rows),
        (batch.put_indices, mapped.put_columns),
        (batch.put_vertices, mapped.put_vertices),
    )
    unknown = [xp.flatnonzero(out == np.uint32(NONE)) for _, out in lists]
    if not any(at.size for at in unknown):
        return
    strangers = [ids[at] for (ids, _), at in zip(lists, unknown, strict=True)]
    ids = xp.unique(xp.concatenate(strangers))
    before = arena[Field.VERTEX_COUNT]
    queued = arena.queued_vertices()[: ids.size]
    after = before + ids.size - queued.size
    check_vertex_count(batch.batch_id, after)
    created = xp.concatenate([queued, xp.arange(before, after, dtype=np.uint32)])
    for (_, out), at, stranger in zip(lists, unknown, strangers, strict=True):
        if at.size:
            out[at] = created[xp.searchsorted(ids, stranger)]
    mapped.created, mapped.created_ids = created, ids
    mapped.recycled, mapped.vertex_count = queued.size, after


def _drop_unknown_deletes(graph: UpdatableGraph, mapped: Mapped) -> None:
    """Keep the edge deletes whose end points both have a record, as a CSR."""
    xp, count = graph.device.xp, graph.arena[Field.VERTEX_COUNT]
    known_rows, known_columns = mapped.delete_rows < count, mapped.delete_columns < count
    if all_set(known_rows) and all_set(known_columns):
        return
    keep = known_rows[mapped.delete_entry_rows] & known_columns
    sums = xp.concatenate([xp.zeros(1, np.uint32), xp.cumsum(keep, dtype=np.uint32)])
    bounds = sums[mapped.delete_indptr]
    full = bounds[1:] > bounds[:-1]
    rows_at, entries_at = xp.flatnonzero(full), xp.flatnonzero(keep)
    numbers = xp.cumsum(full, dtype=np.uint32) - np.uint32(1)
    mapped.delete_rows = mapped.delete_rows[rows_at]
    mapped.delete_indptr = xp.concatenate([bounds[:-1][rows_at], bounds[-1:]])
    mapped.delete_columns = mapped.delete_columns[entries_at]
    mapped.delete_entry_rows = numbers[mapped.delete_entry_rows[entries_at]]
    mapped.delete_row_count = graph.device.to_device(np.array([rows_at.size], np.uint32))


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
    """Which deleted vertices come back, and how many vertex rows found their vertex."""
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
        again = flags[mapped.deleted]
        mapped.recreated = mapped.deleted[xp.flatnonzero(again)]
        mapped.gone = mapped.deleted[xp.flatnonzero(~again)]
