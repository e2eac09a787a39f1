"""``graphtide bench analytics``: PageRank, triangles and BFS, beside other packages.

Each call is timed as a user makes it. Ranks and distances stay where the engine made them until
they are read, as cuGraph's do; triangles come to host memory. A search begins at the
vertex of largest degree, in the grid at its center. A product is one ``P^T x`` in float32 of the
same entries as a CSR, of cupyx (SciPy on the host engine) and of torch where it is installed: the
least that an iteration of PageRank takes with a library. A second table has results after a
batch (`refresh.py`), a third cuGraph, where it is installed.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import click
import numpy as np

from ....gpu_core.algorithms.traversal.bfs import UNREACHED
from ....gpu_core.errors import GraphtideError
from ....gpu_core.graph import DynamicGraph
from ..bench_options import BenchOptions
from ..measuring.arm import Arm, Bench, MeasuredRow
from ..measuring.clock import spread
from ..measuring.cugraph import CuGraph, has_cugraph
from ..measuring.peers import sparse_products
from ..measuring.report import PrintedTable
from ..measuring.workloads import unpack
from .refresh import TOLERANCE, Refresh

NAMES = ("G1", "G1s", "G2", "G3", "G4")

_FIGURES = [
    "PageRank", "steps", "a step", "product", "torch", "triangles", "of them", "BFS", "levels",
]  # fmt: skip


def _print_calls(table: PrintedTable, bench: Bench) -> None:
    xp = bench.arm.xp
    src, dst = unpack(xp, bench.keys)
    graph = bench.arm.graph(directed=False, ids="dense")
    once = src < dst
    graph.apply(bench.arm.batch(1, src[once], dst[once], directed=False))
    calls: dict[str, Callable[[], Any]] = {
        "PageRank": partial(graph.pagerank, tol=TOLERANCE),
        **sparse_products(xp, bench.keys, bench.scale),
        "triangles": graph.triangles,
        "BFS": partial(graph.bfs, source := _source(bench, graph)),
    }
    row = bench.measured(calls)
    steps = graph.pagerank(tol=TOLERANCE).iterations
    a_step = spread([lap.device / steps for lap in row.laps["PageRank"]])
    triangles = int(np.sum(graph.triangles())) // 3
    search = graph.bfs(source)
    distance = xp.full(1 << bench.scale, UNREACHED, xp.int32)
    distance[xp.asarray(search.vertices)] = xp.asarray(search.distance)
    _check_distances(xp, distance, src, dst, source)
    figures = [row.device(what) for what in ("sparse", "torch", "triangles")]
    table.row(
        bench.name, row.device("PageRank"), steps, a_step, *figures, f"{triangles:,}",
        row.device("BFS"), f"{search.depth + 1:,}",
    )  # fmt: skip


def _source(bench: Bench, graph: DynamicGraph) -> int:
    """The vertex of largest degree; of the grid, where nearly all have 4 neighbors, its center."""
    if bench.name == "G2":
        side = 1 << bench.scale // 2
        return side // 2 * (side + 1)
    return int(graph.vertices()[np.argmax(graph.degrees())])


def _check_distances(xp: Any, distance: Any, src: Any, dst: Any, source: int) -> None:
    """Refuse distances by id that are not those of a search over entries both ways.

    Those are the only ones with 0 for the source alone, a step of 1 at most along every edge, and a
    neighbor one step nearer for every other vertex that is reached.
    """
    apart = distance[dst] - distance[src]
    has_parent = xp.zeros(distance.size, bool)
    has_parent[dst[(apart == 1) & (distance[src] >= 0)]] = True
    has_parent[source] = distance[source] == 0
    is_whole = bool((abs(apart) <= 1).all() & ((distance[src] < 0) == (distance[dst] < 0)).all())
    if not is_whole or not bool((has_parent == (distance >= 0)).all()):
        msg = "distances of the breadth-first search are not those of shortest paths"
        raise GraphtideError(msg)


def _print_refreshed(table: PrintedTable, bench: Refresh) -> None:
    for row, steps in bench.rows():
        local = [row.device(what) for what in ("clustering", "looked at")]
        table.row(bench.name, row.label, row.device("PageRank"), *steps, *local)


def _print_cugraph(table: PrintedTable, bench: Bench) -> None:
    peer, row = CuGraph(bench.arm.xp, bench.keys), MeasuredRow()
    for repeat in range(bench.repeats + 1):
        for what, is_transposed in (("PageRank", True), ("triangles", False)):
            bench.timed(row, repeat, "build", partial(peer.graph, is_transposed=is_transposed))
            graph = peer.graph(is_transposed=is_transposed)
            call = partial(peer.pagerank, tolerance=TOLERANCE) if is_transposed else peer.triangles
            bench.timed(row, repeat, what, partial(call, graph))
    table.row(bench.name, *(row.device(what) for what in ("build", "PageRank", "triangles")))


def bench_analytics(options: BenchOptions) -> None:
    """Measure workloads, by default `NAMES`, and print the tables.

    Raises
    ------
    SettingsError
        A name is of no workload, or the sizes would vanish.
    GraphtideError
        A result is not what it must be.
    """
    selection = options.selection(NAMES)
    arm = selection.begin("bench analytics", Arm(options.engine))
    table = PrintedTable(["graph"], _FIGURES)
    for bench in selection.benches(Refresh, arm):
        _print_calls(table, bench)
    click.echo(f"\nA batch of new edges and the results after it, PageRank to L1 {TOLERANCE}:")
    figures = ["insert, PageRank", "steps", "from nothing", "insert, clustering", "looked at"]
    table = PrintedTable(["graph", "edges"], figures)
    for bench in selection.benches(Refresh, arm):
        _print_refreshed(table, bench)
    if arm.engine == "cuda" and has_cugraph():
        click.echo("\ncuGraph, which rebuilds the graph for each batch:")
        table = PrintedTable(["graph"], ["build", "PageRank", "triangles"])
        for bench in selection.benches(Refresh, arm):
            _print_cugraph(table, bench)
