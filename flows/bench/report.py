"""Tables of benchmarks, in Markdown: what was run, on what, when, and the figures."""

import datetime
import platform
from collections.abc import Iterable
from typing import Any

import click

from .arm import Arm, Row

_HEADER = "| graph | batch | insert | delete | insert, caller's | rebuild insert | rebuild delete |"


def print_conditions(arm: Arm, command: str, repeats: int, smaller: int) -> None:
    """Say what the figures are of."""
    if smaller:
        command += f" --smaller {smaller}"
    click.echo(f"{command}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {machine(arm)}.")
    click.echo(
        f"Milliseconds on the device's clock, median of {repeats} (quartiles); the graphs are "
        f"those of `flows/bench/workloads.py`.\n"
    )


def machine(arm: Arm) -> str:
    """The device, or the processor."""
    if arm.engine != "cuda":
        return f"host engine, {platform.machine()}, {platform.system()}"
    properties: dict[str, Any] = arm.xp.cuda.runtime.getDeviceProperties(0)
    runtime = arm.xp.cuda.runtime.runtimeGetVersion()
    return f"{properties['name'].decode()}, CUDA {runtime // 1000}.{runtime % 1000 // 10}"


def print_header() -> None:
    """Begin the table."""
    click.echo(_HEADER)
    click.echo("|---|---|" + "---:|" * (_HEADER.count("|") - 3))


def print_rows(rows: Iterable[Row]) -> None:
    """Print each row as soon as it is measured."""
    for row in rows:
        cells = [
            row.workload,
            row.batch,
            row.device("insert"),
            row.device("delete"),
            row.caller("insert"),
            row.device("rebuild, insert"),
            row.device("rebuild, delete"),
        ]
        click.echo("| " + " | ".join(cells) + " |")
