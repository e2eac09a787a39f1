"""Check an arena image against its invariants. Slow and plain on purpose; on in tests.

Levels, each including the ones before it:

``header``
    Magic, version, sizes; the regions of ``memory()`` add up to the image; counters in range.
``pages``
    Every page below the bump mark has exactly one owner: a table, an adjacency, a free run or the
    page queue. Vertex records, vertex queue, users' ids and dictionary agree.
``full``
    Rows strictly increasing, every neighbor present, degrees add up to the number of edges, the
    reverse (or mirrored) half names the same edges with the same weights.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ...choices import one_of
from ...errors import CorruptImageError
from ...image import free_runs
from ...image.fields import (
    CLASS_MASK,
    CLASSES,
    HEADER_WORDS,
    MAGIC,
    NONE,
    PRESENT_BIT,
    STATE_WORD,
    VERSION,
    Field,
    ImageTable,
)
from ...layouts import LAYOUTS
from ..memory.relocate import list_pages
from ..update.parallel_sort import sort_keys
from .export import csr_of
from .host_graph import HostGraph
from .queries import indices_of
from .rows import pinned_rows

Int64s = npt.NDArray[np.int64]
UInt32s = npt.NDArray[np.uint32]

LEVELS = ("header", "pages", "full")


def verify_image(engine: HostGraph, level: str) -> None:
    """Raise `CorruptImageError` that names the first invariant that does not hold."""
    one_of("level", level, LEVELS)
    _check_header(engine)
    if level != "header":
        _check_vertices(engine)
        _check_pages(engine)
    if level == "full":
        _check_rows(engine)


def _require(holds: bool | np.bool_, what: str) -> None:
    if not holds:
        msg = f"corrupt image: {what}; please report this, and rebuild the graph from its log"
        raise CorruptImageError(msg)


def _check_header(engine: HostGraph) -> None:
    arena = engine.arena
    _require(arena[Field.MAGIC] == MAGIC, "the header does not begin with the magic number")
    _require(arena[Field.VERSION] == VERSION, f"version {arena[Field.VERSION]} is unknown")
    _require(arena[Field.IMAGE_WORDS] == arena.image.size, "the header's size is not the image's")
    _check_settings(engine)
    _check_tables(engine)
    memory = arena.memory()
    _require(
        sum(memory.regions.values()) == memory.arena_bytes, "regions do not add up to the arena"
    )
    _require(min(memory.regions.values()) >= 0, f"a region overlaps another: {memory.regions}")
    _require(
        0 <= arena[Field.PAGES_FREE] <= arena[Field.PAGE_BUMP], "more free pages than allocated"
    )


def _check_settings(engine: HostGraph) -> None:
    """Check the fields by which kernels address the image against the engine's settings."""
    arena, record = engine.arena, engine.record
    reverse = engine.directed and engine.has_reverse
    _require(arena[Field.DIRECTED] == engine.directed, "the header is wrong on directed")
    _require(arena[Field.ENTRY_WORDS] == record.words, "the header is of other records")
    _require(
        arena[Field.REVERSE_ENTRY_WORDS] == (record.reverse_words if reverse else 0),
        "the header is of other reverse records",
    )
    layout = LAYOUTS[engine.kind.layout]
    _require(arena[Field.LAYOUT] == layout.code, "the header is of another layout")
    _require(
        arena[Field.VERTEX_BASE] == HEADER_WORDS
        and arena[Field.VERTEX_WORDS] == (5 if reverse else 3)
        and arena[Field.VERTEX_COUNT] >= 0,
        "the vertex table is not where it should be",
    )
    page_words, page_end = arena[Field.PAGE_WORDS], arena[Field.PAGE_END]
    _require(
        page_words > 0 and HEADER_WORDS <= page_end <= arena[Field.IMAGE_WORDS],
        "the page area does not fit the image",
    )
    geometry, _ = free_runs.tree_geometry((page_end - HEADER_WORDS) // page_words)
    _require(np.array_equal(geometry, arena._geometry), "page area and free-run trees disagree")
    vertex_words = arena[Field.VERTEX_COUNT] * arena[Field.VERTEX_WORDS]
    _require(
        0 <= arena[Field.PAGE_BUMP] * page_words <= page_end - HEADER_WORDS - vertex_words,
        "the regions of vertex table and pages overlap",
    )


def _check_tables(engine: HostGraph) -> None:
    arena = engine.arena
    for table in ImageTable:
        first, size_class = (int(x) for x in arena.header[Field.TABLES + 2 * table :][:2])
        if first == NONE:
            continue
        _require(0 <= size_class < CLASSES, f"table {table.name} has size class {size_class}")
        _require(
            first >= 0
            and first % (1 << size_class) == 0
            and first + (1 << size_class) <= arena[Field.PAGE_BUMP],
            f"table {table.name} has page {first}, where no such run can begin",
        )
    _, tree_words = free_runs.tree_geometry(
        (arena[Field.PAGE_END] - HEADER_WORDS) // arena[Field.PAGE_WORDS]
    )
    _require(arena.table(ImageTable.FREE_TREE).size >= tree_words, "table FREE_TREE is too small")
    if not arena[Field.DENSE_IDS]:
        _require(
            arena.table(ImageTable.VERTEX_IDS).size >= 2 * arena[Field.VERTEX_COUNT],
            "table VERTEX_IDS is too small",
        )
    for name, table, front, back in (
        ("vertex", ImageTable.VERTEX_QUEUE, Field.VERTEX_QUEUE_FRONT, Field.VERTEX_QUEUE_BACK),
        ("page", ImageTable.PAGE_QUEUE, Field.PAGE_QUEUE_FRONT, Field.PAGE_QUEUE_BACK),
    ):
        _require(
            0 <= arena[front] <= arena[back] <= arena[front] + arena.table(table).size,
            f"the ends of the {name} queue are wrong",
        )


def _check_vertices(engine: HostGraph) -> None:
    arena = engine.arena
    records = arena.vertex_table()
    present = records[:, STATE_WORD] & PRESENT_BIT != 0
    _require(
        int(present.sum()) == arena[Field.NUM_VERTICES], "present bits do not match num_vertices"
    )
    _require(not records[~present].any(), "an absent vertex has an adjacency")
    if arena[Field.DENSE_IDS]:
        return
    queued = arena.queued_vertices()
    _require(np.array_equal(np.sort(queued), np.flatnonzero(~present)), "vertex queue is wrong")
    slots = arena.table(ImageTable.DICTIONARY)
    used = slots[slots != NONE]
    _require(used.size == arena[Field.DICTIONARY_USED], "dictionary count is wrong")
    _require(2 * used.size <= slots.size, "dictionary is more than half full")
    _require(np.array_equal(np.sort(used), np.flatnonzero(present)), "dictionary misses a vertex")
    indices = np.flatnonzero(present).astype(np.uint32)
    found = indices_of(arena, engine.ids_of(indices))
    _require(np.array_equal(found, indices), "dictionary does not find a vertex by its id")


def _check_pages(engine: HostGraph) -> None:
    arena = engine.arena
    bump = arena[Field.PAGE_BUMP]
    owners = np.zeros(bump, np.uint32)
    tree = arena.table(ImageTable.FREE_TREE)
    counts = tree[: free_runs.COUNT_WORDS].view(np.int64)
    _check_levels(tree, arena._geometry)
    twice = free_runs.mark_free_runs(tree, arena._geometry, owners)
    _require(twice == 0, f"{twice} pages lie in two free runs or above the bump mark")
    free = int((owners == NONE).sum())
    by_counts = int(sum(int(count) << size_class for size_class, count in enumerate(counts)))
    _require(free == by_counts, "counts of free runs are wrong")
    queued = arena.queued_pages()
    _claim(owners, queued, NONE, "the page queue")
    _require(free + queued.size == arena[Field.PAGES_FREE], "the number of free pages is wrong")
    for table in ImageTable:
        first, size_class = (int(x) for x in arena.header[Field.TABLES + 2 * table :][:2])
        if first != NONE:
            pages = np.arange(first, first + (1 << size_class))
            _claim(owners, pages, 1, f"table {table.name}")
    for direction in arena.directions():
        _check_rooms(engine, direction)
        _claim(owners, adjacency_pages(engine, direction), 2, f"adjacencies {direction}")
    _require(bool((owners != 0).all()), f"{int((owners == 0).sum())} pages have no owner (leaked)")


def _check_levels(tree: npt.NDArray[np.uint32], geometry: npt.NDArray[np.int64]) -> None:
    """Each bit above the lowest level says whether the word below it is empty."""
    for size_class, row in enumerate(geometry.tolist()):
        firsts, sizes = row[: free_runs.LEVELS], row[free_runs.LEVELS :]
        levels = [tree[first : first + size] for first, size in zip(firsts, sizes, strict=True)]
        for below, above in pairwise(level for level in levels if level.size):
            bits = np.unpackbits(above.astype("<u4").view(np.uint8), bitorder="little")
            _require(
                np.array_equal(np.flatnonzero(bits), np.flatnonzero(below)),
                f"levels of the free-run tree of class {size_class} disagree",
            )


def _check_rooms(engine: HostGraph, direction: str) -> None:
    """First pages, size classes and degrees of the records: walks over them stay inside."""
    arena, shape = engine.arena, engine.shape(direction)
    records = arena.vertex_table().astype(np.int64)
    degree, first = records[:, shape.degree_word], records[:, shape.first_word]
    if arena.layout.is_paged:
        entries = arena.layout.page_entries(shape.page_words, shape.entry_words)
        pages = -(-degree // entries)
        held, room = int(pages.sum()), degree
        end = first + (degree > 0)
    else:
        size_class = ((records[:, STATE_WORD] >> shape.class_shift) & CLASS_MASK) - 1
        _require(bool((size_class < CLASSES).all()), f"{direction}: no page run is that large")
        pages = np.where(size_class >= 0, 1 << np.maximum(size_class, 0), 0)
        held, room = int(pages.sum()), pages * shape.page_words // shape.entry_words
        end = first + pages
        _require(bool((first & np.maximum(pages - 1, 0) == 0).all()), "first page not aligned")
    _require(
        held <= arena[Field.PAGE_BUMP] and bool((end <= arena[Field.PAGE_BUMP]).all()),
        f"adjacencies {direction}: a degree or first page leads beyond the allocated pages",
    )
    _require(bool((degree <= room).all()), f"adjacencies {direction}: a degree exceeds its run")


def _claim(
    owners: npt.NDArray[np.uint32], pages: npt.NDArray[np.integer], owner: int, who: str
) -> None:
    _require(pages.size == 0 or int(pages.max()) < owners.size, f"{who}: page beyond the bump mark")
    _require(not owners[pages].any(), f"{who}: a page has another owner too")
    before = np.count_nonzero(owners)
    owners[pages] = owner
    # Counting takes less than looking for a page that is listed twice.
    owned = np.count_nonzero(owners) - before
    _require(owned == pages.size, f"{who}: a page is held twice")


def adjacency_pages(engine: HostGraph, direction: str) -> npt.NDArray[np.int64]:
    """Every page that the adjacencies of one direction hold, in order of the vertices."""
    pages = list_pages(engine.image, engine.shape(direction), engine.arena[Field.PAGE_BUMP])
    result: npt.NDArray[np.int64] = pages
    return result


def _check_rows(engine: HostGraph) -> None:
    everyone = np.arange(engine.vertex_count, dtype=np.int64)
    present = engine.present()
    indptr, columns = engine.neighbors(everyone.astype(np.uint32))
    _require(columns.size == 0 or int(columns.max()) < everyone.size, "a neighbor does not exist")
    _, _, properties = csr_of(engine, everyone)
    rows = np.repeat(everyone, np.diff(indptr))
    _require(bool(present[columns].all()), "a neighbor was deleted")
    same_row = rows[1:] == rows[:-1]
    _require(bool((columns[1:] > columns[:-1])[same_row].all()), "a row is not sorted")
    loops = int((rows == columns).sum())
    edges = columns.size if engine.directed else (columns.size + loops) // 2
    _require(edges == engine.num_edges, f"{edges} edges stored, the header says {engine.num_edges}")
    order = _order_by(columns)
    mirrored = columns[order], rows[order]
    weight = properties.get("weight")
    if not engine.directed:
        _require(
            np.array_equal(mirrored[0], rows) and np.array_equal(mirrored[1], columns),
            "an undirected edge is stored in one row only",
        )
        for name, column in properties.items():
            _require(
                np.array_equal(column[order], column, equal_nan=column.dtype.kind == "f"),
                f"{name} differs between the two rows of an edge",
            )
    elif engine.has_reverse:
        indptr, stored = engine.neighbors(everyone.astype(np.uint32), "in")
        reverse_rows = np.repeat(everyone, np.diff(indptr))
        _require(
            np.array_equal(mirrored[0], reverse_rows) and np.array_equal(mirrored[1], stored),
            "the reverse adjacency names other edges",
        )
        if weight is not None:
            stored_weight = pinned_rows(engine.arena, "in", weighted=True).weights
            assert stored_weight is not None
            _require(np.array_equal(weight[order], stored_weight), "reverse weights differ")
    unused = engine.arena[Field.PAGE_QUEUE_BACK] == 0
    _require(engine.arena.layout.is_paged or unused, "runs never use the page queue")


def _order_by(columns: UInt32s) -> Int64s:
    """int64: positions that bring entries into the order of their columns, rows as they come."""
    bits = columns.size.bit_length()
    keys = columns.astype(np.uint64) << np.uint64(bits) | np.arange(columns.size, dtype=np.uint64)
    return (sort_keys(keys, bits) & np.uint64((1 << bits) - 1)).view(np.int64)
