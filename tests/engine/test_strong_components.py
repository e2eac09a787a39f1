"""Strongly connected components against networkx and SciPy; on every engine and shape."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

import graphtide
from emulated_device import EmulatedDevice
from graphs import LDBC_UNDIRECTED, SHAPES, from_networkx_graph, graph_of, random_graphs
from graphtide import DynamicGraph
from graphtide.gpu_core.algorithms.components.strongly_connected_components import (
    ANALYTIC,
    strongly_connected_components,
)
from graphtide.gpu_core.cuda.analytics.parts import frontier
from graphtide.gpu_core.generators.rmat import rmat_edges
from image_engine import ImageEngine, make_graph


def of_scipy(graph: DynamicGraph) -> list[int]:
    ids = graph.vertices()
    matrix = graphtide.to_scipy(graph)
    _, labels = connected_components(matrix, directed=True, connection="strong")
    first = np.full(labels.max(initial=-1) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, labels, ids)
    return first[labels].tolist()


# It draws layouts by itself.
@pytest.mark.runs
@given(source=random_graphs(directed=True), shape=st.sampled_from(SHAPES))
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_components_as_networkx(engine: str, source: nx.Graph, shape: dict[str, object]) -> None:
    graph = from_networkx_graph(source, engine=engine, **shape)
    result = graph.strongly_connected_components()
    sets = nx.strongly_connected_components(source)
    names = {vertex: min(members) for members in sets for vertex in members}
    expected = [names[vertex] for vertex in sorted(source)]
    assert result.vertices.tolist() == sorted(source)
    assert result.component.tolist() == expected
    assert result.num_components == len(set(expected))
    assert result.largest == max(map(expected.count, expected))


def many_components() -> tuple[np.ndarray, np.ndarray]:
    """Edges of skewed graphs, cycles one behind the other, and paths that are trimmed.

    Sparse, so that there are small components beside the large one, and a hub in both directions.
    """
    src, dst = rmat_edges(np.arange(1_500, dtype=np.uint64), 9)
    leaves = np.arange(2_000, 3_100)
    # Cycles of three, each with an edge to the next, in an order that is not that of their ids.
    first = 4_000 + 3 * (np.arange(40) * 7 % 40)
    path = np.arange(5_000, 5_300)
    hub = np.full_like(leaves, 1_999)
    pieces = [
        (src, dst), (hub, leaves), (leaves[::2], hub[::2]), (path, path + 1),
        (first, first + 1), (first + 1, first + 2), (first + 2, first), (first[:-1], first[1:]),
        ([5_100, 3], [3, 1_999]),
    ]  # fmt: skip
    return tuple(np.concatenate(sides) for sides in zip(*pieces, strict=True))


@pytest.mark.parametrize("reverse", [False, True])
def test_components_of_all_kinds_as_scipy(engine: str, reverse: bool) -> None:
    src, dst = many_components()
    graph = DynamicGraph(reverse=reverse)
    graph.insert_edges(9_000 - 7 * src, 9_000 - 7 * dst)
    graph.delete_vertices(graph.vertices()[5:400:9])
    graph.insert_vertices([-5, 70_000])
    found = graph.strongly_connected_components().component.tolist()
    assert found == of_scipy(graph)
    sizes = np.unique(found, return_counts=True)[1]
    assert sizes.max() > 400
    assert np.count_nonzero(sizes > 1) > 30


def test_a_cycle_falls_apart_and_an_epoch_does_not(engine: str) -> None:
    graph = graph_of([(5, 4), (4, 6), (6, 6), (6, 5), (7, 8)], self_loops="keep")
    before = graph.strongly_connected_components()
    with graph.pin() as epoch:
        graph.delete_edges([6], [5])
        assert graph.strongly_connected_components().component.tolist() == [4, 5, 6, 7, 8]
        assert epoch.strongly_connected_components().component.tolist() == [4, 4, 4, 7, 8]
    graph.insert_edges([8], [7])
    assert graph.strongly_connected_components().component.tolist() == [4, 5, 6, 7, 7]
    assert before.component.tolist() == [4, 4, 4, 7, 8], "a result does not change with the graph"


def test_a_cycle_longer_than_a_stack_of_calls(engine: str, is_emulated: bool) -> None:
    size = 300 if is_emulated else 20_000
    around = np.arange(size)
    graph = DynamicGraph(reverse=False)
    graph.insert_edges(around, (around + 1) % size)
    assert set(graph.strongly_connected_components().component.tolist()) == {0}


def test_undirected_graphs_have_their_connected_components(engine: str) -> None:
    graph = graph_of(LDBC_UNDIRECTED.edges, directed=False)
    graph.insert_edges([77], [70])
    found, weak = graph.strongly_connected_components(), graph.weakly_connected_components()
    assert found.component.tolist() == weak.component.tolist()
    summary = ANALYTIC.summary(found.columns, {})
    assert ANALYTIC.text(summary) == (
        "2, 0 of them of one vertex; the largest has 9 of 11 vertices"
    )


@pytest.mark.parametrize("small_entries", [0, 1 << 20])
def test_rounds_of_any_size_in_any_order_of_threads(
    emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch, small_entries: int
) -> None:
    """Entries of a round decide by which launch it is done."""
    monkeypatch.setattr(frontier, "SMALL_ENTRIES", small_entries)
    graph = make_graph(many_components(), directed=True, reverse=True)
    expected = of_scipy(graph)
    on_device = ImageEngine(emulated_device, graph)
    for seed in range(2):
        emulated_device.shuffle = seed
        assert strongly_connected_components(on_device).component.tolist() == expected
