"""Arrow tables to batches: every form of a column, and every refusal with file and row."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide import UpdateBatch, UpdateLogError
from graphtide.gpu_core.batch.bad_rows import BadRowsError
from graphtide.gpu_core.batch.packed_batch import packed_rows
from graphtide.gpu_core.batch.raw_rows import raw_rows
from graphtide.gpu_core.kind import row_meaning
from graphtide.io.log import conversion
from graphtide.io.log.columns.column_types import op_bytes
from graphtide.io.log.columns.id_bounds import with_bounds
from graphtide.io.log.columns.own_columns import own_columns
from graphtide.io.log.operations import Operations
from graphtide.io.log.row_kinds import RowKinds
from graphtide.io.log.row_origin import RowOrigin
from oracles import ModelGraph, Row, apply_batch, listed_edges

SETTINGS: dict[str, Any] = {
    "directed": True,
    "records": "simple",
    "self_loops": "drop",
    "create_vertices": True,
    "ids": "any",
}


def convert(columns: dict[str, Any] | pa.Table, **changes: Any) -> UpdateBatch:
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    meaning = row_meaning(**{name: changes.pop(name, SETTINGS[name]) for name in SETTINGS})
    return conversion.table_to_batch(
        table, meaning=meaning, origin=RowOrigin("part-7.parquet", 1000), batch_id=3, **changes
    )


#: Of rows that are handed to another than `UpdateBatch`.
PLACE: dict[str, Any] = {"meaning": row_meaning(), "origin": RowOrigin("a"), "batch_id": 3}

OP_FORMS = {
    "int8": pa.int8(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
    "bytes": pa.binary(1),
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "large dictionary": pa.dictionary(pa.int8(), pa.large_string()),
}


@pytest.mark.parametrize("form", OP_FORMS)
def test_every_form_of_op(form: str) -> None:
    ops: list[Any] = ["insert", "delete", "insert"]
    if form.startswith("int"):
        ops = [1, -1, 1]
    elif form == "bool":
        ops = [True, False, True]
    elif form == "bytes":
        ops = [b"\x01", b"\xff", b"\x01"]
    batch = convert({"op": pa.array(ops, OP_FORMS[form]), "src": [1, 2, 3], "dst": [4, 5, 6]})
    assert listed_edges(batch, "put") == [(1, 4), (3, 6)]
    assert listed_edges(batch, "delete") == [(2, 5)]
    assert batch.batch_id == 3


def test_no_op_column_means_inserts_and_null_dst_means_a_vertex() -> None:
    batch = convert({"src": [1, 2], "dst": pa.array([None, 3], pa.int64())})
    assert batch.put_vertices.tolist() == [1]
    assert listed_edges(batch, "put") == [(2, 3)]


rows_of_a_log = st.lists(
    st.builds(
        Row,
        op=st.sampled_from((1, -1)),
        src=st.integers(-2, 2),
        dst=st.integers(-2, 2) | st.none(),
        weight=st.floats(-8, 8, width=32),
        type=st.integers(-3, 3),
        ts=st.integers(-9, 9),
    ),
    max_size=20,
)


@given(rows=rows_of_a_log, cuts=st.lists(st.integers(0, 20), max_size=3), skipped=st.integers(0, 9))
@settings(max_examples=200, deadline=None)
def test_chunks_offsets_and_nulls_change_nothing(
    rows: list[Row], cuts: list[int], skipped: int
) -> None:
    """Rows without values where there are none, in chunks, each a slice of a longer array."""
    inserts_edge = [row.op > 0 and row.dst is not None for row in rows]
    given_ = {
        "op": (pa.int8(), [row.op for row in rows]),
        "src": (pa.int32(), [row.src for row in rows]),
        "dst": (pa.int64(), [row.dst for row in rows]),
        "weight": (pa.float64(), [row.weight for row in rows]),
        "type": (pa.int16(), [row.type for row in rows]),
        "ts": (pa.timestamp("us"), [row.ts for row in rows]),
    }
    edges = sorted({0, len(rows), *(cut for cut in cuts if cut <= len(rows))})
    columns = {}
    for name, (type_, values) in given_.items():
        if name in ("weight", "type", "ts"):
            values = [v if keep else None for v, keep in zip(values, inserts_edge, strict=True)]
        padded = pa.array([*values[:1] * skipped, *values], type_)[skipped:] if values else None
        chunks = [] if padded is None else [padded[low:high] for low, high in pairwise(edges)]
        columns[name] = pa.chunked_array(chunks, type_)
    batch = convert(pa.table(columns), records="semantic")
    batch.validate()
    model, graph = ModelGraph(records="semantic"), ModelGraph(records="semantic")
    assert apply_batch(graph, batch) == model.apply(rows)
    assert graph.canonical_edges() == model.canonical_edges()
    assert graph.vertices == model.vertices


def test_bytes_are_ops_where_they_lie() -> None:
    ops = np.array([1, -1, 1, -1], np.int8)
    column = op_bytes(ops)
    read = conversion._Columns(pa.table({"op": column[1:]}), RowOrigin("log")).op()
    assert read is not None
    assert read.tolist() == [-1, 1, -1]
    assert np.shares_memory(read, ops)


def test_what_the_file_says_of_ids_is_said_to_who_makes_the_batch() -> None:
    table = pa.table({"src": [1, 2], "dst": [3, 4]})
    said = []

    def make(*_: Any, bounds: Any, **__: Any) -> None:
        said.append(bounds)

    for known in ([(0, 9), (-3, 7)], [(0, 9), None], [(0, 9), (1, 1 << 63)]):
        given_ = with_bounds(table, known)
        conversion.convert_table(given_, make, **PLACE)
        assert given_.equals(table)
    conversion.convert_table(table, make, **PLACE)
    assert said == [(0, 9, -3, 7), None, None, None]


def test_columns_are_views_of_one_chunk() -> None:
    array = pa.array(np.arange(100))
    columns = conversion._Columns(pa.table({"src": array[10:]}), RowOrigin("log"))
    values, valid = columns.ids("src", nulls=False)
    assert values[0] == 10
    assert valid is None
    assert values.__array_interface__["data"][0] == array.buffers()[1].address + 80


def test_columns_that_the_records_do_not_keep_are_not_looked_at() -> None:
    batch = convert({"src": [1], "dst": [2], "weight": [float("nan")], "ts": ["noon"]})
    assert batch.put_weight is None


def test_what_counts_as_no_time_is_one_among_integers_and_does_not_matter_elsewhere() -> None:
    none = -(2**63)
    columns = {"op": [1, -1], "src": [1, 2], "dst": [3, 4], "ts": pa.array([none, none])}
    assert convert(columns, records="semantic").put_last.tolist() == [none]
    for times in ([5, none], [5, None]):
        columns["ts"] = pa.array(times, pa.timestamp("us"))
        assert convert(columns, records="semantic").put_last.tolist() == [5]


def test_the_time_of_a_vertex_row_is_no_value() -> None:
    columns = {"src": [1, 2], "dst": pa.array([None, 3], pa.int64()), "ts": [5, 6]}
    assert convert(columns, records="semantic").put_vertices.tolist() == [1]


GOOD = {
    "op": [1, 1],
    "src": [1, 2],
    "dst": [3, 4],
    "weight": [1.0, 2.0],
    "type": [1, 2],
    "ts": [5, 6],
}
VERTEX = pa.array([3, None], pa.int64())
UINT64 = pa.array([1, 2**63], pa.uint64())

REFUSED = [
    ({"op": pa.array([1, None], pa.int8())}, "row 1001: op is null; use insert or delete"),
    ({"op": pa.array(["insert", None])}, "row 1001: op is null; "),
    ({"op": pa.array(["insert", None]).dictionary_encode()}, "row 1001: op is null; use"),
    ({"op": ["insert", "upsert"]}, "row 1001: op 'upsert' is unknown; use insert or"),
    ({"op": pa.array(["ad", "insert"]).dictionary_encode()}, "row 1000: op 'ad' is unknown"),
    ({"op": [1, 3]}, "row 1001: op is 3; use 1 for insert or -1 for delete"),
    ({"op": pa.array([b"\1", b"\3"], pa.binary(1))}, "row 1001: op is 3; use 1 for insert or -1"),
    (
        {"op": pa.array([b"\1", None], pa.binary(1))},
        "row 1001: op is null; use insert or delete, or 1",
    ),
    ({"op": pa.array([b"\1\0", b"\1\0"], pa.binary(2))}, r"op is of type fixed_size_binary\[2\]"),
    ({"op": [1.0, -1.0]}, "op is of type double"),
    ({"src": pa.array([None, 1], pa.int64())}, "row 1000: src is null; every row needs one"),
    ({"src": ["a", "b"]}, "src is of type string; ids='string' takes names"),
    (
        {"dst": pa.array(["a", "b"]).dictionary_encode()},
        "dst is of type dictionary.*; ids=",
    ),
    ({"dst": [1.0, 2.0]}, "dst is of type double; write ids as int64: floats"),
    ({"src": UINT64}, "row 1001: src is 9223372036854775808, above int64; ids='uint64' has"),
    ({"weight": [1.0, None]}, "row 1001: weight is null on a row that inserts an edge; fill it in"),
    ({"type": [None, 1]}, "row 1000: type is null on a row that inserts an edge"),
    ({"ts": [1, None]}, "row 1001: ts is null on a row that inserts an edge"),
    ({"ts": pa.array([5, -(2**63)], pa.timestamp("us"))}, f"row 1001: ts is {-(2**63)}, which"),
    ({"dst": VERTEX}, "row 1001: weight is set on a vertex row"),
    ({"dst": VERTEX, "weight": [1.0, None]}, "row 1001: type is set on a vertex row"),
    ({"weight": ["a", "b"]}, "weight is of type string; give numbers"),
    ({"type": [1.0, 2.0]}, "type is of type double; give int32 numbers"),
    ({"ts": [1.0, 2.0]}, "ts is of type double; give timestamps or int64"),
    ({"weight": [1.0, float("nan")]}, "row 1001: weight nan is not a finite number"),
    ({"weight": [1e39, 1.0]}, r"row 1000: weight 1e\+39 overflows float32"),
    ({"type": [1, 2**40]}, "row 1001: type 1099511627776 is outside int32"),
    ({"ts": None}, "semantic records need the column ts"),
    ({"src": None}, "there is no column src; map its name in the setting 'columns'"),
    ({"dst": None}, "there is no column dst"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_bad_columns_and_rows_are_refused_by_file_and_row(
    change: dict[str, Any], message: str
) -> None:
    columns = {name: value for name, value in (GOOD | change).items() if value is not None}
    separator = ", " if message.startswith("row") else ": "
    with pytest.raises(UpdateLogError, match=f"^part-7.parquet{separator}{message}") as caught:
        convert(columns, records="semantic")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("last", "mask"), [(False, [False, False]), (None, [False, True])])
def test_a_property_may_be_of_truths(last: bool | None, mask: list[bool]) -> None:
    meaning = row_meaning(properties={"flag": "bool"})
    table = pa.table({"src": [1, 2], "dst": [2, 3], "flag": [True, last]})
    found = own_columns(table, meaning, RowKinds(2), str)["flag"]
    assert found.dtype == np.bool_
    assert np.ma.getmaskarray(found).tolist() == mask
    assert np.ma.filled(found, False).tolist() == [True, False]


@pytest.mark.parametrize(("name", "row"), [("of_edges", 1), ("of_vertices", 0)])
def test_a_property_of_what_the_row_is_not_about_is_refused_unless_it_deletes(
    name: str, row: int
) -> None:
    meaning = row_meaning(
        properties={"of_edges": "float64"}, vertex_properties={"of_vertices": "float64"}
    )
    values: dict[str, list[float | None]] = {"of_edges": [0.5, None], "of_vertices": [None, 0.25]}
    is_edge = np.array([True, False])
    own_columns(pa.table(values), meaning, RowKinds(2, None, is_edge), str)
    values[name] = [0.5, 0.25]
    table = pa.table(values)
    for op in (None, np.array([1, 1])):
        with pytest.raises(BadRowsError, match=f"{name} is set on") as caught:
            own_columns(table, meaning, RowKinds(2, op, is_edge), str)
        assert np.flatnonzero(caught.value.bad).tolist() == [row]
    deletes = np.where(np.arange(2) == row, -1, 1)
    own_columns(table, meaning, RowKinds(2, deletes, is_edge), str)


def test_a_time_that_the_unit_of_the_graph_does_not_have_matters_on_inserts_alone() -> None:
    columns = {
        "op": [1, -1, 1], "src": [1, 2, 3], "dst": pa.array([2, 3, None], pa.int64()),
        "ts": pa.array([1000, 1001, 1002], pa.timestamp("ms")),
    }  # fmt: skip
    settings = {"records": "semantic", "time_unit": "timestamp[s]"}
    assert convert(columns, **settings).put_last.tolist() == [1]
    columns["ts"] = pa.array([1001, 1000, 1000], pa.timestamp("ms"))
    with pytest.raises(UpdateLogError, match=r"row 1000: ts .*01\.001.* is no timestamp\[s\]"):
        convert(columns, **settings)


def test_self_loops_are_refused_by_file_and_row() -> None:
    with pytest.raises(
        UpdateLogError, match=r"^part-7.parquet, row 1001 is a self loop of vertex 2"
    ):
        convert({"src": [1, 2], "dst": [3, 2]}, self_loops="reject")


def test_unused_names_of_a_dictionary_may_be_anything() -> None:
    ops = pa.DictionaryArray.from_arrays(pa.array([1, 1], pa.int8()), ["upsert", "delete"])
    batch = convert({"op": ops, "src": [1, 2], "dst": [3, 4]})
    assert listed_edges(batch, "delete") == [(1, 3), (2, 4)]


@pytest.mark.parametrize("form", ["string", "large_string", "string_view", "dictionary"])
def test_a_word_of_a_setting_is_found_in_any_language(form: str) -> None:
    """Arrow has small letters of its own for some: a dotted I that deletes would be an i."""
    ops = [
        "insert",
        "\u0130",
        "\u0130PTAL",
        "\u0394\u0399\u0391\u0393\u03a1\u0391\u03a6\u0397\u03a3",
        "Ekle",
    ]
    words = Operations(insert=("EKLE",), delete=tuple(ops[1:4]))
    column = pa.array(ops).cast(OP_FORMS[form])
    batch = convert({"op": column, "src": range(5), "dst": range(5, 10)}, operations=words)
    assert listed_edges(batch, "delete") == [(1, 6), (2, 7), (3, 8)]
    assert listed_edges(batch, "put") == [(0, 5), (4, 9)]


def test_what_is_null_is_not_the_word_null() -> None:
    column = pa.chunked_array([["insert", None], ["null"], pa.array([], pa.string())])
    assert Operations(delete=("null",)).kinds(column).tolist() == [1, 0, -1]
    assert Operations().kinds(pa.chunked_array([], pa.string())).tolist() == []


@pytest.mark.parametrize("form", ["string", "dictionary"])
def test_an_op_that_is_no_utf_8_is_refused_with_its_row(form: str) -> None:
    column = pa.array([b"insert", b"del\xffete"]).view(pa.string()).cast(OP_FORMS[form])
    with pytest.raises(
        UpdateLogError, match=r"row 1001: op 'del\\\\xffete' is unknown; use"
    ) as caught:
        convert({"op": column, "src": [1, 2], "dst": [3, 4]})
    assert isinstance(caught.value.__cause__, BadRowsError)


def with_garbage(ids: list[int], mask: int, kind: str) -> pa.Array:
    """A column whose items are null where ``mask`` has no bit, with an id under each null."""
    buffers = [pa.py_buffer(bytes([mask])), pa.py_buffer(np.array(ids, kind))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(np.dtype(kind)), len(ids), buffers)


@pytest.mark.parametrize("ids", ["any", "dense", "uint64"])
@pytest.mark.parametrize(("garbage", "kind"), [(2**64 - 1, "uint64"), (-1, "int64")])
def test_a_garbage_id_under_a_null_is_not_looked_at(garbage: int, kind: str, ids: str) -> None:
    dst = with_garbage([5, garbage], 1, kind)
    batch = convert({"src": pa.array([1, 2], kind), "dst": dst}, ids=ids)
    low = -(2**63) if ids == "uint64" else 0
    assert batch.put_vertices.tolist() == [low + 2]


def test_a_garbage_id_under_a_null_makes_no_self_loop() -> None:
    """A row about a vertex that cannot be is refused, also where loops would be dropped."""
    dst = with_garbage([5, -1], 1, "int64")
    with pytest.raises(UpdateLogError, match="row 1001: id -1 cannot be a vertex index"):
        convert({"src": [1, -1], "dst": dst}, ids="dense")


@pytest.mark.parametrize("form", ["packed", "raw", "lists"])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("wrong", [-1, 2**31, 2**32 - 1, 2**40])
def test_a_dense_id_that_is_no_vertex_index_is_told_with_its_row(
    form: str, known: bool, wrong: int
) -> None:
    """All such rows are known, to be left out; one that is dropped may have any id."""
    table = pa.table(
        {
            "src": pa.array([wrong, 1, wrong, 3, wrong], pa.int64()),
            "dst": pa.array([wrong, 2, 2, wrong, None], pa.int64()),
        }
    )
    if known:
        table = with_bounds(table, [(min(wrong, 1), max(wrong, 3)), (min(wrong, 2), max(wrong, 2))])
    makers = {"packed": partial(packed_rows, dense=True), "raw": partial(raw_rows, dense=True)}
    make = makers.get(form, UpdateBatch.of_rows)
    place = {**PLACE, "meaning": row_meaning(ids="dense")}
    with pytest.raises(UpdateLogError, match=f"a, row 2: id {wrong} cannot be a vertex") as caught:
        conversion.convert_table(table, make, **place)
    assert isinstance(caught.value.__cause__, BadRowsError)
    assert caught.value.__cause__.bad.tolist() == [False, False, True, True, True]
    conversion.convert_table(table[:2], make, **place)
