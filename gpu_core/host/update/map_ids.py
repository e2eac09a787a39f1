"""Users' ids of a batch to vertex indices, and which vertices the batch creates.

Part of   the apply path, its first step: **map_ids** -> deltas -> plan -> arena -> commit

Nothing is changed here. New ids get the indices that they will have once the batch is committed:
freed ones first, in queue order, then fresh ones, in increasing order of the ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...batch.dense_ids import check_vertex_count, to_indices
from ...batch.end_points import check_end_points
from ...batch.numbered_batch import NumberedBatch
from ...batch.update_batch import UpdateBatch
from ...image.fields import NONE, Field
from ...jit.parallel import for_ranges
from ..memory import dictionary
from ..memory.arena import Arena
from ..queries.queries import is_present, known_ids, look_up, mark_absent
from .expiring_batch import ExpiringBatch
from .parallel_sort import distinct_ids

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]


@dataclass
class Mapped:
    """A batch by vertex index."""

    #: Edges to put: uint32[r] and uint32[m]; with ``batch.put_indptr`` a CSR in the batch's order.
    put_rows: UInt32s
    put_columns: UInt32s
    #: Edge deletes whose end points both have a record, as a CSR of their own. The others are
    #: missing: what is not found counts so (`apply.py`).
    delete_rows: UInt32s
    delete_indptr: Int64s
    delete_columns: UInt32s
    #: Index of each of ``batch.put_vertices``.
    put_vertices: UInt32s
    #: Vertices that are there and are deleted, increasing.
    deleted: UInt32s
    #: Which of ``batch.delete_vertices`` are there.
    delete_found: npt.NDArray[np.bool_]
    #: Vertices that are not there before the batch and are afterwards: index, and users' id.
    created: UInt32s
    created_ids: Int64s
    #: How many of ``created`` come from the front of the vertex queue.
    recycled: int
    #: Vertex records after the batch.
    vertex_count: int
    #: Whether indices grow with users' ids over all that the batch names.
    ordered: bool


def map_ids(arena: Arena, batch: UpdateBatch, *, create_vertices: bool) -> Mapped:
    """Map a batch of users' ids to vertex indices; changes nothing.

    Raises
    ------
    BatchError
        An id cannot be a vertex of this graph, the graph would have more than `MAX_VERTICES`
        vertex records, or, without ``create_vertices``, an end point of a put is missing.
    """
    if isinstance(batch, ExpiringBatch):
        return nothing_named(arena[Field.VERTEX_COUNT])
    if isinstance(batch, NumberedBatch) and batch.numbers is not None and batch.names is not None:
        mapped = _map_numbered(arena, batch, batch.numbers, batch.names.keys)
    else:
        map_batch = _map_dense if arena[Field.DENSE_IDS] else _map_any
        mapped = map_batch(arena, batch)
    if not create_vertices:
        _check_end_points(mapped, batch)
    return mapped


def nothing_named(vertex_count: int) -> Mapped:
    """Mapped form of a batch that names no vertices; ``vertex_count``: records after it."""
    indices, ids, flags = np.empty(0, np.uint32), np.empty(0, np.int64), np.empty(0, np.bool_)
    return Mapped(
        put_rows=indices, put_columns=indices, delete_rows=indices,
        delete_indptr=np.zeros(1, np.int64), delete_columns=indices, put_vertices=indices,
        deleted=indices, delete_found=flags, created=indices, created_ids=ids, recycled=0,
        vertex_count=vertex_count, ordered=True,
    )  # fmt: skip


def _check_end_points(mapped: Mapped, batch: UpdateBatch) -> None:
    """Without ``create_vertices``, end points must exist after the batch's vertex rows."""
    missing = np.zeros(mapped.vertex_count, np.bool_)
    missing[mapped.created] = True
    missing[mapped.deleted] = True
    missing[mapped.put_vertices] = False
    ids = batch.put_rows, batch.put_indptr, batch.put_indices
    check_end_points(batch.batch_id, ids, (mapped.put_rows, mapped.put_columns), missing)


def _map_dense(arena: Arena, batch: UpdateBatch) -> Mapped:
    names = ("put_rows", "put_indices", "delete_rows", "delete_indices")
    parts: dict[str, UInt32s] = {}
    top = -1
    for name in (*names, "put_vertices", "delete_vertices"):
        ids = getattr(batch, name)
        parts[name] = np.empty(ids.size, np.uint32)
        largest = to_indices(ids, parts[name], batch.batch_id)
        if name.startswith("put"):
            top = max(top, largest)
    before = arena[Field.VERTEX_COUNT]
    # Beyond the table there is no edge to delete, and no record for the rows to come.
    delete_rows, delete_indptr, delete_columns = _known_deletes(
        parts["delete_rows"], batch.delete_indptr, parts["delete_indices"], before
    )
    there = np.empty(parts["delete_vertices"].size, np.bool_)
    shape = arena.shape("out")
    for_ranges(is_present, there.size, arena.image, shape, parts["delete_vertices"], there)
    deleted = parts["delete_vertices"][there]
    created = _absent(arena, top, [parts["put_rows"], parts["put_indices"], parts["put_vertices"]])
    return Mapped(
        put_rows=parts["put_rows"],
        put_columns=parts["put_indices"],
        delete_rows=delete_rows,
        delete_indptr=delete_indptr,
        delete_columns=delete_columns,
        put_vertices=parts["put_vertices"],
        deleted=deleted,
        delete_found=there,
        created=created,
        created_ids=created.astype(np.int64),
        recycled=0,
        vertex_count=max(before, top + 1),
        ordered=True,
    )


def _absent(arena: Arena, top: int, parts: list[UInt32s]) -> UInt32s:
    """Distinct indices that are not there, increasing."""
    count = arena[Field.VERTEX_COUNT]
    if arena[Field.NUM_VERTICES] == count and top < count:
        return np.empty(0, np.uint32)
    shape = arena.shape("out")
    missing = np.zeros(max(count, top + 1), np.bool_)
    for part in parts:
        for_ranges(mark_absent, part.size, arena.image, shape, part, missing)
    return np.flatnonzero(missing).astype(np.uint32)


def _known_deletes(
    rows: UInt32s, indptr: Int64s, columns: UInt32s, count: int
) -> tuple[UInt32s, Int64s, UInt32s]:
    """Edge deletes whose end points are both below ``count``, as a CSR."""
    known_rows, known_columns = rows < count, columns < count
    if rows.size == 0 or (known_rows.all() and known_columns.all()):
        return rows, indptr, columns
    keep = np.repeat(known_rows, np.diff(indptr)) & known_columns
    kept = np.concatenate([[0], np.cumsum(keep)])[indptr]
    full = np.diff(kept) > 0
    return (
        rows[full],
        np.concatenate([kept[:-1][full], kept[-1:]]),
        columns[keep],
    )


def _map_any(arena: Arena, batch: UpdateBatch) -> Mapped:
    put_parts = [batch.put_rows, batch.put_indices, batch.put_vertices]
    mapped = [np.empty(part.size, np.uint32) for part in put_parts]
    known = known_ids(arena)
    unknown = [look_up(known, part, out) for part, out in zip(put_parts, mapped, strict=True)]
    fresh = _NONE_CREATED
    if any(unknown):
        strangers = [part[out == NONE] for part, out in zip(put_parts, mapped, strict=True)]
        fresh = _Created.of(arena, batch.batch_id, distinct_ids(np.concatenate(strangers)))
        for stranger, out in zip(_numbers(fresh.ids, strangers), mapped, strict=True):
            out[out == NONE] = fresh.indices[stranger]
    delete_parts = [batch.delete_rows, batch.delete_indices, batch.delete_vertices]
    deletes = [np.empty(part.size, np.uint32) for part in delete_parts]
    for part, out in zip(delete_parts, deletes, strict=True):
        look_up(known, part, out)
    return _mapped(arena, batch, mapped, deletes, fresh)


def _map_numbered(
    arena: Arena, batch: UpdateBatch, numbers: dict[str, npt.NDArray[Any]], ids: Int64s
) -> Mapped:
    """Map ids that are numbers of increasing ones: each of those is looked up once."""
    indices = np.empty(ids.size, np.uint32)
    unknown = look_up(known_ids(arena), ids, indices)
    # What the batch creates has no edges to be deleted.
    deletes = [indices[numbers[f"delete_{part}"]] for part in _PARTS]
    fresh = _NONE_CREATED
    if unknown:
        # Not those that are only deleted, or named by rows that others override.
        is_put = np.zeros(ids.size, np.bool_)
        for part in _PARTS:
            is_put[numbers[f"put_{part}"]] = True
        created = np.flatnonzero(is_put & (indices == NONE))
        fresh = _Created.of(arena, batch.batch_id, ids[created])
        indices[created] = fresh.indices
    puts = [indices[numbers[f"put_{part}"]] for part in _PARTS]
    return _mapped(arena, batch, puts, deletes, fresh)


#: Lists of ids of a batch, for puts and for deletes.
_PARTS = ("rows", "indices", "vertices")


@dataclass
class _Created:
    """Vertices that a batch creates: index, and users' id, increasing."""

    indices: UInt32s
    ids: Int64s
    #: How many of them come from the front of the vertex queue.
    recycled: int

    @classmethod
    def of(cls, arena: Arena, batch_id: int, ids: Int64s) -> _Created:
        """Indices for increasing ids; `BatchError` where there are too many."""
        before = arena[Field.VERTEX_COUNT]
        queued = arena.queued_vertices()[: ids.size]
        count = before + ids.size - queued.size
        check_vertex_count(batch_id, count)
        return cls(
            np.concatenate([queued, np.arange(before, count, dtype=np.uint32)]), ids, queued.size
        )


_NONE_CREATED = _Created(np.empty(0, np.uint32), np.empty(0, np.int64), 0)


def _mapped(
    arena: Arena,
    batch: UpdateBatch,
    puts: list[UInt32s],
    deletes: list[UInt32s],
    fresh: _Created,
) -> Mapped:
    """Mapped form of a batch of any ids: rows, columns and vertices of puts and deletes."""
    before = arena[Field.VERTEX_COUNT]
    # Unknown ids have no index below that.
    delete_rows, delete_indptr, delete_columns = _known_deletes(
        deletes[0], batch.delete_indptr, deletes[1], before
    )
    there = deletes[2] != NONE
    return Mapped(
        put_rows=puts[0],
        put_columns=puts[1],
        delete_rows=delete_rows,
        delete_indptr=delete_indptr,
        delete_columns=delete_columns,
        put_vertices=puts[2],
        deleted=np.sort(deletes[2][there]),
        delete_found=there,
        created=fresh.indices,
        created_ids=fresh.ids,
        recycled=fresh.recycled,
        vertex_count=before + fresh.ids.size - fresh.recycled,
        ordered=False,
    )


def _numbers(ids: Int64s, parts: list[Int64s]) -> list[UInt32s]:
    """For each item of the parts, its number among the distinct ``ids``.

    By a dictionary of their own: binary searches took four times as long, measured for 1 M edges.
    """
    slots = np.full(2 << (ids.size - 1).bit_length(), NONE, np.uint32)
    dictionary.insert(slots, ids, np.arange(ids.size, dtype=np.uint32))
    numbers = [np.empty(part.size, np.uint32) for part in parts]
    for part, out in zip(parts, numbers, strict=True):
        look_up((slots, ids), part, out)
    return numbers
