"""Earliest and latest time of the rows of a batch, for its report and its results."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..gpu_core.report import BatchSource
from ..gpu_core.times import time_unit_named
from .plan import PlannedBatch
from .schema import time_unit_of

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_INT64 = np.iinfo(np.int64)


def batch_source(planned: PlannedBatch, table: pa.Table, time_unit: str | None) -> BatchSource:
    """Which rows a batch is, with the times of those that were read of it.

    Parameters
    ----------
    planned
        The batch.
    table
        Its rows; their times are looked at if there is a column ``ts``.
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
    counts = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    ends = pc.min_max(counts)
    first, last = ends["min"].as_py(), ends["max"].as_py()
    if first is None:
        return source
    if given.resolution and wanted.resolution:
        have, want = _PER_SECOND[given.resolution], _PER_SECOND[wanted.resolution]
        first, last = first * want // have, last * want // have
    if not _INT64.min <= first <= last <= _INT64.max:
        return source
    return source._replace(first_ts=first, last_ts=last, time_unit=str(wanted))
