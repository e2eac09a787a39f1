"""The error bound of PageRank: never less than the distance to the exact ranks, nor far above."""

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exact_ranks import exact_ranks
from graphs import KARATE, SHAPES, from_networkx_graph, graph_of, random_graphs
from graphtide import ConvergenceError, DynamicGraph
from graphtide.gpu_core.algorithms.centrality import pagerank as neutral_pagerank
from graphtide.gpu_core.algorithms.centrality.pagerank_result import PageRankResult
from graphtide.gpu_core.algorithms.shared.pagerank_bound import Rounding, error_bound
from image_engine import KINDS, ImageEngine, changed_graph
from strategies import examples

TOLERANCES = (1e-1, 1e-3, 1e-6, 1e-10, 1e-13, 2e-15)


def check(found: PageRankResult, exact: np.ndarray, tol: float, alpha: float) -> None:
    apart = float(np.abs(found.pagerank - exact).sum())
    assert apart <= found.error_bound
    # Not silly: what tol asks for, and rounding.
    assert found.error_bound <= 1.001 * (alpha * tol + 2e-13) / (1 - alpha)


def distributions(vertices: list[int]) -> st.SearchStrategy[dict[int, float] | None]:
    amounts = st.sampled_from([0.25, 1.0, 7.1])
    values = st.dictionaries(st.sampled_from(vertices), amounts, min_size=1)
    return st.none() | values


@given(data=st.data())
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[*HealthCheck])
def test_random_graphs_are_within_it(data: st.DataObject, device: Any) -> None:
    directed, weighted = data.draw(st.booleans()), data.draw(st.booleans())
    source = data.draw(random_graphs(directed=directed, weighted=weighted))
    records = data.draw(st.sampled_from(["weighted", "weighted64"] if weighted else ["simple"]))
    shape = data.draw(st.sampled_from(SHAPES))
    graph = from_networkx_graph(source, records=records, engine="host", **shape)
    vertices = sorted(source)
    asked = {
        "alpha": data.draw(st.sampled_from([0.0, 0.5, 0.85, 0.99])),
        "weight": "weight" if weighted else None,
        "personalization": data.draw(distributions(vertices)),
        "dangling": data.draw(distributions(vertices)),
    }
    exact = exact_ranks(graph, **asked)
    start = {"nstart": data.draw(distributions(vertices)), "max_iter": 5000}
    engines = {"host": graph.pagerank}
    if data.draw(st.booleans()):
        cuda = ImageEngine(device, graph)
        engines["cuda"] = lambda **given: neutral_pagerank.pagerank(cuda, **given)
    for ranked in engines.values():
        for tol in data.draw(st.lists(st.sampled_from(TOLERANCES), min_size=1, max_size=3)):
            try:
                found = ranked(tol=tol, **asked, **start)
            except ConvergenceError:
                assert tol < 1e-12, "rounding alone may be above the tolerance"
                continue
            check(found, exact, tol, asked["alpha"])
            # The next one is a warm start.
            start = {"nstart": found, "max_iter": 5000}


def test_the_karate_club_to_every_tolerance() -> None:
    for directed in (False, True):
        graph = graph_of(KARATE, directed=directed)
        for alpha in (0.3, 0.85, 0.99):
            exact = exact_ranks(graph, alpha=alpha)
            for tol in np.logspace(0, -14, 29):
                check(graph.pagerank(alpha=alpha, tol=tol, max_iter=9000), exact, tol, alpha)


def test_it_is_never_below_what_the_last_step_leaves() -> None:
    # An error of the eigenvalue 1 is the worst that a residual can hide: two parts, apart.
    graph = graph_of([(1, 2), (3, 4)], directed=False)
    jumps = {1: 1.0, 2: 1.0, 3: 3.0, 4: 3.0}
    exact = exact_ranks(graph, personalization=jumps)
    for tol in np.logspace(-1, -12, 12):
        found = graph.pagerank(
            tol=tol, personalization=jumps, nstart={1: 1.0, 2: 1.0}, networkx_tol=True
        )
        apart = np.abs(found.pagerank - exact).sum()
        assert apart <= found.error_bound <= 1.01 * apart + 1e-13


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
@pytest.mark.parametrize("records", ["simple", "weighted"])
def test_graphs_with_hubs_and_gaps_are_within_it(
    device: Any, kind: dict[str, Any], records: str
) -> None:
    graph = changed_graph(records=records, **kind)
    vertices = graph.vertices().tolist()
    asked = {
        "weight": "weight" if records == "weighted" else None,
        "personalization": {vertices[3]: 0.7, vertices[90]: 0.1},
        "dangling": {vertices[7]: 1.0},
    }
    exact = exact_ranks(graph, **asked)
    for tol in TOLERANCES[1:-1]:
        found = graph.pagerank(tol=tol, **asked)
        check(found, exact, tol, 0.85)
        other = neutral_pagerank.pagerank(ImageEngine(device, graph), tol=tol, **asked)
        check(other, exact, tol, 0.85)
        assert other.error_bound == pytest.approx(found.error_bound, rel=0.01, abs=1e-12)
        warm = neutral_pagerank.pagerank(ImageEngine(device, graph), tol=tol, nstart=other, **asked)
        check(warm, exact, tol, 0.85)


def test_it_grows_with_what_rounding_there_is() -> None:
    none = Rounding(0.0, 0, 0.0, False)
    least = error_bound(0.85, 1e-6, none, 1000)
    assert 0.85 / 0.15 * 1e-6 < least < 0.85 / 0.15 * 1.001e-6
    for more in (
        none._replace(additions=1e6),
        none._replace(summed=1_000_000),
        none._replace(fixed=1e-10),
    ):
        assert error_bound(0.85, 1e-6, more, 1000) > least + 1e-10
    assert error_bound(0.85, 1e-6, none, 2**50) == np.inf, "rows longer than can be bounded"


def test_nothing_is_proven_without_damping_or_of_extreme_weights(device: Any) -> None:
    assert graph_of(KARATE).pagerank(alpha=1, tol=1).error_bound == np.inf
    for weight, is_bounded in ((1e280, True), (1e300, False)):
        graph = DynamicGraph(records="weighted", weights="float64", engine="host")
        graph.insert_edges([1, 2, 3], [2, 3, 1], weight=[weight, weight, weight])
        found = graph.pagerank(weight="weight")
        other = neutral_pagerank.pagerank(ImageEngine(device, graph), weight="weight")
        assert np.isfinite(found.error_bound) == np.isfinite(other.error_bound) == is_bounded
        seen = graph.personalized_pagerank([1, 3], weight="weight")
        assert np.isfinite(seen.error_bound).tolist() == [is_bounded] * 2


def test_weights_that_are_added_up_count_in_it(engine: str) -> None:
    """Their sum is rounded as well, so out-edges count; where weights are 1, by those alone."""
    leaves = np.arange(1, 1_000)
    graph = DynamicGraph(records="weighted", engine=engine)
    graph.insert_edges(np.zeros_like(leaves), leaves)
    graph.insert_edges(leaves, np.zeros_like(leaves))
    degrees = np.append(leaves.size, np.ones(leaves.size))
    sources = ("pagerank", graph.pagerank), ("seen from the hub", _from_hub(graph))
    for what, ranked in sources:
        plain, weighted = (ranked(weight=weight, tol=1e-3) for weight in (None, "weight"))
        added = float(degrees @ weighted.pagerank)
        apart = float(np.max(weighted.error_bound - plain.error_bound))
        assert apart == pytest.approx(2.0**-53 * added / 0.15, rel=0.01, abs=0), what


def _from_hub(graph: DynamicGraph) -> Callable[..., Any]:
    return partial(graph.personalized_pagerank, [0])


def test_empty_results_are_exact_and_all_travel() -> None:
    assert DynamicGraph().pagerank().error_bound == 0
    found = graph_of(KARATE).pagerank()
    assert pickle.loads(pickle.dumps(found)).error_bound == found.error_bound > 0
    assert f"error_bound {found.error_bound:.3g}" in repr(found)
