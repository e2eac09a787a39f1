"""Triangles on aimGraph's data structure, as in the thesis: a thread or a warp a row, or a page.

Of each vertex every two larger neighbors are taken, and the larger one is searched in the row of
the other, from its beginning. Kernels: ``aimgraph_triangles.cu``.

Source: M. Winter, *Fully-dynamic aimGraph*, thesis, 2017 (papers/000), section 7.2.1. It is for
comparison alone (``flows/study/aimgraph/triangles.py``).
"""

from typing import Final

import numpy as np

from ..device.device import Array
from .aimgraph import AimGraph, Distribution, WorkItems

_SOURCE: Final = "aimgraph_triangles.cu"

#: Those of the thesis. Its text has *warpsized* as a warp a page, too; there it is *combined*.
FORMS: Final = {
    "naive": Distribution("row", 1),
    "balanced": Distribution("page", 1),
    "warpsized": Distribution("row", 32),
    "combined": Distribution("page", 32),
}


class AimGraphTriangles:
    """Counts the triangles of a graph that has each edge in both rows.

    Parameters
    ----------
    graph
        The graph, compacted and unchanged meanwhile.
    form
        What is an item of work: of `FORMS`. Where it is a page, all pages are listed first (7.1),
        and the device is waited for.
    is_sorted
        Whether its rows are in the order of neighbors, and searches may end early; a graph that no
        batch has changed is.
    """

    def __init__(self, graph: AimGraph, form: Distribution, *, is_sorted: bool) -> None:
        xp, count = graph.device.xp, graph.vertices
        self._graph, self._lanes, self._is_sorted = graph, form.lanes, is_sorted
        self._items: WorkItems | None = None
        if form.item == "page":
            self._items = graph.work_items(xp.arange(count, dtype=xp.uint32))
        self._total = xp.zeros(1, xp.uint64)

    def count(self) -> None:
        """Count all of them; waits for nothing."""
        graph = self._graph
        self._total.fill(0)
        kernel, items = "count_by_rows", graph.vertices
        pages: tuple[Array, ...] = ()
        if self._items is not None:
            kernel, items, pages = "count_by_pages", self._items.pages.size, self._items
        graph.launch(
            kernel, items, self._lanes, *pages, np.int64(items), self._total,
            source=_SOURCE, SORTED=int(self._is_sorted),
        )  # fmt: skip

    @property
    def total(self) -> int:
        """What was counted last."""
        return int(self._total[0])
