"""A graph in its users' own ids: all that takes or gives ids, for each kind of them."""

import pickle
import random
import uuid
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import graphtide
from graphtide import (
    BatchError,
    DynamicGraph,
    Program,
    SettingsError,
    UpdateBatch,
    VertexNotFoundError,
)
from graphtide.gpu_core.copies.difference import difference

#: Kind -> id of a number. Hashes of 3 bits collide all the time.
KINDS: dict[str, Callable[[int], Any]] = {
    "string": lambda number: f"user {number} ü" if number else "",
    "string:3": lambda number: f"u{number}",
    "uuid": lambda number: str(uuid.UUID(int=number * 10**30 + 7)),
    "uint64": lambda number: 2**64 - 1 - number * 10**16,
}
kinds = pytest.mark.parametrize("kind", KINDS)


def edges_of(count: int = 120, vertices: int = 40) -> list[tuple[int, int]]:
    drawn = random.Random(5)
    return [(drawn.randrange(vertices), drawn.randrange(vertices)) for _ in range(count)]


def named(kind: str, *, directed: bool = True, **settings: Any) -> tuple[DynamicGraph, Any]:
    """A graph, and the same of networkx; made by inserts and deletes in several batches."""
    graph = DynamicGraph(ids=kind, directed=directed, **settings)
    model: Any = nx.DiGraph() if directed else nx.Graph()
    name = KINDS[kind]
    rows = [(name(u), name(v)) for u, v in edges_of()]
    for start in range(0, len(rows), 30):
        src, dst = (list(ends) for ends in zip(*rows[start : start + 30], strict=True))
        graph.insert_edges(src, dst)
        graph.delete_edges(src[::3], dst[::3])
        model.add_edges_from((u, v) for u, v in zip(src, dst, strict=True) if u != v)
        gone = [(u, v) for u, v in zip(src[::3], dst[::3], strict=True) if model.has_edge(u, v)]
        model.remove_edges_from(gone)
    graph.delete_vertices([name(1)])
    model.remove_node(name(1))
    return graph, model


@kinds
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.usefixtures("engine")
def test_a_graph_is_asked_and_answers_in_the_ids_of_its_users(kind: str, directed: bool) -> None:
    graph, model = named(kind, directed=directed)
    assert set(graph) == set(model)
    assert len(graph) == len(model)
    edges = {frozenset(e) if not directed else e for e in zip(*edge_lists(graph), strict=True)}
    assert edges == {frozenset(e) if not directed else e for e in model.edges}
    for vertex in list(model)[:10]:
        assert vertex in graph
        assert graph.degree(vertex) == model.degree(vertex)
        assert graph.neighbors(vertex).tolist() == sorted(model.neighbors(vertex))
    some = list(model)[:5]
    assert graph.degree(some).tolist() == [model.degree(vertex) for vertex in some]
    u, v = next(iter(model.edges))
    assert (u, v) in graph
    assert graph.has_edges([u, u], [v, u]).tolist() == [True, False]
    assert graph.has_vertices([u, KINDS[kind](999)]).tolist() == [True, False]
    assert KINDS[kind](1) not in graph
    assert nx.utils.graphs_equal(graph.to_networkx(), model)
    again = graphtide.from_networkx(model, ids=kind)
    assert nx.utils.graphs_equal(again.to_networkx(), model)
    rows = list(zip(*edge_lists(graph), strict=True))
    assert graphtide.from_edge_list(rows, ids=kind, directed=directed).num_edges == len(rows)
    graph.verify()


def edge_lists(graph: Any) -> tuple[list[Any], list[Any]]:
    edges = graph.edges()
    return edges.src.tolist(), edges.dst.tolist()


@kinds
def test_results_have_the_ids_of_the_users(kind: str) -> None:
    graph, model = named(kind, directed=False)
    ranks = graph.pagerank(tol=1e-12)
    assert dict(zip(ranks.vertices, ranks.pagerank, strict=True)) == pytest.approx(
        nx.pagerank(model, tol=1e-12)
    )
    assert ranks.vertices.tolist() == graph.vertices().tolist() == list(graph)
    source = ranks.top(1)["vertex"][0]
    hops = graph.bfs(source)
    found = {v: d for v, d in zip(hops.vertices, hops.distance, strict=True) if d >= 0}
    assert found == nx.single_source_shortest_path_length(model, source)
    local = graph.clustering()
    assert dict(zip(local.vertices, local.clustering, strict=True)) == pytest.approx(
        nx.clustering(model)
    )
    assert graph.clustering(source) == pytest.approx(nx.clustering(model, source))
    assert graph.clustering([source])["vertex"].tolist() == [source]
    jumps = {source: 1.0}
    own = graph.pagerank(personalization=jumps, tol=1e-12)
    assert dict(zip(own.vertices, own.pagerank, strict=True)) == pytest.approx(
        nx.pagerank(model, personalization=jumps, tol=1e-12)
    )
    assert graph.pagerank(nstart=ranks).iterations <= ranks.iterations
    far = max(found, key=lambda vertex: found[vertex])
    path = graph.shortest_path(source, far)
    assert (path[0], path[-1], len(path)) == (source, far, found[far] + 1)
    assert all(model.has_edge(u, v) for u, v in pairwise(path))
    for result in (ranks, hops, local):
        again = pickle.loads(pickle.dumps(result))
        assert again["vertex"].tolist() == result["vertex"].tolist()
        assert result.to_pandas()["vertex"].tolist() == result["vertex"].tolist()
    unknown = graph.compute("bfs", sources=[source, KINDS[kind](999)])
    assert unknown["distance"].tolist() == hops["distance"].tolist()


@pytest.mark.parametrize("kind", ["any", "dense", *KINDS])
def test_a_series_counts_by_its_index_wherever_values_are_of_vertices(kind: str) -> None:
    name = KINDS.get(kind, lambda number: number)
    graph = DynamicGraph(ids=kind, directed=False)
    graph.insert_edges([name(2), name(5), name(0)], [name(5), name(0), name(3)])
    if kind == "dense":
        graph.delete_vertices([1, 4])
    # Neither in the order of vertices() nor that of their numbers.
    values = {name(5): 0.5, name(0): 4.0, name(3): 1.0, name(2): 2.0}
    series = pd.Series(values)
    every = [values[vertex] for vertex in graph.vertices().tolist()]
    assert graph.spmv(series).value.tolist() == graph.spmv(values).value.tolist()
    assert graph.spmv(series).value.tolist() == graph.spmv(every).value.tolist()
    same = graph.pagerank(personalization=values, dangling=values, nstart=values).pagerank
    found = graph.pagerank(personalization=series, dangling=series, nstart=series).pagerank
    assert found.tolist() == same.tolist()
    of_objects = pd.Series(list(values.values()), pd.Index(list(values), dtype=object))
    found = graph.pagerank(personalization=of_objects, dangling=of_objects, nstart=of_objects)
    assert found.pagerank.tolist() == same.tolist()
    frame = pd.DataFrame({"vertex": list(values), "value": list(values.values())})
    same = graph.pagerank(personalization=values).pagerank
    of_result = graph.spmv(every)
    expected = dict(zip(of_result.vertices.tolist(), of_result.value.tolist(), strict=True))
    found = graph.pagerank(personalization=of_result, dangling=of_result, nstart=of_result)
    like = graph.pagerank(personalization=expected, dangling=expected, nstart=expected)
    assert found.pagerank.tolist() == like.pagerank.tolist()
    assert graph.pagerank(personalization=frame).pagerank.tolist() == same.tolist()
    same = graph.compute("pagerank", personalization=values).pagerank
    found = graph.compute("pagerank", personalization=series).pagerank
    assert found.tolist() == same.tolist()
    program = Program(lambda value, weight: value, "max", lambda old, message: (message, False))
    for given in (series, values, every):
        assert graph.run_program(program, given, max_supersteps=0).value.tolist() == every
        assert graph.vertex_state(x=given)["x"].tolist() == every
    some = graph.run_program(program, series[1:], default=9.0, max_supersteps=0)
    assert some.value.tolist() == [9.0 if value == 0.5 else value for value in every]
    ids, objects = list(values), pd.Series(list(values), dtype=object)
    assert graph.bfs(objects[:2]).distance.tolist() == graph.bfs(ids[:2]).distance.tolist()
    assert graph.sssp(objects[:1]).distance.tolist() == graph.sssp(ids[0]).distance.tolist()
    for named in ((objects, list(values.values())), of_objects):
        found = graph.run_program(program, named, active=objects, max_supersteps=0)
        assert found.value.tolist() == every
    # Those of Polars and of Arrow have no index.
    for column in (pl.Series(every), pa.array(every)):
        assert graph.spmv(column).value.tolist() == graph.spmv(every).value.tolist()
        assert graph.vertex_state(x=column)["x"].tolist() == every
    with pytest.raises(SettingsError, match="x has 3 ids and 3 values, but the graph 4 vertices"):
        graph.vertex_state(x=series[1:])
    with pytest.raises(SettingsError, match="x has 5 ids and 5 values, but the graph 4 vertices"):
        graph.vertex_state(x=pd.concat([series, series[:1]]))
    far = pd.Series([1.0, 2.0], [name(0), name(999)])
    for call in (
        lambda: graph.spmv(far),
        lambda: graph.pagerank(personalization=far),
        lambda: graph.run_program(program, far, default=0.0),
        lambda: graph.vertex_state(x=far),
    ):
        text = f"is a Series, whose index are ids of vertices, and vertex {name(999)} is not in"
        with pytest.raises(VertexNotFoundError, match=text):
            call()


@pytest.mark.usefixtures("engine")
def test_the_series_of_a_frames_rows_is_not_taken_for_one_of_vertices() -> None:
    graph = DynamicGraph()
    graph.insert_edges([7, 8], [8, 9])
    ranks = graph.pagerank().to_pandas()
    with pytest.raises(VertexNotFoundError, match=r"vertex 0 is not in the graph \(2 more"):
        graph.spmv(ranks["pagerank"])
    assert graph.spmv(ranks.set_index("vertex")["pagerank"]).value.tolist() == (
        graph.spmv(ranks["pagerank"].to_numpy()).value.tolist()
    )
    with pytest.raises(BatchError, match="personalization has columns vertex, pagerank, n; give"):
        graph.pagerank(personalization=ranks.assign(n=1))
    with pytest.raises(BatchError, match="the index of x has dtype float64; vertex ids are whole"):
        graph.spmv(pd.Series([1.0], [0.5]))


@kinds
def test_copies_know_the_ids(kind: str, tmp_path: Path) -> None:
    graph, _ = named(kind)
    copies = [graph.copy(), pickle.loads(pickle.dumps(graph))]
    copies.append(DynamicGraph.load(graph.save(tmp_path / "graph")))
    name = KINDS[kind]
    arrays, other = graph.checkpoint_arrays(), "any" if kind != "uint64" else "string"
    with pytest.raises(SettingsError, match="the checkpoint has"):
        DynamicGraph.from_checkpoint_arrays(arrays, ids=other)
    for copy in copies:
        assert copy.state_hash() == graph.state_hash()
        assert edge_lists(copy) == edge_lists(graph)
        # It goes on as the one that it was made of.
        copy.insert_edges([name(1), name(77)], [name(77), name(2)])
        assert copy.neighbors(name(77)).tolist() == [name(2)]
    part = graph.subgraph(list(graph)[:12])
    assert set(part) == set(list(graph)[:12])
    part.insert_edges([name(n) for n in range(40)], [name(n + 1) for n in range(40)])
    assert set(part) == {name(n) for n in range(41)}


@kinds
def test_an_epoch_keeps_its_names_while_others_come(kind: str) -> None:
    graph, _ = named(kind)
    before, arrays = set(graph), graph.checkpoint_arrays()
    with graph.pin() as epoch:
        graph.insert_vertices([KINDS[kind](n) for n in range(200, 300)])
        assert set(epoch) == before
        kept = epoch.checkpoint_arrays()
        assert all(np.array_equal(kept[name], arrays[name]) for name in arrays)


@pytest.mark.usefixtures("engine")
def test_names_whose_keys_collide_come_to_what_numbers_do() -> None:
    """Lists are put in order again under other keys, with all that belongs to their items."""
    meaning: dict[str, Any] = {"records": "semantic"}
    numbers, names = DynamicGraph(**meaning), DynamicGraph(**meaning, ids="string:4")
    draw = np.random.default_rng(6)
    counts = ("inserted", "updated", "deleted", "missing", "overridden", "vertices_created")
    for _ in range(5):
        op, ends = draw.choice([1, 1, 1, -1], 200), draw.integers(0, 30, (2, 200))
        columns = {"dst_valid": draw.random(200) < 0.85, "ts": draw.integers(0, 900, 200)}
        found = []
        for graph, (src, dst) in ((numbers, ends), (names, [each.astype(str) for each in ends])):
            batch = UpdateBatch.from_rows(op, src, dst, **columns, **meaning, ids=graph.ids)
            report = graph.apply(batch)
            times = zip(*(graph.edges()[name].tolist() for name in ("first", "last")), strict=True)
            ends_of = zip(*(map(int, graph.edges()[end]) for end in ("src", "dst")), strict=True)
            found.append(
                ([getattr(report, name) for name in counts], dict(zip(ends_of, times, strict=True)))
            )
        assert found[0] == found[1]


@kinds
@pytest.mark.usefixtures("engine")
def test_what_a_batch_changed_is_told_in_the_ids_of_the_users(kind: str) -> None:
    name = KINDS[kind]
    graph = DynamicGraph(ids=kind, records="weighted")
    meaning: dict[str, Any] = {"ids": kind, "records": "weighted"}
    first = [name(n) for n in (1, 2, 3)]
    graph.insert_edges(first, first[1:] + first[:1])
    old = graph.csr_of_keys()
    batch = UpdateBatch.from_rows([1, -1], [name(9), name(1)], [name(1), name(2)], **meaning)
    effects = graph.apply(batch, effects=True).effects
    assert effects is not None
    assert (effects.added.src.tolist(), effects.added.dst.tolist()) == ([name(9)], [name(1)])
    assert (effects.removed.src.tolist(), effects.created.ids.tolist()) == ([name(1)], [name(9)])
    batch = UpdateBatch.from_rows(
        [1, -1], [name(9), name(3)], [name(1), name(3)], dst_valid=[True, False],
        weight=[7.0, 1.0], **meaning,
    )  # fmt: skip
    effects = graph.apply(batch, effects=True).effects
    assert effects is not None
    heavier = effects.reweighted
    assert (heavier.src.tolist(), heavier.dst.tolist()) == ([name(9)], [name(1)])
    assert effects.lost.ids.tolist() == [name(3)]
    told = difference(old, graph.csr_of_keys()).in_users_ids(graph.user_ids)
    assert (told.edges_added.src.tolist(), told.vertices_added.tolist()) == ([name(9)], [name(9)])


FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns),
    "categories": lambda columns: pl.DataFrame(columns).cast(pl.Categorical),
    "arrow": lambda columns: pa.table(columns),
    "large": lambda columns: pa.table(
        {k: pa.array(v, pa.large_string()) for k, v in columns.items()}
    ),
    "view": lambda columns: pa.table(
        {k: pa.array(v, pa.string_view()) for k, v in columns.items()}
    ),
    "words": lambda columns: pa.table(
        {
            k: pa.chunked_array([pa.array(v[:2]), pa.array(v[2:], pa.string())]).dictionary_encode()
            for k, v in columns.items()
        }
    ),
    "null words": lambda columns: pa.table(
        {k: pa.array(v).dictionary_encode(null_encoding="encode") for k, v in columns.items()}
    ),
}


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_of_names_are_taken_as_they_are(frame: str) -> None:
    rows: dict[str, list[str | None]] = {
        "src": ["ann", "", "zoë", "ann", "solo"], "dst": ["", "zoë", "ann", "zoë", None],
    }  # fmt: skip
    graph = DynamicGraph(ids="string")
    graph.apply(FRAMES[frame](rows))
    assert set(graph) == {"ann", "", "zoë", "solo"}
    assert set(zip(*edge_lists(graph), strict=True)) == {
        pair for pair in zip(rows["src"], rows["dst"], strict=True) if None not in pair
    }
    assert graph.to_arrow().schema.field("src").type == pa.string()
    assert DynamicGraph(ids="string").to_arrow().schema.field("dst").type == pa.string()


#: A column of nothing but nulls, as libraries have it: of no type, or of one that says nothing.
NULLS: dict[str, Callable[[int], Any]] = {
    "objects": lambda count: pd.Series([None] * count, dtype=object),
    "floats": lambda count: pd.Series([np.nan] * count, dtype=float),
    "texts": lambda count: pd.Series([None] * count, dtype="string"),
    "categories": lambda count: pd.Series(pd.Categorical([None] * count)),
    "polars": lambda count: pl.Series([None] * count, dtype=pl.Null),
    "polars' categories": lambda count: pl.Series([None] * count, dtype=pl.Categorical),
    "arrow": pa.nulls,
    "dictionary": lambda count: pa.nulls(count).dictionary_encode(),
    "chunks": lambda count: pa.chunked_array([pa.nulls(count // 2), pa.nulls(count - count // 2)]),
}


@pytest.mark.parametrize("kind", ["any", "dense", *KINDS])
@pytest.mark.parametrize("nulls", NULLS)
@pytest.mark.parametrize("count", [3, 0])
def test_a_frame_of_vertices_alone_has_no_type_of_destinations(
    kind: str, nulls: str, count: int
) -> None:
    """Nor has any column of a frame without rows, which changes nothing."""
    name = KINDS.get(kind, lambda number: number)
    none = NULLS[nulls](count)
    ids = [name(number) for number in range(count)]
    if isinstance(none, pd.Series):
        make: Any = pd.DataFrame
    else:
        make = pl.DataFrame if isinstance(none, pl.Series) else pa.table
    if kind == "uint64":
        ids = np.array(ids, np.uint64)
    graph = DynamicGraph(ids=kind, records="semantic", properties={"amount": "int8"})
    # Of a vertex there is no weight, type and amount; its time need not be known.
    empty = dict.fromkeys(["dst", "weight", "type", "ts", "amount"], none)
    report = graph.apply(make({"src": ids if count else none, **empty}))
    assert (report.rows, report.inserted) == (count, count)
    assert set(graph) == set(np.array(ids).tolist())
    if count == 0:
        assert graph.apply(make({"op": none, "src": none, **empty})).rows == 0
        assert graph.insert_edges(make({"src": none, **empty})).rows == 0
        assert graph.delete_edges(make({"src": none, "dst": none})).rows == 0
        return
    with pytest.raises(BatchError, match="row 0: dst is null, but insert_edges takes edges"):
        graph.insert_edges(make({"src": ids, **empty}))
    with pytest.raises(BatchError, match="row 0: src is null; every row needs one"):
        graph.apply(make({"src": none, **empty}))
    with pytest.raises(BatchError, match="row 0: op is null; use insert or delete"):
        graph.apply(make({"op": none, "src": ids, **empty}))


def test_uuids_are_bytes_objects_or_text() -> None:
    made = [uuid.UUID(int=n) for n in (1, 2, 3)]
    tables = [
        pa.table(
            {"src": pa.array([m.bytes for m in made], pa.binary(16)), "dst": [str(made[0])] * 3}
        ),
        pa.table({"src": pa.array([m.bytes for m in made], pa.uuid()), "dst": [made[0].hex] * 3}),
        pd.DataFrame({"src": [m.bytes for m in made], "dst": [made[0].bytes] * 3}),
        pa.table(
            {"src": pa.array([m.bytes for m in made], pa.binary_view()), "dst": [made[0].hex] * 3}
        ),
    ]
    for table in tables:
        graph = DynamicGraph(ids="uuid", self_loops="keep")
        graph.apply(table)
        assert set(graph) == {str(each) for each in made}
        assert graph.predecessors(made[0]).tolist() == [str(each) for each in made]
        assert made[1] in graph
        graph.delete_vertices([made[0].bytes])
        assert len(graph) == 2
    short = pa.table({"src": [made[0].bytes, b"15 bytes, no 16"], "dst": [made[1].bytes, None]})
    with pytest.raises(BatchError, match=r"row 1: src is b'15 .*, which is no UUID"):
        DynamicGraph(ids="uuid").apply(short)


def test_memory_of_names_is_told_and_unsigned_ids_keep_their_order(tmp_path: Path) -> None:
    graph, _ = named("string")
    assert graph.memory().names_bytes > 40 * len(graph)
    assert DynamicGraph().memory().names_bytes == 0
    numbers, _ = named("uint64")
    assert numbers.vertices().tolist() == sorted(numbers)
    assert numbers.to_arrow().schema.field("src").type == pa.uint64()
    for ending in ("parquet", "csv", "graphml"):
        graphtide.export_edges(graph, str(tmp_path / f"edges.{ending}"))
    back = pd.read_csv(tmp_path / "edges.csv", keep_default_na=False)
    assert list(zip(back.src, back.dst, strict=True)) == list(zip(*edge_lists(graph), strict=True))
    marked = DynamicGraph(ids="string")
    marked.insert_edges(["<a&b>", "two\nlines", "two lines"], ['"c"', "a\ttab", "\r"])
    graphtide.export_edges(marked, str(tmp_path / "marked.graphml"))
    assert set(nx.read_graphml(tmp_path / "marked.graphml").edges) == {
        ("<a&b>", '"c"'), ("two\nlines", "a\ttab"), ("two lines", "\r"),
    }  # fmt: skip
    marked.insert_edges(["red"], ["\x1b[31m"])
    with pytest.raises(
        SettingsError, match=r"\\x1b\[31m is a name with characters that XML has no"
    ):
        graphtide.export_edges(marked, str(tmp_path / "marked.graphml"))
    with pytest.raises(SettingsError, match="these are names; export"):
        graphtide.export_edges(graph, str(tmp_path / "edges.mtx"))
