"""``graphtide study triangles``: triangles on aimGraph's structure in the thesis' forms, and ours.

The thesis (000, 7.2.1, figures 7.2 and 7.3) counts them by a thread a row (*naive*), a thread a
page (*balanced*), a warp a row (*warpsized*) and a warp a page (*combined*), on rows in any order,
and on sorted ones, where a search may end early. It draws them and prints no numbers. Here rows are
sorted, and the order is used or not. Each two neighbors of a vertex cost a walk along a row, so
hubs take very long: R-MAT graphs are measured only where they are named.

Ours is ``graph.triangles`` of the layout `chain`, which counts them for every vertex. The lists of
pages stand beside the forms that need them. All forms must count as many as ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import click

from ....gpu_core.errors import GraphtideError
from ...bench.measuring.arm import Bench, MeasuredRow
from ...bench.measuring.report import PrintedTable
from ...bench.measuring.workloads import unpack
from ..plots import draw_bars
from ..study_options import StudyOptions
from .aimgraphs import aimgraph_of, begin_forms, check_gpu

_DEFAULT = ("G1", "G2", "G4")
_OURS = "chain (ours)"
#: Whether a search may end early -> what is said of the rows.
_ROWS = {False: "in any order", True: "sorted"}


def study_triangles(options: StudyOptions, *, forms: Sequence[str], page_bytes: int) -> None:
    """Measure workloads, by default `_DEFAULT`, and print a table.

    Parameters
    ----------
    forms
        Names of the thesis' forms; none: all.

    Raises
    ------
    EngineError
        There is no GPU.
    SettingsError
        A name is of no workload or form, a number is out of range, or the plot cannot be drawn.
    GraphtideError
        A form counts other triangles than ours.
    """
    selection = options.selection(_DEFAULT)
    check_gpu()
    from ....gpu_core.cuda.aimgraph.aimgraph_triangles import FORMS

    arm, forms = begin_forms(
        "study triangles", selection, forms, FORMS, page_bytes=page_bytes, clock="caller's"
    )
    click.echo("Figures 7.2 and 7.3 of the thesis (GTX 780) print no numbers.")
    table = PrintedTable(["graph", "rows"], ["triangles", *forms, _OURS, "lists of pages"])
    graphs = [f"{name}, {rows}" for name in selection.chosen for rows in _ROWS.values()]
    bars: dict[str, list[float]] = {name: [] for name in [*forms, _OURS]}
    for bench in selection.benches(Bench, arm):
        for is_sorted in _ROWS:
            row, total = measured(bench, forms, page_bytes, is_sorted=is_sorted)
            table.row(
                bench.name, _ROWS[is_sorted], f"{total:,}",
                *(row.caller(name) for name in (*bars, "lists")),
            )  # fmt: skip
            for name, taken in bars.items():
                taken.append(row.median(name, "caller"))
    if options.plot is not None:
        draw_bars(options.plot, {"all triangles": bars}, graphs, "ms")


def measured(
    bench: Bench, forms: Sequence[str], page_bytes: int, *, is_sorted: bool
) -> tuple[MeasuredRow, int]:
    """Time each form, our call, and the lists of pages.

    Returns
    -------
    row
        By the name of the form; ``chain (ours)``; ``lists``.
    total
        How many triangles there are.

    Raises
    ------
    GraphtideError
        A form counts others than ours.
    """
    from ....gpu_core.cuda.aimgraph.aimgraph_triangles import FORMS, AimGraphTriangles

    xp = bench.arm.xp
    theirs = aimgraph_of(bench, page_bytes, 0)
    vertices = xp.arange(theirs.vertices, dtype=xp.uint32)
    counts = {name: AimGraphTriangles(theirs, FORMS[name], is_sorted=is_sorted) for name in forms}
    ours = bench.arm.graph(directed=False, ids="dense", page_bytes=page_bytes)
    ours.apply(bench.arm.batch(1, *unpack(xp, bench.keys), directed=False))
    row = bench.measured({
        **{name: each.count for name, each in counts.items()},
        _OURS: ours.triangles,
        "lists": partial(theirs.work_items, vertices),
    })  # fmt: skip
    total = int(ours.triangles().sum()) // 3
    for name, each in counts.items():
        if each.total != total:
            msg = (
                f"{bench.name}, {name}: counts {each.total:,} triangles where we count {total:,}; "
                f"please report this"
            )
            raise GraphtideError(msg)
    return row, total
