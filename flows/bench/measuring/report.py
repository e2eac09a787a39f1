"""Tables of benchmarks, in Markdown: what was run, on what, when, and the figures."""

import datetime
import platform
from typing import Any

import click

from .arm import Arm


class PrintedTable:
    """A table whose rows are printed as soon as they are measured.

    Parameters
    ----------
    words
        Names of the first columns, which hold words.
    figures
        Names of the others, which hold figures.
    """

    def __init__(self, words: list[str], figures: list[str]) -> None:
        rule = ["---"] * len(words) + ["---:"] * len(figures)
        click.echo(f"\n| {' | '.join([*words, *figures])} |\n|{'|'.join(rule)}|")

    def row(self, *cells: object) -> None:
        """Print one row, a cell a column; an empty one where nothing was measured."""
        click.echo(f"| {' | '.join(map(str, cells))} |")


def print_conditions(arm: Arm, command: str, repeats: int, clock: str) -> None:
    """Say what the figures are of; ``clock``: whose they are by, on a GPU."""
    click.echo(f"{command}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {machine(arm)}.")
    time = f"on the {clock} clock" if arm.engine == "cuda" else "of wall time"
    click.echo(
        f"Milliseconds {time}, median of {repeats} (quartiles).\n"
        f"The graphs are those of `flows/bench/measuring/workloads.py`."
    )


def machine(arm: Arm) -> str:
    """The device, or the processor."""
    if arm.engine != "cuda":
        return f"host engine, {platform.machine()}, {platform.system()}"
    properties: dict[str, Any] = arm.xp.cuda.runtime.getDeviceProperties(0)
    runtime = arm.xp.cuda.runtime.runtimeGetVersion()
    return f"{properties['name'].decode()}, CUDA {runtime // 1000}.{runtime % 1000 // 10}"
