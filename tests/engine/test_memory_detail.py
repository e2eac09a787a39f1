"""``memory(detail=True)``: blocks by size, against the regions and the degrees of the graph."""

from collections import Counter

import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core.image.fields import HEADER_WORDS, Field
from graphtide.gpu_core.image.memory import ARRAY_BYTES, BlockSize
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.testing import image_of
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
def test_blocks_by_size_are_what_bit_trees_and_rows_have(layout: str) -> None:
    """On each engine the same; of cuSTINGER's slides 33 to 35, and its BlockArrays."""
    graph = grown_and_shrunk(layout=layout)
    detail = graph.memory(detail=True).detail
    assert detail is not None
    assert detail == grown_and_shrunk(layout=layout, engine="host").memory(detail=True).detail
    image = image_of(graph)
    free = image.free_run_counts()
    free[0] += image.pages_queued
    used: Counter[int] = Counter()
    for each in detail.classes:
        used[each.block_bytes] += each.blocks
    assert any(each.used and each.free for each in detail.sizes)
    for size in detail.sizes:
        assert size.block_bytes == size.pages * detail.page_bytes
        assert size.used == used[size.block_bytes]
        assert size.free == free[size.pages.bit_length() - 1]
        assert size.overall_utilization == pytest.approx(
            size.filled_bytes / ((size.used + size.free) * size.block_bytes)
        )
        # One bit for each place of such a block, and a 32nd of that above.
        places = (image[Field.PAGE_END] - HEADER_WORDS) // image[Field.PAGE_WORDS] // size.pages
        assert places / 8 <= size.tree_bytes < 1.05 * places / 8 + 32
        assert size.arrays * ARRAY_BYTES == size.array_bytes
        assert size.used * size.block_bytes <= size.array_bytes
        assert size.array_bytes - size.used * size.block_bytes < ARRAY_BYTES
    assert sum(used.values()) == sum(size.used for size in detail.sizes)
    assert free.sum() == sum(size.free for size in detail.sizes)
    filled = sum(size.filled_bytes for size in detail.sizes)
    nbytes = sum(size.used * size.block_bytes for size in detail.sizes)
    assert detail.edge_utilization == pytest.approx(filled / nbytes)


def test_a_block_that_no_array_holds_is_one_by_itself() -> None:
    size = BlockSize(1 << 10, 4 << 20, used=3, free=1, filled_bytes=6 << 20, tree_bytes=4)
    assert (size.blocks_an_array, size.arrays, size.array_bytes) == (1, 3, 12 << 20)
    assert (size.edge_utilization, size.block_utilization) == (0.5, 0.75)


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
    assert (detail.sizes, detail.array_bytes) == ((), 0)
    assert "overall 100.0%; as BlockArrays 0 bytes" in str(detail)
