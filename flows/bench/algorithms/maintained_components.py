"""Last table of ``graphtide bench maintained``: components after a batch that also deletes.

A share of the edges is changed by one batch, a tenth or a half of them by deletes: edges of the
graph at random go, and new ones come, drawn as in `refresh.py`. Then the components of all vertices
are asked for, within one lap: of a graph that maintains them, of one that always repairs them, and
of one that recomputes them. A second batch takes everything back, and so every repeat meets the
same graph.

Checked with every row: the components against a recount, bit for bit, by an audit.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from ....gpu_core.algorithms.maintained.maintained_components import NAME
from ....gpu_core.graph import DynamicGraph
from ....testing import engine_of
from ..measuring import draws
from ..measuring.arm import MeasuredRow
from ..measuring.workloads import Keys, unpack
from .refresh import Refresh

SHARES: Final = (1e-1, 1e-2, 1e-3, 1e-4)
#: Of the changed edges.
DELETES: Final = (0.1, 0.5)
FIGURES: Final = ("apply alone", "maintained", "choice", "loss", "repaired", "recounted")


class Components(Refresh):
    """Components of one undirected workload after batches."""

    def followed(self) -> Iterator[tuple[MeasuredRow, str]]:
        """Measure each share, with either share of deletes; with it what the graph chose."""
        graph = self.made(self.keys)
        src, dst = unpack(self.arm.xp, self.keys)
        once = self.keys[src < dst]
        for share in SHARES:
            for deletes in DELETES:
                yield self._measured(graph, once, max(round(share * graph.num_edges), 1), deletes)

    def _measured(
        self, graph: DynamicGraph, once: Keys, count: int, deletes: float
    ) -> tuple[MeasuredRow, str]:
        row, choice = MeasuredRow(f"{count:,} | {deletes:.0%}"), ""

        def found(batch: Any) -> Any:
            graph.apply(batch)
            return graph.weakly_connected_components()

        for repeat in range(self.repeats + 1):
            gone = draws.some_keys(self.arm.xp, once, round(deletes * count), repeat)
            new = self.new_edges(count - gone.size, 1000 * repeat)
            change, back = self._mixed(new, gone), self._mixed(gone, new)
            self.timed(row, repeat, "apply alone", partial(graph.apply, change))
            graph.apply(back)
            for what in ("recounted", "maintained", "repaired"):
                kept: Any = None
                if what != "recounted":
                    graph.maintain(NAME)
                    kept = engine_of(graph).maintained[NAME]
                    kept.always_repairs = what == "repaired"
                    if kept.always_repairs:
                        kept.begin(engine_of(graph))
                # As in a stream, where the batch before decides whether there are levels.
                for batch in (change, back):
                    found(batch)
                begun = 0 if kept is None else kept.begun
                self.timed(row, repeat, what, partial(found, change))
                if what == "maintained":
                    is_recount = kept.is_stale or kept.begun > begun
                    choice = "recount" if is_recount else "repair"
                graph.audit()
                graph.apply(back)
                if kept is not None:
                    graph.unmaintain(NAME)
        return row, choice

    def _mixed(self, put: Keys, deleted: Keys) -> Any:
        xp = self.arm.xp
        ops = xp.ones(put.size + deleted.size, xp.int8)
        ops[put.size :] = -1
        src, dst = unpack(xp, xp.concatenate([put, deleted]))
        return self.arm.batch(ops, src, dst, directed=False)
