"""Edges that expire leave what deletes of these edges by rows leave, on the host engine."""

import itertools
from typing import Any

import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core.image.fields import ImageTable
from graphtide.testing import image_of
from strategies import LAYOUTS
from update_twins import rows_of

KINDS: dict[str, dict[str, Any]] = {
    "directed": {},
    "no-reverse": {"reverse": False},
    "undirected": {"directed": False},
    "wide": {"records": "semantic64", "self_loops": "keep"},
}
#: Of the report: all but times, and how the caller named the edges.
COUNTS = (
    "edges_removed", "num_edges", "num_vertices", "pages_used", "pages_free", "largest_free_run",
    "rows_moved", "rows_appended", "rows_merged",
)  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_and_pages_are_those_of_deletes(kind: str, layout: str) -> None:
    """Rows of one entry and of hundreds, some of which get shorter by more than one page."""
    rng = np.random.default_rng(3)
    # Enough for more than one thread.
    count = 5000
    src, dst = rng.integers(0, count, 40_000), rng.zipf(1.4, 40_000) % count
    if kind == "undirected":
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
    stays = (src != dst) | ("self_loops" in KINDS[kind])
    src, dst = np.unique(np.array([src[stays], dst[stays]]), axis=1)
    times = rng.integers(0, 1 << 40, src.size)
    # Half of the rows lose nearly all.
    times[(dst % 2 == 0) & (rng.random(src.size) < 0.9)] >>= 20
    for storage in ("soa", "aos"):
        settings = {"records": "semantic", "ids": "dense", "storage": storage, **KINDS[kind]}
        graphs = [DynamicGraph(engine="host", layout=layout, **settings) for _ in range(2)]
        for graph in graphs:
            graph.insert_edges(src, dst, weight=src / 8, ts=times)
        for after, before in itertools.pairwise([0, 1 << 18, 1 << 20, 1 << 38, 1 << 40]):
            gone = rng.permutation(np.flatnonzero((after <= times) & (times < before)))
            deleted = graphs[1].delete_edges(src[gone], dst[gone])
            report = graphs[0].expire(before)
            assert report.expired == deleted.deleted == gone.size
            for name in COUNTS:
                assert getattr(report, name) == getattr(deleted, name), name
            assert graphs[0].state_hash() == graphs[1].state_hash()
            assert graphs[0].memory().regions == graphs[1].memory().regions
            graphs[0].verify()
            if before == 1 << 38:
                # Of all the states: it takes longer than all the rest.
                check_same_words(*graphs)


def check_same_words(graph: DynamicGraph, other: DynamicGraph) -> None:
    """The images have the same words, but for those behind the entries of a row."""
    ours, theirs = image_of(graph), image_of(other)
    assert np.array_equal(ours.header, theirs.header)
    assert np.array_equal(ours.table(ImageTable.FREE_TREE), theirs.table(ImageTable.FREE_TREE))
    assert np.array_equal(ours.queued_pages(), theirs.queued_pages())
    assert np.array_equal(ours.vertex_table(), theirs.vertex_table())
    for direction in ours.directions():
        shape = ours.shape(direction)
        assert rows_of(ours.image, shape) == rows_of(theirs.image, shape), direction
