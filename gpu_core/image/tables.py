"""Tables of an image that grow with the graph: users' ids, their dictionary, and queues.

Each has a run of pages, as an adjacency has. Tables that a batch makes too large move to larger
runs before it is applied: `growing_tables` tells which, the engine allocates the runs with those of
the batch, and `move_table` copies a table there. The table of free runs does not grow: it is as
large as its image needs it (`arena_size.py`).
"""

from abc import abstractmethod

import numpy as np

from ..rows import Array
from . import arena_size
from .fields import NONE, Field, ImageTable
from .view import ImageView


class GrowingTables(ImageView):
    """An image whose tables may move to larger runs."""

    @abstractmethod
    def give_back_runs(self, firsts: Array, classes: Array) -> None:
        """Enter runs (first page, size class) as free; both of one length."""

    def _header_changed(self) -> None:
        """Called when the header was written by the host."""

    def take_vertices(self, count: int) -> None:
        """Drop ``count`` indices from the front of the vertex queue: they are in use now."""
        self._add(Field.VERTEX_QUEUE_FRONT, count)

    def give_back_vertices(self, indices: Array) -> None:
        """Put freed vertex indices at the end of the vertex queue."""
        self._push(ImageTable.VERTEX_QUEUE, Field.VERTEX_QUEUE_BACK, indices)

    def _push(self, table: ImageTable, back: Field, values: Array) -> None:
        if values.size:
            slots = self.table(table)
            slots[(self[back] + self.xp.arange(values.size)) & (slots.size - 1)] = values
            self._add(back, values.size)

    def _add(self, field: Field, value: int) -> None:
        """Add to a header field."""
        self.header[field] += value

    def _set_table(self, table: ImageTable, first: int, size_class: int) -> None:
        self.header[Field.TABLES + 2 * table :][:2] = first, size_class

    def table_growth(self, table: ImageTable, words: int) -> int | None:
        """Size class that a table needs for ``words`` words; `None` where it has the room."""
        if words <= self.table_words(table):
            return None
        return arena_size.class_for(words, self[Field.PAGE_WORDS])

    def growing_tables(
        self, vertex_count: int, created: int, queued: int, pages: int
    ) -> list[tuple[ImageTable, int]]:
        """Tables that must move to a larger run for a batch, with its size class.

        Parameters
        ----------
        vertex_count
            Vertex records after the batch.
        created, queued
            Vertices that it creates, and freed indices that it will queue.
        pages
            Pages that its rows take, of a layout of pages.
        """
        words: dict[ImageTable, int] = {}
        if not self[Field.DENSE_IDS]:
            words[ImageTable.VERTEX_IDS] = 2 * vertex_count
            words[ImageTable.DICTIONARY] = 2 * (self[Field.DICTIONARY_USED] + created)
            if queued:
                waiting = self[Field.VERTEX_QUEUE_BACK] - self[Field.VERTEX_QUEUE_FRONT]
                words[ImageTable.VERTEX_QUEUE] = waiting + queued
        if self.layout.is_paged:
            # Every page that was allocated may come back.
            out_now = self[Field.PAGE_BUMP] - self[Field.PAGES_FREE]
            words[ImageTable.PAGE_QUEUE] = out_now + self.pages_queued + pages
        classes = {table: self.table_growth(table, need) for table, need in words.items()}
        return [(table, size) for table, size in classes.items() if size is not None]

    def move_table(self, table: ImageTable, first: int, size_class: int) -> None:
        """Move a table to a larger run, which begins at page ``first``, and free the old one.

        The words after the old ones are undefined; rings are unrolled to begin at slot 0.
        """
        old_first, old_class = self._position_of(table)
        if table in (ImageTable.VERTEX_QUEUE, ImageTable.PAGE_QUEUE):
            vertex = table == ImageTable.VERTEX_QUEUE
            content = self.queued_vertices() if vertex else self.queued_pages()
            front = Field.VERTEX_QUEUE_FRONT if vertex else Field.PAGE_QUEUE_FRONT
            back = Field.VERTEX_QUEUE_BACK if vertex else Field.PAGE_QUEUE_BACK
            self.header[front], self.header[back] = 0, content.size
        else:
            content = self.table(table)
        self._set_table(table, first, size_class)
        self.table(table)[: content.size] = content
        self._header_changed()
        if old_first != NONE:
            self.give_back_runs(np.array([old_first]), np.array([old_class], np.uint8))
