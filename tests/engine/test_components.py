"""Weakly connected components against networkx and SciPy; on every engine and shape."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

import graphtide
from emulated_device import EmulatedDevice
from graphs import KARATE, SHAPES, from_networkx_graph, graph_of, random_graphs
from graphtide import DynamicGraph
from graphtide.gpu_core.algorithms.components.weakly_connected_components import (
    ANALYTIC,
    weakly_connected_components,
)
from graphtide.gpu_core.generators.rmat import rmat_edges
from image_engine import ImageEngine, changed_graph


def of_networkx(graph: nx.Graph) -> list[int]:
    """Smallest vertex of each component, in the order of the vertices."""
    of_kind = nx.weakly_connected_components if graph.is_directed() else nx.connected_components
    names = {vertex: min(members) for members in of_kind(graph) for vertex in members}
    return [names[vertex] for vertex in sorted(graph)]


def of_scipy(graph: DynamicGraph) -> list[int]:
    ids = graph.vertices()
    _, labels = connected_components(graphtide.to_scipy(graph), connection="weak")
    first = np.full(labels.max(initial=-1) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, labels, ids)
    return first[labels].tolist()


# It draws layouts by itself.
@pytest.mark.runs
@given(
    source=st.booleans().flatmap(lambda directed: random_graphs(directed=directed)),
    shape=st.sampled_from(SHAPES),
)
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_components_as_networkx(engine: str, source: nx.Graph, shape: dict[str, object]) -> None:
    graph = from_networkx_graph(source, engine=engine, **shape)
    result = graph.weakly_connected_components()
    assert result.vertices.tolist() == sorted(source)
    assert result.component.tolist() == (expected := of_networkx(source))
    assert result.num_components == len(set(expected))
    assert result.largest == max(map(expected.count, expected))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_skewed_graphs_as_scipy(engine: str, directed: bool, reverse: bool) -> None:
    """Sparse, so that there are small components beside the large one, some with long rows."""
    src, dst = rmat_edges(np.arange(900, dtype=np.uint64), 10)
    star = np.arange(5_000, 5_100)
    graph = DynamicGraph(directed=directed, reverse=reverse)
    # Ids in no order; edges of a star and of a path that points at its middle.
    graph.insert_edges(9_000 - 7 * src, 9_000 - 7 * dst)
    graph.insert_edges(np.full_like(star, 4_999), star)
    graph.insert_edges([20_001, 20_003, 20_003], [20_002, 20_002, 20_004])
    graph.delete_vertices(graph.vertices()[5:400:9])
    graph.insert_vertices([-5, 70_000])
    found = graph.weakly_connected_components().component.tolist()
    assert found == of_scipy(graph)
    assert len(set(found)) > 9


def test_a_component_that_no_sample_finds_and_a_row_of_several_pieces(engine: str) -> None:
    leaves = np.arange(1, 2_501)
    graph = DynamicGraph(directed=True, reverse=False)
    graph.insert_edges(np.zeros_like(leaves), leaves)
    graph.insert_edges([3_001, 3_002, 3_000], [3_002, 3_000, 3_001])
    expected = [0] * 2_501 + [3_000] * 3
    assert graph.weakly_connected_components().component.tolist() == expected


def test_a_component_falls_apart_and_an_epoch_does_not(engine: str) -> None:
    graph = graph_of([(5, 4), (4, 6), (6, 6), (7, 8)], directed=True, self_loops="keep")
    before = graph.weakly_connected_components()
    with graph.pin() as epoch:
        graph.delete_vertices([4])
        assert graph.weakly_connected_components().component.tolist() == [5, 6, 7, 7]
        assert epoch.weakly_connected_components().component.tolist() == [4, 4, 4, 7, 7]
    graph.insert_edges([8], [5])
    assert graph.weakly_connected_components().component.tolist() == [5, 6, 5, 5]
    assert before.component.tolist() == [4, 4, 4, 7, 7], "a result does not change with the graph"


@pytest.mark.parametrize("ids", ["string", "uint64"])
def test_components_have_names_as_vertices_have(engine: str, ids: str) -> None:
    graph = DynamicGraph(ids=ids)
    names = ["ash", "birch", "cedar", "elm"] if ids == "string" else [2**64 - 1, 3, 2**63, 9]
    graph.insert_edges(names[:2], names[1:3])
    graph.insert_vertices(names[3:])
    found = graph.weakly_connected_components()
    order = graph.vertices().tolist()
    first = min(names[:3], key=order.index)
    assert dict(zip(found.vertices.tolist(), found.component.tolist(), strict=True)) == {
        **dict.fromkeys(names[:3], first),
        names[3]: names[3],
    }


def test_what_is_told_of_components() -> None:
    def told(graph: DynamicGraph) -> str:
        return ANALYTIC.text(ANALYTIC.summary(graph.weakly_connected_components().columns, {}))

    empty = DynamicGraph(engine="host")
    assert told(empty) == "no vertices"
    found = empty.weakly_connected_components()
    assert (found.num_components, found.largest) == (0, 0)
    graph = graph_of(KARATE, engine="host", directed=False)
    assert told(graph) == "1, of all 34 vertices"
    graph.insert_vertices([77])
    assert told(graph) == "2, 1 of them of one vertex; the largest has 34 of 35 vertices"
    assert repr(graph.weakly_connected_components()) == (
        "<ComponentsResult 35 vertices, 2 components, the largest of 34>"
    )


@pytest.mark.parametrize("directed", [False, True])
def test_any_order_of_threads_gives_the_same(
    emulated_device: EmulatedDevice, directed: bool
) -> None:
    graph = changed_graph(directed=directed, reverse=True, ids="any")
    expected = of_scipy(graph)
    on_device = ImageEngine(emulated_device, graph)
    for seed in range(3):
        emulated_device.shuffle = seed
        assert weakly_connected_components(on_device).component.tolist() == expected
