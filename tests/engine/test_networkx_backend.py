"""networkx' functions run by graphtide: what networkx finds, and networkx' own tests of them."""

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, ValuesView
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.io.networkx_info import FUNCTIONS, get_info

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


def graphs() -> list[nx.Graph]:
    """Graphs of nodes that are no numbers, with a few weights, and nodes without edges."""
    made: list[nx.Graph] = [nx.Graph(), nx.DiGraph()]
    for graph in made:
        rng = np.random.default_rng(4)
        nodes = [(number, "two" if number in (2, 5) else "one") for number in range(40)]
        graph.add_nodes_from(reversed(nodes))
        for u, v in rng.integers(0, 30, (90, 2)).tolist():
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


def test_a_graph_that_has_changed_is_converted_again() -> None:
    graph = nx.path_graph(["a", "b", "c"])
    assert nx.number_connected_components(graph, backend="graphtide") == 1
    graph.add_node("d")
    assert nx.number_connected_components(graph, backend="graphtide") == 2


def test_what_is_not_served_is_left_to_networkx() -> None:
    """By priority, as users set it, without a word; asked for by name, it is refused."""
    looped = nx.Graph([(1, 1), (1, 2)])
    negative = nx.Graph()
    negative.add_edge(1, 2, weight=-1.0)
    many = nx.MultiGraph([(1, 2), (1, 2)])
    calls: list[tuple[Any, nx.Graph, dict[str, Any]]] = [
        (nx.pagerank, looped, {}),
        (nx.clustering, nx.complete_graph(4), {"weight": "weight"}),
        (nx.number_connected_components, many, {}),
        (nx.katz_centrality, nx.path_graph(3), {"beta": {0: 1, 1: 2, 2: 3}}),
    ]
    for call, graph, arguments in calls:
        with pytest.raises(NotImplementedError):
            call(graph, backend="graphtide", **arguments)
        with nx.config.backend_priority(algos=["graphtide"]):
            assert call(graph, **arguments) == call(graph, backend="networkx", **arguments)
    with pytest.raises(NotImplementedError):
        nx.single_source_dijkstra_path_length(negative, 1, backend="graphtide")
    with pytest.raises(nx.NodeNotFound):
        nx.single_source_shortest_path_length(looped, 7, backend="graphtide")


def test_the_engine_is_a_setting_of_networkx(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        "graphtide.io.networkx_backend.DynamicGraph",
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
