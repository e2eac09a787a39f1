"""What can be an id of a user and what cannot, and errors that name vertices by their ids."""

import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import graphtide
from graphtide import (
    BatchError,
    DynamicGraph,
    GraphtideError,
    Program,
    SettingsError,
    UpdateBatch,
    VertexNotFoundError,
)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda g: g.degree("x"), VertexNotFoundError, "vertex x is not in the graph"),
        (lambda g: g.subgraph(["a", "x"]), VertexNotFoundError, "vertex x is not in"),
        (lambda g: g.bfs(["a", "x"]), VertexNotFoundError, "sources names vertex x, which"),
        (lambda g: g.pagerank(dangling={"x": 1}), VertexNotFoundError, "dangling names vertex x"),
        (lambda g: g.insert_edges([1], [2]), BatchError, "src has 1 of type int; ids are strings"),
        (lambda g: g.insert_edges(["a"], ["\ud800"]), BatchError, "which is no text"),
        (lambda g: g.apply(pa.table({"src": [1], "dst": [2]})), BatchError, "ids='any' takes numb"),
        (
            lambda g: g.apply(pa.table({"src": pa.array([b"a", b"\xff"]).view(pa.string()),
                                        "dst": ["b", "c"]})),
            BatchError, r"row 1: src is b'\\xff', which is no UTF-8",
        ),
        (lambda g: g.apply(UpdateBatch.from_rows(None, [1], [2])), BatchError, "of ids='any', the"),
        (lambda g: g.insert_edges(["a"], ["new"]), BatchError, r"\(a, new\) names vertex new, wh"),
        (lambda g: g.insert_edges(["a"], ["a"]), BatchError, "is a self loop of vertex a;"),
    ],
)  # fmt: skip
def test_errors_name_vertices_as_users_do(
    call: Callable[[DynamicGraph], Any], error: type[Exception], text: str
) -> None:
    graph = DynamicGraph(ids="string", create_vertices=False, self_loops="reject")
    graph.insert_vertices(["a", "b"])
    graph.insert_edges(["a"], ["b"])
    with pytest.raises(error, match=text):
        call(graph)


def test_graphs_of_numbers_say_where_names_go() -> None:
    with pytest.raises(BatchError, match="ids='string' takes names"):
        DynamicGraph().insert_edges(["a"], ["b"])
    with pytest.raises(BatchError, match="ids='uint64' has room"):
        DynamicGraph().insert_edges(np.array([2**63], np.uint64), np.array([1], np.uint64))
    with pytest.raises(BatchError, match="from 0 on"):
        DynamicGraph(ids="uint64").insert_edges([-1], [1])
    kinds: list[Any] = ["text", str, np.int64, None, ["string"]]
    for kind in kinds:
        with pytest.raises(SettingsError, match="use one of any, dense, string, uuid, uint64"):
            DynamicGraph(ids=kind)


def test_whatever_can_be_an_id_is_found_and_all_else_is_not_there() -> None:
    u, v = uuid.UUID(int=5), uuid.UUID(int=6)
    graph = DynamicGraph(ids="uuid")
    graph.insert_edges([u], [v])
    assert all(each in graph for each in (u, str(u), u.bytes, (u.bytes, v), (str(u), v.bytes)))
    for other in ("x", "\ud800", ("x", u), (u, "x"), (u, None), (u,), b"x", 5, None, [u], {}, 1.5):
        assert other not in graph
    numbers = DynamicGraph()
    numbers.insert_edges([1], [2])
    for other in (1.0, True, "1", 2**70, (1, 2.0), (1, 2, 3), (1, (2,)), [1], {1}, None, np.nan):
        assert other not in numbers


def test_large_numbers_of_a_list_are_taken_or_refused_as_what_they_are() -> None:
    # NumPy has floats for numbers below and above 2^63 side by side, and objects beyond 2^64.
    graph = DynamicGraph(ids="uint64")
    for ids in ([1, 2**63], (2**63 + 1, np.uint64(2)), np.array([2**63 - 1, 2**64 - 1], object)):
        graph.insert_vertices(ids)
    expected = [1, 2, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1]
    assert graph.vertices().tolist() == expected
    wrong = {
        "vertices has -1, but ids='uint64' are whole numbers from 0 on": [-1, 2**63],
        "vertices has 18446744073709551616, which does not fit into uint64; ids='string'": [2**64],
        "vertices has items of several kinds": [1, [2]],
    }
    for text, ids in wrong.items():
        with pytest.raises(BatchError, match=text):
            graph.insert_vertices(ids)
    signed = DynamicGraph()
    for ids in ([1, 2**63], [np.uint64(2**63), 1]):
        with pytest.raises(BatchError, match=r"9223372036854775808, .* ids='uint64' has room"):
            signed.insert_edges(ids, [1, 2])
    with pytest.raises(BatchError, match=r"dst has -9223372036854775809, .* ids='string' has room"):
        signed.insert_edges([1], [-(2**63) - 1])
    with pytest.raises(BatchError, match="vertices has items of several kinds"):
        signed.has_vertices([1, [2]])
    assert signed.insert_vertices([np.uint64(5), -1]).inserted == 2


@pytest.mark.runs
@pytest.mark.parametrize(
    ("ids", "given"),
    [("string", ["alpha", "beta", "gamma"]), ("uint64", [5, 2**64 - 1, 7])],
)
def test_what_algorithms_refuse_names_vertices_as_users_do(
    engine: str, ids: str, given: list[Any]
) -> None:
    first, second, third = given
    graph = DynamicGraph(ids=ids, records="weighted", self_loops="keep", engine=engine)
    graph.insert_edges([first, second, third], [second, third, third], weight=[1, -1, 1])
    program = Program(lambda value, weight: value, "min", lambda old, message: (old, False))
    refused: list[tuple[Any, Callable[[Any], Any]]] = [
        (second, lambda at: at.sssp(first)),
        (second, lambda at: at.pagerank(weight="weight")),
        (second, lambda at: at.personalized_pagerank(first, weight="weight")),
        (second, lambda at: at.random_walks(first, 2, weight="weight")),
        (second, lambda at: at.compute("sssp", source=first)),
        (third, lambda at: at.sample_neighbors([third], [2], weight="weight")),
        (third, lambda at: at.core_number()),
        (first, lambda at: at.pagerank(personalization=([first, first], [1, 1]))),
        (second, lambda at: at.pagerank(dangling=([first, second], [1, -1]))),
        (first, lambda at: at.personalized_pagerank(first, max_iter=1)),
    ]
    for vertex, call in refused:
        for at in (graph, graph.pin()):
            with pytest.raises(GraphtideError, match=rf"vertex {vertex}\b"):
                call(at)
    graph.delete_vertices([first])
    gone: list[Callable[[], Any]] = [
        lambda: graph.bfs(first),
        lambda: graph.sssp(first, weight=None),
        lambda: graph.pagerank(personalization=([first], [1])),
        lambda: graph.run_program(program, ([first], [1]), default=0),
        lambda: graph.run_program(program, 1, active=first),
    ]
    for ask in gone:
        with pytest.raises(VertexNotFoundError, match=rf"\b{first}\b.* is not in the graph"):
            ask()


def test_errors_are_lines_for_people_whatever_a_name_holds() -> None:
    name = "evil\x1b[2J\nline\r\x07" + "y" * 100_000
    graph = DynamicGraph(ids="string", self_loops="reject", create_vertices=False)
    graph.insert_vertices(["a", "b"])
    calls = (
        lambda: graph.neighbors(name),
        lambda: graph.bfs(name),
        lambda: graph.shortest_path("a", name),
        lambda: graph.subgraph([name]),
        lambda: graph.pagerank(personalization={name: 1}),
        lambda: graph.insert_edges([name], [name]),
        lambda: graph.insert_edges(["a"], [name]),
        lambda: graph.insert_edges([1], [name]),
    )
    for call in calls:
        with pytest.raises(graphtide.GraphtideError) as refused:
            call()
        text = str(refused.value)
        assert text.isprintable(), text[:100]
        assert len(text) < 800
        assert "batch -1" not in text
