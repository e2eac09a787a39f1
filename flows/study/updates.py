"""``graphtide study updates``: batches of inserts and deletes by size, on each layout.

As the papers do: random entries that the graph has not are inserted, then deleted again, many
times (thesis 000, chapter 6; GraphVine 001, tables 3 and 4; slides 004, 37). Initialization is all
entries of the graph as one batch. Graphs are those of ``graphtide bench``, of the same families as
the papers'; layouts take turns, the first round is not kept, and at the end all entries of each
graph are compared with those that it must have.

Of the largest size that is taken, *both* is one batch that inserts so many entries and deletes as
many others (thesis, 6.5: concurrent updates). *Vertices* are deleted with all their edges, of a
graph with a reverse adjacency and of an undirected one, then inserted again without (thesis, 6.6
and 6.7).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import click

from ...gpu_core.errors import GraphtideError
from ...gpu_core.layouts import LAYOUTS
from ..bench.measuring import draws
from ..bench.measuring.arm import PLAIN, Arm, Bench, MeasuredRow
from ..bench.measuring.report import PrintedTable
from ..bench.measuring.workloads import Keys, unpack
from .plots import draw
from .published import beside
from .study_options import StudyOptions

_DEFAULT = ("G1", "G2", "G3")
#: Entries of the batches; of those larger than a quarter of the graph none is taken.
_SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
#: Vertices; of those beyond an eighth of the graph none are taken.
_VERTICES = (1_000, 10_000, 100_000)


def study_updates(engine: str, options: StudyOptions) -> None:
    """Measure workloads, by default `_DEFAULT`, and print a table.

    Raises
    ------
    SettingsError
        A name is of no workload, a number is out of range, or the plot cannot be drawn.
    GraphtideError
        A graph has other entries than it must have.
    """
    selection = options.selection(_DEFAULT)
    arms = {layout: Arm(engine, layout) for layout in LAYOUTS}
    arm = selection.begin("study updates", next(iter(arms.values())))
    click.echo(
        "Papers' figures are of graphs of the same families and of other sizes, on other devices."
    )
    table = PrintedTable(
        ["graph", "what", "entries"], [*arms, "M/s, runs", "papers: ms (graph, device)"]
    )
    panels = {}
    for bench in selection.benches(Bench, arm):
        name, keys, scale = bench.name, bench.keys, bench.scale
        benches = {each: replace(bench, arm=arms[each]) for each in arms}
        _print(table, name, "init", keys.size, initialized(benches))
        rates: dict[str, list[float]] = {layout: [] for layout in arms}
        sizes = [size for size in _SIZES if 4 * size <= keys.size]
        for size in sizes:
            rows = updated(benches, size)
            for what in ("insert", "delete"):
                _print(table, name, what, size, rows)
            for layout, row in rows.items():
                rates[layout].append(_rate(row, "insert", size))
        if sizes:
            _print(table, name, "both", 2 * sizes[-1], mixed(benches, sizes[-1]))
        for count in (size for size in _VERTICES if 8 * size <= 1 << scale):
            for directed in (True, False):
                rows = of_vertices(benches, count, directed=directed)
                for what in next(iter(rows.values())).laps:
                    _print(table, name, what, count, rows)
        panels[name] = {layout: (sizes, rates[layout]) for layout in arms}
    if options.plot is not None:
        draw(options.plot, panels, "entries of a batch", "M inserts/s", logarithmic=True)


def initialized(benches: dict[str, Bench]) -> dict[str, MeasuredRow]:
    """Time an empty graph that takes all entries as one batch, on each layout."""
    rows = {layout: MeasuredRow() for layout in benches}
    for repeat in range(_one_of(benches).repeats + 1):
        for layout, bench in benches.items():
            graph = bench.arm.graph(**PLAIN)
            batch = bench.batch(graph, 1, bench.keys)
            bench.timed(rows[layout], repeat, "init", partial(graph.apply, batch))
    return rows


def updated(benches: dict[str, Bench], size: int) -> dict[str, MeasuredRow]:
    """Time batches of ``size`` entries, inserted and deleted again, on each layout."""
    rows = {layout: MeasuredRow() for layout in benches}
    graphs = {layout: bench.graph() for layout, bench in benches.items()}
    for repeat in range(_one_of(benches).repeats + 1):
        drawn = _one_of(benches).fresh(size, repeat)
        for layout, bench in benches.items():
            graph = graphs[layout]
            put, delete = (bench.batch(graph, op, drawn) for op in (1, -1))
            bench.timed(rows[layout], repeat, "insert", partial(graph.apply, put))
            bench.timed(rows[layout], repeat, "delete", partial(graph.apply, delete))
    for layout, bench in benches.items():
        bench.check(graphs[layout], None, f"{layout}, {size:,} entries")
    return rows


def mixed(benches: dict[str, Bench], size: int) -> dict[str, MeasuredRow]:
    """Time batches that insert ``size`` entries, and delete those of the batch before."""
    rows = {layout: MeasuredRow() for layout in benches}
    graphs = {layout: bench.graph() for layout, bench in benches.items()}
    bench = _one_of(benches)
    xp, drawn = bench.arm.xp, bench.fresh(size * (bench.repeats + 2), 0)
    # No entry is drawn twice, so each batch finds what it deletes and does not find the others.
    parts = draws.shuffled(xp, drawn, 1).reshape(-1, size)
    for layout, each in benches.items():
        graphs[layout].apply(each.batch(graphs[layout], 1, parts[0]))
    ops = xp.concatenate([xp.full(size, -1, xp.int8), xp.ones(size, xp.int8)])
    for repeat in range(bench.repeats + 1):
        pairs = unpack(xp, xp.concatenate([parts[repeat], parts[repeat + 1]]))
        for layout, each in benches.items():
            batch = each.arm.batch(ops, *pairs)
            each.timed(rows[layout], repeat, "both", partial(graphs[layout].apply, batch))
    for layout, each in benches.items():
        each.check(graphs[layout], parts[bench.repeats + 1], f"{layout}, both")
    return rows


def of_vertices(benches: dict[str, Bench], count: int, *, directed: bool) -> dict[str, MeasuredRow]:
    """Time the deletion of ``count`` vertices with their edges, and their insertion without."""
    rows = {layout: MeasuredRow() for layout in benches}
    kind = {"directed": directed, "ids": "dense"}
    graphs = {layout: bench.arm.graph(**kind) for layout, bench in benches.items()}
    of = "" if directed else ", undirected"

    def insert(layout: str, keys: Keys) -> None:
        arm = benches[layout].arm
        graphs[layout].apply(arm.batch(1, *unpack(arm.xp, keys), directed=directed))

    for layout, bench in benches.items():
        insert(layout, bench.keys)
    before = next(iter(graphs.values())).state_hash()
    for repeat in range(_one_of(benches).repeats + 1):
        for layout, bench in benches.items():
            xp, graph, row = bench.arm.xp, graphs[layout], rows[layout]
            src, dst = unpack(xp, bench.keys)
            gone = draws.shuffled(xp, xp.unique(src), repeat)[:count]
            lost = bench.keys[xp.isin(src, gone) | xp.isin(dst, gone)]
            ids = bench.arm.to_host(gone)
            bench.timed(row, repeat, f"delete vertices{of}", partial(graph.delete_vertices, ids))
            bench.timed(row, repeat, f"insert vertices{of}", partial(graph.insert_vertices, ids))
            insert(layout, lost)
    for layout, graph in graphs.items():
        if graph.state_hash() != before:
            name = _one_of(benches).name
            msg = f"{name}, {layout}, vertices: the graph has other edges; please report this"
            raise GraphtideError(msg)
    return rows


def _one_of(benches: dict[str, Bench]) -> Bench:
    """One of them, for what they have in common: the workload, and how often it is measured."""
    return next(iter(benches.values()))


def _print(
    table: PrintedTable, name: str, what: str, size: int, rows: dict[str, MeasuredRow]
) -> None:
    times = (row.device(what) for row in rows.values())
    rate = f"{_rate(rows['runs'], what, size):.1f}"
    table.row(name, what, f"{size:,}", *times, rate, beside(name, what, size))


def _rate(row: MeasuredRow, what: str, size: int) -> float:
    """Millions of entries in a second, by the median."""
    return size / row.median(what) / 1e3
