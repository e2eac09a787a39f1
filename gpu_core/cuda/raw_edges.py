"""Batches from raw rows of edges that are on the device: sort, keep the last row of each edge, CSR.

The meaning is that of `UpdateBatch.from_rows` for rows that are all about edges. The rows are put
in order first (`edge_order.py`); then the last one of each edge is kept. Kernels count what is
kept, and later ones read it there: the host waits once, for all the numbers at the end, and before
that for the range of the ids where the caller does not know it.

Kernels: ``kernels/raw_edges.cu``. Host twin: ``host/last_rows.py``.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..batch import UpdateBatch
from ..batch_rows import ROW_LIMIT, check_self_loops, hold_ids
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
from .packed_arguments import address, packer
from .pending_read import PendingRead
from .scratch import SLACK_BYTES, DeviceScratch, Pieces
from .sorting import BUCKET_OVERFULL, ticket_of
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

#: Conversions of a device that are not begun in buckets, once they were overfull.
_WITHOUT_BUCKETS = 64
#: How many are left of them.
_without_buckets: WeakKeyDictionary[Device, int] = WeakKeyDictionary()

_TURNS = packer("turns")
_COUNTED = packer("keep_loops", "turns", "tiles", "counts", "ticket")
_LISTED = packer("keep_loops", "tiles", "put_at", "delete_at")
_LIST = packer("at", "tiles", "rows", "indptr", "columns", "positions", "firsts", "resets")
_ROWS_COUNTED = packer("tiles", "counts", "ticket")
_GROUPED = packer("tiles", "turns", "ids_are_narrow", "counts")


class _Kept(NamedTuple):
    """Addresses of a list of edges, a CSR of users' ids with room for all rows; 0: none."""

    #: uint32: places of the deciding rows in the order.
    at: int
    rows: int
    #: uint32
    indptr: int
    columns: int
    #: uint32: numbers of rows.
    positions: int
    firsts: int
    #: uint8
    resets: int

    def argument(self, tiles: int) -> bytes:
        """``KeptList`` of the kernels, packed."""
        return _LIST(self.at, tiles, *self[1:])


@dataclass(frozen=True, eq=False, repr=False)
class Conversion:
    """Rows of edges that the device works on. Made by `begin_edges`."""

    device: Device
    #: By name: ``op``, ``src``, ``dst``, ``weight``, ``type``, ``ts``; None where there is none.
    columns: dict[str, Array | None]
    count: int
    dense: bool
    directed: bool
    record: Record
    self_loops: str
    create_vertices: bool
    batch_id: int
    bounds: Bounds
    #: uint32: ``Counts`` of the kernels, and more words that are 0.
    counts: Array
    #: The same on its way to the host.
    counted: PendingRead
    #: uint32: as `_turns` returns it; None where all rows insert.
    turns: Array | None
    #: Memory of the lists, and of what the host does not look at.
    block: DeviceScratch
    scratch: DeviceScratch
    puts: _Kept
    deletes: _Kept

    def batch(self) -> DeviceBatch:
        """Wait for what the rows come to.

        Properties are gathered on the current stream: this object stays until that is done.

        Raises
        ------
        BatchError
            As `from_edges`.
        """
        counts = self.counts
        found = dict(zip(_COUNTS, self.counted.wait().tolist(), strict=False))
        overfull = found["faults"] & BUCKET_OVERFULL
        found["faults"] -= overfull
        self._check(found)
        if overfull:
            return self._anew()
        put_rows, put_indptr, put_indices = self._csr(self.puts, found["puts"], found["put_rows"])
        deletes = self._csr(self.deletes, found["deletes"], found["delete_rows"])
        tops = [found["put_beyond"] - 1, found["delete_beyond"] - 1]
        nothing = counts[:0]
        no_ids, no_flags = nothing.view(self._id_type), nothing.view(np.uint8)
        created, created_rows = no_ids, no_flags
        if self.create_vertices and found["revoked"]:
            created = self._end_points(*deletes)
            created_rows = self.device.xp.zeros(created.size, np.uint8)
            tops[0] = max(tops[0], int(created[-1]))
        return DeviceBatch(
            batch_id=self.batch_id,
            directed=self.directed,
            records=self.record.name,
            dense=self.dense,
            rows=self.count,
            dropped=found["loops"],
            overridden=self.count - found["loops"] - found["puts"] - found["deletes"],
            put_top=tops[0] if self.dense else None,
            delete_top=tops[1] if self.dense else None,
            put_vertex_row_count=0,
            delete_vertex_row_count=0,
            put_row_count=counts[4:5],
            delete_row_count=counts[5:6],
            nothing=nothing,
            put_rows=put_rows,
            put_indptr=put_indptr,
            put_indices=put_indices,
            delete_rows=deletes[0],
            delete_indptr=deletes[1],
            delete_indices=deletes[2],
            put_vertices=created,
            put_vertex_rows=created_rows,
            delete_vertices=no_ids,
            delete_vertex_rows=no_flags,
            **self._properties(found["puts"]),
        )

    def _anew(self) -> DeviceBatch:
        """Convert the rows again, of which too many have sources side by side for a bucket."""
        _without_buckets[self.device] = _WITHOUT_BUCKETS
        return begin_edges(
            self.device, dense=self.dense, directed=self.directed, records=self.record.name,
            self_loops=self.self_loops, create_vertices=self.create_vertices,
            batch_id=self.batch_id, bounds=self.bounds, is_checked=True, **self.columns,
        ).batch()  # fmt: skip

    @property
    def _id_type(self) -> Any:
        return _id_type(dense=self.dense)

    def _check(self, found: dict[str, int]) -> None:
        """Refuse rows that the kernels found fault with."""
        if found["faults"] == _OUT_OF_BOUNDS:
            raise _beyond(self.batch_id, self.bounds)
        if found["faults"] or (self.self_loops == "reject" and found["loops"]):
            _refuse(self.device, self.columns, self.record, self.self_loops)

    def _csr(self, kept: _Kept, edges: int, rows: int) -> tuple[Array, Array, Array]:
        """Rows, offsets and columns of what is kept of a list."""
        if edges == 0:
            no_ids = self.counts[:0].view(self._id_type)
            return no_ids, self.counts[-1:], no_ids
        at = self.block.array_at
        return (
            at(kept.rows, rows, self._id_type),
            at(kept.indptr, rows + 1, np.uint32),
            at(kept.columns, edges, self._id_type),
        )

    def _end_points(self, rows: Array, indptr: Array, columns: Array) -> Array:
        """Ids of edges that the batch inserts, then deletes: the edge is gone, its end points not.

        Takes the CSR of the deletes.
        """
        xp = self.device.xp
        assert self.turns is not None
        at = self.scratch.array_at(self.deletes.at, columns.size, np.uint32)
        entries = xp.flatnonzero(self.turns[at])
        sources = rows[xp.searchsorted(indptr, entries, side="right") - 1]
        return xp.unique(xp.concatenate([sources, columns[entries]]))

    def _properties(self, edges: int) -> dict[str, Array]:
        """Property columns of the edges to put, as the deciding rows have them."""
        fields: dict[str, Array] = {}
        if not self.record.properties:
            return fields
        xp, columns = self.device.xp, self.columns
        positions = self.scratch.array_at(self.puts.positions, edges, np.uint32)

        def column(name: str, absent: int, dtype: Any) -> Array:
            values = columns[name]
            if values is None:
                return xp.full(edges, absent, dtype)
            return values[positions].astype(dtype, copy=False)

        if self.record.has_weight:
            fields["put_weight"] = column("weight", 1, np.float32)
        if self.record.has_times:
            ts = columns["ts"]
            assert ts is not None
            firsts = self.scratch.array_at(self.puts.firsts, edges, np.uint32)
            fields["put_type"] = column("type", 0, np.int32)
            fields["put_first"] = ts[firsts].astype(np.int64, copy=False)
            fields["put_last"] = column("ts", 0, np.int64)
            fields["put_reset"] = self.block.array_at(self.puts.resets, edges, np.uint8)
        return fields


def from_edges(device: Device, src: Array, dst: Array, *columns: Array, **how: Any) -> DeviceBatch:
    """Work out what rows of edges, one by one and in order, come to: `begin_edges`, to its end.

    Raises
    ------
    BatchError
        As of `UpdateBatch.from_rows`; ``dense``, and an id cannot be a vertex index; an id lies
        beyond ``bounds``.
    SettingsError
        ``records`` or ``self_loops`` is unknown or contradicts ``directed``.
    """
    return begin_edges(device, src, dst, *columns, **how).batch()


def begin_edges(
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
) -> Conversion:
    """Begin to work out what ``n`` rows of edges come to, on the current stream.

    What is refused is refused here, or, where it takes a look at the rows, by `Conversion.batch`.

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
    BatchError, SettingsError
        As `from_edges`.
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
    elif not hold_ids(bounds):
        raise _beyond(batch_id, bounds)
    if dense:
        lowest, highest = min(bounds.src_low, bounds.dst_low), max(bounds.src_high, bounds.dst_high)
        check_range(batch_id, min(lowest, 0), highest)
    counts = device.xp.zeros(len(_COUNTS) + 3, np.uint32)
    rows = EdgeRows(
        op, src, dst, count, bounds if directed else folded(bounds), not directed, counts,
        address(counts[_COUNTS.index("faults") :]), _may_use_buckets(device),
    )  # fmt: skip
    scratch = _memory(device, order_bytes(device, rows) + 17 * count)
    ordered = sorted_by_edge(device, rows, Pieces(scratch), with_positions=bool(record.properties))
    turns = _turns(device, ordered) if op is not None else None
    block, puts, deletes = _lists(device, ordered, scratch, counts, record, dense=dense)
    _keep(device, ordered, scratch, (puts, deletes), turns, counts,
          keep_loops=self_loops == "keep", ids_are_narrow=dense)  # fmt: skip
    return Conversion(
        device, columns, count, dense, directed, record, self_loops, create_vertices, batch_id,
        bounds, counts, PendingRead(device, counts), turns, block, scratch, puts, deletes,
    )  # fmt: skip


def _may_use_buckets(device: Device) -> bool:
    """Whether rows may go into buckets: not for a while, once they were overfull."""
    left = _without_buckets.get(device, 0)
    if left:
        _without_buckets[device] = left - 1
    return left == 0


def _memory(device: Device, nbytes: int) -> DeviceScratch:
    """So many bytes for one batch, of CuPy's pool."""
    size = size_of_piece(nbytes + 2 * SLACK_BYTES)
    return DeviceScratch(device.xp, device.empty(size, np.uint8))


def _id_type(*, dense: bool) -> Any:
    return np.dtype(np.uint32 if dense else np.int64)


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


def _beyond(batch_id: int, bounds: Bounds) -> BatchError:
    msg = (
        f"batch {batch_id}: an id lies beyond the bounds {tuple(bounds)} that were given; if they "
        f"are a file's statistics, write it again"
    )
    return BatchError(msg)


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
    record: Record,
    *,
    dense: bool,
) -> tuple[DeviceScratch, _Kept, _Kept]:
    """Memory for the puts and the deletes, as if all were kept; positions are in ``scratch``."""
    size, id_bytes = ordered.keys.size, _id_type(dense=dense).itemsize
    sizes = size, 0 if ordered.all_inserts else size
    # Ids twice, offsets, one of them more; flags of what is reset.
    block = _memory(device, sum((2 * id_bytes + 5) * n + 4 * 128 for n in sizes))

    def made(length: int, *, is_put: bool) -> _Kept:
        if length == 0:
            return _Kept(0, 0, address(counts[-1:]), 0, 0, 0, 0)
        with_times = is_put and record.has_times
        with_positions = is_put and record.properties
        return _Kept(
            at=scratch.place(4 * length),
            rows=block.place(id_bytes * length),
            indptr=block.place(4 * (length + 1)),
            columns=block.place(id_bytes * length),
            positions=scratch.place(4 * length) if with_positions else 0,
            firsts=scratch.place(4 * length) if with_times else 0,
            resets=block.place(length) if with_times else 0,
        )

    return block, made(sizes[0], is_put=True), made(sizes[1], is_put=False)


def _keep(
    device: Device,
    ordered: SortedRows,
    scratch: DeviceScratch,
    lists: tuple[_Kept, _Kept],
    turns: Array | None,
    counts: Array,
    *,
    keep_loops: bool,
    ids_are_narrow: bool,
) -> None:
    """Fill the lists with the edges that are kept; what they come to is counted on the device."""
    launch, rows = device.launch_packed, ordered.argument
    blocks = -(-ordered.keys.size // _TILE_ENTRIES)
    tiles = address(Pieces(scratch).take(2 * blocks, np.uint32))
    ticket, counted = address(ticket_of(device)), address(counts)
    puts, deletes = lists
    launch(
        "raw_edges.cu", "count_kept", blocks, _TILE_THREADS,
        rows + _COUNTED(keep_loops, address(turns), tiles, counted, ticket),
    )  # fmt: skip
    launch(
        "raw_edges.cu", "list_kept", blocks, _TILE_THREADS,
        rows + _LISTED(keep_loops, tiles, puts.at, deletes.at),
    )  # fmt: skip
    grid = blocks if ordered.all_inserts else 2 * blocks
    arguments = rows + puts.argument(tiles) + deletes.argument(tiles + 4 * blocks)
    launch(
        "raw_edges.cu", "count_edge_rows", grid, _TILE_THREADS,
        arguments + _ROWS_COUNTED(blocks, counted, ticket),
    )  # fmt: skip
    launch(
        "raw_edges.cu", "group_edges", grid, _TILE_THREADS,
        arguments + _GROUPED(blocks, address(turns), ids_are_narrow, counted),
    )  # fmt: skip
