"""networkx' functions run by graphtide: what networkx finds, and networkx' own tests of them."""

import gc
import math
import os
import subprocess
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator, ValuesView
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from graphtide import DynamicGraph
from graphtide.io.interchange import networkx_backend
from graphtide.io.interchange.networkx_graph import convert_from_nx
from graphtide.io.interchange.networkx_info import FUNCTIONS, get_info

#: Modules of networkx' tests that call the functions.
MODULES = (
    "link_analysis.tests.test_pagerank",
    "centrality.tests.test_katz_centrality",
    "tests.test_cluster",
    "tests.test_core",
    "components.tests.test_connected",
    "components.tests.test_weakly_connected",
    "components.tests.test_strongly_connected",
    "community.tests.test_label_propagation",
    "centrality.tests.test_betweenness_centrality",
    "tests.test_link_prediction",
    "shortest_paths.tests.test_unweighted",
    "shortest_paths.tests.test_weighted",
)
ARGUMENTS: dict[str, list[dict[str, Any]]] = {
    "katz_centrality": [{"alpha": 0.01}, {"alpha": 0.01, "weight": "km", "normalized": False}],
    "pagerank": [
        {},
        {"weight": "km", "alpha": 0.7},
        {"weight": None},
        {"personalization": {(2, "two"): 1, (5, "two"): 3, "nobody": 9}, "tol": 1e-9},
    ],
    "clustering": [{}, {"nodes": (3, "one")}, {"nodes": [(3, "one"), (4, "one"), "nobody"]}],
    "average_clustering": [{}, {"count_zeros": False}],
    "betweenness_centrality": [{}, {"normalized": False, "endpoints": True}],
    "jaccard_coefficient": [{"ebunch": [((1, "one"), (3, "one")), ((5, "two"), (38, "one"))]}],
    "single_source_shortest_path_length": [
        {"source": (1, "one")},
        {"source": (1, "one"), "cutoff": 2},
    ],
    "single_source_dijkstra_path_length": [
        {"source": (1, "one"), "weight": "km"},
        {"source": (1, "one"), "weight": None, "cutoff": 2},
    ],
}  # fmt: skip


@pytest.fixture(autouse=True)
def without_its_warning() -> Iterator[None]:
    """networkx warns of its own cache of converted graphs."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Note: conversions to backend graphs")
        yield


def graphs(count: int = 40, edges: int = 90) -> list[nx.Graph]:
    """Graphs of nodes that are no numbers, with a few weights, and nodes without edges."""
    made: list[nx.Graph] = [nx.Graph(), nx.DiGraph()]
    for graph in made:
        rng = np.random.default_rng(4)
        nodes = [(number, "two" if number in (2, 5) else "one") for number in range(count)]
        graph.add_nodes_from(reversed(nodes))
        for u, v in rng.integers(0, count * 3 // 4, (edges, 2)).tolist():
            if u != v:
                graph.add_edge(nodes[u], nodes[v])
        for u, v in list(graph.edges)[::2]:
            graph.edges[u, v]["km"] = float(rng.integers(1, 9))
    return made


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_finds_what_that_of_networkx_does(name: str) -> None:
    function, ran = getattr(nx, name, None) or getattr(nx.community, name), 0
    for graph in graphs():
        for arguments in ARGUMENTS.get(name, [{}]):
            try:
                expected = function(graph, backend="networkx", **arguments)
                expected = listed(expected)
            except nx.NetworkXNotImplemented:
                continue
            if name == "transitivity" and graph.is_directed():
                with pytest.raises(NotImplementedError):
                    function(graph, backend="graphtide", **arguments)
                continue
            found = listed(function(graph, backend="graphtide", **arguments))
            assert type(found) is type(expected)
            if name == "label_propagation_communities":
                found, expected = ({*map(frozenset, each)} for each in (found, expected))
            if isinstance(expected, dict):
                assert set(found) == set(expected)
                assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
            else:
                is_number = isinstance(expected, int | float)
                assert found == (pytest.approx(expected) if is_number else expected)
            ran += 1
    assert ran


def listed(found: Any) -> Any:
    """Components as a list, in the order of networkx."""
    return list(found) if isinstance(found, Iterator | ValuesView) else found


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


def test_what_is_not_served_is_left_to_networkx() -> None:
    """By priority, as users set it, without a word; asked for by name, it is refused."""
    looped = nx.Graph([(1, 1), (1, 2)])
    negative = nx.Graph()
    negative.add_edge(1, 2, weight=-1.0)
    infinite = nx.Graph([(1, 2), (2, 3, {"weight": math.inf})])
    many = nx.MultiGraph([(1, 2), (1, 2)])
    large = nx.Graph([(1, 2, {"weight": 2**53 + 1}), (2, 3)])
    exact = nx.Graph([(1, 2, {"weight": Fraction(1, 10)}), (2, 3, {"weight": Fraction(2, 10)})])
    calls: list[tuple[Any, nx.Graph, dict[str, Any]]] = [
        (nx.pagerank, looped, {}),
        (nx.clustering, nx.complete_graph(4), {"weight": "weight"}),
        (nx.number_connected_components, many, {}),
        (nx.katz_centrality, nx.path_graph(3), {"beta": {0: 1, 1: 2, 2: 3}}),
        (
            nx.single_source_dijkstra_path_length,
            nx.path_graph(3),
            {"source": 0, "weight": lambda u, v, data: 2},
        ),
        (nx.single_source_dijkstra_path_length, infinite, {"source": 1}),
        (nx.pagerank, infinite, {}),
        (nx.single_source_dijkstra_path_length, large, {"source": 1}),
        (nx.single_source_dijkstra_path_length, exact, {"source": 1}),
        (nx.betweenness_centrality, nx.path_graph(4), {"normalized": 0}),
    ]
    for call, graph, arguments in calls:
        with pytest.raises(NotImplementedError):
            call(graph, backend="graphtide", **arguments)
        with nx.config.backend_priority(algos=["graphtide"]):
            assert call(graph, **arguments) == call(graph, backend="networkx", **arguments)
    with pytest.raises(NotImplementedError):
        nx.single_source_dijkstra_path_length(negative, 1, backend="graphtide")
    # A loop that an undirected graph does not keep, and that networkx walks as well.
    loop = nx.Graph([(1, 2), (2, 2, {"weight": 3})])
    assert nx.single_source_dijkstra_path_length(loop, 1, backend="graphtide") == {1: 0, 2: 1}
    loop.add_edge(2, 2, weight=-1)
    with pytest.raises(NotImplementedError):
        nx.single_source_dijkstra_path_length(loop, 1, backend="graphtide")
    found = nx.single_source_dijkstra_path_length(loop, 1, weight=None, backend="graphtide")
    assert found == {1: 0, 2: 1}
    with pytest.raises(nx.NodeNotFound):
        nx.single_source_shortest_path_length(looped, 7, backend="graphtide")


def test_a_path_longer_than_any_float_is_one() -> None:
    graph = nx.DiGraph([(0, 1, {"weight": 1e308}), (1, 2, {"weight": 1e308})])
    graph.add_edge(3, 0, weight=1.0)
    found = nx.single_source_dijkstra_path_length(graph, 0, backend="graphtide")
    assert found == {0: 0, 1: 1e308, 2: math.inf}


def test_zeros_are_integers_where_those_of_networkx_are() -> None:
    for kind in (nx.Graph, nx.DiGraph):
        # A triangle, an edge, a node alone, and a triangle with an edge to its end.
        graph = kind([("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("a", "f"), ("g", "g")])
        graph.add_node("h")
        nx.set_edge_attributes(graph, 0.5, "weight")
        for function, arguments in (
            (nx.clustering, {}),
            (nx.clustering, {"nodes": ["a", "d", "h"]}),
            (nx.single_source_dijkstra_path_length, {"source": "a"}),
            (nx.single_source_dijkstra_path_length, {"source": "h"}),
            (nx.single_source_shortest_path_length, {"source": "a"}),
            (nx.triangles, {}),
        ):
            if graph.is_directed() and function is nx.triangles:
                continue
            expected = function(graph, backend="networkx", **arguments)
            found = function(graph, backend="graphtide", **arguments)
            assert found == expected
            assert {node: type(each) for node, each in found.items()} == {
                node: type(each) for node, each in expected.items()
            }
        for node in graph:
            found = nx.clustering(graph, node, backend="graphtide")
            assert type(found) is type(nx.clustering(graph, node, backend="networkx"))
    for graph in (nx.Graph(), nx.path_graph(3), nx.complete_graph(3)):
        found = nx.transitivity(graph, backend="graphtide")
        assert type(found) is type(nx.transitivity(graph, backend="networkx"))


def test_what_has_no_hash_is_no_node() -> None:
    graph = nx.path_graph(3)
    for backend in ("networkx", "graphtide"):
        with pytest.raises(nx.NodeNotFound):
            nx.single_source_shortest_path_length(graph, [1], backend=backend)


def test_distances_by_whole_weights_are_whole_or_left_to_networkx() -> None:
    graph = nx.path_graph(4)
    found = nx.single_source_dijkstra_path_length(graph, 0, backend="graphtide")
    assert [type(each) for each in found.values()] == [int] * 4
    large = nx.Graph()
    large.add_weighted_edges_from([(0, 1, 2**52 + 1), (1, 2, 2**52 + 1)])
    with pytest.raises(NotImplementedError):
        nx.single_source_dijkstra_path_length(large, 0, backend="graphtide")
    # A float elsewhere changes nothing of that sum.
    large.add_edge(0, 3, weight=0.5)
    with pytest.raises(NotImplementedError):
        nx.single_source_dijkstra_path_length(large, 0, backend="graphtide")
    large[0][1]["weight"] = large[1][2]["weight"] = 2.0**52 + 1
    large.add_node(4)
    assert nx.single_source_dijkstra_path_length(large, 0, backend="graphtide") == {
        0: 0, 3: 0.5, 1: 2.0**52 + 1, 2: 2.0**53 + 2,
    }  # fmt: skip


def test_a_pagerank_that_never_ends_is_left_to_networkx() -> None:
    with pytest.raises(NotImplementedError):
        nx.pagerank(nx.complete_graph(3), tol=0, backend="graphtide")


@pytest.mark.parametrize("given", [{}, {"a": 0}])
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("personalization", ZeroDivisionError),
        ("dangling", nx.PowerIterationFailedConvergence),
        ("nstart", nx.PowerIterationFailedConvergence),
    ],
)
def test_values_that_sum_to_nothing_are_refused_as_networkx_does(
    name: str, error: type[Exception], given: dict[str, float]
) -> None:
    for backend in ("networkx", "graphtide"):
        with pytest.raises(error), np.errstate(invalid="ignore"):
            nx.pagerank(nx.path_graph(["a", "b"]), backend=backend, **{name: given})


@pytest.mark.parametrize("cutoff", [-math.inf, -1, -0.5, 0, 0.5, 1, 1.5, 2.7, math.inf, math.nan])
def test_any_cutoff_is_that_of_networkx(cutoff: float) -> None:
    hops = nx.path_graph(5)
    weighted = nx.Graph()
    nx.add_path(weighted, range(5), weight=1.5)
    weighted.add_edge(0, 7, weight=0)
    for graph in (hops, weighted):
        for function in (
            nx.single_source_shortest_path_length,
            nx.single_source_dijkstra_path_length,
        ):
            expected = function(graph, 0, cutoff=cutoff, backend="networkx")
            assert function(graph, 0, cutoff=cutoff, backend="graphtide") == expected


@pytest.mark.parametrize("nodes", [[[1]], [{}], [1, [2]], 5.5, np.array(1)])
def test_what_are_no_nodes_is_an_error_of_networkx(nodes: object) -> None:
    for function in (nx.clustering, nx.triangles, nx.average_clustering):
        for backend in ("networkx", "graphtide"):
            with pytest.raises(nx.NetworkXError):
                function(nx.complete_graph(4), nodes, backend=backend)


#: What networkx asks for the value of a node by ``get``, and what has none.
BY_NODE: dict[str, Any] = {
    "series": pd.Series([3.0, 1.0], ["c", "a"]),
    "mapping": {"a": 2, "nobody": np.float32(7)},
    "frame of nodes": pd.DataFrame({"a": [1.0]}),
    "frame of rows": pd.DataFrame({"vertex": ["a"], "value": [1.0]}),
    "text": {"a": "much"},
    "complex": {"a": 1j},
    "list": [1, 2, 3],
}


@pytest.mark.parametrize("name", ["personalization", "nstart", "dangling"])
@pytest.mark.parametrize("kind", BY_NODE)
def test_values_by_node_are_what_networkx_takes_or_its_errors(name: str, kind: str) -> None:
    given = BY_NODE[kind]
    graph = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")])
    try:
        with np.errstate(invalid="ignore"):
            expected = nx.pagerank(graph, backend="networkx", **{name: given})
    except Exception as error:
        with pytest.raises(type(error)):
            nx.pagerank(graph, backend="graphtide", **{name: given})
    else:
        found = nx.pagerank(graph, backend="graphtide", **{name: given})
        assert found == pytest.approx(expected, abs=1e-6)


def test_the_engine_is_a_setting_of_networkx(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        "graphtide.io.interchange.networkx_graph.DynamicGraph",
        lambda **settings: asked.append(settings["engine"]) or DynamicGraph(**settings),
    )
    with nx.config.backends["graphtide"](engine="host"):
        assert nx.triangles(nx.complete_graph(3), backend="graphtide") == {0: 1, 1: 1, 2: 1}
    assert (asked, get_info()["default_config"]) == (["host"], {"engine": "auto"})


@pytest.mark.runs
def test_networkx_own_tests_pass(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    environment |= {"NETWORKX_TEST_BACKEND": "graphtide", "NETWORKX_FALLBACK_TO_NX": "True"}
    names = [f"networkx.algorithms.{name}" for name in MODULES]
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore", "--pyargs"]
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *options, *names],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-3000:]
    assert " passed" in ended.stdout


def test_the_page_names_what_is_not_served() -> None:
    """It is an error where networkx was told to use this backend."""
    page = (Path(__file__).parents[2] / "docs/networkx.md").read_text()
    for arguments in networkx_backend._ONLY.values():
        for argument in arguments:
            named = (
                "weighted clustering and betweenness" if argument == "weight" else f"`{argument}`"
            )
            assert named in page
    assert "`NotImplementedError`" in page
