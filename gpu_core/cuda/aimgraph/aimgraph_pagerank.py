"""PageRank on aimGraph's data structure, as in the thesis: one thread a vertex, or a page.

::

    x' = (1 - alpha) + alpha sum of x / degree over in-neighbors

Each row is walked once a step, and what its vertex gives is added to its neighbors by atomics: no
reverse adjacency is needed. Ranks of vertices without out-edges go nowhere, as in the thesis'
formula; where there are none, ranks are those of `DynamicGraph.pagerank` times the number of
vertices. Kernels: ``aimgraph_pagerank.cu``.

Source: M. Winter, *Fully-dynamic aimGraph*, thesis, 2017 (papers/000), sections 2.3.2, 7.1 and
7.2.2. It is for comparison alone (``flows/study/aimgraph/pagerank.py``).
"""

from typing import Final

import numpy as np

from ..device.device import Array
from ..grid import THREADS, blocks_for
from .aimgraph import AimGraph, Distribution

_SOURCE: Final = "aimgraph_pagerank.cu"

#: *Naive* and *balanced* are those of 7.2.2; *combined*, a warp a page, is of 7.2.1, for triangles.
FORMS: Final = {
    "naive": Distribution("row", 1),
    "balanced": Distribution("page", 1),
    "combined": Distribution("page", 32),
}


class AimGraphPageRank:
    """Ranks of a graph, step by step.

    Parameters
    ----------
    graph
        The graph, which must not change meanwhile.
    form
        What is an item of work: of `FORMS`. Where it is a page, all pages are listed first (7.1),
        and the device is waited for.
    alpha
        Damping.
    """

    def __init__(self, graph: AimGraph, form: Distribution, *, alpha: float = 0.85) -> None:
        xp, count = graph.device.xp, graph.vertices
        self._graph, self._lanes, self._alpha = graph, form.lanes, np.float64(alpha)
        self._items = None
        if form.item == "page":
            self._items = graph.work_items(xp.arange(count, dtype=xp.uint32))
        #: float64[vertices] on the device; 1 each before the first step. May be written.
        self.ranks: Array = xp.ones(count, np.float64)
        self._sums = xp.zeros(count, np.float64)

    def step(self, steps: int = 1) -> None:
        """Make so many steps; waits for nothing."""
        graph, lanes, count = self._graph, self._lanes, np.int64(self._graph.vertices)
        for _ in range(steps):
            if self._items is None:
                graph.launch(
                    "contribute_rows", graph.vertices, lanes, count, self.ranks, self._sums,
                    source=_SOURCE,
                )  # fmt: skip
            else:
                pages = self._items.pages.size
                graph.launch(
                    "contribute_pages", pages, lanes, *self._items, np.int64(pages), self.ranks,
                    self._sums, source=_SOURCE,
                )  # fmt: skip
            graph.device.launch(
                _SOURCE, "end_step", blocks_for(graph.vertices), THREADS, count, self._alpha,
                self._sums, self.ranks, defines={"LANES": lanes},
            )  # fmt: skip
