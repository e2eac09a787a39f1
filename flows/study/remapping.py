"""``graphtide study remapping``: what sorting vertices by degree and remapping bring to programs.

Zhong and others (002) sort vertices by degree into buckets, so that lanes of a warp have rows of
about one length (4.1, 5.5), and lay what they read out column by column (4.2, 5.6). Both are modes
of ``run_program`` on a GPU. Two tables:

* milliseconds of PageRank, shortest paths, components and hops as programs that pull, in each mode,
  what a mode arranges once a run included; ``arranging`` is a run of no superstep. The host engine
  reads rows as they are, and has one column;
* what follows from the lengths of rows alone, on any machine: how many lanes of a warp have work
  where each thread reads a row, as the paper's do (its table 5), and how many slots the slices of
  remapped rows have for each entry (its figure 14; here of the rows that a thread reads, of up to
  32 entries).

A mode whose values are not those of the others, bit by bit, is an error. The graphs are undirected,
those of the paper directed; it has no grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import click
import numpy as np
import numpy.typing as npt

from ...gpu_core.errors import GraphtideError
from ...gpu_core.programs.library import LIBRARY
from ...gpu_core.programs.run import SHORT_ROW, ProgramResult
from ...gpu_core.programs.vertex_order import VERTEX_ORDERS, order_of
from ..bench.measuring.arm import Arm, Bench
from ..bench.measuring.report import PrintedTable
from ..bench.measuring.subject import Subject
from .plots import draw_bars
from .published import lanes_of_paper, modes_of_paper, slots_of_paper
from .study_options import StudyOptions

_DEFAULT = ("G2", "G3", "G4")
_WARP: Final = 32
_TOLERANCE: Final = 1e-6

_NEITHER = "neither"
_MODES: Final[dict[str, dict[str, Any]]] = {
    _NEITHER: {},
    "linear": {"vertex_order": "linear"},
    "log2": {"vertex_order": "log2"},
    "remapped": {"remap": True},
    "both (log2)": {"vertex_order": "log2", "remap": True},
}

Lengths = npt.NDArray[np.int64]


def study_remapping(engine: str, options: StudyOptions) -> None:
    """Measure workloads, by default `_DEFAULT`, and print two tables.

    Raises
    ------
    SettingsError
        A name is of no workload, a number is out of range, or the plot cannot be drawn.
    GraphtideError
        A mode finds other values than another one.
    """
    selection = options.selection(_DEFAULT)
    arm = selection.begin("study remapping", Arm(engine))
    modes = _MODES if arm.engine == "cuda" else {_NEITHER: _MODES[_NEITHER]}
    panels: dict[str, dict[str, list[float]]] = {}
    shapes = []
    table = PrintedTable(["graph", "program"], ["supersteps", *_MODES, "paper (GTX 780)"])
    for bench in selection.benches(Bench, arm):
        subject = Subject(bench)
        bars = panels[bench.name] = {mode: [] for mode in modes}
        for program, call in calls_of(subject).items():
            found = check_modes(f"{bench.name}, {program}", call, modes)
            row = bench.measured({mode: partial(call, **asked) for mode, asked in modes.items()})
            beside = modes_of_paper(bench.name) if program == "PageRank" else ""
            times = map(row.device, _MODES)
            table.row(bench.name, program, f"{found.supersteps:,}", *times, beside)
            for mode, taken in bars.items():
                taken.append(row.median(mode))
        shapes.append((bench.name, np.bincount(subject.src, minlength=subject.size)))
    _print_shapes(shapes)
    if options.plot is not None:
        draw_bars(options.plot, panels, list(calls_of(subject)), "ms")


def calls_of(subject: Subject) -> dict[str, Callable[..., ProgramResult]]:
    """Programs that pull on a workload; each takes what a mode asks for."""
    plain, start = subject.plain, subject.source
    made = {name: make() for name, make in LIBRARY.items()}
    pulled: dict[str, Any] = {"direction": "pull"}
    searched = {**pulled, "active": start}
    ranks = partial(plain.run_program, made["pagerank"], 1 / plain.num_vertices, **pulled)
    return {
        "PageRank": partial(ranks, tolerance=_TOLERANCE),
        "SSSP": partial(
            subject.weighted.run_program, made["sssp"], {start: 0}, default=math.inf, **searched
        ),
        "components": partial(plain.run_program, made["components"], plain.vertices(), **pulled),
        "BFS": partial(plain.run_program, made["bfs"], {start: 0}, default=-1, **searched),
        "arranging": partial(ranks, max_supersteps=0),
    }


def check_modes(
    what: str, call: Callable[..., ProgramResult], modes: Mapping[str, Mapping[str, Any]]
) -> ProgramResult:
    """Refuse values that are not the same in each mode; returns those of the first."""
    first, *others = (call(**asked) for asked in modes.values())
    for found in others:
        if found.value.tobytes() != first.value.tobytes():
            msg = f"{what}: modes of a program find different values; please report this"
            raise GraphtideError(msg)
    return first


def lanes_busy(lengths: Lengths) -> float:
    """Lanes of a warp that have work, of 1, where each thread reads the row of one of ``lengths``.

    A warp reads as long as its longest row is.
    """
    slots = slots_of(lengths)
    return float(lengths.sum() / slots) if slots else 1.0


def slots_of(lengths: Lengths) -> int:
    """Entries that slices of 32 of these rows have room for, each as long as its longest row."""
    whole = np.zeros(-(-lengths.size // _WARP) * _WARP, np.int64)
    whole[: lengths.size] = lengths
    return _WARP * int(whole.reshape(-1, _WARP).max(axis=1).sum())


def lanes_by_order(degrees: Lengths) -> dict[str, float]:
    """`lanes_busy` in each order of vertices, rows of any length being a thread's."""
    return {
        order: lanes_busy(degrees[order_of(degrees, order, int(degrees.max()))])
        for order in VERTEX_ORDERS
    }


def slots_by_order(degrees: Lengths) -> dict[str, float]:
    """Slots of remapped rows over their entries, in each order of vertices, as programs have it."""
    entries = int(degrees[degrees <= SHORT_ROW].sum())
    found = {}
    for order in VERTEX_ORDERS:
        lengths = degrees[order_of(degrees, order, SHORT_ROW)]
        # Long rows are read elsewhere: their lanes are left without entries.
        slots = slots_of(np.where(lengths > SHORT_ROW, 0, lengths))
        found[order] = slots / entries if entries else 1.0
    return found


def _print_shapes(shapes: Sequence[tuple[str, Lengths]]) -> None:
    click.echo(
        "\nFrom the lengths of rows alone. *Lanes*: share of the lanes of a warp that have work, "
        "if each thread reads a row of any length.\n*Slots* of remapped rows, of up to 32 "
        "entries, over their entries."
    )
    orders = [each if each != "none" else "unsorted" for each in VERTEX_ORDERS]
    table = PrintedTable(
        ["graph"],
        [
            "two or more", "longest row", *(f"lanes, {each}" for each in orders),
            "paper, linear", *(f"slots, {each}" for each in orders), "paper, linear",
        ],
    )  # fmt: skip
    for name, degrees in shapes:
        lanes, slots = lanes_by_order(degrees), slots_by_order(degrees)
        table.row(
            name, f"{(degrees >= 2).mean():.1%}", f"{degrees.max():,}",
            *(f"{each:.1%}" for each in lanes.values()), lanes_of_paper(name),
            *(f"{each:.3f}" for each in slots.values()), slots_of_paper(name),
        )  # fmt: skip
