"""``graphtide demo``: a small log, a real local cluster, and what comes out, in one minute."""

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..config.settings import GraphSettings, load_settings
from ..gpu_core.generators.rmat import rmat_edges
from .generate import empty_folder, write_log
from .progress import ProgressLine
from .run import is_compiled, stopped_cleanly
from .summary import clustering_text, fates, graph_text, speed_text, top_ranks
from .text import counted, duration, line

if TYPE_CHECKING:
    from ..pipeline.run_files import RunSummary

ROWS = 300_000
FILES = 4
SCALE = 14
BATCH_ROWS = 25_000
ANALYTICS_EVERY = 4
_SHARES = {"repeats": 0.05, "deletes": 0.15, "vertex_deletes": 0.001}


def run_demo(folder: str | None) -> None:
    """Generate, run and show."""
    base = _folder(folder)
    log, state = base / "log", base / "state"
    _generate(log)
    settings = load_settings(
        {
            "batch_rows": BATCH_ROWS,
            "analytics": ["pagerank", "clustering"],
            "analytics_every": ANALYTICS_EVERY,
        }
    )
    click.echo(line("cluster", "starting Dask workers on this machine"))
    if not is_compiled():
        click.echo(
            line(
                "",
                "the first run compiles its kernels, which takes up to a minute; later runs do not",
            )
        )
    start = time.monotonic()
    with ProgressLine() as progress, stopped_cleanly(str(state), f"remove {base}"):
        from ..pipeline.ingest import run

        summary = run(str(log), str(state), settings, progress.show)
    _show(summary, time.monotonic() - start, settings.graph)
    click.echo(line("log", str(log), wrap=False))
    click.echo(line("results", str(state / "results"), wrap=False))
    click.echo(line("next", f"graphtide status {state}", wrap=False))
    click.echo(line("", f"graphtide export {state} --edges edges.csv", wrap=False))


def _generate(log: Path) -> None:
    click.echo(line("log", f"{ROWS:,} rows in {FILES} Parquet files: inserts, repeats, deletes"))
    write_log(
        str(log),
        partial(rmat_edges, scale=SCALE, seed=1),
        ROWS,
        files=FILES,
        properties=False,
        seed=1,
        quiet=True,
        **_SHARES,
    )


def _show(summary: "RunSummary", seconds: float, graph: GraphSettings) -> None:
    """What a run came to that took so many seconds, its cluster included; ends with a gap."""
    batches = counted(summary.batches_applied, "batch", "batches")
    all_in_all = f"{duration(seconds)} with start and end of the cluster"
    click.echo(line("applied", f"{batches} in {speed_text(summary)}, {all_in_all}"))
    click.echo(line("rows", fates(summary.reports)))
    size = graph_text(
        summary.num_vertices,
        summary.num_edges,
        directed=graph.directed,
        records=graph.records,
    )
    click.echo(line("graph", size))
    results = {path.name: path for path in summary.results}
    click.echo(line("triangles", clustering_text(results["clustering.parquet"])))
    click.echo()
    click.echo("    vertex   PageRank")
    for vertex, rank in top_ranks(results["pagerank.parquet"], 5):
        click.echo(f"{vertex:>10}   {rank:.6f}  {'▇' * round(rank * 2000)}"[:79])
    click.echo()


def _folder(name: str | None) -> Path:
    if name is None:
        return Path(tempfile.mkdtemp(prefix="graphtide-demo-"))
    return empty_folder(name)
