"""Report of one batch: counts of its rows, its net effect, and memory after it."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .effects import Effects
from .printable import counted, file_shown
from .times import shown, time_unit_named


def _of_names(kind: Callable[..., Any], values: dict[str, Any]) -> Any:
    """A pickled tuple, whose fields may stand elsewhere by now: by position they would shift."""
    return kind(**values)


class BatchSource(NamedTuple):
    """Rows of an update log that a batch was made of.

    Attributes
    ----------
    file
        Name of the file within the log. If rows are ordered by a column (``order_by``),
        ``first_row`` and ``rows`` count the ordered rows, which may be of neighboring files.
    first_row
        Position of the first row in the file, from 0.
    rows
        Number of rows.
    first_ts, last_ts
        Earliest and latest ``ts`` of the rows without those in quarantine, in ``time_unit``; None:
        no times were read or kept.
    time_unit
        Unit of times, such as ``timestamp[us]``; None: there are none.
    """

    file: str
    first_row: int
    rows: int
    first_ts: int | None = None
    last_ts: int | None = None
    time_unit: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_names, (BatchSource, self._asdict())

    def __str__(self) -> str:
        end = self.first_row + self.rows - 1
        rows = f"rows {self.first_row:,} to {end:,} of {file_shown(self.file)}"
        if self.first_ts is None or self.last_ts is None or self.time_unit is None:
            return rows
        unit = time_unit_named(self.time_unit)
        return f"{rows}, ts {shown(self.first_ts, unit)} to {shown(self.last_ts, unit)}"


class BatchReport(NamedTuple):
    """Report of one applied batch.

    Every row of the batch counts in exactly one of ``quarantined``, ``dropped``, ``overridden``,
    ``missing``, ``inserted``, ``updated`` and ``deleted``, the first that fits, so these add up to
    ``rows``.

    Attributes
    ----------
    batch_id
        Number of the batch in log order, from 0; -1 for a batch without a log.
    rows
        Rows of the batch.
    dropped
        Rows with self loops, if the graph ignores them.
    overridden
        Rows without effect because of a later row of the same batch.
    missing
        Deletes of an edge or a vertex that did not exist.
    inserted
        Inserts of an edge or a vertex that did not exist.
    updated
        Inserts of an edge or a vertex that existed, even if nothing changed.
    deleted
        Deletes of an edge or a vertex that existed.
    edges_added
        Edges that the batch added to the graph (an undirected edge counts once).
    edges_removed
        Edges that it removed, including those of deleted vertices and those that expired.
    vertices_created, vertices_removed
        Vertices that the batch created and removed.
    num_vertices, num_edges
        Vertices and edges of the graph after the batch.
    pages_used, pages_free, largest_free_run
        Pages in use, pages that are free without growth, pages of the largest free run.
    page_bytes
        Bytes of a page; 0 in a report that an older graphtide wrote.
    rows_moved, rows_appended, rows_merged
        Adjacencies of a direction whose degree changed: those that moved to a larger run or got
        their first one; of the others those with entries appended, and those merged in place.
    seconds
        Seconds by stage: ``read``, ``convert``, ``transfer``, ``apply``, as far as they took place.
    effects
        What the batch changed, if ``apply(…, effects=True)``; else None.
    weights_rounded
        Rows that insert an edge whose weight was rounded to the graph's type of weights.
    quarantined
        Rows that a run left out because they break the log's contract.
    source
        Rows of the log that it was made of; None for a batch without a log.
    expired
        Edges that were removed without a row, because they were too old after the batch.
    """

    batch_id: int
    rows: int
    dropped: int
    overridden: int
    missing: int
    inserted: int
    updated: int
    deleted: int
    edges_added: int
    edges_removed: int
    vertices_created: int
    vertices_removed: int
    num_vertices: int
    num_edges: int
    pages_used: int
    pages_free: int
    largest_free_run: int
    page_bytes: int
    rows_moved: int
    rows_appended: int
    rows_merged: int
    seconds: dict[str, float]
    effects: Effects | None = None
    weights_rounded: int = 0
    quarantined: int = 0
    source: BatchSource | None = None
    expired: int = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_names, (BatchReport, self._asdict())

    def __repr__(self) -> str:
        """Outcome of the rows, and the graph after them; `as_dict` has all."""
        number = "" if self.batch_id < 0 else f" of batch {self.batch_id:,}"
        counts = [f"{getattr(self, fate):,} {fate}" for fate in _FATES if getattr(self, fate)]
        rows = f"{counted(self.rows, 'row')}" + (f": {', '.join(counts)}" if counts else "")
        graph = f"{counted(self.num_vertices, 'vertex')}, {counted(self.num_edges, 'edge')}"
        return f"<BatchReport{number}, {rows}; graph of {graph}>"

    def as_dict(self) -> dict[str, object]:
        """Return all fields but ``effects`` as plain values, for tables and JSON.

        ``seconds`` become ``<stage>_seconds``; the fields of ``source`` are included, if there is
        one.
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
    """Sums over several batches: rows by outcome, and edges that expired."""
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
