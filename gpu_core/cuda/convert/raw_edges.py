"""Raw edge rows in device memory to a batch: sort, keep the last row of each edge, build the CSR.

The meaning is that of `UpdateBatch.from_rows` for rows that are all about edges. The last row of
each edge is kept. Where ids are spread over their range, rows are partitioned into buckets,
which are sorted, kept and grouped by one launch (`edge_buckets.py`). Otherwise they are sorted
(`edge_order.py`), kernels count what is kept, and later ones read it there (`output_lists.py`). The
host waits once, for all the numbers at the end, which the last launch writes to page-locked memory,
and before that for the range of the ids where the caller does not know it.

Kernels: ``raw_edges.cu``, ``edge_buckets.cu``. Host twin: ``batch/net_effect/last_rows.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ...batch.dense_ids import check_range
from ...batch.lengths import ROW_LIMIT
from ...batch.raw_rows import RawRows
from ...batch.rows import hold_ids
from ...batch.update_batch import UpdateBatch
from ...errors import BatchError
from ...kind import row_meaning
from ...printable import batch_shown
from ...records import Record
from ..device.device import Array, Device
from ..device.flags import all_set
from ..device.launch_list import Launches
from ..device.packed_arguments import DeviceList, address, as_array
from ..device.pending_read import PendingReport
from ..device.sorting.key_buckets import Skew
from ..memory.scratch import Pieces
from ..structs import BLOCK
from ..update.batch import DeviceBatch, Items
from .edge_buckets import buckets_for, start_buckets
from .edge_order import (
    NARROW,
    Bounds,
    EdgeRows,
    Zeros,
    bounds_of_ids,
    folded,
    order_bytes,
    sorted_by_edge,
)
from .output_lists import (
    COUNTS,
    EMPTY,
    REPORT,
    WIDE,
    ConversionMemory,
    Output,
    group_sorted,
    id_type,
    memory_for,
)

_FLAG = np.dtype(np.uint8)
_WEIGHTS = "weights.cu"
#: By the types of weights before and after; CuPy takes the smallest of float32 for 0.
_KERNELS = {
    (np.dtype(np.float64), np.dtype(np.float32)): "narrow_weights",
    (np.dtype(np.float32), np.dtype(np.float64)): "widen_weights",
}
_PUT_ROWS, _DELETE_ROWS = COUNTS.index("put_rows"), COUNTS.index("delete_rows")
#: ``Fault`` of the kernels.
_OUT_OF_BOUNDS = 4
_BUCKET_OVERFULL = 8


@dataclass(slots=True, eq=False, repr=False)
class Conversion:
    """Rows of edges that the device works on. Made by `begin_edges`."""

    device: Device
    #: On the device, with bounds.
    rows: RawRows
    skew: Skew
    memory: ConversionMemory
    #: The counts that are reported to the host.
    report: PendingReport

    def batch(self) -> DeviceBatch:
        """Wait for the conversion.

        Properties are gathered on the current stream: this object stays until that is done.

        Raises
        ------
        BatchError
            As `from_edges`.
        """
        counts = self.report.wait().tolist()
        (
            puts, deletes, loops, revoked, put_rows, delete_rows, put_beyond, delete_beyond, faults,
        ) = counts  # fmt: skip
        overfull = faults & _BUCKET_OVERFULL
        self._check(faults - overfull, loops)
        if overfull:
            return self._by_sorting()
        data = self._lists(puts, put_rows, deletes, delete_rows)
        rows, meaning, count = self.rows, self.rows.meaning, int(self.rows.arrays["src"].size)
        put_top, delete_top = put_beyond - 1, delete_beyond - 1
        if meaning.create_vertices and revoked:
            created = self._end_points(data)
            data["put_vertices"] = created
            data["put_vertex_rows"] = self.device.xp.zeros(created.size, np.uint8)
            put_top = max(put_top, int(created[-1]))
        if meaning.record.properties:
            data |= self._properties(puts)
        return DeviceBatch(
            rows.batch_id, meaning.directed, meaning.record.name, count, loops,
            count - loops - puts - deletes, rows.dense, put_top if rows.dense else None,
            delete_top if rows.dense else None, 0, 0, data, rows.rounded,
        )  # fmt: skip

    def _by_sorting(self) -> DeviceBatch:
        """Convert the rows again by sorting: a bucket overflowed."""
        self.skew.meet()
        return begin_edges(self.device, self.rows, self.skew).batch()

    def _check(self, faults: int, loops: int) -> None:
        """Refuse rows that the kernels found fault with."""
        if faults == _OUT_OF_BOUNDS:
            raise _beyond(self.rows)
        if faults or (self.rows.meaning.self_loops == "reject" and loops):
            _refuse(self.device, self.rows)

    def _lists(self, puts: int, put_rows: int, deletes: int, delete_rows: int) -> dict[str, Items]:
        """Lists of the batch, by their numbers of edges and rows."""
        memory, ids, at = self.memory, id_type(dense=self.rows.dense), self.memory.block
        counts, empty = memory.zeros.address, memory.zeros.address + 4 * EMPTY
        put_indptr = memory.puts.indptr if puts else empty
        delete_indptr = memory.deletes.indptr if deletes else empty
        no_ids, no_flags = DeviceList(counts, 0, ids, at), DeviceList(counts, 0, _FLAG, at)
        return {
            "nothing": DeviceList(counts, 0, NARROW, at),
            "put_row_count": DeviceList(counts + 4 * _PUT_ROWS, 1, NARROW, at),
            "delete_row_count": DeviceList(counts + 4 * _DELETE_ROWS, 1, NARROW, at),
            "put_rows": DeviceList(memory.puts.rows, put_rows, ids, at),
            "put_indptr": DeviceList(put_indptr, put_rows + 1, NARROW, at),
            "put_indices": DeviceList(memory.puts.columns, puts, ids, at),
            "delete_rows": DeviceList(memory.deletes.rows, delete_rows, ids, at),
            "delete_indptr": DeviceList(delete_indptr, delete_rows + 1, NARROW, at),
            "delete_indices": DeviceList(memory.deletes.columns, deletes, ids, at),
            "put_vertices": no_ids,
            "put_vertex_rows": no_flags,
            "delete_vertices": no_ids,
            "delete_vertex_rows": no_flags,
        }

    def _end_points(self, lists: dict[str, Items]) -> Array:
        """Ids of edges that the batch inserts, then deletes: the edge is gone, its end points not.

        Takes lists of the batch.
        """
        xp, memory = self.device.xp, self.memory
        names = "delete_rows", "delete_indptr", "delete_indices"
        rows, indptr, columns = (as_array(lists[name]) for name in names)
        switched = memory.block.array_at(memory.deletes.switched, columns.size, _FLAG)
        entries = xp.flatnonzero(switched)
        sources = rows[xp.searchsorted(indptr, entries, side="right") - 1]
        return xp.unique(xp.concatenate([sources, columns[entries]]))

    def _properties(self, edges: int) -> dict[str, Items]:
        """Property columns of the edges to put, as the deciding rows have them."""
        fields: dict[str, Items] = {}
        xp, columns, record = self.device.xp, self.rows.arrays, self.rows.meaning.record
        scratch, puts = self.memory.scratch, self.memory.puts
        positions = scratch.array_at(puts.positions, edges, np.uint32)

        def column(name: str, absent: int, dtype: Any) -> Array:
            if name not in columns:
                return xp.full(edges, absent, dtype)
            return _of_type(self.device, as_array(columns[name])[positions], dtype)

        if record.has_weight:
            fields["put_weight"] = column("weight", 1, np.dtype(record.weights))
        if record.has_times:
            ts = as_array(columns["ts"])
            firsts = scratch.array_at(puts.firsts, edges, np.uint32)
            fields["put_type"] = column("type", 0, np.int32)
            fields["put_first"] = ts[firsts].astype(np.int64, copy=False)
            fields["put_last"] = column("ts", 0, np.int64)
            fields["put_reset"] = DeviceList(puts.switched, edges, _FLAG, self.memory.block)
        return fields


def from_edges(
    device: Device,
    src: Array,
    dst: Array,
    op: Array | None = None,
    *,
    dense: bool,
    properties: Mapping[str, Array | None] = MappingProxyType({}),
    bounds: Bounds | None = None,
    batch_id: int = -1,
    skew: Skew | None = None,
    **meaning: Any,
) -> DeviceBatch:
    """Convert rows of edges to their net effect, in order, on the current stream.

    Parameters
    ----------
    src, dst
        Integers on the device, ``n`` of each: ids of the users' own, or vertex indices (``dense``).
    op
        int8[n], 1 inserts and -1 deletes; None: all insert.
    properties
        ``weight``, ``type`` and ``ts`` on the device, as far as they are there.
    bounds
        As of `RawRows`. The closer they are, the faster; without them the device is asked.
    skew
        As of `begin_edges`.
    batch_id, meaning
        As of `UpdateBatch.from_rows`.

    Raises
    ------
    BatchError
        As of `UpdateBatch.from_rows`; ``dense``, and an id cannot be a vertex index; an id lies
        beyond ``bounds``.
    SettingsError
        ``records`` or ``self_loops`` is unknown or contradicts ``directed``.
    """
    columns = {"src": src, "dst": dst, "op": op, **properties}
    given = {name: column for name, column in columns.items() if column is not None}
    rows = RawRows(given, bounds, row_meaning(**meaning), dense, batch_id)
    record, weight = rows.meaning.record, given.get("weight")
    if not (_fit(given, record) and _is_finite(device, weight, record)):
        _refuse(device, rows)
    rounded = _rounded(device, weight, given.get("op"), record)
    return begin_edges(device, replace(rows, rounded=rounded), skew).batch()


def begin_edges(device: Device, rows: RawRows, skew: Skew | None = None) -> Conversion:
    """Begin to convert rows of edges to their net effect, on the current stream.

    What is refused is refused here, or, where it takes a look at the rows, by `Conversion.batch`.

    Parameters
    ----------
    rows
        On the device, of good types and lengths, and with weights that are finite in all rows that
        insert (`raw_rows.raw_rows`).
    skew
        Of batches that are drawn as these rows are; `None`: nothing is known of them.

    Raises
    ------
    BatchError
        An id cannot be a vertex index and ought to be one, or lies beyond the bounds.
    """
    skew = skew or Skew()
    columns, meaning = rows.arrays, rows.meaning
    src, dst, op = columns["src"], columns["dst"], columns.get("op")
    count = int(src.size)
    if not (src.dtype == NARROW and dst.dtype == NARROW):
        src, dst = _widened(src), _widened(dst)
    if count == 0:
        bounds = Bounds(0, 0, 0, 0)
    elif rows.bounds is None:
        bounds = bounds_of_ids(device, src, dst)
    else:
        bounds = Bounds(*rows.bounds)
        if not hold_ids(bounds):
            raise _beyond(rows)
    if rows.dense:
        lowest, highest = min(bounds.src_low, bounds.dst_low), max(bounds.src_high, bounds.dst_high)
        check_range(rows.batch_id, min(lowest, 0), highest)
    record, directed = meaning.record, meaning.directed
    edges = EdgeRows(
        op, src, dst, count, bounds if directed else folded(bounds), not directed,
        bool(record.properties),
    )  # fmt: skip
    buckets = buckets_for(device, edges) if skew.permits_buckets() else None
    memory = memory_for(
        device, edges, record, buckets.scratch_bytes if buckets else order_bytes(device, edges),
        dense=rows.dense, buckets=buckets.number if buckets else 0,
    )  # fmt: skip
    words = device.page_locked(len(REPORT), np.uint32)
    to = Output(memory, address(words), meaning.self_loops == "keep", rows.dense)
    if buckets:
        start_buckets(device, edges, buckets, to)
    else:
        _start_sorting(device, edges, to)
    report = PendingReport(device, words, columns, memory)
    return Conversion(device, replace(rows, bounds=bounds), skew, memory, report)


def _start_sorting(device: Device, rows: EdgeRows, to: Output) -> None:
    """Fill the lists with the edges that are kept of rows, on the current stream."""
    launches, scratch = Launches(device), Pieces(to.memory.scratch)
    switches = None if rows.op is None else scratch.take(rows.number, np.uint32)
    ordered = sorted_by_edge(device, launches, rows, Zeros(to.memory.zeros, switches), scratch)
    group_sorted(launches, ordered, to, switches)
    launches.start()


def _widened(ids: Items) -> Items:
    """Ids as int64."""
    return ids if ids.dtype == WIDE else as_array(ids).astype(WIDE)


def _fit(given: dict[str, Any], record: Record) -> bool:
    """Whether the columns may be rows, as far as that is known before they are read."""
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


def _of_type(device: Device, values: Array, dtype: Any) -> Array:
    """The values as another type, the smallest weights too."""
    kernel = _KERNELS.get((values.dtype, np.dtype(dtype)))
    if kernel is None:
        return values.astype(dtype, copy=False)
    return _each(device, kernel, values, dtype)


def _each(device: Device, kernel: str, weights: Array, dtype: Any) -> Array:
    """What a kernel of ``weights.cu`` makes of each weight."""
    made = device.empty(weights.size, dtype)
    device.launch(
        _WEIGHTS, kernel, -(-weights.size // BLOCK), BLOCK,
        device.xp.ascontiguousarray(weights), np.int64(weights.size), made,
    )  # fmt: skip
    return made


def _is_finite(device: Device, weight: Array | None, record: Record) -> bool:
    """Whether all weights are good, also those of rows that do not need one."""
    if weight is None or not record.has_weight:
        return True
    return all_set(device.xp.isfinite(weight.astype(record.weights, copy=False)))


def _rounded(device: Device, weight: Array | None, op: Array | None, record: Record) -> int:
    """Rows that insert an edge with a weight that the records round."""
    if weight is None or not record.has_weight or weight.dtype in (record.weights, np.float32):
        return 0
    if weight.dtype == np.float64:
        changed = _each(device, "find_rounded", weight, np.bool_)
    else:
        changed = weight.astype(record.weights).astype(weight.dtype) != weight
    return int((changed if op is None else changed & (op > 0)).sum())


def _beyond(rows: RawRows) -> BatchError:
    assert rows.bounds is not None
    msg = (
        f"{batch_shown(rows.batch_id)}: an id lies beyond the bounds {tuple(rows.bounds)} that "
        f"were given; if they are a file's statistics, write it again"
    )
    return BatchError(msg)


def _refuse(device: Device, rows: RawRows) -> None:
    """Refuse rows as `UpdateBatch.from_rows` does, in its words, if it does."""
    on_host: dict[str, Any] = {
        name: device.to_host(as_array(column)) for name, column in rows.arrays.items()
    }
    ends = on_host.pop("src"), on_host.pop("dst")
    UpdateBatch.of_rows(on_host.pop("op", None), *ends, rows.meaning, **on_host)
