"""The command line: ``graphtide …``, also ``dask graphtide …`` and ``python -m graphtide.flows``.

Options and help are here; what a command does is in the module of its name, imported when the
command runs, so that ``graphtide --help`` answers at once. Values are checked where the settings
are loaded, once, whether they come from a flag or a file. Options that several commands have:
``options.py``. How errors end a command: ``failures.py``.
"""

from collections.abc import Sequence
from typing import Any

import click

from .. import __version__
from .bench.commands import bench
from .options import (
    QueryCommand,
    ToldGroup,
    batch_rows_option,
    config_options,
    debug_option,
    graph_options,
    log_argument,
    log_options,
    options_of,
    output_options,
    run_options,
    schedule_options,
)
from .study.commands import study


# The name counts where Dask's command line takes the group in.
@click.group("graphtide", cls=ToldGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="graphtide")
@debug_option
def cli() -> None:
    """Keep a large, changing graph in memory, fed from Parquet update logs.

    Start with `graphtide demo`.
    """


_by_option = click.option(
    "--by", metavar="COLUMN", help="Column of RESULT to go by.  [what it is about]"
)


def _begin_imports_of_workers() -> None:
    """Start what workers are forked from: it imports for a second or two, from now on beside us."""
    from ..pipeline.fork_server import start_fork_server

    start_fork_server()


@cli.command()
@log_argument
@click.option("--state", required=True, metavar="DIR", help="Where the run keeps what it did.")
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
    CSV or JSON lines, here or at any URL. A row inserts or deletes one edge or vertex. STATE holds
    the plan, reports, results and checkpoints; a run that was stopped goes on from there.
    """
    # A file of settings may name a cluster.
    if options["scheduler"] is None and options["config_file"] is None:
        _begin_imports_of_workers()
    from .run import run_log
    from .schedule import Schedule

    schedule = Schedule(follow, every, cron, wait)
    run_log(
        log, state, options,
        quiet=quiet, log_format=log_format, as_json=as_json, schedule=schedule,
    )  # fmt: skip


@cli.command()
@debug_option
def settings() -> None:
    """Print all settings with their defaults, as YAML.

    A file that begins so is one for `graphtide run --config FILE`.
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
    from .demo import run_demo

    run_demo(folder)


@cli.command()
@log_argument
@graph_options
@log_options
@config_options
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@debug_option
def inspect(log: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """List the files of LOG in the order in which a run reads them.

    With formats, columns and their types, partitions, and rows, operations and times by file. LOG
    as for run. Reads the columns op and ts, and changes nothing. A log whose columns a run with the
    same flags would refuse ends with the reason.
    """
    from .inspect import show_log

    show_log(log, options, as_json=as_json)


@cli.command()
@click.argument("state")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--watch", is_flag=True, help="Again each 2 s, until Ctrl-C.")
@debug_option
def status(state: str, as_json: bool, watch: bool) -> None:
    """Show what is applied, the graph's size, and memory.

    STATE may be in use by a run.
    """
    from .status import show_status

    show_status(state, as_json=as_json, watch=watch)


@cli.command()
@click.argument("state")
@click.option(
    "--output",
    metavar="FILE",
    default="graphtide-report.html",
    show_default=True,
    help="Where to write it, over what is there.",
)
@debug_option
def report(state: str, output: str) -> None:
    """Write a page on a state: speed, graph, memory, results.

    One HTML file without scripts, to be mailed or printed, made of what STATE holds: needs no
    cluster and no log, but matplotlib (the extra `plots`). STATE may be in use by a run.
    """
    from .report import write_report

    write_report(state, output)


@cli.command(cls=QueryCommand, context_settings={"ignore_unknown_options": True})
@click.argument("state")
@click.argument("question", nargs=-1, required=True, metavar="QUESTION")
@click.option(
    "--at", type=click.IntRange(0), metavar="BATCH", help="As it was after this batch.  [newest]"
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@debug_option
def query(state: str, question: tuple[str, ...], at: int | None, as_json: bool) -> None:
    """Ask about vertices, edges, paths and results.

    Of the graph of the newest checkpoint, or with --at of the one after an earlier batch, in this
    process, such as `graphtide query STATE "path 5 9"`.
    """
    from .query import show_answer

    show_answer(state, question, at=at, as_json=as_json)


@cli.command()
@click.argument("state")
@click.option(
    "--edges",
    metavar="FILE",
    help="Edges, sorted; .parquet, .csv, .tsv, .txt, .mtx or .graphml (with vertices).",
)
@click.option("--vertices", metavar="FILE", help="Vertices, sorted; likewise, but no .mtx.")
@click.option(
    "--result",
    "results",
    nargs=2,
    multiple=True,
    metavar="NAME FILE",
    help="A result, such as pagerank, a row for each vertex; as vertices.",
)
@click.option(
    "--at", type=click.IntRange(0), metavar="BATCH", help="As it was after this batch.  [newest]"
)
@debug_option
def export(
    state: str,
    edges: str | None,
    vertices: str | None,
    results: tuple[tuple[str, str], ...],
    at: int | None,
) -> None:
    """Write graph and results to files, as they are or were.

    It is that of the newest checkpoint, or with --at the one after an earlier batch.
    Vertices have the ids of the log. An edge of an undirected graph stands once, src <= dst.
    Between two checkpoints, the log after the earlier one is read again; results are those that a
    run wrote, whole or as changes, and without --at the newest.
    """
    if edges is None and vertices is None and not results:
        msg = "nothing to write: give --edges FILE, --vertices FILE or --result NAME FILE"
        raise click.UsageError(msg, click.get_current_context())
    from .export import export_graph

    export_graph(state, edges=edges, vertices=vertices, results=results, at=at)


@cli.command()
@click.argument("state")
@click.argument("result")
@click.option(
    "-n", "count", type=click.IntRange(1), default=10, show_default=True, help="Vertices."
)
@_by_option
@click.option(
    "--at", type=click.IntRange(0), metavar="BATCH", help="As it was after this batch.  [newest]"
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@debug_option
def top(state: str, result: str, count: int, by: str | None, at: int | None, as_json: bool) -> None:
    """Show the vertices with the largest values of a result.

    Of RESULT as a run wrote it, such as `graphtide top STATE pagerank -n 20`. No graph is made.
    """
    from .ranking import show_top

    show_top(state, result, count, by=by, at=at, as_json=as_json)


@cli.command()
@click.argument("state")
@click.option(
    "--output", default="graphtide.svg", show_default=True, metavar="FILE", help=".png or .svg."
)
@click.option("--only", metavar="LIST", help="Columns of the summary, with commas.  [all]")
@debug_option
def plot(state: str, output: str, only: str | None) -> None:
    """Draw metrics over batches: sizes, results, seconds.

    What the summary of STATE has of each applied batch. Needs matplotlib (the extra `plots`).
    """
    from .plot import plot_summary

    names = [name.strip() for name in (only or "").split(",")]
    plot_summary(state, output, [name for name in names if name])


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

    Prints the graph's size and state hash. Nothing is kept but the files asked for.
    """
    from .replay import replay_log

    replay_log(log, to, options, state=state, edges=edges, vertices=vertices)


@cli.command()
@click.argument("state")
@click.option("--engine", metavar="NAME", help="Of the rebuilt graph.  [host]")
@click.option(
    "--layout", metavar="NAME", help="Of the rebuilt graph.  [chain, if the run had runs]"
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@debug_option
def verify(state: str, engine: str | None, layout: str | None, as_json: bool) -> None:
    """Rebuild the graph from the log another way, and compare.

    Compared are all reports, and the state hashes of all checkpoints that are kept. Ends with
    status 1, naming the first batch that differs, or what could not be proven. STATE is not
    changed.
    """
    from .verify import show_proof

    show_proof(state, engine=engine, layout=layout, as_json=as_json)


@cli.command()
@click.argument("state")
@click.argument("result", required=False)
@click.option(
    "--from", "first", type=click.IntRange(0), required=True, metavar="A", help="The graph after …"
)
@click.option(
    "--to",
    "last",
    type=click.IntRange(0),
    required=True,
    metavar="B",
    help="… and after this batch.",
)
@click.option(
    "-n", "count", type=click.IntRange(1), help="With RESULT: vertices of each kind.  [10]"
)
@_by_option
@click.option("--output", metavar="FILE", help="What differs, row by row; .parquet.")
@debug_option
def diff(
    state: str,
    result: str | None,
    first: int,
    last: int,
    count: int | None,
    by: str | None,
    output: str | None,
) -> None:
    """Tell what differs between two batches.

    Without RESULT, of their graphs: counts edges and vertices added and removed, and edges that
    carry other properties. FILE has a row for each: change, src, dst (null for a vertex), and the
    properties after and before.

    With RESULT, such as pagerank, of that: shows the vertices whose values rose and fell most, and
    the largest of those that came and went. FILE has a row for each vertex: vertex, before, after,
    change, and its place before and after, 1 being the largest.
    """
    if result is None:
        if count is not None or by is not None:
            msg = "-n and --by are about a result: name one behind STATE, such as pagerank"
            raise click.UsageError(msg, click.get_current_context())
        from .diff import show_difference

        show_difference(state, first, last, output=output)
        return
    from .ranking import show_rise_and_fall

    show_rise_and_fall(state, result, first, last, count or 10, by=by, output=output)


@cli.command()
@click.argument("state")
@click.option(
    "--forget",
    metavar="NAME",
    multiple=True,
    help="A file, or a batch such as 'batch 7', that stays left out for good; may be repeated.",
)
@debug_option
def requeue(state: str, forget: tuple[str, ...]) -> None:
    """Take in rows and files that were left out, once they are mended.

    Rows lie in STATE/quarantine, with the reason, to be edited or removed there; files where they
    are in the log. Each that a run would take now becomes a new file at the end of the log.
    """
    from .requeue import requeue_rows

    requeue_rows(state, forget)


@cli.command("import")
@click.argument("file")
@click.argument("out")
@click.option(
    "--columns",
    metavar="LIST",
    help="What each field of a line is, such as src,dst,ts; _ for one that is not wanted.  "
    "[by header, else by number and looks]",
)
@debug_option
def import_(file: str, out: str, columns: str | None) -> None:
    """Turn an edge list or a Matrix Market file into a log.

    OUT is the log's folder; the file becomes one more Parquet file in it. Lines have src dst, src
    dst weight, src dst ts (if the third field looks like times) or src dst weight ts; a header or
    --columns says otherwise, and with a column op lines also delete. How the file is read is
    printed, with its first rows.
    """
    from .generate import import_file

    import_file(file, out, columns)


@cli.group()
def generate() -> None:
    """Generate update logs; the same options give the same files."""


_stream_options = options_of(
    click.option("--files", default=4, show_default=True, help="Files of the log."),
    click.option("--repeats", default=0.05, show_default=True, help="Share of repeated inserts."),
    click.option("--deletes", default=0.15, show_default=True, help="Share of edge deletes."),
    click.option(
        "--vertex-deletes", default=0.0, show_default=True, help="Share of vertex deletes."
    ),
    click.option("--properties", is_flag=True, help="With columns weight, type and ts."),
    click.option("--seed", default=0, show_default=True, help="Another seed, another log."),
    debug_option,
)


@generate.command()
@click.argument("out")
@click.option("--rows", default=1_000_000, show_default=True, help="Rows of the log.")
@click.option("--vertices", default=2**17, show_default=True, help="Ids are below this.")
@_stream_options
def uniform(out: str, rows: int, vertices: int, **options: Any) -> None:
    """Edges with uniformly random end points: no hubs."""
    from .generate import generate_uniform

    generate_uniform(out, rows, vertices, options)


@generate.command()
@click.argument("out")
@click.option("--rows", type=int, help="Rows of the log.  [16 for each vertex]")
@click.option("--scale", default=16, show_default=True, help="2**SCALE vertices.")
@_stream_options
def rmat(out: str, rows: int | None, scale: int, **options: Any) -> None:
    """R-MAT edges of Graph500: few hubs, skewed degrees."""
    from .generate import generate_rmat

    generate_rmat(out, rows, scale, options)


_all_edges = click.option("--rows", type=int, help="Rows of the log.  [one for each edge]")
_vertices = click.option("--vertices", default=100_000, show_default=True, help="Vertices.")


@generate.command("watts-strogatz")
@click.argument("out")
@_all_edges
@_vertices
@click.option("--degree", default=16, show_default=True, help="Mean degree, even.")
@click.option("--beta", default=0.1, show_default=True, help="Share of edges that lead anywhere.")
@_stream_options
def watts_strogatz(
    out: str, rows: int | None, vertices: int, degree: int, beta: float, **options: Any
) -> None:
    """A ring, a share of whose edges leads anywhere."""
    from .generate import generate_watts_strogatz

    generate_watts_strogatz(out, rows, vertices, degree, beta, options)


@generate.command("barabasi-albert")
@click.argument("out")
@_all_edges
@_vertices
@click.option("--degree", default=8, show_default=True, help="Edges that a vertex brings.")
@_stream_options
def barabasi_albert(out: str, rows: int | None, vertices: int, degree: int, **options: Any) -> None:
    """New vertices join those with many neighbors: hubs."""
    from .generate import generate_barabasi_albert

    generate_barabasi_albert(out, rows, vertices, degree, options)


@generate.command("watts-alpha")
@click.argument("out")
@_vertices
@click.option("--degree", default=20.0, show_default=True, help="Mean degree.")
@click.option("--alpha", default=1.0, show_default=True, help="0: caves; large: a random graph.")
@click.option("--p", type=float, help="Propensity without common neighbors.  [1 / (n (n - 1))]")
@click.option("--files", default=4, show_default=True, help="Files of the log.")
@click.option("--seed", default=0, show_default=True, help="Another seed, another log.")
@debug_option
def watts_alpha(
    out: str,
    vertices: int,
    degree: float,
    alpha: float,
    p: float | None,
    files: int,
    seed: int,
) -> None:
    """Watts' alpha model: common neighbors become neighbors."""
    from .generate import generate_watts_alpha

    generate_watts_alpha(out, vertices, degree, alpha, p, seed, files)


cli.add_command(bench)
cli.add_command(study)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends the process with the command's exit status."""
    cli.main(args=None if arguments is None else list(arguments), prog_name="graphtide")
