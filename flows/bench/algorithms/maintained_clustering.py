"""First tables of ``graphtide bench maintained``: triangles and clustering after a batch.

A share of the edges is inserted, drawn as in `refresh.py`, and then all triangles and clustering
coefficients are asked for, within one lap: of a graph that maintains them, of one that always
repairs them, and of one that recounts. The edges are deleted again, and so every repeat meets
the same graph. ``choice`` is what the graph that maintains them did.

The directed graph of a workload has half of its entries, drawn at random: of the pairs that are
joined a third are both ways. Batches are drawn of the other half.

Checked with every row: the maintained counts against a recount, bit for bit.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from ....gpu_core.algorithms.maintained.maintained_triangles import NAME
from ....gpu_core.algorithms.triangles.definitions import DIRECTED
from ....gpu_core.graph import DynamicGraph
from ....testing import engine_of
from ..measuring import draws
from ..measuring.arm import MeasuredRow
from ..measuring.workloads import Keys, unpack
from .refresh import Refresh

SHARES: Final = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
DIRECTED_SHARES: Final = (1e-1, 1e-2, 1e-3, 1e-4)
FIGURES: Final = ("insert alone", "maintained", "choice", "loss", "repaired", "recounted")


class Clustering(Refresh):
    """Clustering of one undirected workload after batches."""

    def followed(self) -> Iterator[tuple[MeasuredRow, str]]:
        """Measure each share; with it what the graph chose."""
        graph = self.made(self.keys)
        for share in SHARES:
            count = max(round(share * graph.num_edges), 1)
            row = MeasuredRow(f"{count:,}")
            drawn = partial(self._drawn, count)
            yield row, self.repaired_beside_recounted(graph, row, drawn)

    def _drawn(self, count: int, repeat: int) -> Keys:
        return self.new_edges(count, 1000 * repeat)

    def repaired_beside_recounted(
        self, graph: DynamicGraph, row: MeasuredRow, drawn: Callable[[int], Keys], **parameters: Any
    ) -> str:
        """Time the laps of a row; returns what the graph that maintains clustering chose.

        Parameters
        ----------
        drawn
            Gives new edges of the graph for a repeat.
        parameters
            Of clustering.
        """
        choice = ""

        def clustered(batch: Any) -> Any:
            graph.apply(batch)
            return graph.clustering(**parameters)

        for repeat in range(self.repeats + 1):
            pairs = unpack(self.arm.xp, drawn(repeat))
            put, delete = (self.arm.batch(op, *pairs, directed=graph.directed) for op in (1, -1))
            self.timed(row, repeat, "insert alone", partial(graph.apply, put))
            graph.apply(delete)
            for what in ("recounted", "maintained", "repaired"):
                kept: Any = None
                if what != "recounted":
                    graph.maintain(NAME, **parameters)
                    kept = engine_of(graph).maintained[NAME]
                    kept.always_repairs = what == "repaired"
                # The first batch after an audit finds less memory at hand: it is not timed. Every
                # lap begins with counts, whatever that batch did.
                clustered(put)
                graph.apply(delete)
                graph.clustering(**parameters)
                self.timed(row, repeat, what, partial(clustered, put))
                graph.audit()
                graph.apply(delete)
                if what == "maintained":
                    graph.clustering(**parameters)
                    graph.apply(put)
                    choice = "recount" if kept.is_stale else "repair"
                    graph.apply(delete)
                if kept is not None:
                    graph.unmaintain(NAME)
        return choice


class DirectedClustering(Clustering):
    """Clustering of one directed workload after batches, by either definition."""

    def followed(self) -> Iterator[tuple[MeasuredRow, str]]:
        """Measure each share; with it what the graph chose."""
        xp = self.arm.xp
        entries = draws.shuffled(xp, self.keys, 0)
        half = entries.size // 2
        graph = self.arm.graph(ids="dense")
        graph.insert_vertices(np.arange(1 << self.scale))
        graph.apply(self.batch(graph, 1, entries[:half]))
        for definition in DIRECTED:
            for share in DIRECTED_SHARES:
                count = max(round(share * graph.num_edges), 1)
                row = MeasuredRow(f"{definition} | {count:,}")
                drawn = partial(draws.some_keys, xp, entries[half:], count)
                yield row, self.repaired_beside_recounted(graph, row, drawn, directed=definition)
