"""PageRank against networkx, igraph, SciPy and LDBC's example answers."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
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
    random_graphs,
)
from graphtide import ConvergenceError, DynamicGraph, SettingsError, VertexNotFoundError
from graphtide.gpu_core.algorithms.centrality.pagerank_result import PageRankResult
from graphtide.gpu_core.algorithms.shared.adjacencies import adjacencies_of
from graphtide.gpu_core.algorithms.shared.surfer import Surfer
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.jit import parallel
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.testing import engine_of

CLOSE = 1e-9


def check_against_networkx(result: PageRankResult, graph: nx.Graph, **arguments: object) -> None:
    expected = nx.pagerank(graph, max_iter=5000, tol=1e-14, **arguments)
    assert result.vertices.tolist() == sorted(expected)
    np.testing.assert_allclose(
        result.pagerank, [expected[v] for v in sorted(expected)], rtol=0, atol=CLOSE
    )


def rmat_graph(scale: int, rows: int, **settings: object) -> DynamicGraph:
    graph = DynamicGraph(**settings)
    src, dst = rmat_edges(np.arange(rows, dtype=np.uint64), scale)
    weight = None
    if settings.get("records") == "weighted":
        weight = (1 + src % 7).astype(np.float32) / 8
    graph.insert_edges(src, dst, weight=weight)
    return graph


def distributions(graph: nx.Graph) -> st.SearchStrategy[dict[int, float] | None]:
    """Values of some vertices, not all 0."""
    values = st.dictionaries(
        st.sampled_from(sorted(graph)), st.sampled_from([0.0, 0.25, 1.0, 8.0]), min_size=1
    )
    return st.none() | values.filter(lambda chosen: sum(chosen.values()) > 0)


@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_random_graphs_as_networkx(data: st.DataObject) -> None:
    directed, weighted = data.draw(st.booleans()), data.draw(st.booleans())
    graph = data.draw(random_graphs(directed=directed, weighted=weighted))
    records = data.draw(st.sampled_from(["weighted", "semantic"] if weighted else ["simple"]))
    arguments = {
        "alpha": data.draw(st.sampled_from([0.0, 0.5, 0.85])),
        "weight": "weight" if weighted else None,
        "personalization": data.draw(distributions(graph)),
        "dangling": data.draw(distributions(graph)),
        "nstart": data.draw(distributions(graph)),
    }
    ours = from_networkx_graph(graph, records=records, **data.draw(st.sampled_from(SHAPES)))
    check_against_networkx(ours.pagerank(tol=1e-12, **arguments), graph, **arguments)


@pytest.mark.parametrize("example", [LDBC_DIRECTED, LDBC_UNDIRECTED], ids=["directed", "not"])
def test_two_iterations_give_the_answers_of_ldbc(example: Example) -> None:
    graph = graph_of(example.edges, directed=example.directed)
    # A tolerance that lies between the residuals of the first two plain iterations.
    result = graph.pagerank(tol=0.3 / graph.num_vertices, networkx_tol=True)
    assert result.iterations == 2
    assert dict(zip(result.vertices.tolist(), result.pagerank, strict=True)) == pytest.approx(
        example.pagerank, abs=1e-12
    )


def test_karate_as_igraph_with_personalization() -> None:
    import igraph  # not above: it loads Matplotlib, in each process that collects this file

    reset = {1: 3.0, 17: 1.0, 34: 0.5}
    oracle = igraph.Graph([(u - 1, v - 1) for u, v in KARATE])
    expected = oracle.personalized_pagerank(
        damping=0.7, reset=[reset.get(v + 1, 0) for v in range(34)]
    )
    result = graph_of(KARATE, directed=False).pagerank(alpha=0.7, personalization=reset, tol=1e-13)
    np.testing.assert_allclose(result.pagerank, expected, rtol=0, atol=CLOSE)


def test_a_pair_of_arrays_says_the_same_as_a_mapping() -> None:
    graph = graph_of(LDBC_DIRECTED.edges)
    as_mapping = graph.pagerank(personalization={10: 1, 4: 3}, dangling={9: 2}, nstart={1: 1})
    as_arrays = graph.pagerank(
        personalization=(np.array([4, 10]), np.array([3.0, 1.0])),
        dangling=([9], [1]),
        nstart=(np.array([1], np.uint8), [0.5]),
    )
    assert np.array_equal(as_mapping.pagerank, as_arrays.pagerank)
    assert as_mapping.iterations == as_arrays.iterations


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(map(str, shape.values())))
@pytest.mark.parametrize("records", ["simple", "weighted"])
def test_a_larger_graph_solves_the_equation(shape: dict[str, object], records: str) -> None:
    graph = rmat_graph(13, 100_000, records=records, **shape)
    weight = None if records == "simple" else "weight"
    result = graph.pagerank(tol=1e-12, weight=weight)
    snapshot = graph.to_csr()
    values = snapshot.properties["weight"] if weight else np.ones(graph.num_edges)
    count = graph.num_vertices
    matrix = sp.csr_array((values.astype(float), snapshot.indices, snapshot.indptr), (count, count))
    strength = matrix.sum(axis=1)
    x = result.pagerank
    shares = np.divide(x, strength, out=np.zeros(count), where=strength > 0)
    after = 0.85 * (matrix.T @ shares + x[strength == 0].sum() / count) + 0.15 / count
    assert np.abs(after - x).sum() < 1e-11
    assert x.sum() == pytest.approx(1, abs=1e-12)
    assert (strength == 0).sum() > 100, "the graph has no dangling vertices to get wrong"


def test_no_bit_depends_on_threads_layout_storage_or_stored_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bits = set()
    for shape in SHAPES:
        graph = rmat_graph(13, 200_000, records="weighted", **shape)
        for threads in (1, 2, 3, 7):
            monkeypatch.setattr(parallel, "thread_count", lambda count=threads: count)
            result = graph.pagerank(weight="weight", tol=1e-3)
            bits.add((result.pagerank.tobytes(), result.residual, result.iterations))
    assert len(bits) == 1


def test_sums_are_taken_in_more_than_one_block() -> None:
    # The test above shows something only if a graph of that size is cut.
    engine = engine_of(rmat_graph(13, 200_000, records="weighted"))
    uniform = engine.present() / engine.vertex_count
    strengths = engine.algorithms.pagerank.out_strengths(None, engine.rows("out"), weighted=False)
    surfer = Surfer(0.85, strengths, teleport=uniform, dangling=uniform)
    iteration = engine.algorithms.pagerank.Iteration(adjacencies_of(engine), surfer, uniform)
    assert iteration._bounds.size > 4


def test_the_residual_is_that_of_all_blocks_of_rows() -> None:
    count = 10_000
    ring = np.arange(count)
    graph = DynamicGraph(engine="host", ids="dense")
    graph.insert_edges(ring, np.roll(ring, 1))
    found = graph.pagerank(personalization={count - 1: 1}, tol=1e-3)
    # A ring hands on all that the first step has changed: 0.15 come from everywhere to one vertex.
    changed = 0.3 * (1 - 1 / count) * 0.85 ** (found.iterations - 1)
    assert found.residual == pytest.approx(changed, rel=1e-9)


def test_residual_bounds_the_distance_to_the_solution() -> None:
    graph = graph_of(KARATE)
    exact = graph.pagerank(tol=1e-15)
    rough = graph.pagerank(tol=1e-3)
    assert rough.residual <= 1e-3
    assert rough.iterations < exact.iterations
    distance = np.abs(rough.pagerank - exact.pagerank).sum()
    assert 0 < distance <= 0.85 / 0.15 * rough.residual


def test_networkx_tol_stops_where_networkx_stops() -> None:
    oracle = nx.Graph(KARATE)
    result = graph_of(KARATE, directed=False).pagerank(tol=1e-6, networkx_tol=True)
    expected = nx.pagerank(oracle, tol=1e-6, max_iter=result.iterations)
    assert result.pagerank == pytest.approx([expected[v] for v in sorted(oracle)], abs=1e-15)
    with pytest.raises(nx.PowerIterationFailedConvergence):
        nx.pagerank(oracle, tol=1e-6, max_iter=result.iterations - 1)
    assert graph_of(KARATE, directed=False).pagerank(tol=1e-6).residual <= 1e-6 < result.residual


def test_warm_start_keeps_survivors_and_admits_newcomers() -> None:
    graph = rmat_graph(10, 8_000)
    before = graph.pagerank(tol=1e-10)
    gone = before.vertices[5:8]
    graph.delete_vertices(gone)
    graph.insert_edges([-1, -1, int(before.vertices[0])], [-2, int(before.vertices[0]), -3])
    cold = graph.pagerank(tol=1e-10)
    warm = graph.pagerank(tol=1e-10, nstart=before)
    assert warm.iterations < cold.iterations
    np.testing.assert_allclose(warm.pagerank, cold.pagerank, rtol=0, atol=1e-9)

    # The start itself: survivors' ranks and 1/n for the rest, made to sum to 1.
    start = dict(zip(before.vertices.tolist(), before.pagerank, strict=True))
    by_hand = {v: start.get(v, 1 / graph.num_vertices) for v in graph.vertices().tolist()}
    explicit = graph.pagerank(tol=1e-10, nstart=by_hand)
    assert explicit.iterations == warm.iterations
    assert np.array_equal(explicit.pagerank, warm.pagerank)


def test_warm_start_from_the_answer_takes_one_iteration() -> None:
    graph = graph_of(KARATE, directed=False)
    result = graph.pagerank(tol=1e-8)
    assert graph.pagerank(tol=1e-8, nstart=result).iterations == 1


def test_warm_start_without_any_rank_left_is_a_cold_start() -> None:
    graph = graph_of([(1, 2), (2, 1), (3, 3)], self_loops="keep")
    elsewhere = graph.pagerank(personalization={3: 1}, alpha=0)
    graph.delete_vertices([3])
    assert np.array_equal(graph.pagerank(nstart=elsewhere).pagerank, [0.5, 0.5])
    empty = DynamicGraph().pagerank()
    assert np.array_equal(graph.pagerank(nstart=empty).pagerank, [0.5, 0.5])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_deleted_vertices_have_no_rank(layout: str) -> None:
    graph = graph_of(KARATE, directed=False, layout=layout)
    graph.delete_vertices([1, 34])
    oracle = nx.Graph(KARATE)
    oracle.remove_nodes_from([1, 34])
    check_against_networkx(graph.pagerank(tol=1e-12), oracle)


def test_graphs_of_no_and_of_one_vertex() -> None:
    graph = DynamicGraph()
    for _ in range(2):
        result = graph.pagerank()
        assert result.vertices.dtype == np.int64
        assert result.pagerank.dtype == np.float64
        assert result.vertices.size == result.pagerank.size == result.iterations == 0
        # Afterwards there are vertex records, but none of them is in the graph.
        graph.insert_edges([1, 2], [2, 3])
        graph.delete_vertices([1, 2, 3])
    graph.insert_vertices([7])
    assert graph.pagerank().pagerank.tolist() == [1.0]
    assert graph.pagerank().vertices.tolist() == [7]


def test_not_converging_is_an_error_with_iterations_and_residual() -> None:
    with pytest.raises(ConvergenceError, match=r"after 3 iterations the residual is 0\.\d+, above"):
        graph_of(LDBC_DIRECTED.edges).pagerank(max_iter=3, tol=1e-12)
    # An even cycle without damping goes to and fro for ever.
    with pytest.raises(ConvergenceError, match="after 500 iterations the residual is 2, above"):
        graph_of([(1, 2), (2, 1)]).pagerank(alpha=1, nstart={1: 1})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 1.5}, "alpha=1.5 is not a damping factor"),
        ({"alpha": float("nan")}, "alpha=nan is not a damping factor"),
        ({"tol": -1e-3}, "tol=-0.001 is not a tolerance"),
        ({"tol": float("inf")}, "tol=inf is not a tolerance; it must be >= 0, and finite"),
        ({"max_iter": 0}, "max_iter=0 allows no iteration"),
        ({"weight": "cost"}, "weight='cost' is unknown"),
        ({"weight": "weight"}, "records are simple"),
        ({"personalization": {1: 0, 2: 0}}, "values of personalization sum to 0.0"),
        ({"personalization": {}}, "values of personalization sum to 0.0"),
        ({"dangling": {1: 0}}, "values of dangling sum to 0.0"),
        ({"nstart": {1: 0}}, "values of nstart sum to 0.0"),
        ({"nstart": {1: 1, 2: -1}}, "nstart gives vertex 2 the value -1.0"),
        ({"dangling": {3: float("inf")}}, "dangling gives vertex 3 the value inf"),
        ({"dangling": {1: 1e308, 2: 1e308}}, "values of dangling sum to inf"),
        ({"dangling": ([1, 1], [1, 2])}, "dangling names vertex 1 more than once"),
        ({"dangling": ([1, 2], [1])}, "pair of arrays of one length"),
        ({"dangling": {"one": 1}}, r"dangling must map vertices \(int64\)"),
        ({"dangling": {2**63: 1}}, r"dangling must map vertices \(int64\)"),
        ({"nstart": {1: "much"}}, "nstart is neither a mapping"),
        ({"nstart": 3}, "nstart is neither a mapping"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        graph_of(KARATE).pagerank(**arguments)


@pytest.mark.parametrize("name", ["personalization", "dangling", "nstart"])
def test_unknown_vertices_are_refused_by_name(name: str) -> None:
    graph = graph_of(KARATE)
    graph.delete_vertices([34])
    for vertex in (34, 35, -1):
        with pytest.raises(VertexNotFoundError, match=f"{name} names vertex {vertex}, which"):
            graph.pagerank(**{name: {1: 1.0, vertex: 1.0}})


def test_a_run_skips_unknown_vertices_and_refuses_values_of_0() -> None:
    graph = graph_of(KARATE, engine="host")
    known = graph.compute("pagerank", personalization={1: 1.0, 99: 5.0})
    assert known.pagerank.tolist() == graph.pagerank(personalization={1: 1}).pagerank.tolist()
    assert not graph.compute("pagerank", personalization={99: 1.0}).pagerank.any()
    for nothing in ({1: 0.0}, {1: 0.0, 99: 0.0}):
        with pytest.raises(SettingsError, match="values of personalization sum to 0"):
            graph.compute("pagerank", personalization=nothing)


@pytest.mark.parametrize("weight", [-1.0, -1e-40])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_weights_below_0_are_refused(weight: float, layout: str) -> None:
    graph = DynamicGraph(records="weighted", layout=layout)
    graph.insert_edges([5, 6, 6], [6, 5, 7], weight=[1.0, 1.0, weight])
    with pytest.raises(
        SettingsError, match=r"from vertex 6 has a negative one.* \(in settings: null\)"
    ):
        graph.pagerank(weight="weight")
    assert graph.pagerank().pagerank.sum() == pytest.approx(1)


@pytest.mark.parametrize("weight", [1e308, 5e-324])
def test_weights_that_cannot_be_added_up_or_shared_are_refused(engine: str, weight: float) -> None:
    """Their vertex would be taken for a dangling one, or its neighbors drawn too coarsely."""
    graph = DynamicGraph(records="weighted64", engine=engine)
    graph.insert_edges([5, 6, 6], [6, 5, 7], weight=[1.0, weight, weight])
    calls = (
        lambda: graph.pagerank(weight="weight"),
        lambda: graph.personalized_pagerank([5], weight="weight"),
        lambda: graph.random_walks([5], 2, weight="weight"),
        lambda: graph.sample_neighbors([6], [1], weight="weight", direction="out"),
    )
    for call in calls:
        with pytest.raises(
            SettingsError, match=r"from vertex 6 has a .* add up to more than 1\.8e"
        ):
            call()
    every = graph.sample_neighbors([6], [-1], weight="weight", direction="out")
    assert every.edge_index.shape == (2, 2), "none is drawn where all are taken"
    graph.insert_edges([6, 6], [5, 7], weight=[0.0, 0.0])
    assert graph.pagerank(weight="weight").pagerank.sum() == pytest.approx(1)
