"""The option ``--plot`` of a study: its lines or bars, drawn into a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...gpu_core.errors import SettingsError
from ...io.durable import check_new_file, new_file
from ..plots import pyplot

#: Name of a line -> its points.
Lines = Mapping[str, tuple[Sequence[float], Sequence[float]]]
#: Name of a kind of bar -> one for each group.
Bars = Mapping[str, Sequence[float]]


def check_plot(file: str | None) -> None:
    """Refuse a plot that cannot be drawn, before anything is measured."""
    if file is None:
        return
    if not file.endswith((".png", ".svg", ".pdf")):
        msg = f"--plot {file}: use a name that ends with .png, .svg or .pdf"
        raise SettingsError(msg)
    check_new_file(Path(file), SettingsError)
    pyplot("--plot")


def draw(file: str, panels: Mapping[str, Lines], x: str, y: str, *, logarithmic: bool) -> None:
    """Draw panels side by side, each with its lines.

    Parameters
    ----------
    panels
        Title of a panel -> its lines.
    x, y
        What the axes count.
    logarithmic
        Whether both axes are logarithmic.
    """
    figure, axes = pyplot("--plot").subplots(
        1, len(panels), figsize=(4.5 * len(panels), 4), squeeze=False, layout="constrained"
    )
    for axis, (title, lines) in zip(axes[0], panels.items(), strict=True):
        for name, points in lines.items():
            # What is computed and not measured is dashed.
            axis.plot(*points, label=name, linestyle="--" if "kept" in name else "-")
        axis.set(title=title, xlabel=x, ylabel=y)
        # A workload may be too small for any batch; matplotlib has no such axis without a value.
        if logarithmic and any(len(each) for each, _ in lines.values()):
            axis.set(xscale="log", yscale="log")
        axis.legend(fontsize="small")
    _save(figure, file)


def draw_bars(file: str, panels: Mapping[str, Bars], groups: Sequence[str], y: str) -> None:
    """Draw panels side by side, each with a group of bars for each of ``groups``.

    Parameters
    ----------
    panels
        Title of a panel -> its bars.
    y
        What the bars count.
    """
    figure, axes = pyplot("--plot").subplots(
        1, len(panels), figsize=(6 * len(panels), 4), squeeze=False, layout="constrained"
    )
    for axis, (title, bars) in zip(axes[0], panels.items(), strict=True):
        width = 0.8 / len(bars)
        for number, (name, heights) in enumerate(bars.items()):
            first = (number - (len(bars) - 1) / 2) * width
            axis.bar([first + group for group in range(len(groups))], heights, width, label=name)
        axis.set(title=title, ylabel=y, xticks=range(len(groups)), xticklabels=groups)
        axis.legend(fontsize="small")
    _save(figure, file)


def _save(figure: Any, file: str) -> None:
    with new_file(Path(file), SettingsError) as temporary:
        figure.savefig(temporary, format=file.rpartition(".")[2])
