"""``graphtide study overallocation``: what the free capacity of rows saves when edges come.

Figure 6.2 of aimGraph's thesis (papers/000) has cuSTINGER insert a million edges, with 5 to 50 % of
its memory allocated ahead: 22 and 38 entries an adjacency at 50 %, and with less of it far slower.
Layout `runs` has no such factor. The free capacity of its rows follows from the size of a page: a
run is 1, 2, 4, … pages, so with larger pages short rows have more of it, and fewer rows move to
another run when edges come.

Graphs of all sizes of pages are measured alternately. *Free* entries are counted when the graph
has its own edges; *moved* are the rows that inserts move, of all that they change. Rows keep their
capacity when entries leave, so a graph is compacted before each insert: another one would find the
capacity that the one before has given them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from ...gpu_core.errors import GraphtideError
from ...gpu_core.graph import DynamicGraph
from ...gpu_core.report import BatchReport
from ...testing import compact
from ..bench.measuring.arm import Arm, Bench, MeasuredRow
from ..bench.measuring.report import PrintedTable
from ..bench.updates import csr_bytes
from .plots import draw
from .study_options import StudyOptions

_DEFAULT = ("G1", "G3", "G4")
_PAGE_BYTES = (16, 32, 64, 128, 256, 512)
#: Edges of a batch; at most a quarter of the graph.
_EDGES = 1_000_000


def study_overallocation(engine: str, options: StudyOptions) -> None:
    """Measure workloads, by default `_DEFAULT`, and print a table.

    Raises
    ------
    SettingsError
        A name is of no workload, a number is out of range, or the plot cannot be drawn.
    GraphtideError
        A graph has other entries than it must have.
    """
    selection = options.selection(_DEFAULT)
    arm = selection.begin("study overallocation", Arm(engine))
    click.echo(
        "The thesis, figure 6.2: cuSTINGER with 50 % ahead has 22 (ldoor) and 38 (audikw1) entries "
        "ahead, and 5 % takes it up to 100 times as long (GTX 780)."
    )
    table = PrintedTable(
        ["graph", "page bytes"],
        [
            "free entries a row", "free, of entries", "memory over CSR", "entries inserted",
            "rows moved", "insert", "delete",
        ],
    )  # fmt: skip
    panels = {}
    for bench in selection.benches(Bench, arm):
        size = min(_EDGES, bench.keys.size // 4)
        graphs = {page: bench.graph(page_bytes=page) for page in _PAGE_BYTES}
        ahead = {page: _ahead(graph) for page, graph in graphs.items()}
        over = {
            page: graph.memory().graph_bytes / csr_bytes(bench.keys)
            for page, graph in graphs.items()
        }
        rows, moved = timed(bench, graphs, size)
        for page, row in rows.items():
            entries, share = ahead[page]
            table.row(
                bench.name, page, f"{entries:.1f}", f"{share:.0%}", f"{over[page]:.2f}",
                f"{size:,}", f"{moved[page]:.1%}", row.device("insert"), row.device("delete"),
            )  # fmt: skip
        panels[bench.name] = {
            what: (
                [ahead[page][0] for page in rows],
                [row.median(what) for row in rows.values()],
            )
            for what in ("insert", "delete")
        }
    if options.plot is not None:
        draw(options.plot, panels, "free entries a row", "ms", logarithmic=True)


def timed(
    bench: Bench, graphs: dict[int, DynamicGraph], size: int
) -> tuple[dict[int, MeasuredRow], dict[int, float]]:
    """Insert and delete so many entries in each graph, alternately.

    Returns
    -------
    rows
        Milliseconds.
    moved : dict
        Rows that the inserts moved, of those that they changed.

    Raises
    ------
    GraphtideError
        A graph has other entries than it must have, or cannot be compacted.
    """
    rows = {page: MeasuredRow() for page in graphs}
    moved, changed = dict.fromkeys(graphs, 0), dict.fromkeys(graphs, 0)
    for repeat in range(bench.repeats + 1):
        drawn = bench.fresh(size, repeat)
        for page, graph in graphs.items():
            put, delete = (bench.batch(graph, op, drawn) for op in (1, -1))
            if not compact(graph):
                msg = f"{bench.name}: there is no memory to compact a graph; take a smaller one"
                raise GraphtideError(msg)
            reports: list[BatchReport] = []
            insert = partial(_insert, graph, put, reports)
            bench.timed(rows[page], repeat, "insert", insert)
            bench.timed(rows[page], repeat, "delete", partial(graph.apply, delete))
            if repeat:
                (report,) = reports
                moved[page] += report.rows_moved
                changed[page] += report.rows_moved + report.rows_appended + report.rows_merged
    if len({graph.state_hash() for graph in graphs.values()}) > 1:
        msg = f"{bench.name}: graphs of other pages have other edges; please report this"
        raise GraphtideError(msg)
    bench.check(next(iter(graphs.values())), None, "overallocation")
    return rows, {page: moved[page] / changed[page] for page in graphs}


def _insert(graph: DynamicGraph, batch: Any, reports: list[BatchReport]) -> None:
    reports.append(graph.apply(batch))


def _ahead(graph: DynamicGraph) -> tuple[float, float]:
    """Room of entries that rows have beyond theirs: of each on the mean, and over all entries."""
    detail = graph.memory(detail=True).detail
    assert detail is not None
    rows = sum(each.adjacencies for each in detail.classes)
    entries = sum(each.entries for each in detail.classes)
    room = sum(each.room for each in detail.classes)
    return (room - entries) / rows, (room - entries) / entries
