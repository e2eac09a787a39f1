"""Maintained PageRank: within its bound after every batch; on the host, residuals to the bit."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copied_graphs import COPIES
from exact_ranks import exact_ranks
from followed import apply_drawn, apply_rows, draw_kind, random_rows
from graphtide import ConvergenceError, DynamicGraph, SettingsError
from graphtide.gpu_core.algorithms.maintained.maintained_pagerank import MaintainedPageRank
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.gpu_core.jit import parallel
from graphtide.testing import engine_of
from maintained_ranks import batches, check, grid, kept_of, rmat_graph
from oracles import Row
from strategies import DIRECTIONS

pytestmark = pytest.mark.usefixtures("engine")

#: Residuals, and pushes of them, are the host's.
host_only = pytest.mark.parametrize("engine", ["host"], indirect=True)

#: The graph, its directions named.
KINDS = {"undirected": {"directed": False}, "reverse": {}, "no reverse": {"reverse": False}}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> dict[str, Any]:
    kind: dict[str, Any] = KINDS[request.param]
    return kind


@pytest.fixture
def always(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(MaintainedPageRank, "always", request.param)
    way: str = request.param
    return way


@settings(max_examples=15, deadline=None, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_any_batches_are_followed(data: st.DataObject, engine: str) -> None:
    kind = dict(data.draw(st.sampled_from(DIRECTIONS)))
    if kind.get("directed", True):
        kind["self_loops"] = data.draw(st.sampled_from(("drop", "keep")))
    # A device has its layout by its name.
    graph = DynamicGraph(**kind, **draw_kind(data, has_layout=engine == "host"))
    alpha = data.draw(st.sampled_from([0.0, 0.5, 0.85, 0.97]))
    tol = data.draw(st.sampled_from([1e-2, 1e-6, 1e-11]))
    graph.maintain("pagerank", alpha=alpha, tol=tol, max_iter=5000)
    kept_of(graph).always = data.draw(st.sampled_from([None, "push", "push", "full"]))
    for _ in apply_drawn(data, graph):
        graph.audit()
        if data.draw(st.booleans()):
            check(graph, alpha=alpha, tol=tol)
    check(graph, alpha=alpha, tol=tol)


@pytest.mark.parametrize("always", ["push"], indirect=True)
def test_a_long_stream_with_hubs_and_vertex_deletes(kind: dict[str, Any], always: str) -> None:
    rng = np.random.default_rng(5)
    graph = DynamicGraph(**kind, self_loops="keep" if kind.get("directed", True) else "drop")
    graph.insert_edges(*rng.integers(0, 60, (2, 90)))
    graph.maintain("pagerank", tol=1e-8)
    for number in range(24):
        rows = random_rows(rng, 60, int(rng.choice([1, 7, 60])))
        if number % 10 == 9:
            # A hub goes, and comes back with some of its edges.
            rows += [Row(-1, 0, None), *(Row(1, 0, v) for v in range(5, 25))]
        apply_rows(graph, rows)
        assert kept_of(graph).is_stale != isinstance(kept_of(graph), MaintainedPageRank)
        graph.audit()
        if number % 4 == 0:
            check(graph, tol=1e-8)
    check(graph, tol=1e-8)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of what was done, pushes or full steps, as it is done."""
    done: list[str] = []
    for name in ("_push", "_begin"):
        whole = getattr(MaintainedPageRank, name)

        def told(self: Any, *given: Any, name: str = name, whole: Any = whole) -> Any:
            done.append(name)
            return whole(self, *given)

        monkeypatch.setattr(MaintainedPageRank, name, told)
    return done


@host_only
def test_a_small_change_is_pushed_and_a_large_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(60)
    graph.maintain("pagerank", tol=1e-4)
    done = counted(monkeypatch)
    graph.insert_edges([5], [1700])
    check(graph, tol=1e-4)
    assert done == ["_push"]
    done.clear()
    graph.pagerank(tol=1e-4)
    assert done == [], "nothing has changed"
    rng = np.random.default_rng(0)
    graph.insert_edges(*rng.integers(0, 3600, (2, 3000)))
    assert kept_of(graph).is_stale
    check(graph, tol=1e-4)
    assert done == ["_begin"]


@host_only
def test_changed_edges_of_a_large_batch_are_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, src, dst = rmat_graph(10, directed=False)
    graph.maintain("pagerank", tol=1e-4)
    looked_up: list[int] = []
    changing = engine_of(graph).changing

    def told(batch: Any) -> Any:
        looked_up.append(batch.rows)
        return changing(batch)

    monkeypatch.setattr(engine_of(graph), "changing", told)
    for rows in (64, 65, 64):
        graph.delete_edges(src[:rows], dst[:rows])
        check(graph, tol=1e-4)
        graph.insert_edges(src[:rows], dst[:rows])
        check(graph, tol=1e-4)
    assert looked_up == [64] * 4


@host_only
def test_pushes_that_cost_too_much_are_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # Residuals are all over a random graph after three rounds.
    graph, src, dst = rmat_graph(10, directed=False)
    graph.maintain("pagerank", tol=1e-9)
    done = counted(monkeypatch)
    for first in range(0, 40, 10):
        graph.delete_edges(src[first : first + 10], dst[first : first + 10])
        check(graph, tol=1e-9)
    assert done[:2] == ["_push", "_begin"], "broken off"
    entries = kept_of(graph)._too_much
    assert np.isfinite(entries)
    monkeypatch.setattr(
        engine_of(graph).algorithms.maintained_pagerank.Pushes,
        "run",
        lambda *_: pytest.fail("tried"),
    )
    graph.delete_edges(src[50:90], dst[50:90])
    check(graph, tol=1e-9)


def test_degrees_save_steps_of_a_log() -> None:
    steps = steps_from_ranks = 0
    before = None
    for graph in batches():
        # As of an older checkpoint: no degrees are known.
        arrays = graph.checkpoint_arrays()
        del arrays["rank_degrees"]
        other = DynamicGraph.from_checkpoint_arrays(arrays, directed=False)
        if before is not None:
            steps += graph.pagerank().iterations
            steps_from_ranks += other.pagerank().iterations
        before = graph.pagerank()
    assert steps <= 0.9 * steps_from_ranks


@host_only
def test_what_batches_leave_is_used_up_and_then_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(40)
    graph.maintain("pagerank", tol=1e-3)
    done = counted(monkeypatch)
    for vertex in range(60):
        graph.insert_edges([vertex * 20], [vertex * 20 + 2])
        graph.pagerank(tol=1e-3)
        if vertex % 10 == 9:
            check(graph, tol=1e-3)
    assert done.count("_begin") <= 8
    assert done.count("_push") >= 20


def test_it_answers_what_is_no_more_exact_than_it_is() -> None:
    graph, src, _ = rmat_graph()
    graph.maintain("pagerank", tol=1e-6, alpha=0.8)
    kept = graph.pagerank(alpha=0.8)
    other = graph.copy()
    other.unmaintain("pagerank")
    for arguments in (
        {"tol": 1e-8, "alpha": 0.8},
        {"alpha": 0.85},
        {"alpha": 0.8, "personalization": {int(src[0]): 1.0}},
        {"alpha": 0.8, "dangling": {int(src[0]): 1.0}},
        {"alpha": 0.8, "networkx_tol": True},
        {"alpha": 0.8, "nstart": {int(src[0]): 1.0}},
    ):
        expected = other.pagerank(**arguments)
        assert graph.pagerank(**arguments).pagerank.tobytes() == expected.pagerank.tobytes()
    again = graph.pagerank(alpha=0.8, tol=1e-3, nstart=kept)
    assert again.pagerank.tobytes() == kept.pagerank.tobytes()
    computed = graph.compute("pagerank", alpha=0.8, tol=1e-6)
    assert computed.pagerank.tobytes() == kept.pagerank.tobytes()
    assert computed.error_bound == kept.error_bound


def test_a_call_may_ask_for_more_steps_than_ranks_are_maintained_with(engine: str) -> None:
    ring = np.arange(60)
    graph = DynamicGraph(engine=engine)
    graph.insert_edges(ring, (ring + 1) % 60)
    graph.maintain("pagerank", alpha=0.99)
    graph.insert_edges([5, 100], [17, 5])
    with pytest.raises(ConvergenceError, match=r"after 500 iterations .*, above 1e-06; raise max_"):
        graph.pagerank(alpha=0.99)
    found = graph.pagerank(alpha=0.99, max_iter=100_000)
    assert found.iterations > 500
    apart = float(np.abs(found.pagerank - exact_ranks(graph, alpha=0.99)).sum())
    assert apart <= found.error_bound


def test_steps_that_suffice_from_nothing_suffice_where_ranks_are_maintained() -> None:
    """Though steps of maintained ranks go further, that something may be left by later batches."""
    src, dst = rmat_edges(np.arange(4000, dtype=np.uint64), 8, seed=3)
    expected = DynamicGraph.from_edges(src, dst).pagerank()
    graph = DynamicGraph()
    graph.maintain("pagerank", max_iter=expected.iterations)
    graph.insert_edges(src, dst)
    found = graph.pagerank(max_iter=expected.iterations)
    assert found.residual <= 1e-6
    assert found.iterations <= expected.iterations
    with graph.pin() as epoch:
        assert epoch.pagerank(max_iter=expected.iterations).residual <= 1e-6


@host_only
def test_the_bound_has_what_rounding_can_come_to() -> None:
    # Half a unit for each entry, of residuals that are all 0, and twice that with their mean.
    graph, _, _ = rmat_graph(7)
    graph.maintain("pagerank", tol=1e-12)
    found, kept = graph.pagerank(tol=1e-12), kept_of(graph)
    totals = kept._settled
    left = (totals.absolute + abs(totals.signed)) / totals.mass
    rounding = graph.num_edges / totals.mass
    assert found.residual == pytest.approx(left + rounding, abs=2e-15)
    assert found.residual > left + rounding
    assert found.error_bound == pytest.approx(found.residual / 0.15, rel=0.01)


def test_vertices_without_edges_come_and_go() -> None:
    graph = DynamicGraph()
    graph.maintain("pagerank", tol=1e-9)
    assert graph.pagerank(tol=1e-9).pagerank.size == 0
    graph.insert_vertices([7, 9])
    check(graph, tol=1e-9)
    assert graph.pagerank(tol=1e-9).pagerank.tolist() == [0.5, 0.5]
    # Of so many more, masses that were chosen for two vertices would not fit.
    graph.insert_vertices(range(100, 300))
    check(graph, tol=1e-9)
    graph.insert_vertices([300])
    check(graph, tol=1e-9)
    graph.delete_vertices(range(100, 301))
    graph.insert_edges([7], [9])
    check(graph, tol=1e-9)
    graph.delete_vertices([7])
    graph.insert_vertices(range(20, 60))
    check(graph, tol=1e-9)
    graph.delete_vertices(graph.vertices())
    check(graph, tol=1e-9)


def test_what_was_asked_earlier_does_not_change_with_the_graph(kind: dict[str, Any]) -> None:
    graph, src, dst = rmat_graph(7, **kind)
    graph.maintain("pagerank", tol=1e-8)
    kept_of(graph).always = "push"
    before = graph.pagerank(tol=1e-8)
    ranks = before.pagerank.tolist()
    graph.delete_edges(src[9:12], dst[9:12])
    expected = exact_ranks(graph)
    with graph.pin() as epoch:
        graph.delete_edges(src[:9], dst[:9])
        assert before.pagerank.tolist() == ranks
        found = epoch.pagerank(tol=1e-8)
        assert np.abs(found.pagerank - expected).sum() <= found.error_bound <= 7e-8
        arrays = epoch.checkpoint_arrays()
        check(graph, tol=1e-8)
        assert epoch.pagerank(tol=1e-8).pagerank.tobytes() == found.pagerank.tobytes()
    restored = DynamicGraph.from_checkpoint_arrays(arrays, **kind)
    assert restored.maintained == ("pagerank",)
    again = restored.pagerank(tol=1e-8)
    assert again.pagerank.tobytes() == found.pagerank.tobytes()
    assert again.error_bound == found.error_bound
    check(restored, tol=1e-8)


@pytest.mark.parametrize("restored_at", [None, 6])
def test_an_epoch_for_a_checkpoint_does_not_show_in_later_bits(restored_at: int | None) -> None:
    """A run has checkpoints by the clock, and goes on from any of them."""

    def ranks(checkpoints: tuple[int, ...]) -> list[bytes]:
        draw = np.random.default_rng(5)
        graph = DynamicGraph(directed=False)
        graph.insert_edges(*draw.integers(0, 300, (2, 2_000)))
        graph.maintain("pagerank")
        found = []
        for batch in range(12):
            graph.insert_edges(*draw.integers(0, 320, (2, 25)))
            graph.delete_edges(*draw.integers(0, 300, (2, 5)))
            if batch in checkpoints:
                with graph.pin(settles=False) as epoch:
                    arrays = epoch.checkpoint_arrays()
                    if batch == restored_at:
                        graph = DynamicGraph.from_checkpoint_arrays(arrays, directed=False)
            if batch in (5, 11):
                found.append(graph.compute("pagerank").pagerank.tobytes())
        return found

    assert ranks((3, 6, 8)) == ranks(())


@host_only
@pytest.mark.parametrize("directed", [True, False])
def test_what_is_restored_finds_the_bits_that_would_have_been_found(directed: bool) -> None:
    """Between two questions: stale, with vertices that are gone or others in their place."""

    def found(
        restored_at: int | None, audited_at: int | None = None
    ) -> list[tuple[bytes, dict[str, Any]]]:
        draw = np.random.default_rng(5)
        graph = DynamicGraph(directed=directed)
        graph.maintain("pagerank")
        results = []
        for batch in range(20):
            # The last question comes after small ones: what was restored is to be repaired.
            many = batch in (0, 2, 3, 9)
            graph.insert_edges(*draw.integers(0, 300, (2, 900 if many else 3)))
            if batch in (5, 10, 13):
                graph.delete_vertices(draw.integers(0, 300, 3))
            if batch in (6, 11):
                # They take the indices of those that are gone.
                graph.insert_edges([1000], [batch])
                graph.insert_vertices([2000 + batch])
            if batch in (0, 8, 16):
                ranks = graph.pagerank()
                figures = {"iterations": ranks.iterations, "error_bound": ranks.error_bound}
                results.append((ranks.pagerank.tobytes(), figures))
            if batch == audited_at:
                graph.audit()
            if batch == restored_at:
                with graph.pin(settles=False) as epoch:
                    arrays = epoch.checkpoint_arrays()
                graph = DynamicGraph.from_checkpoint_arrays(arrays, directed=directed)
                assert graph.maintained == ("pagerank",)
                if batch in (8, 16):
                    assert graph.pagerank().iterations == ranks.iterations
        results.append((graph.pagerank().pagerank.tobytes(), {}))
        graph.audit()
        return results

    unbroken = found(None)
    for batch in range(20):
        assert found(batch) == unbroken, f"restored at batch {batch}"
    for batch in (0, 17, 19):
        assert found(None, batch) == unbroken, f"audited at batch {batch}"


@pytest.mark.parametrize("way", COPIES)
def test_copies_go_on_as_the_graph_does(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, src, dst = rmat_graph(7)
    graph.maintain("pagerank", tol=1e-7, alpha=0.9)
    # A batch that nobody has asked after yet.
    graph.delete_vertices(src[:1])
    monkeypatch.setattr(MaintainedPageRank, "begin", lambda *_: pytest.fail("from nothing"))
    other = COPIES[way](graph, tmp_path)
    assert other.maintained == ("pagerank",)
    for each in (graph, other):
        each.insert_edges(src[:2], dst[:2])
        check(each, tol=1e-7, alpha=0.9)
    assert kept_of(other).parameters == {"alpha": 0.9, "tol": 1e-7, "max_iter": 500}
    ranks = [each.pagerank(alpha=0.9, tol=1e-7).pagerank.tobytes() for each in (graph, other)]
    assert ranks[0] == ranks[1]


@host_only
def test_residuals_are_computed_from_nothing_now_and_then(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(
        "graphtide.gpu_core.algorithms.maintained.maintained_pagerank._RECOMPUTE_EVERY", 3
    )
    graph = grid(10)
    graph.maintain("pagerank")
    with caplog.at_level("INFO"):
        for vertex in range(3):
            graph.insert_edges([vertex], [vertex + 50])
            graph.pagerank()
    assert [each.getMessage() for each in caplog.records] == [
        "residuals of maintained ranks: 0 of 100 differ"
    ]
    caplog.clear()
    wrong = {"residual": (np.zeros(100), np.arange(100))}
    monkeypatch.setattr(MaintainedPageRank, "audited", lambda *_: wrong)
    for vertex in range(3):
        graph.insert_edges([vertex], [vertex + 60])
        graph.pagerank()
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().endswith(": 99 of 100 differ")


@host_only
def test_sums_are_those_of_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "thread_count", lambda: 4)
    ring = np.arange(9_000)
    graph = DynamicGraph(engine="host", ids="dense")
    graph.insert_edges(ring, np.roll(ring, 1))
    graph.maintain("pagerank", tol=1e-9)
    graph.insert_edges([8_000], [5])
    found = graph.pagerank(tol=1e-9)
    assert found.pagerank.sum() == pytest.approx(1, abs=1e-12)
    assert np.abs(found.pagerank - exact_ranks(graph)).sum() <= found.error_bound <= 1e-8


@host_only
def test_a_tolerance_is_no_finer_than_whole_numbers() -> None:
    graph = DynamicGraph.from_edges([1, 2], [2, 3])
    for each in (graph, DynamicGraph(engine="host")):
        with pytest.raises(SettingsError) as refused:
            each.maintain("pagerank", tol=1e-19)
        # Of any graph, so its size is not named.
        assert str(refused.value) == (
            "tol=1e-19 is finer than maintained ranks can be; use tol=1.1e-13 or more"
        )
        assert each.maintained == ()
    # Where next to nothing is jumped, one vertex is too much; the one advised is not refused.
    alone = DynamicGraph(engine="host")
    alone.insert_vertices([5])
    kind = {"alpha": 1 - 1e-12}
    with pytest.raises(SettingsError, match="ranks of 1 vertex and 0 entries can be") as refused:
        alone.maintain("pagerank", tol=1e-12, **kind)
    [advised] = re.findall(r"use tol=(\S+)", str(refused.value))
    alone.maintain("pagerank", tol=float(advised), **kind)
    assert alone.pagerank(tol=float(advised), **kind).residual <= float(advised)


@host_only
@pytest.mark.parametrize("rows", [40, 400])
def test_a_graph_that_outgrows_its_tolerance_still_has_ranks(rows: int) -> None:
    """With 1e-9 one of 43 M vertices and edges; here with the finest there is, one of 4,323."""
    ring = np.arange(2_100)
    graph = DynamicGraph(engine="host", ids="dense")
    graph.insert_edges(ring, np.roll(ring, 1))
    graph.maintain("pagerank", tol=1e-13)
    for first in range(0, 400, rows):
        chords = np.arange(first, first + rows)
        graph.insert_edges(chords, chords * 5 + 2)
        for tol in (1e-3, 1e-13):
            found = graph.pagerank(tol=tol)
            assert np.abs(found.pagerank - exact_ranks(graph)).sum() <= found.error_bound
        with graph.pin() as epoch:
            assert epoch.pagerank(tol=1e-13).pagerank.tolist() == found.pagerank.tolist()
    assert kept_of(graph).is_stale
    graph.audit()
    graph.delete_edges(chords, chords * 5 + 2)
    graph.delete_edges(ring[1:300], ring[:299])
    graph.pagerank(tol=1e-13)
    assert not kept_of(graph).is_stale


def test_only_what_can_be_maintained_is(engine: str) -> None:
    graph = DynamicGraph.from_edges([1, 2], [2, 3])
    for arguments, message in (
        ({"alpha": 1.0}, "alpha=1.0 cannot be maintained"),
        ({"tol": 0.0}, "tol=0.0 cannot be maintained"),
        ({"tol": math.inf}, "tol=inf cannot be maintained"),
        ({"max_iter": 0}, "max_iter=0 allows no iteration; it must be at least 1"),
        (
            {"weight": "weight"},
            "maintained with weight='weight', only by alpha, tol, max_iter",
        ),
        (
            {"personalization": np.arange(4.0)},
            r"with personalization=array\(\[0., 1., 2., 3.\]\), only by",
        ),
        ({"dangling": dict.fromkeys(range(10**5), 1.0)}, r"dangling={0: 1.0, .*\.\.\.}, only by"),
        ({"steps": 3}, "pagerank has no parameter 'steps'"),
    ):
        with pytest.raises(SettingsError, match=message) as refused:
            graph.maintain("pagerank", **arguments)
        assert len(str(refused.value)) < 300
        assert graph.maintained == ()
    graph.maintain("pagerank", tol=1e-3)
    first = kept_of(graph)
    graph.maintain("pagerank", tol=1e-3)
    assert kept_of(graph) is first
    graph.maintain("pagerank", tol=1e-9, max_iter=10**20)
    assert kept_of(graph).tol == 1e-9
    # As a checkpoint can tell.
    assert graph.copy().pagerank(tol=1e-9).residual <= 1e-9
    assert graph.memory().maintained_bytes == 3 * (17 if engine == "host" else 16)
    graph.unmaintain("pagerank")
    assert graph.maintained == ()
