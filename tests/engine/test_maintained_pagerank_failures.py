"""Maintained PageRank where following a batch fails, or is interrupted: computed on request."""

from typing import Any

import pytest

from graphtide import ArenaFullError, CorruptImageError, DynamicGraph
from graphtide.gpu_core.algorithms.maintained.maintained_pagerank import MaintainedPageRank
from graphtide.testing import engine_of
from maintained_ranks import check, grid, kept_of, rmat_graph

#: Residuals, and pushes of them, are the host's.
pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.parametrize("engine", ["host"], indirect=True),
]


def test_a_batch_is_applied_where_there_is_no_memory_to_follow_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, src, dst = rmat_graph(7)
    graph.maintain("pagerank")
    twin = engine_of(graph).algorithms.maintained_pagerank

    def refused(*_: object) -> None:
        msg = "no room"
        raise ArenaFullError(msg)

    for change in (graph.delete_edges, graph.insert_edges):
        with monkeypatch.context() as patch:
            patch.setattr(twin, "follow_entries", refused)
            report = change(src[:4], dst[:4])
        assert report.edges_removed + report.edges_added > 0
        assert kept_of(graph).is_stale
        check(graph, tol=1e-6)


def test_an_epoch_is_pinned_where_there_is_no_memory_to_bring_ranks_up_to_date(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, src, dst = rmat_graph(7)
    graph.maintain("pagerank")
    twin = engine_of(graph).algorithms.maintained_pagerank

    def refused(*_: object, **__: object) -> None:
        raise MemoryError

    graph.delete_edges(src[:4], dst[:4])
    with monkeypatch.context() as patch:
        patch.setattr(twin, "take_vertices", refused)
        epoch = graph.pin()
    with epoch:
        graph.delete_vertices(src[:9])
        assert epoch.pagerank().pagerank.size > graph.num_vertices
    check(graph, tol=1e-6)


def test_what_breaks_off_on_the_way_is_computed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MaintainedPageRank, "always", "push")
    graph = grid(20)
    graph.maintain("pagerank")
    pushes = engine_of(graph).algorithms.maintained_pagerank.Pushes
    whole = pushes.run

    def interrupted(self: Any, *given: Any) -> None:
        whole(self, *given)
        self._residuals[0] += 1 << 50
        raise KeyboardInterrupt

    graph.insert_edges([3], [300])
    with monkeypatch.context() as patch:
        patch.setattr(pushes, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            graph.pagerank()
    assert kept_of(graph).is_stale
    check(graph, tol=1e-6)


def test_an_audit_names_what_differs() -> None:
    graph = DynamicGraph.from_edges([1, 2, 3], [2, 3, 1])
    graph.maintain("pagerank")
    kept_of(graph)._residuals[1] += 5
    with pytest.raises(CorruptImageError, match=r"pagerank is wrong in 1 of 3 .* vertex 2: resid"):
        graph.audit()
    graph.audit()
    check(graph, tol=1e-6)
