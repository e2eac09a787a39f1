"""Regions of an image: tables, queues, adjacencies, and their accounts.

An engine's arena is an `ImageView` that also allocates runs and grows (`arena.BaseArena`). All here
follows from the header; nothing here changes the image.
"""

from abc import ABC, abstractmethod
from operator import itemgetter
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..layouts import layout_of
from ..layouts.layout import Layout
from ..rows import Array
from .accounts import free_pages
from .fields import (
    HEADER_WORDS,
    IN_CLASS_SHIFT,
    IN_DEGREE_WORD,
    IN_FIRST_WORD,
    NONE,
    OUT_CLASS_SHIFT,
    OUT_DEGREE_WORD,
    OUT_FIRST_WORD,
    WORD_BYTES,
    Field,
    ImageTable,
    Shape,
)
from .memory import MemoryReport

Int64s = npt.NDArray[np.int64]

_SHAPE_FIELDS = itemgetter(
    Field.LAYOUT, Field.VERTEX_BASE, Field.VERTEX_WORDS, Field.VERTEX_COUNT,
    Field.PAGE_END, Field.PAGE_WORDS, Field.ENTRY_WORDS, Field.REVERSE_ENTRY_WORDS, Field.SOA,
)  # fmt: skip

#: Where a vertex record has an adjacency: ``first_word``, ``degree_word``, ``class_shift``.
_OUT_WORDS = OUT_FIRST_WORD, OUT_DEGREE_WORD, OUT_CLASS_SHIFT
_IN_WORDS = IN_FIRST_WORD, IN_DEGREE_WORD, IN_CLASS_SHIFT


class PlacedRows(NamedTuple):
    """The rows of one direction, as they lie in an image."""

    image: Array
    shape: Shape


class ImageView(ABC):
    """An image and its header."""

    #: The array module of the image: NumPy or CuPy.
    xp: ModuleType
    #: uint32: the words of the image. Valid until the image is replaced.
    image: Array
    #: int64[HEADER_FIELDS]: the header, in host memory.
    header: Int64s
    #: Bytes that the image may grow to.
    limit_bytes: int

    @abstractmethod
    def free_run_counts(self) -> Int64s:
        """int64[CLASSES]: free runs of each class."""

    def __getitem__(self, field: int) -> int:
        return self.header.item(field)

    def _position_of(self, table: ImageTable) -> tuple[int, int]:
        """First page and size class of a table's run."""
        field = Field.TABLES + 2 * table
        return self.header.item(field), self.header.item(field + 1)

    def table_words(self, table: ImageTable) -> int:
        """Words that a table has room for; 0 where it has no run yet."""
        first, size_class = self._position_of(table)
        return 0 if first == NONE else self[Field.PAGE_WORDS] << size_class

    def table(self, table: ImageTable) -> Array:
        """Words of a table; empty where it has no run yet. Valid until the image is replaced."""
        first, size_class = self._position_of(table)
        if first == NONE:
            return self.image[:0]
        page_words = self[Field.PAGE_WORDS]
        end = self[Field.PAGE_END] - first * page_words
        return self.image[end - (page_words << size_class) : end]

    def shape(self, direction: str) -> Shape:
        """Numbers that a kernel needs to walk one direction's adjacencies (`fields.Shape`)."""
        # One conversion: a batch asks several times.
        code, base, words, count, end, page_words, forward, backward, soa = _SHAPE_FIELDS(
            self.header.tolist()
        )
        reverse = direction == "in" and backward > 0
        in_record = _IN_WORDS if reverse else _OUT_WORDS
        entry_words = backward if reverse else forward
        return Shape(
            layout_of(code).code, base, words, count, *in_record, end, page_words, entry_words, soa
        )

    @property
    def layout(self) -> Layout:
        """The layout of adjacencies."""
        return layout_of(self[Field.LAYOUT])

    def entry_words(self, direction: str) -> int:
        """Words of an entry of one direction's adjacencies."""
        reverse = self[Field.REVERSE_ENTRY_WORDS] if direction == "in" else 0
        return reverse or self[Field.ENTRY_WORDS]

    def directions(self) -> list[str]:
        """Return the adjacencies that are stored: ``out``, and ``in`` with a reverse adjacency."""
        return ["out", "in"] if self[Field.REVERSE_ENTRY_WORDS] else ["out"]

    @property
    def num_entries(self) -> int:
        """Entries of all adjacencies in one direction."""
        # An undirected edge stands in both rows; an undirected graph has no self loops.
        return self[Field.NUM_EDGES] * (1 if self[Field.DIRECTED] else 2)

    def vertex_table(self) -> Array:
        """uint32[vertex_count, vertex_words]: the vertex records. Valid until replaced."""
        base, words, count = (
            self[Field.VERTEX_BASE],
            self[Field.VERTEX_WORDS],
            self[Field.VERTEX_COUNT],
        )
        return self.image[base : base + words * count].reshape(count, words)

    def _used_words(self) -> tuple[slice, slice]:
        """Words that are in use, scratch apart: up to the vertex table's end, and the pages."""
        vertices = self[Field.VERTEX_COUNT] * self[Field.VERTEX_WORDS]
        end = self[Field.PAGE_END]
        pages = end - self[Field.PAGE_BUMP] * self[Field.PAGE_WORDS]
        return slice(0, self[Field.VERTEX_BASE] + vertices), slice(pages, end)

    def _page_limit(self, vertex_count: int) -> int:
        """Pages that fit above a vertex table of this length."""
        vertex_end = self[Field.VERTEX_BASE] + vertex_count * self[Field.VERTEX_WORDS]
        return max(self[Field.PAGE_END] - vertex_end, 0) // self[Field.PAGE_WORDS]

    # -- queues ------------------------------------------------------------------------------

    def _ring(self, table: ImageTable, start: int, count: int) -> Array:
        if count == 0:
            return self.xp.empty(0, np.uint32)
        slots = self.table(table)
        return slots[(start + self.xp.arange(count)) & (slots.size - 1)]

    def queued_vertices(self) -> Array:
        """Freed vertex indices in the order in which they will be used again."""
        front = self[Field.VERTEX_QUEUE_FRONT]
        return self._ring(ImageTable.VERTEX_QUEUE, front, self[Field.VERTEX_QUEUE_BACK] - front)

    def queued_pages(self) -> Array:
        """Freed pages of a layout of pages in the order in which they will be used again."""
        return self._ring(ImageTable.PAGE_QUEUE, self[Field.PAGE_QUEUE_FRONT], self.pages_queued)

    @property
    def pages_queued(self) -> int:
        """Length of `queued_pages`."""
        return self[Field.PAGE_QUEUE_BACK] - self[Field.PAGE_QUEUE_FRONT]

    # -- accounts ----------------------------------------------------------------------------

    def free_pages(self) -> tuple[int, int, int]:
        """Pages used, pages that can be allocated without growth, largest free run in pages."""
        return free_pages(self.header, self.free_run_counts())

    def memory(self) -> MemoryReport:
        """Bytes by region; cheap, from the header and the counts of free runs alone."""
        page_bytes = self[Field.PAGE_WORDS] * WORD_BYTES
        used, free, largest = self.free_pages()
        vertices = self[Field.VERTEX_COUNT] * self[Field.VERTEX_WORDS] * WORD_BYTES
        tables = {
            name: self.table_words(table) * WORD_BYTES
            for name, table in (
                ("dictionary", ImageTable.DICTIONARY),
                ("vertex ids", ImageTable.VERTEX_IDS),
                ("vertex queue", ImageTable.VERTEX_QUEUE),
                ("page queue", ImageTable.PAGE_QUEUE),
                ("free-run trees", ImageTable.FREE_TREE),
            )
        }
        pages = self[Field.PAGE_BUMP] * page_bytes
        area = self[Field.PAGE_END] * WORD_BYTES
        header = HEADER_WORDS * WORD_BYTES
        arena_bytes = self[Field.IMAGE_WORDS] * WORD_BYTES
        regions = {
            "header": header,
            "vertex table": vertices,
            "unused": area - header - vertices - pages,
            "adjacencies": used * page_bytes - sum(tables.values()),
            **tables,
            "free pages": self[Field.PAGES_FREE] * page_bytes,
            "scratch": arena_bytes - area,
        }
        return MemoryReport(arena_bytes, self.limit_bytes, regions, page_bytes, used, free, largest)
