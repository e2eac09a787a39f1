"""Properties of the user's own in copies, frames, exports, and objects of other packages."""

import math
import pickle
import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from graphtide import (
    BatchError,
    DynamicGraph,
    PrecisionWarning,
    SettingsError,
    UpdateBatch,
    from_edge_list,
    from_networkx,
)
from graphtide.gpu_core.copies.difference import difference
from graphtide.gpu_core.copies.state_hash import checkpoint_hash
from graphtide.io.interchange.difference_table import difference_table
from graphtide.io.interchange.export import export_vertices
from property_graphs import OF_VERTICES, OWN, PROPERTIES, same_values, small_graph

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.runs]


def test_copies_have_them(tmp_path: Path) -> None:
    """Copies, pickles and saved graphs; they go on by themselves."""
    graph = small_graph()
    saved = DynamicGraph.load(graph.save(tmp_path / "saved"))
    for copy in (graph.copy(), pickle.loads(pickle.dumps(graph)), saved):
        same_values(copy, graph)
        copy.insert_edges([1], [2], channel=9)
        amount, channel = copy.edge_values(1, 2).values()
        assert (np.isnan(amount), channel) == (True, 9)
        assert copy.properties == PROPERTIES
    part = graph.subgraph([1, 2, 7])
    part.verify()
    assert part.edge_values(1, 2) == graph.edge_values(1, 2) == {"amount": 0.1, "channel": 10}
    assert part.vertex_values()["score"].tolist()[::2] == [0.5, 0.25]


def test_a_copy_has_room_for_all_values() -> None:
    """Of more edges and vertices than a new graph begins with room for."""
    count = 3_000
    graph, ids = DynamicGraph(**OWN), np.arange(count)
    graph.insert_edges(ids, (ids + 1) % count, amount=ids / 7, channel=ids % 99)
    graph.insert_vertices(ids[::2], score=ids[::2] / 3, channel=ids[::2])
    copy = graph.copy()
    same_values(copy, graph)
    copy.verify()


def test_a_hash_tells_values_apart() -> None:
    """Of edges, of vertices, and of no properties; not of how they came."""
    graph, other = small_graph(), small_graph()
    other.insert_edges([1], [2], amount=5, channel=10)
    assert other.state_hash() != graph.state_hash()
    other.insert_edges([1], [2], amount=0.1, channel=10)
    assert other.state_hash() == graph.state_hash()
    other.insert_vertices([7], channel=2**64 - 1)
    assert other.state_hash() != graph.state_hash()
    plain = [DynamicGraph(**{name: OWN[name]}) for name in OWN] + [DynamicGraph()]
    assert len({each.state_hash() for each in plain}) == 3


def test_a_checkpoint_tells_the_hash_where_indices_do_not_grow_with_ids() -> None:
    graph = DynamicGraph(**OWN)
    for vertex in (5, 2, 9, 1):
        graph.insert_vertices([vertex], score=vertex / 2, channel=vertex)
    graph.insert_edges([5, 5, 1], [2, 1, 9], amount=[0.5, 0.25, 2.0], channel=[1, 2, 3])
    arrays = graph.checkpoint_arrays()
    assert checkpoint_hash(arrays, directed=True, records="simple") == graph.state_hash()


def test_a_hash_tells_types_apart_and_not_the_order_of_properties() -> None:
    hashes = []
    for kinds in (
        {"a": "int8", "b": "int8"},
        {"b": "int8", "a": "int8"},
        {"a": "int8", "b": "uint8"},
    ):
        graph = DynamicGraph(properties=kinds, vertex_properties=kinds)
        graph.insert_edges([1], [2], a=3, b=4)
        graph.insert_vertices([1], a=5, b=6)
        hashes.append(graph.state_hash())
    assert hashes[0] == hashes[1]
    assert hashes[0] != hashes[2]


def test_frames_have_them() -> None:
    """In and out; a column that is a property is one whatever else its name could mean."""
    frame = pd.DataFrame({"from": [1, 2], "to": [2, 3], "amount": [0.5, None], "time": [3, 4]})
    graph = DynamicGraph.from_edges(frame, properties={"amount": "float64", "time": "int8"})
    assert graph.edge_values(1, 2) == {"amount": 0.5, "time": 3}
    assert np.isnan(graph.edge_values(2, 3)["amount"])
    assert graph.to_pandas().columns.tolist() == ["src", "dst", "amount", "time"]
    assert graph.to_networkx().edges[1, 2] == {"amount": 0.5, "time": 3}
    mixed = pd.DataFrame(
        {"op": [1, 1], "src": [1, 2], "dst": [5, None], "time": [7, None], "score": [None, 0.5]}
    ).astype({"dst": "Int64", "time": "Int64"})
    both = {"properties": {"time": "int8"}, "vertex_properties": {"score": "float64"}}
    graph = DynamicGraph.from_edges(mixed, **both)
    assert graph.edge_values(1, 5) == {"time": 7}
    assert graph.vertex_values([1, 2])["score"].tolist()[1:] == [0.5]


def test_networkx_there_and_back() -> None:
    """Attributes of edges and nodes; other libraries' forms have them, too."""
    graph = small_graph(directed=False)
    graph.insert_vertices([1, 7], score=[0.5, 0.25], channel=[8, 9])
    copy = graph.to_networkx()
    assert copy.nodes[7] == {"score": 0.25, "channel": 9}
    assert copy.edges[2, 1] == {"amount": 0.1, "channel": 10}
    same_values(from_networkx(copy, **OWN), graph)
    doubled = from_networkx(copy, directed=True, **OWN)
    assert doubled.edge_values(2, 1) == doubled.edge_values(1, 2) == graph.edge_values(1, 2)
    copy.add_edge(1, 1, amount=0.75, channel=5)
    looped = from_networkx(copy, directed=True, self_loops="keep", **OWN)
    assert looped.edge_values(1, 1) == {"amount": 0.75, "channel": 5}
    assert looped.edge_values(2, 1) == looped.edge_values(1, 2) == graph.edge_values(1, 2)
    there = graph.to_igraph()
    assert (there.es["channel"], there.vs["score"][-1]) == ([10, 30, 20], 0.25)
    with pytest.raises(SettingsError, match="from_edge_list takes no properties"):
        from_edge_list([(1, 2)], **OWN)


def test_a_list_may_have_large_and_small_whole_numbers() -> None:
    """NumPy alone would make floats of them."""
    large, kinds = [2**64 - 1, 0, 2**63 + 1], {"number": "uint64"}
    graph = DynamicGraph(properties=kinds, vertex_properties=kinds)
    graph.insert_edges([1, 2, 3], [2, 3, 1], number=large)
    graph.insert_vertices([1, 2, 3], number=tuple(large))
    assert graph.edge_values([1, 2, 3], [2, 3, 1])["number"].tolist() == large
    assert graph.vertex_values()["number"].tolist() == large
    batch = UpdateBatch.from_rows(
        None, [1, 2], [2, 3], properties=kinds, vertex_properties=kinds,
        values={"number": [1, 2**64 - 2]},
    )  # fmt: skip
    assert graph.apply(batch).updated == 2
    assert graph.edge_values([1, 2], [2, 3])["number"].tolist() == [1, 2**64 - 2]
    back = from_networkx(graph.to_networkx(), properties=kinds, vertex_properties=kinds)
    same_values(back, graph)
    for wrong in ([2**64, 1], [2**63, -1], [2**63, 0.5]):
        with pytest.raises(BatchError, match="give uint64"):
            graph.insert_edges([1, 2], [2, 3], number=wrong)
    floats = DynamicGraph(records="weighted", weights="float64", engine="host")
    with pytest.warns(PrecisionWarning):
        floats.insert_edges([1, 2], [2, 3], weight=[2**63 + 1, 1])


def test_a_property_does_not_take_the_place_of_ids_in_igraph() -> None:
    graph = DynamicGraph(vertex_properties={"id": "int64"}, properties={"id": "int64"})
    graph.insert_vertices([5, 6], id=[50, 60])
    with pytest.raises(SettingsError, match="vertices have a property 'id'"):
        graph.to_igraph()
    assert dict(graph.to_networkx().nodes(data="id")) == {5: 50, 6: 60}


@pytest.mark.parametrize("properties", [OWN, {"vertex_properties": OF_VERTICES}])
def test_graphml_has_them(properties: dict[str, Any], tmp_path: Path) -> None:
    """Of vertices too, where edges may have one of the same name and another type."""
    graph = DynamicGraph(directed=False, **properties)
    values = {"amount": [0.5, 0.25], "channel": [7, -8]} if "properties" in properties else {}
    graph.insert_edges([1, 2], [2, 3], **values)
    graph.insert_vertices([2, 9], score=[0.5, 2.25], channel=np.array([2**63, 4], np.uint64))
    graph.export_edges(tmp_path / "g.graphml")
    read = nx.read_graphml(tmp_path / "g.graphml", node_type=int)
    expected = graph.to_networkx()
    assert math.isnan(read.nodes[1].pop("score"))
    assert math.isnan(expected.nodes[1].pop("score"))
    assert math.isnan(read.nodes[3].pop("score"))
    assert math.isnan(expected.nodes[3].pop("score"))
    assert dict(read.nodes(data=True)) == dict(expected.nodes(data=True))
    assert list(read.edges(data=True)) == list(expected.edges(data=True))


def test_graphml_has_floats_that_are_no_numbers_as_java_reads_them(tmp_path: Path) -> None:
    """Numbers of Java are not read from ``nan``; those of Python and C from any case."""
    graph = DynamicGraph(vertex_properties={"score": "float64"}, engine="host")
    values = [math.nan, math.inf, -math.inf, 1e-300]
    graph.insert_vertices([1, 2, 3, 4], score=values)
    graph.export_edges(tmp_path / "g.graphml")
    text = (tmp_path / "g.graphml").read_text()
    assert re.findall(">([^<]*)</data>", text) == ["NaN", "Infinity", "-Infinity", "1e-300"]
    read = nx.read_graphml(tmp_path / "g.graphml", node_type=int)
    assert [read.nodes[each]["score"] for each in (2, 3, 4)] == values[1:]


def test_a_difference_has_them() -> None:
    """Edges and vertices that are there before and after, with other values."""
    graph = small_graph()
    before = graph.csr_of_keys()
    graph.insert_edges([1], [2], amount=0.1, channel=11)
    graph.insert_vertices([7], score=0.5, channel=1)
    rows = difference_table(difference(before, graph.csr_of_keys()), None).to_pylist()
    edge, vertex = rows
    assert (edge["change"], edge["src"], edge["dst"]) == ("changed", 1, 2)
    assert (edge["channel_before"], edge["channel"], edge["amount"]) == (10, 11, 0.1)
    assert (vertex["change"], vertex["src"], vertex["dst"]) == ("changed", 7, None)
    assert (vertex["vertex_score_before"], vertex["vertex_score"]) == (0.25, 0.5)


def test_what_differs_in_any_property_has_changed() -> None:
    snapshots = []
    for off in (0, 1):
        graph = DynamicGraph(
            records="semantic",
            properties={"a": "int8", "b": "int8"},
            vertex_properties={"c": "int8", "d": "int8"},
        )
        columns = {name: [1] * 6 for name in ("weight", "type", "ts", "a", "b")}
        for edge, column in enumerate(columns.values()):
            column[edge] += off
        graph.insert_edges([1] * 6, range(2, 8), **columns)
        graph.insert_vertices([2, 3, 4], c=[0, off, 0], d=[0, 0, off])
        snapshots.append(graph.csr_of_keys())
    found = difference(*snapshots)
    assert found.edges_changed.dst.tolist() == [2, 3, 4, 5, 6]
    assert found.vertices_changed.vertices.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("properties", "vertex_properties", "column"),
    [
        (("change",), (), "change"),
        (("a", "a_before"), (), "a_before"),
        (("vertex_a",), ("a",), "vertex_a"),
        ((), ("a", "a_before"), "vertex_a_before"),
    ],
)
def test_a_difference_with_two_columns_of_a_name_is_refused(
    properties: tuple[str, ...], vertex_properties: tuple[str, ...], column: str
) -> None:
    """Values of edges and of vertices would stand in one column, and which they are is lost."""
    graph = DynamicGraph(
        properties=dict.fromkeys(properties, "float64"),
        vertex_properties=dict.fromkeys(vertex_properties, "float64"),
    )
    snapshots = []
    for value in (1.0, 2.0):
        graph.insert_edges([1], [2], **dict.fromkeys(properties, value))
        graph.insert_vertices([1], **dict.fromkeys(vertex_properties, value))
        snapshots.append(graph.csr_of_keys())
    with pytest.raises(SettingsError, match=f"two columns {column}, .* export the graph after"):
        difference_table(difference(*snapshots), None)


def test_exports_have_them(tmp_path: Path) -> None:
    graph = small_graph()
    graph.export_edges(tmp_path / "edges.parquet")
    export_vertices(graph, str(tmp_path / "vertices.parquet"))
    edges = pd.read_parquet(tmp_path / "edges.parquet")
    vertices = pd.read_parquet(tmp_path / "vertices.parquet")
    pd.testing.assert_frame_equal(edges, graph.to_pandas())
    assert vertices.columns.tolist() == ["vertex", "score", "channel"]
    assert vertices["channel"].tolist() == [2**64 - 1, 0, 0, 2**64 - 1]
