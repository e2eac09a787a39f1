"""networkx' functions run by graphtide: what networkx finds, and networkx' own tests of them."""

import math
import os
import subprocess
import sys
from collections.abc import Iterator, ValuesView
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from graphtide import DynamicGraph
from graphtide.io.interchange import networkx_backend
from graphtide.io.interchange.networkx_info import FUNCTIONS, get_info
from networkx_graphs import graphs

#: networkx warns of its own cache of converted graphs.
pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")

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
        (nx.katz_centrality, looped, {}),
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
    with pytest.raises(NotImplementedError):
        nx.jaccard_coefficient(looped, [(1, 2)], backend="graphtide")
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


@pytest.mark.parametrize("whole", [int, np.int8, np.uint16, np.uint64])
def test_distances_by_whole_weights_are_whole_or_left_to_networkx(whole: type) -> None:
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, whole(2), "weight")
    found = nx.single_source_dijkstra_path_length(graph, 0, backend="graphtide")
    assert [type(each) for each in found.values()] == [int] * 4
    if whole in (np.int8, np.uint16):
        return
    large = nx.Graph()
    large.add_weighted_edges_from([(0, 1, whole(2**52 + 1)), (1, 2, whole(2**52 + 1))])
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
