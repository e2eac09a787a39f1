"""``graphtide study pagerank``: PageRank on aimGraph's structure in the thesis' forms, beside ours.

The thesis (000, 7.2.2) has a thread a vertex, which walks the row's pages (*naive*), and a thread a
page, found by a prefix sum over the pages of rows (*balanced*); of its triangles there is a warp a
page, too (*combined*, 7.2.1). All are kernels of one structure (``gpu_core/cuda/aimgraph/``), as
near to the thesis as its text says. It draws them in a figure and prints no numbers.

Ours is ``graph.pagerank`` of the layout `chain` to 1e-6, a step of it as a part of the whole call;
the CSR that it reads is made once a batch, and not in the figures. The lists of pages are beside
the forms that need them: the thesis makes them in each call. Before anything is timed, every form
makes a step from our ranks, which must not change them by more than their error bound explains.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click
import numpy as np

from ....gpu_core.errors import GraphtideError
from ....gpu_core.graph import DynamicGraph
from ...bench.measuring.arm import Bench, MeasuredRow
from ...bench.measuring.clock import spread
from ...bench.measuring.report import PrintedTable
from ...bench.measuring.workloads import unpack
from ..plots import draw_bars
from ..study_options import StudyOptions
from .aimgraphs import aimgraph_of, begin_forms, check_gpu

if TYPE_CHECKING:
    from ....gpu_core.cuda.aimgraph.aimgraph_pagerank import AimGraphPageRank

_DEFAULT = ("G1", "G2", "G3", "G4")
#: Steps of a form that are timed together.
_STEPS = 20
_TOLERANCE = 1e-6
_OURS = "chain (ours)"
#: What rounding may change the ranks by, all of them together (L1).
_ROUNDING = 1e-10


def study_pagerank(options: StudyOptions, *, forms: Sequence[str], page_bytes: int) -> None:
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
        A form has other ranks than ours.
    """
    selection = options.selection(_DEFAULT)
    check_gpu()
    from ....gpu_core.cuda.aimgraph.aimgraph_pagerank import FORMS

    arm, forms = begin_forms("study pagerank", selection, forms, FORMS, page_bytes=page_bytes)
    click.echo(
        "Figure 7.4 of the thesis (GTX 780) prints no numbers; its lists of pages take 0.5 to 3.0 "
        "(figure 7.1)."
    )
    table = PrintedTable(
        ["graph", "pages a vertex"], [*forms, _OURS, "its steps", "lists of pages"]
    )
    bars: dict[str, list[float]] = {name: [] for name in [*forms, _OURS]}
    for bench in selection.benches(Bench, arm):
        row, steps, pages = measured(bench, forms, page_bytes)
        each = {name: [lap.device / _STEPS for lap in row.laps[name]] for name in forms}
        each[_OURS] = [lap.device / steps for lap in row.laps[_OURS]]
        figures = [spread(laps) for laps in each.values()]
        table.row(
            bench.name, f"{pages / (1 << bench.scale):.1f}", *figures, steps, row.device("lists")
        )
        for name, laps in each.items():
            bars[name].append(statistics.median(laps))
    if options.plot is not None:
        draw_bars(options.plot, {"PageRank": bars}, selection.chosen, "ms a step")


def measured(bench: Bench, forms: Sequence[str], page_bytes: int) -> tuple[MeasuredRow, int, int]:
    """Time `_STEPS` steps of each form, our call, and the lists of pages.

    Returns
    -------
    row
        By the name of the form; ``chain (ours)``; ``lists``.
    steps, pages
        Steps that our call makes, and pages that aimGraph's rows have.

    Raises
    ------
    GraphtideError
        A form has other ranks than ours.
    """
    from ....gpu_core.cuda.aimgraph.aimgraph_pagerank import FORMS, AimGraphPageRank

    xp = bench.arm.xp
    theirs = aimgraph_of(bench, page_bytes, 0)
    vertices = xp.arange(theirs.vertices, dtype=xp.uint32)
    ranks = {name: AimGraphPageRank(theirs, FORMS[name]) for name in forms}
    ours = bench.arm.graph(directed=False, ids="dense", page_bytes=page_bytes)
    ours.apply(bench.arm.batch(1, *unpack(xp, bench.keys), directed=False))
    for name, each in ranks.items():
        _check(bench, ours, each, name)
    call = partial(ours.pagerank, tol=_TOLERANCE)
    row = bench.measured({
        **{name: partial(each.step, _STEPS) for name, each in ranks.items()},
        _OURS: call,
        "lists": partial(theirs.work_items, vertices),
    })  # fmt: skip
    return row, call().iterations, int(theirs.work_items(vertices).pages.size)


def _check(bench: Bench, ours: DynamicGraph, theirs: AimGraphPageRank, name: str) -> None:
    """Make a step from our ranks, which are a fixed point but for their error."""
    found, arm = ours.pagerank(tol=_TOLERANCE), bench.arm
    expected = np.ones(1 << bench.scale)
    expected[found.vertices] = found.pagerank * found.vertices.size
    theirs.ranks[:] = arm.device.to_device(expected)
    theirs.step()
    changed = np.abs(arm.to_host(theirs.ranks) - expected)[found.vertices].mean()
    if not changed <= 2 * found.error_bound + _ROUNDING:
        msg = (
            f"{bench.name}, {name}: a step changes our ranks by {changed:.3g} in all, which are "
            f"within {found.error_bound:.3g} of the solution; please report this"
        )
        raise GraphtideError(msg)
