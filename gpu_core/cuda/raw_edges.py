"""Batches from raw rows of edges that are on the device: sort, keep the last row of each edge, CSR.

The meaning is that of `UpdateBatch.from_rows` for rows that are all about edges. The rows are put
in order first (`edge_order.py`); then the last one of each edge is kept.

The host waits three times: for the range of the ids, for the number of edges, and of rows.

Kernels: ``kernels/raw_edges.cu``. Host twin: ``host/last_rows.py``.
"""

from typing import Any, NamedTuple

import numpy as np

from ..batch import UpdateBatch
from ..batch_rows import ROW_LIMIT, check_self_loops
from ..errors import BatchError
from ..host.dense_ids import check_range
from ..records import Record, record_named
from .batch import DeviceBatch
from .device import Array, Device
from .edge_order import EdgeRows, SortedRows, bounds_of_ids, sorted_by_edge
from .sorting import ticket_of

_TILE_ENTRIES = 2048
_TILE_THREADS = 256


class _Kept(NamedTuple):
    """Edges of one list as a CSR of users' ids."""

    rows: Array
    indptr: Array
    indices: Array
    positions: Array | None
    firsts: Array | None
    resets: Array | None


def from_edges(
    device: Device,
    src: Array,
    dst: Array,
    op: Array | None = None,
    *,
    dense: bool,
    weight: Array | None = None,
    type: Array | None = None,  # noqa: A002 -- the log's name for the column
    ts: Array | None = None,
    directed: bool = True,
    records: str = "simple",
    self_loops: str = "drop",
    create_vertices: bool = True,
    batch_id: int = -1,
) -> DeviceBatch:
    """Work out what ``n`` rows of edges, one by one and in order, come to.

    Parameters
    ----------
    src, dst
        Integers on the device, ``n`` of each: ids of the users' own, or vertex indices (``dense``).
    op
        int8[n], 1 inserts and -1 deletes; None: all insert.
    weight, type, ts, directed, records, self_loops, create_vertices, batch_id
        As of `UpdateBatch.from_rows`, arrays on the device.

    Raises
    ------
    BatchError
        As of `UpdateBatch.from_rows`; ``dense``, and an id cannot be a vertex index.
    SettingsError
        ``records`` or ``self_loops`` is unknown or contradicts ``directed``.
    """
    record = record_named(records)
    check_self_loops(self_loops, directed=directed)
    columns = {"op": op, "src": src, "dst": dst, "weight": weight, "type": type, "ts": ts}
    _check_columns(device, columns, record, self_loops)
    xp = device.xp
    src, dst = src.astype(np.int64, copy=False), dst.astype(np.int64, copy=False)
    if not directed:
        src, dst = xp.minimum(src, dst), xp.maximum(src, dst)
    rows = EdgeRows(op, src, dst)
    bounds = bounds_of_ids(device, rows) if src.size else np.array([0, -1, 0, -1])
    if dense:
        check_range(batch_id, int(min(bounds[0], bounds[2], 0)), int(max(bounds[1], bounds[3])))
    ordered = sorted_by_edge(device, rows, bounds, with_positions=bool(record.properties))

    turns: Array = None
    if op is not None:
        turns = xp.zeros(src.size, np.uint32)
        device.launch(
            "raw_edges.cu", "mark_turns", -(-src.size // _TILE_THREADS), _TILE_THREADS,
            *ordered.arguments, turns,
        )  # fmt: skip
    put_at, delete_at, dropped, revoked = _kept_rows(
        device, ordered, turns, keep_loops=self_loops == "keep"
    )
    id_type = np.uint32 if dense else np.int64
    # Rows of the puts and of the deletes, and 1 + the largest vertex index of each.
    sizes = xp.zeros(4, np.uint32)
    puts, deletes, tops = _grouped(
        device, ordered, turns, (put_at, delete_at), id_type, record, sizes
    )
    created = xp.empty(0, id_type)
    if create_vertices and revoked:
        # Inserted in this batch, then deleted: the edge is gone, its end points are not.
        entries = xp.flatnonzero(turns[delete_at])
        sources = deletes.rows[xp.searchsorted(deletes.indptr, entries, side="right") - 1]
        created = xp.unique(xp.concatenate([sources, deletes.indices[entries]]))
        tops[0] = max(tops[0], int(created[-1]))
    return DeviceBatch(
        batch_id=batch_id,
        directed=directed,
        records=records,
        dense=dense,
        rows=src.size,
        dropped=dropped,
        overridden=src.size - dropped - put_at.size - delete_at.size,
        put_top=tops[0] if dense else None,
        delete_top=tops[1] if dense else None,
        put_vertex_row_count=0,
        delete_vertex_row_count=0,
        put_row_count=sizes[:1],
        delete_row_count=sizes[1:2],
        nothing=sizes[:0],
        put_rows=puts.rows,
        put_indptr=puts.indptr,
        put_indices=puts.indices,
        delete_rows=deletes.rows,
        delete_indptr=deletes.indptr,
        delete_indices=deletes.indices,
        put_vertices=created,
        put_vertex_rows=xp.zeros(created.size, np.uint8),
        delete_vertices=xp.empty(0, id_type),
        delete_vertex_rows=xp.empty(0, np.uint8),
        **_properties(device, record, puts, weight, type, ts),
    )


def _check_columns(
    device: Device, columns: dict[str, Any], record: Record, self_loops: str
) -> None:
    """Refuse rows as `UpdateBatch.from_rows` does, in its words."""
    xp, size = device.xp, columns["src"].size
    kept = {"op", "src", "dst", *record.properties, *(("ts",) if record.has_times else ())}
    given = {name: column for name, column in columns.items() if column is not None}
    integers = all(given[name].dtype.kind in "iu" for name in ("src", "dst"))
    if not integers or given["src"].dtype == np.uint64 or given["dst"].dtype == np.uint64:
        msg = "src and dst must be int64, or integers that fit it; number the vertices so"
        raise BatchError(msg)
    good = (
        all(column.size == size for column in given.values())
        and size < ROW_LIMIT
        and (not record.has_times or "ts" in given)
    )
    if good and "op" in given:
        good = bool(((given["op"] == 1) | (given["op"] == -1)).all())
    if good and "weight" in given and "weight" in kept:
        good = bool(xp.isfinite(given["weight"]).all())
    if good and self_loops == "reject":
        good = not bool((given["src"] == given["dst"]).any())
    if good:
        return
    on_host: dict[str, Any] = {name: device.to_host(column) for name, column in given.items()}
    UpdateBatch.from_rows(
        on_host.pop("op", None), on_host.pop("src"), on_host.pop("dst"), **on_host,
        records=record.name, self_loops=self_loops,
    )  # fmt: skip


def _kept_rows(
    device: Device, ordered: SortedRows, turns: Array | None, *, keep_loops: bool
) -> tuple[Array, Array, int, int]:
    """Which rows decide: places of puts, of deletes; loops dropped, edges inserted and deleted."""
    blocks = -(-ordered.keys.size // _TILE_ENTRIES)
    if blocks == 0:
        nothing = device.empty(0, np.uint32)
        return nothing, nothing, 0, 0
    tiles, totals = device.empty(4 * blocks, np.uint32), device.empty(4, np.uint32)
    loops = np.uint32(keep_loops)
    device.launch(
        "raw_edges.cu", "count_kept", blocks, _TILE_THREADS, *ordered.arguments, loops, turns,
        tiles, totals, ticket_of(device),
    )  # fmt: skip
    puts, deletes, dropped, revoked = (int(total) for total in device.read_words(totals))
    put_at, delete_at = device.empty(puts, np.uint32), device.empty(deletes, np.uint32)
    device.launch(
        "raw_edges.cu", "list_kept", blocks, _TILE_THREADS, *ordered.arguments, loops, tiles,
        put_at, delete_at,
    )  # fmt: skip
    return put_at, delete_at, dropped, revoked


def _grouped(
    device: Device,
    ordered: SortedRows,
    turns: Array | None,
    lists: tuple[Array, Array],
    id_type: Any,
    record: Record,
    sizes: Array,
) -> tuple[_Kept, _Kept, list[int]]:
    """CSR of the puts, with what their properties are taken from, and of the deletes.

    Fills ``sizes``, and returns the largest vertex index of each list, -1 where there is none.
    """
    found = []
    for number, at in enumerate(lists):
        size, blocks = at.size, -(-at.size // _TILE_ENTRIES)
        rows, columns = device.empty(size, id_type), device.empty(size, id_type)
        indptr = device.xp.zeros(1, np.uint32) if size == 0 else device.empty(size + 1, np.uint32)
        is_put = number == 0
        positions = device.empty(size, np.uint32) if is_put and record.properties else None
        firsts = device.empty(size, np.uint32) if is_put and record.has_times else None
        resets = device.empty(size, np.uint8) if is_put and record.has_times else None
        tiles = device.empty(blocks, np.uint32)
        kept = at, np.int64(size), tiles
        device.launch(
            "raw_edges.cu", "count_edge_rows", blocks, _TILE_THREADS, *ordered.arguments, *kept,
            sizes[number : number + 1], ticket_of(device),
        )  # fmt: skip
        device.launch(
            "raw_edges.cu", "group_edges", blocks, _TILE_THREADS, *ordered.arguments, turns, *kept,
            np.uint32(id_type == np.uint32), rows, indptr, columns, positions, firsts, resets,
            sizes[number + 2 : number + 3],
        )  # fmt: skip
        found.append(_Kept(rows, indptr, columns, positions, firsts, resets))
    *counts, put_beyond, delete_beyond = device.read_words(sizes).tolist()
    puts, deletes = (
        kept._replace(rows=kept.rows[:count], indptr=kept.indptr[: count + 1])
        for kept, count in zip(found, counts, strict=True)
    )
    return puts, deletes, [put_beyond - 1, delete_beyond - 1]


def _properties(
    device: Device,
    record: Record,
    puts: _Kept,
    weight: Array | None,
    type_: Array | None,
    ts: Array | None,
) -> dict[str, Array]:
    """Property columns of the edges to put, as the deciding rows have them."""
    xp, size = device.xp, puts.indices.size
    fields: dict[str, Array] = {}
    if record.has_weight:
        fields["put_weight"] = (
            xp.ones(size, np.float32)
            if weight is None
            else weight[puts.positions].astype(np.float32, copy=False)
        )
    if record.has_times:
        assert ts is not None
        fields["put_type"] = (
            xp.zeros(size, np.int32)
            if type_ is None
            else type_[puts.positions].astype(np.int32, copy=False)
        )
        fields["put_first"] = ts[puts.firsts].astype(np.int64, copy=False)
        fields["put_last"] = ts[puts.positions].astype(np.int64, copy=False)
        fields["put_reset"] = puts.resets
    return fields
