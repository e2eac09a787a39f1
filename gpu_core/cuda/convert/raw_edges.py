"""Raw edge rows in device memory to a batch: sort, keep the last row of each edge, build the CSR.

The meaning is that of `UpdateBatch.from_rows` for rows that are all about edges. The last row of
each edge is kept. Where ids are spread over their range, rows are partitioned into buckets,
which are sorted, kept and grouped by one launch (`edge_buckets.py`). Otherwise they are sorted
(`edge_order.py`), kernels count what is kept, and later ones read it there (`output_lists.py`). The
host waits once, for all the numbers at the end, which the last launch writes to page-locked memory,
and before that for the range of the ids where the caller does not know it.

Kernels: ``raw_edges.cu``, ``edge_buckets.cu``. Host twin: ``batch/net_effect/last_rows.py``.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...batch.raw_rows import RawRows
from ...errors import BatchError
from ...printable import batch_shown
from ..device.device import Array, Device
from ..device.launch_list import Launches
from ..device.packed_arguments import DeviceList, address, as_array
from ..device.pending_read import PendingReport
from ..device.sorting.key_buckets import Skew
from ..memory.scratch import Pieces
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
    ConversionMemory,
    Output,
    group_sorted,
    id_type,
    memory_for,
)

_FLAG = np.dtype(np.uint8)
_PUT_ROWS, _DELETE_ROWS = COUNTS.index("put_rows"), COUNTS.index("delete_rows")
#: ``Fault`` of the kernels.
_OUT_OF_BOUNDS = 1
_BUCKET_OVERFULL = 2


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
            An id lies beyond the bounds of the rows.
        """
        counts = self.report.wait().tolist()
        (
            puts, deletes, loops, revoked, put_rows, delete_rows, put_beyond, delete_beyond, faults,
        ) = counts  # fmt: skip
        if faults & _OUT_OF_BOUNDS:
            raise _beyond(self.rows)
        if faults & _BUCKET_OVERFULL:
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
            return as_array(columns[name])[positions]

        if record.has_weight:
            fields["put_weight"] = column("weight", 1, np.dtype(record.weights))
        if record.has_times:
            ts = as_array(columns["ts"])
            firsts = scratch.array_at(puts.firsts, edges, np.uint32)
            fields["put_type"] = column("type", 0, np.int32)
            fields["put_first"] = ts[firsts]
            fields["put_last"] = column("ts", 0, np.int64)
            fields["put_reset"] = DeviceList(puts.switched, edges, _FLAG, self.memory.block)
        return fields


def begin_edges(device: Device, rows: RawRows, skew: Skew | None = None) -> Conversion:
    """Begin to convert rows of edges to their net effect, in order, on the current stream.

    Parameters
    ----------
    rows
        On the device. Without bounds the device is asked for them, and waited for.
    skew
        Of batches that are drawn as these rows are; `None`: nothing is known of them.
    """
    skew = skew or Skew()
    columns, meaning = rows.arrays, rows.meaning
    src, dst, op = columns["src"], columns["dst"], columns.get("op")
    count = int(src.size)
    if count == 0:
        bounds = Bounds(0, 0, 0, 0)
    elif rows.bounds is None:
        bounds = bounds_of_ids(device, src, dst)
    else:
        bounds = Bounds(*rows.bounds)
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


def _beyond(rows: RawRows) -> BatchError:
    assert rows.bounds is not None
    msg = (
        f"{batch_shown(rows.batch_id)}: an id lies beyond the bounds {tuple(rows.bounds)} that "
        f"were given; if they are a file's statistics, write it again"
    )
    return BatchError(msg)
