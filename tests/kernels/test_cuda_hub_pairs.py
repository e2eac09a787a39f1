"""Maintained triangles, changed edges of hubs: their rows are hash tables in shared memory."""

from typing import Any

import numpy as np
import pytest

from followed import is_stale
from graphtide import DynamicGraph
from graphtide.gpu_core.algorithms.maintained.maintained_triangles import MaintainedTriangles
from graphtide.gpu_core.cuda.analytics.maintained import hub_pairs, maintained_triangles
from graphtide.gpu_core.generators.rmat import rmat_edges
from graphtide.testing import engine_of

pytestmark = pytest.mark.usefixtures("device")


@pytest.fixture(autouse=True)
def repairs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much a batch changes, it is followed; and nothing is too little for a table."""
    monkeypatch.setattr(MaintainedTriangles, "always_repairs", True)
    monkeypatch.setattr(maintained_triangles, "MOST_SEARCHES", 0)


def check(graph: DynamicGraph) -> None:
    """The batch was followed, and rightly."""
    assert not is_stale(graph)
    graph.audit()


def followed(graph: DynamicGraph) -> list[int]:
    """Change an R-MAT graph by batches, and recount after each; how many pairs had a hub."""
    src, dst = rmat_edges(np.arange(3_000, dtype=np.uint64), 8, seed=3)
    graph.maintain("clustering")
    rng, of_hubs = np.random.default_rng(7), []
    made = maintained_triangles.count_hub_pairs

    def counted(*arguments: Any) -> Any:
        ordered = made(*arguments)
        of_hubs.append(int(engine_of(graph).workspace.device.to_host(ordered.hub_pairs)[0]))
        return ordered

    maintained_triangles.count_hub_pairs = counted
    try:
        for first in range(0, src.size, 1_000):
            graph.insert_edges(src[first : first + 1_000], dst[first : first + 1_000])
            check(graph)
            gone = rng.permutation(first + 1_000)[:400]
            graph.delete_edges(src[gone], dst[gone])
            check(graph)
    finally:
        maintained_triangles.count_hub_pairs = made
    return of_hubs


@pytest.mark.parametrize("layout", ["runs", "chain"])
@pytest.mark.parametrize("least", [1, 200, 10**9])
def test_counts_are_those_of_a_recount(
    least: int, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pairs that can have a hub, some, and none."""
    monkeypatch.setattr(hub_pairs, "LEAST_ENTRIES", least)
    of_hubs = followed(DynamicGraph(engine="cuda", directed=False, ids="dense", layout=layout))
    assert len(of_hubs) >= 6
    assert any(of_hubs) == (least < 10**9)


def test_vertices_of_one_bucket_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub and a vertex with no common neighbors, thousands of each: some buckets are the same."""
    monkeypatch.setattr(hub_pairs, "LEAST_ENTRIES", 1)
    graph = DynamicGraph(engine="cuda", directed=False, ids="dense")
    hub, other, size = 0, 1, 4_000
    own, others = np.arange(2, 2 * size, 2), np.arange(3, 2 * size + 1, 2)
    graph.insert_edges(np.full(own.size, hub), own)
    graph.insert_edges(np.full(others.size, other), others)
    graph.maintain("clustering")
    # With 5 as a neighbor of both there is one triangle.
    graph.insert_edges([hub, hub], [other, 5])
    assert int(graph.triangles().sum()) == 3
    check(graph)


@pytest.mark.parametrize("layout", ["runs", "chain", "tree"])
@pytest.mark.parametrize("bits", [1, 3])
def test_rows_that_are_longer_than_a_table_are_taken_in_parts(
    bits: int, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of 130 entries and tables of 4 and 16; few corners have a count in shared memory."""
    monkeypatch.setattr(hub_pairs, "LEAST_ENTRIES", 1)
    monkeypatch.setattr(hub_pairs, "_BUCKET_BITS", bits)
    monkeypatch.setattr(hub_pairs, "_CORNER_BITS", bits)
    rng = np.random.default_rng(5)
    src, dst = np.nonzero(np.triu(rng.random((260, 260)) < 0.5, 1))
    order = rng.permutation(src.size)
    src, dst = src[order], dst[order]
    graph = DynamicGraph(engine="cuda", directed=False, ids="dense", layout=layout)
    graph.insert_edges(src[2_000:], dst[2_000:])
    graph.maintain("clustering")
    # Look-ups of several tiles.
    graph.insert_edges(src[:2_000], dst[:2_000])
    check(graph)
    graph.delete_edges(src[1_000:2_500], dst[1_000:2_500])
    check(graph)
