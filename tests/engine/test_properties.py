"""Properties of the user's own, against dictionaries that the rows are applied to one by one."""

from typing import Any, NamedTuple

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from graphtide import (
    ArenaFullError,
    BatchError,
    CorruptImageError,
    DynamicGraph,
    EngineError,
    UpdateBatch,
)
from graphtide.gpu_core.batch.packed_batch import pack
from graphtide.gpu_core.properties import table
from property_graphs import OWN, PROPERTIES, small_graph
from strategies import DIRECTIONS

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.runs]


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
    kept = src % 100 == 7
    some = src[kept] + 3 * 10**6, dst[kept]
    graph.insert_edges(*some, amount=src[kept])
    graph.delete_vertices(src[~kept] + 3 * 10**6)
    graph.insert_edges([1], [2])
    graph.verify()
    assert graph.memory().properties_bytes < filled / 2
    assert graph.edge_values(*some)["amount"].tolist() == src[kept].tolist()
    # No two of those that come then get one record.
    graph.insert_edges(src[:900], dst[:900], amount=np.arange(900))
    assert graph.edge_values(src[:900], dst[:900])["amount"].tolist() == list(range(900))
    graph.verify()


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


@pytest.mark.parametrize("at_once", [False, True])
def test_a_vertex_that_comes_back_with_an_edge_has_no_values(at_once: bool) -> None:
    graph = small_graph()
    assert graph.vertex_values(7)["channel"] != 0
    if not at_once:
        graph.delete_vertices([7])
    values = {"amount": [0.0, 1.0], "channel": [0, 1]}
    kinds: dict[str, Any] = OWN
    graph.apply(
        UpdateBatch.from_rows(
            [-1, 1], [7, 7], [0, 1], dst_valid=[False, True],
            values={**values, "score": [0.0, 0.0]}, **kinds,
        )
    )  # fmt: skip
    found = graph.vertex_values(7)
    assert np.isnan(found["score"])
    assert found["channel"] == 0


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


def test_edges_of_one_hash_are_told_apart_by_both_ends() -> None:
    """A slot has 32 bits of the hash: among many edges, some of one source agree in them."""
    with np.errstate(over="ignore"):
        hashes = table._hash.py_func(np.int64(1), np.arange(200_000))
    order = np.argsort(hashes)
    at = int(np.flatnonzero(np.diff(hashes[order]) == 0)[0])
    one, other = order[at : at + 2].tolist()
    graph = DynamicGraph(properties={"age": "int32"})
    graph.insert_edges([1, 1], [one, other], age=[3, 4])
    assert graph.edge_values([1, 1], [one, other])["age"].tolist() == [3, 4]
    graph.delete_edges([1], [one])
    assert graph.edge_values(1, other) == {"age": 4}


@pytest.mark.parametrize("piece", [1, 3, 4])
def test_values_are_looked_up_in_pieces(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which begin and end within rows, and where a row does."""
    monkeypatch.setattr(table, "_PIECE", piece)
    graph = DynamicGraph(properties={"age": "int32"})
    src, dst = [1, 1, 1, 1, 1, 2, 4, 4, 4], [2, 3, 4, 5, 6, 1, 1, 2, 3]
    graph.insert_edges(src, dst, age=range(9))
    assert graph.edges()["age"].tolist() == list(range(9))
    assert graph.edge_values(src, dst)["age"].tolist() == list(range(9))


def test_verify_finds_an_edge_without_values() -> None:
    graph = small_graph()
    key = np.array([1]), np.array([2])
    assert graph._values is not None
    assert graph._values._edges is not None
    graph._values._edges.drop(*key)
    with pytest.raises(CorruptImageError, match="2 edges have some, the graph has 3 edges"):
        graph.verify()
    values = {"amount": np.zeros(1), "channel": np.zeros(1, np.int16)}
    graph._values._edges.put(np.array([8]), np.array([9]), values)
    with pytest.raises(CorruptImageError, match=r"3 edges have some, .* 1 of these have none"):
        graph.verify()
    graph._values._edges.put(*key, values)
    with pytest.raises(CorruptImageError, match=r"4 edges have some, .* 0 of these have none"):
        graph.verify()
