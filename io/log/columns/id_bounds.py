"""Bounds of the ids of a table from the statistics of its file, to avoid a scan.

The statistics of a Parquet file have them without a row being read. They travel with the table, as
metadata of its schema. They are not checked against the rows, so code that uses them must stay
correct for ids beyond them.
"""

import json

import pyarrow as pa

from ....gpu_core.batch.rows import Bounds

_KEY = b"graphtide.id_bounds"

#: Bounds of two columns, one after the other; None where one is not known.
ColumnBounds = list[tuple[int, int] | None]


def with_bounds(table: pa.Table, columns: ColumnBounds) -> pa.Table:
    """Attach the bounds of ``src`` and ``dst``; no other metadata of the schema stays."""
    numbers = [number for bounds in columns if bounds is not None for number in bounds]
    # What lies beyond int64 is no id, and may stand on rows about vertices.
    if len(numbers) < 4 or max(numbers) >= 1 << 63 or min(numbers) < -(1 << 63):
        return table.replace_schema_metadata(None)
    return table.replace_schema_metadata({_KEY: json.dumps(numbers).encode()})


def bounds_of(table: pa.Table) -> Bounds | None:
    """Bounds that `with_bounds` attached, if it did."""
    text = (table.schema.metadata or {}).get(_KEY)
    if text is None:
        return None
    src_low, src_high, dst_low, dst_high = json.loads(text)
    return src_low, src_high, dst_low, dst_high
