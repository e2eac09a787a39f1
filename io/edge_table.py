"""Edges of a graph as an Arrow table: one form for `graphtide.to_arrow` and all exported files.

Times are timestamps with unit and zone where the graph's are, else int64.
"""

import pyarrow as pa

from ..gpu_core.records import TIME_PROPERTIES
from ..gpu_core.snapshot import CanonicalEdges
from ..gpu_core.times import time_unit_named


def edge_table(edges: CanonicalEdges) -> pa.Table:
    """Columns ``src``, ``dst`` and the properties, without copies of the values."""
    columns = {"src": edges.src, "dst": edges.dst, **edges.properties}
    table = pa.table(columns)
    unit = None if edges.time_unit is None else time_unit_named(edges.time_unit)
    if unit is not None and unit.zone is not None:
        kind = pa.timestamp(str(unit.resolution), unit.zone)
        for name in TIME_PROPERTIES:
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, table[name].cast(pa.int64()).cast(kind))
    return table
