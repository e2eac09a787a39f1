"""``graphtide study stress``: many mixed batches on every layout and engine, none of them wrong.

All graphs take the same batches (`mixed_batches.py`), and so does a graph of dictionaries, row by
row (`row_by_row.py`). These are compared:

* after each batch: every count of its report; and the pages of adjacencies as the arena accounts
  for them with those that rows have by their records, so that a page that no row has is noticed;
* at intervals, and at the end: all vertices, edges with what is kept of them, and degrees;
  ``verify()``, which finds the one owner of each page; ``state_hash``, the same of all graphs;
* at last, when all vertices are deleted: adjacencies have no page.

Arenas are small at first and grow by a quarter, so that they are laid out again many times. Records
with times also expire, at the same intervals. What is wrong ends it with a sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import click
import numpy as np
import numpy.typing as npt

from ...gpu_core.batch.update_batch import UpdateBatch
from ...gpu_core.engines import resolve_engine
from ...gpu_core.errors import GraphtideError, SettingsError
from ...gpu_core.graph import DynamicGraph
from ...gpu_core.layouts import LAYOUTS
from ...gpu_core.records import record_named
from ...gpu_core.report import BatchReport
from ..bench.measuring.arm import Arm
from ..bench.measuring.report import PrintedTable, machine
from ..printing.activity import Activity
from .mixed_batches import TIME_STEP, RowColumns, mixed_batches
from .row_by_row import COUNTS, Edge, LogRow, RowByRow

Int64s = npt.NDArray[np.int64]

#: All is compared so often; records with times expire then, those of so many batches before.
_CHECKS = 40
_KEPT_BATCHES = 30
_LEAST_SCALE, _LARGEST_SCALE = 6, 20
#: First size of an arena, what it may grow to, and by how much.
_ARENA: dict[str, Any] = {"arena_bytes": 1 << 19, "max_arena_bytes": 1 << 32, "arena_growth": 1.25}


@dataclass(frozen=True)
class Stress:
    """What is put under stress, and by how much."""

    batches: int
    #: Of the largest batches.
    rows: int
    #: 2**scale vertices.
    scale: int
    seed: int
    records: str
    ids: str
    directed: bool
    reverse: bool
    page_bytes: int | None

    def check(self) -> None:
        """Refuse what cannot be done, before anything is."""
        record_named(self.records)
        if self.ids not in ("any", "dense"):
            msg = f"--ids {self.ids} is unknown; use any or dense"
            raise SettingsError(msg)
        if not _LEAST_SCALE <= self.scale <= _LARGEST_SCALE or min(self.batches, self.rows) < 1:
            msg = (
                f"--scale is from {_LEAST_SCALE} to {_LARGEST_SCALE}, --batches and --rows at "
                f"least 1"
            )
            raise SettingsError(msg)
        if self.seed < 0:
            msg = f"--seed {self.seed} is negative"
            raise SettingsError(msg)

    def command(self) -> str:
        """The words that repeat it."""
        words = [
            f"graphtide study stress --batches {self.batches} --rows {self.rows}",
            f"--scale {self.scale} --seed {self.seed} --records {self.records} --ids {self.ids}",
        ]
        words += ["--undirected"] * (not self.directed) + ["--no-reverse"] * (not self.reverse)
        if self.page_bytes is not None:
            words.append(f"--page-bytes {self.page_bytes}")
        return " ".join(words)

    def vertex_ids(self) -> Int64s:
        """Ids of all vertices that rows name; of ``any`` they are anywhere in int64."""
        if self.ids == "dense":
            return np.arange(1 << self.scale)
        ends = np.iinfo(np.int64)
        drawn = np.random.default_rng(self.seed).integers(
            ends.min, ends.max, 1 << self.scale, endpoint=True
        )
        return np.unique(drawn)

    def graph(self, engine: str, layout: str) -> DynamicGraph:
        """Make an empty graph."""
        return DynamicGraph(
            engine=engine, layout=layout, records=self.records, ids=self.ids,
            directed=self.directed, reverse=self.reverse,
            page_bytes=self.page_bytes if LAYOUTS[layout].is_paged else None, **_ARENA,
        )  # fmt: skip

    def batch(self, columns: RowColumns) -> UpdateBatch:
        """Make the batch of all graphs."""
        return UpdateBatch.from_rows(
            **columns._asdict(), directed=self.directed, records=record_named(self.records).name
        )


class StressedGraph:
    """One graph, and what it has been through."""

    def __init__(self, stress: Stress, engine: str, layout: str) -> None:
        self.engine, self.layout = engine, layout
        self.graph = stress.graph(engine, layout)
        self.seconds = 0.0
        self.most_edges = self.most_pages = self.longest = 0
        self.arenas = {self.graph.memory().arena_bytes}

    def apply(self, number: int, batch: UpdateBatch, expected: dict[str, int]) -> None:
        """Take a batch; every count of the report is as expected."""
        self._take_note(number, self.graph.apply(batch), expected)

    def expire(self, number: int, before: int, expected: dict[str, int]) -> None:
        """Have edges expire, as many as expected."""
        self._take_note(number, self.graph.expire(before), expected)

    def _take_note(self, number: int, report: BatchReport, expected: dict[str, int]) -> None:
        for name, count in expected.items():
            if getattr(report, name) != count:
                self._fail(number, f"reports {getattr(report, name):,} {name}, not {count:,}")
        # The first batch also loads or compiles kernels, those of all layouts in the first graph.
        self.seconds += report.seconds["apply"] if number else 0.0
        memory = self.graph.memory(detail=True)
        assert memory.detail is not None
        held = sum(each.blocks * each.block_bytes for each in memory.detail.classes)
        lost = memory.regions["adjacencies"] - held
        if lost or sum(memory.regions.values()) != memory.arena_bytes:
            self._fail(number, f"has {lost // memory.page_bytes:,} pages that no adjacency has")
        self.most_edges = max(self.most_edges, report.num_edges)
        self.most_pages = max(self.most_pages, held // memory.page_bytes)
        self.arenas.add(memory.arena_bytes)

    def compare(self, number: int, oracle: RowByRow) -> None:
        """Compare all that there is."""
        graph, vertices = self.graph, oracle.vertices()
        graph.verify()
        if graph.vertices().tolist() != vertices:
            self._fail(number, "has other vertices")
        edges = graph.edges()
        names = list(edges.properties)
        kept = [Edge._fields.index(name) for name in names]
        columns = edges.src, edges.dst, *(edges.properties[name] for name in names)
        found = zip(*(column.tolist() for column in columns), strict=True)
        expected = [(src, dst, *(edge[at] for at in kept)) for src, dst, edge in oracle.edges()]
        for ours, theirs in zip(found, expected, strict=False):
            if ours != theirs:
                self._fail(number, f"has {ours} where there is {theirs}")
        if edges.src.size != len(expected):
            self._fail(number, f"has {edges.src.size:,} edges, not {len(expected):,}")
        degrees = graph.degrees()
        self.longest = max(self.longest, int(degrees.max(initial=0)))
        if degrees.tolist() != oracle.degrees(inward=False):
            self._fail(number, "has other degrees")
        if graph.reverse and graph.in_degrees().tolist() != oracle.degrees(inward=True):
            self._fail(number, "has other in-degrees")

    def check_empty(self, number: int) -> None:
        """All vertices are deleted, and all pages of adjacencies have come back."""
        self.graph.verify()
        left = self.graph.memory().regions["adjacencies"]
        if left:
            self._fail(number, f"has no vertex, and {left:,} bytes of adjacencies")

    def _fail(self, number: int, what: str) -> NoReturn:
        msg = (
            f"{self.layout} on {self.engine}, batch {number}: the graph {what}; please report this"
        )
        raise GraphtideError(msg)


def study_stress(engine: str, layouts: Sequence[str], stress: Stress) -> None:
    """Put graphs on these layouts (none: all) under stress, and print a table.

    Parameters
    ----------
    engine
        ``host`` or ``cuda``; ``auto``: ``host``, and ``cuda`` where there is a GPU.

    Raises
    ------
    SettingsError
        A name is unknown, or a number is out of range.
    GraphtideError
        A graph is not what it must be.
    """
    stress.check()
    for name in set(layouts) - LAYOUTS.keys():
        msg = f"--layout {name} is unknown; use one of {', '.join(LAYOUTS)}"
        raise SettingsError(msg)
    engines = ["host"] if engine == "auto" else []
    engines += [each for each in [resolve_engine(engine)] if each not in engines]
    arms = [Arm(each) for each in engines]
    graphs = [StressedGraph(stress, each, name) for each in engines for name in layouts or LAYOUTS]
    words = [stress.command(), *(f"--layout {name}" for name in layouts)]
    words += [f"--engine {engine}"] * (engine != "auto")
    click.echo(
        f"{' '.join(words)}, {'; '.join(map(machine, arms))}.\n"
        f"{1 << stress.scale:,} vertices. The same batches for each, compared with a graph of "
        f"dictionaries, row by row."
    )
    with Activity("applying …") as activity:
        counts = run_stress(stress, graphs, activity.now)
    table = PrintedTable(
        ["engine", "layout"],
        ["edges at most", "longest row", "pages at most", "sizes of the arena", "apply, s"],
    )
    for each in graphs:
        table.row(
            each.engine, each.layout, f"{each.most_edges:,}", f"{each.longest:,}",
            f"{each.most_pages:,}", len(each.arenas), f"{each.seconds:.1f}",
        )  # fmt: skip
    reported = ("rows", "edges_added", "edges_removed", "expired", "vertices_removed")
    sums = ", ".join(f"{counts[name]:,} {name.replace('_', ' ')}" for name in reported)
    click.echo(
        f"\n{sums}.\n"
        f"Exact after each batch, all compared {counts['compared']} times, verify() clean, no page "
        f"lost."
    )


def run_stress(
    stress: Stress, graphs: Sequence[StressedGraph], report: Callable[[str], None]
) -> Counter[str]:
    """Apply all batches to all graphs; sums of their counts, and how often all was compared."""
    oracle, ids = RowByRow(directed=stress.directed), stress.vertex_ids()
    sums: Counter[str] = Counter()
    for number, columns in enumerate(mixed_batches(stress.batches, stress.rows, ids, stress.seed)):
        sums.update(_apply(stress, graphs, oracle, number, columns))
        if (number + 1) % _CHECKS == 0:
            report(f"batch {number + 1:,} of {stress.batches:,}")
            sums["expired"] += _expire(stress, graphs, oracle, number)
            sums["compared"] += _compare_all(graphs, oracle, number)
    sums["compared"] += _compare_all(graphs, oracle, stress.batches)
    # Pages that deletes of all vertices do not bring back are lost.
    sums.update(_apply(stress, graphs, oracle, stress.batches, _deletes(oracle.vertices())))
    for graph in graphs:
        graph.check_empty(stress.batches)
    return sums


def _apply(
    stress: Stress,
    graphs: Sequence[StressedGraph],
    oracle: RowByRow,
    number: int,
    columns: RowColumns,
) -> Counter[str]:
    batch, counts = stress.batch(columns), oracle.apply(_rows_of(columns))
    for graph in graphs:
        graph.apply(number, batch, {name: counts[name] for name in COUNTS})
    return counts


def _expire(stress: Stress, graphs: Sequence[StressedGraph], oracle: RowByRow, number: int) -> int:
    """Have edges leave that were not seen for some batches; none where records have no times."""
    if not record_named(stress.records).has_times:
        return 0
    before = (number - _KEPT_BATCHES) * TIME_STEP
    gone = oracle.expire(before)
    for graph in graphs:
        graph.expire(number, before, {"rows": 0, "expired": gone, "edges_removed": gone})
    return gone


def _compare_all(graphs: Sequence[StressedGraph], oracle: RowByRow, number: int) -> int:
    """Compare all graphs with it, and with each other; returns 1, a comparison."""
    for graph in graphs:
        graph.compare(number, oracle)
    hashes = {graph.graph.state_hash() for graph in graphs}
    if len(hashes) > 1:
        msg = f"batch {number}: graphs of the same edges differ in state_hash; please report this"
        raise GraphtideError(msg)
    return 1


def _rows_of(columns: RowColumns) -> list[LogRow]:
    listed = (column.tolist() for column in columns)
    return [
        LogRow(op, src, dst if is_edge else None, weight, kind, ts)
        for op, src, dst, is_edge, weight, kind, ts in zip(*listed, strict=True)
    ]


def _deletes(vertices: Sequence[int]) -> RowColumns:
    """Rows that delete these vertices."""
    zeros = np.zeros(len(vertices), np.int64)
    return RowColumns(
        np.full(zeros.size, -1, np.int8), np.array(vertices, np.int64), zeros, zeros > 0,
        zeros.astype(float), zeros.astype(np.int32), zeros,
    )  # fmt: skip
