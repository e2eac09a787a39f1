"""A layout as Python code sees it: its name, its constants, and the pages that a batch takes.

There are two families. On *runs* an adjacency is one segment, which is left for a larger one as it
grows; its room is the size class + 1 of that run, kept in the vertex's state word.

On *pages* it is several pages of one size; its room is their number, exactly what the degree needs.
Pages that a row leaves wait in the page queue, and are taken from there first. What both engines
rely on, whatever links the pages:

- Pages of an adjacency have numbers from 0 on. Entry ``i`` is entry ``i % page_entries`` of page
  ``i // page_entries``; page 0 stands in the vertex record.
- Each other page is named by one word of one page: page ``number`` by word
  ``link_word(shape, parent, number)`` of its parent, page ``parent_of(shape, number)``, which has
  a smaller number.
- A page's links are its last ``link_words`` words, after the entries. Links to pages that an
  adjacency does not have say nothing: they are neither cleared nor read.
- A row grows by pages after its last one and shrinks from its last one, so no page changes its
  number, and ``page_after`` finds each from the one before it and the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from ..image.fields import CLASSES, MAX_PAGE_BYTES, MIN_PAGE_BYTES, WORD_BYTES

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """One layout. Its formulas are compiled functions of the module that it stands in."""

    name: str
    #: What ``Field.LAYOUT`` of an image and ``Shape.layout`` say.
    code: int
    default_page_bytes: int
    #: Words at the end of a page that name other pages; 0: an adjacency is one run.
    link_words: int = 0

    @property
    def is_paged(self) -> bool:
        """Whether adjacencies lie on pages of one size."""
        return self.link_words > 0

    def page_entries(self, page_words: int, entry_words: int) -> int:
        """Entries of a page, of a layout of pages."""
        return (page_words - self.link_words) // entry_words

    def room_of_entries(self, page_words: int, entry_words: int) -> tuple[float, float]:
        """Words of room for each word of entries, likely and at most, in rows of many entries.

        A run is less than twice what it holds, as long as it is *tight* (`arena.squeeze`), and 1.6
        times in rows that came to be by updates: 1.3 to 1.9 measured. A page that is not the last
        of its row is full but for its links and what is left beside them.
        """
        if not self.is_paged:
            return 1.6, 2
        room = page_words / (self.page_entries(page_words, entry_words) * entry_words)
        return room, room

    def page_bytes_for(self, mean_degree: float | None, entry_words: int) -> int:
        """Bytes of the smallest page that holds so many entries; without a degree the default.

        A run is as large as its adjacency, whatever pages are.
        """
        if mean_degree is None or not self.is_paged:
            return self.default_page_bytes
        words = self.link_words + entry_words * ceil(mean_degree)
        page_bytes = WORD_BYTES << (words - 1).bit_length()
        return min(max(page_bytes, MIN_PAGE_BYTES), MAX_PAGE_BYTES)

    def demand(self, before: npt.NDArray[np.uint32], after: npt.NDArray[np.uint32]) -> Int64s:
        """int64[CLASSES]: runs that rows take whose rooms change so; pages are runs of class 0."""
        grows = after > before
        if not self.is_paged:
            return np.bincount(after[grows] - 1, minlength=CLASSES)
        runs = np.zeros(CLASSES, np.int64)
        runs[0] = (after[grows].astype(np.int64) - before[grows]).sum()
        return runs
