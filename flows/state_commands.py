"""Commands that read a state, what a run keeps: options and help, as in `cli.py`.

What a command does is in the module of its name, or in `ranking.py` where it is about the largest
values of a result; imported when the command runs.
"""

import click

from .options import QueryCommand, StateCommand, at_option, debug_option, json_option

_by_option = click.option(
    "--by", metavar="COLUMN", help="Column of RESULT to go by.  [what it is about]"
)


@click.command(cls=StateCommand)
@click.argument("state")
@json_option
@click.option("--watch", is_flag=True, help="Again each 2 s, until Ctrl-C.")
@debug_option
def status(state: str, as_json: bool, watch: bool) -> None:
    """Show what is applied, the graph's size, and memory.

    STATE may be in use by a run. Ends with status 1 where something in it is damaged or missing,
    which is named.
    """
    from .commands.status import show_status

    show_status(state, as_json=as_json, watch=watch)


@click.command(cls=StateCommand)
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
    from .commands.report.report import write_report

    write_report(state, output)


@click.command(cls=QueryCommand, context_settings={"ignore_unknown_options": True})
@click.argument("state")
@click.argument("question", nargs=-1, required=True, metavar="QUESTION")
@at_option
@json_option
@debug_option
def query(state: str, question: tuple[str, ...], at: int | None, as_json: bool) -> None:
    """Ask about vertices, edges, paths and results.

    Of the graph of the newest checkpoint, or with --at of the one after an earlier batch, in this
    process, such as `graphtide query STATE "path 5 9"`.
    """
    from .commands.query import show_answer

    show_answer(state, question, at=at, as_json=as_json)


@click.command(cls=StateCommand)
@click.argument("state")
@click.option(
    "--edges",
    metavar="FILE",
    help="Edges, sorted; .parquet, .csv, .tsv, .txt, .mtx or .graphml (with vertices); text also "
    "packed, as .csv.gz.",
)
@click.option("--vertices", metavar="FILE", help="Vertices, sorted; .parquet, .csv, .tsv or .txt.")
@click.option(
    "--result",
    "results",
    nargs=2,
    multiple=True,
    metavar="NAME FILE",
    help="A result, such as pagerank, a row for each vertex; as vertices.",
)
@at_option
@debug_option
def export(
    state: str,
    edges: str | None,
    vertices: str | None,
    results: tuple[tuple[str, str], ...],
    at: int | None,
) -> None:
    """Write graph and results to files, as they are or were.

    The graph is that of the newest checkpoint, or with --at the one after an earlier batch.
    Vertices have the ids of the log. An undirected edge is written once, with src <= dst.
    Between two checkpoints, the log after the earlier one is read again; results are those that a
    run wrote, whole or as changes, and without --at the newest. Missing folders of FILE are
    created.
    """
    if edges is None and vertices is None and not results:
        msg = "nothing to write: give --edges FILE, --vertices FILE or --result NAME FILE"
        raise click.UsageError(msg, click.get_current_context())
    from .commands.export import export_graph

    export_graph(state, edges=edges, vertices=vertices, results=results, at=at)


@click.command(cls=StateCommand)
@click.argument("state")
@click.argument("result")
@click.option(
    "-n", "count", type=click.IntRange(1), metavar="N", default=10, help="Vertices.  [10]"
)
@_by_option
@at_option
@json_option
@debug_option
def top(state: str, result: str, count: int, by: str | None, at: int | None, as_json: bool) -> None:
    """Show the vertices with the largest values of a result.

    Of RESULT as a run wrote it, such as `graphtide top STATE pagerank -n 20`. No graph is made.
    """
    from .commands.ranking import show_top

    show_top(state, result, count, by=by, at=at, as_json=as_json)


@click.command(cls=StateCommand)
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
    from .commands.plot import plot_summary

    names = [name.strip() for name in (only or "").split(",")]
    plot_summary(state, output, [name for name in names if name])


@click.command(cls=StateCommand)
@click.argument("state")
@click.option("--engine", metavar="NAME", help="Of the rebuilt graph.  [host]")
@click.option(
    "--layout", metavar="NAME", help="Of the rebuilt graph.  [chain, if the run had runs]"
)
@json_option
@debug_option
def verify(state: str, engine: str | None, layout: str | None, as_json: bool) -> None:
    """Rebuild the graph from the log in another layout, and compare.

    All reports are compared, and the state hashes of all checkpoints that are kept. Ends with
    status 1, naming the first batch that differs, or what could not be proven. STATE is not
    changed.
    """
    from .commands.verify import show_proof

    show_proof(state, engine=engine, layout=layout, as_json=as_json)


@click.command(cls=StateCommand)
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
    "-n",
    "count",
    type=click.IntRange(1),
    metavar="N",
    help="With RESULT: vertices of each kind.  [10]",
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
    """Show what differs between two batches.

    Without RESULT, of their graphs: counts edges and vertices added and removed, and edges whose
    properties changed. FILE has a row for each: change, src, dst (null for a vertex), and the
    properties after and before.

    With RESULT, such as pagerank, of that: shows the vertices whose values rose and fell most, and
    the largest of those that came and went. FILE has a row for each vertex: vertex, before, after,
    change, and its place before and after, 1 being the largest.
    """
    if result is None:
        if count is not None or by is not None:
            msg = "-n and --by are about a result: name one after STATE, such as pagerank"
            raise click.UsageError(msg, click.get_current_context())
        from .commands.diff import show_difference

        show_difference(state, first, last, output=output)
        return
    from .commands.ranking import show_rise_and_fall

    show_rise_and_fall(state, result, first, last, count or 10, by=by, output=output)


@click.command(cls=StateCommand)
@click.argument("state")
@click.option(
    "--forget",
    metavar="NAME",
    multiple=True,
    help="A file, or a batch such as 'batch 7', that stays left out for good; may be repeated.",
)
@debug_option
def requeue(state: str, forget: tuple[str, ...]) -> None:
    """Take in rows and files that were left out, once corrected.

    Correct or remove rows in STATE/quarantine, where each has its reason, and files in the log.
    What a run would take now becomes new files at the end of the log.
    """
    from .commands.requeue import requeue_rows

    requeue_rows(state, forget)


STATE_COMMANDS = (status, report, query, export, top, plot, verify, diff, requeue)
