"""``graphtide study generation``: what it costs to grow a graph of the alpha model (papers/003, 5).

The paper's table 1 and figures 2 and 3: time over the number of vertices and over the mean degree,
alpha being 1, and the slopes of lines through it where both axes are logarithmic. ``all pairs`` is
the paper's step, by all threads; ``two hops`` makes the same graph by looking at few vertices.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import click
import numpy as np

from ...gpu_core.errors import GraphtideError, SettingsError
from ...gpu_core.generators.watts_alpha import BY, watts_alpha_edges
from ...gpu_core.jit.parallel import thread_count
from ..bench.measuring.report import Table
from .plots import check_plot, draw

#: Sizes of the paper, of one figure each.
_VERTICES = (20_000, 40_000, 60_000, 80_000, 100_000)
_DEGREES = (20, 40, 60, 80, 100)
_DEGREE, _COUNT = 20, 20_000

#: Slopes that the paper prints: over vertices, over degrees.
_PUBLISHED = "Core i7 970 2.02, 1.90; its 6 cores 1.89, 1.74; GTX 580 1.76 to 1.84, 1.76 to 1.87"


def study_generation(*, smaller: int, plot: str | None) -> None:
    """Grow graphs of the paper's sizes, so many times smaller, and print the tables.

    Raises
    ------
    SettingsError
        The sizes would vanish, or the plot cannot be drawn.
    GraphtideError
        The two ways have grown different graphs.
    """
    if not 1 <= smaller <= _COUNT // (2 * _DEGREES[-1]):
        msg = f"--smaller is from 1 to {_COUNT // (2 * _DEGREES[-1])}"
        raise SettingsError(msg)
    check_plot(plot)
    click.echo(
        f"graphtide study generation --smaller {smaller}, {thread_count()} threads.\n"
        f"Seconds on the clock. Slopes of the paper, over vertices and degrees:\n{_PUBLISHED}."
    )
    watts_alpha_edges(100, 4, 1.0)
    watts_alpha_edges(100, 4, 1.0, by="all pairs")
    panels = {
        "vertices": _lines([(n // smaller, _DEGREE) for n in _VERTICES], 0),
        "mean degree": _lines([(_COUNT // smaller, k) for k in _DEGREES], 1),
    }
    if plot is not None:
        draw(plot, panels, "", "seconds", logarithmic=True)


def _lines(
    sizes: Sequence[tuple[int, int]], axis: int
) -> dict[str, tuple[Sequence[float], Sequence[float]]]:
    """Time graphs of these sizes, and print a table; returns its lines over one of the numbers."""
    table = Table(["vertices", "mean degree"], list(BY))
    seconds: dict[str, list[float]] = {by: [] for by in BY}
    for count, degree in sizes:
        edges = {by: _timed(count, degree, by, seconds[by]) for by in BY}
        if len(set(edges.values())) > 1:
            msg = f"{count} vertices of degree {degree}: the two ways differ; please report this"
            raise GraphtideError(msg)
        table.row(f"{count:,}", str(degree), *(f"{seconds[by][-1]:.3f}" for by in BY))
    numbers = [size[axis] for size in sizes]
    slopes = (np.polyfit(np.log(numbers), np.log(seconds[by]), 1)[0] for by in BY)
    table.row("slope", "", *(f"{slope:.2f}" for slope in slopes))
    return {by: (numbers, seconds[by]) for by in BY}


def _timed(count: int, degree: int, by: str, seconds: list[float]) -> bytes:
    """Grow a graph; what it is made of, and how long it took as one more of ``seconds``."""
    begun = time.perf_counter()
    src, dst = watts_alpha_edges(count, degree, 1.0, by=by)
    seconds.append(time.perf_counter() - begun)
    return src.tobytes() + dst.tobytes()
