"""``graphtide study distributions``: aimGraph's ways to share out a batch, beside our `chain`.

The thesis (000) has a thread or a warp an update (3.4, 3.5), inserts and deletes in one launch or
in two (4.2, 6.5), and one thread a page, found by a prefix sum over the pages of rows (7.1). Here
are also threads, lanes, warps and blocks that each have a row of the batch. All are kernels of one
structure (``gpu_core/cuda/aimgraph/``), as near to the thesis as its text says; it prints figures
of the best of them alone. Deletes compact the row, or mark the entry, as is asked for (3.5); what
becomes of pages either way is a table of its own (``aimgraphs.py``).

Batches lie on the device, sorted by source for aimGraph and converted for `chain`; neither is in
the figures, a distribution's prefix sums and lists of pages are. Edges are drawn as in ``study
updates``. Distributions take turns, the first round is not kept, and at the end all edges of each
graph are compared with those that it must have.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

import click

from ....gpu_core.errors import SettingsError
from ...bench.measuring import draws
from ...bench.measuring.arm import PLAIN, Arm, Bench, MeasuredRow
from ...bench.measuring.clock import spread
from ...bench.measuring.report import PrintedTable
from ...bench.measuring.workloads import Keys, unpack
from ..plots import draw
from ..published import thesis_rates
from ..study_options import StudyOptions
from .aimgraphs import PageTable, aimgraph_of, check_edges, check_gpu, pages_of_inserts

_DEFAULT = ("G1", "G2", "G3")
#: Edges of the batches; of those larger than a quarter of the graph none is taken.
_SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
#: What is done with a batch, and how many updates an edge is worth: *both* has as many deletes.
_WHAT = {"insert": 1, "delete": 1, "both, one launch": 2, "both, two": 2}
_OURS = "chain (ours)"


def study_distributions(
    options: StudyOptions, *, page_bytes: int, chosen: Sequence[str], compacts: bool
) -> None:
    """Measure workloads, by default `_DEFAULT`, and print tables.

    Parameters
    ----------
    chosen
        Names of distributions; none: all.
    compacts
        Whether deletes compact rows.

    Raises
    ------
    EngineError
        There is no GPU.
    SettingsError
        A name is of no workload or distribution, a number is out of range, or the plot cannot be
        drawn.
    GraphtideError
        A graph has other edges than it must have.
    """
    selection = options.selection(_DEFAULT)
    check_gpu()
    from ....gpu_core.cuda.aimgraph.aimgraph import DISTRIBUTIONS

    for name in set(chosen) - DISTRIBUTIONS.keys():
        msg = f"distribution {name!r} is unknown; use one of {', '.join(DISTRIBUTIONS)}"
        raise SettingsError(msg)
    words = [f"--page-bytes {page_bytes}", *([] if compacts else ["--no-compaction"])]
    words += [f'--distribution "{name}"' for name in chosen]
    chosen = [name for name in DISTRIBUTIONS if name in chosen] or list(DISTRIBUTIONS)
    arm = Arm("cuda", "chain")
    arm.graph(**PLAIN, page_bytes=page_bytes)  # which refuses what is no size of a page
    selection.begin("study distributions", arm, *words)
    click.echo(
        f"Here they are given as millions of updates in a second; deletes "
        f"{'compact the row (algorithm 3)' if compacts else 'leave marks (algorithm 2)'}."
    )
    table = PrintedTable(
        ["graph", "what", "updates"],
        [*chosen, _OURS, "thesis: best of its own (graph, device)"],
    )
    panels, listed = {}, []
    for bench in selection.benches(Bench, arm):
        sizes = [size for size in _SIZES if 4 * size <= bench.keys.size]
        lines: dict[str, list[float]] = {name: [] for name in [*chosen, _OURS]}
        for size in sizes:
            rows = measured(bench, size, page_bytes, chosen, compacts=compacts)
            _print_rates(table, bench.name, size, rows)
            for name, row in rows.items():
                lines[name].append(statistics.median(_rates(row, "insert", size)))
        panels[bench.name] = {name: (sizes, rates) for name, rates in lines.items()}
        listed.append(_listed(bench, page_bytes))
    click.echo(
        "\nMilliseconds to list the pages of all rows, as one thread a page needs them; the "
        "thesis: 0.5 to 3.0 (figure 7.1, GTX 780)."
    )
    for line in listed:
        click.echo(line)
    click.echo(f"\nPages of {page_bytes} bytes that rows have:")
    pages = PageTable()
    for bench in selection.benches(Bench, arm):
        pages.add(bench, page_bytes)
    if options.plot is not None:
        draw(options.plot, panels, "edges of a batch", "M inserts/s", logarithmic=True)


def _print_rates(
    table: PrintedTable, graph: str, size: int, rows: Mapping[str, MeasuredRow]
) -> None:
    """Print what was measured of batches of ``size`` edges, a line for each thing done."""
    for what, updates in _WHAT.items():
        count = size * updates
        rates = [spread(_rates(row, what, count)) for row in rows.values()]
        table.row(graph, what, f"{count:,}", *rates, thesis_rates(graph, what, count))


def measured(
    bench: Bench, size: int, page_bytes: int, chosen: Sequence[str], *, compacts: bool
) -> dict[str, MeasuredRow]:
    """Time batches of ``size`` edges in the distributions chosen, and those of `chain`.

    A round inserts edges, deletes them while it inserts others in one launch, does the reverse in
    two, and deletes them.

    Raises
    ------
    GraphtideError
        A graph has other edges than it must have.
    """
    from ....gpu_core.cuda.aimgraph.aimgraph import DISTRIBUTIONS, SortedUpdates

    xp = bench.arm.xp
    drawn = bench.fresh(size * (bench.repeats + 2), 0)
    parts = draws.shuffled(xp, drawn, 1).reshape(-1, size)
    nothing = parts[0][:0]
    # Where pages are not given back, each round may take some of its own.
    room = 3 * size if compacts else pages_of_inserts(bench, page_bytes, 2 * size * len(parts))
    graphs = {name: aimgraph_of(bench, page_bytes, room, compacts=compacts) for name in chosen}
    ours = bench.graph(page_bytes=page_bytes)
    rows = {name: MeasuredRow() for name in [*graphs, _OURS]}

    def timed(name: str, repeat: int, apply: Callable[[Keys, Keys], Callable[[], object]]) -> None:
        """One round; `apply` makes a call of the edges that are inserted and those deleted."""
        old, new = parts[repeat], parts[repeat + 1]
        swap, remove, restore = apply(new, old), apply(nothing, new), apply(old, nothing)

        def in_two() -> None:
            remove()
            restore()

        row = rows[name]
        bench.timed(row, repeat, "insert", apply(old, nothing))
        bench.timed(row, repeat, "both, one launch", swap)
        bench.timed(row, repeat, "both, two", in_two)
        bench.timed(row, repeat, "delete", apply(nothing, old))

    def of_aimgraph(name: str) -> Callable[[Keys, Keys], Callable[[], object]]:
        def apply(inserted: Keys, deleted: Keys) -> Callable[[], object]:
            batch = SortedUpdates.of(xp, inserted, deleted)
            return lambda: graphs[name].update(batch, DISTRIBUTIONS[name])

        return apply

    def of_ours(inserted: Keys, deleted: Keys) -> Callable[[], object]:
        ops = xp.concatenate([xp.ones(inserted.size, xp.int8), xp.full(deleted.size, -1, xp.int8)])
        batch = bench.arm.batch(ops, *unpack(xp, xp.concatenate([inserted, deleted])))
        return lambda: ours.apply(batch)

    calls = {**{name: of_aimgraph(name) for name in graphs}, _OURS: of_ours}
    for repeat in range(bench.repeats + 1):
        for name, apply in calls.items():
            timed(name, repeat, apply)
    for name, graph in graphs.items():
        # A round leaves the graph as it was, as one that does nothing would.
        calls[name](parts[-1], nothing)()
        there = xp.concatenate([bench.keys, parts[-1]])
        check_edges(bench, graph, there, f"{name}, {size:,} edges")
    of_ours(parts[-1], nothing)()
    bench.check(ours, parts[-1], f"chain, {size:,} edges")
    return rows


def _listed(bench: Bench, page_bytes: int) -> str:
    """Time the work items of all pages of a graph (7.1), and say how many there are."""
    graph = aimgraph_of(bench, page_bytes, 0)
    rows = bench.arm.xp.arange(1 << bench.scale, dtype=bench.arm.xp.uint32)
    pages = graph.work_items(rows).pages.size
    row = bench.measured({"list": lambda: graph.work_items(rows)})
    return f"{bench.name}: {pages:,} pages in {row.device('list')}."


def _rates(row: MeasuredRow, what: str, updates: int) -> list[float]:
    """Millions of updates in a second, of each round."""
    return [updates / lap.device / 1e3 for lap in row.laps[what]]
