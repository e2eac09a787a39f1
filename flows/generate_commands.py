"""Commands of ``graphtide generate``: options and help. What they write: `generate.py`."""

from typing import Any

import click

from .options import ReportingGroup, debug_option, options_of


@click.group(cls=ReportingGroup)
def generate() -> None:
    """Generate update logs; the same options give the same files.

    Rows that repeat or delete take the place of edges: a graph of a model is whole
    with --repeats 0 --deletes 0.
    """


_files_option = click.option(
    "--files", type=int, help="Files of the log.  [4; as many as rows, if these are fewer]"
)

_stream_options = options_of(
    _files_option,
    click.option(
        "--stream",
        type=click.Choice(["random", "sweep", "sliding-window"]),
        default="random",
        show_default=True,
        help="What rows are about: any edges; sources part by part (uniform and rmat alone); "
        "inserts, and deletes of the oldest.",
    ),
    click.option("--window", type=int, help="Edges of sliding-window.  [a quarter of the rows]"),
    click.option("--repeats", type=float, help="Share of repeated inserts.  [0.05]"),
    click.option("--deletes", type=float, help="Share of edge deletes.  [0.15]"),
    click.option("--vertex-deletes", type=float, help="Share of vertex deletes.  [0]"),
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
    from .commands.generate import generate_uniform

    generate_uniform(out, rows, vertices, options)


@generate.command()
@click.argument("out")
@click.option("--rows", type=int, help="Rows of the log.  [16 for each vertex]")
@click.option("--scale", default=16, show_default=True, help="2**SCALE vertices.")
@_stream_options
def rmat(out: str, rows: int | None, scale: int, **options: Any) -> None:
    """R-MAT edges of Graph500: few hubs, skewed degrees."""
    from .commands.generate import generate_rmat

    generate_rmat(out, rows, scale, options)


_all_edges = click.option("--rows", type=int, help="Rows of the log.  [one for each edge]")
_vertices = click.option("--vertices", default=100_000, show_default=True, help="Vertices.")


@generate.command("erdos-renyi")
@click.argument("out")
@_all_edges
@_vertices
@click.option("--degree", default=16, show_default=True, help="Mean degree.")
@_stream_options
def erdos_renyi(out: str, rows: int | None, vertices: int, degree: int, **options: Any) -> None:
    """Pairs of all that there are, none twice."""
    from .commands.generate import generate_erdos_renyi

    generate_erdos_renyi(out, rows, vertices, degree, options)


@generate.command()
@click.argument("out")
@_all_edges
@_vertices
@click.option("--degree", default=13.0, show_default=True, help="Mean degree away from the border.")
@_stream_options
def geometric(out: str, rows: int | None, vertices: int, degree: float, **options: Any) -> None:
    """Points of a square, joined with those near them."""
    from .commands.generate import generate_geometric

    generate_geometric(out, rows, vertices, degree, options)


@generate.command()
@click.argument("out")
@_all_edges
@_vertices
@click.option("--width", type=int, help="Vertices of a line.  [as many as lines]")
@_stream_options
def grid(out: str, rows: int | None, vertices: int, width: int | None, **options: Any) -> None:
    """A square grid; the seed draws repeats and deletes."""
    from .commands.generate import generate_grid

    generate_grid(out, rows, vertices, width, options)


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
    from .commands.generate import generate_watts_strogatz

    generate_watts_strogatz(out, rows, vertices, degree, beta, options)


@generate.command("barabasi-albert")
@click.argument("out")
@_all_edges
@_vertices
@click.option("--degree", default=8, show_default=True, help="Edges that a vertex brings.")
@_stream_options
def barabasi_albert(out: str, rows: int | None, vertices: int, degree: int, **options: Any) -> None:
    """New vertices join those with many neighbors: hubs."""
    from .commands.generate import generate_barabasi_albert

    generate_barabasi_albert(out, rows, vertices, degree, options)


@generate.command("watts-alpha")
@click.argument("out")
@click.option("--rows", type=int, help="Rows of the log, the first ones.  [one for each edge]")
@_vertices
@click.option("--degree", default=20.0, show_default=True, help="Mean degree.")
@click.option("--alpha", default=1.0, show_default=True, help="0: caves; large: a random graph.")
@click.option("--p", type=float, help="Propensity without common neighbors.  [1 / (n (n - 1))]")
@click.option(
    "--engine", default="host", show_default=True, metavar="NAME",
    help="auto, cuda or host; the log is the same.",
)  # fmt: skip
@_files_option
@click.option("--seed", default=0, show_default=True, help="Another seed, another log.")
@debug_option
def watts_alpha(out: str, rows: int | None, files: int | None, vertices: int, **model: Any) -> None:
    """Watts' alpha model: common neighbors become neighbors."""
    from .commands.generate import generate_watts_alpha

    generate_watts_alpha(out, rows, files, vertices, model)
