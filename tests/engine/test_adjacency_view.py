"""Views of the adjacencies without a copy: what they show, and that they are told when stale."""

import pickle
from typing import Any

import numpy as np
import pytest

from graphtide import DynamicGraph, SettingsError, StaleViewError

#: Views are of rows that lie in one piece.
pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.runs]

EDGES = (np.array([7, 7, 9, 30, 7, 9]), np.array([9, 30, 7, 9, 8, 8]))


def on_host(array: object) -> np.ndarray:
    """Copy an array of whichever device."""
    return array.get() if hasattr(array, "get") else np.array(array)


def columns(records: str) -> dict[str, np.ndarray]:
    count = EDGES[0].size
    return {
        "simple": {},
        "weighted": {"weight": np.arange(count) + 0.5},
        "semantic": {
            "weight": np.arange(count) + 0.5,
            "type": np.arange(count),
            "ts": np.arange(count),
        },
    }[records]


@pytest.mark.parametrize("storage", ["soa", "aos"])
@pytest.mark.parametrize("records", ["simple", "weighted", "semantic"])
@pytest.mark.parametrize("direction", ["out", "in"])
def test_rows_are_the_neighbors(records: str, storage: str, direction: str) -> None:
    graph = DynamicGraph(records=records, storage=storage)
    graph.insert_edges(*EDGES, **columns(records))
    graph.delete_vertices([30])
    view = graph.adjacency_view(direction)
    ask = graph.neighbors if direction == "out" else graph.predecessors
    words, begins, degrees = (on_host(each) for each in (view.words, view.begins, view.degrees))
    rows = {}
    for index, vertex in enumerate(view.vertices.tolist()):
        if not graph.has_vertices([vertex])[0]:
            assert degrees[index] == 0
            continue
        places = begins[index] + view.step * np.arange(degrees[index])
        row = on_host(view.neighbors(index))
        assert row.tolist() == words[places].tolist()
        assert np.all(row[:-1] < row[1:])
        rows[vertex] = sorted(view.vertices[row].tolist())
    assert rows == {vertex: ask(vertex).tolist() for vertex in graph.vertices().tolist()}
    assert sorted(rows) == [7, 8, 9]


def test_a_view_shows_the_arena_itself() -> None:
    graph = DynamicGraph(ids="dense")
    graph.insert_edges(*EDGES)
    view = graph.adjacency_view()
    row = view.neighbors(7)
    with pytest.raises(IndexError, match="index -1 is none of a vertex"):
        view.neighbors(-1)
    if isinstance(row, np.ndarray):
        assert np.shares_memory(row, view.words)
        assert not row.flags.writeable
        assert np.shares_memory(np.from_dlpack(view.words), view.words)
    else:
        held = view.words.__cuda_array_interface__
        begin = held["data"][0] + 4 * int(view.begins[7])
        assert row.__cuda_array_interface__["data"][0] == begin


def test_a_view_is_stale_once_the_graph_has_changed() -> None:
    graph = DynamicGraph()
    graph.insert_edges(*EDGES)
    view = graph.adjacency_view()
    graph.pagerank()
    assert view.step == 1
    assert on_host(view.degrees).sum() == 6
    graph.insert_edges([1], [2])
    for look in (
        lambda: view.words,
        lambda: view.begins,
        lambda: view.degrees,
        lambda: view.vertices,
        lambda: view.neighbors(0),
    ):
        with pytest.raises(StaleViewError, match="changed after this view was taken; take a new"):
            look()
    assert on_host(graph.adjacency_view().degrees).sum() == 7


@pytest.mark.parametrize(
    ("ids", "named"), [("uint64", [2**63 + 5, 1, 9]), ("string", ["one", "two", "three"])]
)
def test_vertices_are_users_ids(ids: str, named: list[Any]) -> None:
    graph = DynamicGraph(ids=ids)
    graph.insert_edges(named[:2], named[1:])
    graph.delete_vertices(named[2:])
    vertices = graph.adjacency_view().vertices.tolist()
    assert [each for each in vertices if each in named] == [
        each for each in vertices if each not in (0, None)
    ]
    assert sorted(map(str, vertices)) == sorted(
        [*map(str, named[:2]), "None" if ids == "string" else "0"]
    )


def test_views_that_cannot_be_are_refused() -> None:
    with pytest.raises(SettingsError, match="direction='up' is unknown; use one of out, in"):
        DynamicGraph().adjacency_view("up")
    with pytest.raises(SettingsError, match="needs the reverse adjacency"):
        DynamicGraph(reverse=False).adjacency_view("in")
    for layout in ("chain", "tree"):
        with pytest.raises(SettingsError, match=rf"layout='{layout}'.*to_csr"):
            DynamicGraph(layout=layout).adjacency_view()
    empty = DynamicGraph().adjacency_view()
    assert empty.begins.size == empty.degrees.size == empty.vertices.size == 0


def test_what_shows_the_graph_itself_is_not_pickled() -> None:
    graph = DynamicGraph()
    graph.insert_edges([1, 2], [2, 3])
    for each in (graph.adjacency_view(), graph.frontier([1]), graph.vertex_state(a=1.0)):
        with pytest.raises(TypeError, match=r"; pickle .*, which is a copy"):
            pickle.dumps(each)
    assert repr(graph.adjacency_view()) == "<AdjacencyView of 3 vertex records>"
