"""Frames and arrays that go into a graph, and what is said of those that cannot."""

from datetime import datetime
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import graphtide
from graphtide import BatchError, DynamicGraph, SettingsError, UpdateBatch
from graphtide.io.interchange.frames import pairs_of_frame

pytestmark = pytest.mark.usefixtures("engine")

#: For what is the same on every engine.
host_only = pytest.mark.parametrize("engine", ["host"], indirect=True)

FRAME = {"source": [1, 2, 3, 3], "Target": [2, 3, 1, 4], "weight": [0.5, 1.0, 2.0, 4.0]}
FORMS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "batches": lambda columns: pa.table(columns).to_reader(),
    "categories": lambda columns: pd.DataFrame(columns).astype("category"),
    # Batches of it have an empty part of a chunk, which Arrow cannot join to others.
    "uneven chunks": lambda columns: pa.table(
        {
            name: pa.chunked_array([values[:end], [], values[end:]], pa.infer_type(values))
            for end, (name, values) in enumerate(columns.items())
        }
    ),
    "run ends": lambda columns: pa.table(
        {name: pc.run_end_encode(pa.array(values)) for name, values in columns.items()}
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_frame_is_its_edges(form):
    frame = FORMS[form]({**FRAME, "note": ["a", None, "b", "c"]})
    graph = DynamicGraph.from_edges(frame, records="weighted")
    assert graph.to_pandas().to_numpy().tolist() == [
        [1, 2, 0.5], [2, 3, 1], [3, 1, 2], [3, 4, 4],
    ]  # fmt: skip
    again = FORMS[form](FRAME)
    assert graph.insert_edges(again).updated == 4
    assert graph.delete_edges(FORMS[form](FRAME)).deleted == 4


@host_only
def test_a_frame_with_operations_is_a_batch():
    times = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"], utc=True)
    frame = pd.DataFrame(
        {
            "op": ["insert", "insert", "delete"],
            "src": [1, 2, 1],
            "dst": pd.array([2, None, 2], "Int64"),
            "ts": times,
        }
    )
    graph = DynamicGraph(records="semantic")
    assert graph.apply(frame).num_edges == 0
    assert graph.vertices().tolist() == [1, 2]
    batch = UpdateBatch.from_rows(frame, records="semantic")
    assert batch.rows == 3
    graph.apply(UpdateBatch.from_rows(frame[:2], records="semantic"))
    assert graph.time_unit.endswith("tz=UTC]")
    assert graph.edges().properties["last"].astype("M8[D]").tolist() == [
        datetime(2024, 1, 1).date()
    ]


@host_only
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": [1], "dst": [2]}, "no column src; it has a, dst"),
        ({"src": [1], "from": [1], "dst": [2]}, "src and from are both src"),
        ({"src": ["x"], "dst": [2]}, "src is of type"),
        ({"src": [1.5], "dst": [2]}, "src is of type double"),
        ({"src": [1], "dst": [2], "op": [1]}, "given a column op"),
        ({"src": np.array([2**70], object), "dst": [2]}, "Arrow cannot read its columns"),
        (
            {"src": np.array(["a", 1], object), "dst": ["b", "c"]},
            r"\(Expected bytes, .*; Conversion failed for column src .*\); give each one type",
        ),
        ({"src": [1, 1], "dst": pd.array([2, None], "Int64")}, "row 1: dst is null"),
    ],
)
def test_frames_that_are_refused(columns, words):
    graph = DynamicGraph()
    with pytest.raises(BatchError, match=words):
        graph.insert_edges(pd.DataFrame(columns))
    assert graph.num_vertices == 0


@host_only
def test_what_is_masked_is_no_value():
    masked = np.ma.array([1, 2], mask=[False, True])
    with pytest.raises(BatchError, match="src has 1 null, and each row needs an id"):
        DynamicGraph().insert_edges(masked, [2, 3])
    for record, values in (("weighted", {"weight": masked}), ("semantic", {"ts": masked})):
        with pytest.raises(BatchError, match=f"{next(iter(values))} is masked in some rows"):
            DynamicGraph(records=record).insert_edges([1, 2], [2, 3], **values)


@host_only
def test_what_is_masked_is_no_argument_either():
    graph = DynamicGraph(records="weighted")
    graph.insert_edges([1, 2], [2, 3], weight=[5, 7])
    some = np.ma.array([1, 2], mask=[False, True])
    values = np.ma.array([1.0, 2.0, 3.0], mask=[False, False, True])
    program = graphtide.Program(
        lambda source_value, weight: source_value, "sum", lambda old, message: (message, False)
    )
    for call in (
        lambda: graph.bfs(some),
        lambda: graph.sssp(some[1:]),
        lambda: graph.compute("bfs", sources=some),
        lambda: graph.spmv(values),
        lambda: graph.vertex_state(a=values),
        lambda: graph.run_program(program, values),
        lambda: graph.run_program(program, 1, active=some),
        lambda: graph.pagerank(personalization=([1, 2, 3], values)),
        lambda: graph.pagerank(dangling=(some, [1.0, 2.0])),
    ):
        with pytest.raises(SettingsError, match="is masked in some rows"):
            call()


@host_only
def test_a_nullable_column_without_a_null_is_an_argument():
    graph = DynamicGraph()
    graph.insert_edges([1, 2], [2, 3])
    ids, values = pd.array([1, 2], "Int64"), pd.array([1.0, 1.0], "Float64")
    assert graph.bfs(ids).distance.tolist() == [0, 0, 1]
    assert graph.spmv((ids, values)).value.tolist() == [1.0, 0.0, 0.0]


@host_only
def test_arguments_that_are_none_are_refused_by_their_names():
    graph = DynamicGraph(records="weighted")
    graph.insert_edges([1, 3], [2, 1], weight=[5, 7])
    for direction in ("incoming", "IN", None):
        with pytest.raises(SettingsError, match=f"direction={direction!r} is unknown"):
            graph.weighted_neighbors(1, direction)
    for spare in ("2", None, -1, 2.5):
        with pytest.raises(SettingsError, match=f"spare_bytes={spare!r} is not a whole number"):
            graph.pin(spare_bytes=spare)
    for name in ("personalization", "nstart", "dangling"):
        with pytest.raises(SettingsError, match=f"{name} is neither a mapping"):
            graph.pagerank(**{name: {1: 10**400}})
        # Items of a mapping, and rows of an array, are two as well: ids and values they are not.
        for given in ([(1, 2), (3, 1)], [(1, 2), (2, 1), (3, 1)], np.array([[1, 2], [3, 1]])):
            with pytest.raises(SettingsError, match=rf"{name}( is neither a mapping|.* twice)"):
                graph.pagerank(**{name: given})
    with pytest.raises(SettingsError, match=r"x=.* may be meant as \(id, value\) twice"):
        graph.spmv([(1, 2), (3, 1)])
    with pytest.raises(SettingsError, match="pairs has 1; give pairs of ids"):
        graph.common_neighbors(pd.Series([1, 2]))
    with pytest.raises(SettingsError) as refused:
        graph.common_neighbors((np.arange(9_999), np.arange(9_999)))
    assert len(str(refused.value)) < 200
    with pytest.raises(TypeError, match="a column by its name, not for slice"):
        graph.pagerank()[1:3]


@host_only
def test_an_array_or_a_list_is_no_name_of_a_choice() -> None:
    """Weights of edges in the place of their name, and several analytics at once."""
    graph = DynamicGraph(records="weighted")
    graph.insert_edges([1, 3], [2, 1], weight=[5, 7])
    for weights in (np.array([5.0, 7.0]), [5.0, 7.0], pd.Series([5.0, 7.0]), np.array([])):
        calls = [
            partial(graph.pagerank, weight=weights),
            partial(graph.katz_centrality, weight=weights),
            partial(graph.sssp, 1, weight=weights),
            partial(graph.degree, weight=weights),
            partial(graph.spmv, [1, 1, 1], weight=weights),
            partial(graph.random_walks, [1], 2, weight=weights),
            partial(graph.to_scipy, weight=weights),
        ]
        for call in calls:
            with pytest.raises(SettingsError, match=r"weight=[^\n]+ is (unknown; use|no property)"):
                call()
        with pytest.raises(SettingsError, match=r"directed=[^\n]+ is unknown; use one of"):
            graph.clustering(directed=weights)
    for names in (["pagerank"], np.array(["pagerank"])):
        for refused in (graph.compute, graph.maintain):
            with pytest.raises(SettingsError, match=r"analytic [^\n]+ is unknown; there are"):
                refused(names)
        with pytest.raises(SettingsError, match="is not maintained"):
            graph.unmaintain(names)


@host_only
def test_a_self_loop_is_named_as_users_have_it():
    graph = DynamicGraph(ids="uint64", self_loops="reject")
    for vertex in (2, 2**63 + 2):
        with pytest.raises(BatchError, match=f"is a self loop of vertex {vertex};"):
            graph.insert_edges([vertex], [vertex])


@host_only
@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int64])
def test_operations_are_numbers_of_any_type(kind):
    graph = DynamicGraph()
    frame = {"op": np.array([1, 1, 0], kind), "src": [1, 2, 1], "dst": [2, 3, 2]}
    assert graph.apply(pd.DataFrame(frame)).num_edges == 1
    beyond = np.array([1, np.iinfo(kind).max, 0], kind)
    with pytest.raises(BatchError, match="row 1: op is "):
        graph.apply(pd.DataFrame({**frame, "op": beyond}))


@host_only
def test_a_frame_with_its_ends_in_the_index_is_told_so():
    frame = pd.DataFrame({"src": [1], "dst": [2], "w": [3]}).set_index(["src", "dst"])
    with pytest.raises(BatchError, match=r"it has w; it is in the index, which reset_index\(\)"):
        DynamicGraph().insert_edges(frame)


@host_only
def test_dates_of_a_frame_are_the_times_at_which_they_begin():
    graph = DynamicGraph(records="semantic")
    graph.insert_edges(pa.table({"src": [1], "dst": [2], "ts": [datetime(2024, 2, 29).date()]}))
    assert graph.edges().properties["last"].tolist() == [datetime(2024, 2, 29)]


@host_only
def test_pairs_of_decimals_beyond_int64_are_whole_numbers():
    given = [1, None, 2**64 - 1]
    ids = pa.array(given, pa.decimal128(38, 0))
    assert pairs_of_frame(pa.table({"src": ids, "dst": ids})) == (given, given)


@pytest.mark.parametrize("on_repeat", ["last", "sum"])
def test_edges_with_times_make_the_graph_that_they_are_of(on_repeat):
    kind = {"records": "semantic", "on_repeat": on_repeat, "properties": {"amount": "float64"}}
    graph = DynamicGraph(**kind)
    times = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-03-01", "2024-02-01"])
    graph.insert_edges(
        [1, 2, 1, 2], [2, 3, 2, 3], ts=times, weight=[1, 2, 3, 0.5], type=[4, 5, 6, 7], amount=2.5
    )
    edges = graph.edges()
    for frame in (edges, edges.to_pandas(), edges.to_arrow(), edges.to_polars()):
        again = DynamicGraph.from_edges(frame, **kind)
        assert again.state_hash() == graph.state_hash()
        assert again.time_unit == graph.time_unit
    # Of an edge that is there the first time stays, and the last one is the newer.
    graph = DynamicGraph(**kind)
    graph.insert_edges([1], [2], ts=pd.to_datetime(["2023-01-01"]))
    assert graph.apply(edges).updated == 1
    first, last = (graph.edges().properties[name].astype("M8[D]") for name in ("first", "last"))
    assert first.astype(str).tolist() == ["2023-01-01", "2024-01-02"]
    assert last.astype(str).tolist() == ["2024-03-01", "2024-02-01"]
    assert graph.delete_edges(edges).num_edges == 0


@host_only
def test_times_that_are_shown_say_that_they_are_utc_and_no_fraction_of_nothing():
    times = pd.to_datetime(["2024-03-01 00:30"])
    for zone, mark in ((None, ""), ("Europe/Berlin", "Z")):
        graph = DynamicGraph(records="semantic")
        graph.insert_edges(pa.table({"src": [1], "dst": [2], "ts": times.tz_localize(zone)}))
        shown = "2024-02-29T23:30:00Z" if mark else "2024-03-01T00:30:00"
        assert str(graph.edges()).endswith(f"  {shown}  {shown}")
    graph = DynamicGraph(records="semantic")
    graph.insert_edges([1], [2], ts=times + pd.Timedelta("1500ms"))
    assert str(graph.edges()).endswith("T00:30:01.500000")


@host_only
def test_what_a_user_may_type_wrongly_is_told_what_to_do():
    graph = DynamicGraph.from_edges([1], [2])
    with pytest.raises(BatchError, match="those of one vertex: ask for each"):
        graph.neighbors([1, 2])
    with pytest.raises(SettingsError, match="or ids='string' for names"):
        graphtide.from_edge_list([("ann", "bob")])
    assert graphtide.from_edge_list([("ann", "bob")], ids="string").neighbors("ann") == ["bob"]
    assert repr(graph.pagerank()).startswith("<PageRankResult 2 vertices, ")


@host_only
def test_a_stream_is_a_frame_and_a_column_is_none():
    table = pa.table({"src": [1, 2], "dst": [2, 3]})
    column = pa.chunked_array([[1, 2]])

    class Stream:
        """All that Arrow asks for."""

        def __init__(self, content):
            self.__arrow_c_stream__ = content.__arrow_c_stream__

    graph = DynamicGraph()
    assert graph.insert_edges(Stream(table)).inserted == 2
    assert graph.jaccard_coefficient(Stream(table)).dst.tolist() == [2, 3]
    for each in (column, Stream(column), pl.Series([1, 2]), pd.Series([1, 2])):
        for call in (graph.apply, graph.insert_edges, graph.delete_edges, DynamicGraph.from_edges):
            with pytest.raises(BatchError, match=f"{type(each).__name__} is one column; give arr"):
                call(each)
    assert graph.num_edges == 2


@host_only
def test_arguments_beside_a_frame_that_mean_nothing_are_refused():
    graph, frame = DynamicGraph(), pd.DataFrame({"src": [1], "dst": [2]})
    with pytest.raises(BatchError, match="meaning is a DynamicGraph, not what rows mean"):
        graphtide.batch_of_frame(frame, graph)
    for op in (0, "insert", True):
        with pytest.raises(BatchError, match=f"op is {op!r}; use 1 for insert, -1 for delete"):
            graphtide.batch_of_frame(frame, graph.kind, op)
    assert graph.apply(graphtide.batch_of_frame(frame, graph.kind, 1)).inserted == 1


@host_only
def test_an_unknown_operation_in_a_frame_is_not_told_of_settings():
    frame = pd.DataFrame({"op": ["unfollow"], "src": [1], "dst": [2]})
    with pytest.raises(BatchError, match=r"op 'unfollow' is unknown; use .*or 1 or -1$"):
        DynamicGraph().apply(frame)


@host_only
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"last": [1]}, "need the column ts"),
        (
            {"first": [1], "last": pd.to_datetime(["2024-01-01"])},
            "first is of type int64, but last",
        ),
    ],
)
def test_edges_with_half_of_their_times_are_refused(columns, words):
    with pytest.raises(BatchError, match=words):
        DynamicGraph(records="semantic").apply(pd.DataFrame({"src": [1], "dst": [2], **columns}))


@host_only
def test_a_report_says_in_a_line_what_happened():
    graph = DynamicGraph()
    report = graph.insert_edges([1, 2, 2, 4], [2, 3, 3, 4])
    assert repr(report) == (
        "<BatchReport, 4 rows: 2 inserted, 1 overridden, 1 dropped; graph of 3 vertices, 2 edges>"
    )
    assert repr(graph.insert_edges([], [])).startswith("<BatchReport, 0 rows; graph of 3")


@host_only
def test_edges_that_are_no_frame_and_no_pair_are_refused():
    graph = DynamicGraph()
    for given, words in (
        ([1, 2], "list is no frame with src and dst; .* or a frame alone$"),
        ([(1, 2)], r"src, dst = zip\(\*pairs\), and graphtide.from_edge_list takes pairs"),
        (np.array([[1, 2]]), r"array\[:, 0\] and array\[:, 1\]"),
        (FRAME, "dict is no frame .*: pandas.DataFrame makes one"),
        (pl.LazyFrame(FRAME), r"LazyFrame is no frame .*: collect\(\)"),
    ):
        with pytest.raises(BatchError, match=f"dst is missing, and .*{words}"):
            graph.insert_edges(given)
    with pytest.raises(BatchError, match="vertices is a frame; give its column of ids, and fur"):
        graph.insert_vertices(pd.DataFrame({"vertex": [1]}))
    with pytest.raises(BatchError, match="weight is given, but dst is not"):
        DynamicGraph(records="weighted").insert_edges(pd.DataFrame(FRAME), weight=[1] * 4)
