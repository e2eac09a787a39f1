"""Edges of a graph as an Arrow table: one form for `graphtide.to_arrow` and all exported files.

Times are timestamps with unit and zone where the graph's are, else int64.
"""

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt
import pyarrow as pa

from ...gpu_core.copies.snapshot import CanonicalEdges
from ...gpu_core.records import TIME_PROPERTIES
from ...gpu_core.times import time_unit_named


def table_of(columns: Mapping[str, npt.NDArray[Any]]) -> pa.Table:
    """Columns as a table; ids that are text are text also where there is none."""
    return pa.table(
        {
            name: pa.array(column, pa.string()) if column.dtype == object else pa.array(column)
            for name, column in columns.items()
        }
    )


def edge_table(edges: CanonicalEdges) -> pa.Table:
    """Columns ``src``, ``dst`` and the properties, without copies of the values."""
    columns = {"src": edges.src, "dst": edges.dst, **edges.properties}
    table = table_of(columns)
    unit = None if edges.time_unit is None else time_unit_named(edges.time_unit)
    if unit is not None and unit.zone is not None:
        kind = pa.timestamp(str(unit.resolution), unit.zone)
        for name in TIME_PROPERTIES:
            position = table.schema.get_field_index(name)
            table = table.set_column(position, name, table[name].cast(pa.int64()).cast(kind))
    return table
