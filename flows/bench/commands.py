"""Commands of ``graphtide bench``: options and help. What they measure: modules of their names.

Those of algorithms are in `algorithms/`. Like those of the command line (`flows/cli.py`), modules
are imported when their command runs.
"""

from typing import Any

import click

from ..options import ReportingGroup, debug_option, options_of
from .bench_options import BenchOptions


@click.group(cls=ReportingGroup)
def bench() -> None:
    """Measure this machine, in tables of Markdown."""


_bench_options = options_of(
    click.argument("workloads", nargs=-1),
    click.option(
        "--engine", default="auto", show_default=True, metavar="NAME", help="auto, cuda or host."
    ),
    click.option("--repeats", default=11, show_default=True, help="Measured repeats."),
    click.option(
        "--smaller", default=0, show_default=True, help="Divide every size by 2**SMALLER."
    ),
    debug_option,
)


@bench.command("updates")
@_bench_options
@click.option(
    "--layout", default="runs", show_default=True, metavar="NAME", help="runs, chain or tree."
)
def bench_updates(layout: str, **measured: Any) -> None:
    """Time batches of inserts and deletes, beside a rebuild.

    WORKLOADS are names such as G4; all where none is given.
    """
    from .updates import bench_updates as measure

    measure(BenchOptions(**measured), layout=layout)


@bench.command("analytics")
@_bench_options
def bench_analytics(**measured: Any) -> None:
    """Time PageRank, triangles and BFS, beside a sparse product.

    WORKLOADS are names such as G4; all but G3b and G5 where none is given.
    """
    from .algorithms.analytics import bench_analytics as measure

    measure(BenchOptions(**measured))


@bench.command("maintained")
@_bench_options
def bench_maintained(**measured: Any) -> None:
    """Time maintained clustering, PageRank and components.

    Repairs beside recounts, and beside PageRank that starts from the ranks before.

    WORKLOADS are names such as G3; all but G3b and G5 where none is given.
    """
    from .algorithms.maintained import bench_maintained as measure

    measure(BenchOptions(**measured))


@bench.command("traversals")
@_bench_options
def bench_traversals(**measured: Any) -> None:
    """Time components, paths, cores, Katz centrality.

    Beside other packages.

    WORKLOADS are names such as G4; G1 and G3 where none is given.
    """
    from .algorithms.traversals import bench_traversals as measure

    measure(BenchOptions(**measured))


@bench.command("sizes")
@_bench_options
def bench_sizes(**measured: Any) -> None:
    """Time updates and analytics over the graph's size.

    From a million entries to a thousand million; --smaller 5 ends at 32 million.

    WORKLOADS are names such as G4; G3 and G4 where none is given.
    """
    from .sizes import bench_sizes as measure

    measure(BenchOptions(**measured))


@bench.command("structure")
@_bench_options
def bench_structure(**measured: Any) -> None:
    """Time strong components, communities, betweenness.

    Also parents of a search and Jaccard coefficients; beside other packages.

    WORKLOADS are names such as G4; G1 and G3 where none is given.
    """
    from .algorithms.structure import bench_structure as measure

    measure(BenchOptions(**measured))


@bench.command("programs")
@_bench_options
def bench_programs(**measured: Any) -> None:
    """Time algorithms as programs, operators, methods.

    WORKLOADS are names such as G4; G1, G2 and G3 where none is given.
    """
    from .algorithms.programs import bench_programs as measure

    measure(BenchOptions(**measured))


@bench.command("ageing")
@click.option("--batches", default=1000, show_default=True, help="Batches to age by.")
@_bench_options
def bench_ageing(batches: int, **measured: Any) -> None:
    """Time a graph after many batches, beside a fresh one.

    WORKLOADS are names such as G3; G4 where none is given.
    """
    from .ageing import bench_ageing as measure

    measure(BenchOptions(**measured), batches=batches)


@bench.command("expiry")
@_bench_options
def bench_expiry(**measured: Any) -> None:
    """Time edges that expire, beside deletes by rows.

    WORKLOADS are names such as G3; G4 where none is given.
    """
    from .expiry import bench_expiry as measure

    measure(BenchOptions(**measured))


@bench.command("start")
@click.option("--rows", default=4_000_000, show_default=True, help="Rows of the log.")
@click.option("--repeats", default=5, show_default=True, help="Warm runs.")
@click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="A setting.  [ids=dense]"
)
@debug_option
def bench_start(rows: int, repeats: int, assignments: tuple[str, ...]) -> None:
    """Time a short run from the command to its end, by stage.

    Cold, with nothing compiled, and warm.
    """
    from .start import bench_start as measure

    measure(rows, assignments, repeats=repeats)


@bench.command("follow")
@click.option("--rows", default=1_000_000, show_default=True, help="Rows of a file.")
@click.option("--files", default=11, show_default=True, help="Files that are timed.")
@click.option(
    "--first-rows", default=1_000_000, show_default=True, help="Rows that the log begins with."
)
@click.option("--scale", default=20, show_default=True, help="2**SCALE vertices.")
@click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="A setting of the run."
)
@debug_option
def bench_follow(
    rows: int, files: int, first_rows: int, scale: int, assignments: tuple[str, ...]
) -> None:
    """Time files of a followed log until they are kept.

    With the part that each step takes.
    """
    from .follow import bench_follow as measure

    measure(rows, files, first_rows, scale, assignments)


@bench.command("layouts")
@_bench_options
@click.option("--page-bytes", type=int, help="Page size of all but runs.  [what suits each]")
def bench_layouts(page_bytes: int | None, **measured: Any) -> None:
    """Compare runs, chains and trees.

    Updates, scans, queries, memory.

    WORKLOADS are names such as G3; G4 where none is given.
    """
    from .layouts import bench_layouts as measure

    measure(BenchOptions(**measured), page_bytes=page_bytes)


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
@click.option("--repeats", default=3, show_default=True, help="Measured repeats.")
@click.option("--folder", metavar="DIR", help="Where the log is generated.  [temporary]")
@click.option("--cold", "is_cold", is_flag=True, help="Read the files from the disk.")
@click.option(
    "--check/--no-check",
    "is_checked",
    default=True,
    help="Compare each graph with a replay.  [check]",
)
@debug_option
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
    from .pipeline import LogShape
    from .pipeline import bench_pipeline as measure

    measure(
        LogShape(**shape), assignments, compared,
        repeats=repeats, folder=folder, is_cold=is_cold, is_checked=is_checked,
    )  # fmt: skip
