"""The command line: ``graphtide …``, also ``dask graphtide …`` and ``python -m graphtide.flows``.

Options and help are here; what a command does is in the module of its name, imported when the
command runs, so that ``graphtide --help`` answers at once. Values are checked where the settings
are loaded, once, whether they come from a flag or a file. How errors end a command:
``failures.py``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import click

from .. import __version__
from .failures import failures_told, set_debugging

Command = Callable[..., Any]


class ToldCommand(click.Command):
    """A command that ends with one sentence when it fails, wherever it is started."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with failures_told(ctx.command_path):
            return super().invoke(ctx)


class ToldGroup(click.Group):
    """A group of such commands, whose own options are told likewise."""

    command_class = ToldCommand
    group_class = type

    def make_context(self, info_name: str | None, *args: Any, **extra: Any) -> click.Context:
        """Read the options before the command's name."""
        with failures_told(info_name or "graphtide"):
            return super().make_context(info_name, *args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Find the command and run it."""
        with failures_told(ctx.command_path):
            return super().invoke(ctx)


_debug = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=set_debugging,
    help="Show the traceback of an error.",
)


# The name counts where Dask's command line takes the group in.
@click.group("graphtide", cls=ToldGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="graphtide")
@_debug
def cli() -> None:
    """Keep a large, changing graph in memory, fed from Parquet update logs.

    Start with `graphtide demo`.
    """


def _options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several decorators as one; the first stands first in the help."""

    def decorate(function: Command) -> Command:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


_graph_options = _options(
    click.option("--directed/--undirected", default=None, help="Direction of edges.  [directed]"),
    click.option(
        "--records", metavar="KIND", help="simple, weighted or semantic edge records.  [simple]"
    ),
    click.option("--layout", metavar="NAME", help="runs or chain: how adjacencies lie.  [runs]"),
    click.option("--storage", metavar="NAME", help="soa or aos: order of properties.  [soa]"),
    click.option(
        "--engine",
        metavar="NAME",
        help="host, cuda (a GPU), or auto: a GPU if there is one.  [auto]",
    ),
    click.option("--ids", metavar="KIND", help="any int64 ids, or dense small ones.  [any]"),
    click.option(
        "--reverse/--no-reverse",
        default=None,
        help="Keep the reverse adjacency too.  [reverse]",
    ),
    click.option("--self-loops", metavar="RULE", help="drop, keep or reject.  [drop]"),
)

_run_options = _options(
    click.option(
        "--batch-rows",
        type=int,
        metavar="N",
        help="Rows of a batch, at most.  [1000000; 4000000 on a GPU, 8000000 if it converts]",
    ),
    click.option(
        "--analytics",
        metavar="LIST",
        help="pagerank, clustering, both with a comma, or none.  [both]",
    ),
    click.option(
        "--analytics-every", type=int, metavar="N", help="… after every N batches.  [at the end]"
    ),
    click.option(
        "--checkpoint-every",
        metavar="TIME|N",
        help="Checkpoint after this time (60s) or N batches.  [60s]",
    ),
    click.option("--workers", type=int, metavar="N", help="CPU workers of the local cluster."),
    click.option("--scheduler", metavar="ADDRESS", help="Use this Dask cluster instead."),
    click.option("--graph-worker", metavar="NAME", help="Its worker that holds the graph."),
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


@cli.command()
@click.argument("log")
@click.option("--state", required=True, metavar="DIR", help="Where the run keeps what it did.")
@_graph_options
@_run_options
@_debug
def run(log: str, state: str, **options: Any) -> None:
    """Apply every batch of LOG that is not applied yet, then stop.

    LOG is a folder (or URL) of Parquet files: a row inserts or deletes one edge or vertex. STATE
    holds the plan, reports, results and checkpoints; a run that was stopped goes on from there.
    """
    from .run import run_log

    run_log(log, state, options)


@cli.command()
@click.argument("folder", required=False)
@_debug
def demo(folder: str | None) -> None:
    """Generate a small log, run it, and show the results.

    It runs on a cluster of this machine. Files go into FOLDER, which must be new or empty; without
    it, into a new temporary folder.
    """
    from .demo import run_demo

    run_demo(folder)


@cli.command()
@click.argument("state")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@_debug
def status(state: str, as_json: bool) -> None:
    """Show what is applied, the graph's size, and memory.

    STATE may be in use by a run.
    """
    from .status import show_status

    show_status(state, as_json=as_json)


@cli.command()
@click.argument("state")
@click.option("--edges", metavar="FILE", help="Edges, sorted; .parquet, .csv, .tsv, .txt or .mtx.")
@click.option("--vertices", metavar="FILE", help="Vertices, sorted; likewise, but no .mtx.")
@_debug
def export(state: str, edges: str | None, vertices: str | None) -> None:
    """Write the graph of the newest checkpoint to files.

    Vertices have the ids of the log. An edge of an undirected graph stands once, src <= dst.
    """
    if edges is None and vertices is None:
        msg = "nothing to write: give --edges FILE, --vertices FILE, or both"
        raise click.UsageError(msg, click.get_current_context())
    from .export import export_graph

    export_graph(state, edges=edges, vertices=vertices)


@cli.command("import")
@click.argument("file")
@click.argument("out")
@click.option(
    "--columns",
    metavar="LIST",
    help="What each field of a line is, such as src,dst,weight; nothing between two commas: "
    "not wanted.  [by header or number]",
)
@_debug
def import_(file: str, out: str, columns: str | None) -> None:
    """Turn an edge list or a Matrix Market file into a log.

    OUT is the log's folder; the file's edges become one more Parquet file of inserts in it.
    """
    from .generate import import_file

    import_file(file, out, columns)


@cli.group()
def generate() -> None:
    """Generate update logs; the same options give the same files."""


_stream_options = _options(
    click.option("--files", default=4, show_default=True, help="Files of the log."),
    click.option("--repeats", default=0.05, show_default=True, help="Share of repeated inserts."),
    click.option("--deletes", default=0.15, show_default=True, help="Share of edge deletes."),
    click.option(
        "--vertex-deletes", default=0.0, show_default=True, help="Share of vertex deletes."
    ),
    click.option("--properties", is_flag=True, help="With columns weight, type and ts."),
    click.option("--seed", default=0, show_default=True, help="Another seed, another log."),
    _debug,
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
    """R-MAT edges with Graph500's parameters: few hubs, skewed degrees."""
    from .generate import generate_rmat

    generate_rmat(out, rows, scale, options)


@cli.group()
def bench() -> None:
    """Measure this machine, in tables of Markdown."""


_bench_options = _options(
    click.argument("workloads", nargs=-1),
    click.option(
        "--engine", default="auto", show_default=True, metavar="NAME", help="auto, cuda or host."
    ),
    click.option("--repeats", default=11, show_default=True, help="Rounds kept."),
    click.option(
        "--smaller", default=0, show_default=True, help="Take this many bits off every size."
    ),
    _debug,
)


@bench.command("updates")
@_bench_options
def bench_updates(workloads: tuple[str, ...], engine: str, repeats: int, smaller: int) -> None:
    """Time batches of inserts and deletes, beside a rebuild.

    WORKLOADS are names such as G4; all where none is given.
    """
    from .bench.updates import bench_updates as measure

    measure(engine, workloads, repeats=repeats, smaller=smaller)


@bench.command("analytics")
@_bench_options
def bench_analytics(workloads: tuple[str, ...], engine: str, repeats: int, smaller: int) -> None:
    """Time PageRank and triangles, beside a sparse product.

    WORKLOADS are names such as G4; all but G3b and G5 where none is given.
    """
    from .bench.analytics import bench_analytics as measure

    measure(engine, workloads, repeats=repeats, smaller=smaller)


@bench.command("ageing")
@click.option("--batches", default=1000, show_default=True, help="Batches to age by.")
@_bench_options
def bench_ageing(
    workloads: tuple[str, ...], engine: str, repeats: int, smaller: int, batches: int
) -> None:
    """Time a graph after many batches, beside a fresh one.

    WORKLOADS are names such as G3; G4 where none is given.
    """
    from .bench.ageing import bench_ageing as measure

    measure(engine, workloads, repeats=repeats, smaller=smaller, batches=batches)


@bench.command("pipeline")
@click.option("--rows", default=20_000_000, show_default=True, help="Distinct rows of the log.")
@click.option("--file-rows", default=4_000_000, show_default=True, help="Rows of a file.")
@click.option("--passes", default=1, show_default=True, help="Times that the files come.")
@click.option(
    "--edges", default="uniform", show_default=True, metavar="NAME", help="uniform or rmat."
)
@click.option("--scale", default=20, show_default=True, help="2**SCALE vertices.")
@click.option("--repeated", default=0.05, show_default=True, help="Share of repeated inserts.")
@click.option("--deletes", default=0.1, show_default=True, help="Share of edge deletes.")
@click.option("--properties", is_flag=True, help="With columns weight, type and ts.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of the runs.  [ids=dense, reverse=false]",
)
@click.option(
    "--compare",
    "compared",
    multiple=True,
    metavar="KEY=VALUE,VALUE",
    help="Run with each value of a setting, such as handover=dask,ring.",
)
@click.option("--repeats", default=3, show_default=True, help="Rounds kept.")
@click.option("--folder", metavar="DIR", help="Where the log is generated.  [temporary]")
@click.option("--cold", "is_cold", is_flag=True, help="Read the files from the disk.")
@click.option(
    "--check/--no-check",
    "is_checked",
    default=True,
    help="Compare each graph with a replay.  [check]",
)
@_debug
def bench_pipeline(
    assignments: tuple[str, ...],
    compared: tuple[str, ...],
    repeats: int,
    folder: str | None,
    is_cold: bool,
    is_checked: bool,
    **shape: Any,
) -> None:
    """Time runs from Parquet files to committed edges, by stage.

    A log is generated and applied on new local clusters. Prints rates, what each stage takes, and
    how busy the workers are.
    """
    from .bench.pipeline import LogShape
    from .bench.pipeline import bench_pipeline as measure

    measure(
        LogShape(**shape), assignments, compared,
        repeats=repeats, folder=folder, is_cold=is_cold, is_checked=is_checked,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``graphtide``; ends the process with the command's exit status."""
    cli.main(args=None if arguments is None else list(arguments), prog_name="graphtide")


if __name__ == "__main__":
    main()
