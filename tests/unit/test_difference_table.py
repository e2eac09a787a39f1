"""Differences of two graphs as tables: a row each, with values before and after."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide import SettingsError
from graphtide.gpu_core.copies.difference import ChangedEdges, ChangedVertices, GraphDifference
from graphtide.io.interchange.difference_table import difference_table, write_difference
from graphtide.io.interchange.edge_table import table_of


def values(weight: float, first: int, last: int) -> dict[str, Any]:
    times = {"first": np.array([first], "M8[ms]"), "last": np.array([last], "M8[ms]")}
    return {"weight": np.array([weight], np.float32), "type": np.array([7], np.int32), **times}


def edge(src: Any, dst: Any, **columns: Any) -> ChangedEdges:
    kind = object if isinstance(src, str) else np.int64
    return ChangedEdges(np.array([src], kind), np.array([dst], kind), **columns)


def difference_of(*ids: Any) -> GraphDifference:
    a, b, c, d = ids
    kind = object if isinstance(a, str) else np.int64
    scores = [{"score": np.array([score])} for score in (0.5, 0.25)]
    return GraphDifference(
        edge(a, b, after=values(0.5, 1, 2)),
        edge(b, c, before=values(0.25, 3, 4)),
        edge(c, d, before=values(1, 5, 6), after=values(2, 5, 8)),
        np.array([d], kind),
        np.array([], kind),
        ChangedVertices(np.array([a], kind), *scores),
    )


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
@pytest.mark.parametrize("ids", [(1, -2, 3, 4), ("ann", "", "bob", "é")])
def test_each_change_is_a_row(tmp_path: Path, ids: tuple[Any, ...], zone: str | None) -> None:
    a, b, c, d = ids
    unit = "timestamp[ms]" if zone is None else f"timestamp[ms, tz={zone}]"
    path = tmp_path / "d.PARQUET"
    write_difference(difference_of(*ids), str(path), unit)
    table = pq.read_table(path)
    assert table == difference_table(difference_of(*ids), unit)
    for name in ("first", "last", "first_before", "last_before"):
        assert table.schema.field(name).type == pa.timestamp("ms", zone)
        table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.int64()))
    columns = ["change", "src", "dst", "weight", "type", "first", "last"]
    before = ["weight_before", "type_before", "first_before", "last_before"]
    assert table.column_names == [*columns, *before, "vertex_score", "vertex_score_before"]
    none = [None] * 4
    assert [list(row.values()) for row in table.to_pylist()] == [
        ["added", a, b, 0.5, 7, 1, 2, *none, None, None],
        ["removed", b, c, *none, 0.25, 7, 3, 4, None, None],
        ["changed", c, d, 2.0, 7, 5, 8, 1.0, 7, 5, 6, None, None],
        ["added", d, None, *none, *none, None, None],
        ["changed", a, None, *none, *none, 0.25, 0.5],
    ]


def test_properties_that_would_be_two_columns_of_one_name_are_refused() -> None:
    own = {name: np.array([1.0]) for name in ("score", "score_before")}
    found = replace(
        difference_of(1, 2, 3, 4), vertices_changed=ChangedVertices(np.array([1]), own, own)
    )
    with pytest.raises(SettingsError, match="two columns vertex_score_before, by the names"):
        difference_table(found, None)


def test_names_are_text_where_there_are_none() -> None:
    """As all else that is made of edges: a table of no type could not stand beside others."""
    assert table_of({"src": np.array([], object)}).schema.types == [pa.string()]
