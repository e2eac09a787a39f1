"""Communities by label propagation against networkx, to the letter; on every engine and shape."""

import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulated_device import EmulatedDevice
from graphs import KARATE, SHAPES, from_networkx_graph, graph_of, random_graphs
from graphtide import DynamicGraph, SettingsError
from graphtide.gpu_core.algorithms.components.label_propagation import ANALYTIC, label_propagation
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.jit import parallel
from image_engine import ImageEngine, changed_graph


def of_networkx(graph: nx.Graph) -> list[int]:
    """Smallest vertex of each community, in the order of the vertices."""
    ordered = nx.Graph()
    ordered.add_nodes_from(sorted(graph))
    ordered.add_edges_from(graph.edges)
    sets = nx.community.label_propagation_communities(ordered)
    names = {vertex: min(members) for members in sets for vertex in members}
    return [names[vertex] for vertex in sorted(graph)]


# It draws layouts by itself.
@pytest.mark.runs
@given(source=random_graphs(directed=False), shape=st.sampled_from(SHAPES))
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_communities_as_networkx(engine: str, source: nx.Graph, shape: dict[str, object]) -> None:
    graph = from_networkx_graph(source, engine=engine, **shape)
    result = graph.label_propagation()
    expected = of_networkx(source)
    assert result.vertices.tolist() == sorted(source)
    assert result.community.tolist() == expected
    assert result.num_communities == len(set(expected))
    assert result.largest == max(map(expected.count, expected))


def test_a_skewed_graph_as_networkx(engine: str) -> None:
    """With hubs, many colors, and several sweeps; ids in another order than vertices came."""
    src, dst = rmat_edges(np.arange(1_500, dtype=np.uint64), 9)
    ring = np.arange(600, 680)
    graph = DynamicGraph(directed=False)
    graph.insert_edges(9_000 - 7 * src[:200], 9_000 - 7 * dst[:200])
    graph.insert_edges(
        9_000 - 7 * np.concatenate([src, ring, np.full(40, 700)]),
        9_000 - 7 * np.concatenate([dst, np.roll(ring, 1), np.arange(701, 741)]),
    )
    graph.delete_vertices(graph.vertices()[5:400:9])
    found = graph.label_propagation()
    assert found.community.tolist() == of_networkx(graph.to_networkx())
    assert found.iterations > 3
    one = graph.label_propagation(max_iter=1)
    assert one.iterations == 1
    assert one.community.tolist() != found.community.tolist()
    again = graph.compute("label_propagation", max_iter=1)
    assert again.community.tolist() == one.community.tolist()
    assert found.num_communities > 40


def test_vertices_of_a_color_are_asked_by_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "thread_count", lambda: 4)
    graph, first = DynamicGraph(engine="host", ids="dense", directed=False), np.arange(6_000)
    graph.insert_edges(first, first + first.size)
    assert np.array_equal(graph.label_propagation().community, np.tile(first, 2))


def test_a_row_of_several_pieces(engine: str) -> None:
    leaves = np.arange(1, 2_501)
    graph = DynamicGraph(directed=False)
    graph.insert_edges(np.zeros_like(leaves), leaves)
    graph.insert_edges(leaves[:-1:2], leaves[1::2])
    assert graph.label_propagation().community.tolist() == of_networkx(graph.to_networkx())


def test_epochs_pickles_and_words(engine: str) -> None:
    graph = graph_of(KARATE, directed=False)
    result = graph.label_propagation()
    expected = of_networkx(nx.Graph(KARATE))
    assert result.community.tolist() == expected
    with graph.pin() as epoch:
        graph.delete_vertices([1, 34])
        assert epoch.label_propagation().community.tolist() == expected
    assert result.community.tolist() == expected, "a result does not change with the graph"
    again = pickle.loads(pickle.dumps(result))
    assert (again.community.tolist(), again.iterations) == (expected, result.iterations)
    summary = ANALYTIC.summary(result.columns, {})
    assert ANALYTIC.text(summary) == (
        "3, 0 of them of one vertex; the largest has 16 of 34 vertices"
    )


def test_names_and_what_is_refused(engine: str) -> None:
    graph = DynamicGraph(directed=False, ids="string")
    graph.insert_edges(["a", "b", "c", "x"], ["b", "c", "a", "y"])
    found = graph.label_propagation()
    of = dict(zip(found.vertices.tolist(), found.community.tolist(), strict=True))
    assert of["a"] == of["b"] == of["c"] != of["x"] == of["y"]
    for wrong in (0, 1.5, True):
        with pytest.raises(SettingsError, match=f"max_iter={wrong!r} is not a whole number"):
            graph.label_propagation(max_iter=wrong)
    with pytest.raises(SettingsError, match=r"is for undirected graphs.*directed=False"):
        DynamicGraph(directed=True).label_propagation()


def test_communities_in_any_order_of_threads(emulated_device: EmulatedDevice) -> None:
    graph = changed_graph(directed=False, reverse=True, ids="any")
    expected = graph.label_propagation()
    on_device = ImageEngine(emulated_device, graph)
    for seed in range(2):
        emulated_device.shuffle = seed
        found = label_propagation(on_device)
        assert found.community.tolist() == expected.community.tolist()
        assert found.iterations == expected.iterations
