"""Triangles, clustering and transitivity against networkx, igraph, LDBC, and by hand."""

import itertools
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs import (
    KARATE,
    LDBC_DIRECTED,
    LDBC_UNDIRECTED,
    SHAPES,
    Example,
    from_networkx_graph,
    graph_of,
    lcc,
    random_graphs,
    simple_undirected,
)
from graphtide import DynamicGraph, SettingsError
from graphtide.gpu_core.algorithms.shared.adjacencies import adjacencies_of
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.host.analytics.parts.compact_rows import blocks_of_rows
from graphtide.gpu_core.host.analytics.triangles.triangles import oriented_rows
from graphtide.gpu_core.jit import parallel
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.testing import engine_of


@given(graph=random_graphs(directed=False), shape=st.sampled_from(SHAPES))
@settings(deadline=None, max_examples=30)  # compiling takes longer
def test_undirected_graphs_as_networkx(graph: nx.Graph, shape: dict[str, object]) -> None:
    ours = from_networkx_graph(graph, **shape)
    result = ours.clustering()
    vertices = sorted(graph)
    assert result.vertices.tolist() == vertices
    assert result.degree.tolist() == [graph.degree(v) for v in vertices]
    assert result.triangles.tolist() == [nx.triangles(graph, v) for v in vertices]
    assert result.clustering == pytest.approx([nx.clustering(graph, v) for v in vertices])
    assert result.average == pytest.approx(nx.average_clustering(graph))
    assert result.transitivity == pytest.approx(nx.transitivity(graph))
    assert result.num_triangles == sum(nx.triangles(graph).values()) // 3
    assert ours.triangles().tolist() == result.triangles.tolist()
    assert ours.average_clustering() == result.average
    assert ours.transitivity() == result.transitivity


@given(graph=random_graphs(directed=True), shape=st.sampled_from(SHAPES))
@settings(deadline=None, max_examples=30)  # compiling takes longer
def test_directed_graphs_as_ldbc_defines_it(graph: nx.DiGraph, shape: dict[str, object]) -> None:
    result = from_networkx_graph(graph, **shape).clustering(directed="ldbc")
    assert result.directed == "ldbc"
    vertices, simple = sorted(graph), simple_undirected(graph)
    assert result.degree.tolist() == [simple.degree(v) for v in vertices]
    assert result.triangles.tolist() == [nx.triangles(simple, v) for v in vertices]
    assert result.clustering == pytest.approx([lcc(graph, v) for v in vertices])
    assert result.average == pytest.approx(np.mean([lcc(graph, v) for v in vertices]))
    assert result.transitivity == pytest.approx(nx.transitivity(simple))


@given(graph=random_graphs(directed=True), shape=st.sampled_from(SHAPES))
@settings(deadline=None, max_examples=30)  # compiling takes longer
def test_directed_graphs_as_networkx(graph: nx.DiGraph, shape: dict[str, object]) -> None:
    ours = from_networkx_graph(graph, **shape)
    result = ours.clustering()
    vertices, simple = sorted(graph), simple_undirected(graph)
    assert result.directed == "networkx"
    # The same whole numbers, divided once: not a bit differs.
    assert result.clustering.tolist() == [nx.clustering(graph, v) for v in vertices]
    assert ours.average_clustering() == pytest.approx(nx.average_clustering(graph))
    assert result.triangles.tolist() == [nx.triangles(simple, v) for v in vertices]
    assert ours.transitivity() == pytest.approx(nx.transitivity(graph.to_undirected()))


def test_definitions_agree_where_every_edge_goes_both_ways() -> None:
    both = graph_of(KARATE + [(v, u) for u, v in KARATE])
    plain = graph_of(KARATE, directed=False)
    for name in ("networkx", "ldbc"):
        assert both.clustering(directed=name).clustering.tolist() == (
            plain.clustering(directed=name).clustering.tolist()
        )
    assert plain.clustering(directed="ldbc").directed is None


def test_definitions_are_two() -> None:
    graph = graph_of([(1, 2), (2, 1), (1, 3), (2, 3), (3, 2)])
    oracle = nx.DiGraph([(1, 2), (2, 1), (1, 3), (2, 3), (3, 2)])
    assert graph.average_clustering() == pytest.approx(nx.average_clustering(oracle))
    assert graph.average_clustering(directed="ldbc") == pytest.approx(2.5 / 3)
    for undirected in (graph, graph_of(KARATE, directed=False)):
        with pytest.raises(SettingsError, match=r"directed='fagiolo' is unknown; use one of netw"):
            undirected.clustering(directed="fagiolo")


@pytest.mark.parametrize("example", [LDBC_DIRECTED, LDBC_UNDIRECTED], ids=["directed", "not"])
def test_answers_of_ldbc(example: Example) -> None:
    result = graph_of(example.edges, directed=example.directed).clustering(directed="ldbc")
    assert dict(zip(result.vertices.tolist(), result.clustering, strict=True)) == pytest.approx(
        example.lcc, abs=1e-15
    )


def test_karate_as_igraph() -> None:
    import igraph  # not above: it loads Matplotlib, in each process that collects this file

    result = graph_of(KARATE, directed=False).clustering()
    oracle = igraph.Graph([(u - 1, v - 1) for u, v in KARATE])
    assert result.clustering == pytest.approx(oracle.transitivity_local_undirected(mode="zero"))
    assert result.transitivity == pytest.approx(oracle.transitivity_undirected())
    assert result.num_triangles == 45
    assert round(result.average, 6) == 0.570638
    assert round(result.transitivity, 6) == 0.255682


@pytest.mark.parametrize("directed", [False, True])
def test_a_graph_with_hubs_as_igraph(directed: bool) -> None:
    import igraph

    src, dst = rmat_edges(np.arange(60_000, dtype=np.uint64), 12)
    graph = DynamicGraph(directed=directed)
    graph.insert_edges(src, dst)
    result = graph.clustering()
    edges = np.searchsorted(result.vertices, np.column_stack([src, dst]))
    oracle = igraph.Graph(result.vertices.size, edges.tolist()).simplify()
    assert result.degree.tolist() == oracle.degree()
    assert result.num_triangles == len(oracle.list_triangles()) > 100_000
    assert result.transitivity == pytest.approx(oracle.transitivity_undirected())
    if not directed:
        local = oracle.transitivity_local_undirected(mode="zero")
        assert result.clustering == pytest.approx(local)


@pytest.mark.parametrize("directed", [False, True])
def test_nothing_depends_on_threads_layout_storage_or_stored_directions(
    directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    src, dst = rmat_edges(np.arange(60_000, dtype=np.uint64), 12)
    answers = set()
    for shape in SHAPES:
        graph = DynamicGraph(directed=directed, **shape)
        graph.insert_edges(src, dst)
        for threads in (1, 2, 3, 7):
            monkeypatch.setattr(parallel, "thread_count", lambda count=threads: count)
            for name in ("networkx", "ldbc"):
                result = graph.clustering(directed=name)
                columns = result.triangles.tobytes(), result.clustering.tobytes(), result.average
                answers.add((name, *columns))
    assert len(answers) == 2, "one a definition"
    assert len({answer[1:] for answer in answers}) == (2 if directed else 1)


def test_averages_tell_a_star_with_one_more_edge_from_its_transitivity() -> None:
    star = [(0, leaf) for leaf in range(1, 51)] + [(1, 2)]
    result = graph_of(star, directed=False).clustering()
    assert result.num_triangles == 1
    assert result.average == pytest.approx((1 + 1 + 2 / (50 * 49)) / 51)
    assert result.transitivity == pytest.approx(3 / (50 * 49 / 2 + 2))


def test_rows_of_some_vertices_do_not_pass_for_the_whole_graph() -> None:
    graph = graph_of([(1, 2), (2, 3), (3, 1), (3, 4)], directed=False)
    some = pickle.loads(pickle.dumps(graph.clustering([1, 2])))
    assert some.triangles.tolist() == [1, 1]
    assert some.average == 1.0
    assert repr(some) == "<ClusteringResult 2 vertices, average 1>"
    for name in ("num_triangles", "transitivity"):
        with pytest.raises(SettingsError, match=rf"{name} is of the whole graph"):
            getattr(some, name)


def test_a_clique_is_all_triangles() -> None:
    size = 120
    clique = graph_of([(u, v) for u in range(size) for v in range(u)], directed=False)
    result = clique.clustering()
    assert set(result.triangles.tolist()) == {(size - 1) * (size - 2) // 2}
    assert set(result.clustering.tolist()) == {1.0}
    assert result.average == result.transitivity == 1.0
    assert result.num_triangles == size * (size - 1) * (size - 2) // 6


def test_an_edge_both_ways_counts_twice_among_neighbors_once_as_neighbor() -> None:
    graph = graph_of([(1, 2), (2, 1), (1, 3), (2, 3), (3, 2)])
    result = graph.clustering(directed="ldbc")
    assert result.degree.tolist() == [2, 2, 2]
    assert result.triangles.tolist() == [1, 1, 1]
    assert result.clustering.tolist() == [1.0, 0.5, 1.0]


def test_degree_pairs_of_a_hub_do_not_overflow() -> None:
    leaves = 70_000
    graph = DynamicGraph(directed=False)
    graph.insert_edges(np.zeros(leaves + 1, np.int64), np.append(np.arange(1, leaves + 1), 1))
    graph.insert_edges([1], [2])
    result = graph.clustering()
    assert result.num_triangles == 1
    assert result.clustering[0] == 2 / (leaves * (leaves - 1))
    assert result.transitivity == 3 / (leaves * (leaves - 1) // 2 + 2)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("directed", [False, True])
def test_deleted_vertices_and_edges_are_gone(layout: str, directed: bool) -> None:
    graph = graph_of(KARATE, directed=directed, layout=layout)
    graph.delete_vertices([1])
    graph.delete_edges([33], [34])
    oracle = nx.Graph(KARATE)
    oracle.remove_node(1)
    oracle.remove_edge(33, 34)
    result = graph.clustering()
    assert result.vertices.tolist() == sorted(oracle)
    assert result.triangles.tolist() == [nx.triangles(oracle, v) for v in sorted(oracle)]
    assert result.transitivity == pytest.approx(nx.transitivity(oracle))


@pytest.mark.parametrize("directed", [False, True])
def test_graphs_without_triangles_edges_or_vertices(directed: bool) -> None:
    graph = DynamicGraph(directed=directed)
    for _ in range(2):
        result = graph.clustering()
        assert result.vertices.size == result.triangles.size == result.clustering.size == 0
        assert result.average == result.transitivity == 0.0
        assert result.num_triangles == 0
        # Afterwards there are vertex records, but none of them is in the graph.
        graph.insert_edges([1, 2], [2, 3])
        graph.delete_vertices([1, 2, 3])
    graph.insert_vertices([4])
    graph.insert_edges([1, 2], [2, 3])
    result = graph.clustering()
    assert result.degree.tolist() == [1, 2, 1, 0]
    assert result.clustering.tolist() == [0.0] * 4
    assert result.average == result.transitivity == 0.0


@given(cost=st.lists(st.integers(0, 50)), block_cost=st.integers(1, 80))
def test_blocks_cover_all_rows_once_and_are_even(cost: list[int], block_cost: int) -> None:
    bounds = blocks_of_rows(np.array(cost, np.int64), block_cost).tolist()
    assert bounds[0] == 0
    assert bounds[-1] == len(cost)
    assert bounds == sorted(set(bounds)), "an empty block, or rows in two blocks"
    for low, high in itertools.pairwise(bounds):
        assert sum(cost[low : high - 1]) <= block_cost, "a block went on after it was full"


@pytest.mark.parametrize("directed", [False, True])
def test_edges_point_to_the_vertex_of_higher_degree(directed: bool) -> None:
    # Counts are right whichever way edges point, but the hubs would have all of them.
    src, dst = rmat_edges(np.arange(60_000, dtype=np.uint64), 12)
    graph = DynamicGraph(directed=directed)
    graph.insert_edges(src, dst)
    rows = oriented_rows(adjacencies_of(engine_of(graph)))
    assert rows.rank.tolist() == np.argsort(np.argsort(rows.degree, kind="stable")).tolist()
    num_edges = int(rows.degree.sum()) // 2
    assert rows.row_length.sum() == num_edges
    assert rows.row_length.max() <= np.sqrt(2 * num_edges) < rows.degree.max()
