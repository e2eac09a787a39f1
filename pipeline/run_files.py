"""The files of one run: log, plan and state, as the loop of the run sees them.

Not here: how any of them is read or written (``io/``), and when (``lifecycle.py``).
"""

import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from ..config.settings import RunSettings
from ..gpu_core.errors import UpdateLogError
from ..gpu_core.printable import counted
from ..gpu_core.report import BatchSource, totals
from ..gpu_core.snapshot import checkpoint_hash
from ..io.log.bad_rows import RowsToRead
from ..io.log.log_order import unordered_note
from ..io.log.log_paths import order_key
from ..io.log.order.ordered_rows import OrderedBatch, RowOrder
from ..io.log.plan import BatchPlan, PlannedBatch
from ..io.log.update_log import LogListing, UpdateLog
from ..io.parquet.parquet_files import groups_of_run
from ..io.state import results
from ..io.state.checkpoint import Checkpoint, write_checkpoint
from ..io.state.directory import StateDirectory
from ..io.state.quarantine import Quarantine
from ..io.state.read_record import ReadRecord
from ..io.state.text_indexes import write_indexes
from .analyses import Analysis
from .graph_worker.batch_results import BatchResults, ResultRequest
from .graph_worker.pinned import Arrays, Copy
from .run_results import RunResults
from .run_summary import RunSummary
from .time_window import TimeWindow
from .workers.leftovers import Leftovers


@dataclass(frozen=True)
class PlannedLog:
    """A log as a run finds it, cut into batches."""

    log: UpdateLog
    #: Its files as they are now.
    listing: LogListing
    #: All batches of the log, from its beginning.
    plan: BatchPlan
    #: Order of the rows, where it is not that of the files.
    order: RowOrder | None = None
    #: Whether bad rows are left out; else they end the run.
    quarantines: bool = False
    #: Rows of a batch at most, of files that are not planned yet.
    batch_rows: int = 0


class RunFiles:
    """Log, plan and state of one run. Made by `open_files`, which holds the state's lock.

    Parameters
    ----------
    state
        An open state directory.
    planned
        What is to be applied, and its batches.
    settings
        Settings of the run.
    newest
        The newest checkpoint; None where there is none.
    analytics
        Name of each result -> what is computed.
    read
        What the batches up to that checkpoint were read from.
    """

    def __init__(
        self,
        state: StateDirectory,
        planned: PlannedLog,
        settings: RunSettings,
        newest: Checkpoint | None,
        analytics: dict[str, Analysis],
        read: ReadRecord,
    ) -> None:
        listing, plan, order = planned.listing, planned.plan, planned.order
        self.log = planned.log
        self._quarantines = planned.quarantines
        self._batch_rows = planned.batch_rows
        #: Whether there will be more batches than are planned now.
        self.follows = False
        #: Results of the newest checkpoint that were not there when the run began.
        self._missing: list[str] = []
        self._order = order
        self.listing = listing
        self.results = RunResults(state, analytics, settings)
        #: Of the batches that this run applied and checkpointed. There may be many, so their
        #: reports are in the state alone.
        self.totals: Counter[str] = Counter()
        self.readers: list[str] = []
        #: Sentences for the user.
        self.notes: list[str] = [] if listing.not_kept is None else [listing.not_kept]
        self.notes += _order_note(plan, listing, is_checked=order is not None)
        self.leftovers = Leftovers(state.path)
        self._state = state
        self._plan = plan
        self._fingerprints = {file.name: file.fingerprint for file in plan.files}
        self._rows = [0, *accumulate(batch.rows for batch in plan.batches)]
        self._settings = settings
        self._checkpoint = newest
        #: Of the batches to come, as far as they were applied before, and of the one before them.
        self._read = read
        #: File that rows were last read of, for a checkpoint of this run.
        self._last_read: str | None = None
        self._group_starts = _group_starts(listing)
        #: Place in the log's order of the last file that is planned.
        self._last_key = max((order_key(file.name) for file in plan.files), default=())

    # -- the log

    @property
    def batches(self) -> int:
        """Batches planned."""
        return len(self._plan.batches)

    def names(self) -> set[str]:
        """Names of the files of the log, as far as they are known."""
        left_out = self.log.left_out | self.listing.left_out.keys()
        return {file.name for file in self.listing.files} | left_out

    def extend(self, listing: LogListing) -> int:
        """Plan files that are new in the log, and keep the plan; gives the batches planned now.

        Raises
        ------
        UpdateLogError
            One comes before a file that is planned, or there is no order between them.
        """
        before = self._plan
        joined = self.listing.joined(listing)
        files = joined.files
        if self.log.time_unit is None and joined.time_unit is not None:
            # Workers have been told of none.
            msg = (
                f"{self.log.shown(listing.files[0].name)} is the first file of the log that has "
                f"times, {joined.time_unit}; run the same command again, which goes on with it"
            )
            raise UpdateLogError(msg)
        if self._order is None and any("=" in file.name for file in listing.files):
            self.log.check_operations(file.name for file in files)
        keys = [order_key(file.name) for file in listing.files]
        if min(keys) < self._last_key:
            # Refused with the reason.
            files = tuple(sorted(files, key=lambda file: order_key(file.name)))
        self._plan = before.extended(files, self._batch_rows)
        self._last_key = max(keys)
        self._state.check_lock()
        self._state.write_plan(self._plan, before)
        write_indexes(self._state, joined.indexes, self.listing.indexes)
        self.listing = joined
        self.log = replace(self.log, indexes=joined.indexes)
        added = self._plan.files[len(before.files) :]
        self._fingerprints.update({file.name: file.fingerprint for file in added})
        for batch_id in range(len(before.batches), len(self._plan.batches)):
            self._rows.append(self._rows[-1] + self._plan.batches[batch_id].rows)
        self._group_starts.update(_group_starts(listing))
        return self.batches

    def rows_before(self, boundary: int) -> int:
        """Rows of the batches before a boundary."""
        return self._rows[boundary]

    def batch_of_row(self, row: int) -> int | None:
        """Batch that has a row, counted from the log's beginning; None beyond its end."""
        batch_id = bisect_right(self._rows, row) - 1
        return batch_id if batch_id < self.batches else None

    def largest_batch(self, boundary: int) -> int:
        """Rows of the largest batch from a boundary on; 0 where there is none and none will be."""
        least = self._batch_rows if self.follows else 0
        return max(least, *(batch.rows for batch in self._plan.batches[boundary:]), 0)

    def most_edges(self) -> int:
        """Edges that the graph can come to hold: the newest checkpoint's, and one a row to come."""
        _, num_edges = self.newest_size()
        return num_edges + self.rows_before(self.batches) - self.rows_before(self.checkpointed)

    def planned(self, batch_id: int) -> tuple[PlannedBatch, str]:
        """A batch, and the fingerprint that its file had when it was planned."""
        batch = self._plan.batches[batch_id]
        return batch, self._fingerprints[batch.file]

    def shown(self, batch_id: int) -> str:
        """File of a batch, as the user would open it."""
        return self.log.shown(self._plan.batches[batch_id].file)

    def ordered(self, batch_id: int) -> OrderedBatch | None:
        """Source of a batch, where rows are in the order of a column."""
        batch = self._plan.batches[batch_id]
        if self._order is None:
            return None
        return self._order.batch(batch.file, batch.first_row, batch.rows)

    def _read_from(self, batch_id: int) -> list[str]:
        """Names of the files that have rows of a batch."""
        ordered = self.ordered(batch_id)
        if ordered is None:
            return [self._plan.batches[batch_id].file]
        return [name for name, _, _ in ordered.runs()]

    def log_of(self, batch_id: int) -> UpdateLog:
        """The log, with what is needed of it to read a batch."""
        ordered, batch = self.ordered(batch_id), self._plan.batches[batch_id]
        if ordered is None:
            return self.log.for_rows([(batch.file, batch.first_row, batch.rows)])
        return self.log.for_rows(ordered.runs())

    def known(self, batch_id: int) -> dict[int, int]:
        """Row group -> checksum that it must have, of those that a batch is read from."""
        batch, fingerprint = self.planned(batch_id)
        groups = groups_of_run(self._group_starts[batch.file], batch.first_row, batch.rows)
        return self._read.known(batch.file, fingerprint, groups)

    def rows_of(self, batch_id: int) -> RowsToRead:
        """Plan for reading the rows of a batch."""
        return RowsToRead(
            self.log_of(batch_id),
            *self.planned(batch_id),
            known=self.known(batch_id),
            ordered=self.ordered(batch_id),
            quarantine=self._quarantines,
        )

    def about(self) -> dict[str, Any]:
        """Description of the run in plain values: ``log``, ``state``."""
        address = self.log.address
        log = [address] if isinstance(address, str) else list(address)
        return {"log": log, "state": str(self.state)}

    # -- the state

    @property
    def state(self) -> Path:
        """Folder of the state."""
        return self._state.path

    @property
    def checkpointed(self) -> int:
        """Boundary of the newest checkpoint."""
        return 0 if self._checkpoint is None else self._checkpoint.boundary

    def checkpoint_bytes(self) -> int:
        """Bytes of all checkpoints."""
        folders = (self._state.checkpoint(each) for each in self._state.checkpoint_ids())
        return sum(file.stat().st_size for folder in folders for file in folder.iterdir())

    def newest_graph(self) -> tuple[int, Arrays | None]:
        """Boundary and arrays of the newest checkpoint."""
        if self._checkpoint is None:
            return 0, None
        return self.checkpointed, self._checkpoint.arrays()

    def newest_window(self) -> TimeWindow:
        """The window of the run, as it is at the newest checkpoint."""
        manifest = self._checkpoint.manifest if self._checkpoint else None
        return TimeWindow.of(self._settings.graph.time_window, self.log.time_unit, manifest)

    def newest_hash(self) -> str | None:
        """State hash of the newest checkpoint; None where there is none."""
        return None if self._checkpoint is None else self._checkpoint.state_hash

    def newest_size(self) -> tuple[int, int]:
        """Vertices and edges of the newest checkpoint."""
        manifest = self._checkpoint.manifest if self._checkpoint else {}
        return int(manifest.get("num_vertices", 0)), int(manifest.get("num_edges", 0))

    def results_missing(self) -> bool:
        """Whether a result of the newest checkpoint is missing, damaged or of other parameters.

        Looked at only where all batches are applied: else results are due at later batches anyway.
        """
        if not 0 < self.checkpointed == self.batches:
            return False
        self._missing, notes = self.results.missing(
            self.checkpointed - 1, is_end=self._is_end(self.checkpointed)
        )
        self.notes += notes
        return bool(self._missing)

    def result_requests(self, names: Iterable[str], boundary: int) -> dict[str, ResultRequest]:
        """What the graph worker is to compute for results that are due at a boundary."""
        if boundary <= self.checkpointed:
            # They were computed once, as far as they are there.
            names = [name for name in names if name in self._missing]
        return self.results.requests(names, boundary, is_end=self._is_end(boundary))

    def _is_end(self, boundary: int) -> bool:
        """Whether the log ends at a boundary, for this run."""
        return boundary == self.batches and not self.follows

    def write_results(self, batch_id: int, computed: BatchResults) -> None:
        """Write what the actor computed after a batch."""
        self._state.check_lock()
        source = computed.source or self._source(batch_id)
        self.results.write(batch_id, computed, source, is_kept=batch_id < self.checkpointed)

    def _source(self, batch_id: int) -> BatchSource:
        """Rows that a batch was: by its report, or by the plan, which knows no times."""
        reports = results.read_reports(self._state, batch_id, notes=[])
        if reports and reports[0].batch_id == batch_id and reports[0].source is not None:
            return reports[0].source
        batch = self._plan.batches[batch_id]
        return BatchSource(batch.file, batch.first_row, batch.rows)

    def write_checkpoint(self, batch_id: int, copy: Copy, arrays: Arrays) -> None:
        """Write the reports of the batches since the checkpoint before, then the checkpoint."""
        self._state.check_lock()
        reports = [batch.report for batch in copy.batches]
        for name in {name for report in reports for name in self._read_from(report.batch_id)}:
            # Half of a file that was still being written must not be kept as applied.
            self.log.check_size(name)
        left_out = {batch.report.batch_id: batch.left_out for batch in copy.batches}
        Quarantine(self._state).write({at: rows for at, rows in left_out.items() if rows})
        self.results.write_reports(reports)
        read = ReadRecord()
        for batch in copy.batches:
            planned, fingerprint = self.planned(batch.report.batch_id)
            read.add(planned.file, fingerprint, batch.sums)
        if reports:
            read.write(self._state, reports[0].batch_id, batch_id)
            # Rows to come may be of the last file that rows were read of, and not of those before.
            last = self.planned(batch_id)[0].file
            self._read.update(read, of=last)
            if self._last_read not in (None, last):
                self._read.drop(self._last_read)
            self._last_read = last
        graph = self._settings.graph

        def state_hash() -> str:
            if copy.state_hash is not None:
                return copy.state_hash
            return checkpoint_hash(arrays, directed=graph.directed, records=graph.record)

        manifest = {
            "settings": graph.graph_arguments(),
            "num_vertices": copy.num_vertices,
            "num_edges": copy.num_edges,
            # Of all applied batches; the copy counts those since the checkpoint before.
            "handover": dict(Counter(self._handover()) + Counter(copy.routes)),
            "plan": self._plan.cut_hash(batch_id + 1),
        }
        if copy.window is not None:
            manifest["time_window"] = copy.window
        keep = self._settings.keep_checkpoints
        self._checkpoint = write_checkpoint(
            self._state, batch_id, arrays, state_hash, manifest, keep
        )
        self.totals += totals(reports)
        # Each name comes as a text of its own with each batch, of which there may be millions.
        self.readers += (sys.intern(batch.reader) for batch in copy.batches)

    def _handover(self) -> dict[str, int]:
        if self._checkpoint is None:
            return {}
        kept: dict[str, int] = self._checkpoint.manifest.get("handover", {})
        return kept

    def summary(
        self,
        first: int,
        seconds: float = 0.0,
        ingest_seconds: float = 0.0,
        *,
        waits: int = 0,
        wait_seconds: float = 0.0,
        nothing_to_do: bool = False,
    ) -> RunSummary:
        """Summary of a run that began at boundary ``first``; arguments as of `RunSummary`."""
        newest = self._checkpoint
        num_vertices, num_edges = self.newest_size()
        paths = results.result_files(self._state, self.checkpointed - 1)
        return RunSummary(
            folder=self.state,
            first=first,
            batches_applied=self.checkpointed - first,
            rows=self.totals["rows"],
            totals=self.totals,
            readers=list(self.readers),
            watermark=self.checkpointed - 1,
            num_vertices=num_vertices,
            num_edges=num_edges,
            state_hash=self.newest_hash(),
            results=list(paths.values()),
            checkpoint=newest.path if newest else None,
            seconds=seconds,
            ingest_seconds=ingest_seconds,
            nothing_to_do=nothing_to_do,
            waits=waits,
            wait_seconds=wait_seconds,
            failures=self.results.failures,
            files=[file.name for file in self._plan.files],
            notes=[*self.notes, *self._left_out_note()],
        )

    def _left_out_note(self) -> list[str]:
        """Tell of rows that this run has left out."""
        rows = self.totals["quarantined"]
        if not rows:
            return []
        return [
            f"left out: {counted(rows, 'row')} against the log's contract, with reasons in "
            f"{Quarantine(self._state).path}; mend there, then graphtide requeue "
            f"{self._state.path}"
        ]


def _group_starts(listing: LogListing) -> dict[str, list[int]]:
    return {file.name: [0, *accumulate(file.row_group_rows)] for file in listing.files}


def _order_note(plan: BatchPlan, listing: LogListing, *, is_checked: bool) -> list[str]:
    """Tell where the order of the files is another than was meant, or may be."""
    names = [file.name for file in listing.files]
    # Where all rows insert, and no value stays of the last one, any order is as good.
    counts = listing.found - {"src", "dst"} and not is_checked
    unknown = unordered_note(names) if counts else None
    pair = plan.out_of_order(names)
    if pair is None:
        return [] if unknown is None else [unknown]
    return [
        f"this state has {pair[1]} after {pair[0]}, as it was planned when names sorted "
        f"otherwise; for the order that they have now start over with another --state"
    ]
