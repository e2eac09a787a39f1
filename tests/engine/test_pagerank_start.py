"""Where steps of PageRank begin on undirected graphs: by degrees, where these say something."""

import pickle
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest

from exact_ranks import exact_ranks
from graphtide import DynamicGraph
from graphtide.gpu_core.algorithms.centrality.pagerank_result import PageRankResult
from graphtide.gpu_core.generators.geometric import geometric_graph
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.host.analytics.centrality.pagerank_start import start_of
from graphtide.testing import engine_of

#: Cycles have one degree, and two vertices that are joined have one edge each.
EXACT = {
    "regular": lambda: nx.random_regular_graph(6, 200, seed=1),
    "pairs": lambda: nx.Graph([(2 * i, 2 * i + 1) for i in range(50)]),
    "a cycle and pairs": lambda: nx.disjoint_union(nx.cycle_graph(40), EXACT["pairs"]()),
}


def graph_of(oracle: nx.Graph, isolated: int = 0, **settings: Any) -> DynamicGraph:
    src, dst = np.array(oracle.edges()).T
    graph = DynamicGraph(directed=False, **settings)
    graph.insert_edges(src, dst)
    graph.insert_vertices(100_000 + np.arange(isolated))
    return graph


def even(graph: DynamicGraph) -> dict[int, float]:
    return dict.fromkeys(graph.vertices().tolist(), 1.0)


def rmat(scale: int = 12) -> DynamicGraph:
    src, dst = rmat_edges(np.arange(16 << scale, dtype=np.uint64), scale, seed=5)
    graph = DynamicGraph(directed=False)
    graph.insert_edges(src, dst)
    return graph


def random() -> DynamicGraph:
    return graph_of(nx.gnm_random_graph(3000, 24_000, seed=3))


def star() -> DynamicGraph:
    return graph_of(nx.star_graph(300))


def grid() -> DynamicGraph:
    return graph_of(nx.convert_node_labels_to_integers(nx.grid_2d_graph(40, 40)))


def geometric() -> DynamicGraph:
    graph = DynamicGraph(directed=False)
    graph.insert_edges(*geometric_graph(np, 1 << 12, seed=1))
    return graph


@pytest.mark.parametrize("isolated", [0, 33])
@pytest.mark.parametrize("name", EXACT)
def test_a_start_that_is_the_solution_takes_one_step(engine: str, name: str, isolated: int) -> None:
    graph = graph_of(EXACT[name](), isolated)
    found = graph.pagerank(tol=1e-13)
    assert found.iterations == 1
    np.testing.assert_allclose(found.pagerank, exact_ranks(graph), rtol=1e-12)
    if isolated:
        assert graph.pagerank(tol=1e-13, nstart=even(graph)).iterations > 10


@pytest.mark.parametrize(("make", "saved"), [(rmat, 2), (random, 2), (star, 4)])
def test_fewer_steps_are_needed_than_from_even_ranks(
    make: Callable[[], DynamicGraph], saved: int
) -> None:
    graph = make()
    found, from_even = graph.pagerank(), graph.pagerank(nstart=even(graph))
    assert found.iterations <= from_even.iterations - saved
    apart = np.abs(found.pagerank - exact_ranks(graph)).sum()
    assert apart <= found.error_bound


@pytest.mark.parametrize("make", [grid, geometric])
def test_ranks_begin_even_where_neighbors_are_alike(make: Callable[[], DynamicGraph]) -> None:
    graph = make()
    found, from_even = graph.pagerank(), graph.pagerank(nstart=even(graph))
    assert found.pagerank.tobytes() == from_even.pagerank.tobytes()


@pytest.mark.parametrize(
    "arguments",
    [
        {"networkx_tol": True, "tol": 1e-8},
        {"personalization": {0: 1.0}},
        {"alpha": 1.0, "tol": 0.1},
    ],
    ids=lambda arguments: next(iter(arguments)),
)
def test_degrees_do_not_count_for_other_steps(arguments: dict[str, Any]) -> None:
    graph = random()
    found = graph.pagerank(**arguments)
    from_even = graph.pagerank(nstart=even(graph), **arguments)
    assert found.pagerank.tobytes() == from_even.pagerank.tobytes()


def test_the_start_by_hand() -> None:
    graph = graph_of(nx.disjoint_union(nx.star_graph(20), EXACT["pairs"]()), isolated=7)
    graph.delete_vertices([25, 100_002])
    rows, alpha = engine_of(graph).rows("out"), 0.9
    start = start_of(rows, alpha)
    vertices = graph.num_vertices
    assert start[~rows.present].tolist() == [0.0] * (rows.count - vertices)
    assert start.sum() == pytest.approx(1, abs=1e-14)
    # 6 isolated vertices, and one that has lost the other of its pair.
    isolated = (1 - alpha) / (vertices - alpha * 7)
    degree = rows.degree
    np.testing.assert_allclose(start[rows.present & (degree == 0)], isolated, rtol=1e-14)
    rank = dict(zip(engine_of(graph).user_ids().tolist(), start.tolist(), strict=True))
    assert rank[30] == pytest.approx(isolated / (1 - alpha), rel=1e-14)
    # Of 21 vertices with 40 entries.
    per_edge = isolated * alpha / (1 - alpha) * 21 / 40
    assert rank[0] == pytest.approx(isolated + 20 * per_edge, rel=1e-14)
    assert rank[5] == pytest.approx(isolated + per_edge, rel=1e-14)


def changed_rmat() -> tuple[PageRankResult, DynamicGraph]:
    """Ranks of an undirected graph, and the graph after a batch; vertices come and go with it."""
    src, dst = rmat_edges(np.arange(4_000, dtype=np.uint64), 9, seed=5)
    graph = DynamicGraph.from_edges(src, dst, directed=False)
    before = graph.pagerank()
    graph.delete_vertices(before.vertices[5:8])
    graph.insert_edges(src[:60], dst[60:120])
    graph.insert_edges([-1, -3, 5000], [-2, int(before.vertices[0]), 5001])
    return before, graph


def by_ranks(before: PageRankResult, graph: DynamicGraph) -> dict[int, float]:
    """Ranks before, and 1/n for vertices that have come."""
    start = dict(zip(before.vertices.tolist(), before.pagerank, strict=True))
    return {v: start.get(v, 1 / graph.num_vertices) for v in graph.vertices().tolist()}


@pytest.mark.usefixtures("engine")
def test_a_warm_start_goes_by_what_has_become_of_degrees() -> None:
    before, graph = changed_rmat()
    warm, of_ranks = (graph.pagerank(nstart=each) for each in (before, by_ranks(before, graph)))
    assert warm.iterations <= of_ranks.iterations - 2
    assert warm.iterations < graph.pagerank().iterations
    assert np.abs(warm.pagerank - exact_ranks(graph)).sum() <= warm.error_bound <= 7e-6


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "arguments", [{"networkx_tol": True, "tol": 1e-9}, {"personalization": {5000: 1.0}}]
)
def test_degrees_do_not_count_for_a_warm_start_of_other_steps(arguments: dict[str, Any]) -> None:
    before, graph = changed_rmat()
    warm = graph.pagerank(nstart=before, **arguments)
    of_ranks = graph.pagerank(nstart=by_ranks(before, graph), **arguments)
    assert warm.iterations == of_ranks.iterations


@pytest.mark.usefixtures("engine")
def test_without_damping_a_warm_start_is_the_ranks() -> None:
    graph = DynamicGraph(directed=False)
    graph.insert_edges([1], [2])
    before = graph.pagerank()
    graph.delete_edges([1], [2])
    graph.insert_vertices([3])
    found = graph.pagerank(alpha=1, nstart=before, max_iter=5000)
    np.testing.assert_allclose(found.pagerank, [1 / 3] * 3)


@pytest.mark.usefixtures("engine")
def test_a_warm_start_is_the_same_from_a_copy_of_the_result_and_of_an_epoch() -> None:
    before, graph = changed_rmat()
    expected = graph.pagerank(nstart=before)
    copied = graph.pagerank(nstart=pickle.loads(pickle.dumps(before)))
    assert copied.iterations == expected.iterations
    with graph.pin() as epoch:
        of_epoch = epoch.pagerank(nstart=before)
    assert of_epoch.iterations == expected.iterations
    assert of_epoch.pagerank.tobytes() == expected.pagerank.tobytes()
