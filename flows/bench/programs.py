"""``graphtide bench programs``: algorithms written as programs, beside the graph's own methods.

The programs are those of ``gpu_core/programs/library.py``, pushed, pulled, and as the engine
chooses. Each call is timed as a user makes it, values staying where the engine made them. A search
begins at the vertex of largest degree; ``by weight`` goes over weights from 0.001 to 1. Values that
are not those of the method are an error.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...gpu_core.errors import GraphtideError
from ...gpu_core.programs.library import LIBRARY
from ...gpu_core.programs.run import ProgramResult
from .measuring.arm import Arm, Bench
from .measuring.report import Table
from .measuring.selection import Selection
from .measuring.subject import Subject

NAMES = ("G1", "G2", "G3")

_TOLERANCE = 1e-6

_DIRECTIONS = ("auto", "push", "pull")


class _Pair(NamedTuple):
    """An algorithm in both forms."""

    method: Callable[[], Any]
    #: Column of its result.
    column: str
    #: Takes ``direction``.
    program: Callable[..., ProgramResult]
    may_push: bool = True


def _pairs(subject: Subject) -> dict[str, _Pair]:
    plain, weighted, start = subject.plain, subject.weighted, subject.source
    made = {name: make() for name, make in LIBRARY.items()}
    first: dict[str, Any] = {"active": start}
    return {
        "hops": _Pair(
            partial(plain.bfs, start), "distance",
            partial(plain.run_program, made["bfs"], {start: 0}, default=-1, **first),
        ),
        "by weight": _Pair(
            partial(weighted.sssp, start), "distance",
            partial(weighted.run_program, made["sssp"], {start: 0}, default=math.inf, **first),
        ),
        "components": _Pair(
            plain.weakly_connected_components, "component",
            partial(plain.run_program, made["components"], plain.vertices()),
        ),
        "PageRank": _Pair(
            partial(plain.pagerank, tol=_TOLERANCE), "pagerank",
            partial(
                plain.run_program, made["pagerank"], 1 / plain.num_vertices, tolerance=_TOLERANCE
            ),
            may_push=False,
        ),
    }  # fmt: skip


def _check(what: str, pair: _Pair) -> ProgramResult:
    """Refuse values that are not those of the method; returns what the program found."""
    found = pair.program()
    expected = getattr(pair.method(), pair.column)
    # Two steps of PageRank that are near enough to the solution differ.
    far = 20 * _TOLERANCE if what == "PageRank" else 0.0
    if not (found.value == expected).all() and not np.abs(found.value - expected).sum() <= far:
        msg = f"{what} of the program are not those of the method; please report this"
        raise GraphtideError(msg)
    return found


def bench_programs(engine: str, names: Sequence[str], *, repeats: int, smaller: int) -> None:
    """Measure the workloads of these names (none: `NAMES`) and print the table.

    Raises
    ------
    SettingsError
        A name is of no workload, or the sizes would vanish.
    GraphtideError
        A program finds other values than the method.
    """
    selection = Selection(names, NAMES, repeats, smaller)
    arm = selection.begin("bench programs", Arm(engine))
    table = Table(["graph", "algorithm"], ["method", *_DIRECTIONS, "supersteps", "pulled"])
    for bench in selection.benches(Bench, arm):
        for what, pair in _pairs(Subject(bench)).items():
            found = _check(what, pair)
            directions = _DIRECTIONS if pair.may_push else ("auto",)
            calls = {each: partial(pair.program, direction=each) for each in directions}
            row = bench.measured(what, {"method": pair.method, **calls})
            times = [row.device(column) for column in ("method", *_DIRECTIONS)]
            table.row(bench.name, what, *times, f"{found.supersteps:,}", f"{found.pulled:,}")
