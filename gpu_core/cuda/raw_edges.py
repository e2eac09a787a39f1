"""Batches from raw rows of edges that are on the device: sort, keep the last row of each edge, CSR.

The meaning is that of `UpdateBatch.from_rows` for rows that are all about edges. The rows are put
in order first (`edge_order.py`); then the last one of each edge is kept. Rows that are dealt into
buckets are put in order, kept and grouped by one launch. Otherwise kernels count what is kept, and
later ones read it there. The host waits once, for all the numbers at the end, which the last launch
writes to page-locked memory, and before that for the range of the ids where the caller does not
know it.

The launches of a conversion are one list (`launch_list.py`), and those behind the sort are written
in `kept_edges.py`. Its memory is two pieces: the lists, which the batch keeps, and the rest.

Kernels: ``kernels/raw_edges.cu``, ``kernels/edge_buckets.cu``. Host twin: ``host/last_rows.py``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..batch import UpdateBatch
from ..batch_rows import ROW_LIMIT, check_self_loops, hold_ids
from ..errors import BatchError
from ..host.dense_ids import check_range
from ..records import Record, record_named
from .batch import DeviceBatch
from .device import Array, Device
from .edge_order import (
    NARROW,
    NO_BUCKETS,
    Bounds,
    EdgeRows,
    bounds_of_ids,
    buckets_for,
    folded,
    order_bytes,
    sorted_by_edge,
)
from .kept_edges import (
    COUNT_WORDS,
    COUNTS,
    EMPTY,
    REPORT,
    WIDE,
    KeptList,
    Target,
    group_buckets,
    group_sorted,
    id_type,
    packed_report,
    room_for_list,
)
from .launch_list import Launches
from .pending_read import PendingReport
from .scratch import SLACK_BYTES, DeviceScratch, Pieces
from .transfer import size_of_piece

_FLAG = np.dtype(np.uint8)
#: ``Fault`` of the kernels.
_OUT_OF_BOUNDS = 4
_BUCKET_OVERFULL = 8

#: Batches that are sorted at once, behind one that has overfilled a bucket.
_SORTED_AT_ONCE = 64


class Skew:
    """Whether batches of one kind overfill buckets: their like are sorted at once for a while."""

    def __init__(self) -> None:
        #: Batches to come that are not dealt into buckets.
        self.left = 0

    def permits_buckets(self) -> bool:
        """Whether the next batch may be dealt into buckets; it is taken for begun."""
        if self.left == 0:
            return True
        self.left -= 1
        return False

    def meet(self) -> None:
        """Take note of a batch that has overfilled a bucket."""
        self.left = _SORTED_AT_ONCE


@dataclass(slots=True, eq=False, repr=False)
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
    skew: Skew
    #: Memory of the lists and counts, and of what the batch does not keep.
    block: DeviceScratch
    scratch: DeviceScratch
    #: Address of ``Counts``, and of two words behind them that are 0; uint32.
    counts: int
    #: What the host is told of them.
    report: PendingReport
    puts: KeptList
    deletes: KeptList

    def batch(self) -> DeviceBatch:
        """Wait for what the rows come to.

        Properties are gathered on the current stream: this object stays until that is done.

        Raises
        ------
        BatchError
            As `from_edges`.
        """
        found = dict(zip(REPORT, self.report.wait().tolist(), strict=True))
        overfull = found["faults"] & _BUCKET_OVERFULL
        found["faults"] -= overfull
        self._check(found)
        if overfull:
            return self._anew()
        at = self.block.array_at
        nothing, no_flags = at(self.counts, 0, NARROW), at(self.counts, 0, _FLAG)
        no_ids = nothing if self.dense else at(self.counts, 0, WIDE)
        puts = self._csr(self.puts, found["puts"], found["put_rows"], no_ids)
        deletes = self._csr(self.deletes, found["deletes"], found["delete_rows"], no_ids)
        tops = [found["put_beyond"] - 1, found["delete_beyond"] - 1]
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
            put_row_count=self._row_count("put_rows"),
            delete_row_count=self._row_count("delete_rows"),
            nothing=nothing,
            put_rows=puts[0],
            put_indptr=puts[1],
            put_indices=puts[2],
            delete_rows=deletes[0],
            delete_indptr=deletes[1],
            delete_indices=deletes[2],
            put_vertices=created,
            put_vertex_rows=created_rows,
            delete_vertices=no_ids,
            delete_vertex_rows=no_flags,
            **self._properties(found["puts"]),
        )

    def _row_count(self, name: str) -> Array:
        """One of ``Counts``: uint32[1]."""
        return self.block.array_at(self.counts + 4 * COUNTS.index(name), 1, NARROW)

    def _anew(self) -> DeviceBatch:
        """Convert the rows again, of which too many have sources side by side for a bucket."""
        self.skew.meet()
        return begin_edges(
            self.device, dense=self.dense, directed=self.directed, records=self.record.name,
            self_loops=self.self_loops, create_vertices=self.create_vertices,
            batch_id=self.batch_id, bounds=self.bounds, is_checked=True, skew=self.skew,
            **self.columns,
        ).batch()  # fmt: skip

    def _check(self, found: dict[str, int]) -> None:
        """Refuse rows that the kernels found fault with."""
        if found["faults"] == _OUT_OF_BOUNDS:
            raise _beyond(self.batch_id, self.bounds)
        if found["faults"] or (self.self_loops == "reject" and found["loops"]):
            _refuse(self.device, self.columns, self.record, self.self_loops)

    def _csr(
        self, kept: KeptList, edges: int, rows: int, no_ids: Array
    ) -> tuple[Array, Array, Array]:
        """Rows, offsets and columns of what is kept of a list."""
        at, ids = self.block.array_at, id_type(dense=self.dense)
        if edges == 0:
            return no_ids, at(self.counts + 4 * EMPTY, 1, NARROW), no_ids
        return (
            at(kept.rows, rows, ids),
            at(kept.indptr, rows + 1, NARROW),
            at(kept.columns, edges, ids),
        )

    def _end_points(self, rows: Array, indptr: Array, columns: Array) -> Array:
        """Ids of edges that the batch inserts, then deletes: the edge is gone, its end points not.

        Takes the CSR of the deletes.
        """
        xp = self.device.xp
        entries = xp.flatnonzero(self.block.array_at(self.deletes.turned, columns.size, np.uint8))
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
            fields["put_reset"] = self.block.array_at(self.puts.turned, edges, np.uint8)
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
    skew: Skew | None = None,
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
        Whether the rows are known to be in order as far as ``raw_rows.raw_rows`` checks them:
        types, lengths, and weights that are finite on all rows that insert.
    skew
        Of batches that are drawn as these rows are; `None`: nothing is known of them.

    Raises
    ------
    BatchError, SettingsError
        As `from_edges`.
    """
    skew = skew or Skew()
    record = record_named(records)
    check_self_loops(self_loops, directed=directed)
    columns = {"op": op, "src": src, "dst": dst, "weight": weight, "type": type, "ts": ts}
    if not is_checked and not (_fit(columns, record) and _is_finite(device, weight, record)):
        _refuse(device, columns, record, self_loops)
    count = src.size
    if not (src.dtype == NARROW and dst.dtype == NARROW):
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
    bounds_of_order = bounds if directed else folded(bounds)
    with_positions = bool(record.properties)
    buckets = NO_BUCKETS
    if skew.permits_buckets():
        buckets = buckets_for(
            count, bounds_of_order, folds=not directed, has_op=op is not None,
            with_positions=with_positions,
        )  # fmt: skip
    lists = 1 if op is None else 2
    words = COUNT_WORDS + 2 * buckets.number
    id_bytes = id_type(dense=dense).itemsize
    # Ids twice, offsets, and flags; places in the order, positions, and what is counted by tiles.
    block = _memory(device, lists * count * (2 * id_bytes + 5) + 4 * words)
    scratch = _memory(
        device, order_bytes(device, count, bounds_of_order) + (4 + 12 * lists) * count
    )
    launches, pieces = Launches(device), Pieces(scratch)
    zeros = Pieces(block).take(words, np.uint32)
    turns = None if op is None or buckets.number else pieces.take(count, np.uint32)
    rows = EdgeRows(
        op, src, dst, count, bounds_of_order, not directed, zeros, turns, buckets, with_positions
    )
    ordered = sorted_by_edge(device, launches, rows, pieces)
    puts = room_for_list(count, block, scratch, record, dense=dense, is_put=True)
    deletes = KeptList(0, 0, zeros.place + 4 * EMPTY, 0, 0, 0, 0)
    if op is not None:
        deletes = room_for_list(count, block, scratch, record, dense=dense, is_put=False)
    told = device.page_locked(len(REPORT), np.uint32)
    target = Target(
        ordered, puts, deletes, zeros.place,
        packed_report(zeros.place, launches.words, told),
        self_loops == "keep", dense,
    )  # fmt: skip
    if buckets.number:
        group_buckets(launches, target, buckets.number)
    else:
        group_sorted(launches, target, pieces, turns)
    launches.start()
    return Conversion(
        device, columns, count, dense, directed, record, self_loops, create_vertices, batch_id,
        bounds, skew, block, scratch, zeros.place, PendingReport(device, told), puts, deletes,
    )  # fmt: skip


def _memory(device: Device, nbytes: int) -> DeviceScratch:
    """So many bytes for one batch, of CuPy's pool."""
    size = size_of_piece(nbytes + 2 * SLACK_BYTES)
    return DeviceScratch(device.xp, device.empty(size, np.uint8))


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
