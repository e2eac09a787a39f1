"""Users' ids of a batch to vertex indices on the device, and which vertices the batch creates.

Part of   the apply path, its first step: **identify** -> halves -> plan -> arena -> commit
Twin      ``host/identify.py``: the same indices for the same batch and graph

Nothing is changed here but the batch's status. There are three ways:

*common*   every id that the batch puts is there, every edge delete names vertices with a record,
           and no vertex is deleted. One launch maps the batch, checks that this is so, and sets the
           status to ``UNKNOWN_IDS`` where it is not; the host waits for nothing. What follows may
           work on such a batch until it looks at the status: all indices are in the table. Where
           the largest id tells that much, and no row of an entry is asked for, nothing is launched.
*entering* dense ids that may be new, in a batch whose vertex rows need not be told what they found:
           nothing is checked, and the kernel `enter_lists` enters them once the batch has its runs.
*careful*  everything else: new ids are sorted and get their indices (freed ones first, in queue
           order, then fresh ones, in increasing order of the ids), unknown deletes are dropped. The
           host learns how many there are, so it waits a few times (`careful.py`).

Whoever finds the status ``UNKNOWN_IDS``, or that a batch that enters vertices needs the host,
identifies the same batch again, with care.
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
from .dictionary import look_up
from .identified import Identified
from .packed_arguments import address, packer
from .sorting import Plain, Scratch
from .vertices import is_present
from .ways import Way, first_way_of

if TYPE_CHECKING:
    from .device import Array
    from .engine import CudaEngine

#: Entries that a block of the mapping kernels takes (``tiles.cuh``).
TILE_ENTRIES = 2048
TILE_THREADS = 256

_VERTICES = packer("put_entry_rows", "delete_entry_rows", "check")
_IDS = packer(
    "image", "slots", "slot_count", "ids", "put_rows", "put_columns", "put_entry_rows",
    "delete_rows", "delete_columns", "delete_entry_rows", "put_vertices", "strict",
)  # fmt: skip


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


def on_device(engine: CudaEngine, batch: UpdateBatch | DeviceBatch) -> DeviceBatch:
    """Upload a batch that is not on the device yet.

    Raises
    ------
    BatchError
        It has an id that cannot be a vertex of this graph.
    """
    if isinstance(batch, UpdateBatch):
        return upload(engine.staging, batch, dense=bool(engine.arena[Field.DENSE_IDS]))
    return batch


def way_of(engine: CudaEngine, batch: DeviceBatch, *, create_vertices: bool) -> Way:
    """Tell the first way that is not known to fail.

    Raises
    ------
    BatchError
        The batch has ids of the other kind, or the graph would have too many vertex records.
    """
    header = engine.arena.header
    dense = bool(header.item(Field.DENSE_IDS))
    if batch.dense != dense:
        kinds = ("any", "dense")
        msg = f"{batch!r} is for ids={kinds[batch.dense]!r}, the graph has ids={kinds[dense]!r}"
        raise BatchError(msg)
    if batch.put_top is not None and batch.put_top >= header.item(Field.VERTEX_COUNT):
        _check_vertex_count(cast("UpdateBatch", batch), batch.put_top + 1)
    return Way(first_way_of(header, batch.names, create_vertices))


def vertex_count_after(engine: CudaEngine, batch: DeviceBatch) -> int:
    """Vertex records after a batch that is not identified with care."""
    put_top = -1 if batch.put_top is None else batch.put_top
    return max(engine.arena[Field.VERTEX_COUNT], put_top + 1)


def identify_bytes(batch: DeviceBatch) -> int:
    """Bytes of scratch that `identify` takes at most where it is not careful."""
    entries = batch.put_indices.size + batch.delete_indices.size
    if batch.dense:
        return 4 * entries
    rows = batch.put_rows.size + batch.delete_rows.size + batch.put_vertices.size
    return 4 * (2 * entries + rows)


def identify(
    engine: CudaEngine,
    batch: DeviceBatch,
    way: Way,
    *,
    create_vertices: bool,
    scratch: Scratch | None = None,
) -> Identified:
    """Map a batch of users' ids to vertex indices; changes nothing but the batch's status.

    Parameters
    ----------
    way
        As `way_of` tells, or `CAREFUL` where another was tried and did not do.
    scratch
        Where the arrays are put; by default in memory of their own.

    Raises
    ------
    BatchError
        As the host's `identify`: an id cannot be a vertex of this graph, the graph would have too
        many vertex records, or, without ``create_vertices``, an end point of a put is missing.
    """
    scratch = scratch or Plain(engine.device)
    mapped = Identified(batch, engine.vertex_count, create_vertices=create_vertices)
    map_ids = _map_dense if batch.dense else _map_any
    map_ids(engine, mapped, scratch, way)
    if way is Way.CAREFUL:
        take_care(engine, mapped)
    return mapped


def _map_dense(engine: CudaEngine, mapped: Identified, scratch: Scratch, way: Way) -> None:
    """Check that the ids are there, where that is not known; their indices they are already."""
    arena, batch = engine.arena, mapped.batch
    puts, deletes = batch.put_indices.size, batch.delete_indices.size
    if way is Way.ENTERING:
        mapped.vertex_count = vertex_count_after(engine, batch)
    check = way is Way.COMMON and arena[Field.NUM_VERTICES] < mapped.vertex_count
    mapped.put_entry_rows = scratch.take(puts, np.uint32)
    mapped.delete_entry_rows = scratch.take(deletes, np.uint32)
    rows = address(mapped.put_entry_rows), address(mapped.delete_entry_rows)
    engine.device.launch_packed(
        "vertices.cu", "map_vertices", _tiles(batch), TILE_THREADS,
        arena.image_argument("out") + batch.lists + _VERTICES(*rows, check),
    )  # fmt: skip


def _map_any(engine: CudaEngine, mapped: Identified, scratch: Scratch, way: Way) -> None:
    """Look the ids up."""
    arena, batch = engine.arena, mapped.batch

    def taken(ids: Array) -> Array:
        return scratch.take(ids.size, np.uint32)

    mapped.put_rows, mapped.put_columns = taken(batch.put_rows), taken(batch.put_indices)
    mapped.put_entry_rows = taken(batch.put_indices)
    mapped.delete_rows = taken(batch.delete_rows)
    mapped.delete_columns = taken(batch.delete_indices)
    mapped.delete_entry_rows = taken(batch.delete_indices)
    mapped.put_vertices = taken(batch.put_vertices)
    tables = (
        arena.table_address(Table.DICTIONARY), arena.table_words(Table.DICTIONARY),
        arena.table_address(Table.VERTEX_IDS),
    )  # fmt: skip
    outputs = (
        mapped.put_rows, mapped.put_columns, mapped.put_entry_rows, mapped.delete_rows,
        mapped.delete_columns, mapped.delete_entry_rows, mapped.put_vertices,
    )  # fmt: skip
    where = address(engine.image), *tables, *map(address, outputs)
    arguments = batch.lists + _IDS(*where, way is not Way.CAREFUL)
    launch, blocks = engine.device.launch_packed, _tiles(batch)
    launch("dictionary.cu", "map_ids", blocks, TILE_THREADS, arguments)


def _tiles(batch: DeviceBatch) -> int:
    lists = (batch.put_indices, batch.delete_indices, batch.put_vertices)
    return sum(-(-ids.size // TILE_ENTRIES) for ids in lists)
