"""Commands of ``graphtide study``: options and help. What they measure: modules of their names.

Those on aimGraph's structure are in `aimgraph/`. Modules are imported when their command runs.
"""

from typing import Any

import click

from ..options import ReportingGroup, debug_option, options_of
from .study_options import StudyOptions


@click.group(cls=ReportingGroup)
def study() -> None:
    """Repeat the papers' studies, on every layout."""


_engine_option = click.option(
    "--engine", default="auto", show_default=True, metavar="NAME", help="auto, cuda or host."
)
_plot_option = click.option("--plot", metavar="FILE", help="Draw it, too: .png, .svg or .pdf.")

_measured_options = options_of(
    click.argument("workloads", nargs=-1),
    click.option("--repeats", default=3, show_default=True, help="Measured repeats."),
    click.option(
        "--smaller", default=6, show_default=True, help="Divide every size by 2**SMALLER."
    ),
    _plot_option,
    debug_option,
)
_workload_options = options_of(_engine_option, _measured_options)


@study.command("memory")
@_engine_option
@click.option("--scale", default=11, show_default=True, help="2**SCALE vertices.")
@click.option("--rounds", default=100, show_default=True, help="Rounds of updates.")
@click.option("--page-bytes", type=int, help="Page size of all but runs.  [what suits each]")
@_plot_option
@debug_option
def study_memory(
    engine: str, scale: int, rounds: int, page_bytes: int | None, plot: str | None
) -> None:
    """Count pages over rounds of updates.

    The updates are uniform, sweep over the vertices, or are random; pages are counted
    as they are, and as if rows kept emptied ones. A batch has ten rows a vertex.
    """
    from .memory import study_memory as measure

    measure(engine, scale=scale, rounds=rounds, page_bytes=page_bytes, plot=plot)


@study.command("updates")
@_workload_options
def study_updates(engine: str, **measured: Any) -> None:
    """Time inserts and deletes by the size of batches.

    Also initialization, inserts and deletes in one batch, and vertices.

    WORKLOADS are names such as G3; G1, G2 and G3 where none is given.
    """
    from .updates import study_updates as measure

    measure(engine, StudyOptions(**measured))


@study.command("overallocation")
@_workload_options
def study_overallocation(engine: str, **measured: Any) -> None:
    """Time inserts by the free capacity of rows.

    On the layout runs with pages of 16 to 512 bytes: free capacity of a row in
    entries, rows that an insert moves, memory.

    WORKLOADS are names such as G3; G1, G3 and G4 where none is given.
    """
    from .overallocation import study_overallocation as measure

    measure(engine, StudyOptions(**measured))


@study.command("distributions")
@_measured_options
@click.option("--page-bytes", default=128, show_default=True, help="Page size.")
@click.option("--distribution", "chosen", multiple=True, metavar="NAME", help="… alone.  [all]")
@click.option(
    "--compaction/--no-compaction", default=True, help="Of rows, by deletes.  [compaction]"
)
def study_distributions(
    page_bytes: int, chosen: tuple[str, ...], *, compaction: bool, **measured: Any
) -> None:
    """Time aimGraph's distributions of work on a GPU.

    A thread or a warp for each update, 1 to 128 threads for each row, or a thread or
    a warp for each page; inserts and deletes in one launch and in two; beside our
    chain. Then the pages that rows have after deletes, compacted or not.

    WORKLOADS are names such as G3; G1, G2 and G3 where none is given.
    """
    from .aimgraph.distributions import study_distributions as measure

    measure(StudyOptions(**measured), page_bytes=page_bytes, chosen=chosen, compacts=compaction)


@study.command("pagerank")
@_measured_options
@click.option("--form", "forms", multiple=True, metavar="NAME", help="… alone.  [all]")
@click.option("--page-bytes", default=128, show_default=True, help="Page size.")
def study_pagerank(forms: tuple[str, ...], page_bytes: int, **measured: Any) -> None:
    """Time PageRank on aimGraph's structure on a GPU.

    A thread for each vertex (naive) or page (balanced), or a warp for each page
    (combined); beside ours.

    WORKLOADS are names such as G3; G1, G2, G3 and G4 where none is given.
    """
    from .aimgraph.pagerank import study_pagerank as measure

    measure(StudyOptions(**measured), forms=forms, page_bytes=page_bytes)


@study.command("triangles")
@_measured_options
@click.option("--form", "forms", multiple=True, metavar="NAME", help="… alone.  [all]")
@click.option("--page-bytes", default=128, show_default=True, help="Page size.")
def study_triangles(forms: tuple[str, ...], page_bytes: int, **measured: Any) -> None:
    """Time triangles on aimGraph's structure on a GPU.

    A thread for each vertex (naive) or page (balanced), a warp for each vertex
    (warpsized) or page (combined); on unsorted and sorted rows; beside ours.

    WORKLOADS are names such as G4; G1, G2 and G4 where none is given.
    """
    from .aimgraph.triangles import study_triangles as measure

    measure(StudyOptions(**measured), forms=forms, page_bytes=page_bytes)


@study.command("small-world")
@click.option("--vertices", default=500, show_default=True, help="Vertices.")
@click.option("--degree", default=10.0, show_default=True, help="Mean degree.")
@click.option("--graphs", default=3, show_default=True, help="Graphs for each alpha.")
@_plot_option
@debug_option
def study_small_world(vertices: int, degree: float, graphs: int, plot: str | None) -> None:
    """Compute clustering and distances over Watts' alpha."""
    from .small_world import study_small_world as measure

    measure(vertices, degree, graphs=graphs, plot=plot)


@study.command("generation")
@_engine_option
@click.option("--smaller", default=10, show_default=True, help="Divide vertices by this.")
@_plot_option
@debug_option
def study_generation(engine: str, smaller: int, plot: str | None) -> None:
    """Time the alpha model over vertices and degrees.

    On the host and, if there is one, on a GPU, where either kernels or the host
    allocate the memory of rows.
    """
    from .generation import study_generation as measure

    measure(engine, smaller=smaller, plot=plot)


@study.command("queries")
@_workload_options
def study_queries(engine: str, **measured: Any) -> None:
    """Time look-ups, scans, PageRank and triangles.

    WORKLOADS are names such as G3; G1 and G3 where none is given.
    """
    from .queries import study_queries as measure

    measure(engine, StudyOptions(**measured))


@study.command("remapping")
@_workload_options
def study_remapping(engine: str, **measured: Any) -> None:
    """Time programs on rows sorted by degree and remapped.

    Times are of a GPU: plain rows, sorted by buckets of a linear projection or of the
    logarithm, remapped, both. Busy lanes and memory follow from row lengths alone,
    on any machine.

    WORKLOADS are names such as G3; G2, G3 and G4 where none is given.
    """
    from .remapping import study_remapping as measure

    measure(engine, StudyOptions(**measured))


@study.command("stress")
@click.option(
    "--engine",
    default="auto",
    metavar="NAME",
    help="cuda or host.  [host, and cuda where there is a GPU]",
)
@click.option("--layout", "layouts", multiple=True, metavar="NAME", help="… alone.  [all]")
@click.option("--batches", default=1000, show_default=True, help="Batches.")
@click.option("--rows", default=2000, show_default=True, help="Rows of the largest batches.")
@click.option("--scale", default=12, show_default=True, help="2**SCALE vertices.")
@click.option("--seed", default=1, show_default=True, help="Another seed, other batches.")
@click.option("--records", default="simple", show_default=True, metavar="NAME", help="Of edges.")
@click.option("--ids", default="dense", show_default=True, metavar="KIND", help="any or dense.")
@click.option("--directed/--undirected", default=True, help="Of edges.  [directed]")
@click.option("--reverse/--no-reverse", default=True, help="Keep in-neighbors.  [reverse]")
@click.option("--page-bytes", type=int, help="Page size of all but runs.  [what suits each]")
@debug_option
def study_stress(engine: str, layouts: tuple[str, ...], **shape: Any) -> None:
    """Apply mixed batches to all layouts, and compare all.

    Batches have hubs and vertex deletes. After each, all are compared with a graph
    made of Python dictionaries.
    """
    from .stress import Stress
    from .stress import study_stress as measure

    measure(engine, layouts, Stress(**shape))
