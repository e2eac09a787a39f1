"""How large an image is: first sizes, what a demand needs, growth and compaction. Arithmetic only.

Both engines size their images by these functions, so a sequence of batches leaves the same pages
on either, as long as neither image takes more than half of its limit: beyond that,
`compacted_size` goes by scratch as well, of which each engine takes its own.

Not here: who fills the image (`arena.BaseArena`, `host/memory/arena.py`, `cuda/memory/arena.py`).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from ..errors import ArenaFullError, SettingsError
from ..kind import GraphKind
from ..layouts import LAYOUTS
from . import free_runs
from .demand import Demand
from .fields import (
    HEADER_FIELDS,
    HEADER_WORDS,
    MAGIC,
    MAX_PAGE_BYTES,
    MIN_PAGE_BYTES,
    NONE,
    VERSION,
    WORD_BYTES,
    Field,
    ImageTable,
    even,
)

Int64s = npt.NDArray[np.int64]

#: First size of an arena that may grow, where no more is expected, and its share for scratch.
FIRST_BYTES = 256 << 20
SCRATCH_SHARE = 8
#: Room for each entry that is expected: a run may be half empty, or, as a row grows, wait half as
#: large after it. Uniform and R-MAT graphs took 1.3 to 1.9 times their entries as they came to be.
_ROOM_AN_ENTRY = 2
#: An image has aged when it has one free page below the bump mark to so many in use: runs that were
#: left for others. A graph of 16 edges a vertex, redrawn at random, takes 1.2 of a fresh one's
#: memory then.
PAGES_A_FREE_PAGE = 5
#: It is compacted when batches have also changed as many edges as it has, of which a batch counts
#: for at most one in so many. A compaction costs what four or five batches of a hundredth of the
#: edges cost, and more than one large batch; so it adds some 5 % to either. Where edges only come,
#: most are never changed, and a graph that grows is compacted by its growth.
BATCHES_A_TURNOVER = 64


class ImageSize(NamedTuple):
    """Words of an image: header, vertex table and pages, then scratch."""

    area: int
    scratch: int


def page_size(kind: GraphKind, arena_bytes: int | None) -> int:
    """Bytes of a page: what the kind names, or what suits its layout and mean degree.

    Raises
    ------
    SettingsError
        ``page_bytes`` is no page size, or too small for an entry or for ``arena_bytes``.
    """
    record, layout = kind.record, LAYOUTS[kind.layout]
    page_bytes = kind.page_bytes or layout.page_bytes_for(kind.known_mean_degree, record.words)
    if page_bytes & (page_bytes - 1) or not MIN_PAGE_BYTES <= page_bytes <= MAX_PAGE_BYTES:
        msg = (
            f"page_bytes={page_bytes} is not a power of two "
            f"from {MIN_PAGE_BYTES} to {MAX_PAGE_BYTES}"
        )
        raise SettingsError(msg)
    if page_bytes // WORD_BYTES - layout.link_words < record.words:
        msg = (
            f"page_bytes={page_bytes} cannot hold one entry of {record.name} records "
            f"({(record.words + layout.link_words) * WORD_BYTES} bytes); use a larger page"
        )
        raise SettingsError(msg)
    if (arena_bytes or 0) > reach_bytes(page_bytes):
        msg = (
            f"arena_bytes={arena_bytes} is more than pages of {page_bytes} bytes reach "
            f"({reach_bytes(page_bytes):,} bytes); use larger pages"
        )
        raise SettingsError(msg)
    return page_bytes


def page_size_of(header: Int64s, kind: GraphKind, mean_degree: float | None) -> int:
    """Bytes of a page for this mean degree, if any, in an image as large as ``header`` says.

    Larger ones where indices of such pages would not reach its end.
    """
    page_bytes = page_size(replace(kind, mean_degree=mean_degree), None)
    while reach_bytes(page_bytes) < int(header[Field.IMAGE_WORDS]) * WORD_BYTES:
        page_bytes *= 2
    return page_bytes


def reach_bytes(page_bytes: int) -> int:
    """Bytes that 32-bit page indices reach."""
    return NONE * page_bytes


def new_header(kind: GraphKind, page_bytes: int) -> Int64s:
    """int64[HEADER_FIELDS]: header of an empty graph, its sizes still open."""
    header = np.zeros(HEADER_FIELDS, np.int64)
    header[Field.MAGIC] = MAGIC
    header[Field.VERSION] = VERSION
    header[Field.VERTEX_BASE] = HEADER_WORDS
    header[Field.VERTEX_WORDS] = 5 if kind.stores_reverse else 3
    header[Field.PAGE_WORDS] = page_bytes // WORD_BYTES
    header[Field.DIRECTED] = kind.directed
    header[Field.LAYOUT] = LAYOUTS[kind.layout].code
    header[Field.ENTRY_WORDS] = kind.record.words
    header[Field.REVERSE_ENTRY_WORDS] = kind.record.reverse_words if kind.stores_reverse else 0
    header[Field.SOA] = kind.storage == "soa"
    header[Field.DENSE_IDS] = kind.dense_ids
    for table in ImageTable:
        header[Field.TABLES + 2 * table] = NONE
    return header


def expected_bytes(header: Int64s, edges: int) -> int:
    """Size of an image that so many edges come to be in; vertices that are new to each not counted.

    It holds at least `FIRST_BYTES`.
    """
    rows_an_edge = 1 if header[Field.DIRECTED] else 2
    words = rows_an_edge * header[Field.ENTRY_WORDS] + header[Field.REVERSE_ENTRY_WORDS]
    area = edges * int(words) * WORD_BYTES * _ROOM_AN_ENTRY
    return max(area * SCRATCH_SHARE // (SCRATCH_SHARE - 1), FIRST_BYTES)


def first_size(first_bytes: int) -> ImageSize:
    """A first image of so many bytes."""
    scratch = even(first_bytes // SCRATCH_SHARE // WORD_BYTES)
    return ImageSize(even_below(first_bytes // WORD_BYTES) - scratch, scratch)


def open_header(header: Int64s, size: ImageSize) -> tuple[Int64s, Int64s]:
    """Header and tree geometry of an empty image of this size: all pages unused, but for the trees.

    Raises
    ------
    ArenaFullError
        The size does not hold the header and the table of free runs.
    """
    header = header.copy()
    image_words = size.area + size.scratch
    page_words = int(header[Field.PAGE_WORDS])
    max_pages = max(size.area - HEADER_WORDS, 0) // page_words
    geometry, tree_words = free_runs.tree_geometry(max_pages)
    tree_class = class_for(tree_words, page_words)
    if max_pages < 1 << tree_class:
        least = (HEADER_WORDS + (page_words << tree_class)) * WORD_BYTES * SCRATCH_SHARE
        msg = (
            f"the arena is too small for its own header; give arena_bytes (and max_arena_bytes) "
            f"of at least {least // (SCRATCH_SHARE - 1) + 4096}"
        )
        raise ArenaFullError(msg)
    header[Field.IMAGE_WORDS] = image_words
    header[Field.PAGE_END] = size.area
    header[Field.PAGE_BUMP] = 1 << tree_class
    header[Field.PAGES_FREE] = 0
    header[Field.TABLES + 2 * ImageTable.FREE_TREE :][:2] = 0, tree_class
    return header, geometry


def class_for(words: int, page_words: int) -> int:
    """Smallest size class whose run holds this many words."""
    pages = -(-words // page_words)
    return max(pages - 1, 0).bit_length()


def area_for(header: Int64s, wanted: Demand, area: int) -> int:
    """Words that all of ``wanted`` takes in a page area of ``area`` words.

    It depends on the area, for the trees of free runs grow with it.
    """
    page_words = int(header[Field.PAGE_WORDS])
    max_pages = max(area - HEADER_WORDS, 0) // page_words
    tree = page_words << class_for(free_runs.tree_geometry(max_pages)[1], page_words)
    vertex_words = wanted.vertex_count * int(header[Field.VERTEX_WORDS])
    return HEADER_WORDS + vertex_words + wanted.pages * page_words + tree


def rebuilt_size(
    header: Int64s, wanted: Demand, limit_words: int, *, growth: float | None, scratch_held: int
) -> ImageSize:
    """Size of the image that replaces this one, to hold all of ``wanted``.

    Parameters
    ----------
    header
        Header of the image that there is.
    wanted
        What is alive and what the batch demands.
    limit_words, growth
        Words that an image may have; how many times as large it becomes, `None`: it may not.
    scratch_held
        Words of scratch that calls hold now.

    Raises
    ------
    ArenaFullError
        It does not fit.
    """
    now = int(header[Field.PAGE_END])
    scratch = int(header[Field.IMAGE_WORDS]) - now
    least = area_for(header, wanted, now)
    if least <= now:
        grown = even(int(now * (growth or 1)))
        if now < grown <= limit_words - scratch and least > now * 7 // 8:
            # Compaction would be due again soon.
            return ImageSize(grown, scratch)
        return ImageSize(now, scratch)
    if growth is None:
        _refuse(least, now, "arena_bytes")
    area = min(even(max(int(now * growth), least * 5 // 4)), limit_words - scratch)
    if area_for(header, wanted, area) > area:
        # Scratch that no call holds now can be taken again by the call that needs it.
        scratch = scratch_held
        most = limit_words - scratch
        area = even(area_for(header, wanted, most))
        if area > most:
            _refuse(area, max(most, 0), "max_arena_bytes")
    return ImageSize(area, scratch)


def is_aged(header: Int64s, limit_words: int) -> bool:
    """Whether enough pages are free among those in use to compact the image.

    Never where `compacted_size` finds none.
    """
    free = int(header[Field.PAGES_FREE])
    used = int(header[Field.PAGE_BUMP]) - free
    return free * PAGES_A_FREE_PAGE >= used and compacted_size(header, limit_words) is not None


def size_ahead(
    header: Int64s, limit_words: int, *, growth: float, share: float
) -> ImageSize | None:
    """Size of a larger image, where more than a share of this one is used and the limit has it."""
    area = int(header[Field.PAGE_END])
    scratch = int(header[Field.IMAGE_WORDS]) - area
    if _words_in_use(header) <= share * area:
        return None
    grown = even(int(area * growth))
    return ImageSize(grown, scratch) if grown + scratch <= limit_words else None


def compacted_size(header: Int64s, limit_words: int) -> ImageSize | None:
    """Size of the tidier image that replaces this one in time; both fit into ``limit_words``.

    As much as now, else what is left beside this image; `None` where what is in use would take more
    than half of that. An image that became smaller grows again when it is full.
    """
    area, words = int(header[Field.PAGE_END]), int(header[Field.IMAGE_WORDS])
    scratch = words - area
    if 2 * words <= limit_words:
        return ImageSize(area, scratch)
    left = even_below(limit_words - words - scratch)
    return ImageSize(left, scratch) if 2 * _words_in_use(header) <= left else None


def _words_in_use(header: Int64s) -> int:
    """Words of the header, the vertex table, and the pages that are not free."""
    pages = int(header[Field.PAGE_BUMP] - header[Field.PAGES_FREE]) * int(header[Field.PAGE_WORDS])
    return HEADER_WORDS + int(header[Field.VERTEX_COUNT] * header[Field.VERTEX_WORDS]) + pages


def size_with_scratch(
    header: Int64s, alive: Callable[[], Demand], words: int, limit_words: int, *, may_grow: bool
) -> ImageSize:
    """Size of an image with ``words`` words of scratch; another page area means compaction.

    ``alive`` is asked, once at most, for what is in use: to count it takes a pass over the graph.

    Raises
    ------
    ArenaFullError
        It does not fit beside what is alive.
    """
    area = int(header[Field.PAGE_END])
    have = int(header[Field.IMAGE_WORDS]) - area
    total = min(even(area + max(words * 5 // 4, 2 * have)), limit_words)
    if may_grow and area + words <= total:
        return ImageSize(area, total - area)
    # Pages that hold nothing make room; a rebuild takes it back when pages are needed.
    rest = limit_words - words
    if may_grow and area_for(header, alive(), rest) <= rest:
        return ImageSize(rest, words)
    setting = "max_arena_bytes" if may_grow else "arena_bytes"
    msg = (
        f"arena too small: this call needs {words * WORD_BYTES:,} bytes of scratch, the "
        f"arena keeps {have * WORD_BYTES:,}; raise {setting} or use smaller batches"
    )
    raise ArenaFullError(msg)


def even_below(words: int) -> int:
    """Round down to an even number of words, so that a limit is kept."""
    return words - (words & 1)


def _refuse(need_words: int, have_words: int, setting: str) -> NoReturn:
    msg = (
        f"arena too small: what is alive and what this batch demands need "
        f"{need_words * WORD_BYTES:,} bytes of pages and vertex records, the arena has "
        f"{have_words * WORD_BYTES:,}; raise {setting}, use smaller batches, or delete edges"
    )
    raise ArenaFullError(msg)
