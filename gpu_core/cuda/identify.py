"""Users' ids of a batch to vertex indices on the device, and which vertices the batch creates.

Part of   the apply path, its first step: **identify** -> halves -> plan -> arena -> commit
Twin      ``host/identify.py``: the same indices for the same batch and graph

Nothing is changed here but the batch's status. There are two ways:

*common*   every id that the batch puts is there, every edge delete names vertices with a record,
           and no vertex is deleted. One launch maps the batch, checks that this is so, and sets the
           status to ``UNKNOWN_IDS`` where it is not; the host waits for nothing. What follows may
           work on such a batch until it looks at the status: all indices are in the table.
*careful*  everything else: new ids are sorted and get their indices (freed ones first, in queue
           order, then fresh ones, in increasing order of the ids), unknown deletes are dropped. The
           host learns how many there are, so it waits a few times (`careful.py`).

Whoever finds the status ``UNKNOWN_IDS`` identifies the same batch again, with care.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from ..batch import UpdateBatch
from ..errors import BatchError
from ..host.identify import _check_vertex_count
from ..image import NONE, Field, Table
from .batch import DeviceBatch, upload
from .careful import take_care
from .compile import shape_argument
from .dictionary import look_up
from .identified import Identified
from .sorting import Plain, Scratch
from .vertices import is_present

if TYPE_CHECKING:
    from .device import Array
    from .engine import CudaEngine

#: Entries that a block of the mapping kernels takes (``tiles.cuh``).
TILE_ENTRIES = 2048
TILE_THREADS = 256


def indices_of(engine: CudaEngine, ids: Array) -> Array:
    """uint32: vertex index of each of the ids (int64); `NONE` for ids that are not in the graph."""
    arena, device = engine.arena, engine.device
    if not arena[Field.DENSE_IDS]:
        return look_up(engine, ids, device.empty(ids.size, np.uint32))
    xp = device.xp
    in_range = (ids >= 0) & (ids < NONE)
    out = xp.where(in_range, ids, NONE).astype(np.uint32)
    there = is_present(engine, out)
    return xp.where(there, out, np.uint32(NONE))


def identify(
    engine: CudaEngine,
    batch: UpdateBatch | DeviceBatch,
    *,
    create_vertices: bool,
    careful: bool = False,
    scratch: Scratch | None = None,
) -> Identified:
    """Map a batch of users' ids to vertex indices; changes nothing but the batch's status.

    Parameters
    ----------
    careful
        Do not try the common way: it was tried, and an id is unknown.
    scratch
        Where the arrays are put; by default in memory of their own.

    Raises
    ------
    BatchError
        As the host's `identify`: an id cannot be a vertex of this graph, the graph would have too
        many vertex records, or, without ``create_vertices``, an end point of a put is missing.
    """
    scratch = scratch or Plain(engine.device)
    dense = bool(engine.arena[Field.DENSE_IDS])
    if isinstance(batch, UpdateBatch):
        batch = upload(engine.device, batch, dense=dense, scratch=scratch)
    elif batch.dense != dense:
        msg = (
            f"batch {batch.batch_id} was made with dense={batch.dense}, but the graph's ids are "
            f"{'dense' if dense else 'any'}; make it with dense={dense}"
        )
        raise BatchError(msg)
    before = engine.arena[Field.VERTEX_COUNT]
    top = -1 if batch.put_top is None else batch.put_top
    delete_top = -1 if batch.delete_top is None else batch.delete_top
    _check_vertex_count(cast("UpdateBatch", batch), max(before, top + 1))
    # What is known to fail is not tried.
    careful = (
        careful or batch.delete_vertices.size > 0 or before == 0 or max(top, delete_top) >= before
    )
    mapped = (_map_dense if dense else _map_any)(engine, batch, scratch, strict=not careful)
    mapped.create_vertices = create_vertices
    if careful:
        take_care(engine, mapped)
    return mapped


def _map_dense(
    engine: CudaEngine, batch: DeviceBatch, scratch: Scratch, *, strict: bool
) -> Identified:
    """Check that the ids are there; their indices they are already."""
    arena = engine.arena
    mapped = _identified(engine, batch, ordered=True)
    mapped.put_rows, mapped.put_columns = batch.put_rows, batch.put_indices
    mapped.delete_rows, mapped.delete_columns = batch.delete_rows, batch.delete_indices
    mapped.put_vertices = batch.put_vertices
    mapped.put_entry_rows = scratch.take(batch.put_indices.size, np.uint32)
    mapped.delete_entry_rows = scratch.take(batch.delete_indices.size, np.uint32)
    all_present = arena[Field.NUM_VERTICES] == arena[Field.VERTEX_COUNT]
    engine.device.launch(
        "vertices.cu", "map_vertices", _tiles(batch), TILE_THREADS,
        engine.image, shape_argument(arena.shape("out")), np.uint32(all_present), np.uint32(strict),
        batch.put_rows, batch.put_indptr, np.int64(batch.put_rows.size), batch.put_indices,
        np.int64(batch.put_indices.size), mapped.put_entry_rows,
        batch.delete_rows, batch.delete_indptr, np.int64(batch.delete_rows.size),
        batch.delete_indices, np.int64(batch.delete_indices.size), mapped.delete_entry_rows,
        batch.put_vertices, np.int64(batch.put_vertices.size),
    )  # fmt: skip
    return mapped


def _map_any(
    engine: CudaEngine, batch: DeviceBatch, scratch: Scratch, *, strict: bool
) -> Identified:
    """Look the ids up."""
    arena = engine.arena
    mapped = _identified(engine, batch, ordered=False)
    slots = arena.table(Table.DICTIONARY)
    known = arena.table(Table.VERTEX_IDS).view(np.int64)

    def taken(ids: Array) -> Array:
        return scratch.take(ids.size, np.uint32)

    mapped.put_rows, mapped.put_columns = taken(batch.put_rows), taken(batch.put_indices)
    mapped.put_entry_rows = taken(batch.put_indices)
    mapped.delete_rows = taken(batch.delete_rows)
    mapped.delete_columns = taken(batch.delete_indices)
    mapped.delete_entry_rows = taken(batch.delete_indices)
    mapped.put_vertices = taken(batch.put_vertices)
    engine.device.launch(
        "dictionary.cu", "map_ids", _tiles(batch), TILE_THREADS,
        slots, np.int64(slots.size), known, engine.image, np.uint32(strict),
        batch.put_rows, batch.put_indptr, np.int64(batch.put_rows.size), batch.put_indices,
        np.int64(batch.put_indices.size), mapped.put_rows, mapped.put_columns,
        mapped.put_entry_rows,
        batch.delete_rows, batch.delete_indptr, np.int64(batch.delete_rows.size),
        batch.delete_indices, np.int64(batch.delete_indices.size), mapped.delete_rows,
        mapped.delete_columns, mapped.delete_entry_rows,
        batch.put_vertices, np.int64(batch.put_vertices.size), mapped.put_vertices,
    )  # fmt: skip
    return mapped


def _tiles(batch: DeviceBatch) -> int:
    lists = (batch.put_indices, batch.delete_indices, batch.put_vertices)
    return sum(-(-ids.size // TILE_ENTRIES) for ids in lists)


def _identified(engine: CudaEngine, batch: DeviceBatch, *, ordered: bool) -> Identified:
    """Result of the common way, where the batch creates and deletes no vertex."""
    nothing = batch.nothing
    return Identified(
        batch=batch,
        create_vertices=True,
        careful=False,
        put_rows=nothing,
        put_columns=nothing,
        put_entry_rows=nothing,
        delete_rows=nothing,
        delete_indptr=batch.delete_indptr,
        delete_columns=nothing,
        delete_entry_rows=nothing,
        put_row_count=batch.put_row_count,
        delete_row_count=batch.delete_row_count,
        put_vertices=nothing,
        deleted=nothing,
        recreated=nothing,
        gone=nothing,
        created=nothing,
        created_ids=nothing,
        recycled=0,
        vertex_count=engine.arena[Field.VERTEX_COUNT],
        ordered=ordered,
        row_puts=batch.put_vertex_row_count,
        row_puts_found=batch.put_vertex_row_count,
        row_deletes=batch.delete_vertex_row_count,
        row_deletes_found=0,
    )
