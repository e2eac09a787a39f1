"""``graphtide bench ageing``: what a graph costs after many batches, over a fresh one.

A graph of `workloads.py`, stored as for ``graphtide bench updates``, takes the batches of a stream
(`streams.py`), each of a hundredth of its entries: one half leaves, the other arrives. After the
thousand batches of the default each entry was replaced five times on the mean, and rows have been
outgrown, left and shrunk many times over. Then the aged graph is compared with a fresh one, built
of the same entries in one batch; where time is measured, the two take turns:

* *memory*: bytes that the graph needs, then with the free pages that lie among its own;
* *insert*, *delete*: a hundredth of the entries, new, uniform, the same ones for both graphs;
  deleting them brings the entries back;
* *scan*: every entry read once, where it lies (`scan.py`);
* *PageRank*: a call as a user makes it, to L1 1e-6.

The first round gives the fresh graph the room that its first batch needs, as the aged one has; it
is not kept. Checked: counts of every report, sums that scans find, and at the end all entries
of both graphs.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ...gpu_core.errors import GraphtideError, SettingsError
from ...gpu_core.graph import DynamicGraph
from .bench_options import BenchOptions
from .measuring import draws
from .measuring.arm import Arm, Bench, MeasuredRow
from .measuring.clock import spread
from .measuring.report import PrintedTable
from .measuring.streams import STREAMS, Step, Stream
from .measuring.workloads import Keys, unpack
from .scan import scan_of

#: Entries of the graph for each entry of a batch.
_SHARE = 100
_DEFAULT = ("G4",)
_AGES = ("fresh", "aged")


class Ageing(Bench):
    """One workload, which ages by one stream."""

    def aged(self, stream: Stream, batches: int) -> DynamicGraph:
        """Make a graph of this age in batches; ``keys`` become the entries that it then has."""
        xp = self.arm.xp
        graph = self.graph()
        random = xp.random.default_rng(0)
        entries = draws.shuffled(xp, self.keys, random)
        half = max(entries.size // _SHARE // 2, 1)

        def is_known(keys: Keys) -> Keys:
            # The graph under test answers; the check at the end finds out if it was wrong.
            src, dst = (self.arm.to_host(side) for side in unpack(xp, keys))
            return xp.asarray(graph.has_edges(src, dst))

        for number in range(batches):
            step = Step(xp, self.scale, entries, number, half, random)
            positions = stream.positions(step)
            new = draws.new_keys(xp, is_known, stream.pairs(step), positions.size, random)
            ops = xp.ones(2 * positions.size, xp.int8)
            ops[: positions.size] = -1
            pairs = unpack(xp, xp.concatenate([entries[positions], new]))
            report = graph.apply(self.arm.batch(ops, *pairs))
            if report.deleted != positions.size or report.inserted != positions.size:
                msg = f"of {positions.size:,} old and new entries each, the graph reports {report}"
                raise GraphtideError(msg)
            entries[positions] = new
        self.keys = xp.sort(entries)
        return graph

    def compare(self, aged: DynamicGraph, fresh: DynamicGraph) -> MeasuredRow:
        """Measure both, alternately."""
        row = MeasuredRow()
        graphs = dict(zip(_AGES, (fresh, aged), strict=True))
        expected = int(unpack(self.arm.xp, self.keys)[1].sum())
        for repeat in range(self.repeats + 1):
            size = max(self.keys.size // _SHARE, 1)
            drawn = draws.shuffled(self.arm.xp, self.fresh(2 * size, repeat), repeat)
            parts = drawn[:size], drawn[size:]
            other, ours = ([self.batch(fresh, op, part) for op in (1, -1)] for part in parts)
            ages = _AGES if repeat % 2 else _AGES[::-1]
            for what, batch in zip(("insert", "delete"), ours, strict=True):
                for age in ages:
                    # Who comes second finds code in the caches that the first one brought there.
                    for warm in other:
                        graphs[age].apply(warm)
                    self.timed(row, repeat, f"{what}, {age}", partial(graphs[age].apply, batch))
            for age in ages:
                scan = scan_of(graphs[age].adjacency_view())
                self.timed(row, repeat, f"scan, {age}", scan)
                if int(scan()) != expected:
                    msg = f"{self.name}, {age}: a scan found other entries; please report this"
                    raise GraphtideError(msg)
            for age in ages:
                call = partial(graphs[age].pagerank, tol=1e-6)
                self.timed(row, repeat, f"PageRank, {age}", call)
        for age, graph in graphs.items():
            self.check(graph, None, age)
        return row


def _print_laps(table: PrintedTable, stream: str, row: MeasuredRow) -> None:
    for what in ("insert", "delete", "scan", "PageRank"):
        fresh, aged = ([lap.device for lap in row.laps[f"{what}, {age}"]] for age in _AGES)
        ratios = [old / new for new, old in zip(fresh, aged, strict=True)]
        table.row(stream, what, spread(fresh), spread(aged), spread(ratios))


def _print_memory(
    table: PrintedTable, stream: str, fresh: DynamicGraph, aged: DynamicGraph
) -> None:
    for what, more in (("memory", ()), ("with free pages", ("free pages",))):
        small, large = (_megabytes(graph, more) for graph in (fresh, aged))
        table.row(stream, what, f"{small:,.1f} MB", f"{large:,.1f} MB", f"{large / small:.3f}")


def _megabytes(graph: DynamicGraph, more: Sequence[str]) -> float:
    memory = graph.memory()
    return (memory.graph_bytes + sum(memory.regions[name] for name in more)) / 1e6


def bench_ageing(options: BenchOptions, *, batches: int) -> None:
    """Age workloads, by default `_DEFAULT`, by every stream, and print a table.

    Raises
    ------
    SettingsError
        A name is of no workload, or a number is out of range.
    GraphtideError
        A graph has other entries than it must have.
    """
    if batches < 1:
        msg = f"--batches={batches} ages nothing; it must be at least 1"
        raise SettingsError(msg)
    selection = options.selection(_DEFAULT)
    arm = selection.begin("bench ageing", Arm(options.engine), f"--batches {batches}")
    table = PrintedTable(["stream", "what"], ["fresh", "aged", "aged over fresh"])
    for bench in selection.benches(Ageing, arm):
        name = bench.name
        for stream_name, stream in STREAMS.items():
            ageing = replace(bench)  # its keys become others
            aged = ageing.aged(stream, batches)
            fresh = ageing.graph()
            _print_memory(table, f"{name}, {stream_name}", fresh, aged)
            _print_laps(table, f"{name}, {stream_name}", ageing.compare(aged, fresh))
