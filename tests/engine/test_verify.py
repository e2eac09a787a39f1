"""verify() names what is wrong: words of every region of an image are spoilt, one at a time."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from graphtide import CorruptImageError, DynamicGraph, SettingsError
from graphtide.gpu_core.image import free_runs
from graphtide.gpu_core.image.fields import (
    NONE,
    OUT_CLASS_SHIFT,
    OUT_DEGREE_WORD,
    OUT_FIRST_WORD,
    Field,
    ImageTable,
)
from graphtide.gpu_core.layouts import link_word, parent_of
from graphtide.gpu_core.layouts.pages import pages_of
from graphtide.testing import engine_of, image_of
from strategies import on_pages

PAGED_WAYS = on_pages({"records": "weighted"}, {"directed": False})
WAYS = [
    {"layout": "runs", "records": "weighted"},
    {"layout": "runs", "directed": False, "page_bytes": 16},
    {"layout": "runs", "ids": "dense", "reverse": False},
    *PAGED_WAYS,
]


def lived_in(engine: str = "host", **way: Any) -> DynamicGraph:
    """A graph with long and short rows, free runs or pages, and freed indices."""
    rng = np.random.default_rng(0)
    graph = DynamicGraph(engine=engine, arena_bytes=1 << (17 if engine == "host" else 20), **way)
    weight = rng.random(2_000).astype(np.float32) + 1 if "records" in way else None
    src, dst = rng.integers(0, 40, 2_000) ** 2, rng.integers(0, 50, 2_000) + 30
    graph.insert_edges(src, dst, weight=weight)
    graph.delete_edges(src[:900], dst[:900])
    graph.delete_vertices([31, 36, 49, 55])
    graph.insert_vertices([7_000 if way.get("ids") == "dense" else -5])
    graph.verify()
    return graph


def spoil_and_see(graph: DynamicGraph, words: np.ndarray, at: int, value: int) -> str:
    """Spoil one word, see what `verify` says, and put the word back."""
    before = int(words[at])
    assert before != value, "nothing would be spoilt"
    words[at] = value
    try:
        with pytest.raises(CorruptImageError) as caught:
            graph.verify()
    finally:
        words[at] = before
    graph.verify()
    return str(caught.value)


def first_long_row(graph: DynamicGraph) -> tuple[np.ndarray, int]:
    """The vertex table as words, and where the record of a vertex with many neighbors begins."""
    arena = image_of(graph)
    table = arena.vertex_table()
    vertex = int(np.argmax(table[:, OUT_DEGREE_WORD]))
    return table.reshape(-1), vertex * table.shape[1]


@pytest.mark.parametrize("way", WAYS)
def test_a_whole_image_passes_on_every_level(way: dict[str, Any]) -> None:
    graph = lived_in(**way)
    for level in ("header", "pages", "full"):
        graph.verify(level)
    with pytest.raises(SettingsError, match=r"level='quick'.*header, pages, full"):
        graph.verify("quick")


#: Header field -> a wrong value from the right one, and what verify must speak of.
HEADER: dict[Field, tuple[Callable[[int], int], str]] = {
    Field.MAGIC: (lambda x: x + 1, "magic"),
    Field.VERSION: (lambda x: 2, "version 2"),
    Field.IMAGE_WORDS: (lambda x: x - 2, "size"),
    Field.VERTEX_BASE: (lambda x: x + 2, "vertex"),
    Field.VERTEX_WORDS: (lambda x: x + 1, "vertex"),
    Field.VERTEX_COUNT: (lambda x: 1 << 40, "region"),
    Field.PAGE_END: (lambda x: x + (1 << 40), "region|page area"),
    Field.PAGE_WORDS: (lambda x: x * 2, "page"),
    Field.PAGE_BUMP: (lambda x: x + 1, "no owner"),
    Field.PAGES_FREE: (lambda x: x + 1, "free pages"),
    Field.NUM_VERTICES: (lambda x: x + 1, "num_vertices"),
    Field.NUM_EDGES: (lambda x: x - 1, "edges stored"),
    Field.DIRECTED: (lambda x: 1 - x, "directed"),
    Field.ENTRY_WORDS: (lambda x: x + 1, "records"),
    Field.REVERSE_ENTRY_WORDS: (lambda x: x + 1, "records"),
    Field.LAYOUT: (lambda x: 1 - x, "layout"),
    Field.VERTEX_QUEUE_BACK: (lambda x: x + 1, "vertex queue"),
    Field.VERTEX_QUEUE_FRONT: (lambda x: x - (1 << 40), "vertex queue"),
    Field.PAGE_QUEUE_BACK: (lambda x: x + (1 << 40), "page queue"),
    Field.PAGE_QUEUE_FRONT: (lambda x: x - 1, "page queue"),
    Field.DICTIONARY_USED: (lambda x: x + 1, "dictionary"),
}


@pytest.mark.parametrize("field", HEADER, ids=lambda field: field.name)
@pytest.mark.parametrize("way", WAYS[::3])
def test_every_header_field(way: dict[str, Any], field: Field) -> None:
    graph = lived_in(**way)
    change, words = HEADER[field]
    header = image_of(graph).header
    told = spoil_and_see(graph, header, field, change(int(header[field])))
    assert re.search(words, told)


@pytest.mark.parametrize("table", ImageTable, ids=lambda table: table.name)
@pytest.mark.parametrize("what", ["first page", "size class"])
def test_where_tables_lie(table: ImageTable, what: str) -> None:
    graph = lived_in(**PAGED_WAYS[0])
    header = image_of(graph).header
    at = Field.TABLES + 2 * table + (what == "size class")
    # The first page of the next run, a page beyond all pages, a class that no image can have.
    values = (1, 2, 40) if what == "size class" else (0, 3, 1 << 33)
    for value in values:
        if header[at] != value:
            spoil_and_see(graph, header, at, value)


@pytest.mark.parametrize("way", WAYS)
def test_vertex_records(way: dict[str, Any]) -> None:
    graph = lived_in(**way)
    table, record = first_long_row(graph)
    told = spoil_and_see(graph, table, record, table[record] & ~np.uint32(1))
    assert "present" in told
    degree, first = record + OUT_DEGREE_WORD, record + OUT_FIRST_WORD
    for wrong in (table[degree] - 1, table[degree] + 1, 0, 1 << 20, NONE):
        told = spoil_and_see(graph, table, degree, wrong)
        assert re.search("edge|row|adjacenc|neighbor|owner|page|degree", told)
    for wrong in (table[first] + 1, 0, 1 << 20, NONE):
        told = spoil_and_see(graph, table, first, wrong)
        assert "page" in told
    if way["layout"] == "runs":
        for wrong in (1, 40):
            shifted = np.uint32(int(table[record]) & ~(0xFF << OUT_CLASS_SHIFT))
            told = spoil_and_see(
                graph, table, record, shifted | np.uint32(wrong << OUT_CLASS_SHIFT)
            )
            assert re.search("page|degree", told)


def entries_of(graph: DynamicGraph) -> Iterator[int]:
    """Words of the first entries of the longest row."""
    arena = image_of(graph)
    table, record = first_long_row(graph)
    page = int(table[record + OUT_FIRST_WORD])
    pages = 1
    if graph.layout == "runs":
        pages = 1 << ((int(table[record]) >> OUT_CLASS_SHIFT & 0xFF) - 1)
    base = arena[Field.PAGE_END] - (page + pages) * arena[Field.PAGE_WORDS]
    yield from (base, base + 1, base + 2)


@pytest.mark.parametrize("way", WAYS)
def test_entries_of_an_adjacency(way: dict[str, Any]) -> None:
    graph = lived_in(**way)
    image = image_of(graph).image
    for at in entries_of(graph):
        for value in (NONE, int(image[at]) + 100_000):
            assert "neighbor does not exist" in spoil_and_see(graph, image, at, value)
    one, two, _ = entries_of(graph)
    assert "not sorted" in spoil_and_see(graph, image, one, image[two])


@pytest.mark.parametrize("way", WAYS[:1] + PAGED_WAYS[:1])
def test_weights(way: dict[str, Any]) -> None:
    graph = lived_in(**way, storage="aos")
    image = image_of(graph).image
    at = next(entries_of(graph)) + 1
    assert "weights differ" in spoil_and_see(graph, image, at, 0)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("engine", ["host", "cuda"])
@pytest.mark.parametrize("way", PAGED_WAYS)
def test_every_link_between_pages(way: dict[str, Any], engine: str) -> None:
    """Whichever word of a page it is: a page of a tree has two."""
    graph = lived_in(engine=engine, **way)
    graph.insert_edges(np.full(60, 7), np.arange(60))
    table, record = first_long_row(graph)
    image, shape = engine_of(graph).arena.image, image_of(graph).shape("out")
    words = image_of(graph).image
    pages = [int(table[record + OUT_FIRST_WORD])]
    for number in range(1, pages_of(shape, int(table[record + OUT_DEGREE_WORD]))):
        link = link_word(shape, pages[parent_of(shape, number)], number)
        pages.append(int(words[link]))
        for value in (pages[0], NONE):
            assert "page" in spoil_and_see(graph, image, link, value)
    assert number > 2


def test_users_ids_and_the_dictionary() -> None:
    graph = lived_in(**WAYS[0])
    arena = image_of(graph)
    ids = arena.table(ImageTable.VERTEX_IDS).view(np.int64)
    assert "by its id" in spoil_and_see(graph, ids, 3, 10**12)
    slots = arena.table(ImageTable.DICTIONARY)
    taken, free = np.flatnonzero(slots != NONE)[5], np.flatnonzero(slots == NONE)[5]
    assert "dictionary" in spoil_and_see(graph, slots, taken, NONE)
    assert "dictionary" in spoil_and_see(graph, slots, free, 0)
    assert "dictionary" in spoil_and_see(graph, slots, taken, 1 << 30)


def test_queues() -> None:
    graph = lived_in(**PAGED_WAYS[0])
    arena = image_of(graph)
    vertices = arena.table(ImageTable.VERTEX_QUEUE)
    front = arena[Field.VERTEX_QUEUE_FRONT] & (vertices.size - 1)
    for value in (0, 1 << 20, NONE):
        assert "vertex queue" in spoil_and_see(graph, vertices, front, value)
    pages = arena.table(ImageTable.PAGE_QUEUE)
    front = arena[Field.PAGE_QUEUE_FRONT] & (pages.size - 1)
    for value in (0, int(pages[front + 1]), 1 << 20, NONE):
        assert "page" in spoil_and_see(graph, pages, front, value)


def test_trees_of_free_runs() -> None:
    graph = lived_in(**WAYS[1])
    arena = image_of(graph)
    tree = arena.table(ImageTable.FREE_TREE)
    counts = np.flatnonzero(tree[: free_runs.COUNT_WORDS])
    assert "counts of free runs" in spoil_and_see(graph, tree, counts[0], tree[counts[0]] + 1)
    words = np.flatnonzero(tree[free_runs.COUNT_WORDS :]) + free_runs.COUNT_WORDS
    for at in words:
        spoil_and_see(graph, tree, at, 0)
        spoil_and_see(graph, tree, at, tree[at] ^ (1 << 31))
