"""``graphtide demo``: a small log, a real local cluster, and what comes out, in one minute."""

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...config.settings import GraphSettings, load_settings
from ...gpu_core.algorithms.registry import analytic_named
from ...gpu_core.generators.rmat import rmat_edges
from ...gpu_core.generators.update_streams import UpdateMix
from ...gpu_core.printable import counted
from ..printing.run_reports import reporter_for
from ..printing.summary import fates, graph_text, result_summaries, speed_text
from ..printing.text import command, duration, line
from .generate import empty_folder, write_log
from .run import stopped_cleanly

if TYPE_CHECKING:
    from ...pipeline.run_summary import RunSummary

ROWS = 300_000
FILES = 4
SCALE = 14
BATCH_ROWS = 25_000
ANALYTICS_EVERY = 4
_MIX = UpdateMix(repeats=0.05, deletes=0.15, vertex_deletes=0.001)


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
            # It would be gone before anybody has opened it.
            "dashboard": False,
        }
    )
    click.echo(line("cluster", "starting Dask workers on this machine"))
    start = time.monotonic()
    with reporter_for() as reporter, stopped_cleanly(str(state), f"remove {base}"):
        from ...pipeline.ingest import run

        summary = run(str(log), str(state), settings, reporter.show)
    _show(summary, time.monotonic() - start, settings.graph)
    click.echo(line("log", str(log), wrap=False))
    click.echo(line("results", str(state / "results"), wrap=False))
    click.echo(line("next", command("graphtide", "status", str(state)), wrap=False))
    export = command("graphtide", "export", str(state), "--edges", "edges.csv")
    click.echo(line("", export, wrap=False))


def _generate(log: Path) -> None:
    click.echo(line("log", f"{ROWS:,} rows in {FILES} Parquet files: inserts, repeats, deletes"))
    write_log(
        str(log),
        partial(rmat_edges, scale=SCALE, seed=1),
        ROWS,
        mix=_MIX,
        files=FILES,
        properties=False,
        seed=1,
        quiet=True,
    )


def _show(summary: "RunSummary", seconds: float, graph: GraphSettings) -> None:
    """Sum up a run that took ``seconds`` seconds, its cluster included; ends with a gap."""
    batches = counted(summary.batches_applied, "batch")
    all_in_all = f"{duration(seconds)} with start and end of the cluster"
    click.echo(line("applied", f"{batches} in {speed_text(summary)}, {all_in_all}"))
    click.echo(line("rows", fates(summary.totals)))
    size = graph_text(
        summary.num_vertices,
        summary.num_edges,
        directed=graph.directed,
        records=graph.record,
        on_repeat=graph.on_repeat,
    )
    click.echo(line("graph", size))
    results = result_summaries(summary.results, summary.notes)
    click.echo(line("triangles", analytic_named("clustering").text(results["clustering"])))
    click.echo()
    click.echo("    vertex   PageRank")
    for vertex, rank in results["pagerank"]["top"]:
        click.echo(f"{vertex:>10}   {rank:.6f}  {'▇' * round(rank * 2000)}"[:79])
    click.echo()


def _folder(name: str | None) -> Path:
    if name is None:
        return Path(tempfile.mkdtemp(prefix="graphtide-demo-"))
    return empty_folder(name)
