"""``graphtide plot``: the summary of a state as a picture, over its batches."""

from collections.abc import Mapping, Sequence

import click
import numpy as np

from ...gpu_core.errors import SettingsError, StateError
from ...gpu_core.table import Table
from ...io.file_systems import new_file_at
from ..plots import pyplot, whole_numbers
from ..printing.text import line
from ..state_results import read_summary
from .output_files import check_outputs_of_state

#: Panels of a row, and inches of each.
_COLUMNS, _WIDTH, _HEIGHT = 3, 4.5, 3.2

_SECONDS = "_seconds"


def plot_summary(state: str, output: str, only: Sequence[str]) -> None:
    """Draw the size of the graph, values of its results and seconds by stage; print the file.

    ``only``: columns of the summary that are drawn; none: all.
    """
    if not output.endswith((".png", ".svg")):
        msg = f"--output {output}: use a name that ends with .png or .svg"
        raise SettingsError(msg)
    check_outputs_of_state(state, output)
    plt = pyplot("graphtide plot")
    summary = read_summary(state)
    if not len(summary):
        msg = f"state {state} has no summary of batches yet; let a run write a checkpoint"
        raise StateError(msg)
    panels = panels_of(summary, only)
    rows = -(-len(panels) // _COLUMNS)
    columns = min(len(panels), _COLUMNS)
    figure, axes = plt.subplots(
        rows, columns, figsize=(_WIDTH * columns, _HEIGHT * rows), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    batches = summary["batch"]
    for axis, (title, names) in zip(axes.flat, panels.items(), strict=False):
        for name in names:
            is_there = ~np.isnan(summary[name].astype(np.float64))
            # A point each where there are few, which a line alone would not show.
            style = "o-" if np.count_nonzero(is_there) < 50 else "-"
            axis.plot(
                batches[is_there], summary[name][is_there], style, markersize=3, linewidth=1,
                label=name.removesuffix(_SECONDS),
            )  # fmt: skip
        # The same in all panels: a result of the last batch alone stands at the end, too.
        axis.set(title=title, xlabel="batch", xlim=(batches[0] - 0.5, batches[-1] + 0.5))
        whole_numbers(axis)
        if len(names) > 1:
            axis.legend(fontsize="small")
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    try:
        with new_file_at(output, SettingsError) as temporary:
            figure.savefig(temporary, format=output.rpartition(".")[2])
    finally:
        plt.close(figure)
    click.echo(line("plot", output, wrap=False))


def panels_of(summary: Table, only: Sequence[str]) -> Mapping[str, list[str]]:
    """Title of a panel -> columns of the summary that are its lines; empty columns are left out."""
    there = [name for name in summary.columns if name != "batch"]
    for name in only:
        if name not in there:
            msg = f"--only {name}: the summary has no such column; there are {', '.join(there)}"
            raise SettingsError(msg)
    panels: dict[str, list[str]] = {}
    for name in only or there:
        if only or not np.isnan(summary[name].astype(np.float64)).all():
            title = "size" if name in ("vertices", "edges") else name
            title = "seconds" if name.endswith(_SECONDS) else title
            panels.setdefault(title, []).append(name)
    return panels
