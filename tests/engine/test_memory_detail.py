"""``memory(detail=True)``: blocks by size, against the regions and the degrees of the graph."""

from collections import Counter

import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core.layouts import LAYOUTS
from strategies import least_page_bytes

pytestmark = pytest.mark.usefixtures("engine")


def grown_and_shrunk(**settings: object) -> DynamicGraph:
    """A graph with hubs, with rows that keep too much room, and with free blocks of many sizes."""
    rng = np.random.default_rng(6)
    graph = DynamicGraph(records="weighted", **settings)
    src, dst = rng.zipf(1.4, 3000) % 400, rng.integers(0, 700, 3000)
    graph.insert_edges(src, dst)
    graph.delete_edges(src[::2], dst[::2])
    graph.delete_vertices(np.arange(0, 700, 9))
    return graph


@pytest.mark.parametrize("settings", [{}, {"directed": False, "ids": "dense"}], ids=str)
def test_blocks_add_up(settings: dict[str, object]) -> None:
    graph = grown_and_shrunk(**settings)
    report = graph.memory(detail=True)
    detail = report.detail
    assert detail is not None
    used = sum(each.blocks * each.block_bytes for each in detail.classes)
    assert used == report.regions["adjacencies"]
    free = sum(pages * blocks for pages, blocks in detail.free.items()) * report.page_bytes
    assert free == report.regions["free pages"] > 0
    assert detail.block_utilization == used / (used + free)
    degrees = {"out": graph.degrees()}
    if graph.directed:
        degrees["in"] = graph.in_degrees()
    for direction, counts in degrees.items():
        classes = [each for each in detail.classes if each.direction == direction]
        assert sum(each.adjacencies for each in classes) == np.count_nonzero(counts)
        assert sum(each.entries for each in classes) == counts.sum()
    for each in detail.classes:
        assert each.entries <= each.room
        assert each.room * 8 <= each.blocks * each.block_bytes
    words = sum(
        each.entries / each.room * each.blocks * each.block_bytes for each in detail.classes
    )
    assert detail.edge_utilization == pytest.approx(words / used)
    assert f"overall {detail.overall_utilization:.1%}" in str(report)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_classes_are_those_of_the_degrees(layout: str) -> None:
    """Rows that were inserted once have the least that holds them."""
    page_bytes = max(32, least_page_bytes("simple", layout))
    graph = DynamicGraph(layout=layout, ids="dense", reverse=False, page_bytes=page_bytes)
    degrees = {1: 5, 7: 8, 8: 8, 9: 9, 16: 16, 17: 17, 100: 40}
    for vertex, degree in degrees.items():
        graph.insert_edges(np.full(degree, vertex), 200 + np.arange(degree))
    on_page = page_bytes // 4 - LAYOUTS[layout].link_words
    expected = Counter(1 << (-(-degree // on_page) - 1).bit_length() for degree in degrees.values())
    found = graph.memory(detail=True).detail
    assert found is not None
    assert {each.pages: each.adjacencies for each in found.classes} == expected
    assert {each.block_bytes for each in found.classes} == (
        {page_bytes * pages for pages in expected} if layout == "runs" else {page_bytes}
    )


def test_no_edge_no_block() -> None:
    graph = DynamicGraph()
    assert graph.memory().detail is None
    detail = graph.memory(detail=True).detail
    assert detail is not None
    assert (detail.classes, detail.overall_utilization) == ((), 1.0)
    assert "free blocks by pages: none" in str(detail)
