"""Tables of benchmarks, in Markdown: what was run, on what, when, and the figures."""

import datetime
import platform
from collections.abc import Mapping
from typing import Any

import click

from ...printing.text import command
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


def print_conditions(arm: Arm, what: str, repeats: int, clock: str) -> None:
    """Say what figures are of; ``what``: the command; ``clock``: whose they are by, on a GPU."""
    click.echo(f"{what}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {machine(arm)}.")
    time = f"on the {clock} clock" if arm.engine == "cuda" else "of wall time"
    click.echo(
        f"Milliseconds {time}, median of {repeats} (quartiles).\n"
        f"The graphs are those of `flows/bench/measuring/workloads.py`."
    )


def given(words: str, options: Mapping[str, object]) -> str:
    """The command that repeats a benchmark, and the date.

    Parameters
    ----------
    words
        Such as ``bench start``.
    options
        Option -> its value, or several; a flag has True or False.
    """
    listed = ["graphtide", *words.split()]
    for option, value in options.items():
        if value is True:
            listed.append(option)
        elif value is not False:
            for each in value if isinstance(value, tuple | list) else [value]:
                listed += [option, str(each)]
    return f"{command(*listed)}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}"


def machine(arm: Arm) -> str:
    """The device, or the processor."""
    if arm.engine != "cuda":
        return f"host engine, {platform.machine()}, {platform.system()}"
    properties: dict[str, Any] = arm.xp.cuda.runtime.getDeviceProperties(0)
    runtime = arm.xp.cuda.runtime.runtimeGetVersion()
    return f"{properties['name'].decode()}, CUDA {runtime // 1000}.{runtime % 1000 // 10}"
