"""``graphtide study queries``: what is read from a graph, on each layout.

Look-ups of edges, a scan, PageRank and memory are those of ``graphtide bench layouts``, also of a
graph with a hub. Beside them triangles are counted and the adjacency matrix is multiplied by a
vector on each layout, over the time on ``runs``: the slides of cuSTINGER (004, 51 and 38) compare
theirs with a CSR so.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import click
import numpy as np

from ...gpu_core.errors import GraphtideError
from ...gpu_core.layouts import LAYOUTS
from ..bench import layouts
from ..bench.bench_options import BenchOptions
from ..bench.measuring.arm import Arm, Bench, MeasuredRow
from ..bench.measuring.report import PrintedTable
from ..bench.measuring.workloads import unpack
from .plots import draw_bars
from .published import SLIDES
from .study_options import StudyOptions

_DEFAULT = ("G1", "G3")
#: What is timed beside `bench layouts`.
_WHAT = ("triangles", "SpMV")


def study_queries(engine: str, options: StudyOptions) -> None:
    """Measure workloads, by default `_DEFAULT`, and print two tables.

    Raises
    ------
    SettingsError
        A name is of no workload, a number is out of range, or the plot cannot be drawn.
    GraphtideError
        A graph has other entries than it must have, or layouts count other triangles.
    """
    names = options.workloads or _DEFAULT
    selection = replace(options, workloads=names).selection(_DEFAULT)
    layouts.bench_layouts(BenchOptions(names, options.repeats, options.smaller, engine))
    click.echo()
    arms = {layout: Arm(engine, layout) for layout in LAYOUTS}
    arm = selection.begin("study queries", next(iter(arms.values())), clock="caller's")
    table = PrintedTable(
        ["graph", "layout"],
        ["triangles", "over runs", f"papers: {SLIDES['triangles']}", "SpMV", "over runs"],
    )
    bars: dict[str, list[float]] = {layout: [] for layout in arms}
    for bench in selection.benches(Bench, arm):
        benches = {each: replace(bench, arm=arms[each]) for each in arms}
        rows = counted(benches)
        on_runs = {what: rows["runs"].median(what, "caller") for what in _WHAT}
        for layout, row in rows.items():
            over = [f"{row.median(what, 'caller') / on_runs[what]:.2f}" for what in _WHAT]
            times = [row.caller(what) for what in _WHAT]
            table.row(bench.name, layout, times[0], over[0], "", times[1], over[1])
            bars[layout].append(row.median("triangles", "caller"))
    if options.plot is not None:
        draw_bars(options.plot, {"triangles of all vertices": bars}, names, "ms")


def counted(benches: dict[str, Bench]) -> dict[str, MeasuredRow]:
    """Time triangles and a product of an undirected graph on each layout, which must agree."""
    rows = {layout: MeasuredRow() for layout in benches}
    graphs = {}
    for layout, bench in benches.items():
        graphs[layout] = bench.arm.graph(directed=False, ids="dense")
        src, dst = unpack(bench.arm.xp, bench.keys)
        graphs[layout].apply(bench.arm.batch(1, src, dst, directed=False))
    vector = np.random.default_rng(1).random(next(iter(graphs.values())).num_vertices)
    for repeat in range(next(iter(benches.values())).repeats + 1):
        for layout, bench in benches.items():
            graph = graphs[layout]
            bench.timed(rows[layout], repeat, "triangles", partial(graph.triangles))
            bench.timed(rows[layout], repeat, "SpMV", partial(graph.spmv, vector))
    sums = {int(graph.triangles().sum()) for graph in graphs.values()}
    if len(sums) > 1:
        msg = f"layouts count different triangles: {sums}; please report this"
        raise GraphtideError(msg)
    if len({graph.spmv(vector).value.tobytes() for graph in graphs.values()}) > 1:
        msg = "layouts have different products of a matrix and a vector; please report this"
        raise GraphtideError(msg)
    return rows
