"""The graph as a library: tables out, questions, copies and files."""

import inspect
import pickle
from datetime import UTC, datetime

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import psutil
import pyarrow as pa
import pytest

import graphtide
from graphtide import (
    BatchError,
    DynamicGraph,
    SettingsError,
    StateError,
    UpdateBatch,
    VertexNotFoundError,
)
from graphtide.io.durable import set_aside_as
from graphtide.io.hashed_json import read_json, write_json
from graphtide.io.state.graph_folder import MANIFEST

pytestmark = pytest.mark.usefixtures("engine")

#: For what is the same on every engine.
host_only = pytest.mark.parametrize("engine", ["host"], indirect=True)

SETTINGS = [
    {"directed": True, "records": "weighted"},
    {"directed": False, "records": "semantic", "weights": "float64"},
    {"directed": True, "ids": "dense", "records": "weighted"},
]


def drawn(*, directed=True, records="weighted", ids="any", **settings):
    """A graph with freed vertex indices, and its edges in networkx."""
    rng = np.random.default_rng(5)
    far = 1 if ids == "dense" else 10**15
    src, dst = rng.integers(0, 30, (2, 150)) * far
    kept = src != dst
    src, dst = src[kept], dst[kept]
    weight = rng.integers(-8, 8, src.size) / 8
    graph = DynamicGraph(directed=directed, records=records, ids=ids, **settings)
    ts = np.arange(src.size) if records == "semantic" else None
    graph.insert_edges(src, dst, weight=weight, ts=ts)
    graph.delete_vertices([3 * far, 4 * far])
    return graph, graphtide.to_networkx(graph)


# -- tables ------------------------------------------------------------------------------------


def test_results_are_tables():
    graph = DynamicGraph.from_edges([1, 2, 3, 3], [2, 3, 1, 4])
    result = graph.pagerank()
    expected = pd.DataFrame({"vertex": result.vertices, "pagerank": result.pagerank})
    for frame in (result.to_pandas(), pd.DataFrame(result), result.to_polars().to_pandas()):
        pd.testing.assert_frame_equal(frame, expected)
    assert pl.DataFrame(result).equals(result.to_polars())
    assert pa.table(result) == result.to_arrow()
    assert np.from_dlpack(result["pagerank"]).tolist() == result.pagerank.tolist()
    assert len(result) == 4
    assert result.top(1)["vertex"].tolist() == [3]
    assert graph.bfs(1).to_pandas().distance.tolist() == [0, 1, 2, 3]
    assert graph.clustering().top(1, by="degree")["vertex"].tolist() == [3]
    with pytest.raises(SettingsError, match="by='rank' is no column; there are vertex, pagerank"):
        result.top(1, by="rank")
    assert pd.DataFrame(graph.edges()).dst.tolist() == [2, 3, 1, 4]
    with pytest.raises(SettingsError, match="vertex, component are ids of vertices, not measures"):
        graph.weakly_connected_components().ranked(3)


@host_only
def test_rows_of_a_table_have_names_that_python_has_for_itself() -> None:
    graph = DynamicGraph(properties={"class": "int64", "_cost": "float64"})
    given = {"class": [3], "_cost": [0.5]}
    graph.insert_edges([1], [2], **given)
    [row] = graph.edges()
    assert (row.src, getattr(row, "class"), row._cost) == (1, 3, 0.5)
    assert repr(row) == "Row(src=1, dst=2, class=3, _cost=0.5)"
    assert row._asdict() == {"src": 1, "dst": 2, "class": 3, "_cost": 0.5}
    assert list(pd.DataFrame(graph.edges()).columns) == ["src", "dst", "class", "_cost"]


@host_only
@pytest.mark.parametrize(("unit", "last"), [("us", "2100"), ("s", "20000"), ("ns", "2100")])
def test_rows_of_a_table_have_times_in_every_unit(unit: str, last: str) -> None:
    graph = DynamicGraph(records="semantic")
    graph.insert_edges([1, 2], [2, 3], ts=np.array(["2024-01-01", last], f"M8[{unit}]"))
    for row, time in zip(graph.edges(), graph.edges()["last"], strict=True):
        # As a number it would be one without a unit.
        assert not isinstance(row.last, int)
        assert np.datetime64(row.last, unit) == time


@host_only
def test_top_takes_equal_values_in_row_order():
    rng = np.random.default_rng(2)
    for size in (0, 1, 7, 300):
        values = rng.integers(0, 5, size)
        table = graphtide.gpu_core.table.TableRows({"vertex": np.arange(size), "x": values})
        order = sorted(range(size), key=lambda row: (-values[row], row))
        for k in (0, 1, 5, size, size + 3):
            assert table.top(k)["vertex"].tolist() == order[:k]


@host_only
def test_top_ranks_neither_infinite_values_nor_vertices():
    graph = DynamicGraph(records="weighted", directed=False)
    graph.insert_edges([1, 2, 4], [2, 3, 5], weight=[1.0, 2.0, 1.0])
    assert [tuple(row) for row in graph.sssp(1).top(4)] == [(3, 3), (2, 1), (1, 0), (4, np.inf)]
    values = np.array([np.nan, -np.inf, 2.0, np.inf, 3.0])
    assert graphtide.gpu_core.table.TableRows({"x": values}).top(3)["x"][:2].tolist() == [3, 2]
    for found in (graph.weakly_connected_components(), graph.label_propagation()):
        with pytest.raises(SettingsError, match="are ids of vertices, not measures"):
            found.top(1)
        assert found.top(1, by=list(found.columns)[-1])["vertex"].tolist() == [4]


@host_only
def test_a_table_is_printed_at_both_ends():
    graph = DynamicGraph.from_edges(np.arange(1000), np.arange(1000) + 1)
    lines = str(graph.bfs(0)).splitlines()
    assert lines[0].split() == ["vertex", "distance"]
    assert lines[-1] == "(1,001 rows)"
    assert len(lines) < 20


# -- questions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("is_pinned", [False, True])
def test_questions_are_answered_as_networkx_does(settings, is_pinned):
    graph, other = drawn(**settings)
    asked = graph.pin() if is_pinned else graph
    assert list(asked) == sorted(other)
    assert len(asked) == len(other)
    vertices = np.array(sorted(other))
    for weight in (None, "weight"):
        degrees = [value for _, value in sorted(other.degree(weight=weight))]
        assert asked.degree(weight=weight).tolist() == degrees
        assert asked.degree(vertices[5], weight) == degrees[5]
        if graph.directed:
            for name in ("in_degree", "out_degree"):
                found = getattr(asked, name)(vertices[::-1], weight).tolist()
                assert found == [getattr(other, name)(v, weight) for v in vertices[::-1].tolist()]
    v = max(other, key=other.degree)
    ids, weights = asked.weighted_neighbors(v)
    assert dict(zip(ids.tolist(), weights, strict=True)) == {
        u: data["weight"] for u, data in other[v].items()
    }
    if graph.directed:
        ids, weights = asked.weighted_neighbors(v, "in")
        assert dict(zip(ids.tolist(), weights, strict=True)) == {
            u: data["weight"] for u, _, data in other.in_edges(v, data=True)
        }
    u = next(iter(other[v]))
    assert (v in asked, (v, u) in asked, asked.has_edge(v, u)) == (True, True, True)
    assert (-7 in asked, (v, v) in asked, "x" in asked, 2.5 in asked) == (False,) * 4
    assert asked.edge_weights(v, u) == other[v][u]["weight"]
    assert np.isnan(asked.edge_weights(v, v))
    assert asked.edge_weights([v, v], [u, v]).tolist()[0] == other[v][u]["weight"]


@pytest.mark.parametrize("settings", SETTINGS)
def test_clustering_of_some_vertices_is_that_of_all(settings):
    graph, other = drawn(**settings)
    vertices = np.array(sorted(other))[[20, 3, 9]]
    for directed in ("networkx", "ldbc"):
        whole = graph.clustering(directed=directed).to_pandas().set_index("vertex")
        some = graph.clustering(vertices, directed=directed).to_pandas().set_index("vertex")
        pd.testing.assert_frame_equal(some, whole.loc[vertices])
    one = graph.clustering(int(vertices[0]))
    assert one == pytest.approx(nx.clustering(other, int(vertices[0])))
    one_way = graph.copy(reverse=False)
    assert one_way.clustering(vertices)["triangles"].tolist() == (
        graph.clustering(vertices)["triangles"].tolist()
    )
    with pytest.raises(VertexNotFoundError):
        graph.clustering([-5 if graph.ids == "any" else 999])


def test_questions_that_cannot_be_answered():
    graph = DynamicGraph.from_edges([1], [2], reverse=False)
    with pytest.raises(SettingsError, match="reverse=True"):
        graph.degree()
    assert graph.out_degree(1) == 1
    with pytest.raises(SettingsError, match="needs weights"):
        graph.edge_weights(1, 2)
    with pytest.raises(VertexNotFoundError, match="vertex 9"):
        graph.out_degree(9)


@host_only
def test_edges_of_a_time():
    graph = DynamicGraph(records="semantic")
    days = np.array(["2024-01-01", "2024-02-01", "2024-03-01"], "M8[s]")
    graph.insert_edges([1, 2, 3], [2, 3, 4], weight=[5, 6, 7], ts=days)
    later = graph.edges(since="2024-02-01")
    assert (later.src.tolist(), later["weight"].tolist()) == ([2, 3], [6, 7])
    assert graph.edges(until=datetime(2024, 2, 1)).src.tolist() == [1]
    assert graph.edges(since=np.datetime64("2024-01-31T23:59:59.5"), until=days[2]).src.size == 1
    # Half a second after the edge's time is after it.
    assert graph.edges(since=np.datetime64("2024-02-01T00:00:00.5")).src.tolist() == [3]
    zoned = datetime(2024, 2, 1, tzinfo=UTC)
    assert graph.edges(since=zoned).src.tolist() == [2, 3]
    # A zone in the text counts; NumPy would warn of it.
    for midnight in ("2024-02-01T02:30:00+02:30", "2024-01-31 23:00-01", "2024-02-01T00:00Z"):
        assert graph.edges(since=midnight).src.tolist() == [2, 3], midnight
        assert graph.edges(until=midnight).src.tolist() == [1], midnight
    with pytest.raises(BatchError, match="no time"):
        graph.edges(since="soon")
    numbers = DynamicGraph(records="semantic")
    numbers.insert_edges([1, 2], [2, 3], ts=[5, 6])
    assert numbers.edges(since=6).src.tolist() == [2]
    with pytest.raises(BatchError, match="plain integers"):
        numbers.edges(since=zoned)
    with pytest.raises(SettingsError, match="no times"):
        DynamicGraph.from_edges([1], [2]).edges(since=1)
    # Before the first edge nobody knows what times will count.
    empty = DynamicGraph(records="semantic")
    empty.insert_vertices([7])
    for time in (zoned, "2024-02-01", 5):
        assert len(empty.edges(since=time, until=time)) == 0
        assert empty.sample_neighbors([7], [3], before=time).vertices.tolist() == [7]
        assert empty.expire(time).expired == 0
    with pytest.raises(BatchError, match="no time"):
        empty.edges(since="soon")


# -- copies and files --------------------------------------------------------------------------


@pytest.mark.parametrize("settings", SETTINGS)
def test_copies_go_on_as_the_graph_does(settings, tmp_path):
    graph, _ = drawn(**settings)
    if graph.records.startswith("semantic"):
        assert graph.time_unit == "int64"
    copies = [
        graph.copy(),
        graph.pin().copy(),
        pickle.loads(pickle.dumps(graph)),
        DynamicGraph.load(graph.save(tmp_path / "g")),
        DynamicGraph.load(tmp_path / "g", engine="host", layout="chain"),
    ]
    assert copies[-1].layout == "chain"
    new = [1001, 1002] if graph.ids == "dense" else [-1, -2]
    before = graph.state_hash()
    graph.insert_edges(new, new[::-1], ts=[1, 2] if "semantic" in graph.records else None)
    for copy in copies:
        assert copy.state_hash() == before, "a copy changed with its graph"
        assert copy.kind.record == graph.kind.record
        copy.insert_edges(new, new[::-1], ts=[1, 2] if "semantic" in graph.records else None)
        copy.verify()
        ours, theirs = graph.checkpoint_arrays(), copy.checkpoint_arrays()
        assert ours.keys() == theirs.keys()
        for name, array in ours.items():
            np.testing.assert_array_equal(theirs[name], array, err_msg=name)


@host_only
def test_a_copy_may_differ_in_memory_only():
    graph = DynamicGraph.from_edges([1], [2], arena_bytes=1 << 20)
    assert graph.copy().memory().limit_bytes == graph.memory().limit_bytes
    with pytest.raises(SettingsError, match="directed=False: a copy can be given"):
        graph.copy(directed=False)


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_subgraph_has_all_edges_among_its_vertices(settings):
    graph, other = drawn(**settings)
    vertices = np.array(sorted(other))[::2]
    part = graph.subgraph(vertices)
    part.verify()
    assert nx.utils.graphs_equal(graphtide.to_networkx(part), other.subgraph(vertices.tolist()))
    assert graph.subgraph([]).num_vertices == 0
    with pytest.raises(VertexNotFoundError, match="vertex 999 is not"):
        graph.subgraph([999, int(vertices[0])])


@host_only
def test_a_saved_graph_is_replaced_whole(tmp_path, monkeypatch):
    path = tmp_path / "g"
    first, second = DynamicGraph.from_edges([1], [2]), DynamicGraph.from_edges([3], [4])
    first.save(path)
    second.save(path)
    assert DynamicGraph.load(path).vertices().tolist() == [3, 4]
    assert [each.name for each in tmp_path.iterdir()] == ["g"]
    # As if the machine went down when the earlier one was just set aside.
    path.rename(set_aside_as(path))
    assert DynamicGraph.load(path).vertices().tolist() == [3, 4]
    first.save(path)
    assert DynamicGraph.load(path).vertices().tolist() == [1, 2]
    assert [each.name for each in tmp_path.iterdir()] == ["g"]


@host_only
def test_saving_and_loading_refuse_what_is_no_saved_graph(tmp_path):
    graph = DynamicGraph.from_edges([1], [2])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(StateError, match="is no saved graph; give a new path"):
        graph.save(tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").exists()
    with pytest.raises(StateError, match="there is no saved graph"):
        DynamicGraph.load(tmp_path / "nowhere")
    # A folder `s3:` was made here.
    for refused in (graph.save, DynamicGraph.load):
        with pytest.raises(StateError, match="is on a local disk, not at s3://bucket/graph"):
            refused("s3://bucket/graph")
    assert graph.save(f"file://{tmp_path}/by url") == tmp_path / "by url"
    graph.save(tmp_path / "g")
    edges = tmp_path / "g" / "edges.parquet"
    content = bytearray(edges.read_bytes())
    content[10] ^= 1
    edges.write_bytes(content)
    with pytest.raises(StateError, match=r"edges\.parquet is not as it was written"):
        DynamicGraph.load(tmp_path / "g")
    (tmp_path / "g" / MANIFEST).write_text("{")
    with pytest.raises(StateError, match="g is there and is no saved graph; give a new path"):
        graph.save(tmp_path / "g")


@host_only
def test_a_graph_that_was_saved_with_a_setting_of_a_later_version_is_refused(tmp_path):
    manifest = DynamicGraph.from_edges([1], [2]).save(tmp_path / "g") / "manifest.json"
    values = read_json(manifest, must_have_hash=True)
    write_json(manifest, {**values, "settings": {**values["settings"], "half_life": "7d"}})
    with pytest.raises(StateError, match="has the setting half_life, which this graphtide"):
        DynamicGraph.load(tmp_path / "g")


@host_only
def test_igraph_has_the_same_graph():
    import igraph  # not above: it loads Matplotlib, in each process that collects this file

    graph, other = drawn()
    copy = graph.to_igraph()
    assert isinstance(copy, igraph.Graph)
    ids = copy.vs["id"]
    assert {(ids[e.source], ids[e.target]): e["weight"] for e in copy.es} == {
        (u, v): data["weight"] for u, v, data in other.edges(data=True)
    }


@host_only
@pytest.mark.parametrize("directed", [False, True])
def test_graphml_has_the_same_graph(directed, tmp_path):
    import igraph

    graph, other = drawn(directed=directed)
    graph.insert_vertices([-5])
    other.add_node(-5)
    assert graph.export_edges(tmp_path / "g.graphml") == graph.num_edges
    read = nx.read_graphml(tmp_path / "g.graphml", node_type=int)
    read.graph.clear()  # notes of its own
    assert nx.utils.graphs_equal(read, other)
    assert igraph.Graph.Read_GraphML(str(tmp_path / "g.graphml")).ecount() == graph.num_edges


@host_only
def test_graphml_has_times_as_text(tmp_path):
    graph = DynamicGraph(records="semantic")
    graph.insert_edges([1], [2], weight=0.5, type=7, ts=np.array(["2024-02-01"], "M8[s]"))
    graph.export_edges(tmp_path / "g.graphml")
    data = nx.read_graphml(tmp_path / "g.graphml", node_type=int).edges[1, 2]
    assert data == {
        "weight": 0.5, "type": 7, "first": "2024-02-01T00:00:00", "last": "2024-02-01T00:00:00",
    }  # fmt: skip


# -- how it looks ------------------------------------------------------------------------------


@host_only
def test_signatures_are_short():
    for cls in (DynamicGraph, graphtide.Epoch, UpdateBatch):
        for name, member in inspect.getmembers(cls, inspect.isfunction):
            if not name.startswith("_"):
                assert "Buffer" not in str(inspect.signature(member)), name


@host_only
def test_what_a_graph_shows_of_itself():
    graph = DynamicGraph.from_edges([1, 2], [2, 3])
    assert repr(graph).startswith("<DynamicGraph 3 vertices, 2 edges, directed, simple, host, ")
    with graph.pin() as epoch:
        words = "<Epoch after 1 batch, 3 vertices, 2 edges, directed, simple, host, "
        assert repr(epoch).startswith(words)


@host_only
def test_tiny_graphs_take_little_memory(monkeypatch):
    monkeypatch.setattr(graphtide.gpu_core.image.arena_size, "FIRST_BYTES", 256 << 20)

    def tiny():
        graph = DynamicGraph.from_edges([1, 2, 3], [2, 3, 1])
        graph.pagerank()
        return graph

    kept = [tiny()]
    before = psutil.Process().memory_info().rss
    kept += [tiny() for _ in range(50)]
    assert psutil.Process().memory_info().rss - before < 20e6


@pytest.mark.usefixtures("engine")
def test_a_vertex_is_there_whether_its_id_is_a_number_or_an_array_without_dimensions() -> None:
    graph = DynamicGraph.from_edges([1, 2], [2, 3])
    one, two, nine = np.array(1), np.int32(2), np.array(9)
    assert one in graph
    assert (one, two) in graph
    assert nine not in graph
    assert (one, nine) not in graph
    # No ids: no graph has them.
    assert np.array(1.5) not in graph
    assert np.array([1]) not in graph
    assert [] not in graph
    named = DynamicGraph.from_edges(["a"], ["b"], ids="string")
    assert np.array("a") in named
    assert np.array(1) not in named
