"""Second table of ``graphtide bench analytics``: a batch, and results that are new again after it.

A share of the edges is inserted, new ones drawn uniformly (R-MAT: as the graph itself), and then,
within the same lap, PageRank is computed to L1 1e-6 from the ranks before the batch, or all
triangles and clustering coefficients, which are exact. Results stay where the engine made them; the
last figure is the second one with all of its columns in host memory. Every id is a vertex of the
graph, so that batches change edges alone; they are deleted again, and every repeat meets the same
graph.

Checked after the last repeat: the ranks against those that are computed from nothing, as near as
two answers to this tolerance must be; the triangles against those of a graph rebuilt.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....gpu_core.errors import GraphtideError
from ....gpu_core.graph import DynamicGraph
from ..measuring import draws
from ..measuring.arm import Bench, MeasuredRow
from ..measuring.workloads import Keys, rmat_pairs, uniform_pairs, unpack

SHARES = (1e-2, 1e-4, 1e-5)
TOLERANCE = 1e-6
_ALPHA = 0.85
#: Workloads whose batches have hubs too.
_SKEWED = ("G3", "G3b")


class Steps(NamedTuple):
    """Steps of PageRank on the graph after the batch."""

    #: From the ranks before the batch.
    warm: int
    #: From nothing.
    cold: int


class Refresh(Bench):
    """Results of one undirected workload after batches."""

    def rows(self) -> Iterator[tuple[MeasuredRow, Steps]]:
        """Measure each share; with it the steps that PageRank takes."""
        graph = self.made(self.keys)
        before = graph.pagerank(alpha=_ALPHA, tol=TOLERANCE)
        for share in SHARES:
            yield self._row(graph, before, max(round(share * graph.num_edges), 1))

    def _row(self, graph: DynamicGraph, before: Any, count: int) -> tuple[MeasuredRow, Steps]:
        row = MeasuredRow(f"{count:,}")

        def ranked(batch: Any) -> Any:
            graph.apply(batch)
            return graph.pagerank(alpha=_ALPHA, tol=TOLERANCE, nstart=before)

        def clustered(batch: Any) -> Any:
            graph.apply(batch)
            return graph.clustering()

        def looked_at(batch: Any) -> Any:
            found = clustered(batch)
            return found.vertices, found.degree, found.triangles, found.clustering

        for repeat in range(self.repeats + 1):
            drawn = self.new_edges(count, 1000 * repeat)
            pairs = unpack(self.arm.xp, drawn)
            put, delete = (self.arm.batch(op, *pairs, directed=False) for op in (1, -1))
            calls = {"PageRank": ranked, "clustering": clustered, "looked at": looked_at}
            for what, call in calls.items():
                self.timed(row, repeat, what, partial(call, put))
                graph.apply(delete)
        steps = self._check(graph, ranked(put), drawn)
        graph.apply(delete)
        return row, steps

    def _check(self, graph: DynamicGraph, ranks: Any, drawn: Keys) -> Steps:
        """Compare results of the graph with those of one that is rebuilt."""
        rebuilt = self.made(self.keys, drawn)
        expected = rebuilt.pagerank(alpha=_ALPHA, tol=TOLERANCE)
        apart = float(np.abs(ranks.pagerank - expected.pagerank).sum())
        if not apart <= 2 * _ALPHA / (1 - _ALPHA) * TOLERANCE:
            msg = f"{self.name}: ranks after a batch are {apart:.3g} away; please report this"
            raise GraphtideError(msg)
        if not np.array_equal(graph.clustering().triangles, rebuilt.clustering().triangles):
            msg = f"{self.name}: triangles after a batch are others; please report this"
            raise GraphtideError(msg)
        return Steps(ranks.iterations, expected.iterations)

    def made(self, *entries: Keys) -> DynamicGraph:
        """Undirected graph of all ids, with these entries; those of one edge may both be there."""
        xp = self.arm.xp
        graph = self.arm.graph(directed=False, ids="dense")
        graph.insert_vertices(np.arange(1 << self.scale))
        src, dst = unpack(xp, xp.concatenate(entries))
        once = src < dst
        graph.apply(self.arm.batch(1, src[once], dst[once], directed=False))
        return graph

    def new_edges(self, count: int, seed: int) -> Keys:
        """Edges that the workload has not, each once, smaller id first."""
        xp = self.arm.xp
        pairs = rmat_pairs if self.name in _SKEWED else uniform_pairs

        def draw(size: int, random: Any) -> tuple[Any, Any]:
            src, dst = pairs(xp, self.scale, size, random)
            return xp.minimum(src, dst), xp.maximum(src, dst)

        return draws.new_keys(xp, partial(draws.is_key, xp, self.keys), draw, count, seed)
