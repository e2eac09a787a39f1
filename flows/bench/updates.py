"""``graphtide bench updates``: milliseconds a batch, ours beside a rebuild, exact at the end.

A graph of `workloads.py` is stored as a directed graph with dense ids, both directions of an edge
as entries of their own, without reverse adjacency unless a row says so. A batch is drawn, sorted
and laid out as CSR where the engine works, before the clock starts, unless a row says so. Inserts
meet no entry of the graph; the deletes take the same entries away again, so every repeat meets the
same edges, in rows that keep the capacity that the repeats before gave them: fewer of them move
than in a graph that was just built. Ours and the rebuild take turns. The first round compiles, and
is not kept.

Two more tables are of one workload each: small batches by percentiles (`latency.py`), and what
comes from host memory (`transfers.py`).

After the last repeat the graph's entries are compared, all of them, with those that it must have.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import click

from .bench_options import BenchOptions
from .latency import BATCHES, percentiles, small_batches
from .measuring import draws
from .measuring.arm import PLAIN, Arm, Bench, MeasuredRow
from .measuring.peers import Rebuild
from .measuring.report import PrintedTable
from .measuring.workloads import Keys, pack
from .transfers import LOCKED, PAGEABLE, transfer_rows

#: Workload -> sizes of its batches, in entries.
SIZES = {
    "G1": [1_000_000],
    "G2": [1_000_000],
    "G3": [1_000_000],
    "G4": [1, 1_000, 100_000, 1_000_000, 10_000_000],
    "G5": [1_000_000, 10_000_000],
}
#: The workload that the other tables are about, and the sizes of its small batches.
_DETAILED = "G4"
_SMALL = (1, 1_000)
_MILLION = 1_000_000
_FIGURES = ["insert", "delete", "insert, caller's", "rebuild insert", "rebuild delete"]

#: What the rows with other settings change: the last is what a user gets who sets nothing.
_OTHERS: tuple[dict[str, Any], ...] = (
    {"reverse": True},
    {"ids": "any"},
    {"ids": "any", "reverse": True},
)


class UpdateBench(Bench):
    """Row of the first table, of one workload."""

    def initialization(self) -> MeasuredRow:
        """An empty graph takes all entries as one batch."""
        row = MeasuredRow()
        for repeat in range(self.repeats + 1):
            graph = self.arm.graph(**PLAIN)
            batch = self.batch(graph, 1, self.keys)
            self.timed(row, repeat, "insert", partial(graph.apply, batch))
            ratio = graph.memory().graph_bytes / csr_bytes(self.keys)
            del graph
        size = f"{self.keys.size:,}"
        row.label = f"all {size} into an empty graph, which then takes {ratio:.2f} of their CSR"
        return row

    def insert_and_delete(
        self, what: str, draw: Callable[[int], Keys], *, rebuild: bool = False, **settings: Any
    ) -> MeasuredRow:
        """Insert the entries that ``draw(repeat)`` gives, delete them again, many times."""
        row, graph = MeasuredRow(what), self.graph(**settings)
        peer = Rebuild(self.arm.xp, self.keys, self.scale)
        for repeat in range(self.repeats + 1):
            drawn = draw(repeat)
            put, delete = self.batch(graph, 1, drawn), self.batch(graph, -1, drawn)
            self.timed(row, repeat, "insert", partial(graph.apply, put))
            if repeat == self.repeats:
                self.check(graph, drawn, f"{what}, after inserts")
            self.timed(row, repeat, "delete", partial(graph.apply, delete))
            if rebuild:
                self.timed(row, repeat, "rebuild, insert", partial(peer.insert, drawn))
                self.timed(row, repeat, "rebuild, delete", partial(peer.delete, drawn))
        self.check(graph, None, f"{what}, after deletes")
        return row

    def stress(self, size: int) -> MeasuredRow:
        """Batches with repeats and with entries that the graph has already."""
        xp = self.arm.xp
        row = MeasuredRow(f"{size:,}, a tenth repeats, a tenth present")
        graph = self.graph()
        for repeat in range(self.repeats + 1):
            src, dst = draws.stress_pairs(xp, self.keys, self.scale, size, 1000 * repeat)
            drawn = xp.unique(pack(xp, src, dst))
            put = self.arm.batch(1, src, dst)
            delete = self.batch(graph, -1, drawn[~draws.is_key(xp, self.keys, drawn)])
            self.timed(row, repeat, "insert", partial(graph.apply, put))
            self.timed(row, repeat, "delete", partial(graph.apply, delete))
        self.check(graph, None, "stress")
        return row

    def hub(self, size: int) -> Iterator[MeasuredRow]:
        """Batches with and without entries of a hub that has most vertices as neighbors."""
        xp = self.arm.xp
        neighbors = (1 << self.scale) * 3 // 4
        extra, many = max(neighbors // 100, 1), min(size, neighbors // 4)
        grown = draws.hub_keys(xp, self.keys, self.scale, neighbors, 7)
        keys = xp.sort(xp.concatenate([self.keys, grown]))
        bench = UpdateBench(self.arm, self.name, keys, self.scale, self.repeats)

        def some(repeat: int) -> Keys:
            return draws.hub_keys(xp, keys, self.scale, extra, repeat)

        def others(repeat: int) -> Keys:
            return bench.fresh(size - extra, repeat)

        def both(repeat: int) -> Keys:
            return xp.unique(xp.concatenate([others(repeat), some(repeat)]))

        label = f"a hub of {neighbors:,}"
        yield bench.insert_and_delete(f"{size - extra:,} beside {label}", others)
        yield bench.insert_and_delete(f"the same and {extra:,} of {label}", both)
        yield bench.insert_and_delete(
            f"{many:,}, all of {label}",
            lambda repeat: draws.hub_keys(xp, keys, self.scale, many, repeat),
        )


def csr_bytes(keys: Keys) -> int:
    """Bytes of a CSR with 32-bit offsets and neighbors that holds these entries."""
    return 4 * (keys.size + int(keys[-1] >> 32) + 2)


def rows_of(bench: UpdateBench, *, smaller: int) -> Iterator[MeasuredRow]:
    """Measure one workload; ``smaller`` takes bits off every size."""
    yield bench.initialization()
    for full in SIZES[bench.name]:
        size = max(full >> smaller, 1)
        yield bench.insert_and_delete(f"{size:,}", partial(bench.fresh, size), rebuild=True)
    million = max(_MILLION >> smaller, 16)
    if bench.name == "G3":
        draw = partial(bench.fresh, million, rmat=True)
        yield bench.insert_and_delete(f"{million:,} drawn as R-MAT", draw, rebuild=True)
    if bench.name in ("G3", "G4"):
        yield bench.stress(million)
    if bench.name == "G4":
        yield from bench.hub(million)
        for settings in _OTHERS:
            label = ", ".join(f"{key}={value}" for key, value in settings.items())
            draw = partial(bench.fresh, million)
            yield bench.insert_and_delete(f"{million:,}, {label}", draw, **settings)


def _print_small_batches(bench: Bench, smaller: int) -> None:
    click.echo(
        f"\n{bench.name}, small batches, {BATCHES} each: median, and 99 of 100 are not above."
    )
    whats = ("insert", "delete", "insert, caller's", "delete, caller's")
    table = PrintedTable(["entries"], [cell for what in whats for cell in (what, "p99")])
    for size in _SMALL:
        row = small_batches(bench, max(size >> smaller, 1))
        table.row(row.label, *percentiles(row))


def _print_transfers(bench: Bench, smaller: int) -> None:
    click.echo(f"\n{bench.name}, from host memory:")
    table = PrintedTable(["what"], [PAGEABLE, LOCKED])
    for row in transfer_rows(bench, max(_MILLION >> smaller, 16)):
        table.row(row.label, row.device(PAGEABLE), row.device(LOCKED))


def bench_updates(options: BenchOptions, *, layout: str) -> None:
    """Measure workloads, by default all, and print the tables.

    Raises
    ------
    SettingsError
        A name is of no workload, or the sizes would vanish.
    GraphtideError
        The graph has other entries than it must have.
    """
    selection = options.selection(tuple(SIZES))
    own = [f"--layout {layout}"] if layout != "runs" else []
    arm = selection.begin("bench updates", Arm(options.engine, layout), *own, known=SIZES)
    table = PrintedTable(["graph", "batch"], _FIGURES)
    detailed = None
    for bench in selection.benches(UpdateBench, arm):
        for row in rows_of(bench, smaller=options.smaller):
            device = [row.device(what) for what in ("insert", "delete")]
            rebuilt = [row.device(f"rebuild, {what}") for what in ("insert", "delete")]
            table.row(bench.name, row.label, *device, row.caller("insert"), *rebuilt)
        if bench.name == _DETAILED:
            detailed = bench
    if detailed is not None:
        _print_small_batches(detailed, options.smaller)
        if arm.engine == "cuda":
            _print_transfers(detailed, options.smaller)
