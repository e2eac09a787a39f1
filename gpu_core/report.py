"""Report of one batch: counts of its rows, its net effect, and memory after it."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from .effects import Effects
from .printable import counted, file_shown
from .times import shown, time_unit_named


class BatchSource(NamedTuple):
    """Which rows of an update log a batch was."""

    #: Name of the file within the log. Where rows are in the order of a column, ``first_row`` and
    #: ``rows`` count the ordered rows: the rows themselves may be of files nearby.
    file: str
    #: In the file, from 0.
    first_row: int
    rows: int
    #: Earliest and latest ``ts`` of the rows, in ``time_unit``; None: no time was read, or an older
    #: graphtide kept none.
    first_ts: int | None = None
    last_ts: int | None = None
    #: What times count, as `times.TimeUnit` is named; None where there are none.
    time_unit: str | None = None

    def __str__(self) -> str:
        end = self.first_row + self.rows - 1
        rows = f"rows {self.first_row:,} to {end:,} of {file_shown(self.file)}"
        if self.first_ts is None or self.last_ts is None or self.time_unit is None:
            return rows
        unit = time_unit_named(self.time_unit)
        return f"{rows}, ts {shown(self.first_ts, unit)} to {shown(self.last_ts, unit)}"


class BatchReport(NamedTuple):
    """Report on one applied batch.

    Every row of the batch is in exactly one of ``quarantined``, ``dropped``, ``overridden``,
    ``missing``, ``inserted``, ``updated`` and ``deleted``, the first that fits, so these add up to
    ``rows``.
    """

    #: Number of the batch in log order; -1 for a batch made by hand.
    batch_id: int
    #: Rows of the batch.
    rows: int
    #: Self loops, where they are dropped: as if the row were not there.
    dropped: int
    #: Rows that a later row of the same batch decides.
    overridden: int
    #: Deletes of what was not there.
    missing: int
    #: Inserts of a key that was not there.
    inserted: int
    #: Inserts of a key that was there, even if nothing changed.
    updated: int
    #: Deletes of what was there.
    deleted: int
    #: Edges that the batch added to the graph (an undirected edge counts once).
    edges_added: int
    #: Edges that it removed, those lost with a vertex and those that expired included.
    edges_removed: int
    vertices_created: int
    vertices_removed: int
    #: Vertices and edges of the graph after the batch.
    num_vertices: int
    num_edges: int
    #: Pages that hold something, pages that can be taken without growth, largest free run.
    pages_used: int
    pages_free: int
    largest_free_run: int
    #: Rows (of a vertex and a direction) whose degree changed: those that moved to a larger run, or
    #: got their first one; of the others, those that were appended to; those merged in place.
    rows_moved: int
    rows_appended: int
    rows_merged: int
    #: Seconds by stage: of ``read``, ``convert``, ``transfer``, ``apply`` those that took place.
    seconds: dict[str, float]
    #: What it changed, where that was asked for.
    effects: Effects | None = None
    #: Rows that insert an edge with a weight that was rounded to what the graph keeps.
    weights_rounded: int = 0
    #: Rows that a run left out because they break the log's contract.
    quarantined: int = 0
    #: Rows that it was made of; None for a batch made by hand.
    source: BatchSource | None = None
    #: Edges that were too old after it, and were removed: no row of the batch is about them.
    expired: int = 0

    def __repr__(self) -> str:
        """What became of the rows, and the graph after them; `as_dict` has all."""
        number = "" if self.batch_id < 0 else f" of batch {self.batch_id:,}"
        counts = [f"{getattr(self, fate):,} {fate}" for fate in _FATES if getattr(self, fate)]
        rows = f"{counted(self.rows, 'row')}" + (f": {', '.join(counts)}" if counts else "")
        graph = f"{counted(self.num_vertices, 'vertex')}, {counted(self.num_edges, 'edge')}"
        return f"<BatchReport{number}, {rows}; graph of {graph}>"

    def as_dict(self) -> dict[str, object]:
        """Plain values without effects, ``seconds`` as ``<stage>_seconds``; for tables and JSON.

        With the fields of ``source``, where there is one.
        """
        row = self._asdict()
        del row["effects"]
        seconds, source = row.pop("seconds"), row.pop("source")
        row.update(source._asdict() if source else {})
        row.update({f"{stage}_seconds": seconds.get(stage, 0.0) for stage in STAGES})
        return row


#: What becomes of rows, and of edges without a row.
_FATES = (
    "inserted", "updated", "deleted", "overridden", "missing", "dropped", "quarantined", "expired",
)  # fmt: skip


def totals(reports: Iterable[BatchReport]) -> Counter[str]:
    """What became of the rows of several batches, as sums; and of edges that expired."""
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(
            {name: getattr(report, name) for name in ("rows", "weights_rounded", *_FATES)}
        )
    return counts


def rounded_text(report: BatchReport, weights: str | None) -> str:
    """Sentence of a warning."""
    cure = "; make the graph with weights='float64' to keep them" if weights == "float32" else ""
    return f"{report.weights_rounded:,} of {report.rows:,} weights are rounded to {weights}{cure}"


STAGES = ("read", "convert", "transfer", "apply")
