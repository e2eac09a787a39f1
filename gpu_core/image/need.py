"""Bytes that a graph will need in its arena, estimated beforehand. Arithmetic only.

Two figures: what it cannot exceed, and what it likely comes to. They count header, vertex table,
tables and adjacencies: what `MemoryReport.graph_bytes` counts, but for the trees of free runs,
which grow with the arena and not with the graph (2 MB of 256). These, free pages and scratch come
on top; `usable_bytes` leaves room for them.

With dense ids *vertices* are all ids up to the largest one, for each has a record.

The bound is of rows in tight runs, as a batch finds them before it is refused (`arena.squeeze`): a
row has the room that its layout says of its entries (`Layout.room_of_entries`), and a page.
"""

from ..kind import GraphKind
from ..layouts import LAYOUTS
from . import free_runs
from .arena_size import SCRATCH_SHARE, class_for, page_size
from .fields import HEADER_WORDS, WORD_BYTES

#: Words for each vertex that users' ids take, in a table of ids and a dictionary half empty:
#: between two doublings, and just after one.
_ID_WORDS_LIKELY, _ID_WORDS_MOST = 6, 8


def most_bytes(kind: GraphKind, vertices: int, edges: int) -> int:
    """Bytes that a graph of ``vertices`` vertices and edges takes at most, in tight runs."""
    _, words = _adjacency_words(kind, vertices, edges)
    words += vertices * _id_words(kind, most=True)
    words += _ring_words(kind, words) + vertices * _vertex_words(kind)
    return int(HEADER_WORDS + words) * WORD_BYTES


def likely_bytes(kind: GraphKind, vertices: int, edges: int) -> int:
    """Bytes that a graph of so many vertices and edges takes as graphs do that came by updates."""
    words, _ = _adjacency_words(kind, vertices, edges)
    words += vertices * (_vertex_words(kind) + _id_words(kind, most=False))
    return min(int(HEADER_WORDS + words) * WORD_BYTES, most_bytes(kind, vertices, edges))


def used_bytes(kind: GraphKind, vertices: int, pages_used: int, page_bytes: int) -> int:
    """Bytes that a graph takes, by its report: vertices that were deleted are not counted."""
    words = HEADER_WORDS + vertices * _vertex_words(kind)
    return words * WORD_BYTES + pages_used * page_bytes


def _ring_words(kind: GraphKind, words: float) -> float:
    """Words of the ring of freed pages, of a layout of pages, for pages of ``words`` words.

    It has a slot for each page that was allocated, those of tables and its own before it doubled
    among them.
    """
    page_words = page_size(kind, None) // WORD_BYTES
    return 2 * words / (page_words - 1) if LAYOUTS[kind.layout].is_paged else 0


def _tree_bytes(kind: GraphKind, area_bytes: int) -> int:
    """Bytes of the trees of free runs, which grow with the arena: some 2 bits a page."""
    page_bytes = page_size(kind, None)
    words = free_runs.tree_geometry(area_bytes // page_bytes)[1]
    tree_bytes = page_bytes << class_for(words, page_bytes // WORD_BYTES)
    return tree_bytes + int(_ring_words(kind, tree_bytes))


def usable_bytes(kind: GraphKind, limit_bytes: int) -> int:
    """Bytes that a graph can take of an arena of this limit; scratch and trees have the rest."""
    area = limit_bytes - limit_bytes // SCRATCH_SHARE
    return area - _tree_bytes(kind, area)


def _adjacency_words(kind: GraphKind, vertices: int, edges: int) -> tuple[float, float]:
    """Words of all adjacencies, likely and at most: those of their entries, and a page of each."""
    page_words = page_size(kind, None) // WORD_BYTES
    entries = edges * kind.entries_per_edge
    last_pages = min(vertices, entries) * page_words
    likely, most = 0.0, 0.0
    for words in (kind.record.words, kind.record.reverse_words)[: 1 + kind.stores_reverse]:
        rooms = LAYOUTS[kind.layout].room_of_entries(page_words, words)
        likely += last_pages / 2 + rooms[0] * entries * words
        most += last_pages + rooms[1] * entries * words
    return likely, most


def _vertex_words(kind: GraphKind) -> int:
    return 5 if kind.stores_reverse else 3


def _id_words(kind: GraphKind, *, most: bool) -> int:
    if kind.dense_ids:
        return 0
    return _ID_WORDS_MOST if most else _ID_WORDS_LIKELY
