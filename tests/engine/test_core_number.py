"""Core numbers against networkx; on every engine and shape."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulated_device import EmulatedDevice
from graphs import KARATE, SHAPES, from_networkx_graph, graph_of, random_graphs
from graphtide import DynamicGraph, SettingsError
from graphtide.gpu_core.algorithms.components.core_number import ANALYTIC, core_number
from graphtide.gpu_core.cuda.analytics.parts import frontier
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.jit import parallel
from image_engine import ImageEngine, changed_graph


def of_networkx(graph: nx.Graph) -> list[int]:
    cores = nx.core_number(graph)
    return [cores[vertex] for vertex in sorted(graph)]


# It draws layouts by itself.
@pytest.mark.runs
@given(
    source=st.booleans().flatmap(lambda directed: random_graphs(directed=directed)),
    shape=st.sampled_from(SHAPES),
)
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_cores_as_networkx(engine: str, source: nx.Graph, shape: dict[str, object]) -> None:
    graph = from_networkx_graph(source, engine=engine, **shape)
    loops = sorted(nx.nodes_with_selfloops(source))
    if loops:
        with pytest.raises(nx.NetworkXNotImplemented):
            nx.core_number(source)
        with pytest.raises(SettingsError, match=r"core_number .* self loops, but vertex"):
            graph.core_number()
        graph.delete_edges(loops, loops)
        source.remove_edges_from([(vertex, vertex) for vertex in loops])
    result = graph.core_number()
    assert result.vertices.tolist() == sorted(source)
    assert result.core_number.dtype == np.int32
    assert result.core_number.tolist() == (expected := of_networkx(source))
    assert result.largest == max(expected)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_skewed_graphs_with_a_dense_part(engine: str, directed: bool, reverse: bool) -> None:
    """Cores of all depths, a gap in them, isolated and deleted vertices."""
    src, dst = rmat_edges(np.arange(5_000, dtype=np.uint64), 10)
    clique = np.stack(np.triu_indices(60, 1)) * 3 + 9_000
    graph = DynamicGraph(directed=directed, reverse=reverse)
    graph.insert_edges(8_000 - 7 * src, 8_000 - 7 * dst)
    graph.insert_edges(*clique)
    graph.delete_vertices(graph.vertices()[5:400:9])
    graph.insert_vertices([-5, 70_000])
    expected = of_networkx(graph.to_networkx())
    assert graph.core_number().core_number.tolist() == expected
    assert {0, 1, 2, 59} <= set(expected)


def test_a_row_of_several_pieces_and_a_graph_that_changes(engine: str) -> None:
    leaves = np.arange(1, 2_501)
    graph = DynamicGraph(directed=False)
    graph.insert_edges(np.zeros_like(leaves), leaves)
    before = graph.core_number()
    with graph.pin() as epoch:
        graph.insert_edges(leaves[:2], leaves[1:3])
        assert graph.core_number().core_number.tolist() == [2, 2, 2, 2] + [1] * 2_497
        assert epoch.core_number().core_number.tolist() == [1] * 2_501
    assert before.core_number.tolist() == [1] * 2_501, "a result does not change with the graph"


def test_a_self_loop_is_named_and_can_be_dropped() -> None:
    edges = [(4, 5), (7, 7), (5, 4)]
    with pytest.raises(SettingsError, match="vertex 7 has one; delete them, or use self_loops"):
        graph_of(edges, engine="host", self_loops="keep").core_number()
    found = graph_of(edges, engine="host", self_loops="drop").core_number()
    assert dict(zip(found.vertices.tolist(), found.core_number.tolist(), strict=True))[4] == 2


def test_the_first_self_loop_is_named_whichever_thread_finds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parallel, "thread_count", lambda: 4)
    graph = DynamicGraph(engine="host", ids="dense", self_loops="keep")
    graph.insert_edges([0, 6_000, 9_000], [9_999, 6_000, 9_000])
    with pytest.raises(SettingsError, match="vertex 6000 has one"):
        graph.core_number()


def test_what_is_told_of_cores() -> None:
    def told(graph: DynamicGraph) -> str:
        return ANALYTIC.text(ANALYTIC.summary(graph.core_number().columns, {}))

    assert told(DynamicGraph(engine="host")) == "no vertices"
    assert told(graph_of(KARATE, engine="host", directed=False)) == "up to 4, of 10 of 34 vertices"


@pytest.mark.parametrize("small_entries", [0, 60, 1 << 20])
@pytest.mark.parametrize("directed", [False, True])
def test_rounds_of_any_size_in_any_order_of_threads(
    emulated_device: EmulatedDevice,
    monkeypatch: pytest.MonkeyPatch,
    small_entries: int,
    directed: bool,
) -> None:
    """Entries of a round decide by which launch it is done."""
    monkeypatch.setattr(frontier, "SMALL_ENTRIES", small_entries)
    graph = changed_graph(directed=directed, reverse=True, ids="any")
    loops = graph.vertices()
    graph.delete_edges(loops, loops)
    expected = graph.core_number().core_number.tolist()
    on_device = ImageEngine(emulated_device, graph)
    for seed in range(3):
        emulated_device.shuffle = seed
        assert core_number(on_device).core_number.tolist() == expected
