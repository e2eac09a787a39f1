"""``graphtide bench layouts``: what a graph costs on runs, chains and trees, each exact at the end.

A graph of `workloads.py` is stored once a layout, as for ``graphtide bench updates``, and once more
with a *hub* that has three quarters of all vertices as neighbors. Layouts take turns:

* *insert*, *delete*: a hundredth of the entries, new and uniform; of the graph with a hub, a
  sixteenth of the hub's degree, all of the hub;
* *scan*: a vertex is deleted that no edge names, so that all entries are looked at where they lie;
* *queries*: 2^13 pairs, half of them edges; of the graph with a hub, all of the hub;
* *PageRank*: a call as a user makes it, to L1 1e-6, after a batch;
* *memory*: bytes of the graph over those of its CSR.

The first round compiles, and is not kept. At the end all entries of each graph are compared with
those that it must have.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ...gpu_core.layouts import LAYOUTS
from .bench_options import BenchOptions
from .measuring import draws
from .measuring.arm import Arm, Bench, MeasuredRow
from .measuring.report import PrintedTable
from .measuring.workloads import Keys, unpack
from .updates import csr_bytes

_SHARE = 100
_QUERIES = 1 << 13
_DEFAULT = ("G4",)
_FIGURES = ("insert", "delete", "scan", "queries", "PageRank")


def compare(
    benches: dict[str, Bench],
    draw: Callable[[int], Keys],
    asked: Keys,
    page_bytes: int | None = None,
) -> dict[str, MeasuredRow]:
    """Measure each layout, alternately.

    Parameters
    ----------
    benches
        The same workload on each layout.
    draw
        Entries that the workload has not, by the number of the round.
    asked
        Pairs that are looked up.
    page_bytes
        Size of a page, of layouts of pages; `None`: what suits each.
    """
    graphs = {
        name: bench.graph(page_bytes=page_bytes if LAYOUTS[name].is_paged else None)
        for name, bench in benches.items()
    }
    rows = {name: MeasuredRow() for name in benches}
    for name, bench in benches.items():
        rows[name].label = f"{graphs[name].memory().graph_bytes / csr_bytes(bench.keys):.2f}"
    names = list(benches)
    for repeat in range(next(iter(benches.values())).repeats + 1):
        drawn = draw(repeat)
        for name in names if repeat % 2 else names[::-1]:
            bench, graph, row = benches[name], graphs[name], rows[name]
            put, delete = (bench.batch(graph, op, drawn) for op in (1, -1))
            bench.timed(row, repeat, "insert", partial(graph.apply, put))
            bench.timed(row, repeat, "PageRank", partial(graph.pagerank, tol=1e-6))
            bench.timed(row, repeat, "delete", partial(graph.apply, delete))
            pairs: tuple[Any, ...] = tuple(map(bench.arm.to_host, unpack(bench.arm.xp, asked)))
            bench.timed(row, repeat, "queries", partial(graph.has_edges, *pairs))
            lonely = [1 << bench.scale]
            graph.insert_vertices(lonely)
            bench.timed(row, repeat, "scan", partial(graph.delete_vertices, lonely))
    for name, bench in benches.items():
        bench.check(graphs[name], None, name)
    return rows


def bench_layouts(options: BenchOptions, *, page_bytes: int | None = None) -> None:
    """Compare all layouts on workloads, by default `_DEFAULT`, and print a table.

    Raises
    ------
    SettingsError
        A name is of no workload, or the sizes would vanish.
    GraphtideError
        A graph has other entries than it must have.
    """
    selection = options.selection(_DEFAULT)
    arms = {layout: Arm(options.engine, layout) for layout in LAYOUTS}
    own = [f"--page-bytes {page_bytes}"] if page_bytes else []
    arm = selection.begin("bench layouts", next(iter(arms.values())), *own)
    table = PrintedTable(["graph", "layout"], [*_FIGURES, "memory over CSR"])
    xp = arm.xp
    for bench in selection.benches(Bench, arm):
        name, plain, scale = bench.name, bench.keys, bench.scale
        neighbors = (1 << scale) * 3 // 4
        hub = draws.hub_keys(xp, plain, scale, neighbors, 7)
        for what, keys in (name, plain), (f"{name}, a hub", xp.concatenate([plain, hub])):
            keys = xp.sort(keys)
            benches = {each: Bench(arms[each], what, keys, scale, bench.repeats) for each in arms}
            if what == name:
                draw = partial(benches["runs"].fresh, max(keys.size // _SHARE, 1))
                known = keys
            else:
                draw = partial(draws.hub_keys, xp, keys, scale, max(neighbors // 16, 1))
                known = hub
            half = min(_QUERIES >> 1, known.size)
            others = draw(bench.repeats + 1)[:half]
            asked = xp.concatenate([draws.some_keys(xp, known, half, 3), others])
            for layout, row in compare(benches, draw, asked, page_bytes).items():
                table.row(what, layout, *map(row.device, _FIGURES), row.label)
