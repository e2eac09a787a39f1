"""``graphtide bench maintained``: exact clustering after a batch, repaired beside counted anew.

A share of the edges is inserted, drawn as in `refresh.py`, and then all triangles and clustering
coefficients are asked for, within one lap: of a graph that maintains them, of one that always
repairs them, and of one that counts anew. The edges are deleted again, and so every repeat meets
the same graph. ``choice`` is what the graph that maintains them did, ``loss`` how much longer that
took than the better of the other two.

Checked with every row: the maintained triangles against a recount, bit for bit.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

from ...gpu_core.graph import DynamicGraph
from ...testing import engine_of
from .arm import Arm, Row, check_arguments
from .refresh import Refresh
from .report import Table, print_conditions
from .workloads import WORKLOADS, unpack

NAMES = ("G1", "G1s", "G2", "G3", "G4")
SHARES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)

_CLUSTERING = "clustering"
_FIGURES = ["insert alone", "maintained", "choice", "loss", "repaired", "counted anew"]


class Maintained(Refresh):
    """Clustering of one undirected workload after batches."""

    def followed(self) -> Iterator[tuple[Row, str]]:
        """Measure each share; with it what the graph chose."""
        graph = self.made(self.keys)
        for share in SHARES:
            yield self._measured(graph, max(round(share * graph.num_edges), 1))

    def _measured(self, graph: DynamicGraph, count: int) -> tuple[Row, str]:
        row, choice = Row(self.name, f"{count:,}"), ""

        def clustered(batch: Any) -> Any:
            graph.apply(batch)
            return graph.clustering()

        for repeat in range(self.repeats + 1):
            pairs = unpack(self.arm.xp, self.new_edges(count, 1000 * repeat))
            put, delete = (self.arm.batch(op, *pairs, directed=False) for op in (1, -1))
            self.timed(row, repeat, "insert alone", partial(graph.apply, put))
            graph.apply(delete)
            self.timed(row, repeat, "counted anew", partial(clustered, put))
            graph.apply(delete)
            graph.maintain(_CLUSTERING)
            kept: Any = engine_of(graph).maintained[_CLUSTERING]
            for what, always_repairs in (("maintained", False), ("repaired", True)):
                kept.always_repairs = always_repairs
                self.timed(row, repeat, what, partial(clustered, put))
                graph.audit()
                graph.apply(delete)
                # Every lap begins with counts, whatever the batch before it did.
                graph.clustering()
            kept.always_repairs = False
            graph.apply(put)
            choice = "recount" if kept.is_stale else "repair"
            graph.apply(delete)
            graph.unmaintain(_CLUSTERING)
        return row, choice


def _loss(row: Row) -> str:
    """Of the choice, in times of the better one."""
    times = {what: median(lap.device for lap in laps) for what, laps in row.laps.items()}
    better = min(times["repaired"], times["counted anew"])
    return f"{times['maintained'] / better:.2f}"


def bench_maintained(engine: str, names: Sequence[str], *, repeats: int, smaller: int) -> None:
    """Measure the workloads of these names (none: `NAMES`) and print the table.

    Raises
    ------
    SettingsError
        A name is of no workload, or the sizes would vanish.
    CorruptImageError
        What is maintained is not what is counted anew.
    """
    check_arguments(names, WORKLOADS, repeats=repeats, smaller=smaller)
    arm = Arm(engine)
    print_conditions(
        arm, f"graphtide bench maintained {' '.join(names)}".rstrip(), repeats, smaller
    )
    table = Table(["graph", "edges"], _FIGURES)
    for name in names or NAMES:
        keys = WORKLOADS[name].keys(arm.xp, smaller=smaller)
        bench = Maintained(arm, name, keys, WORKLOADS[name].scale - smaller, repeats)
        for row, choice in bench.followed():
            table.row(
                name, row.batch, row.device("insert alone"), row.device("maintained"), choice,
                _loss(row), row.device("repaired"), row.device("counted anew"),
            )  # fmt: skip
