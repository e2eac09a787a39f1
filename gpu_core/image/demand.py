"""Demand of one batch for pages of the arena, and what was allocated for it.

Part of   the apply path: deltas -> plan -> **arena.prepare, arena.take** -> commit
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


@dataclass
class Demand:
    """What a batch will take from the arena."""

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


class Taken:
    """Runs handed out for one batch, to be spent by size class."""

    def __init__(self, runs: dict[int, Int64s], recycled_pages: Int64s) -> None:
        self._runs = runs
        self._recycled = recycled_pages

    def runs(self, size_class: int, count: int) -> Int64s:
        """First pages of the next ``count`` runs of a class."""
        if count == 0:
            return np.empty(0, np.int64)
        left = self._runs[size_class]
        self._runs[size_class] = left[count:]
        return left[:count]

    def pages(self, count: int) -> Int64s:
        """Return the next ``count`` pages for rows on pages, recycled ones first."""
        recycled, self._recycled = self._recycled[:count], self._recycled[count:]
        return np.concatenate([recycled, self.runs(0, count - recycled.size)])
