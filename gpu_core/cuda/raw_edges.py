"""Batches from raw rows of edges that are on the device: sort, keep the last row of each edge, CSR.

The meaning is that of `UpdateBatch.from_rows` for rows that are all about edges. The rows are put
in order first (`edge_order.py`); then the last one of each edge is kept. Kernels count what is
kept, and later ones read it there: the host waits once, for all the numbers at the end, and before
that for the range of the ids where the caller does not know it.

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
from .edge_order import (
    Bounds,
    EdgeRows,
    SortedRows,
    bounds_of_ids,
    folded,
    order_bytes,
    sorted_by_edge,
)
from .packed_arguments import Piece, address, packer
from .scratch import SLACK_BYTES, DeviceScratch, Pieces
from .sorting import ticket_of
from .transfer import size_of_piece

_TILE_ENTRIES = 2048
_TILE_THREADS = 256

#: ``Counts`` of the kernels; two words more are an empty list's, and fill up.
_COUNTS = (
    "puts", "deletes", "loops", "revoked", "put_rows", "delete_rows", "put_beyond",
    "delete_beyond", "faults",
)  # fmt: skip
#: ``Fault`` of the kernels.
_OUT_OF_BOUNDS = 4

_TURNS = packer("turns")
_COUNTED = packer("keep_loops", "turns", "tiles", "counts", "ticket")
_LISTED = packer("keep_loops", "tiles", "put_at", "delete_at")
_LIST = packer("at", "tiles", "rows", "indptr", "columns", "positions", "firsts", "resets")
_ROWS_COUNTED = packer("tiles", "counts", "ticket")
_GROUPED = packer("tiles", "turns", "ids_are_narrow", "counts")


class _Kept(NamedTuple):
    """Edges of one list as a CSR of users' ids; as long as the rows until `cut` to what is kept."""

    #: uint32: places of the deciding rows in the order.
    at: Array
    rows: Array
    indptr: Array
    indices: Array
    positions: Array | None
    firsts: Array | None
    resets: Array | None

    def argument(self, tiles: Piece | None) -> bytes:
        """``KeptList`` of the kernels, packed."""
        return _LIST(*map(address, (self.at, tiles, *self[1:])))

    def cut(self, edges: int, rows: int) -> "_Kept":
        """What is kept."""
        of_edges = (None if column is None else column[:edges] for column in (self.at, *self[3:]))
        at, *others = of_edges
        return _Kept(at, self.rows[:rows], self.indptr[: rows + 1], *others)


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
    bounds: Bounds | None = None,
    is_checked: bool = False,
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
    bounds
        What no id lies beyond, where the caller knows it: then the device is not asked. The closer,
        the faster.
    is_checked
        Whether ``weight`` is known to be finite on all rows that insert.

    Raises
    ------
    BatchError
        As of `UpdateBatch.from_rows`; ``dense``, and an id cannot be a vertex index; an id lies
        beyond ``bounds``.
    SettingsError
        ``records`` or ``self_loops`` is unknown or contradicts ``directed``.
    """
    record = record_named(records)
    check_self_loops(self_loops, directed=directed)
    columns = {"op": op, "src": src, "dst": dst, "weight": weight, "type": type, "ts": ts}
    if not _fit(columns, record) or not (is_checked or _is_finite(device, weight, record)):
        _refuse(device, columns, record, self_loops)
    count = src.size
    if not src.dtype == dst.dtype == np.uint32:
        src, dst = src.astype(np.int64, copy=False), dst.astype(np.int64, copy=False)
    if count == 0:
        bounds = Bounds(0, 0, 0, 0)
    elif bounds is None:
        bounds = bounds_of_ids(device, src, dst)
    if dense:
        lowest, highest = min(bounds.src_low, bounds.dst_low), max(bounds.src_high, bounds.dst_high)
        check_range(batch_id, min(lowest, 0), highest)
    counts = device.xp.zeros(len(_COUNTS) + 3, np.uint32)
    rows = EdgeRows(
        op, src, dst, count, bounds if directed else folded(bounds), not directed, counts,
    )  # fmt: skip
    temporary = device.empty(
        size_of_piece(order_bytes(device, count) + 32 * count + 2 * SLACK_BYTES), np.uint8
    )
    scratch = DeviceScratch(device.xp, temporary)
    ordered = sorted_by_edge(device, rows, Pieces(scratch), with_positions=bool(record.properties))
    turns = _turns(device, ordered) if op is not None else None
    id_type = np.dtype(np.uint32 if dense else np.int64)
    lists = _lists(device, ordered, scratch, counts, id_type, record)
    _keep(device, ordered, scratch, lists, turns, counts, keep_loops=self_loops == "keep")
    found = dict(zip(_COUNTS, device.read_words(counts).tolist(), strict=False))
    if found["faults"] == _OUT_OF_BOUNDS:
        msg = f"batch {batch_id}: an id lies beyond the bounds {tuple(bounds)} that were given"
        raise BatchError(msg)
    if found["faults"] or (self_loops == "reject" and found["loops"]):
        _refuse(device, columns, record, self_loops)
    puts = lists[0].cut(found["puts"], found["put_rows"])
    deletes = lists[1].cut(found["deletes"], found["delete_rows"])
    tops = [found["put_beyond"] - 1, found["delete_beyond"] - 1]
    nothing = counts[:0]
    created, created_rows = nothing.view(id_type), nothing.view(np.uint8)
    if create_vertices and found["revoked"]:
        created = _end_points(device, deletes, turns)
        created_rows = device.xp.zeros(created.size, np.uint8)
        tops[0] = max(tops[0], int(created[-1]))
    return DeviceBatch(
        batch_id=batch_id,
        directed=directed,
        records=records,
        dense=dense,
        rows=count,
        dropped=found["loops"],
        overridden=count - found["loops"] - found["puts"] - found["deletes"],
        put_top=tops[0] if dense else None,
        delete_top=tops[1] if dense else None,
        put_vertex_row_count=0,
        delete_vertex_row_count=0,
        put_row_count=counts[4:5],
        delete_row_count=counts[5:6],
        nothing=nothing,
        put_rows=puts.rows,
        put_indptr=puts.indptr,
        put_indices=puts.indices,
        delete_rows=deletes.rows,
        delete_indptr=deletes.indptr,
        delete_indices=deletes.indices,
        put_vertices=created,
        put_vertex_rows=created_rows,
        delete_vertices=nothing.view(id_type),
        delete_vertex_rows=nothing.view(np.uint8),
        **_properties(device, record, puts, weight, type, ts),
    )


def _fit(columns: dict[str, Any], record: Record) -> bool:
    """Whether the columns may be rows, as far as that is known before they are read."""
    given = {name: column for name, column in columns.items() if column is not None}
    src, dst = given["src"], given["dst"]
    if any(ids.dtype.kind not in "iu" or ids.dtype == np.uint64 for ids in (src, dst)):
        msg = "src and dst must be int64, or integers that fit it; number the vertices so"
        raise BatchError(msg)
    if "op" in given and given["op"].dtype != np.int8:
        msg = f"op is of type {given['op'].dtype}; give int8, 1 for insert and -1 for delete"
        raise BatchError(msg)
    return (
        all(column.size == src.size for column in given.values())
        and src.size < ROW_LIMIT
        and (not record.has_times or "ts" in given)
    )


def _is_finite(device: Device, weight: Array | None, record: Record) -> bool:
    """Whether all weights are good, also those of rows that do not need one."""
    return weight is None or not record.has_weight or bool(device.xp.isfinite(weight).all())


def _refuse(device: Device, columns: dict[str, Any], record: Record, self_loops: str) -> None:
    """Refuse rows as `UpdateBatch.from_rows` does, in its words, if it does."""
    on_host: dict[str, Any] = {
        name: device.to_host(column) for name, column in columns.items() if column is not None
    }
    UpdateBatch.from_rows(
        on_host.pop("op", None), on_host.pop("src"), on_host.pop("dst"), **on_host,
        records=record.name, self_loops=self_loops,
    )  # fmt: skip


def _turns(device: Device, ordered: SortedRows) -> Array:
    """uint32[n]: where inserts and deletes of an edge take turns, at its last row."""
    turns = device.xp.zeros(ordered.keys.size, np.uint32)
    device.launch_packed(
        "raw_edges.cu", "mark_turns", -(-turns.size // _TILE_THREADS), _TILE_THREADS,
        ordered.argument + _TURNS(address(turns)),
    )  # fmt: skip
    return turns


def _lists(
    device: Device,
    ordered: SortedRows,
    scratch: DeviceScratch,
    counts: Array,
    id_type: Any,
    record: Record,
) -> tuple[_Kept, _Kept]:
    """Memory for the puts and the deletes: as if all rows were kept."""
    size = ordered.keys.size
    put_size, delete_size = size, 0 if ordered.all_inserts else size
    # Ids twice, offsets, one of them more; flags of what is reset.
    nbytes = sum((2 * id_type.itemsize + 5) * n + 4 * 128 for n in (put_size, delete_size))
    block = DeviceScratch(device.xp, device.empty(size_of_piece(nbytes + SLACK_BYTES), np.uint8))

    def made(length: int, *, is_put: bool) -> _Kept:
        with_times = is_put and record.has_times
        return _Kept(
            at=scratch.take(length, np.uint32),
            rows=block.take(length, id_type),
            indptr=block.take(length + 1, np.uint32) if length else counts[-1:],
            indices=block.take(length, id_type),
            positions=scratch.take(length, np.uint32) if is_put and record.properties else None,
            firsts=scratch.take(length, np.uint32) if with_times else None,
            resets=block.take(length, np.uint8) if with_times else None,
        )

    return made(put_size, is_put=True), made(delete_size, is_put=False)


def _keep(
    device: Device,
    ordered: SortedRows,
    scratch: DeviceScratch,
    lists: tuple[_Kept, _Kept],
    turns: Array | None,
    counts: Array,
    *,
    keep_loops: bool,
) -> None:
    """Fill the lists with the edges that are kept; what they come to is counted on the device."""
    launch, rows = device.launch_packed, ordered.argument
    blocks = -(-ordered.keys.size // _TILE_ENTRIES)
    tiles = Pieces(scratch).take(2 * blocks, np.uint32)
    ticket, counted = address(ticket_of(device)), address(counts)
    puts, deletes = lists
    launch(
        "raw_edges.cu", "count_kept", blocks, _TILE_THREADS,
        rows + _COUNTED(keep_loops, address(turns), address(tiles), counted, ticket),
    )  # fmt: skip
    launch(
        "raw_edges.cu", "list_kept", blocks, _TILE_THREADS,
        rows + _LISTED(keep_loops, address(tiles), address(puts.at), address(deletes.at)),
    )  # fmt: skip
    grid = blocks if ordered.all_inserts else 2 * blocks
    delete_tiles = Piece(tiles.place + 4 * blocks, blocks)
    arguments = rows + puts.argument(tiles) + deletes.argument(delete_tiles)
    launch(
        "raw_edges.cu", "count_edge_rows", grid, _TILE_THREADS,
        arguments + _ROWS_COUNTED(blocks, counted, ticket),
    )  # fmt: skip
    is_narrow = puts.rows.dtype == np.uint32
    launch(
        "raw_edges.cu", "group_edges", grid, _TILE_THREADS,
        arguments + _GROUPED(blocks, address(turns), is_narrow, counted),
    )  # fmt: skip


def _end_points(device: Device, deletes: _Kept, turns: Array) -> Array:
    """Ids of edges that the batch inserts, then deletes: the edge is gone, its end points not."""
    xp = device.xp
    entries = xp.flatnonzero(turns[deletes.at])
    sources = deletes.rows[xp.searchsorted(deletes.indptr, entries, side="right") - 1]
    return xp.unique(xp.concatenate([sources, deletes.indices[entries]]))


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
