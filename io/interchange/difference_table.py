"""The difference of two graphs as an Arrow table or a Parquet file.

One row an edge or vertex that differs:

=====================  =====================================================================
column                 holds
=====================  =====================================================================
``change``             ``added``, ``removed`` or ``changed``
``src``, ``dst``       the edge; ``dst`` is null where the row is about the vertex ``src``
``weight``, …          properties after, where the records have them; null where removed
``weight_before``, …   properties before; null where added
``vertex_…``           the same of vertices that are changed, with ``vertex_…_before``
=====================  =====================================================================

Edges that were added come first, then those removed and changed, then vertices likewise.
"""

from typing import Any

import numpy.typing as npt
import pyarrow as pa

from ...gpu_core.copies.difference import ChangedEdges, ChangedVertices, GraphDifference
from ...gpu_core.copies.snapshot import CanonicalEdges
from ...gpu_core.errors import SettingsError
from ..file_systems import new_file_at
from ..parquet.encodings import fast_encodings
from ..parquet.file_writer import write_file
from .edge_table import edge_table, table_of

_BEFORE = "_before"
#: Columns that come first in every part.
_KEYS = ("change", "src", "dst")


def write_difference(found: GraphDifference, path: str, time_unit: str | None) -> None:
    """Write a difference as Parquet; ``time_unit`` as of `DynamicGraph.time_unit`.

    Raises
    ------
    SettingsError
        The file cannot be written.
    """
    table = difference_table(found, time_unit)
    with new_file_at(path, SettingsError) as temporary:
        write_file(temporary, table, **fast_encodings(table.schema))


def difference_table(found: GraphDifference, time_unit: str | None) -> pa.Table:
    """Make the table.

    Raises
    ------
    SettingsError
        Two of its columns would have one name, by the names of the graph's own properties.
    """
    parts = [
        _edge_part("added", found.edges_added, time_unit),
        _edge_part("removed", found.edges_removed, time_unit),
        _edge_part("changed", found.edges_changed, time_unit),
        _vertex_part("added", found.vertices_added),
        _vertex_part("removed", found.vertices_removed),
        _vertex_part("changed", found.vertices_changed.vertices, found.vertices_changed),
    ]
    of_edges, of_vertices = parts[2].column_names, parts[-1].column_names
    names = [*of_edges, *of_vertices[len(_KEYS) :]]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        msg = (
            f"a difference would have two columns {twice}, by the names of the graph's properties; "
            f"export the graph after both batches (graphtide export --at) and compare these files"
        )
        raise SettingsError(msg)
    return pa.concat_tables(parts, promote_options="default").select(names)


def _edge_part(change: str, edges: ChangedEdges, time_unit: str | None) -> pa.Table:
    after, before = (
        edge_table(CanonicalEdges(edges.src, edges.dst, values, time_unit if values else None))
        for values in (edges.after, edges.before)
    )
    table = _with_change(change, after)
    for name in edges.before:
        table = table.append_column(name + _BEFORE, before[name])
    return table


def _vertex_part(
    change: str, vertices: npt.NDArray[Any], values: ChangedVertices | None = None
) -> pa.Table:
    src = table_of({"src": vertices})["src"]
    table = pa.table({"src": src, "dst": pa.nulls(vertices.size, src.type)})
    if values is not None:
        for ending, columns in (("", values.after), (_BEFORE, values.before)):
            for name, column in columns.items():
                table = table.append_column(f"vertex_{name}{ending}", pa.array(column))
    return _with_change(change, table)


def _with_change(change: str, table: pa.Table) -> pa.Table:
    return table.add_column(0, "change", pa.repeat(pa.scalar(change), table.num_rows))
