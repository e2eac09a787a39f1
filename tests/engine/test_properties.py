"""Properties of the user's own, against dictionaries that the rows are applied to one by one."""

import inspect
import math
import pickle
import re
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from graphtide import (
    ArenaFullError,
    BatchError,
    CorruptImageError,
    DynamicGraph,
    EdgeNotFoundError,
    EngineError,
    PrecisionWarning,
    SettingsError,
    UpdateBatch,
    VertexNotFoundError,
    from_edge_list,
    from_networkx,
)
from graphtide.config.settings import load_settings
from graphtide.gpu_core.batch.packed_batch import pack
from graphtide.gpu_core.difference import difference
from graphtide.gpu_core.properties import table
from graphtide.io.interchange.difference_table import difference_table
from graphtide.io.interchange.export import export_vertices
from strategies import DIRECTIONS

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.runs]

PROPERTIES = {"amount": "float64", "channel": "int16"}
OF_VERTICES = {"score": "float32", "channel": "uint64"}
OWN = {"properties": PROPERTIES, "vertex_properties": OF_VERTICES}
#: What a batch is told of the graph that it is for.
OF_BATCHES = ("directed", "records", "self_loops", "create_vertices", "ids", "on_repeat")


class ValueRow(NamedTuple):
    """A row with a value of each property; ``dst`` None is a vertex row."""

    op: int
    src: int
    dst: int | None
    amount: float
    channel: int
    score: float


class ValueModel:
    """Values of edges and vertices in dictionaries; rows are applied in order."""

    def __init__(self, *, directed: bool = True, self_loops: str = "drop") -> None:
        self.directed, self.self_loops = directed, self_loops
        self.edges: dict[tuple[Any, Any], tuple[float, int]] = {}
        self.vertices: dict[Any, tuple[float, int] | None] = {}

    def apply(self, rows: list[ValueRow]) -> None:
        for row in rows:
            if row.dst is None and row.op > 0:
                self.vertices[row.src] = (row.score, row.channel)
            elif row.dst is None:
                self.vertices.pop(row.src, None)
                self.edges = {key: own for key, own in self.edges.items() if row.src not in key}
            elif row.src == row.dst and self.self_loops == "drop":
                continue
            else:
                ends = row.src, row.dst
                key = ends if self.directed else (min(ends), max(ends))
                if row.op < 0:
                    self.edges.pop(key, None)
                    continue
                self.edges[key] = (row.amount, row.channel)
                for end in ends:
                    self.vertices.setdefault(end, None)


def batch_of(rows: list[ValueRow], graph: DynamicGraph, name: Any = int) -> UpdateBatch:
    columns = {
        field: np.array([getattr(row, field) for row in rows]) for field in ("amount", "score")
    }
    columns["channel"] = np.array([row.channel for row in rows], np.int64)
    kind = {each: getattr(graph, each) for each in OF_BATCHES}
    return UpdateBatch.from_rows(
        np.array([row.op for row in rows], np.int8),
        [name(row.src) for row in rows],
        [name(row.src if row.dst is None else row.dst) for row in rows],
        dst_valid=np.array([row.dst is not None for row in rows], np.bool_),
        values=columns, **OWN, **kind,
    )  # fmt: skip


def check_same(graph: Any, model: ValueModel, name: Any = int) -> None:
    """All values of a graph, in every form that they are asked in."""
    edges = graph.edges()
    found = {
        ends: (amount, channel)
        for *ends_, amount, channel in zip(
            edges.src.tolist(), edges.dst.tolist(), edges["amount"], edges["channel"], strict=True
        )
        for ends in [tuple(ends_)]
    }
    # Names have an order of their own, by which undirected edges are folded.
    own = {tuple(map(name, key)): values for key, values in model.edges.items()}
    if name is not int and not model.directed:
        own = {key if key in found else key[::-1]: values for key, values in own.items()}
    assert found == own
    assert [edges["amount"].dtype, edges["channel"].dtype] == [np.float64, np.int16]
    of_vertices = graph.vertex_values()
    assert of_vertices["vertex"].tolist() == graph.vertices().tolist()
    assert sorted(of_vertices["vertex"].tolist()) == sorted(map(name, model.vertices))
    for key, values in model.vertices.items():
        score, channel = graph.vertex_values(name(key)).values()
        assert (values is None and np.isnan(score) and channel == 0) or (score, channel) == values
    for (src, dst), values in list(model.edges.items())[:3]:
        ends = [(src, dst)] if model.directed else [(src, dst), (dst, src)]
        for u, v in ends:
            assert tuple(graph.edge_values(name(u), name(v)).values()) == values


VERTICES = st.sampled_from((0, 1, 2, 3, 5, 31))
ROWS = st.lists(
    st.builds(
        ValueRow,
        op=st.sampled_from((1, 1, 1, -1)),
        src=VERTICES,
        dst=VERTICES | VERTICES | VERTICES | st.none(),
        amount=st.sampled_from((0.0, -1.5, 0.1, float("inf"), 2.0**60)),
        channel=st.integers(0, 2**15 - 1),
        score=st.sampled_from((0.5, -2.0, 8.0)),
    ),
    max_size=12,
)


@hypothesis.settings(
    deadline=None,
    max_examples=15,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
@hypothesis.given(
    batches=st.lists(ROWS, min_size=1, max_size=6),
    direction=st.sampled_from(DIRECTIONS),
    ids=st.sampled_from(("any", "dense", "uint64", "string:3")),
    records=st.sampled_from(
        ({}, {"records": "weighted"}, {"records": "weighted", "on_repeat": "sum"})
    ),
)
def test_rows_one_by_one(
    batches: list[list[ValueRow]],
    direction: dict[str, Any],
    ids: str,
    records: dict[str, Any],
) -> None:
    """Through restarts, with epochs that stay as they were; cut otherwise it is the same graph."""
    settings = {**direction, "ids": ids, **records, **OWN}
    name = str if ids.startswith("string") else int
    graph, whole = DynamicGraph(**settings), DynamicGraph(**settings)
    model, earlier = ValueModel(directed=graph.directed), ValueModel(directed=graph.directed)
    for number, rows in enumerate(batches):
        epoch = graph.pin()
        graph.apply(batch_of(rows, graph, name))
        model.apply(rows)
        check_same(graph, model, name)
        check_same(epoch, earlier, name)
        graph.verify()
        if number % 2:
            arrays = graph.checkpoint_arrays()
            graph = DynamicGraph.from_checkpoint_arrays(arrays, **settings)
        earlier.apply(rows)
    whole.apply(batch_of([row for rows in batches for row in rows], whole, name))
    check_same(whole, model, name)
    if not ids.startswith("string"):  # keys of names that collide hang on the batches
        assert whole.state_hash() == graph.state_hash()


def test_names_whose_keys_collide() -> None:
    """Puts change their order then, and their values go with them."""
    numbered, named = (DynamicGraph(**OWN, directed=False, ids=ids) for ids in ("any", "string:6"))
    rng = np.random.default_rng(2)
    for _ in range(3):
        src, dst = rng.integers(0, 40, (2, 300))
        values = {"amount": rng.random(300), "channel": rng.integers(0, 99, 300)}
        numbered.insert_edges(src, dst, **values)
        named.insert_edges(src.astype(str).tolist(), dst.astype(str).tolist(), **values)
        score = rng.random(40)
        numbered.insert_vertices(np.arange(40), score=score, channel=1)
        named.insert_vertices(np.arange(40).astype(str).tolist(), score=score, channel=1)
    edges, vertices = numbered.edges(), numbered.vertices()
    ends = edges.src.astype(str).tolist(), edges.dst.astype(str).tolist()
    np.testing.assert_array_equal(named.edge_values(*ends)["amount"], edges["amount"])
    own = named.vertex_values(vertices.astype(str).tolist())["score"]
    np.testing.assert_array_equal(own, numbered.vertex_values()["score"])


def small_graph(**settings: Any) -> DynamicGraph:
    graph = DynamicGraph(**{**OWN, **settings})
    graph.insert_edges([1, 2, 3], [2, 3, 1], amount=[0.1, 0.2, 0.3], channel=[10, 20, 30])
    graph.insert_vertices([1, 7], score=[0.5, 0.25], channel=2**64 - 1)
    return graph


def same_values(one: Any, other: Any) -> None:
    pd.testing.assert_frame_equal(one.edges().to_pandas(), other.edges().to_pandas())
    of_one, of_other = (each.vertex_values().to_pandas() for each in (one, other))
    pd.testing.assert_frame_equal(of_one, of_other)
    assert one.state_hash() == other.state_hash()


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


def test_memory_is_used_again() -> None:
    """Edges that come and go take no more than those that are there at once, and are told."""
    graph = DynamicGraph(properties={"amount": "float64"})
    assert DynamicGraph().memory().properties_bytes == 0
    src, dst = np.arange(4_000), np.arange(4_000) + 1
    graph.insert_edges(src, dst, amount=1.0)
    filled = graph.memory().properties_bytes
    assert 24 <= filled / src.size <= 60
    for offset in range(1, 4):
        graph.delete_edges(src + (offset - 1) * 10**6, dst)
        graph.insert_edges(src + offset * 10**6, dst, amount=2.0)
        assert graph.memory().properties_bytes == filled
    graph.delete_vertices(graph.vertices()[:-3])
    graph.insert_edges([1], [2])
    graph.verify()
    assert graph.memory().properties_bytes < filled / 2


REFUSED = {
    "a type": ({"amount": "complex64"}, "amount is of type 'complex64'; use one of bool, int8"),
    "a name": ({"weight": "int8"}, "'weight' is a column of every log or export"),
    "a parameter": ({"self": "int8"}, "'self' is a parameter of methods that take properties"),
    "no mapping": ("amount", "not a mapping of names to types"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("setting", list(OWN))
def test_properties_that_cannot_be(setting: str, given: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        DynamicGraph(**{setting: given})


def test_no_property_is_called_as_a_parameter_of_what_takes_them_by_name() -> None:
    for method in (
        DynamicGraph.insert_edges,
        DynamicGraph.insert_vertices,
        DynamicGraph.from_edges,
    ):
        parameters = inspect.signature(getattr(method, "__func__", method)).parameters.values()
        for each in parameters:
            if each.kind is not each.VAR_KEYWORD:
                for setting in OWN:
                    given = {setting: {each.name: "int8"}}
                    with pytest.raises(SettingsError, match=f"{setting}: '{each.name}' is a"):
                        DynamicGraph(**given)
                    with pytest.raises(SettingsError, match=f"{setting}: '{each.name}' is a"):
                        load_settings(given)


WRONG = {
    "left out": ({"amount": 1}, "channel is left out, but int16 has no missing value"),
    "unknown": ({"amuont": 1}, "amuont is not a property of edges here; there are amount, channel"),
    "of vertices": ({"score": 1}, "score is not a property of edges here; there are amount"),
    "too large": ({"channel": 2**15}, "row 0 of the batch: channel 32768 does not fit into int16"),
    "rounded": ({"channel": 1, "amount": 2**53 + 1}, "amount 9007199254740993 does not fit into"),
    "rounded up": ({"channel": 1, "amount": 2**63 - 1}, "amount 9223372036854775807 does not fit"),
    "no integer": ({"channel": 0.5}, "channel is of type float64, but the graph keeps it as int16"),
    "text": (
        {"channel": 1, "amount": "much"},
        "amount is of type <U4, but the graph keeps it as float64",
    ),
    "length": ({"channel": 1, "amount": [1, 2, 3]}, "amount has shape"),
}


@pytest.mark.parametrize(("values", "message"), WRONG.values(), ids=WRONG)
def test_values_that_cannot_be(values: dict[str, Any], message: str) -> None:
    graph = small_graph()
    before = graph.state_hash()
    with pytest.raises(BatchError, match=message):
        graph.insert_edges([4, 5], [5, 6], **values)
    assert graph.state_hash() == before


def test_what_is_not_there() -> None:
    graph = small_graph()
    with pytest.raises(EdgeNotFoundError, match=r"edge \(2, 1\) is not in the graph"):
        graph.edge_values([1, 2], [2, 1])
    with pytest.raises(VertexNotFoundError, match="vertex 99 is not in the graph"):
        graph.vertex_values([1, 99])
    for ask in (lambda: DynamicGraph().edge_values(1, 2), DynamicGraph().vertex_values):
        with pytest.raises(SettingsError, match="have no properties here"):
            ask()


def test_batches_of_other_properties() -> None:
    """Without them, with others, or for a graph that has none."""
    graph, plain = small_graph(), DynamicGraph()
    values = {"amount": [1.0], "channel": [2]}
    with pytest.raises(BatchError, match=re.escape("is for properties={}; the graph has")):
        graph.apply(UpdateBatch.from_rows([1], [1], [2]))
    other = {**OWN, "properties": {"amount": "float32"}}
    with pytest.raises(BatchError, match="float32"):
        graph.apply(UpdateBatch.from_rows([1], [1], [2], **other, values=values))
    with pytest.raises(BatchError, match="the batch has properties, the graph has none"):
        plain.apply(UpdateBatch.from_rows([1], [1], [2], **OWN, values=values))
    arrays = DynamicGraph().checkpoint_arrays()
    with pytest.raises(SettingsError, match="the checkpoint has no edge property amount"):
        DynamicGraph.from_checkpoint_arrays(arrays, **OWN)


@pytest.mark.parametrize("directed", [True, False])
def test_deletes_need_no_properties(directed: bool) -> None:
    """However they come: as rows, or in the memory of the engine."""
    graph = small_graph(directed=directed)
    graph.apply(UpdateBatch.from_rows([-1], [2], [3], directed=directed))
    batch = UpdateBatch.from_rows(
        [-1, -1], [1, 7], [2, 7], dst_valid=[True, False], directed=directed
    )
    feed = graph.feed()
    graph.apply(batch if feed is None else feed.send(pack(batch, dense=False)))
    graph.verify()
    edges = graph.edges()
    assert (len(edges), edges["channel"].tolist()) == (1, [30])
    graph.insert_vertices([7], channel=1)
    assert np.isnan(graph.vertex_values(7)["score"])


def test_a_batch_is_applied_to_both_or_to_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    """No memory for values, or a missing end point: as before. Cut off in between: refused."""
    graph = small_graph()
    before = graph.state_hash()

    def no_memory(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(table, "_laid_out", no_memory)
        with pytest.raises(ArenaFullError, match="no memory for properties of 1,000 more"):
            graph.insert_edges(np.arange(1000), np.arange(1000) + 1, channel=1)
    assert graph.state_hash() == before
    graph.insert_edges(np.arange(1000), np.arange(1000) + 1, channel=4)
    graph.verify()

    strict = DynamicGraph(properties=PROPERTIES, create_vertices=False)
    strict.insert_vertices([1, 2])
    with pytest.raises(BatchError, match="names vertex 3, which is not in the graph"):
        strict.insert_edges([1, 1], [2, 3], channel=1)
    strict.verify()
    strict.insert_edges([1], [2], channel=1)

    def cut_off(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(table, "enter", cut_off)
        with pytest.raises(KeyboardInterrupt):
            graph.insert_edges([1], [2], channel=1)
    for ask in (graph.edges, graph.checkpoint_arrays, lambda: graph.delete_edges([1], [2])):
        with pytest.raises(EngineError, match="restore the graph from its last checkpoint"):
            ask()


def test_verify_finds_an_edge_without_values() -> None:
    graph = small_graph()
    key = np.array([1]), np.array([2])
    assert graph._values is not None
    assert graph._values._edges is not None
    graph._values._edges.drop(*key)
    with pytest.raises(CorruptImageError, match="2 edges have some, the graph has 3 edges"):
        graph.verify()


def test_exports_have_them(tmp_path: Path) -> None:
    graph = small_graph()
    graph.export_edges(tmp_path / "edges.parquet")
    export_vertices(graph, str(tmp_path / "vertices.parquet"))
    edges = pd.read_parquet(tmp_path / "edges.parquet")
    vertices = pd.read_parquet(tmp_path / "vertices.parquet")
    pd.testing.assert_frame_equal(edges, graph.to_pandas())
    assert vertices.columns.tolist() == ["vertex", "score", "channel"]
    assert vertices["channel"].tolist() == [2**64 - 1, 0, 0, 2**64 - 1]


@pytest.mark.parametrize(
    ("kind", "column", "words"),
    [
        ("float64", pa.array([2**53 + 1, None]), "row 0: amount 9007199254740993 does not fit"),
        ("float32", pa.array([None, 2**24 + 1]), "row 1: amount 16777217 does not fit"),
        ("float64", pa.array([2**63 + 1, None], pa.uint64()), "amount 9223372036854775809 does"),
        ("float32", pa.array([True, None]), "amount is of type bool"),
        ("int64", pa.array([5, None]), "row 1: amount is null, which int64 cannot be"),
        ("bool", pa.array([None, None]), "row 0: amount is null, which bool cannot be"),
    ],
)
def test_a_null_beside_numbers_changes_nothing_about_them(
    kind: str, column: pa.Array, words: str
) -> None:
    graph = DynamicGraph(properties={"amount": kind})
    with pytest.raises(BatchError, match=words):
        graph.apply(pa.table({"src": [1, 2], "dst": [2, 3], "amount": column}))
    assert graph.num_edges == 0


def test_a_name_of_edges_and_of_vertices_is_of_the_type_of_each() -> None:
    graph = DynamicGraph(properties={"amount": "int64"}, vertex_properties={"amount": "float32"})
    amount = pa.array([2**53 + 1, None, 5])
    graph.apply(pa.table({"src": [1, 1, 2], "dst": pa.array([2, None, None]), "amount": amount}))
    assert graph.edges().properties["amount"].tolist() == [2**53 + 1]
    values = graph.vertex_values()["amount"].tolist()
    assert np.isnan(values[0])
    assert values[1] == 5
