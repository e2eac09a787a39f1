"""Conversions of graphs of networkx: kept, and brought up to date with what has changed since."""

import gc
import math
import weakref
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.io.interchange.networkx_graph import convert_from_nx
from networkx_graphs import graphs

#: networkx warns of its own cache of converted graphs.
pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")


def test_a_graph_that_has_changed_is_not_what_it_was() -> None:
    graph = nx.path_graph(["a", "b", "c"])
    assert nx.number_connected_components(graph, backend="graphtide") == 1
    graph.add_node("d")
    assert nx.number_connected_components(graph, backend="graphtide") == 2


#: Views of a directed graph of the numbers 0 … 29.
VIEWS: dict[str, Callable[[nx.DiGraph], nx.Graph]] = {
    "subgraph": lambda graph: graph.subgraph(range(20)),
    "of a subgraph": lambda graph: graph.subgraph(range(25)).subgraph(range(15)),
    "reverse": lambda graph: graph.reverse(copy=False),
    "undirected": lambda graph: graph.to_undirected(as_view=True),
    "the same": lambda graph: graph.copy(as_view=True),
    "edges": lambda graph: graph.edge_subgraph(list(graph.edges)[::2]),
    "filtered": lambda graph: nx.subgraph_view(graph, filter_node=lambda node: node % 3),
    "restricted": lambda graph: nx.restricted_view(graph, [0], [(1, 2)]),
}


@pytest.mark.parametrize("kind", VIEWS)
def test_a_view_is_as_its_graph_is_now(kind: str) -> None:
    graph = nx.gnp_random_graph(30, 0.15, seed=1, directed=True)
    view, rng = VIEWS[kind](graph), np.random.default_rng(2)
    for _ in range(5):
        for function in (nx.pagerank, nx.clustering):
            expected = function(view, backend="networkx")
            assert function(view, backend="graphtide") == pytest.approx(expected, abs=1e-6)
        u, v = rng.choice(30, 2, replace=False).tolist()
        # An edge of the undirected view is the same from both ends.
        for edge in {(u, v), (v, u)} & {*graph.edges} | {(u, v)}:
            graph.add_edge(*edge, weight=3.0)
        graph.remove_edge(*list(graph.edges)[int(rng.integers(graph.number_of_edges()))])


@pytest.mark.parametrize("weights", [(2, 2), (2, 3), (2, None), (None, None)])
def test_a_view_whose_edges_differ_by_their_ends_is_left_to_networkx(
    weights: tuple[int | None, int | None],
) -> None:
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 1)])
    view = graph.to_undirected(as_view=True)
    pairs = zip([(0, 1), (1, 0)], weights, strict=True)
    graph.add_weighted_edges_from((*pair, weight) for pair, weight in pairs if weight)
    expected = nx.single_source_dijkstra_path_length(view, 0)
    if weights == (2, 3):
        with pytest.raises(NotImplementedError):
            nx.single_source_dijkstra_path_length(view, 0, backend="graphtide")
    else:
        found = nx.single_source_dijkstra_path_length(view, 0, backend="graphtide")
        assert found == expected
    with nx.config.backend_priority(algos=["graphtide"]):
        assert nx.single_source_dijkstra_path_length(view, 0) == expected
    # Without weights there is no difference.
    assert nx.number_connected_components(view, backend="graphtide") == 1
    one_sided = nx.subgraph_view(nx.path_graph(3), filter_edge=lambda u, v: u < v)
    with nx.config.backend_priority(algos=["graphtide"]):
        hops = nx.single_source_shortest_path_length(one_sided, 2)
    assert hops == {2: 0}


def test_a_view_that_could_not_be_converted_is_tried_again() -> None:
    graph = nx.path_graph(4)
    graph.add_edge(0, 1, weight=math.inf)
    view = graph.subgraph([0, 1, 2])
    with pytest.raises(NotImplementedError):
        nx.pagerank(view, backend="graphtide")
    graph.add_edge(0, 1, weight=2)
    assert nx.pagerank(view, backend="graphtide") == pytest.approx(nx.pagerank(view), abs=1e-6)


def converted(graph: nx.Graph, weight: str | None) -> Any:
    """What networkx gives the functions, after a call of each kind."""
    ranks = nx.pagerank(graph, weight=weight, backend="graphtide")
    assert list(ranks) == list(graph)
    assert ranks == pytest.approx(nx.pagerank(graph, weight=weight, backend="networkx"), abs=1e-6)
    components = nx.weakly_connected_components if graph.is_directed() else nx.connected_components
    assert list(components(graph, backend="graphtide")) == list(components(graph))
    attributes = None if weight is None else {weight: 1}
    return convert_from_nx(graph, edge_attrs=attributes, name="pagerank")


def test_weights_that_have_all_changed_are_seen() -> None:
    graph = nx.path_graph(3)
    with nx.config(cache_converted_graphs=False):
        for km in (2.5, 5.0):
            nx.set_edge_attributes(graph, km, "km")
            found = nx.single_source_dijkstra_path_length(
                graph, 0, weight="km", backend="graphtide"
            )
            assert found == {0: 0, 1: km, 2: 2 * km}


@pytest.mark.parametrize("weight", [None, "km"])
@pytest.mark.parametrize("graph", graphs(200, 600), ids=["undirected", "directed"])
def test_edits_are_followed_whatever_made_them(graph: nx.Graph, weight: str | None) -> None:
    rng = np.random.default_rng(1)
    nodes = list(graph)
    with nx.config(cache_converted_graphs=False):
        first = converted(graph, weight)
        for number in range(25):
            some = [nodes[i] for i in rng.integers(0, len(nodes), 4)]
            graph.add_edge(some[0], some[1], km=int(rng.integers(1, 9)))
            graph.remove_edges_from([list(graph.edges)[int(rng.integers(graph.number_of_edges()))]])
            for u, v in list(graph.edges)[:2]:
                # Nobody tells networkx of these.
                graph[u][v]["km"] = float(rng.integers(1, 9))
                graph[v].get(u, {}).pop("km", None)
            if number % 5 == 0:
                # The new node is of a kind that there was none of.
                graph.add_edge(number, some[2])
                nodes.append(number)
            assert converted(graph, weight) is first, "is followed"
        graph.add_edge(nodes[0], nodes[0])
        if graph.is_directed():
            assert converted(graph, weight) is first
        else:
            with pytest.raises(NotImplementedError, match="when calling 'pagerank'"):
                converted(graph, weight)
        graph.remove_edge(nodes[0], nodes[0])
        assert converted(graph, weight) is first
        # Nodes in another order, and much at once.
        last_but_one = list(graph)[-2]
        graph.remove_node(last_but_one)
        graph.add_edge(last_but_one, nodes[7])
        second = converted(graph, weight)
        assert second is not first
        graph.remove_node(nodes[1])
        third = converted(graph, weight)
        assert third is not second
        graph.add_node(nodes[1])
        assert converted(graph, weight) is third
        graph.remove_edges_from(list(graph.edges)[::2])
        assert converted(graph, weight) is not third


def test_a_graph_without_weights_gets_some() -> None:
    graph = nx.cycle_graph(200)
    converted(graph, "km")
    graph[3][4]["km"] = 7
    graph.add_edge(0, 5)
    converted(graph, "km")
    graph.add_edge(0, 5, km="far")
    with pytest.raises(NotImplementedError, match="when calling 'pagerank'"):
        nx.pagerank(graph, weight="km", backend="graphtide")
    graph.add_edge(0, 5, km=2)
    converted(graph, "km")


def test_weights_are_compared_as_they_were_and_not_as_they_are() -> None:
    graph, length = nx.cycle_graph(200), np.array(2.0)
    graph.add_edge(0, 5, km=length)
    with nx.config(cache_converted_graphs=False):
        converted(graph, "km")
        length[()] = 9
        converted(graph, "km")


def test_a_conversion_of_ones_own_stays_as_it_is() -> None:
    graph = nx.cycle_graph(200)
    own = convert_from_nx(graph)
    converted(graph, None)
    graph.add_edge(0, 5)
    converted(graph, None)
    assert own.graph.num_edges == 200


def test_a_graph_that_nobody_has_takes_its_conversion_along() -> None:
    graph = nx.cycle_graph(200)
    followed = weakref.ref(converted(graph, None))
    graph.add_edge(0, 5)
    del graph
    gc.collect()
    assert followed() is None


def test_what_breaks_off_while_it_follows_is_converted_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = nx.cycle_graph(200)
    converted(graph, None)
    graph.add_edge(0, 5)
    graph.remove_edge(7, 8)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(DynamicGraph, "insert_edges", interrupted)
        with pytest.raises(KeyboardInterrupt):
            nx.pagerank(graph, backend="graphtide", weight=None)
    graph.add_edge(0, 6)
    converted(graph, None)
