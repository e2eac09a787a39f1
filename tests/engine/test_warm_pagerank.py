"""Maintained PageRank on a GPU: steps from the ranks before, those of the other engine too."""

import numpy as np
import pytest

from exact_ranks import exact_ranks
from graphtide import DynamicGraph
from graphtide.gpu_core.algorithms.maintained.maintained_pagerank import MaintainedPageRank
from graphtide.gpu_core.algorithms.maintained.warm_pagerank import WarmPageRank
from graphtide.gpu_core.generators.grid import grid_edges, grid_size
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.testing import engine_of
from maintained_ranks import batches

pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.parametrize("engine", ["emulated"], indirect=True),
]


def made(**settings: object) -> DynamicGraph:
    src, dst = rmat_edges(np.arange(1500, dtype=np.uint64), 7, seed=3)
    return DynamicGraph.from_edges(src, dst, **settings)


@pytest.mark.parametrize("directed", [False, True])
def test_ranks_are_those_of_a_warm_start_and_batches_cost_nothing(
    directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, other = made(directed=directed), made(directed=directed)
    before = other.pagerank(tol=1e-9)
    cold = made(directed=directed).pagerank(tol=1e-9, nstart=dict.fromkeys(before.vertices, 1.0))
    graph.maintain("pagerank", tol=1e-9)
    monkeypatch.setattr(engine_of(graph), "changing", lambda _: pytest.fail("edges are listed"))
    for each in (graph, other):
        each.insert_edges([3, 200], [4, 5])
        each.insert_vertices([300])
    found, expected = graph.pagerank(tol=1e-9), other.pagerank(tol=1e-9, nstart=before)
    assert found.iterations < cold.iterations
    if directed:
        # Degrees do not count.
        assert found.iterations == expected.iterations
        assert found.pagerank.tobytes() == expected.pagerank.tobytes()
        assert found.error_bound == expected.error_bound
    apart = np.abs(found.pagerank - exact_ranks(graph)).sum()
    assert apart <= found.error_bound <= 1e-8
    assert graph.pagerank(tol=1e-9).pagerank.tobytes() == found.pagerank.tobytes()


@pytest.mark.parametrize("leaves", [1_000, 8_000])
def test_a_hub_stays_while_most_of_the_graph_goes(leaves: int) -> None:
    """Its rank, in proportion to the vertices, is beyond what sums on the device can be."""
    graph = DynamicGraph.from_edges(*np.triu_indices(20, 1), directed=False, ids="dense")
    cold = graph.pagerank()
    gone = 20 + np.arange(leaves)
    graph.insert_edges(np.zeros(leaves, np.int64), gone)
    graph.maintain("pagerank")
    graph.delete_vertices(gone)
    found = graph.pagerank()
    assert found.iterations <= cold.iterations
    assert np.abs(found.pagerank - exact_ranks(graph)).sum() <= found.error_bound <= 6e-6


@pytest.mark.parametrize("share", [1e-3, 1e-2])
def test_what_has_changed_of_a_grid_counts(share: float) -> None:
    """Its degrees hardly differ, so they say nothing of ranks, but their changes do."""
    src, dst = grid_edges(np.arange(grid_size(3600)), 3600)
    graph, other = (DynamicGraph.from_edges(src, dst, directed=False, ids="dense") for _ in "12")
    ends = np.random.default_rng(1).integers(0, 3600, (2, int(share * src.size)))
    for each in (graph, other):
        each.insert_edges(*ends)
    graph.maintain("pagerank", tol=1e-6)
    before = graph.pagerank()
    for each in (graph, other):
        each.delete_edges(*ends)
    by_hand = before.vertices, before.pagerank
    found, by_ranks = graph.pagerank(), other.pagerank(nstart=by_hand)
    assert found.iterations <= by_ranks.iterations - 3
    assert np.abs(found.pagerank - exact_ranks(graph)).sum() <= found.error_bound


@pytest.mark.parametrize("directed", [False, True])
def test_a_checkpoint_goes_on_to_the_same_bits(directed: bool) -> None:
    for number, graph in enumerate(batches(directed)):
        if number % 2:
            graph.pagerank()
            graph.insert_edges([1, 2], [3, 700])
        arrays = graph.checkpoint_arrays()
        assert ("rank_degrees" in arrays) != directed
        other = DynamicGraph.from_checkpoint_arrays(arrays, directed=directed)
        found, expected = other.pagerank(), graph.pagerank()
        assert found.iterations == expected.iterations
        assert found.pagerank.tobytes() == expected.pagerank.tobytes()
        again = other.checkpoint_arrays()
        for name in ("ranks", *(() if directed else ("rank_degrees",))):
            assert again[name].tobytes() == graph.checkpoint_arrays()[name].tobytes()
        if number == 3:
            return


def test_a_vertex_that_has_edges_but_no_rank_was_there() -> None:
    """A step beyond a plain one may have taken all of it; also in a checkpoint."""
    graph = made(directed=False)
    graph.maintain("pagerank")
    arrays = graph.checkpoint_arrays()
    degrees = arrays["rank_degrees"]
    first = int(np.flatnonzero(degrees)[0])
    arrays["ranks"] = np.where(np.arange(degrees.size) == first, 0.0, arrays["ranks"])
    other = DynamicGraph.from_checkpoint_arrays(arrays, directed=False)
    engine = engine_of(other)
    kept = engine.device.to_host(engine.maintained["pagerank"].state(engine).ranks.ranks)
    assert kept[first] == 0
    assert np.array_equal(kept >= 0, degrees > 0)


@pytest.mark.parametrize("left", [10, 10_000, 10_002, 18_000])
def test_ranks_of_a_graph_of_which_little_is_left(left: int) -> None:
    """The hub of a star has half of all rank, with whatever few others it is left."""
    count = 20_000
    graph = DynamicGraph(directed=False, ids="dense")
    graph.insert_edges(np.zeros(count - 1, np.int64), np.arange(1, count))
    graph.maintain("pagerank")
    graph.delete_vertices(np.arange(left, count))
    few = np.triu_indices(10, 1)
    graph.insert_edges(*few)
    found = graph.pagerank()
    assert np.abs(found.pagerank - exact_ranks(graph)).sum() <= found.error_bound <= 1e-5


@pytest.mark.parametrize("is_asked", [False, True])
@pytest.mark.parametrize("engines", [("cuda", "host"), ("host", "cuda")])
def test_an_engine_goes_on_from_the_ranks_of_the_other(
    engines: tuple[str, str], is_asked: bool
) -> None:
    first = made(engine=engines[0], directed=False)
    # An index that nobody has any more.
    first.insert_vertices([500])
    first.maintain("pagerank", tol=1e-9, alpha=0.9, max_iter=300)
    first.delete_vertices([500])
    first.insert_edges([3, 5], [90, 91])
    plain = made(engine=engines[1], directed=False)
    plain.insert_edges([3, 5], [90, 91])
    even = dict.fromkeys(plain.vertices().tolist(), 1.0)
    cold = plain.pagerank(tol=1e-9, alpha=0.9, nstart=even).iterations
    if is_asked:
        first.pagerank(tol=1e-9, alpha=0.9)
    arrays = first.checkpoint_arrays()
    other = DynamicGraph.from_checkpoint_arrays(arrays, engine=engines[1], directed=False)
    kept = engine_of(other).maintained["pagerank"]
    assert type(kept) is (MaintainedPageRank if engines[1] == "host" else WarmPageRank)
    assert kept.parameters == {"alpha": 0.9, "tol": 1e-9, "max_iter": 300}
    for _ in range(2):
        found = other.pagerank(tol=1e-9, alpha=0.9)
        assert 0 < found.iterations < cold
        apart = np.abs(found.pagerank - exact_ranks(other, alpha=0.9)).sum()
        assert apart <= found.error_bound <= 1.1e-8
        other.delete_edges([3], [90])
