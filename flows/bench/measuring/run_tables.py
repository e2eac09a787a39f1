"""Tables of ``graphtide bench pipeline``: the figures of all runs of each case, in Markdown."""

import math
import statistics
from collections.abc import Mapping, Sequence

import click

from ....gpu_core.report import STAGES
from .clock import spread
from .run_figures import Figures, limit_of


def print_tables(measured: Mapping[str, Sequence[Figures]]) -> None:
    """Print rates, stages and busy shares, a row a case."""

    def median(values: Sequence[float | None]) -> str:
        known = [value for value in values if value is not None]
        return spread(known).split(" ")[0] if known else ""

    _print_table(
        ("M updates/s", "all", "first pass", "later passes", "kept", "from start"),
        [
            (
                name,
                spread([each.all for each in found]),
                *(
                    median([getattr(each, part) for each in found])
                    for part in ("first_pass", "later_passes", "kept", "from_start")
                ),
            )
            for name, found in measured.items()
        ],
    )
    _print_table(
        ("ns a row", *STAGES),
        [
            (name, *(median([each.stages[stage] for each in found]) for stage in STAGES))
            for name, found in measured.items()
        ],
    )
    names = ("CPU workers", "graph", "client", "cores", "least", "most")
    busy = {
        name: {who: _middle([each.busy[who] for each in found]) for who in names}
        for name, found in measured.items()
    }
    _print_table(
        ("busy", *names, "limit"),
        [
            (name, *(_share(shares[who]) for who in names), limit_of(shares))
            for name, shares in busy.items()
        ],
    )


def print_workers(name: str, by_worker: Mapping[str, Mapping[str, float]]) -> None:
    """Print what each worker of a run of case ``name`` did with its time."""
    _print_table(
        (f"by worker, {name}", *STAGES, "idle"),
        [
            (
                worker,
                *(f"{shares[stage]:.0%}" if shares[stage] else "" for stage in STAGES),
                f"{max(1 - sum(shares.values()), 0):.0%}",
            )
            for worker, shares in by_worker.items()
        ],
    )


def _middle(values: Sequence[float]) -> float:
    """The median of those that are known, or NaN."""
    known = [value for value in values if not math.isnan(value)]
    return statistics.median(known) if known else math.nan


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.0%}"


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Markdown, its columns padded: readable on a terminal too."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    for line in (header, rule, *rows):
        others = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
        click.echo("| " + " | ".join((line[0].ljust(widths[0]), *others)) + " |")
    click.echo()
