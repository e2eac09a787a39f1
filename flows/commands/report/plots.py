"""Plots over batches for `graphtide report`, as SVG that stands in an HTML page.

By matplotlib and not Bokeh, which draws by a megabyte of JavaScript: these show without scripts, in
a mail and on paper. Text and axes have the color of the text around them (``currentColor``), so one
drawing does for a light page and a dark one.

Not here: which plots there are (``batches.py``, ``results.py``).
"""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...plots import whole_numbers

Values = npt.NDArray[np.float64]

#: Of middle brightness: for light and dark.
COLORS = ("#3b82c4", "#e08a2e", "#8b6fc0", "#45a05a", "#d0505a", "#2aa198", "#808890")

#: Points of a line, at most; beyond them, neighbors are put together.
_POINTS = 400
#: Points up to which each has a dot.
_DOTS = 40

#: Values from which on an axis has units: ``1.5 M``.
_LARGE = 10_000

#: A color that nothing else has, in the place of that of the text.
_OF_TEXT = "#010203"

_STYLE: Mapping[str, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    # Names of results come from users.
    "text.parse_math": False,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color",
         "ytick.color", "grid.color"),
        _OF_TEXT,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Plot:
    """Lines over batches."""

    title: str
    #: What the values count, at the axis.
    unit: str
    #: Batches, ascending.
    batches: Sequence[int]
    #: Name of a line -> its values, one a batch.
    lines: Mapping[str, Values]
    #: ``lines`` from zero, ``stacked`` areas, or ``free``: lines whose axis need not begin at zero.
    kind: Literal["lines", "stacked", "free"] = "lines"
    #: What neighbors that are put together become.
    together: Literal["mean", "last"] = "mean"
    #: What their mean is weighted by; None: each counts the same.
    weights: Values | None = None


def svg_of(plot: Plot) -> str:
    """Draw a plot; the text of an ``<svg>`` element."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    # The title keeps the names of clips apart that several drawings on one page have.
    with mpl.rc_context({**_STYLE, "svg.hashsalt": plot.title}):
        figure = Figure(figsize=(6.4, 2.7), layout="constrained")
        axes = figure.subplots()
        batches = _thinned(np.asarray(plot.batches, np.float64), "last")
        lines = {
            name: _thinned(values, plot.together, plot.weights)
            for name, values in plot.lines.items()
        }
        if plot.kind == "stacked":
            wide, heights = batches, list(lines.values())
            if len(batches) == 1:  # an area of one point is none
                wide = np.append(batches - 0.25, batches + 0.25)
                heights = [np.repeat(values, 2) for values in heights]
            axes.stackplot(wide, heights, labels=list(lines), colors=COLORS, alpha=0.85)
        else:
            marker = "." if len(batches) <= _DOTS else ""
            for (name, values), color in zip(lines.items(), COLORS, strict=False):
                axes.plot(batches, values, label=name, color=color, marker=marker)
        axes.set(title=plot.title, xlabel="batch", ylabel=plot.unit)
        whole_numbers(axes)
        # Small numbers as they are: few know what "5 m" is.
        if max((values.max() for values in lines.values()), default=0) >= _LARGE:
            axes.yaxis.set_major_formatter(EngFormatter(sep="\N{THIN SPACE}"))
        axes.margins(x=0.01)
        if len(batches) == 1:
            axes.set_xlim(batches[0] - 0.5, batches[0] + 0.5)
        if plot.kind != "free":
            # Above the values there is room: a line at the edge would be half of one.
            axes.set_ylim(0, 1.05 * axes.dataLim.y1 or None)
        if len(lines) > 1:
            figure.legend(loc="outside lower center", ncols=4, fontsize=9)
        file = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    return _inline(file.getvalue(), plot.title)


def _inline(text: str, title: str) -> str:
    """An SVG file as an element of a page that has others."""
    text = text[text.index("<svg") :]
    # Names of groups that no reference is made to would stand on the page several times.
    text = re.sub(r'<g id="[a-zA-Z0-9.]+_\d+">', "<g>", text)
    text = re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)
    text = text.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1)
    return text.replace(_OF_TEXT, "currentColor")


def _thinned(
    values: Values, together: Literal["mean", "last"], weights: Values | None = None
) -> Values:
    """At most `_POINTS` values: the mean, or the last one, of as many neighbors as that takes."""
    group = -(-len(values) // _POINTS)
    if group <= 1:
        return values
    starts = np.arange(0, len(values), group)
    if together == "last":
        return values[np.append(starts[1:], len(values)) - 1]
    if weights is None:
        weights = np.ones(len(values))
    return np.add.reduceat(values * weights, starts) / np.add.reduceat(weights, starts)
