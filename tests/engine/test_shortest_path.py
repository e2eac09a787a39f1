"""Shortest paths against networkx: as many hops, along edges that are there."""

import networkx as nx
import numpy as np
import pytest

from graphtide import DynamicGraph, PathNotFoundError, VertexNotFoundError

KINDS = [
    {"directed": True},
    {"directed": True, "reverse": False},
    {"directed": False},
]


@pytest.mark.parametrize("kind", KINDS, ids=["directed", "without_reverse", "undirected"])
def test_a_path_has_the_fewest_hops_along_edges(kind: dict[str, bool]) -> None:
    draw = np.random.default_rng(3)
    src, dst = draw.integers(0, 60, (2, 75)) * 1_000_000_007 - 5
    graph = DynamicGraph(**kind, engine="host")
    graph.insert_edges(src, dst)
    expected = graph.to_networkx()
    hops = dict(nx.all_pairs_shortest_path_length(expected))
    longest = 0
    for source in graph.vertices().tolist()[::3]:
        for target in graph.vertices().tolist():
            if target not in hops[source]:
                with pytest.raises(PathNotFoundError, match=rf"from {source} to {target}$"):
                    graph.shortest_path(source, target)
                continue
            path = graph.shortest_path(source, target)
            assert (path[0], path[-1], path.size - 1) == (source, target, hops[source][target])
            assert path.size == 1 or nx.is_path(expected, path.tolist())
            longest = max(longest, path.size)
    assert longest > 4


def test_a_vertex_that_is_not_there_is_refused() -> None:
    graph = DynamicGraph(engine="host")
    graph.insert_edges([1], [2])
    for ends in ((1, 3), (3, 1)):
        with pytest.raises(VertexNotFoundError, match="3 is not in the graph"):
            graph.shortest_path(*ends)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("kind", KINDS, ids=["directed", "without_reverse", "undirected"])
def test_a_long_path_takes_no_look_at_all_edges_for_each_hop(kind: dict[str, bool]) -> None:
    graph = DynamicGraph(**kind, engine="host")
    ids = np.random.default_rng(1).permutation(300_000)
    graph.insert_edges(ids[:-1], ids[1:])
    np.testing.assert_array_equal(graph.shortest_path(ids[0], ids[-1]), ids)
