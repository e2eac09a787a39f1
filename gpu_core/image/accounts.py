"""Numbers of a batch report on both engines: net effect, and memory after the batch.

Compiled, because a small batch is bound by what the host does around it.
"""

from typing import NamedTuple

from ..jit.compile import compiled
from .fields import CLASSES, WORD_BYTES, Field

_VERTEX_BASE = int(Field.VERTEX_BASE)
_VERTEX_WORDS = int(Field.VERTEX_WORDS)
_VERTEX_COUNT = int(Field.VERTEX_COUNT)
_PAGE_END = int(Field.PAGE_END)
_PAGE_WORDS = int(Field.PAGE_WORDS)
_PAGE_BUMP = int(Field.PAGE_BUMP)
_PAGES_FREE = int(Field.PAGES_FREE)
_NUM_VERTICES = int(Field.NUM_VERTICES)
_NUM_EDGES = int(Field.NUM_EDGES)


class Outcome(NamedTuple):
    """Numbers of an applied batch; fields as in `report.BatchReport`, in its order."""

    missing: int
    inserted: int
    updated: int
    deleted: int
    edges_added: int
    edges_removed: int
    vertices_created: int
    vertices_removed: int
    num_vertices: int
    num_edges: int
    pages_used: int
    pages_free: int
    largest_free_run: int
    page_bytes: int
    rows_moved: int
    rows_appended: int
    rows_merged: int


@compiled
def free_pages(header, counts):
    """Pages used, pages that can be allocated without growth, largest free run in pages.

    Parameters
    ----------
    counts
        int64[CLASSES]: free runs of each class.
    """
    bump, free = header[_PAGE_BUMP], header[_PAGES_FREE]
    vertex_end = header[_VERTEX_BASE] + header[_VERTEX_COUNT] * header[_VERTEX_WORDS]
    limit = max(header[_PAGE_END] - vertex_end, 0) // header[_PAGE_WORDS]
    largest = 0
    for size_class in range(CLASSES - 1, -1, -1):
        # A run from the bump mark begins at the next multiple of its size.
        unused = ((-(-bump >> size_class) + 1) << size_class) <= limit
        if unused or (counts[size_class] and limit >> size_class):
            largest = 1 << size_class
            break
    return bump - free, free + limit - bump, largest


class VertexChanges(NamedTuple):
    """Vertex rows of a batch, how many of them found their vertex, and what it did to vertices."""

    row_puts: int
    row_puts_found: int
    row_deletes: int
    row_deletes_found: int
    #: Vertices that the batch added to the graph, and removed from it.
    created: int
    removed: int


@compiled
def numbers_of_batch(header, counts, tally, rows, entries_per_edge, deletes, vertices):
    """Numbers of `Outcome`, once the batch is done.

    Parameters
    ----------
    header, counts
        As of `free_pages`, after the batch.
    tally
        int64[5]: fields of `host/update/tally.py: Tally` about entries, of the forward delta.
    rows
        int64[3]: those about rows, of all deltas.
    entries_per_edge
        Entries that the forward delta has of an edge: 2 for undirected graphs.
    deletes
        Edges to delete.
    vertices
        `VertexChanges`.
    """
    row_puts, row_puts_found, row_deletes, row_deletes_found, created, removed = vertices
    added, found_puts, lost, replaced = tally[0], tally[1], tally[3], tally[4]
    new, deleted = added // entries_per_edge, tally[2] // entries_per_edge
    return (
        deletes - deleted + row_deletes - row_deletes_found,
        new + row_puts - row_puts_found,
        found_puts // entries_per_edge + row_puts_found,
        deleted + row_deletes_found,
        (added - replaced) // entries_per_edge,
        (lost - replaced) // entries_per_edge,
        created,
        removed,
        header[_NUM_VERTICES],
        header[_NUM_EDGES],
        *free_pages(header, counts),
        header[_PAGE_WORDS] * WORD_BYTES,
        rows[0],
        rows[1],
        rows[2],
    )
