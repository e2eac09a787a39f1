"""``graphtide bench programs``: algorithms that users could write, beside the graph's own methods.

Programs are those of ``gpu_core/programs/library.py``, pushed, pulled, and as the engine chooses;
traversals by operators on frontiers those of ``gpu_core/programs/traversals.py``. Each call is
timed as a user makes it, values staying where the engine made them. A search begins at the vertex
of largest degree; ``by weight`` goes over weights from 0.001 to 1. Values that are not those of the
method are an error.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....gpu_core.errors import GraphtideError
from ....gpu_core.programs.library import LIBRARY
from ....gpu_core.programs.run import ProgramResult
from ....gpu_core.programs.traversals import (
    components_traversal,
    cores_traversal,
    distances_traversal,
    hops_traversal,
)
from ....gpu_core.programs.vertex_state import VertexState
from ..bench_options import BenchOptions
from ..measuring.arm import Arm, Bench
from ..measuring.report import PrintedTable
from ..measuring.subject import Subject

NAMES = ("G1", "G2", "G3")

_TOLERANCE = 1e-6

_DIRECTIONS = ("auto", "push", "pull")


class _Forms(NamedTuple):
    """An algorithm in all forms that it has."""

    method: Callable[[], Any]
    #: Column of its result.
    column: str
    #: Takes ``direction``.
    program: Callable[..., ProgramResult] | None = None
    may_push: bool = True
    #: By operators on frontiers, and the array that is its result.
    traversal: Callable[[], VertexState] | None = None
    array: str = ""


def _algorithms(subject: Subject) -> dict[str, _Forms]:
    plain, weighted, start = subject.plain, subject.weighted, subject.source
    made = {name: make() for name, make in LIBRARY.items()}
    first: dict[str, Any] = {"active": start}
    return {
        "hops": _Forms(
            partial(plain.bfs, start), "distance",
            partial(plain.run_program, made["bfs"], {start: 0}, default=-1, **first),
            traversal=partial(hops_traversal, plain, start), array="hops",
        ),
        "by weight": _Forms(
            partial(weighted.sssp, start), "distance",
            partial(weighted.run_program, made["sssp"], {start: 0}, default=math.inf, **first),
            traversal=partial(distances_traversal, weighted, start), array="distance",
        ),
        "components": _Forms(
            plain.weakly_connected_components, "component",
            partial(plain.run_program, made["components"], plain.vertices()),
            traversal=partial(components_traversal, plain, plain.vertices()), array="label",
        ),
        "PageRank": _Forms(
            partial(plain.pagerank, tol=_TOLERANCE), "pagerank",
            partial(
                plain.run_program, made["pagerank"], 1 / plain.num_vertices, tolerance=_TOLERANCE
            ),
            may_push=False,
        ),
        "cores": _Forms(
            plain.core_number, "core_number", traversal=partial(cores_traversal, plain),
            array="core",
        ),
    }  # fmt: skip


def _check(what: str, forms: _Forms) -> ProgramResult | None:
    """Refuse values that are not those of the method; returns what the program found."""
    expected = getattr(forms.method(), forms.column)
    found = forms.program and forms.program()
    values = [] if found is None else [("program", found.value)]
    if forms.traversal is not None:
        values.append(("operators", forms.traversal()[forms.array]))
    # Two steps of PageRank that are near enough to the solution differ.
    far = 20 * _TOLERANCE if what == "PageRank" else 0.0
    for form, given in values:
        if not (given == expected).all() and not np.abs(given - expected).sum() <= far:
            msg = f"{what} by the {form} are not those of the method; please report this"
            raise GraphtideError(msg)
    return found


def bench_programs(options: BenchOptions) -> None:
    """Measure workloads, by default `NAMES`, and print the table.

    Raises
    ------
    SettingsError
        A name is of no workload, or the sizes would vanish.
    GraphtideError
        A program finds other values than the method.
    """
    selection = options.selection(NAMES)
    arm = selection.begin("bench programs", Arm(options.engine))
    forms = "method", *_DIRECTIONS, "operators"
    table = PrintedTable(["graph", "algorithm"], [*forms, "supersteps", "pulled"])
    for bench in selection.benches(Bench, arm):
        for what, algorithm in _algorithms(Subject(bench)).items():
            found = _check(what, algorithm)
            calls: dict[str, Callable[[], Any]] = {"method": algorithm.method}
            if algorithm.program is not None:
                directions = _DIRECTIONS if algorithm.may_push else ("auto",)
                calls |= {each: partial(algorithm.program, direction=each) for each in directions}
            if algorithm.traversal is not None:
                calls["operators"] = algorithm.traversal
            row = bench.measured(calls)
            counts = (found.supersteps, found.pulled) if found else ()
            shown = [f"{count:,}" for count in counts] or ["", ""]
            table.row(bench.name, what, *map(row.device, forms), *shown)
