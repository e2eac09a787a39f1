"""Residuals of maintained PageRank follow batches on a GPU: as if computed from nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from exact_ranks import exact_ranks
from graphtide import CorruptImageError, DynamicGraph, GraphtideError, UpdateBatch
from graphtide.gpu_core.cuda.analytics.maintained import pushed_ranks, residual_repair
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
def repaired(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether pushes sufficed, each time that residuals had followed."""
    found: list[bool] = []
    push = pushed_ranks.push_repaired

    def counted(*args: Any, **settings: Any) -> Any:
        result = push(*args, **settings)
        found.append(result is not None)
        return result

    monkeypatch.setattr(pushed_ranks, "push_repaired", counted)
    return found


def ring(**settings: Any) -> DynamicGraph:
    """Each of 6,000 vertices has edges to the next six: changes spread slowly."""
    src = np.repeat(np.arange(6000), 6)
    dst = (src + np.tile(np.arange(1, 7), 6000)) % 6000
    return maintained(src, dst, TOL, directed=False, **settings)


def skewed(**settings: Any) -> DynamicGraph:
    """A graph with hubs, where rounds are pulled."""
    src, dst = rmat_edges(np.arange(24_000, dtype=np.uint64), 11, seed=4)
    return maintained(src, dst, TOL, directed=False, **settings)


def directed(**settings: Any) -> DynamicGraph:
    """Some vertices pass nothing on."""
    src = np.repeat(np.arange(6000), 3)
    src, dst = (each[src % 500 > 0] for each in (src, (src + np.tile([1, 2, 4], 6000)) % 6000))
    return maintained(src, dst, TOL, **settings)


def maintained(src: Any, dst: Any, tol: float, **settings: Any) -> DynamicGraph:
    graph = DynamicGraph(**settings)
    graph.insert_vertices(np.arange(max(src.max(), dst.max()) + 1))
    graph.insert_edges(src, dst)
    graph.maintain("pagerank", tol=tol)
    graph.pagerank(tol=tol)
    return graph


def change(graph: DynamicGraph, batch: int, edges: int = 3) -> None:
    """One batch: edges that are new, that are there, that go, or that are not there to go."""
    draw = np.random.default_rng(batch)
    src, dst = draw.integers(1, 2000, (2, edges))
    if batch % 3 == 1:
        near = draw.integers(0, 1000, edges)
        graph.delete_edges([*near, src[0]], [*(near + 1), dst[0]])
    elif batch % 5 == 4:
        ops = np.repeat(np.array([1, -1], np.int8), edges)
        ends = np.tile(src, 2), np.concatenate([dst, dst + 1])
        graph.apply(UpdateBatch.from_rows(ops, *ends, directed=engine_of(graph).kind.directed))
    else:
        graph.insert_edges(src, dst)


def forget_residuals(graph: DynamicGraph) -> None:
    ranks: Any = engine_of(graph).maintained["pagerank"]
    ranks._residuals = None


@pytest.mark.everyday
@pytest.mark.parametrize("ids", ["dense", "any"])
@pytest.mark.parametrize("made", [ring, skewed, directed])
def test_ranks_are_those_of_residuals_from_nothing(
    made: Callable[..., DynamicGraph], ids: str, repaired: list[bool]
) -> None:
    graph, other = made(ids=ids), made(ids=ids)
    followed = 0
    for batch in range(14):
        forget_residuals(other)
        for each in (graph, other):
            change(each, batch, edges=1 if made is skewed else 3)
        repaired.clear()
        expected = other.pagerank(tol=TOL)
        assert repaired == []
        found = graph.pagerank(tol=TOL)
        assert found.pagerank.tobytes() == expected.pagerank.tobytes()
        assert (found.iterations, found.residual) == (expected.iterations, expected.residual)
        followed += repaired == [True]
        apart = np.abs(found.pagerank - exact_ranks(graph)).sum()
        assert apart <= found.error_bound <= 1.001 * TOL / 0.15
    assert followed >= 5


def test_what_residuals_cannot_follow_is_computed_from_nothing(repaired: list[bool]) -> None:
    graph = ring()
    for batch in range(3):
        change(graph, batch)
        graph.pagerank(tol=TOL)

    def check(*, follows: bool) -> None:
        repaired.clear()
        found = graph.pagerank(tol=TOL)
        assert repaired == [True] * follows
        assert np.abs(found.pagerank - exact_ranks(graph)).sum() <= found.error_bound

    change(graph, 3)
    check(follows=True)
    for batch in (5, 6):  # two of them
        change(graph, batch)
    check(follows=False)
    graph.insert_edges([7000], [1])  # a vertex comes
    check(follows=False)
    graph.delete_vertices([7000])
    check(follows=False)
    graph.insert_edges(np.arange(20), np.arange(20) + 9)  # too many
    check(follows=False)
    change(graph, 8)
    check(follows=True)


@pytest.mark.parametrize(
    ("most", "expected"),
    [(11, [False] * 5), (17, [False, True, True, False, True])],
)
def test_no_block_walks_along_a_row_that_is_too_long(
    most: int, expected: list[bool], repaired: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows have 12 entries; the three of a batch may all be of one row, until that is known."""
    monkeypatch.setattr(residual_repair, "MOST_ENTRIES", most)
    graph, followed = ring(), []
    for batch in (0, 2, 3, 5, 6):
        change(graph, batch)
        repaired.clear()
        graph.pagerank(tol=TOL)
        followed.append(bool(repaired))
    assert followed == expected


def test_a_batch_that_is_refused_leaves_residuals_out(repaired: list[bool]) -> None:
    graph = ring(create_vertices=False)
    for batch in range(3):
        change(graph, batch)
        graph.pagerank(tol=TOL)
    before = graph.pagerank(tol=TOL).pagerank
    with pytest.raises(GraphtideError):
        graph.insert_edges([1], [9000])
    assert graph.pagerank(tol=TOL).pagerank == pytest.approx(before, abs=2 * TOL)
    change(graph, 3)
    found = graph.pagerank(tol=TOL)
    assert np.abs(found.pagerank - exact_ranks(graph)).sum() <= found.error_bound


def test_epochs_and_restarts_go_on_to_the_same_bits() -> None:
    graph = ring()
    for batch in range(10):
        change(graph, batch)
        other = DynamicGraph.from_checkpoint_arrays(graph.checkpoint_arrays(), directed=False)
        with graph.pin(settles=False) as epoch:
            found = [each.pagerank(tol=TOL).pagerank.tobytes() for each in (epoch, other, graph)]
        assert found[0] == found[1] == found[2], batch


def test_an_audit_compares_residuals_that_have_followed() -> None:
    graph = ring()
    for batch in range(4):
        change(graph, batch)
        graph.pagerank(tol=TOL)
    graph.audit()
    change(graph, 5)
    graph.audit()
    kept: Any = engine_of(graph).maintained["pagerank"]
    assert kept._residuals is not None
    kept._residuals.residuals[17:18] += 1
    with pytest.raises(CorruptImageError, match="maintained pagerank is wrong in 1 of 6,000"):
        graph.audit()
    found = graph.pagerank(tol=TOL)
    assert np.abs(found.pagerank - exact_ranks(graph)).sum() <= found.error_bound
