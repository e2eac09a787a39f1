"""Shared parts of commands: how they end, and options that several of them have."""

import io
import sys
from collections.abc import Callable
from typing import Any

import click

from .failures import failures_reported, set_debugging, set_log_format
from .interrupts import raised_once

Command = Callable[..., Any]


class ReportingCommand(click.Command):
    """A command whose failure is reported in one sentence, wherever it is started."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with failures_reported(ctx.command_path), raised_once():
            return super().invoke(ctx)


class ReportingGroup(click.Group):
    """A group of such commands, whose own options are reported likewise."""

    command_class = ReportingCommand
    group_class = type

    def make_context(self, info_name: str | None, *args: Any, **extra: Any) -> click.Context:
        """Read the options before the command's name."""
        _escape_what_the_terminal_lacks()
        with failures_reported(info_name or "graphtide"):
            return super().make_context(info_name, *args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Find the command and run it."""
        with failures_reported(ctx.command_path):
            return super().invoke(ctx)


def _escape_what_the_terminal_lacks() -> None:
    """Print what standard output has no character for, as Python prints it on standard error.

    In a locale such as Latin-1 that is an arrow, or a vertex with a name of other letters: a run
    would end with an error at its last line, after all was done.
    """
    output = sys.stdout
    if isinstance(output, io.TextIOWrapper) and output.errors == "strict":
        output.reconfigure(errors="backslashreplace")


class StateCommand(ReportingCommand):
    """A command that reads a state.

    Without pandas, which Arrow would import where it is installed: 0.3 s of a command.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        from ..pipeline.workers.forking.unwanted_imports import use_arrow_without_pandas

        use_arrow_without_pandas()
        return super().invoke(ctx)


class QueryCommand(StateCommand):
    """A command whose help lists the questions that it answers."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list."""
        from .commands.query_syntax import QUESTIONS

        with formatter.section("Questions"):
            formatter.write_dl(list(QUESTIONS.values()))


class AnalyticsOption(click.Option):
    """An option whose help names all analytics where it says ``ANALYTICS``.

    They are looked up when the help is asked for: a command line without it starts sooner.
    """

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option as it is written, and its help."""
        from ..gpu_core.algorithms.registry import ANALYTICS

        record = super().get_help_record(ctx)
        return record and (record[0], record[1].replace("ANALYTICS", ", ".join(ANALYTICS)))


def _named_types(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> dict[str, str] | None:
    """``amount:float64,channel:int16`` as a mapping."""
    if value is None:
        return None
    types: dict[str, str] = {}
    for part in value.split(","):
        name, _, kind = (each.strip() for each in part.partition(":"))
        if not name or not kind:
            msg = f"{part!r} is no NAME:TYPE such as amount:float64"
            raise click.BadParameter(msg)
        if name in types:
            msg = f"{name} is named twice"
            raise click.BadParameter(msg)
        types[name] = kind
    return types


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=set_debugging,
    help="Show the traceback of an error.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="For programs.")

at_option = click.option(
    "--at", type=click.IntRange(0), metavar="BATCH", help="As it was after this batch.  [newest]"
)


def options_of(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several decorators as one; the first stands first in the help."""

    def decorate(function: Command) -> Command:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


graph_options = options_of(
    click.option("--directed/--undirected", default=None, help="Direction of edges.  [directed]"),
    click.option(
        "--records", metavar="KIND", help="simple, weighted or semantic edge records.  [simple]"
    ),
    click.option(
        "--weights", metavar="TYPE", help="float32 or float64: what weights are kept as.  [float32]"
    ),
    click.option(
        "--layout", metavar="NAME", help="runs, chain or tree: how adjacencies are stored.  [runs]"
    ),
    click.option("--storage", metavar="NAME", help="soa or aos: order of properties.  [soa]"),
    click.option(
        "--engine",
        metavar="NAME",
        help="host, cuda (a GPU), or auto: a GPU if there is one.  [auto]",
    ),
    click.option(
        "--ids",
        metavar="KIND",
        help="any int64 ids, dense small ones, string, uuid or uint64.  [any]",
    ),
    click.option(
        "--reverse/--no-reverse",
        default=None,
        help="Keep the reverse adjacency too.  [reverse]",
    ),
    click.option("--self-loops", metavar="RULE", help="drop, keep or reject.  [drop]"),
    click.option(
        "--on-repeat",
        metavar="RULE",
        help="Weight of an edge inserted again: last, first, sum, min, max or count.  [last]",
    ),
    click.option(
        "--properties",
        metavar="NAME:TYPE,…",
        callback=_named_types,
        help="Other columns that edges keep, such as amount:float64.  [none]",
    ),
    click.option(
        "--vertex-properties",
        metavar="NAME:TYPE,…",
        callback=_named_types,
        help="Other columns that vertices keep, from rows without dst.  [none]",
    ),
    click.option(
        "--window",
        "time_window",
        metavar="TIME|N",
        help="Drop edges that were not seen for so long, such as 7d; semantic records.  [keep all]",
    ),
)

output_options = options_of(
    click.option("--quiet", is_flag=True, help="Print only errors."),
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        callback=set_log_format,
        help="json: events on standard error, an object a line.  [text]",
    ),
    click.option("--json", "as_json", is_flag=True, help="The summary for programs."),
)

log_argument = click.argument("log", nargs=-1, required=True, metavar="LOG…")

log_options = options_of(
    click.option(
        "--order-by", metavar="COLUMN", help="Apply rows in the order of a column.  [of the files]"
    ),
    click.option(
        "--order-within",
        metavar="TIME|N",
        help="… and sort rows that are late by at most this, such as 5m.  [refuse them]",
    ),
)

batch_rows_option = click.option(
    "--batch-rows",
    type=int,
    metavar="N",
    help="Rows of a batch, at most.  [1000000; 4000000 on a GPU, 8000000 if it converts]",
)

config_options = options_of(
    click.option(
        "--config", "config_file", metavar="FILE", help="Settings in YAML; flags win over it."
    ),
    click.option(
        "--set",
        "assignments",
        multiple=True,
        metavar="KEY=VALUE",
        help="Any other setting, such as columns.src=payer.",
    ),
)

run_options = options_of(
    batch_rows_option,
    click.option(
        "--analytics",
        metavar="LIST",
        cls=AnalyticsOption,
        help="Any of ANALYTICS, with commas, or none.  [pagerank,clustering]",
    ),
    click.option(
        "--analytics-every",
        type=int,
        metavar="N",
        help="… after every N batches; or each its own: pagerank:1,clustering:10.  [at the end]",
    ),
    click.option(
        "--columns-every",
        type=int,
        metavar="N",
        help="Write their columns every N batches.  [of every result]",
    ),
    click.option(
        "--changes-beyond",
        type=float,
        metavar="X",
        help="… and between those, rows whose values changed by more than X.  [no rows]",
    ),
    click.option(
        "--checkpoint-every",
        metavar="TIME|N",
        help="Checkpoint after this time (60s) or N batches.  [60s]",
    ),
    click.option(
        "--keep-checkpoints", metavar="N|all", help="Checkpoints that are kept, the newest.  [2]"
    ),
    click.option(
        "--bad-rows",
        metavar="POLICY",
        help="halt, or quarantine: leave them out, keep them in the state.  [halt]",
    ),
    click.option(
        "--workers",
        type=int,
        metavar="N",
        help="CPU workers of the local cluster.  [from the cores]",
    ),
    click.option("--scheduler", metavar="ADDRESS", help="Use this Dask cluster instead."),
    click.option("--graph-worker", metavar="NAME", help="Its worker that holds the graph."),
    config_options,
)

schedule_options = options_of(
    click.option(
        "--follow", is_flag=True, help="Wait for more files, and apply each as it appears."
    ),
    click.option(
        "--every", metavar="TIME", help="Run again and again, such as every 10m; 10 is 10 s."
    ),
    click.option(
        "--cron", metavar="EXPRESSION", help='Run at times, such as "0 3 * * *", of this machine.'
    ),
    click.option(
        "--wait", is_flag=True, help="Wait while another run has STATE.  [end with an error]"
    ),
)
