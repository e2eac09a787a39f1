"""The arena of the host engine: one array of 32-bit words that manages itself.

The image (`image.py`) holds header, vertex table, pages and scratch stack. This file makes it,
hands out runs of pages and scratch, and replaces it by a larger or a tidier one: *prepare* compares
what a batch demands, exactly, with what is free; it merges buddies, compacts or grows until the
demand fits, or refuses with `ArenaFullError` and leaves the graph as it was.

Compaction and growth are one operation, `_rebuild`: a second image is filled with all runs from the
largest class to the smallest, so that no page is lost between them, with room left for the demand.
Both images exist while this lasts; the limit is for either of them, not for their sum. Until the
second one is whole the first one stands: whatever cuts the rebuild off, the graph is as before.

The operating system gives memory to an image where it is touched, so a large arena costs little
until it is used.

Not here: what an adjacency is (`layouts/`), what a batch does (`plan.py`, `commit.py`).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from ..errors import ArenaFullError, SettingsError
from ..image import (
    CLASSES,
    HEADER_FIELDS,
    HEADER_WORDS,
    IN_CLASS_SHIFT,
    IN_DEGREE_WORD,
    IN_FIRST_WORD,
    MAGIC,
    NONE,
    OUT_CLASS_SHIFT,
    OUT_DEGREE_WORD,
    OUT_FIRST_WORD,
    VERSION,
    WORD_BYTES,
    Field,
    Shape,
    Table,
)
from ..layouts import LAYOUTS
from ..memory import MemoryReport
from ..records import Record
from . import free_runs
from .demand import Demand, Taken
from .relocate import count_runs, move_chains, move_runs
from .scratch import Scratch, even

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]

#: First size of an arena that may grow, and its share for scratch.
FIRST_BYTES = 256 << 20
SCRATCH_SHARE = 8
_MIN_PAGE_BYTES, _MAX_PAGE_BYTES = 16, 4096


class Arena:
    """One image in host memory, and the words of it that are in use.

    Parameters
    ----------
    record, directed, reverse, soa, layout, dense_ids
        What the graph is; kept in the header.
    page_bytes
        Size of a page, a power of two from 16 to 4096; the layout's own default where `None`.
    arena_bytes
        First size of the image; `None`: 256 MiB, growing as needed.
    limit_bytes
        Size that the image may grow to. `None`: no growth where ``arena_bytes`` is given, else
        three quarters of the machine's memory. Never more than 32-bit page indices reach.

    Raises
    ------
    SettingsError
        ``page_bytes`` is no page size, or too small for an entry or for ``arena_bytes``.
    ArenaFullError
        ``arena_bytes`` does not hold the header and the table of free runs.
    """

    def __init__(
        self,
        *,
        record: Record,
        directed: bool,
        reverse: bool,
        soa: bool,
        layout: str,
        dense_ids: bool,
        page_bytes: int | None = None,
        arena_bytes: int | None = None,
        limit_bytes: int | None = None,
    ) -> None:
        page_bytes = page_bytes or LAYOUTS[layout].DEFAULT_PAGE_BYTES
        if page_bytes & (page_bytes - 1) or not _MIN_PAGE_BYTES <= page_bytes <= _MAX_PAGE_BYTES:
            msg = (
                f"page_bytes={page_bytes} is not a power of two "
                f"from {_MIN_PAGE_BYTES} to {_MAX_PAGE_BYTES}"
            )
            raise SettingsError(msg)
        words = page_bytes // WORD_BYTES
        links = 1 if layout == "chain" else 0
        if words - links < record.words:
            msg = (
                f"page_bytes={page_bytes} cannot hold one entry of {record.name} records "
                f"({(record.words + links) * WORD_BYTES} bytes); use a larger page"
            )
            raise SettingsError(msg)
        reach = NONE * page_bytes
        if (arena_bytes or 0) > reach:
            msg = (
                f"arena_bytes={arena_bytes} is more than pages of {page_bytes} bytes reach "
                f"({reach:,} bytes); use larger pages"
            )
            raise SettingsError(msg)
        self.limit_bytes = min(limit_bytes or arena_bytes or _default_limit(), reach)
        self._may_grow = limit_bytes is not None or arena_bytes is None
        first = min(arena_bytes or FIRST_BYTES, self.limit_bytes)
        scratch_words = even(first // SCRATCH_SHARE // WORD_BYTES)
        image_words = _even_below(first // WORD_BYTES)
        header = np.zeros(HEADER_FIELDS, np.int64)
        header[Field.MAGIC] = MAGIC
        header[Field.VERSION] = VERSION
        header[Field.VERTEX_BASE] = HEADER_WORDS
        header[Field.VERTEX_WORDS] = 5 if reverse else 3
        header[Field.PAGE_WORDS] = words
        header[Field.DIRECTED] = directed
        header[Field.LAYOUT] = LAYOUTS[layout].CODE
        header[Field.ENTRY_WORDS] = record.words
        header[Field.REVERSE_ENTRY_WORDS] = record.reverse_words if reverse else 0
        header[Field.SOA] = soa
        header[Field.DENSE_IDS] = dense_ids
        for table in Table:
            header[Field.TABLES + 2 * table] = NONE
        self._scratch_top = 0
        self._open_image(header, image_words, scratch_words)

    # -- the image and its views -------------------------------------------------------------

    def _open_image(self, header: Int64s, image_words: int, scratch_words: int) -> None:
        """Make an empty image with this header and its table of free runs."""
        page_end = image_words - scratch_words
        page_words = int(header[Field.PAGE_WORDS])
        max_pages = max(page_end - HEADER_WORDS, 0) // page_words
        geometry, tree_words = free_runs.tree_geometry(max_pages)
        tree_class = self._class_for(tree_words, page_words)
        if max_pages < 1 << tree_class:
            least = (HEADER_WORDS + (page_words << tree_class)) * WORD_BYTES * SCRATCH_SHARE
            msg = (
                f"an arena of {image_words * WORD_BYTES} bytes is too small for its own header; "
                f"give arena_bytes of at least {least // (SCRATCH_SHARE - 1) + 4096}"
            )
            raise ArenaFullError(msg)
        self.image: UInt32s = np.zeros(image_words, np.uint32)
        self.header: Int64s = self.image[:HEADER_WORDS].view(np.int64)
        self.header[:] = header
        self.header[Field.IMAGE_WORDS] = image_words
        self.header[Field.PAGE_END] = page_end
        self.header[Field.PAGE_BUMP] = 1 << tree_class
        self.header[Field.PAGES_FREE] = 0
        self._set_table(Table.FREE_TREE, 0, tree_class)
        self._geometry = geometry

    def __getitem__(self, field: Field) -> int:
        return int(self.header[field])

    def _class_for(self, words: int, page_words: int | None = None) -> int:
        """Smallest size class whose run holds this many words."""
        pages = -(-words // (page_words or self[Field.PAGE_WORDS]))
        return max(pages - 1, 0).bit_length()

    def _set_table(self, table: Table, first: int, size_class: int) -> None:
        self.header[Field.TABLES + 2 * table] = first
        self.header[Field.TABLES + 2 * table + 1] = size_class

    def table(self, table: Table) -> UInt32s:
        """Words of a table; empty where it has no run yet. Valid until the image is replaced."""
        first, size_class = (int(x) for x in self.header[Field.TABLES + 2 * table :][:2])
        if first == NONE:
            return self.image[:0]
        words = self[Field.PAGE_WORDS] << size_class
        base = self[Field.PAGE_END] - first * self[Field.PAGE_WORDS] - words
        return self.image[base : base + words]

    def shape(self, direction: str) -> Shape:
        """Numbers that a kernel needs to walk one direction's adjacencies (`image.Shape`)."""
        reverse = direction == "in" and self[Field.REVERSE_ENTRY_WORDS] > 0
        entry_words = Field.REVERSE_ENTRY_WORDS if reverse else Field.ENTRY_WORDS
        return Shape(
            layout=self[Field.LAYOUT],
            vertex_base=self[Field.VERTEX_BASE],
            vertex_words=self[Field.VERTEX_WORDS],
            vertex_count=self[Field.VERTEX_COUNT],
            first_word=IN_FIRST_WORD if reverse else OUT_FIRST_WORD,
            degree_word=IN_DEGREE_WORD if reverse else OUT_DEGREE_WORD,
            class_shift=IN_CLASS_SHIFT if reverse else OUT_CLASS_SHIFT,
            page_end=self[Field.PAGE_END],
            page_words=self[Field.PAGE_WORDS],
            entry_words=self[entry_words],
            soa=self[Field.SOA],
        )

    def directions(self) -> list[str]:
        """Return the adjacencies that are stored: ``out``, and ``in`` with a reverse adjacency."""
        return ["out", "in"] if self[Field.REVERSE_ENTRY_WORDS] else ["out"]

    def vertex_table(self) -> npt.NDArray[np.uint32]:
        """uint32[vertex_count, vertex_words]: the vertex records. Valid until replaced."""
        base, words, count = (
            self[Field.VERTEX_BASE],
            self[Field.VERTEX_WORDS],
            self[Field.VERTEX_COUNT],
        )
        return self.image[base : base + words * count].reshape(count, words)

    # -- runs of pages -----------------------------------------------------------------------

    def _tree(self) -> tuple[UInt32s, Int64s]:
        tree = self.table(Table.FREE_TREE)
        return tree, tree[: free_runs.COUNT_WORDS].view(np.int64)

    def _page_limit(self, vertex_count: int) -> int:
        """Pages that fit above a vertex table of this length."""
        vertex_end = self[Field.VERTEX_BASE] + vertex_count * self[Field.VERTEX_WORDS]
        return max(self[Field.PAGE_END] - vertex_end, 0) // self[Field.PAGE_WORDS]

    def _fits(self, demand: Demand) -> bool:
        _, counts = self._tree()
        runs = demand.runs.copy()
        queued = self[Field.PAGE_QUEUE_BACK] - self[Field.PAGE_QUEUE_FRONT]
        runs[0] -= min(demand.chain_pages, queued)
        limit = self._page_limit(demand.vertex_count)
        bump = self[Field.PAGE_BUMP]
        return bump <= limit and bool(free_runs.demand_fits(counts, bump, limit, runs))

    def prepare(self, demand: Demand) -> None:
        """Make sure that ``demand`` can be served; afterwards taking it cannot fail.

        Raises
        ------
        ArenaFullError
            What is alive plus the demand does not fit within the limit. The graph is as before;
            free buddies may have been merged.
        """
        if self._fits(demand):
            return
        tree, counts = self._tree()
        free_runs.merge_buddies(tree, counts, self._geometry)
        free_runs.lower_bump(tree, counts, self.header, self._geometry)
        if self._fits(demand):
            return
        self._rebuild(demand)

    def take(self, demand: Demand) -> Taken:
        """Hand out all that `prepare` made sure of, from the largest class down, lowest first."""
        front = self[Field.PAGE_QUEUE_FRONT]
        recycled = min(self[Field.PAGE_QUEUE_BACK] - front, demand.chain_pages)
        pages = self._ring(Table.PAGE_QUEUE, front, recycled).astype(np.int64)
        self.header[Field.PAGE_QUEUE_FRONT] += recycled
        self.header[Field.PAGES_FREE] -= recycled
        counts = demand.runs.copy()
        counts[0] -= recycled
        runs = {}
        for size_class in np.flatnonzero(counts)[::-1].tolist():
            runs[size_class] = np.empty(counts[size_class], np.int64)
            free_runs.take_runs(
                *self._tree(), self.header, self._geometry, size_class, runs[size_class]
            )
        return Taken(runs, pages)

    def give_back_runs(self, firsts: UInt32s | Int64s, classes: npt.NDArray[np.uint8]) -> None:
        """Enter runs (first page, size class) as free; both of one length."""
        free_runs.give_back_runs(*self._tree(), self.header, self._geometry, firsts, classes)

    def give_back_pages(self, pages: UInt32s) -> None:
        """Put pages of the chain layout at the end of the page queue."""
        self._push(Table.PAGE_QUEUE, Field.PAGE_QUEUE_BACK, pages)
        self.header[Field.PAGES_FREE] += pages.size

    # -- queues ------------------------------------------------------------------------------

    def _ring(self, table: Table, start: int, count: int) -> UInt32s:
        slots = self.table(table)
        if count == 0:
            return np.empty(0, np.uint32)
        return slots[(start + np.arange(count)) & (slots.size - 1)]

    def _push(self, table: Table, back: Field, values: UInt32s) -> None:
        if values.size:
            slots = self.table(table)
            slots[(self[back] + np.arange(values.size)) & (slots.size - 1)] = values
            self.header[back] += values.size

    def queued_vertices(self) -> UInt32s:
        """Freed vertex indices in the order in which they will be used again."""
        front = self[Field.VERTEX_QUEUE_FRONT]
        return self._ring(Table.VERTEX_QUEUE, front, self[Field.VERTEX_QUEUE_BACK] - front)

    def queued_pages(self) -> UInt32s:
        """Freed pages of the chain layout in the order in which they will be used again."""
        front = self[Field.PAGE_QUEUE_FRONT]
        return self._ring(Table.PAGE_QUEUE, front, self[Field.PAGE_QUEUE_BACK] - front)

    def take_vertices(self, count: int) -> None:
        """Drop ``count`` indices from the front of the vertex queue: they are in use now."""
        self.header[Field.VERTEX_QUEUE_FRONT] += count

    def give_back_vertices(self, indices: UInt32s) -> None:
        """Put freed vertex indices at the end of the vertex queue."""
        self._push(Table.VERTEX_QUEUE, Field.VERTEX_QUEUE_BACK, indices)

    # -- tables ------------------------------------------------------------------------------

    def table_growth(self, table: Table, words: int) -> int | None:
        """Size class that a table needs for ``words`` words; `None` where it has the room."""
        if words <= self.table(table).size:
            return None
        return self._class_for(words)

    def move_table(self, table: Table, first: int, size_class: int) -> None:
        """Move a table to a larger run, which begins at page ``first``, and free the old one.

        The words behind the old ones are undefined; rings are unrolled to begin at slot 0.
        """
        old_first, old_class = (int(x) for x in self.header[Field.TABLES + 2 * table :][:2])
        if table in (Table.VERTEX_QUEUE, Table.PAGE_QUEUE):
            vertex = table == Table.VERTEX_QUEUE
            content = self.queued_vertices() if vertex else self.queued_pages()
            front = Field.VERTEX_QUEUE_FRONT if vertex else Field.PAGE_QUEUE_FRONT
            back = Field.VERTEX_QUEUE_BACK if vertex else Field.PAGE_QUEUE_BACK
            self.header[front], self.header[back] = 0, content.size
        else:
            content = self.table(table)
        self._set_table(table, first, size_class)
        self.table(table)[: content.size] = content
        if old_first != NONE:
            self.give_back_runs(np.array([old_first]), np.array([old_class], np.uint8))

    # -- growth and compaction ---------------------------------------------------------------

    def _live_runs(self) -> Int64s:
        """Runs in use by size class, the table of free runs not counted."""
        live = np.zeros(CLASSES, np.int64)
        for direction in self.directions():
            live += count_runs(self.image, self.shape(direction))
        for table in Table:
            first, size_class = self.header[Field.TABLES + 2 * table :][:2]
            if table != Table.FREE_TREE and first != NONE:
                live[size_class] += 1
        return live

    def _rebuild(self, demand: Demand) -> None:
        live = self._live_runs()
        wanted = Demand(demand.vertex_count, live + demand.runs)
        scratch_words = self[Field.IMAGE_WORDS] - self[Field.PAGE_END]
        limit_words = _even_below(self.limit_bytes // WORD_BYTES)

        def page_area(words: int) -> int:
            return self._area_for(wanted, words)

        now = self[Field.PAGE_END]
        area = now
        if page_area(now) > now:
            if not self._may_grow:
                self._refuse(page_area(now), now, "arena_bytes")
            wish = even(max(2 * now, page_area(now) * 5 // 4))
            area = min(wish, limit_words - scratch_words)
            if page_area(area) > area:
                # Scratch that nobody holds now can be had again by the call that needs it.
                scratch_words = self._scratch_top
                most = limit_words - scratch_words
                area = even(page_area(most))
                if area > most:
                    self._refuse(area, max(most, 0), "max_arena_bytes")
        elif (
            self._may_grow
            and 2 * now <= limit_words - scratch_words
            and page_area(now) > now * 7 // 8
        ):
            # Compaction would be due again soon.
            area = 2 * now
        self._move_all(live, demand, area, scratch_words)

    def _area_for(self, wanted: Demand, words: int) -> int:
        """Words that all of ``wanted`` takes in a page area of ``words`` words.

        It depends on the area, for the trees of free runs grow with it.
        """
        page_words = self[Field.PAGE_WORDS]
        max_pages = max(words - HEADER_WORDS, 0) // page_words
        tree = page_words << self._class_for(free_runs.tree_geometry(max_pages)[1])
        vertex_words = wanted.vertex_count * self[Field.VERTEX_WORDS]
        return HEADER_WORDS + vertex_words + wanted.pages * page_words + tree

    def _refuse(self, need_words: int, have_words: int, setting: str) -> None:
        msg = (
            f"arena too small: what is alive and what this batch demands need "
            f"{need_words * WORD_BYTES:,} bytes of pages and vertex records, the arena has "
            f"{have_words * WORD_BYTES:,}; raise {setting}, use smaller batches, or delete edges"
        )
        raise ArenaFullError(msg)

    def _move_all(self, live: Int64s, demand: Demand, area: int, scratch_words: int) -> None:
        """Replace the image by a new one with a page area of ``area`` words."""
        before = self.image, self.header, self._geometry
        try:
            self._fill_new_image(live, demand, area, scratch_words)
        except BaseException:
            # No memory, or Ctrl-C: the old image is whole.
            self.image, self.header, self._geometry = before
            raise

    def _fill_new_image(self, live: Int64s, demand: Demand, area: int, scratch_words: int) -> None:
        """Lay out all runs from the largest class down, the demand as free runs among them."""
        old, old_header = self.image, self.header.copy()
        old_tables = {table: self.table(table) for table in Table}
        old_shapes = {direction: self.shape(direction) for direction in self.directions()}
        header = old_header.copy()
        self._open_image(header, area + scratch_words, scratch_words)
        vertex_words = self[Field.VERTEX_COUNT] * self[Field.VERTEX_WORDS]
        base = self[Field.VERTEX_BASE]
        self.image[base : base + vertex_words] = old[base : base + vertex_words]

        tree_class = int(self.header[Field.TABLES + 2 * Table.FREE_TREE + 1])
        slots = live + demand.runs
        slots[tree_class] += 1
        start = np.zeros(CLASSES, np.int64)
        page = 0
        for size_class in range(CLASSES - 1, -1, -1):
            start[size_class] = page
            page += int(slots[size_class]) << size_class
        following = start.copy()
        for table in Table:
            size_class = int(old_header[Field.TABLES + 2 * table + 1])
            if table == Table.FREE_TREE:
                size_class = tree_class
            elif old_header[Field.TABLES + 2 * table] == NONE:
                continue
            self._set_table(table, int(following[size_class]), size_class)
            following[size_class] += 1 << size_class
            if table != Table.FREE_TREE:
                self.table(table)[:] = old_tables[table]
        moved = move_chains if self[Field.LAYOUT] == LAYOUTS["chain"].CODE else move_runs
        for direction, old_shape in old_shapes.items():
            moved(old, old_shape, self.image, self.shape(direction), following)
        self.header[Field.PAGE_BUMP] = page
        self.header[Field.PAGE_QUEUE_FRONT] = self.header[Field.PAGE_QUEUE_BACK] = 0
        for size_class in range(CLASSES):
            holes = np.arange(
                following[size_class],
                start[size_class] + (int(slots[size_class]) << size_class),
                1 << size_class,
            )
            self.give_back_runs(holes, np.full(holes.size, size_class, np.uint8))

    # -- scratch -----------------------------------------------------------------------------

    @contextmanager
    def scratch(self, need_bytes: int) -> Iterator[Scratch]:
        """Scratch of up to ``need_bytes`` bytes for the length of a ``with`` block.

        Raises
        ------
        ArenaFullError
            The scratch stack is smaller and cannot grow: the arena may not, or its limit leaves no
            room beside what is alive.
        """
        need = even(-(-need_bytes // WORD_BYTES) + 64)
        have = self[Field.IMAGE_WORDS] - self[Field.PAGE_END] - self._scratch_top
        if need > have:
            self._grow_scratch(self._scratch_top + need)
        mark = self._scratch_top
        base = self[Field.PAGE_END] + mark
        self._scratch_top = mark + need
        try:
            yield Scratch(self.image[base : base + need])
        finally:
            self._scratch_top = mark

    def _grow_scratch(self, words: int) -> None:
        area = self[Field.PAGE_END]
        have = self[Field.IMAGE_WORDS] - area
        limit_words = _even_below(self.limit_bytes // WORD_BYTES)
        total = min(even(area + max(words * 5 // 4, 2 * have)), limit_words)
        if self._may_grow and area + words > total:
            # Pages that hold nothing make room; `_rebuild` takes it back when pages are needed.
            alive = Demand(self[Field.VERTEX_COUNT], self._live_runs())
            rest = limit_words - words
            if self._area_for(alive, rest) <= rest:
                nothing = Demand(alive.vertex_count, np.zeros(CLASSES, np.int64))
                self._move_all(alive.runs, nothing, rest, words)
                return
        if not self._may_grow or area + words > total:
            setting = "max_arena_bytes" if self._may_grow else "arena_bytes"
            msg = (
                f"arena too small: this call needs {words * WORD_BYTES:,} bytes of scratch, the "
                f"arena keeps {have * WORD_BYTES:,}; raise {setting} or use smaller batches"
            )
            raise ArenaFullError(msg)
        image = np.zeros(total, np.uint32)
        # Only what is in use: the rest was never touched, and need not be now.
        vertices = self[Field.VERTEX_BASE] + self.vertex_table().size
        pages = area - self[Field.PAGE_BUMP] * self[Field.PAGE_WORDS]
        image[:vertices] = self.image[:vertices]
        image[pages:area] = self.image[pages:area]
        header = image[:HEADER_WORDS].view(np.int64)
        header[Field.IMAGE_WORDS] = image.size
        self.image, self.header = image, header

    # -- accounts ----------------------------------------------------------------------------

    def free_pages(self) -> tuple[int, int, int]:
        """Pages used, pages that can be handed out without growth, largest free run in pages."""
        bump, free = self[Field.PAGE_BUMP], self[Field.PAGES_FREE]
        limit = self._page_limit(self[Field.VERTEX_COUNT])
        _, counts = self._tree()
        largest = 0
        for size_class in range(CLASSES):
            # A run from the bump mark begins at the next multiple of its size.
            unused = ((-(-bump >> size_class) + 1) << size_class) <= limit
            if counts[size_class] or unused:
                largest = 1 << size_class
        return bump - free, free + limit - bump, largest

    def memory(self) -> MemoryReport:
        """Bytes by region; cheap, from the header alone."""
        page_bytes = self[Field.PAGE_WORDS] * WORD_BYTES
        used, free, largest = self.free_pages()
        vertices = self[Field.VERTEX_COUNT] * self[Field.VERTEX_WORDS] * WORD_BYTES
        tables = {
            name: self.table(table).nbytes
            for name, table in (
                ("dictionary", Table.DICTIONARY),
                ("vertex ids", Table.VERTEX_IDS),
                ("vertex queue", Table.VERTEX_QUEUE),
                ("page queue", Table.PAGE_QUEUE),
                ("free-run trees", Table.FREE_TREE),
            )
        }
        pages = self[Field.PAGE_BUMP] * page_bytes
        area = self[Field.PAGE_END] * WORD_BYTES
        header = HEADER_WORDS * WORD_BYTES
        regions = {
            "header": header,
            "vertex table": vertices,
            "unused": area - header - vertices - pages,
            "adjacencies": used * page_bytes - sum(tables.values()),
            **tables,
            "free pages": self[Field.PAGES_FREE] * page_bytes,
            "scratch": self.image.nbytes - area,
        }
        return MemoryReport(
            self.image.nbytes, self.limit_bytes, regions, page_bytes, used, free, largest
        )


def _even_below(words: int) -> int:
    """Round down to an even number of words, so that a limit is kept."""
    return words - (words & 1)


def _default_limit() -> int:
    """Three quarters of the machine's memory, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4
