"""PageRank of undirected graphs, whose steps go beyond plain ones, on both engines."""

from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphtide import ConvergenceError, DynamicGraph
from graphtide.gpu_core.algorithms.centrality import pagerank as neutral_pagerank
from graphtide.gpu_core.algorithms.shared.adjacencies import adjacencies_of
from graphtide.gpu_core.algorithms.shared.surfer import Surfer
from graphtide.gpu_core.host.analytics.centrality.chebyshev import Chebyshev, random_radius
from graphtide.testing import engine_of
from image_engine import ImageEngine, check_pagerank


def undirected(edges: Any, weight: Any = None) -> DynamicGraph:
    src, dst = np.array(edges).T
    records = "simple" if weight is None else "weighted"
    graph = DynamicGraph(directed=False, records=records, engine="host", arena_bytes=4 << 20)
    graph.insert_edges(src, dst, weight=weight)
    return graph


def grid(width: int = 30) -> DynamicGraph:
    return undirected(nx.convert_node_labels_to_integers(nx.grid_2d_graph(width, width)).edges())


def star() -> DynamicGraph:
    """Errors from an even start are all of one eigenvalue, -1."""
    return undirected([(0, leaf) for leaf in range(1, 300)])


def bipartite() -> DynamicGraph:
    return undirected(nx.complete_bipartite_graph(20, 70).edges())


def random() -> DynamicGraph:
    return undirected(nx.gnm_random_graph(1000, 8000, seed=3).edges())


def dense() -> DynamicGraph:
    return undirected(nx.gnm_random_graph(120, 5000, seed=3).edges())


def random_with_tail() -> DynamicGraph:
    """Residuals fall fast at first, and then as slowly as a path lets them."""
    graph = nx.gnm_random_graph(600, 9000, seed=4)
    nx.add_path(graph, [0, *range(600, 640)])
    return undirected(graph.edges())


def with_isolated_vertices() -> DynamicGraph:
    graph = grid(12)
    graph.insert_vertices(range(1000, 1400))
    graph.delete_vertices([5, 77, 1003])
    return graph


def weighted() -> DynamicGraph:
    edges = np.array(nx.gnm_random_graph(300, 1200, seed=6).edges())
    weight = np.random.default_rng(0).lognormal(0, 1.5, len(edges)).astype(np.float32)
    return undirected(edges, weight)


def below_0() -> DynamicGraph:
    """A weighted cycle; a personalization of one vertex is so far from most that ranks are tiny."""
    vertices = np.arange(101)
    weight = np.random.default_rng(0).lognormal(0, 2, vertices.size).astype(np.float32)
    return undirected(np.stack([vertices, np.roll(vertices, -1)], axis=1), weight)


def unlike_strengths(vertices: int = 60) -> DynamicGraph:
    """A path, each of whose edges weighs far more than the one before: rounding grows by steps."""
    path = np.arange(vertices)
    weight = np.logspace(-30, 30, vertices - 1).astype(np.float32)
    return undirected(np.stack([path[:-1], path[1:]], axis=1), weight)


GRAPHS = [
    grid,
    star,
    bipartite,
    random,
    dense,
    random_with_tail,
    with_isolated_vertices,
    weighted,
    below_0,
]


@pytest.fixture(params=GRAPHS, ids=lambda make: make.__name__)
def graph(request: pytest.FixtureRequest) -> DynamicGraph:
    made: DynamicGraph = request.param()
    return made


def arguments_of(graph: DynamicGraph) -> dict[str, Any]:
    return {"weight": "weight" if graph.records == "weighted" else None}


def plain_pagerank(graph: DynamicGraph, *, tol: float, **arguments: Any) -> Any:
    """As networkx does it: power iteration."""
    return graph.pagerank(tol=tol / graph.num_vertices, networkx_tol=True, **arguments)


@pytest.mark.parametrize("alpha", [0.5, 0.85, 0.99])
@pytest.mark.parametrize("spread", [False, True], ids=["even", "one"])
def test_ranks_are_within_their_bound_after_no_more_steps_than_plain_ones(
    graph: DynamicGraph, alpha: float, spread: bool
) -> None:
    first = int(graph.vertices()[0])
    arguments = {"alpha": alpha, "max_iter": 5000, **arguments_of(graph)}
    arguments |= {"personalization": {first: 1}, "nstart": {first + 1: 1}} if spread else {}
    exact = plain_pagerank(graph, tol=1e-11, **arguments)
    for tol in (1e-4, 1e-6, 1e-8):
        plain = plain_pagerank(graph, tol=tol, **arguments)
        found = graph.pagerank(tol=tol, **arguments)
        assert found.iterations <= plain.iterations + 1
        assert found.residual <= tol
        assert found.pagerank.min() >= 0
        apart = np.abs(found.pagerank - exact.pagerank).sum()
        assert apart <= alpha / (1 - alpha) * (found.residual + 1e-11)
        assert abs(found.pagerank.sum() - 1) <= apart + 1e-12


@pytest.mark.parametrize(
    ("make", "share"),
    [(grid, 0.6), (star, 0.35), (bipartite, 0.45), (random, 0.85), (random_with_tail, 0.6)],
)
def test_fewer_steps_are_needed_than_plain_ones(
    make: Callable[[], DynamicGraph], share: float
) -> None:
    graph = make()
    ahead, plain = graph.pagerank(tol=1e-8), plain_pagerank(graph, tol=1e-8)
    assert ahead.iterations <= share * plain.iterations


def test_a_warm_start_needs_fewer_steps_than_plain_ones_too() -> None:
    graph = grid(40)
    before = graph.pagerank(tol=1e-8)
    vertices = np.random.default_rng(2).integers(0, 1600, (2, 30))
    graph.insert_edges(*vertices)
    ahead = graph.pagerank(tol=1e-8, nstart=before)
    assert ahead.iterations <= 0.6 * plain_pagerank(graph, tol=1e-8, nstart=before).iterations
    assert graph.pagerank(tol=1e-8, nstart=ahead).iterations == 1


def test_ranks_as_networkx(graph: DynamicGraph) -> None:
    edges = graph.edges()
    weight = edges.properties.get("weight", np.ones(edges.src.size))
    oracle = nx.Graph()
    oracle.add_nodes_from(graph.vertices().tolist())
    oracle.add_weighted_edges_from(
        zip(edges.src.tolist(), edges.dst.tolist(), weight.tolist(), strict=True)
    )
    expected = nx.pagerank(oracle, tol=1e-14, max_iter=5000)
    found = graph.pagerank(tol=1e-12, **arguments_of(graph))
    np.testing.assert_allclose(
        found.pagerank, [expected[v] for v in sorted(expected)], rtol=0, atol=1e-9
    )


def test_what_ends_the_iteration_is_a_plain_step() -> None:
    # Such a step leaves alpha of an error that is all of the eigenvalue -1, and turns its sign.
    exact = star().pagerank(tol=1e-13)
    for tol in np.logspace(-1, -8, 9):
        found = star().pagerank(tol=tol)
        apart = np.abs(found.pagerank - exact.pagerank).sum()
        assert apart == pytest.approx(0.85 / 1.85 * found.residual, rel=1e-3)


def result_or_error(call: Callable[..., Any], **arguments: Any) -> Any:
    try:
        return call(**arguments)
    except ConvergenceError as error:
        return error


def test_the_last_step_that_is_allowed_is_a_plain_one_too() -> None:
    graph = star()
    exact = graph.pagerank(tol=1e-13)
    ended = 0
    for tol in np.logspace(0.3, -7, 60):
        steps = graph.pagerank(tol=tol).iterations
        assert graph.pagerank(tol=tol, max_iter=steps).iterations == steps
        found = result_or_error(graph.pagerank, tol=tol, max_iter=max(steps - 1, 1))
        if not isinstance(found, ConvergenceError):
            # Where more steps were allowed this one was not foreseen to be the last.
            apart = np.abs(found.pagerank - exact.pagerank).sum()
            assert apart == pytest.approx(0.85 / 1.85 * found.residual, rel=1e-3)
            ended += steps > 1
    assert ended > 0, "no tolerance shows it"


def test_three_residuals_of_one_factor_tell_it() -> None:
    steps, factor = Chebyshev(0.85, 1000, 16_000), 0.7
    residual, before, beyond, last = 1.0, 0.0, 0.0, 0.0
    for _ in range(12):
        last, beyond = beyond, steps.next_step(0.0, is_last=False)
        steps.record(residual)
        residual, before = (1 + beyond) * factor * residual - beyond * before, residual
    assert 1 + beyond == pytest.approx(1 / (1 - factor**2 * (1 + last) / 4), rel=1e-12)


def test_vectors_on_the_way_are_negative_where_ranks_are_not() -> None:
    graph = below_0()
    engine = engine_of(graph)
    twin = engine.algorithms.pagerank
    one = np.zeros(engine.vertex_count)
    one[33] = 1
    strengths = twin.out_strengths(None, engine.rows("out", weighted=True), weighted=True)
    even = engine.present() / engine.num_vertices
    adjacencies = adjacencies_of(engine, weighted=True)
    surfer = Surfer(0.85, strengths, weighted=True, teleport=one, dangling=one)
    iteration = twin.Iteration(adjacencies, surfer, even)
    steps, least = Chebyshev(0.85, 101, iteration.entries), 0.0
    for _ in range(40):
        steps.record(iteration.step(steps.next_step(0.0, is_last=False)))
        least = min(least, iteration.x.min())
    assert least < -1e-6
    for tol in np.logspace(-1, -8, 15):
        found = graph.pagerank(tol=tol, weight="weight", personalization={33: 1})
        assert found.pagerank.min() >= 0


@pytest.mark.parametrize("start", [None, {0: 1.0}], ids=["even", "one"])
@pytest.mark.parametrize("vertices", [60, 200])
def test_strengths_that_differ_beyond_measure_cost_few_steps(
    vertices: int, start: dict[int, float] | None
) -> None:
    # 3,000 steps did not do while nothing was made of residuals that stay.
    graph = unlike_strengths(vertices)
    arguments = {"alpha": 0.99, "weight": "weight", "nstart": start, "max_iter": 3000}
    plain = plain_pagerank(graph, tol=1e-8, **arguments)
    ahead = graph.pagerank(tol=1e-8, **arguments)
    assert ahead.iterations <= 2 * plain.iterations
    assert np.abs(ahead.pagerank - plain.pagerank).sum() <= 2 * 0.99 / 0.01 * 1e-8


def test_without_damping_steps_are_plain() -> None:
    # An even cycle without damping goes to and fro for ever.
    with pytest.raises(ConvergenceError, match="after 500 iterations the residual is 2, above"):
        undirected([(1, 2)]).pagerank(alpha=1, nstart={1: 1})
    # An error of the eigenvalue 0: gone after one plain step, but not after others of radius 1.
    path = undirected([(1, 2), (2, 3)])
    assert path.pagerank(alpha=1, nstart={1: 1, 2: 1}).iterations == 2


def test_the_first_radius_is_that_of_a_random_graph() -> None:
    for vertices, edges in ((1000, 8000), (600, 30_000)):
        matrix = nx.to_numpy_array(nx.gnm_random_graph(vertices, edges, seed=1))
        strength = matrix.sum(axis=1)
        eigenvalues = np.linalg.eigvalsh(matrix / np.sqrt(np.outer(strength, strength)))
        radius = max(eigenvalues[-2], -eigenvalues[0])
        assert random_radius(vertices, 2 * edges) == pytest.approx(radius, rel=0.1)
    assert random_radius(50, 50 * 49) == 0
    assert random_radius(50, 98) == 1, "of a tree"
    assert random_radius(1, 7) == random_radius(0, 0) == 0, "where nothing is passed on"


# -- both engines ----------------------------------------------------------------------------


def test_a_device_makes_the_steps_of_the_host(device: Any, graph: DynamicGraph) -> None:
    first = int(graph.vertices()[0])
    arguments = arguments_of(graph)
    for each in (
        {"tol": 1e-4},
        {"tol": 1e-10, "alpha": 0.95},
        {"personalization": {first: 1}, "nstart": {first + 1: 1}, "dangling": {first + 2: 1}},
    ):
        found = check_pagerank(device, graph, **arguments, **each)
        assert found.pagerank.min() >= 0


@pytest.mark.parametrize("make", [star, grid])
def test_a_device_ends_where_the_host_ends_whatever_is_allowed(
    device: Any, make: Callable[[], DynamicGraph]
) -> None:
    graph = make()
    ranked = partial(neutral_pagerank.pagerank, ImageEngine(device, graph))
    for tol in np.logspace(0.2, -6, 7):
        steps = graph.pagerank(tol=tol).iterations
        for most in range(max(steps - 2, 1), steps + 2):
            host = result_or_error(graph.pagerank, tol=tol, max_iter=most)
            found = result_or_error(ranked, tol=tol, max_iter=most)
            if isinstance(host, ConvergenceError):
                assert str(found) == str(host)
            else:
                assert found.iterations == host.iterations
                np.testing.assert_allclose(found.pagerank, host.pagerank, rtol=0, atol=1e-12)


def test_a_device_has_no_negative_ranks_either(device: Any) -> None:
    graph = below_0()
    for tol in np.logspace(-1, -6, 9):
        found = check_pagerank(
            device, graph, tol=tol, weight="weight", personalization={33: 1}, dangling={33: 1}
        )
        assert found.pagerank.min() >= 0


def test_a_device_adds_up_negative_ranks_of_isolated_vertices(device: Any) -> None:
    # All that they have leaves them at once, and a step beyond that owes it.
    graph = with_isolated_vertices()
    check_pagerank(device, graph, nstart={1300: 1}, personalization={0: 1})


def test_vertices_without_edges_take_no_more_steps_than_plain_ones(device: Any) -> None:
    graph = DynamicGraph(directed=False, engine="host", arena_bytes=4 << 20)
    graph.insert_vertices(range(50))
    arguments = {"alpha": 0.95, "personalization": {0: 1}}
    plain = plain_pagerank(graph, tol=1e-6, **arguments)
    assert graph.pagerank(tol=1e-6, **arguments).iterations == plain.iterations == 2
    assert check_pagerank(device, graph, tol=1e-6, **arguments).iterations == 2


def test_a_device_that_repeats_gives_the_same_bits(device: Any, graph: DynamicGraph) -> None:
    engine, arguments = ImageEngine(device, graph), arguments_of(graph)
    bits = set()
    for _ in range(3):
        found = neutral_pagerank.pagerank(engine, tol=1e-7, **arguments)
        bits.add((found.pagerank.tobytes(), found.residual, found.iterations))
    assert len(bits) == 1


@pytest.mark.parametrize("start", [None, {0: 1.0}], ids=["even", "one"])
def test_a_device_finds_ranks_where_strengths_differ_beyond_measure(
    device: Any, start: dict[int, float] | None
) -> None:
    # Steps may differ from the host's: rounding decides how residuals fall.
    graph = unlike_strengths()
    arguments = {"alpha": 0.99, "weight": "weight", "nstart": start, "max_iter": 3000}
    plain = plain_pagerank(graph, tol=1e-8, **arguments)
    found = neutral_pagerank.pagerank(ImageEngine(device, graph), tol=1e-8, **arguments)
    assert found.iterations <= 2 * plain.iterations
    assert np.abs(found.pagerank - plain.pagerank).sum() <= 2 * 0.99 / 0.01 * 1e-8
