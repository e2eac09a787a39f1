"""PageRank that is maintained on a GPU by pushes: exact, the same after a restart, and given up."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from exact_ranks import exact_ranks
from graphtide import DynamicGraph
from graphtide.gpu_core.algorithms.maintained.pushing import MeanField, PushTrials
from graphtide.gpu_core.algorithms.shared.rank_steps import Ranks
from graphtide.gpu_core.cuda.analytics.maintained import pushed_ranks
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.testing import engine_of

pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.parametrize(
        "engine", ["emulated", pytest.param("real", marks=pytest.mark.gpu)], indirect=True
    ),
]

TOL = 1e-5


@pytest.fixture(autouse=True)
def outcomes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether pushes sufficed, each time that they were tried."""
    found: list[bool] = []

    def counted(push: Callable[..., Any]) -> Callable[..., Any]:
        def pushed(*args: Any, **settings: Any) -> Any:
            result = push(*args, **settings)
            found.append(result is not None)
            return result

        return pushed

    for name in ("push", "push_repaired"):
        monkeypatch.setattr(pushed_ranks, name, counted(getattr(pushed_ranks, name)))
    return found


def ring(count: int = 6000, **settings: Any) -> DynamicGraph:
    """Each vertex has edges to the next six: changes spread slowly."""
    vertices = np.arange(count)
    src = np.repeat(vertices, 6)
    graph = DynamicGraph(directed=False, **settings)
    graph.insert_edges(src, (src + np.tile(np.arange(1, 7), count)) % count)
    return graph


def kept_ranks(graph: DynamicGraph) -> Ranks:
    maintained: Any = engine_of(graph).maintained["pagerank"]
    ranks: Ranks = maintained._ranks.ranks()
    return ranks


def changes(graph: DynamicGraph, draw: np.random.Generator, batches: int) -> Iterator[int]:
    """Apply small batches: edges come and go, a vertex goes, another one comes."""
    for batch in range(batches):
        graph.insert_edges(*draw.integers(0, 6000, (2, 1)))
        if batch % 3 == 1:
            src = draw.integers(0, 6000, 1)
            graph.delete_edges(src, (src + 1) % 6000)
        if batch % 5 == 3:
            graph.delete_vertices(draw.integers(0, 6000, 1))
            graph.insert_edges([7000 + batch], draw.integers(0, 6000, 1))
        yield batch


@pytest.mark.everyday
@pytest.mark.parametrize("ids", ["dense", "any"])
def test_pushed_ranks_are_within_their_bound(ids: str, outcomes: list[bool]) -> None:
    graph = ring(ids=ids)
    graph.maintain("pagerank", tol=TOL)
    for _ in changes(graph, np.random.default_rng(2), 16):
        found = graph.pagerank(tol=TOL)
        assert found.residual <= TOL
        apart = np.abs(found.pagerank - exact_ranks(graph)).sum()
        assert apart <= found.error_bound <= 1.001 * TOL / 0.15
        assert found.pagerank.sum() == pytest.approx(1, abs=1e-12)
    assert outcomes == [True] * 16


@pytest.mark.parametrize("reverse", [True, False])
def test_directed_graphs_push_along_out_edges(reverse: bool, outcomes: list[bool]) -> None:
    count = 6000
    src = np.repeat(np.arange(count), 3)
    # A few vertices pass nothing on.
    src, dst = (each[src % 500 > 0] for each in (src, (src + np.tile([1, 2, 4], count)) % count))
    graph = DynamicGraph.from_edges(src, dst, reverse=reverse)
    graph.maintain("pagerank", tol=TOL)
    for number in range(6):
        graph.insert_edges([17 + 500 * number], [4000 - 300 * number])
        found = graph.pagerank(tol=TOL)
        apart = np.abs(found.pagerank - exact_ranks(graph)).sum()
        assert apart <= found.error_bound
    # In-neighbors are needed to see what is left of the ranks before.
    assert any(outcomes) == reverse
    # What cannot be pushed was not given up, so no steps go further to make room.
    trials = kept_ranks(graph).ranks.push_trials
    assert (trials.is_near, trials.is_further, trials.wait) == (True, False, 0)


def test_a_restart_goes_on_to_the_same_bits(outcomes: list[bool]) -> None:
    graph = ring()
    graph.maintain("pagerank", tol=TOL)
    for batch in changes(graph, np.random.default_rng(5), 14):
        arrays = graph.checkpoint_arrays()
        other = DynamicGraph.from_checkpoint_arrays(arrays, directed=False)
        outcomes.clear()
        expected, found = graph.pagerank(tol=TOL), other.pagerank(tol=TOL)
        assert found.pagerank.tobytes() == expected.pagerank.tobytes()
        assert (found.iterations, found.residual) == (expected.iterations, expected.residual)
        assert outcomes in ([], [True, True], [False, False])
        assert kept_ranks(graph).ranks.push_trials == kept_ranks(other).ranks.push_trials, batch
    assert kept_ranks(graph).ranks.push_trials.is_near


def test_epochs_push_as_the_graph_would() -> None:
    def ranks(**settles: Any) -> list[bytes]:
        graph, found, epochs = ring(), [], []
        graph.maintain("pagerank", tol=TOL)
        for _ in changes(graph, np.random.default_rng(9), 8):
            epochs.append(graph.pin(**settles))
            if len(epochs) > 2:
                with epochs.pop(0) as epoch:
                    found.append(epoch.pagerank(tol=TOL).pagerank.tobytes())
        for epoch in epochs:
            with epoch:
                found.append(epoch.pagerank(tol=TOL).pagerank.tobytes())
        return found

    assert ranks(settles="later") == ranks()


def test_graphs_of_several_threads_push_at_the_same_time() -> None:
    # Blocks of one launch wait for one another: those of two must not wait for room for ever.
    def ranks(seed: int) -> list[bytes]:
        graph = ring()
        graph.maintain("pagerank", tol=TOL)
        draw = np.random.default_rng(seed)
        return [graph.pagerank(tol=TOL).pagerank.tobytes() for _ in changes(graph, draw, 12)]

    seeds = range(4)
    expected = [ranks(seed) for seed in seeds]
    with ThreadPoolExecutor(len(seeds)) as threads:
        assert list(threads.map(ranks, seeds)) == expected


@pytest.mark.parametrize(("directed", "tol"), [(False, 1e-5), (True, 3e-5)])
def test_where_changes_spread_rounds_are_pulled(
    directed: bool, tol: float, outcomes: list[bool]
) -> None:
    src, dst = rmat_edges(np.arange(24_000, dtype=np.uint64), 11, seed=4)
    graph = DynamicGraph.from_edges(src, dst, directed=directed)
    graph.maintain("pagerank", tol=tol)
    graph.pagerank(tol=tol)
    has_hubs, pulls = kept_ranks(graph).ranks.hubs > 0, 0
    for batch in range(16):
        graph.insert_edges(dst[batch : batch + 1], src[batch + 40 : batch + 41])
        if batch % 3 == 1:
            graph.delete_edges(src[batch : batch + 1], dst[batch : batch + 1])
        found = graph.pagerank(tol=tol)
        apart = np.abs(found.pagerank - exact_ranks(graph)).sum()
        assert apart <= found.error_bound <= 1.001 * tol / 0.15
        pulls += kept_ranks(graph).ranks.pulls
    assert outcomes == [True] * len(outcomes)
    assert len(outcomes) >= 14
    assert has_hubs
    assert pulls > 1


def test_where_graphs_mix_slowly_pushes_are_tried_less_and_less_often(outcomes: list[bool]) -> None:
    count = 3_000
    graph = DynamicGraph.from_edges(np.arange(count), np.arange(1, count + 1), directed=False)
    graph.maintain("pagerank", tol=1e-9)
    graph.pagerank(tol=1e-9)
    tried, draw = [], np.random.default_rng(3)
    for batch in range(13):
        graph.insert_edges(draw.integers(0, count, 2), draw.integers(0, count, 2))
        graph.pagerank(tol=1e-9)
        if outcomes:
            assert outcomes == [False]
            tried.append(batch)
            outcomes.clear()
    # Steps that go further come first; then each pause is twice the one before.
    assert kept_ranks(graph).ranks.push_trials.pause == 32
    assert [late - early for early, late in pairwise(tried)] == [1, 9, 1]


def test_what_pushes_leave_does_not_end_them_for_long(outcomes: list[bool]) -> None:
    """It adds up, and cannot be pushed: steps that go further make room for more pushes."""
    width = 60
    vertices = np.arange(width * width)
    right, up = vertices[vertices % width > 0], vertices[width:]
    graph = DynamicGraph(directed=False, ids="dense")
    graph.insert_edges(np.concatenate([right, up]), np.concatenate([right - 1, up - width]))
    graph.maintain("pagerank", tol=TOL)
    draw = np.random.default_rng(1)
    for _ in range(15):
        edges = draw.integers(0, width * width, (2, 1))
        for change in (graph.insert_edges, graph.delete_edges):
            change(*edges)
            found = graph.pagerank(tol=TOL)
            assert np.abs(found.pagerank - exact_ranks(graph)).sum() <= found.error_bound
    assert False in outcomes
    assert outcomes.count(True) >= 24


def test_steps_leave_what_degrees_say_of_ranks() -> None:
    """Where neighbors are a fair draw: what a vertex without edges has, and what an edge adds."""
    draw = np.random.default_rng(8)
    graph = DynamicGraph(directed=False, ids="dense")
    graph.insert_edges(*draw.integers(0, 4000, (2, 32_000)))
    graph.maintain("pagerank", tol=1e-7)
    graph.pagerank(tol=1e-7)
    field = kept_ranks(graph).ranks.push_trials.mean_field
    # An isolated vertex has no more than what jumps and dangling vertices bring.
    graph.insert_vertices([4000])
    ranks = graph.pagerank(tol=1e-12).pagerank
    assert field.isolated == pytest.approx(ranks[-1], rel=1e-3)
    assert field.edge == pytest.approx((1 - 4000 * field.isolated) / field.entries, rel=1e-3)


def test_large_batches_are_not_pushed(outcomes: list[bool]) -> None:
    graph, draw = ring(), np.random.default_rng(1)
    graph.maintain("pagerank", tol=TOL)
    for _ in range(12):
        graph.insert_edges(*draw.integers(0, 6000, (2, 2000)))
        assert graph.pagerank(tol=TOL).residual <= TOL
    assert True not in outcomes
    assert len(outcomes) <= 2


def test_pushes_end_whatever_is_left(outcomes: list[bool]) -> None:
    """Two vertices pass the residual to and fro; a hub spreads it over the graph at once."""
    leaves = 20_000
    graph = DynamicGraph(directed=False, ids="dense")
    graph.insert_edges(np.zeros(leaves, np.int64), np.arange(1, leaves + 1))
    graph.maintain("pagerank", tol=1e-7)
    for number in range(8):
        graph.insert_edges([leaves + 2 * number + 1], [leaves + 2 * number + 2])
        found = graph.pagerank(tol=1e-7)
        apart = np.abs(found.pagerank - exact_ranks(graph)).sum()
        assert apart <= found.error_bound <= 1.001e-7 / 0.15
    assert outcomes


@pytest.mark.parametrize("is_emptied", [True, False])
def test_a_graph_that_shrinks_or_grows_all_at_once_overflows_nothing(is_emptied: bool) -> None:
    draw = np.random.default_rng(8)
    edges = draw.integers(0, 4000, (2, 100_000 if is_emptied else 12_000))
    graph = DynamicGraph(directed=False)
    graph.insert_edges(*edges)
    graph.maintain("pagerank", tol=TOL)
    graph.pagerank(tol=TOL)
    graph.insert_edges([1], [2])
    graph.pagerank(tol=TOL)
    assert kept_ranks(graph).ranks.push_trials.is_tried
    if is_emptied:
        graph.delete_edges(*edges)
        graph.insert_edges([10, 20, 30, 40], [11, 21, 31, 41])
    else:
        graph.insert_vertices(np.arange(4000, 44_000))
    found = graph.pagerank(tol=TOL)
    assert found.pagerank.sum() == pytest.approx(1, abs=1e-12)
    assert np.abs(found.pagerank - exact_ranks(graph)).sum() <= found.error_bound <= TOL / 0.15


def test_estimates_are_for_graphs_of_about_their_size() -> None:
    known = MeanField(0.25, 1e-9, entries=100, vertices=50)
    for entries, vertices in ((50, 100), (200, 1)):
        edge = 1e-9 * 100 / entries
        assert known.for_graph(entries, vertices) == MeanField(0.25, edge, entries, vertices)
    for entries, vertices in ((49, 50), (201, 50), (100, 101)):
        assert known.for_graph(entries, vertices) == MeanField(0.0, 0.0, entries, vertices)
    assert MeanField(0.25, 0.0, 100, 50).for_graph(100, 50) == MeanField(0.0, 0.0, 100, 50)


def test_what_is_known_of_pushes_fits_into_a_checkpoint() -> None:
    known = PushTrials(
        True, is_further=False, wait=3, pause=64, mean_field=MeanField(0.25, 1e-9, 1 << 40),
        mass=1 << 51, base=-7,
    )  # fmt: skip
    assert PushTrials.of_numbers(known.numbers) == known


@pytest.mark.parametrize("known", [0, 4])
def test_a_checkpoint_of_an_older_graphtide_knows_nothing_of_pushes(known: int) -> None:
    graph = ring()
    graph.maintain("pagerank", tol=TOL)
    for _ in changes(graph, np.random.default_rng(5), 3):
        graph.pagerank(tol=TOL)
    arrays = graph.checkpoint_arrays()
    numbers = arrays["rank_numbers"]
    arrays["rank_numbers"] = np.concatenate([numbers[:7], [1, 1, 0, 8][:known], numbers[-1:]])
    other = DynamicGraph.from_checkpoint_arrays(arrays, directed=False)
    assert kept_ranks(other).ranks.push_trials == PushTrials()
    found = other.pagerank(tol=TOL)
    assert np.abs(found.pagerank - exact_ranks(graph)).sum() <= found.error_bound <= TOL / 0.15
