"""The arena of the host engine: the image is one NumPy array.

What an arena is and how it grows: `arena.BaseArena`. Here runs and pages are allocated, and the
words are moved.

The operating system gives memory to an image where it is touched, so a large arena costs little
until it is used.
"""

import numpy as np
import numpy.typing as npt

from ...errors import CorruptImageError
from ...image import free_runs
from ...image.arena import BaseArena
from ...image.demand import AllocatedRuns, Demand
from ...image.fields import (
    CLASSES,
    HEADER_FIELDS,
    HEADER_WORDS,
    MAGIC,
    VERSION,
    WORD_BYTES,
    Field,
    ImageTable,
)
from ...image.memory_size import default_limit_bytes
from ...image.view import PlacedRows
from ...kind import ArenaSizes
from .pages import zeroed_words
from .relocate import move_rows, runs_of
from .scratch import HostScratch

UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]

_NO_PAGES = np.empty(0, np.int64)


class Arena(BaseArena):
    """One image in host memory; parameters as of `BaseArena`."""

    xp = np
    image: UInt32s

    @classmethod
    def adopt(cls, image: UInt32s) -> "Arena":
        """Arena of an image that is there, such as a copy of another engine's.

        It may grow to what the machine has.

        Raises
        ------
        CorruptImageError
            The words are no image.
        """
        header = image[:HEADER_WORDS].view(np.int64)
        if (
            header.size != HEADER_FIELDS
            or (header[Field.MAGIC], header[Field.VERSION]) != (MAGIC, VERSION)
            or header[Field.IMAGE_WORDS] != image.size
        ):
            msg = f"corrupt image: {image.size} words do not begin with the header of an image"
            raise CorruptImageError(msg)
        arena = cls.__new__(cls)
        arena.image, arena.header = image, header
        pages = (int(header[Field.PAGE_END]) - HEADER_WORDS) // int(header[Field.PAGE_WORDS])
        arena._geometry, _ = free_runs.tree_geometry(pages)
        arena.limit_bytes = max(arena._default_limit(), image.nbytes)
        arena._growth, arena._grow_at = ArenaSizes.arena_growth, ArenaSizes.arena_grow_at
        arena._scratch_top = arena._changed_edges = 0
        return arena

    def _default_limit(self) -> int:
        return default_limit_bytes()

    def _put_image(self, header: Int64s, geometry: Int64s) -> None:
        self.image = _zeros(int(header[Field.IMAGE_WORDS]), int(header[Field.PAGE_END]))
        self.header = self.image[:HEADER_WORDS].view(np.int64)
        self.header[:] = header
        self._geometry = geometry

    def _drop_image(self) -> None:
        # The header is a part of it. Where the next one cannot be had, calls are refused.
        self.header, self.image = self.header.copy(), np.empty(0, np.uint32)

    def _extend_image(self, image_words: int) -> None:
        image = _zeros(image_words, self[Field.PAGE_END])
        # Only what is in use: the rest was never touched, and need not be now.
        for words in self._used_words():
            image[words] = self.image[words]
        self.image, self.header = image, image[:HEADER_WORDS].view(np.int64)
        self.header[Field.IMAGE_WORDS] = image_words

    def _scratch_of(self, begin: int, end: int) -> HostScratch:
        return HostScratch(self.image[begin:end])

    # -- runs of pages -----------------------------------------------------------------------

    def _tree(self) -> tuple[UInt32s, Int64s]:
        tree = self.table(ImageTable.FREE_TREE)
        return tree, tree[: free_runs.COUNT_WORDS].view(np.int64)

    def free_run_counts(self) -> Int64s:
        """int64[CLASSES]: free runs of each class, as the image has them: no copy."""
        return self._tree()[1]

    def _join_free_runs(self) -> None:
        tree, counts = self._tree()
        free_runs.merge_buddies(tree, counts, self._geometry)
        free_runs.lower_bump(tree, counts, self.header, self._geometry)

    def take(self, demand: Demand) -> AllocatedRuns:
        """Allocate all that `prepare` made sure of, from the largest class down, lowest first."""
        pages = self._take_queued_pages(demand.queue_pages) if demand.queue_pages else _NO_PAGES
        counts = demand.runs.copy()
        counts[0] -= pages.size
        ends = counts.cumsum()
        begins, firsts = ends - counts, np.empty(ends[-1], np.int64)
        table = *self._tree(), self.header, self._geometry
        for size_class in counts.nonzero()[0][::-1].tolist():
            runs = firsts[begins[size_class] : ends[size_class]]
            free_runs.take_runs(*table, size_class, runs)
        return AllocatedRuns(firsts, begins, pages)

    def _take_queued_pages(self, count: int) -> Int64s:
        """Take up to so many pages from the page queue."""
        count = min(self.pages_queued, count)
        pages = self._ring(ImageTable.PAGE_QUEUE, self[Field.PAGE_QUEUE_FRONT], count)
        self.header[Field.PAGE_QUEUE_FRONT] += count
        self.header[Field.PAGES_FREE] -= count
        return pages.astype(np.int64)

    def give_back_runs(self, firsts: UInt32s | Int64s, classes: npt.NDArray[np.uint8]) -> None:
        """Enter runs (first page, size class) as free; both of one length."""
        free_runs.give_back_runs(*self._tree(), self.header, self._geometry, firsts, classes)

    def give_back_pages(self, pages: UInt32s) -> None:
        """Put pages that rows have left at the end of the page queue."""
        self._push(ImageTable.PAGE_QUEUE, Field.PAGE_QUEUE_BACK, pages)
        self.header[Field.PAGES_FREE] += pages.size

    # -- growth and compaction ---------------------------------------------------------------

    def _count_runs(self, direction: str, *, tight: bool) -> Int64s:
        return runs_of(self.image, self.shape(direction), tight=tight)

    def _move_rows(
        self, old: PlacedRows, new: PlacedRows, runs: Int64s, following: Int64s, *, tight: bool
    ) -> None:
        move_rows(old, new, following, tight=tight)

    def _enter_runs(self, firsts: Int64s, counts: Int64s) -> None:
        for size_class in range(CLASSES):
            holes = firsts[size_class] + (np.arange(counts[size_class]) << size_class)
            self.give_back_runs(holes, np.full(holes.size, size_class, np.uint8))


def _zeros(words: int, page_end: int) -> UInt32s:
    """Image of ``words`` words, all 0; pages begin where cache lines do.

    A run of a line's length would lie on two lines otherwise.
    """
    line = 64 // WORD_BYTES
    memory = zeroed_words(words + line, page_end)
    start = -(memory.ctypes.data // WORD_BYTES + page_end) % line
    return memory[start : start + words]
