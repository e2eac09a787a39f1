"""``graphtide bench expiry``: edges that are too old leave, beside the same ones deleted by rows.

A graph of `workloads.py` is stored twice with semantic records, on each layout, without and with a
reverse adjacency; its entries have times from 0 to 99, drawn uniformly, so a hundredth of them has
each. By turns the oldest hundredth expires in one graph, and is deleted from the other by its ids,
as a user would who knew them: `DynamicGraph.delete_edges`, of ids in random order in host memory.
The first round compiles, and is not kept; before it the host engine reads all rows once. At the end
all entries of both are compared with those that must be left.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from ...gpu_core.errors import GraphtideError
from ...gpu_core.layouts import LAYOUTS
from .bench_options import BenchOptions
from .measuring.arm import Arm, Bench, MeasuredRow, check
from .measuring.clock import spread
from .measuring.report import PrintedTable
from .measuring.workloads import unpack

_DEFAULT = ("G4",)
_PARTS = 100
#: One part leaves in each round.
_MOST_REPEATS = _PARTS - 2


def bench_expiry(options: BenchOptions) -> None:
    """Measure workloads, by default `_DEFAULT`, and print a table.

    Raises
    ------
    SettingsError
        A name is of no workload, or a number is out of range.
    GraphtideError
        A graph has other entries than it must have.
    """
    options = replace(options, repeats=min(options.repeats, _MOST_REPEATS))
    selection = options.selection(_DEFAULT)
    arms = {layout: Arm(options.engine, layout) for layout in LAYOUTS}
    arm = selection.begin("bench expiry", next(iter(arms.values())), clock="caller's")
    table = PrintedTable(["graph", "layout"], ["expire", "delete by rows", "expire over delete"])
    for bench in selection.benches(Bench, arm):
        for (layout, each), reverse in product(arms.items(), (False, True)):
            row = measured(replace(bench, arm=each), reverse=reverse)
            expire, delete = ([lap.caller for lap in row.laps[what]] for what in _METHODS)
            ratios = [ours / rows for ours, rows in zip(expire, delete, strict=True)]
            name = f"{layout}, reverse" if reverse else layout
            table.row(bench.name, name, spread(expire), spread(delete), spread(ratios))


_METHODS = ("expire", "delete")


def measured(bench: Bench, *, reverse: bool) -> MeasuredRow:
    """Have parts expire in one graph and be deleted from another, by turns."""
    row, random = MeasuredRow(), np.random.default_rng(0)
    keys = bench.arm.to_host(bench.keys)
    times = random.integers(0, _PARTS, keys.size)
    src, dst = unpack(np, keys)
    graph, other = (
        bench.arm.graph(ids="dense", reverse=reverse, records="semantic") for _ in _METHODS
    )
    for each in (graph, other):
        each.insert_edges(src, dst, ts=times)
        each.expire(0)
    for repeat in range(bench.repeats + 1):
        bench.timed(row, repeat, "expire", partial(graph.expire, repeat + 1))
        gone = random.permutation(np.flatnonzero(times == repeat))
        bench.timed(row, repeat, "delete", partial(other.delete_edges, src[gone], dst[gone]))
    stays = times > bench.repeats
    for each, what in zip((graph, other), ("expiry", "deletes by rows"), strict=True):
        check(each, keys[stays], f"{bench.name}, {what}")
    if graph.expire(_PARTS).expired != np.count_nonzero(stays):
        msg = f"{bench.name}: other edges have expired than were left; please report this"
        raise GraphtideError(msg)
    return row
