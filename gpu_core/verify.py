"""Check an arena image against its invariants. Slow and plain on purpose; on in tests.

Levels, each including the ones before it:

``header``
    Magic, version, sizes; the regions of ``memory()`` add up to the image; counters in range.
``pages``
    Every page below the bump mark has exactly one owner: a table, an adjacency, a free run or the
    page queue. Vertex records, vertex queue, users' ids and dictionary agree.
``full``
    Rows strictly increasing, every neighbour present, degrees add up to the number of edges, the
    reverse (or mirrored) half names the same edges with the same weights.
"""

import numpy as np
import numpy.typing as npt

from .errors import CorruptImageError, SettingsError
from .host import free_runs
from .host.engine import HostEngine
from .host.export import csr_of
from .host.identify import indices_of
from .image import MAGIC, NONE, PRESENT_BIT, STATE_WORD, VERSION, Field, Table
from .layouts import LAYOUTS

LEVELS = ("header", "pages", "full")


def verify_image(engine: HostEngine, level: str = "full") -> None:
    """Raise `CorruptImageError` that names the first invariant that does not hold."""
    if level not in LEVELS:
        msg = f"level={level!r} is unknown; use one of {', '.join(LEVELS)}"
        raise SettingsError(msg)
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


def _check_header(engine: HostEngine) -> None:
    arena = engine.arena
    _require(arena[Field.MAGIC] == MAGIC, "the header does not begin with the magic number")
    _require(arena[Field.VERSION] == VERSION, f"version {arena[Field.VERSION]} is unknown")
    _require(arena[Field.IMAGE_WORDS] == arena.image.size, "the header's size is not the image's")
    memory = arena.memory()
    _require(
        sum(memory.regions.values()) == memory.arena_bytes, "regions do not add up to the arena"
    )
    _require(min(memory.regions.values()) >= 0, f"a region overlaps another: {memory.regions}")
    _require(
        0 <= arena[Field.PAGES_FREE] <= arena[Field.PAGE_BUMP], "more free pages than handed out"
    )


def _check_vertices(engine: HostEngine) -> None:
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
    slots = arena.table(Table.DICTIONARY)
    used = slots[slots != NONE]
    _require(used.size == arena[Field.DICTIONARY_USED], "dictionary count is wrong")
    _require(2 * used.size <= slots.size, "dictionary is more than half full")
    _require(np.array_equal(np.sort(used), np.flatnonzero(present)), "dictionary misses a vertex")
    indices = np.flatnonzero(present).astype(np.uint32)
    found = indices_of(arena, engine.ids_of(indices))
    _require(np.array_equal(found, indices), "dictionary does not find a vertex by its id")


def _check_pages(engine: HostEngine) -> None:
    arena = engine.arena
    bump = arena[Field.PAGE_BUMP]
    owners = np.zeros(bump, np.uint32)
    tree = arena.table(Table.FREE_TREE)
    counts = tree[: free_runs.COUNT_WORDS].view(np.int64)
    twice = free_runs.mark_free_runs(tree, arena._geometry, owners)
    _require(twice == 0, f"{twice} pages lie in two free runs or above the bump mark")
    free = int((owners == NONE).sum())
    by_counts = int(sum(int(count) << size_class for size_class, count in enumerate(counts)))
    _require(free == by_counts, "counts of free runs are wrong")
    queued = arena.queued_pages()
    _require(np.unique(queued).size == queued.size, "the page queue names a page twice")
    _claim(owners, queued, NONE, "the page queue")
    _require(free + queued.size == arena[Field.PAGES_FREE], "the number of free pages is wrong")
    for table in Table:
        first, size_class = (int(x) for x in arena.header[Field.TABLES + 2 * table :][:2])
        if first != NONE:
            pages = np.arange(first, first + (1 << size_class))
            _claim(owners, pages, 1, f"table {table.name}")
    for direction in arena.directions():
        _claim(owners, adjacency_pages(engine, direction), 2, f"adjacencies {direction}")
    _require(bool((owners != 0).all()), f"{int((owners == 0).sum())} pages have no owner (leaked)")


def _claim(
    owners: npt.NDArray[np.uint32], pages: npt.NDArray[np.integer], owner: int, who: str
) -> None:
    _require(pages.size == 0 or int(pages.max()) < owners.size, f"{who}: page beyond the bump mark")
    _require(np.unique(pages).size == pages.size, f"{who}: a page is held twice")
    _require(not owners[pages].any(), f"{who}: a page belongs to somebody else too")
    owners[pages] = owner


def adjacency_pages(engine: HostEngine, direction: str) -> npt.NDArray[np.int64]:
    """Every page that the adjacencies of one direction hold, in order of the vertices."""
    from .host.relocate import list_pages

    pages = list_pages(engine.image, engine.shape(direction))
    result: npt.NDArray[np.int64] = pages
    return result


def _check_rows(engine: HostEngine) -> None:
    everyone = np.arange(engine.vertex_count, dtype=np.int64)
    present = engine.present()
    indptr, columns, properties = csr_of(engine, everyone)
    rows = np.repeat(everyone, np.diff(indptr))
    _require(columns.size == 0 or int(columns.max()) < everyone.size, "a neighbour does not exist")
    _require(bool(present[columns].all()), "a neighbour was deleted")
    same_row = rows[1:] == rows[:-1]
    _require(bool((columns[1:] > columns[:-1])[same_row].all()), "a row is not sorted")
    loops = int((rows == columns).sum())
    edges = columns.size if engine.directed else (columns.size + loops) // 2
    _require(edges == engine.num_edges, f"{edges} edges stored, the header says {engine.num_edges}")
    order = np.lexsort((rows, columns))
    mirrored = (columns[order], rows[order])
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
        indptr, stored = engine.neighbours(everyone.astype(np.uint32), "in")
        reverse_rows = np.repeat(everyone, np.diff(indptr))
        _require(
            np.array_equal(mirrored[0], reverse_rows) and np.array_equal(mirrored[1], stored),
            "the reverse adjacency names other edges",
        )
        if weight is not None:
            stored_weight = reverse_weights(engine)
            _require(np.array_equal(weight[order], stored_weight), "reverse weights differ")
    chains = engine.arena[Field.LAYOUT] == LAYOUTS["chain"].CODE
    _require(chains or engine.arena[Field.PAGE_QUEUE_BACK] == 0, "runs never use the page queue")


def reverse_weights(engine: HostEngine) -> npt.NDArray[np.float32]:
    """float32: weights of the reverse adjacency, in order of its rows."""
    from .host.export import copy_weights

    indices = np.arange(engine.vertex_count, dtype=np.uint32)
    indptr = np.concatenate([[0], np.cumsum(engine.degrees(indices, "in"))])
    out = np.empty(int(indptr[-1]), np.uint32)
    copy_weights(0, indices.size, engine.image, engine.shape("in"), indices, indptr, out)
    return out.view(np.float32)
