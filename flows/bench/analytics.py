"""``graphtide bench analytics``: PageRank and triangles on the workloads, beside other packages.

Each call is timed as a user makes it. Ranks stay where the engine made them until somebody looks at
them, as cuGraph's do; triangles come to host memory. A product is one ``P^T x`` in float32 of the
same entries as a CSR, of cupyx (SciPy on the host engine) and of torch where it is installed: the
least that an iteration of PageRank takes with a library. A second table tells of results after a
batch (`refresh.py`), a third of cuGraph, where it is installed.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import click
import numpy as np

from .arm import Arm, Bench, Row, check_arguments
from .clock import spread
from .peers import CuGraph, has_cugraph, sparse_products
from .refresh import TOLERANCE, Refresh
from .report import Table, print_conditions
from .workloads import WORKLOADS, unpack

NAMES = ("G1", "G1s", "G2", "G3", "G4")

_FIGURES = ["PageRank", "steps", "a step", "product", "torch", "triangles", "of them"]


def _print_calls(table: Table, bench: Bench) -> None:
    xp = bench.arm.xp
    src, dst = unpack(xp, bench.keys)
    graph = bench.arm.graph(directed=False, ids="dense")
    once = src < dst
    graph.apply(bench.arm.batch(1, src[once], dst[once], directed=False))
    row = Row(bench.name, "")
    calls: dict[str, Callable[[], Any]] = {
        "PageRank": partial(graph.pagerank, tol=TOLERANCE),
        **sparse_products(xp, bench.keys, bench.scale),
        "triangles": graph.triangles,
    }
    for repeat in range(bench.repeats + 1):
        for what, call in calls.items():
            bench.timed(row, repeat, what, call)
    steps = graph.pagerank(tol=TOLERANCE).iterations
    a_step = spread([lap.device / steps for lap in row.laps["PageRank"]])
    triangles = int(np.sum(graph.triangles())) // 3
    figures = [row.device(what) for what in ("sparse", "torch", "triangles")]
    table.row(bench.name, row.device("PageRank"), steps, a_step, *figures, f"{triangles:,}")


def _print_refreshed(table: Table, bench: Refresh) -> None:
    for row, steps in bench.rows():
        local = [row.device(what) for what in ("clustering", "looked at")]
        table.row(bench.name, row.batch, row.device("PageRank"), *steps, *local)


def _print_cugraph(table: Table, bench: Bench) -> None:
    peer, row = CuGraph(bench.arm.xp, bench.keys), Row(bench.name, "")
    for repeat in range(bench.repeats + 1):
        for what, is_transposed in (("PageRank", True), ("triangles", False)):
            bench.timed(row, repeat, "build", partial(peer.graph, is_transposed=is_transposed))
            graph = peer.graph(is_transposed=is_transposed)
            call = partial(peer.pagerank, tolerance=TOLERANCE) if is_transposed else peer.triangles
            bench.timed(row, repeat, what, partial(call, graph))
    table.row(bench.name, *(row.device(what) for what in ("build", "PageRank", "triangles")))


def bench_analytics(engine: str, names: Sequence[str], *, repeats: int, smaller: int) -> None:
    """Measure the workloads of these names (none: `NAMES`) and print the tables.

    Raises
    ------
    SettingsError
        A name is of no workload, or the sizes would vanish.
    GraphtideError
        A result is not what it must be.
    """
    check_arguments(names, WORKLOADS, repeats=repeats, smaller=smaller)
    arm = Arm(engine)
    command = f"graphtide bench analytics {' '.join(names)}".rstrip()
    print_conditions(arm, command, repeats, smaller)

    def benches() -> Iterator[Refresh]:
        for name in names or NAMES:
            keys = WORKLOADS[name].keys(arm.xp, smaller=smaller)
            yield Refresh(arm, name, keys, WORKLOADS[name].scale - smaller, repeats)

    table = Table(["graph"], _FIGURES)
    for bench in benches():
        _print_calls(table, bench)
    click.echo(f"\nA batch of new edges and the results after it, PageRank to L1 {TOLERANCE}:")
    figures = ["insert, PageRank", "steps", "from nothing", "insert, clustering", "looked at"]
    table = Table(["graph", "edges"], figures)
    for bench in benches():
        _print_refreshed(table, bench)
    if arm.engine == "cuda" and has_cugraph():
        click.echo("\ncuGraph, which builds the graph anew for each batch:")
        table = Table(["graph"], ["build", "PageRank", "triangles"])
        for bench in benches():
            _print_cugraph(table, bench)
