"""PageRank from many sources against networkx and exact ranks; on every engine and shape."""

import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphs import KARATE, SHAPES, from_networkx_graph, graph_of, random_graphs
from graphtide import ConvergenceError, DynamicGraph, SettingsError, VertexNotFoundError
from graphtide.gpu_core.generators.rmat import rmat_edges


# It draws layouts by itself.
@pytest.mark.runs
@given(
    source=st.booleans().flatmap(lambda directed: random_graphs(directed=directed, weighted=True)),
    shape=st.sampled_from(SHAPES),
    records=st.sampled_from(["simple", "weighted", "weighted64"]),
    alpha=st.sampled_from([0.0, 0.5, 0.85]),
)
@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_ranks_as_networkx(
    engine: str, source: nx.Graph, shape: dict[str, object], records: str, alpha: float
) -> None:
    graph = from_networkx_graph(source, engine=engine, records=records, **shape)
    weight = None if records == "simple" else "weight"
    sources = sorted(source)
    found = graph.personalized_pagerank(sources, alpha=alpha, tol=1e-12, weight=weight)
    ranks = found.pagerank.reshape(len(sources), -1)
    assert found.vertex.reshape(ranks.shape).tolist() == [sources] * len(sources)
    for number, vertex in enumerate(sources):
        expected = nx.pagerank(
            source, alpha, {vertex: 1}, weight=weight, tol=1e-14, max_iter=10_000
        )
        apart = np.abs(ranks[number] - [expected[each] for each in sources]).sum()
        assert apart <= found.error_bound[number] + 1e-12


def _skewed(**kind: object) -> DynamicGraph:
    """Hubs, of which one has the row of a block, vertices without out-edges, and gaps."""
    graph = DynamicGraph(records="weighted", **kind)
    src, dst = rmat_edges(np.arange(2_000, dtype=np.uint64), 8)
    graph.insert_edges(4_000 - 7 * src, 4_000 - 7 * dst, weight=(src + dst) % 5 / 4)
    leaves = np.arange(10_000, 11_100)
    graph.insert_edges(leaves, np.full_like(leaves, 4_000), weight=leaves % 3 + 1)
    graph.delete_vertices(graph.vertices()[5:100:9])
    graph.insert_vertices([-5, 70_000])
    return graph


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_bounds_hold_and_the_exact_ranks_are_within_them(
    engine: str, reverse: bool, weight: str | None
) -> None:
    graph = _skewed(reverse=reverse)
    vertices = graph.vertices()
    sources = [*vertices[::170].tolist(), -5, 4_000, 4_000]
    edges = graph.edges()
    rows, columns = np.searchsorted(vertices, edges.src), np.searchsorted(vertices, edges.dst)
    amounts = edges.properties["weight"] if weight else np.ones(rows.size)
    shape = vertices.size, vertices.size
    matrix = sparse.csr_matrix((amounts.astype(float), (rows, columns)), shape)
    strength = np.asarray(matrix.sum(axis=1)).ravel()
    inverse = np.divide(1, strength, where=strength > 0, out=np.zeros_like(strength))
    shares = matrix.T.multiply(inverse).tocsr()
    for tol in (1e-3, 1e-10):
        found = graph.personalized_pagerank(sources, tol=tol, weight=weight)
        ranks = found.pagerank.reshape(len(sources), -1)
        assert (found.residual <= tol).all()
        assert (found.error_bound <= 8 * tol).all()
        for number, vertex in enumerate(sources):
            jump = (vertices == vertex).astype(float)
            exact = jump
            for _ in range(300):
                lost = exact[strength == 0].sum()
                exact = 0.85 * (shares @ exact + lost * jump) + 0.15 * jump
            assert np.abs(ranks[number] - exact).sum() <= found.error_bound[number]


def test_a_bound_is_not_far_from_the_error(engine: str) -> None:
    # On a long cycle the error is alpha times the residual, and the bound that over 1 - alpha.
    count = 400
    graph = DynamicGraph(ids="dense")
    graph.insert_edges(np.arange(count), (np.arange(count) + 1) % count)
    found = graph.personalized_pagerank([0, 7], tol=1e-3)
    for number, source in enumerate((0, 7)):
        ranks = np.roll(found.pagerank.reshape(2, -1)[number], -source)
        exact = 0.15 * 0.85 ** np.arange(count) / (1 - 0.85**count)
        apart, bound = np.abs(ranks - exact).sum(), found.error_bound[number]
        assert 0.14 * bound < apart <= 0.16 * bound


def test_rank_comes_back_from_all_blocks_of_rows() -> None:
    """From the leaves of a star, which have no out-edges."""
    count = 3_000
    graph = DynamicGraph(engine="host", ids="dense")
    graph.insert_edges(np.zeros(count, np.int64), np.arange(1, count + 1))
    found = graph.personalized_pagerank(0, tol=1e-9)
    center = 0.15 / (1 - 0.85**2)
    np.testing.assert_allclose(found.pagerank[0], center, rtol=1e-8)
    np.testing.assert_allclose(found.pagerank[1:], 0.85 * center / count, rtol=1e-8)
    assert found.residual == pytest.approx(1.7 * 0.85 ** (found.iterations - 1), rel=1e-2)


def test_each_source_is_as_it_is_alone(engine: str) -> None:
    graph = _skewed()
    sources = graph.vertices()[::160].tolist()
    found = graph.personalized_pagerank(sources, tol=1e-4)
    assert np.unique(found.iterations).size > 1
    steps = int(found.iterations.max())
    just = graph.personalized_pagerank(sources, tol=1e-4, max_iter=steps)
    assert just.pagerank.tolist() == found.pagerank.tolist(), "the last step is one that is allowed"
    with pytest.raises(ConvergenceError, match=f"after {steps - 1} iterations"):
        graph.personalized_pagerank(sources, tol=1e-4, max_iter=steps - 1)
    for number in (0, 3, len(sources) - 1):
        alone = graph.personalized_pagerank(sources[number], tol=1e-4)
        of_it = found.source == sources[number]
        assert found.pagerank[of_it].tolist() == alone.pagerank.tolist()
        assert alone.iterations.tolist() == [found.iterations[number]]
        assert alone.error_bound.tolist() == [found.error_bound[number]]
        one = graph.pagerank(personalization={sources[number]: 1}, tol=1e-12)
        assert np.abs(one.pagerank - alone.pagerank).sum() <= found.error_bound[number] + 1e-10


def test_the_largest_ranks_of_each_source(engine: str) -> None:
    graph = graph_of(KARATE, directed=False)
    found = graph.personalized_pagerank([34, 1], k=3)
    assert found.sources.tolist() == [34, 1]
    assert found.source.tolist() == [34] * 3 + [1] * 3
    for source in (34, 1):
        ranks = graph.pagerank(personalization={source: 1}, tol=1e-9)
        top = ranks.top(3)
        assert found.vertex[found.source == source].tolist() == top["vertex"].tolist()
    assert pickle.loads(pickle.dumps(found)).error_bound.tolist() == found.error_bound.tolist()
    exact = graph.personalized_pagerank([1], k=1, alpha=0, tol=0)
    assert (exact.pagerank.tolist(), exact.iterations.tolist()) == ([1], [1])
    assert len(graph.personalized_pagerank([1], k=0)) == 0
    assert len(graph.personalized_pagerank([1], k=100)) == 34
    assert (
        len(graph.personalized_pagerank([])) == len(DynamicGraph().personalized_pagerank([])) == 0
    )
    with graph.pin() as epoch:
        graph.delete_vertices([34])
        assert (
            epoch.personalized_pagerank([34, 1], k=3).pagerank.tolist() == found.pagerank.tolist()
        )
    names = DynamicGraph(ids="string")
    names.insert_edges(["ann"], ["bob"])
    [row] = names.personalized_pagerank("ann", k=1)
    assert row[:2] == ("ann", "ann")


def test_wrong_arguments_are_refused() -> None:
    graph = DynamicGraph(records="weighted", engine="host")
    graph.insert_edges([1, 2], [2, 3], weight=[1, -1])
    for arguments, error, message in (
        ({"sources": [9]}, VertexNotFoundError, "vertex 9 is not in the graph"),
        ({"k": -1}, SettingsError, "k=-1 is not a whole number"),
        ({"alpha": 2}, SettingsError, "alpha=2 is not a damping factor"),
        ({"tol": -1}, SettingsError, "tol=-1 is not a tolerance"),
        ({"weight": "weight"}, SettingsError, "an edge from vertex 2 has a negative one"),
        ({"max_iter": 2}, ConvergenceError, "PageRank from vertex 1 did not converge: after 2"),
    ):
        with pytest.raises(error, match=message):
            graph.personalized_pagerank(**({"sources": [1]} | arguments))
