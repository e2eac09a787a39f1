"""Demand of one batch for pages of the arena, and what was allocated for it.

Part of   the apply path: deltas -> plan -> **arena.prepare, arena.take** -> commit
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


@dataclass
class Demand:
    """Demand of a batch for arena memory."""

    #: Vertex records after the batch.
    vertex_count: int
    #: Runs to be taken, by size class; pages of a layout of pages are runs of class 0.
    runs: Int64s
    #: Pages of rows among ``runs[0]``, in a layout of pages: these can come from the page queue.
    queue_pages: int = 0

    @property
    def pages(self) -> int:
        """Pages in all."""
        return int(sum(int(count) << size_class for size_class, count in enumerate(self.runs)))


class AllocatedRuns:
    """Runs that were allocated for one batch, to be spent by size class.

    Parameters
    ----------
    firsts
        int64[n]: first pages of the runs, those of a class one after another.
    following
        int64[CLASSES]: where the next run of each class stands among them; moves on.
    recycled_pages
        int64: pages from the page queue.
    """

    def __init__(self, firsts: Int64s, following: Int64s, recycled_pages: Int64s) -> None:
        self.firsts, self.following = firsts, following
        self._recycled = recycled_pages

    def runs(self, size_class: int, count: int) -> Int64s:
        """First pages of the next ``count`` runs of a class."""
        begin = self.following[size_class]
        self.following[size_class] += count
        return self.firsts[begin : begin + count]

    def pages(self, count: int) -> Int64s:
        """Return the next ``count`` pages for rows on pages, recycled ones first."""
        recycled, self._recycled = self._recycled[:count], self._recycled[count:]
        return np.concatenate([recycled, self.runs(0, count - recycled.size)])
