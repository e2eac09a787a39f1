"""Earliest and latest time of a batch: of all rows for people, of inserts for the time window."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...gpu_core.report import BatchSource
from ...gpu_core.times import NAT, PER_SECOND, time_unit_named
from .columns.column_types import time_unit_of
from .plan import PlannedBatch
from .row_kinds import RowKinds

_INT64 = np.iinfo(np.int64)

Made = TypeVar("Made")


class TimeRange(NamedTuple):
    """Earliest and latest time, in the unit of the graph."""

    first: int
    last: int


class InsertTimes:
    """Records the times of the rows of a batch that insert an edge, while they are converted.

    Dropped self loops count, for they have a time as well. Rows that are left out do not, nor
    deletes and rows about vertices, whose times mean nothing.
    """

    def __init__(self) -> None:
        #: Of the rows that were converted last; None: none of them inserts an edge.
        self.seen: TimeRange | None = None

    def recording(self, make: Callable[..., Made]) -> Callable[..., Made]:
        """``make`` for `conversion.convert_table`, which also records the times of its rows."""

        def make_and_record(op: Any, src: Any, dst: Any, meaning: Any, **columns: Any) -> Made:
            batch = make(op, src, dst, meaning, **columns)
            times, dst_valid = columns.get("ts"), columns.get("dst_valid")
            self.seen = None
            if times is not None:
                if op is not None or dst_valid is not None:
                    times = times[RowKinds(times.size, op, dst_valid).insert_edges]
                if times.size:
                    self.seen = TimeRange(int(times.min()), int(times.max()))
            return batch

        return make_and_record


def batch_source(planned: PlannedBatch, table: pa.Table, time_unit: str | None) -> BatchSource:
    """Rows of a batch, with the times of those that are applied.

    Parameters
    ----------
    planned
        The batch.
    table
        Its rows without those that are left out; their times are looked at if there is a column
        ``ts``.
    time_unit
        What times of the graph count (`times.TimeUnit`). Coarser than those of the file, they are
        rounded down; None: what they count in the file.
    """
    source = BatchSource(planned.file, planned.first_row, planned.rows)
    if "ts" not in table.column_names or not table.num_rows:
        return source
    column = table["ts"]
    given = time_unit_of(column.type)
    wanted = given if time_unit is None else time_unit_named(time_unit)
    is_timestamp = pa.types.is_timestamp(column.type)
    counts = column.cast(pa.int64()) if is_timestamp else column
    ends = pc.min_max(counts)
    if is_timestamp and ends["min"].as_py() == NAT:  # deletes may have no time
        ends = pc.min_max(counts.filter(pc.not_equal(counts, NAT)))
    first, last = ends["min"].as_py(), ends["max"].as_py()
    if first is None:
        return source
    if given.resolution and wanted.resolution:
        have, want = PER_SECOND[given.resolution], PER_SECOND[wanted.resolution]
        first, last = first * want // have, last * want // have
    if not _INT64.min <= first <= last <= _INT64.max:
        return source
    return source._replace(first_ts=first, last_ts=last, time_unit=str(wanted))
