"""``graphtide bench maintained``: results after a batch, repaired beside recomputed.

The first two tables are of triangles and clustering in undirected and in directed graphs:
`maintained_clustering.py`. ``loss`` is how much longer the choice took than the better of the
others.

The third has PageRank to L1 1e-6 likewise: of a graph that maintains it, and as
``pagerank(nstart=…)`` computes it from the ranks before; where an engine may push, also of a graph
that always does, and of one that makes full steps from the ranks before and from those computes its
residuals again. Elsewhere these cells are empty, and ``loss`` is against the warm start. The fourth
is of components: `maintained_components.py`.

Checked with every row of PageRank: maintained residuals against others from nothing, bit for bit,
and the ranks against those recomputed, by the bounds of both.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ....gpu_core.algorithms.maintained.maintained_pagerank import MaintainedPageRank
from ....gpu_core.errors import GraphtideError
from ....gpu_core.graph import DynamicGraph
from ....testing import engine_of
from ..bench_options import BenchOptions
from ..measuring.arm import Arm, MeasuredRow
from ..measuring.report import PrintedTable
from ..measuring.workloads import unpack
from .maintained_clustering import FIGURES as CLUSTERING_FIGURES
from .maintained_clustering import SHARES, Clustering, DirectedClustering
from .maintained_components import FIGURES, Components
from .refresh import TOLERANCE, Refresh

NAMES = ("G1", "G1s", "G2", "G3", "G4")

_PAGERANK = "pagerank"
_RANK_FIGURES = [
    "insert alone",
    "maintained",
    "choice",
    "loss",
    "pushed",
    "full steps",
    "warm start",
]
#: What a graph that may push is made to do, by the column.
_FORCED = {"pushed": "push", "full steps": "full"}


class PageRank(Refresh):
    """PageRank of one undirected workload after batches."""

    def followed(self) -> Iterator[tuple[MeasuredRow, str]]:
        """Measure each share; with it what the graph chose, if it had a choice."""
        graph = self.made(self.keys)
        for share in SHARES:
            yield self._ranked(graph, max(round(share * graph.num_edges), 1))

    def _ranked(self, graph: DynamicGraph, count: int) -> tuple[MeasuredRow, str]:
        row, choices = MeasuredRow(f"{count:,}"), []
        before = graph.pagerank(tol=TOLERANCE)
        graph.maintain(_PAGERANK, tol=TOLERANCE)
        engine = engine_of(graph)
        # What pushes cost is learned over the repeats.
        kept: Any = engine.maintained.pop(_PAGERANK)
        has_choice = isinstance(kept, MaintainedPageRank)

        def ranks(batch: Any, **start: Any) -> Any:
            graph.apply(batch)
            return graph.pagerank(tol=TOLERANCE, **start)

        for repeat in range(self.repeats + 1):
            pairs = unpack(self.arm.xp, self.new_edges(count, 1000 * repeat))
            put, delete = (self.arm.batch(op, *pairs, directed=False) for op in (1, -1))
            self.timed(row, repeat, "insert alone", partial(graph.apply, put))
            graph.apply(delete)
            self.timed(row, repeat, "warm start", partial(ranks, put, nstart=before))
            expected = graph.pagerank(tol=TOLERANCE / 100)
            graph.apply(delete)
            # The graph is again the one that it has ranks of. To begin now would be a batch that
            # changes nothing, after which it would take the next one for a small one.
            engine.maintained[_PAGERANK] = kept
            choice = ""
            for what in (*(_FORCED if has_choice else ()), "maintained"):
                if has_choice:
                    kept.always, full = _FORCED.get(what), kept.begun
                self.timed(row, repeat, what, partial(ranks, put))
                if has_choice:
                    choice = "push" if kept.begun == full else "full"
                graph.audit()
                found = graph.pagerank(tol=TOLERANCE)
                apart = float(np.abs(found.pagerank - expected.pagerank).sum())
                if not apart <= found.error_bound + expected.error_bound:
                    msg = (
                        f"{self.name}: ranks after a batch are {apart:.3g} away; please report this"
                    )
                    raise GraphtideError(msg)
                # Every lap begins with as little left over.
                graph.apply(delete)
                kept.begin(engine)
            choices.append(choice)
            graph.unmaintain(_PAGERANK)
        # The first repeat is a warm-up, after which the choice knows what pushes cost.
        return row, max(set(choices[1:]), key=choices[1:].count)


def _loss(row: MeasuredRow, *others: str) -> str:
    """Of the choice, in times of the better one."""
    times = {what: row.median(what) for what in row.laps}
    better = min(times[other] for other in others)
    return f"{times['maintained'] / better:.2f}"


def bench_maintained(options: BenchOptions) -> None:
    """Measure workloads, by default `NAMES`, and print the tables.

    Raises
    ------
    SettingsError
        A name is of no workload, or the sizes would vanish.
    CorruptImageError
        What is maintained is not a recount.
    GraphtideError
        Ranks are not within their bounds.
    """
    selection = options.selection(NAMES)
    arm = selection.begin("bench maintained", Arm(options.engine))
    tables = ((Clustering, ["graph", "edges"]), (DirectedClustering, ["graph", "by", "edges"]))
    for kind, heads in tables:
        table = PrintedTable(heads, [*CLUSTERING_FIGURES])
        for each in selection.benches(kind, arm):
            for row, choice in each.followed():
                table.row(
                    each.name, row.label, row.device("insert alone"), row.device("maintained"),
                    choice, _loss(row, "repaired", "recounted"), row.device("repaired"),
                    row.device("recounted"),
                )  # fmt: skip
    table = PrintedTable(["graph", "edges"], _RANK_FIGURES)
    for bench in selection.benches(PageRank, arm):
        for row, choice in bench.followed():
            table.row(
                bench.name, row.label, row.device("insert alone"), row.device("maintained"), choice,
                _loss(row, *(_FORCED if choice else ("warm start",))), row.device("pushed"),
                row.device("full steps"), row.device("warm start"),
            )  # fmt: skip
    table = PrintedTable(["graph", "edges", "deletes"], [*FIGURES])
    for components in selection.benches(Components, arm):
        for row, choice in components.followed():
            table.row(
                components.name, row.label, row.device("apply alone"), row.device("maintained"),
                choice, _loss(row, "repaired", "recounted"), row.device("repaired"),
                row.device("recounted"),
            )  # fmt: skip
