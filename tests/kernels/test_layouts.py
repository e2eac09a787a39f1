"""Layouts: the formulas are the same in Python and in CUDA, and what a batch takes by them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphtide import CorruptImageError, DynamicGraph
from graphtide.gpu_core import layouts
from graphtide.gpu_core.cuda.device.compile import shape_argument
from graphtide.gpu_core.image.fields import CLASSES, MAX_PAGE_BYTES, MIN_PAGE_BYTES, Field, Shape
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.gpu_core.layouts.pages import PAGED as PAGED_MODULES
from graphtide.gpu_core.records import RECORDS
from graphtide.testing import image_of
from strategies import least_page_bytes

KERNELS = str(Path(__file__).parents[1] / "helpers" / "layout_formulas.cu")
PAGE_END = 1 << 40
PAGED = [name for name, layout in LAYOUTS.items() if layout.is_paged]


def shape_of(layout: str, page_words: int, entry_words: int) -> Shape:
    return Shape(
        layout=LAYOUTS[layout].code, vertex_base=128, vertex_words=5, vertex_count=9, first_word=1,
        degree_word=2, class_shift=8, page_end=PAGE_END, page_words=page_words,
        entry_words=entry_words, soa=1,
    )  # fmt: skip


def in_python(shape: Shape, room: int, degree: int) -> list[int]:
    after = layouts.room_after(shape, room, degree)
    entries = layouts.segment_entries(shape, after)
    if layouts.is_paged(shape):
        link = layouts.link_word(shape, layouts.parent_of(shape, degree + 1), degree + 1)
        return [after, layouts.room_of(shape, 1, degree), entries, link]
    pages = layouts.segment_pages(shape, after)
    return [after, layouts.room_after(shape, 0, degree), entries, pages]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("page_words", "entry_words"), [(4, 1), (8, 2), (16, 7), (32, 1), (1024, 7)]
)
def test_formulas_are_those_of_the_kernels(
    device: Any, layout: str, page_words: int, entry_words: int
) -> None:
    least = LAYOUTS[layout].link_words + entry_words
    shape = shape_of(layout, max(page_words, least), entry_words)
    degrees = np.unique(np.concatenate([np.arange(300), np.logspace(0, 9, 99).astype(np.int64)]))
    for room in (1, 2, 5, 9):
        out = device.empty(4 * degrees.size, np.int64)
        device.launch(
            KERNELS, "formulas", -(-degrees.size // 64), 64, shape_argument(shape), np.int64(room),
            device.to_device(degrees), np.int64(degrees.size), out,
        )  # fmt: skip
        found = device.to_host(out).reshape(-1, 4).tolist()
        assert found == [in_python(shape, room, degree) for degree in degrees.tolist()]


@pytest.mark.parametrize("layout", PAGED)
@pytest.mark.parametrize("page_words", [4, 32])
@pytest.mark.parametrize("pages", [1, 4, 5, 100, 700])
def test_every_page_of_an_adjacency_is_found(
    device: Any, layout: str, page_words: int, pages: int
) -> None:
    """By both engines: pages anywhere or side by side; links that are not in use say anything."""
    random = np.random.default_rng(pages)
    page_words = max(page_words, least_page_bytes("simple", layout) // 4)
    shape = shape_of(layout, page_words, 1)._replace(page_end=1000 * page_words)
    for in_order in (False, True):
        places = random.permutation(1000)[:pages]
        if in_order:
            places = np.arange(pages) + 150
            places[pages // 2 :] += 7
        image = random.integers(0, 1 << 32, shape.page_end, np.uint32)
        words = [
            layouts.link_word(shape, places[layouts.parent_of(shape, number)], number)
            for number in range(1, pages)
        ]
        assert len(set(words)) == pages - 1
        behind_entries = page_words - LAYOUTS[layout].link_words
        assert all(word % page_words >= behind_entries for word in words)
        image[words] = places[1:]
        listed, walked = (device.empty(pages, np.uint32) for _ in range(2))
        device.launch(
            KERNELS, "find_pages", 1, 32, device.to_device(image), shape_argument(shape),
            np.int64(places[0]), np.int64(pages), listed, walked,
        )  # fmt: skip
        ours = [int(places[0])]
        for number in range(1, pages):
            ours.append(layouts.page_after(image, shape, places[0], ours[-1], number))
        for found in (ours, device.to_host(listed), device.to_host(walked)):
            np.testing.assert_array_equal(found, places)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("engine", ["host", "cuda"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_edge_is_found_among_many_pages(layout: str, engine: str) -> None:
    """Also before the first neighbor, behind the last, and between them."""
    graph = DynamicGraph(
        engine=engine, layout=layout, page_bytes=least_page_bytes("simple", layout), ids="dense",
        reverse=False, arena_bytes=1 << 20,
    )  # fmt: skip
    wanted = np.arange(1, 700)
    for step in (2, 3, 5):
        graph.insert_edges(np.zeros(90, int), np.arange(40, 40 + 90 * step, step))
        there = np.isin(wanted, graph.neighbors(0))
        np.testing.assert_array_equal(graph.has_edges(np.zeros(wanted.size, int), wanted), there)


@pytest.mark.parametrize("layout", PAGED)
@pytest.mark.parametrize("records", ["simple", "semantic"])
def test_a_page_holds_the_mean_degree_and_half_of_it_does_not(layout: str, records: str) -> None:
    for mean in (1, 2.5, 16, 100, 1e9):
        graph = DynamicGraph(engine="host", layout=layout, records=records, mean_degree=mean)
        page_bytes, words = graph.memory().page_bytes, RECORDS[records].words
        entries = [
            LAYOUTS[layout].page_entries(size // 4, words) for size in (page_bytes, page_bytes // 2)
        ]
        assert entries[0] >= mean or page_bytes == MAX_PAGE_BYTES
        assert entries[1] < mean or page_bytes == MIN_PAGE_BYTES
    assert (
        DynamicGraph(engine="host", layout=layout, mean_degree=100, page_bytes=64)
        .memory()
        .page_bytes
        == 64
    )
    assert DynamicGraph(engine="host", layout="runs", mean_degree=100).memory().page_bytes == 32


def test_what_rows_take() -> None:
    before = np.array([0, 1, 3, 2, 5], np.uint32)
    after = np.array([2, 1, 4, 0, 9], np.uint32)
    runs = LAYOUTS["runs"].demand(before, after)
    assert (runs.size, runs[1], runs[3], runs[8], runs.sum()) == (CLASSES, 1, 1, 1, 3)
    pages = LAYOUTS["chain"].demand(before, after)
    assert (pages.size, pages[0], pages.sum()) == (CLASSES, 7, 7)


def test_a_code_names_one_layout() -> None:
    for name, layout in LAYOUTS.items():
        assert (layout.name, layouts.layout_of(layout.code)) == (name, layout)


def test_the_layout_of_a_shape_answers_and_no_other() -> None:
    for module in PAGED_MODULES:
        shape = shape_of(module.LAYOUT.name, 32, 1)
        assert layouts.segment_entries(shape, 1) == 32 - module.LAYOUT.link_words
        for number in range(1, 100):
            parent = module.parent_of(number)
            assert layouts.parent_of(shape, number) == parent < number
            assert layouts.link_word(shape, 7, number) == module.link_word(shape, 7, number)


def test_a_code_that_no_layout_has_is_refused_and_not_taken_for_another() -> None:
    graph = DynamicGraph(engine="host", layout="chain")
    image = image_of(graph)
    image.header[Field.LAYOUT] = 1 + max(layout.code for layout in LAYOUTS.values())
    for ask in (lambda: image.shape("out"), lambda: image.layout, lambda: graph.has_edge(1, 2)):
        with pytest.raises(CorruptImageError, match="no layout has the code"):
            ask()
