"""What a run prints at its end: a few lines that can be read at a glance and copied from."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..config.settings import GraphSettings
from ..gpu_core.report import BatchReport
from .text import TIED, counted, duration, line, rate

if TYPE_CHECKING:
    from ..pipeline.run_files import RunSummary

#: Fates of a row, in the order of their frequency in most logs, and what each means.
FATES = (
    ("inserted", "inserted"),
    ("updated", "updated"),
    ("deleted", "deleted"),
    ("overridden", "overridden (by a later row)"),
    ("missing", "missing (not there)"),
    ("dropped", "dropped (self loops)"),
)

#: As many as fit into one line.
TOP_VERTICES = 3


def run_lines(summary: "RunSummary", log: str, state: str, graph: GraphSettings) -> Iterable[str]:
    """Lines on a whole run."""
    if summary.nothing_to_do:
        yield f"nothing to do: every batch of {log} is applied"
    elif summary.batches_applied == 0:
        yield line(
            "applied", "nothing new; results of the last batch were missing, and are written"
        )
    else:
        yield line(
            "applied",
            f"{counted(summary.batches_applied, 'batch', 'batches')}, "
            f"{counted(summary.rows, 'row')} in {speed_text(summary)}, "
            f"{duration(summary.seconds)} until all is on disk",
        )
        yield line("rows", fates(summary.reports))
    size = graph_text(
        summary.num_vertices, summary.num_edges, directed=graph.directed, records=graph.records
    )
    yield line("graph", size)
    yield from result_lines([Path(path) for path in summary.results])
    for note in summary.notes:
        yield line("note", note)
    if not summary.nothing_to_do:
        yield line("next", f"graphtide status {state}", wrap=False)


def speed_text(summary: "RunSummary") -> str:
    """Time from the first batch asked for to the last one applied, and the rate in that time."""
    updates_per_second = summary.rows / summary.ingest_seconds
    return f"{duration(summary.ingest_seconds)} ({rate(updates_per_second)} updates/s)"


def fates(reports: Sequence[BatchReport]) -> str:
    """What became of the rows; the counts add up to the rows, those of 0 are left out."""
    counts = [(sum(getattr(report, name) for report in reports), text) for name, text in FATES]
    told = [f"{count:,} {text}".replace(" ", TIED) for count, text in counts if count]
    return ", ".join(told) or "none"


def graph_text(num_vertices: int, num_edges: int, *, directed: bool, records: str) -> str:
    """Size and kind of the graph."""
    direction = "directed" if directed else "undirected"
    return (
        f"{counted(num_vertices, 'vertex', 'vertices')}, {counted(num_edges, 'edge')} "
        f"({direction}, {records})"
    )


def result_lines(paths: Sequence[Path]) -> Iterable[str]:
    """Lines on the result files, and where they lie."""
    for path in paths:
        if path.name == "clustering.parquet":
            yield line("triangles", clustering_text(path))
        elif path.name == "pagerank.parquet":
            yield line("pagerank", pagerank_text(path))
    for folder in dict.fromkeys(path.parent for path in paths):
        yield line("results", str(folder), wrap=False)


def clustering_text(path: Path) -> str:
    """Triangles, average clustering and transitivity, from a file of local clustering."""
    table = pq.read_table(path, columns=["degree", "triangles", "clustering"])
    if not table.num_rows:
        return "no vertices"
    corners = _sum(table["triangles"])
    # Transitivity: 3 · triangles / pairs of neighbours = 2 · Σ T(v) / Σ d(v) · (d(v) - 1).
    degree = table["degree"].cast(pa.int64())
    pairs = _sum(pc.multiply(degree, pc.subtract(degree, 1)))
    transitivity = 2 * corners / pairs if pairs else 0.0
    return (
        f"{corners // 3:,}; average clustering "
        f"{pc.mean(table['clustering']).as_py():.6f}, transitivity {transitivity:.6f}"
    )


def pagerank_text(path: Path) -> str:
    """The vertices of largest rank."""
    return ", ".join(f"{vertex} ({rank:.6f})" for vertex, rank in top_ranks(path, TOP_VERTICES))


def top_ranks(path: Path, count: int) -> list[tuple[int, float]]:
    """``(vertex, PageRank)`` of the ``count`` vertices of largest rank, the largest first."""
    table = pq.read_table(path, columns=["vertex", "pagerank"])
    order = pc.select_k_unstable(
        table, min(count, table.num_rows), [("pagerank", "descending"), ("vertex", "ascending")]
    )
    top = table.take(order)
    return list(zip(top["vertex"].to_pylist(), top["pagerank"].to_pylist(), strict=True))


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)
