"""The command line: ``graphtide …``, also ``dask graphtide …`` and ``python -m graphtide.flows``.

Options and help are here, of commands that take a log or make one; of those that read a state they
are in ``state_commands.py``, of the groups ``generate``, ``bench`` and ``study`` in files of their
own. What a command does is in the module of its name, imported when the command runs, so that
``graphtide --help`` answers at once. Values are checked where the settings are loaded, once,
whether they come from a flag or a file. Options that several commands have: ``options.py``. How
errors end a command: ``failures.py``.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from .. import __version__
from .bench.commands import bench
from .generate_commands import generate
from .options import (
    ReportingGroup,
    batch_rows_option,
    config_options,
    debug_option,
    graph_options,
    json_option,
    log_argument,
    log_options,
    output_options,
    run_options,
    schedule_options,
)
from .state_commands import STATE_COMMANDS
from .study.commands import study


# The name counts where Dask's command line takes the group in.
@click.group(
    "graphtide", cls=ReportingGroup, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="graphtide")
@debug_option
def cli() -> None:
    """Keep a large, changing graph in memory, fed from update logs.

    Start with `graphtide demo`.
    """


#: A file of settings that names a scheduler, whatever section that is in.
_SCHEDULER = re.compile(r"\bscheduler[\"']?\s*:(?![ \t]*(?:null\b|~|#|$))", re.MULTILINE)


def names_a_cluster(scheduler: str | None, config_file: str | None) -> bool:
    """Whether a run seems to be for a cluster of others, before settings are read.

    A wrong guess costs time, or a process that has nothing to do. So a file is not parsed: that
    takes modules which the process that workers are forked from imports meanwhile.
    """
    if scheduler is not None or config_file is None:
        return scheduler is not None
    path = Path(config_file)
    if not path.is_file():
        return True  # of a pipe nothing would be left for who reads it
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True  # it is refused where it is read
    return _SCHEDULER.search(text) is not None


def _begin_imports_of_workers() -> None:
    """Start what workers are forked from: it imports for a second or two, from now on beside us."""
    from ..pipeline.workers.forking.fork_server import start_fork_server

    start_fork_server()


@cli.command()
@log_argument
@click.option("--state", required=True, metavar="DIR", help="Folder of results and checkpoints.")
@graph_options
@log_options
@run_options
@schedule_options
@output_options
@debug_option
def run(
    log: tuple[str, ...],
    state: str,
    quiet: bool,
    log_format: str,
    as_json: bool,
    follow: bool,
    every: str | None,
    cron: str | None,
    wait: bool,
    **options: Any,
) -> None:
    """Apply every batch of LOG that is not applied yet.

    Then stop, or with --follow wait for more files.


    LOG is a folder, a file or a pattern in quotes, or several of them, read in this order: Parquet,
    CSV or JSON lines, or a table of Delta or Iceberg, here or at any URL. A row inserts or deletes
    one edge or vertex. STATE holds the plan, reports, results and checkpoints; the next run
    continues from there.
    """
    if not names_a_cluster(options["scheduler"], options["config_file"]):
        _begin_imports_of_workers()
    from .commands.run import run_log
    from .commands.schedule import Schedule

    schedule = Schedule(follow, every, cron, wait)
    run_log(
        log, state, options,
        quiet=quiet, log_format=log_format, as_json=as_json, schedule=schedule,
    )  # fmt: skip


@cli.command()
@debug_option
def settings() -> None:
    """Print all settings with their defaults, as YAML.

    Save them to a file, change it, and give it as `graphtide run --config FILE`.
    """
    from ..config.settings import default_text

    click.echo(default_text(), nl=False)


@cli.command()
@click.argument("folder", required=False)
@debug_option
def demo(folder: str | None) -> None:
    """Generate a small log, run it, and show the results.

    It runs on a cluster of this machine. Files go into FOLDER, which must be new or empty; without
    it, into a new temporary folder.
    """
    _begin_imports_of_workers()
    from .commands.demo import run_demo

    run_demo(folder)


@cli.command()
@log_argument
@graph_options
@log_options
@config_options
@json_option
@debug_option
def inspect(log: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """List the files of LOG in the order in which a run reads them.

    With formats, columns and their types, partitions, and rows, operations and times by file. LOG
    as for run. Reads the columns op and ts, and changes nothing. A log whose columns a run with the
    same flags would refuse ends with the reason.
    """
    from .commands.inspect import show_log

    show_log(log, options, as_json=as_json)


@cli.command()
@log_argument
@click.option(
    "--to", type=click.IntRange(0), required=True, metavar="BATCH", help="Last batch applied."
)
@click.option(
    "--state", metavar="DIR", help="Take batches and kind of graph from this state of the log."
)
@click.option("--edges", metavar="FILE", help="Write the edges, as `graphtide export` does.")
@click.option("--vertices", metavar="FILE", help="Write the vertices, likewise.")
@graph_options
@batch_rows_option
@log_options
@config_options
@debug_option
def replay(
    log: tuple[str, ...],
    to: int,
    state: str | None,
    edges: str | None,
    vertices: str | None,
    **options: Any,
) -> None:
    """Apply the first batches of LOG to a new graph, in this process.

    Prints the graph's size and state hash. Writes nothing but the files asked for.
    """
    from .commands.replay import replay_log

    replay_log(log, to, options, state=state, edges=edges, vertices=vertices)


@cli.command("import")
@click.argument("file")
@click.argument("out")
@click.option(
    "--columns",
    metavar="LIST",
    help="What each field of a line is, such as src,dst,ts; _ for one that is not wanted.  "
    "[from the header, else guessed from the values]",
)
@debug_option
def import_(file: str, out: str, columns: str | None) -> None:
    """Turn an edge list or a Matrix Market file into a log.

    OUT is the log's folder; the file becomes one more Parquet file in it. Lines have src dst, src
    dst weight, src dst ts (if the third field looks like times) or src dst weight ts; a header or
    --columns says otherwise, and with a column op lines also delete. Ids are numbers, or names if
    most are words. How the file is read is printed, with its first rows.
    """
    from .commands.import_file import import_file

    import_file(file, out, columns)


for command in (*STATE_COMMANDS, generate, bench, study):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends the process with the command's exit status."""
    cli.main(args=None if arguments is None else list(arguments), prog_name="graphtide")
