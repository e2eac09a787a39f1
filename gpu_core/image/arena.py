"""The arena of an engine: one array of 32-bit words that manages itself.

The image (`view.py`) holds header, vertex table, pages and scratch stack. This file replaces it by
a larger or a tidier one: *prepare* compares what a batch demands, exactly, with what is free; it
merges buddies, compacts or grows until the demand fits, or refuses with `ArenaFullError` and leaves
the graph as it was.

Compaction and growth are one operation, `_rebuild`: a second image is filled with all runs from the
largest class to the smallest, so that no page is lost between them, with room left for the demand.
Both images exist while this lasts; the limit is for either of them, not for their sum. Until the
second one is whole the first one stands: whatever cuts the rebuild off, the graph is as before.

A graph that took many batches is also compacted in time, before it needs to be: *after_batch* sees
to that. Each row gets a tight run then, the smallest that holds it. In the midst of a batch it
keeps the size of its run, with which the batch was planned; so where a batch does not fit, its
engine calls *squeeze*, which makes runs tight, and plans the batch again before it is refused.

`host/memory/arena.py` and `cuda/memory/arena.py` say how: where the memory is, who moves the words.
Tables that move to larger runs: `tables.py`. How large an image is: `arena_size.py`. Not here: what
an adjacency is (`layouts/`), what a batch does (``plan``, ``commit``).
"""

from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import ArenaFullError
from ..kind import ArenaSizes, GraphKind
from . import arena_size, free_runs
from .accounts import Outcome
from .arena_size import ImageSize
from .demand import Demand
from .fields import CLASSES, NONE, WORD_BYTES, Field, ImageTable, even
from .tables import GrowingTables
from .view import PlacedRows

Int64s = npt.NDArray[np.int64]

#: Share that edges which may never come can have of what the arena may grow to by itself.
_EXPECTED_SHARE = 1 / 3


class BaseArena(GrowingTables):
    """One image, and the words of it that are in use.

    Parameters
    ----------
    kind
        What the graph is; kept in the header.
    sizes
        First size of the image, and the size that it may grow to; never more than 32-bit page
        indices reach. Room for the edges that are expected is taken from the beginning, in a
        quarter of the memory at most, so that the arena need not grow while they come.

    Raises
    ------
    SettingsError
        ``page_bytes`` is no page size, or too small for an entry or for ``arena_bytes``.
    ArenaFullError
        ``arena_bytes`` does not hold the header and the table of free runs, or there is not so much
        memory.
    """

    #: Attributes that change with the image.
    _PARTS: ClassVar[tuple[str, ...]] = ("image", "header", "_geometry")

    def __init__(self, kind: GraphKind, sizes: ArenaSizes) -> None:
        first, limit = sizes.arena_bytes, sizes.max_arena_bytes
        page_bytes = arena_size.page_size(kind, first)
        self.limit_bytes = limit or first or self._default_limit()
        self.limit_bytes = min(self.limit_bytes, arena_size.reach_bytes(page_bytes))
        may_grow = limit is not None or first is None
        #: Times its size that the image becomes; `None`: it does not grow.
        self._growth = sizes.arena_growth if may_grow else None
        #: Share in use from which it grows ahead of need.
        self._grow_at = sizes.arena_grow_at
        self._scratch_top = 0
        #: Edges that batches have added and removed since the image was last compacted in time.
        self._changed_edges = 0
        header = arena_size.new_header(kind, page_bytes)
        least = first or arena_size.FIRST_BYTES
        first = first or self._expected_bytes(header, sizes.expected_edges)
        self._open_first(header, first, least=least)

    def _open_first(self, header: Int64s, first: int, *, least: int) -> None:
        """Make the first image, of ``first`` bytes if there are so many."""
        try:
            self._open_image(header, arena_size.first_size(min(first, self.limit_bytes)))
        except MemoryError:
            # What is free on the machine may not be free to us: an allocator has its own limits.
            if first <= least:
                raise
            self._open_first(header, least, least=least)

    def _expected_bytes(self, header: Int64s, edges: int) -> int:
        most = int(self._default_limit() * _EXPECTED_SHARE)
        return min(arena_size.expected_bytes(header, edges), max(most, arena_size.FIRST_BYTES))

    # -- what an engine's arena does ---------------------------------------------------------

    @abstractmethod
    def _default_limit(self) -> int:
        """Three quarters of the memory, in bytes."""

    @abstractmethod
    def _put_image(self, header: Int64s, geometry: Int64s) -> None:
        """Make an image of zeros as large as ``header`` says, and this its header."""

    @abstractmethod
    def _drop_image(self) -> None:
        """Release the memory of the image, before another one replaces it."""

    @abstractmethod
    def _extend_image(self, image_words: int) -> None:
        """Replace the image by one with more scratch after the same pages."""

    @abstractmethod
    def _join_free_runs(self) -> None:
        """Merge free buddies, and lower the bump mark over free runs that end at it."""

    @abstractmethod
    def _count_runs(self, direction: str, *, tight: bool) -> Int64s:
        """int64[CLASSES]: runs that the adjacencies of one direction have.

        ``tight``: the smallest runs that hold them instead.
        """

    @abstractmethod
    def _move_rows(
        self, old: PlacedRows, new: PlacedRows, runs: Int64s, following: Int64s, *, tight: bool
    ) -> None:
        """Copy the rows of one direction to another image, and enter them in its records.

        Each run goes to page ``following[class]``, which moves on. ``runs``: `_count_runs` of these
        rows, with the same ``tight``.
        """

    @abstractmethod
    def _enter_runs(self, firsts: Int64s, counts: Int64s) -> None:
        """Enter ``counts[class]`` free runs of each class, adjacent from page ``firsts[class]``."""

    @abstractmethod
    def _scratch_of(self, begin: int, end: int) -> Any:
        """Mark-and-release memory of words ``begin … end - 1`` of the image."""

    def _open_image(self, header: Int64s, size: ImageSize) -> None:
        """Make an empty image with this header and its table of free runs."""
        self._put_image(*arena_size.open_header(header, size))

    def size_pages(self, kind: GraphKind, mean_degree: float | None) -> None:
        """Replace an image without a vertex by one with pages that suit a mean degree, if any."""
        page_bytes = arena_size.page_size_of(self.header, kind, mean_degree)
        if page_bytes == self[Field.PAGE_WORDS] * WORD_BYTES:
            return
        header, area = arena_size.new_header(kind, page_bytes), self[Field.PAGE_END]
        header[Field.BATCHES] = self[Field.BATCHES]
        size = ImageSize(area, self[Field.IMAGE_WORDS] - area)
        self.limit_bytes = min(self.limit_bytes, arena_size.reach_bytes(page_bytes))
        # Two images of this size may be more than there is memory for.
        self._drop_image()
        self._open_image(header, size)

    # -- making sure of runs -----------------------------------------------------------------

    def _fits(self, demand: Demand) -> bool:
        runs = demand.runs.copy()
        runs[0] -= min(demand.queue_pages, self.pages_queued)
        limit = self._page_limit(demand.vertex_count)
        bump = self[Field.PAGE_BUMP]
        counts = self.free_run_counts()
        return bump <= limit and bool(free_runs.demand_fits(counts, bump, limit, runs))

    def prepare(self, demand: Demand) -> None:
        """Make sure that ``demand`` can be allocated; afterwards taking it cannot fail.

        Raises
        ------
        ArenaFullError
            What is alive plus the demand does not fit within the limit. The graph is as before;
            free buddies may have been merged.
        """
        if self._fits(demand):
            return
        self._join_free_runs()
        if self._fits(demand):
            return
        self._rebuild(demand)

    # -- growth and compaction ---------------------------------------------------------------

    def _limit_words(self) -> int:
        return arena_size.even_below(self.limit_bytes // WORD_BYTES)

    def _live_tables(self) -> Int64s:
        """Runs of the tables by size class, the table of free runs not counted."""
        live = np.zeros(CLASSES, np.int64)
        for table in ImageTable:
            first, size_class = self._position_of(table)
            if table != ImageTable.FREE_TREE and first != NONE:
                live[size_class] += 1
        return live

    def after_batch(self, outcome: Outcome) -> Outcome:
        """Take note of a batch that was applied, and compact an image that has aged.

        Returns the numbers of the batch; those of pages are as they stand then.
        """
        return self.compacted(outcome) if self.record_aging(outcome) else outcome

    def record_aging(self, outcome: Outcome) -> bool:
        """Take note of a batch that was applied, and return whether the image is to be replaced.

        By a tidier one, or, as ``arena_grow_at`` asks for, by a larger one.
        """
        edges = outcome.num_edges
        self._changed_edges += min(
            outcome.edges_added + outcome.edges_removed, edges // arena_size.BATCHES_A_TURNOVER
        )
        if self._changed_edges >= edges and arena_size.is_aged(self.header, self._limit_words()):
            return True
        return self._size_ahead() is not None

    def compacted(self, outcome: Outcome) -> Outcome:
        """Replace an image that has aged or is full; the numbers of the batch as they stand then.

        Where there is no memory for a larger one, it grows ahead of need no more.
        """
        self._changed_edges = 0
        size = self._size_ahead()
        if size is not None and not self._make_tight(size):
            self._grow_at = 1.0
            return outcome
        if size is None and not self.compact():
            return outcome
        used, free, largest = self.free_pages()
        return outcome._replace(pages_used=used, pages_free=free, largest_free_run=largest)

    def _size_ahead(self) -> ImageSize | None:
        """Size of the larger image that is due; None: none is, or it may not grow so much."""
        if self._growth is None or self._grow_at >= 1:
            return None
        return arena_size.size_ahead(
            self.header, self._limit_words(), growth=self._growth, share=self._grow_at
        )

    def compact(self) -> bool:
        """Lay out all rows as a fresh graph has them: in tight runs, no free page between them.

        Returns False, and leaves the image as it is, where there is no memory for a second one, or
        both would be beyond the limit.
        """
        size = arena_size.compacted_size(self.header, self._limit_words())
        return size is not None and self._make_tight(size)

    def squeeze(self) -> bool:
        """Lay out all rows in tight runs, for a batch that does not fit beside them as they lie.

        Returns False, and leaves the image as it is, where all rows are tight, or where there is no
        memory for a second image.
        """
        try:
            loose, tight = (self._count_all(tight=tight) for tight in (False, True))
        except (ArenaFullError, MemoryError):
            return False
        if np.array_equal(sum(loose), sum(tight)):
            return False
        return self._make_tight(self._rebuilt_size(self[Field.VERTEX_COUNT], tight))

    def _make_tight(self, size: ImageSize) -> bool:
        """Replace the image by one of this size with tight runs; whether there was the memory."""
        nothing = Demand(self[Field.VERTEX_COUNT], np.zeros(CLASSES, np.int64))
        try:
            # To count takes some memory, too.
            self._replace_image(self._count_all(tight=True), nothing, size, tight=True)
        except (ArenaFullError, MemoryError):
            return False
        return True

    def _count_all(self, *, tight: bool) -> list[Int64s]:
        """`_count_runs` of each direction."""
        return [self._count_runs(direction, tight=tight) for direction in self.directions()]

    def _rebuild(self, demand: Demand) -> None:
        counts = self._count_all(tight=False)
        size = self._rebuilt_size(demand.vertex_count, [*counts, demand.runs])
        self._replace_by_roomy(counts, demand, size)

    def _rebuilt_size(self, vertex_count: int, runs: list[Int64s]) -> ImageSize:
        """Size of an image for so many vertices and all these runs, besides those of the tables."""
        return arena_size.rebuilt_size(
            self.header,
            Demand(vertex_count, self._live_tables() + sum(runs)),
            self._limit_words(),
            growth=self._growth,
            scratch_held=self._scratch_top,
        )

    def _replace_by_roomy(self, counts: list[Int64s], demand: Demand, size: ImageSize) -> None:
        """Replace the image by one in which rows keep the capacity that they have."""
        self._replace_image(counts, demand, size, tight=False)

    def _replace_image(
        self, counts: list[Int64s], demand: Demand, size: ImageSize, *, tight: bool
    ) -> None:
        """Replace the image by another one that has all rows, and free runs for a demand.

        Parameters
        ----------
        counts
            Runs of the rows by size class, for each direction, counted with the same ``tight``.
        size
            Of the new image.
        tight
            Whether rows get the smallest runs that hold them.
        """
        before = {name: getattr(self, name) for name in self._PARTS}
        try:
            self._fill_new_image(counts, demand, size, tight=tight)
        except BaseException:
            # No memory, or Ctrl-C: the old image is whole.
            for name, part in before.items():
                setattr(self, name, part)
            raise

    def _fill_new_image(
        self, counts: list[Int64s], demand: Demand, size: ImageSize, *, tight: bool
    ) -> None:
        """Lay out all runs from the largest class down, the demand as free runs among them."""
        old, old_header = self.image, self.header.copy()
        old_tables = {table: self.table(table) for table in ImageTable}
        old_shapes = {direction: self.shape(direction) for direction in self.directions()}
        slots = self._live_tables() + sum(counts) + demand.runs
        self._open_image(old_header, size)
        base = self[Field.VERTEX_BASE]
        vertices = slice(base, base + self[Field.VERTEX_COUNT] * self[Field.VERTEX_WORDS])
        self.image[vertices] = old[vertices]

        _, tree_class = self._position_of(ImageTable.FREE_TREE)
        slots[tree_class] += 1
        pages = slots << np.arange(CLASSES)
        # Runs of each class begin after those of all larger classes.
        start = pages[::-1].cumsum()[::-1] - pages
        following = start.copy()
        for table in ImageTable:
            first, size_class = (int(x) for x in old_header[Field.TABLES + 2 * table :][:2])
            if table == ImageTable.FREE_TREE:
                size_class = tree_class
            elif first == NONE:
                continue
            self._set_table(table, int(following[size_class]), size_class)
            following[size_class] += 1 << size_class
        self._header_changed()
        for table in old_tables.keys() - {ImageTable.FREE_TREE}:
            self.table(table)[:] = old_tables[table]
        for (direction, old_shape), runs in zip(old_shapes.items(), counts, strict=True):
            rows = PlacedRows(self.image, self.shape(direction))
            self._move_rows(PlacedRows(old, old_shape), rows, runs, following, tight=tight)
        self.header[Field.PAGE_BUMP] = pages.sum()
        self.header[Field.PAGE_QUEUE_FRONT] = self.header[Field.PAGE_QUEUE_BACK] = 0
        holes = (start + pages - following) >> np.arange(CLASSES)
        self._enter_runs(following, holes)
        self.header[Field.PAGES_FREE] = (holes << np.arange(CLASSES)).sum()
        self._header_changed()

    # -- scratch -----------------------------------------------------------------------------

    def scratch(self, need_bytes: int) -> AbstractContextManager[Any]:
        """Scratch of up to ``need_bytes`` bytes for the length of a ``with`` block.

        Raises
        ------
        ArenaFullError
            The scratch stack is smaller and cannot grow: the arena may not, or its limit leaves no
            room beside what is alive.
        """
        return _ScratchBlock(self, need_bytes)

    def _take_scratch(self, need_bytes: int) -> Any:
        mark = self._scratch_top
        need = even(-(-need_bytes // WORD_BYTES) + 64)
        have = self[Field.IMAGE_WORDS] - self[Field.PAGE_END] - mark
        if need > have:
            self._grow_scratch(mark + need)
        base = self[Field.PAGE_END] + mark
        self._scratch_top = mark + need
        return self._scratch_of(base, base + need)

    def _grow_scratch(self, words: int) -> None:
        counts: list[Int64s] = []

        def alive() -> Demand:
            counts.extend(self._count_all(tight=False))
            return Demand(self[Field.VERTEX_COUNT], self._live_tables() + sum(counts))

        size = arena_size.size_with_scratch(
            self.header, alive, words, self._limit_words(), may_grow=self._growth is not None
        )
        if size.area == self[Field.PAGE_END]:
            self._extend_image(size.area + size.scratch)
        else:
            nothing = Demand(self[Field.VERTEX_COUNT], np.zeros(CLASSES, np.int64))
            self._replace_by_roomy(counts, nothing, size)


class _ScratchBlock(AbstractContextManager[Any]):
    """A ``with`` block of `BaseArena.scratch`: a class, because a batch waits for a generator."""

    def __init__(self, arena: BaseArena, need_bytes: int) -> None:
        self._arena, self._need_bytes = arena, need_bytes
        self._mark = 0

    def __enter__(self) -> Any:
        self._mark = self._arena._scratch_top
        return self._arena._take_scratch(self._need_bytes)

    def __exit__(self, *_: object) -> None:
        self._arena._scratch_top = self._mark
