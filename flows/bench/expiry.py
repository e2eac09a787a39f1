"""``graphtide bench expiry``: edges that are too old leave, beside the same number deleted by rows.

A graph of `workloads.py` is stored with semantic records on each layout; its entries have times
from 0 to 99, drawn uniformly, so a hundredth of them has each. By turns one hundredth expires, and
the next is deleted, as a user who knows these entries would: `DynamicGraph.delete_edges`, of ids in
random order in host memory. The first round compiles, and is not kept; before it the host engine
reads all rows once. At the end all entries are compared with those that must be left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...gpu_core.errors import GraphtideError
from ...gpu_core.layouts import LAYOUTS
from .measuring.arm import Arm, Bench, Row, check
from .measuring.clock import spread
from .measuring.report import Table
from .measuring.selection import Selection
from .measuring.workloads import unpack

_DEFAULT = ("G4",)
_PARTS = 100
#: Two parts leave in each round.
_MOST_REPEATS = _PARTS // 2 - 2


def bench_expiry(engine: str, names: Sequence[str], *, repeats: int, smaller: int) -> None:
    """Measure the workloads of these names (none: `_DEFAULT`), and print a table.

    Raises
    ------
    SettingsError
        A name is of no workload, or a number is out of range.
    GraphtideError
        A graph has other entries than it must have.
    """
    repeats = min(repeats, _MOST_REPEATS)
    selection = Selection(names, _DEFAULT, repeats, smaller)
    arms = {layout: Arm(engine, layout) for layout in LAYOUTS}
    arm = selection.begin("bench expiry", next(iter(arms.values())), clock="caller's")
    table = Table(["graph", "layout"], ["expire", "delete by rows", "expire over delete"])
    for bench in selection.benches(Bench, arm):
        for layout, each in arms.items():
            row = measured(replace(bench, arm=each))
            expire, delete = ([lap.caller for lap in row.laps[what]] for what in _WAYS)
            ratios = [ours / rows for ours, rows in zip(expire, delete, strict=True)]
            table.row(bench.name, layout, spread(expire), spread(delete), spread(ratios))


_WAYS = ("expire", "delete")


def measured(bench: Bench) -> Row:
    """Have parts of a graph expire and be deleted, by turns."""
    row, random = Row(bench.name, "expiry"), np.random.default_rng(0)
    keys = bench.arm.to_host(bench.keys)
    times = random.integers(0, _PARTS, keys.size)
    src, dst = unpack(np, keys)
    graph = bench.arm.graph(ids="dense", reverse=False, records="semantic")
    graph.insert_edges(src, dst, ts=times)
    graph.expire(0)
    for repeat in range(bench.repeats + 1):
        bench.timed(row, repeat, "expire", partial(graph.expire, 2 * repeat + 1))
        gone = random.permutation(np.flatnonzero(times == 2 * repeat + 1))
        bench.timed(row, repeat, "delete", partial(graph.delete_edges, src[gone], dst[gone]))
    check(graph, keys[times > 2 * bench.repeats + 1], f"{bench.name}, expiry")
    if graph.expire(_PARTS).expired != np.count_nonzero(times > 2 * bench.repeats + 1):
        msg = f"{bench.name}: other edges have expired than were left; please report this"
        raise GraphtideError(msg)
    return row
