"""Katz centrality against networkx and a linear solver; on every engine and shape."""

from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphtide
from emulated_device import EmulatedDevice
from graphs import KARATE, SHAPES, from_networkx_graph, graph_of, random_graphs
from graphtide import ConvergenceError, DynamicGraph, SettingsError
from graphtide.gpu_core.algorithms.centrality.katz_centrality import ANALYTIC, katz_centrality
from graphtide.gpu_core.cuda.analytics.centrality import katz_centrality as katz_on_device
from graphtide.gpu_core.cuda.analytics.parts import slices
from graphtide.gpu_core.generators.rmat import rmat_edges
from image_engine import ImageEngine, changed_graph


# It draws layouts by itself.
@pytest.mark.runs
@given(
    source=st.booleans().flatmap(lambda directed: random_graphs(directed=directed, weighted=True)),
    shape=st.sampled_from(SHAPES),
    records=st.sampled_from(["simple", "weighted", "weighted64"]),
    alpha=st.sampled_from([0.0, 0.01, 0.05]),
    beta=st.sampled_from([1.0, -2.5, 0.0]),
    normalized=st.booleans(),
)
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_values_as_networkx(
    engine: str,
    source: nx.Graph,
    shape: dict[str, object],
    records: str,
    alpha: float,
    beta: float,
    normalized: bool,
) -> None:
    graph = from_networkx_graph(source, engine=engine, records=records, **shape)
    weight = None if records == "simple" else "weight"
    given = {"alpha": alpha, "beta": beta, "normalized": normalized, "weight": weight}
    try:
        found = nx.katz_centrality(source, **given)
    except nx.PowerIterationFailedConvergence:
        with pytest.raises(ConvergenceError, match="did not converge"):
            graph.katz_centrality(**given)
        return
    result = graph.katz_centrality(**given)
    assert result.vertices.tolist() == sorted(source)
    expected = [found[vertex] for vertex in sorted(source)]
    # The same steps, in another order of adding.
    np.testing.assert_allclose(result.katz_centrality, expected, rtol=1e-12, atol=1e-14)


def skewed_graph(**meaning: object) -> DynamicGraph:
    src, dst = rmat_edges(np.arange(3_000, dtype=np.uint64), 9)
    graph = DynamicGraph(**meaning)
    graph.insert_edges(4_000 - 7 * src, 4_000 - 7 * dst)
    graph.delete_vertices(graph.vertices()[5:200:9])
    graph.insert_vertices([-5, 70_000])
    return graph


@cache
def solution(directed: bool) -> tuple[float, np.ndarray]:
    """An alpha of which 84 steps come to 1e-13, and the values: for all engines and shapes."""
    matrix = graphtide.to_scipy(skewed_graph(directed=directed, engine="host"))
    dense = matrix.toarray().astype(float)
    size = len(dense)
    alpha = 0.7 / np.abs(np.linalg.eigvals(dense)).max()
    return alpha, np.linalg.solve(np.eye(size) - alpha * dense.T, np.full(size, 2.0))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_skewed_graphs_solve_the_equation(engine: str, directed: bool, reverse: bool) -> None:
    graph = skewed_graph(directed=directed, reverse=reverse)
    alpha, expected = solution(directed)
    result = graph.katz_centrality(alpha=alpha, beta=2.0, tol=1e-13, normalized=False)
    np.testing.assert_allclose(result.katz_centrality, expected, rtol=1e-9)
    again = graph.katz_centrality(alpha=alpha, beta=2.0, tol=1e-13)
    assert np.linalg.norm(again.katz_centrality) == pytest.approx(1)
    expected = expected / np.linalg.norm(expected)
    np.testing.assert_allclose(again.katz_centrality, expected, rtol=1e-9)


def test_an_alpha_that_is_too_large_is_told(engine: str) -> None:
    graph = graph_of(KARATE, directed=False)
    with pytest.raises(ConvergenceError, match=r"the values grow for ever; lower alpha=0.5"):
        graph.katz_centrality(alpha=0.5)
    with pytest.raises(ConvergenceError, match=r"step 7 .* raise max_iter or tol, or lower"):
        graph.katz_centrality(max_iter=7)
    graph.delete_vertices(graph.vertices())
    for empty in (graph, DynamicGraph()):
        assert empty.katz_centrality().katz_centrality.size == 0


@pytest.mark.parametrize(("weight", "storage"), [(None, "soa"), (None, "aos"), ("weight", "aos")])
def test_every_step_is_one_of_the_definition(engine: str, weight: str | None, storage: str) -> None:
    """Also the first ones, of equal values; what each changes is told where it is the last."""
    graph = skewed_graph(records="weighted", storage=storage)
    edges = graph.edges()
    graph.insert_edges(edges.src, edges.dst, weight=np.arange(edges.src.size) % 7)
    matrix = graph.to_scipy(weight=weight).toarray().astype(float)
    size, before = len(matrix), np.zeros(len(matrix))
    for steps in range(1, 6):
        values = 1e-3 * (matrix.T @ before) + 2.5
        change = np.abs(values - before).sum() / size
        given = {"alpha": 1e-3, "beta": 2.5, "weight": weight, "normalized": False}
        result = graph.katz_centrality(tol=change * 1.01, **given)
        assert result.iterations == steps
        np.testing.assert_allclose(result.katz_centrality, values, rtol=1e-12)
        with pytest.raises(ConvergenceError, match=rf"step {steps} .* by {change * size:.3g};"):
            graph.katz_centrality(tol=change * 0.99, max_iter=steps, **given)
        before = values


def test_sums_over_several_blocks_of_rows_end_the_steps_and_are_the_norm() -> None:
    count = 10_000
    ring = np.arange(count)
    graph = DynamicGraph(engine="host", ids="dense")
    graph.insert_edges(ring, np.roll(ring, 1))
    # Step k changes every value by 2^(1 - k), and 2^-19 is a little more than this.
    found = graph.katz_centrality(alpha=0.5, tol=1.9e-6)
    assert found.iterations == 21
    np.testing.assert_allclose(found.katz_centrality, 1 / np.sqrt(count), rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": np.nan}, "alpha=nan is not finite"),
        ({"beta": np.inf}, "beta=inf is not from"),
        ({"max_iter": 0}, "max_iter=0 allows no iteration"),
        ({"tol": 0}, "tol=0 is not a tolerance"),
        ({"tol": np.inf}, "tol=inf is not a tolerance; it must be > 0, and finite"),
        ({"weight": "length"}, "weight='length' is unknown"),
        ({"weight": "weight"}, "weight='weight' needs weights, but the graph's records are simple"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        graph_of(KARATE, engine="host").katz_centrality(**arguments)


@pytest.mark.parametrize("beta", [1.0, 1e-150, 1e-165, 0.0])
def test_values_whose_squares_are_no_floats_are_normalized(engine: str, beta: float) -> None:
    graph = DynamicGraph(records="weighted64", engine=engine)
    graph.insert_edges([1, 2, 3], [2, 3, 4], weight=[1.0, 1.0, 1.0])
    found = graph.katz_centrality(beta=beta, tol=1e-320).katz_centrality
    assert np.linalg.norm(found) == pytest.approx(1 if beta else 0, rel=1e-14)
    graph.insert_edges([1], [2], weight=[1e308])
    found = graph.katz_centrality(alpha=0.01, beta=beta, weight="weight", tol=1e-320)
    assert np.linalg.norm(found.katz_centrality) == pytest.approx(1 if beta else 0, rel=1e-14)
    assert found.katz_centrality.argmax() == (1 if beta else 0)


def test_an_epoch_and_what_is_told() -> None:
    graph = graph_of([(1, 2), (3, 2)], engine="host")
    with graph.pin() as epoch:
        graph.insert_edges([2, 4], [1, 1])
        found = epoch.katz_centrality(normalized=False)
    assert found.katz_centrality.tolist() == [1.0, 1.2, 1.0]
    assert ANALYTIC.text(ANALYTIC.summary(found.columns, {})) == (
        "2 (1.200000), 1 (1.000000), 3 (1.000000)"
    )
    assert repr(found) == "<KatzResult 3 vertices, 3 iterations>"


@pytest.mark.parametrize("directed", [False, True])
def test_the_same_bits_in_any_order_of_threads(
    emulated_device: EmulatedDevice, directed: bool
) -> None:
    graph = changed_graph(directed=directed, reverse=False, ids="any", records="weighted64")
    expected = graph.katz_centrality(alpha=1e-3, weight="weight")
    on_device = ImageEngine(emulated_device, graph)
    found = set()
    for seed in range(3):
        emulated_device.shuffle = seed
        result = katz_centrality(on_device, alpha=1e-3, weight="weight")
        assert result.iterations == expected.iterations
        np.testing.assert_allclose(result.katz_centrality, expected.katz_centrality, rtol=1e-12)
        found.add(result.katz_centrality.tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_rows_in_place_give_the_bits_of_their_copy(
    device: Any, monkeypatch: pytest.MonkeyPatch, directed: bool, reverse: bool
) -> None:
    """Rows of all lengths: of one lane, of a chunk, and of several chunks."""
    graph = DynamicGraph(directed=directed, reverse=reverse, engine="host")
    leaves = np.arange(2 * slices.CHUNK_ENTRIES + 3)
    graph.insert_edges(leaves + 10, np.full(leaves.size, 7))
    src, dst = rmat_edges(np.arange(1_500, dtype=np.uint64), 7)
    graph.insert_edges(src, dst)
    graph.delete_vertices(graph.vertices()[5:200:9])
    on_device, found = ImageEngine(device, graph), []
    for most, kernel in ((0, "pull_values"), (99, "pull_in_place")):
        monkeypatch.setattr(katz_on_device, "_IN_PLACE_STEPS", most)
        started = started_kernels(device, monkeypatch)
        found.append(katz_centrality(on_device, alpha=5e-3, beta=2.5, tol=1e-12))
        assert kernel in started
    assert found[0].iterations == found[1].iterations > 4
    assert found[0].katz_centrality.tobytes() == found[1].katz_centrality.tobytes()
    expected = graph.katz_centrality(alpha=5e-3, beta=2.5, tol=1e-12)
    np.testing.assert_allclose(found[1].katz_centrality, expected.katz_centrality, rtol=1e-12)


def started_kernels(device: Any, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of the kernels that are started from now on."""
    started: set[str] = set()
    launch = type(device).launch_packed

    def noted(source: str, kernel: str, *rest: Any, **more: Any) -> None:
        started.add(kernel)
        launch(device, source, kernel, *rest, **more)

    monkeypatch.setattr(device, "launch_packed", noted)
    return started
