"""``graphtide study generation``: what it costs to grow a graph of the alpha model (papers/003, 5).

The paper's table 1 and figures 2 and 3: time over the number of vertices and over the mean degree,
alpha being 1, the slopes of lines through it where both axes are logarithmic, and speed over one
core. ``all pairs`` is the paper's step; ``two hops`` makes the same graph by looking at few
vertices. On a GPU, which has columns where there is one, memory of rows is allocated by the
kernels (the paper's CUDA 1) or by the host (CUDA 2), to a row that is full; each row has room for
`_FIRST_ROOM` neighbors at first, which is what the paper adds at a time.

On the host all pairs would take hours at the paper's sizes. So the graph grows by two hops, but for
one choice in so many, evenly spread: that one is made by all pairs and timed, and counts for all.
All graphs of a size are compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import click
import numpy as np

from ...gpu_core.engines import resolve_engine
from ...gpu_core.errors import GraphtideError, SettingsError
from ...gpu_core.generators.alpha_model import alpha_model
from ...gpu_core.generators.watts_alpha import Growing, watts_alpha_edges
from ...gpu_core.jit.parallel import thread_count
from ..bench.measuring.arm import Arm
from ..bench.measuring.report import PrintedTable, machine
from .plots import check_plot, draw

#: Sizes of the paper, of one figure each.
_VERTICES = (20_000, 40_000, 60_000, 80_000, 100_000)
_DEGREES = (20, 40, 60, 80, 100)
_DEGREE, _COUNT = 20, 20_000
_ALPHA = 1.0
_FIRST_ROOM = 32
#: Choices that are timed where not all of them are.
_SAMPLES = 2000

#: Seconds, and the edges.
Grown = tuple[float, bytes]


class Method(NamedTuple):
    """A method to grow the graph."""

    #: Grows one of so many vertices and this mean degree.
    grow: Callable[[int, int], Grown]
    #: Slopes that the paper prints, over vertices and over degrees; and what it is over one core
    #: for the largest of each.
    slopes: tuple[float, float] | None = None
    over_one_core: tuple[float, float] | None = None


def _whole(count: int, degree: int, by: str, engine: str, memory: str = "device") -> Grown:
    """Grow a graph, and time all of it."""
    begun = time.perf_counter()
    src, dst = watts_alpha_edges(
        count, degree, _ALPHA, by=by, engine=engine, memory=memory, first_room=_FIRST_ROOM
    )
    return time.perf_counter() - begun, src.tobytes() + dst.tobytes()


def _sampled(count: int, degree: int, *, one_core: bool) -> Grown:
    """Grow a graph on the host, and time some choices of all pairs for all of them."""
    growing = Growing(alpha_model(count, degree, _ALPHA))
    every = max(1, growing.src.size // _SAMPLES)
    seconds, timed, choices = 0.0, 0, 0
    while not growing.is_complete:
        choices += growing.choose(every - 1, "two hops")
        if growing.is_complete:
            break
        begun = time.perf_counter()
        timed += growing.choose(1, "all pairs", one_core=one_core)
        seconds += time.perf_counter() - begun
    edges = growing.src.astype(np.int64).tobytes() + growing.dst.astype(np.int64).tobytes()
    return seconds * (choices + timed) / timed, edges


_ONE_CORE = "all pairs, one core"
_HOST_METHODS = {
    _ONE_CORE: Method(partial(_sampled, one_core=True), (2.02, 1.90), (1.0, 1.0)),
    "all pairs, all cores": Method(partial(_sampled, one_core=False), (1.89, 1.74), (5.42, 7.16)),
    "two hops, one core": Method(partial(_whole, by="two hops", engine="host")),
}
_on_gpu = partial(partial, _whole, engine="cuda")
_GPU_METHODS = {
    "GPU, all pairs, memory by kernels": Method(
        _on_gpu(by="all pairs", memory="device"), (1.84, 1.87), (9.50, 6.96)
    ),
    "GPU, all pairs, memory by the host": Method(
        _on_gpu(by="all pairs", memory="host"), (1.76, 1.76), (12.64, 10.83)
    ),
    "GPU, two hops, memory by kernels": Method(_on_gpu(by="two hops", memory="device")),
    "GPU, two hops, memory by the host": Method(_on_gpu(by="two hops", memory="host")),
}


def study_generation(engine: str, *, smaller: int, plot: str | None) -> None:
    """Grow graphs of the paper's sizes, so many times smaller, and print the tables.

    Raises
    ------
    SettingsError
        The sizes would vanish, or the plot cannot be drawn.
    EngineError
        The engine cannot be had here.
    GraphtideError
        Two methods have grown different graphs.
    """
    if not 1 <= smaller <= _COUNT // (2 * _DEGREES[-1]):
        msg = f"--smaller is from 1 to {_COUNT // (2 * _DEGREES[-1])}"
        raise SettingsError(msg)
    check_plot(plot)
    methods = _HOST_METHODS | (_GPU_METHODS if resolve_engine(engine) == "cuda" else {})
    arm = Arm(engine)
    command = " ".join(["graphtide study generation", f"--smaller {smaller}", *arm.options])
    click.echo(
        f"{command}, {machine(arm)}, {thread_count()} threads.\n"
        f"Seconds on the clock; all pairs on the host: of {_SAMPLES:,} choices, for all. Paper: "
        f"Core i7 970 with 6\ncores, GTX 580 with memory by kernels (CUDA 1) and by the host "
        f"(CUDA 2)."
    )
    for method in methods.values():
        method.grow(100, 4)
    over_vertices = measured(methods, [(n // smaller, _DEGREE) for n in _VERTICES], 0)
    over_degrees = measured(methods, [(_COUNT // smaller, k) for k in _DEGREES], 1)
    _print_ratios(methods, over_vertices, over_degrees, smaller)
    if plot is not None:
        counts = [count // smaller for count in _VERTICES]
        panels: dict[str, dict[str, tuple[Sequence[float], Sequence[float]]]] = {
            "vertices": {name: (counts, each) for name, each in over_vertices.items()},
            "mean degree": {name: (_DEGREES, each) for name, each in over_degrees.items()},
        }
        draw(plot, panels, "", "seconds", logarithmic=True)


def measured(
    methods: dict[str, Method], sizes: Sequence[tuple[int, int]], axis: int
) -> dict[str, list[float]]:
    """Time graphs of these sizes, and print a table with the slopes over one of the numbers.

    Raises
    ------
    GraphtideError
        Two methods have grown different graphs.
    """
    table = PrintedTable(["vertices", "mean degree"], list(methods))
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for count, degree in sizes:
        graphs = set()
        for name, method in methods.items():
            each, edges = method.grow(count, degree)
            seconds[name].append(each)
            graphs.add(edges)
        if len(graphs) > 1:
            msg = f"{count} vertices of degree {degree}: graphs differ; please report this"
            raise GraphtideError(msg)
        table.row(f"{count:,}", str(degree), *(f"{each[-1]:.3f}" for each in seconds.values()))
    numbers = np.log([size[axis] for size in sizes])
    slopes = (np.polyfit(numbers, np.log(each), 1)[0] for each in seconds.values())
    table.row("slope", "", *(f"{slope:.2f}" for slope in slopes))
    published = (
        f"{method.slopes[axis]:.2f}" if method.slopes else "" for method in methods.values()
    )
    table.row("slope, paper", "", *published)
    return seconds


def _print_ratios(
    methods: dict[str, Method],
    over_vertices: dict[str, list[float]],
    over_degrees: dict[str, list[float]],
    smaller: int,
) -> None:
    """Print the speed of each method over one core at the largest sizes; the paper's beside."""
    sizes = [(_VERTICES[-1] // smaller, _DEGREE), (_COUNT // smaller, _DEGREES[-1])]
    columns = [f"{count:,} of degree {degree}" for count, degree in sizes]
    reported = [
        (column, f"paper ({n:,})") for column, n in zip(columns, (100_000, 20_000), strict=True)
    ]
    table = PrintedTable(["over one core"], [name for pair in reported for name in pair])
    for name, method in methods.items():
        cells = []
        for axis, seconds in enumerate((over_vertices, over_degrees)):
            cells.append(f"{seconds[_ONE_CORE][-1] / seconds[name][-1]:.2f}")
            cells.append(f"{method.over_one_core[axis]:.2f}" if method.over_one_core else "")
        table.row(name, *cells)
