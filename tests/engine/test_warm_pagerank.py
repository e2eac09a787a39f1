"""Maintained PageRank on a GPU: steps from the ranks before, those of the other engine too."""

import numpy as np
import pytest

from exact_ranks import exact_ranks
from graphtide import DynamicGraph
from graphtide.gpu_core.algorithms.maintained.maintained_pagerank import MaintainedPageRank
from graphtide.gpu_core.algorithms.maintained.warm_pagerank import WarmPageRank
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.testing import engine_of

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
    before, cold = other.pagerank(tol=1e-9), made(directed=directed).pagerank(tol=1e-9)
    graph.maintain("pagerank", tol=1e-9)
    monkeypatch.setattr(engine_of(graph), "changing", lambda _: pytest.fail("edges are listed"))
    for each in (graph, other):
        each.insert_edges([3, 200], [4, 5])
        each.insert_vertices([300])
    found, expected = graph.pagerank(tol=1e-9), other.pagerank(tol=1e-9, nstart=before)
    assert found.pagerank.tobytes() == expected.pagerank.tobytes()
    assert found.iterations == expected.iterations < cold.iterations
    assert found.error_bound == expected.error_bound
    assert graph.pagerank(tol=1e-9).pagerank.tobytes() == found.pagerank.tobytes()


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
    cold = plain.pagerank(tol=1e-9, alpha=0.9).iterations
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
