"""The files of one run: its log and its state, as the loop of the run sees them.

Not here: the log and its plan (``run_log.py``), results (``run_results.py``), how files are read or
written (``io/``), and when (``lifecycle.py``).
"""

import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..config.settings import RunSettings
from ..gpu_core.copies.state_hash import checkpoint_hash
from ..gpu_core.printable import counted
from ..gpu_core.report import BatchSource, totals
from ..io.state import results
from ..io.state.checkpoint import Checkpoint, write_checkpoint
from ..io.state.directory import StateDirectory
from ..io.state.quarantine import Quarantine
from ..io.state.read_record import ReadRecord
from ..io.state.reports import read_reports
from .analyses import Analysis
from .graph_worker.batch_results import BatchResults, ResultRequest
from .graph_worker.pinned import Arrays, Copy
from .run_log import PlannedLog, RunLog
from .run_results import RunResults
from .run_summary import RunSummary
from .time_window import TimeWindow
from .workers.leftovers import Leftovers


class RunFiles:
    """Log and state of one run. Made by `open_files`, which holds the state's lock.

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
        self.log = RunLog(state, planned, read)
        #: Results of the newest checkpoint that were not there when the run began.
        self._missing: list[str] = []
        #: Likewise, where the log ends there; of a run that follows these may be more.
        self._missing_at_end: list[str] = []
        self.results = RunResults(state, analytics, settings)
        #: Of the batches that this run applied and checkpointed. There may be many, so their
        #: reports are in the state alone.
        self.totals: Counter[str] = Counter()
        self.readers: list[str] = []
        #: Sentences for the user.
        self.notes: list[str] = self.log.notes()
        self.leftovers = Leftovers(state.path)
        self._state = state
        self._settings = settings
        self._checkpoint = newest
        #: Boundary where the run began.
        self._first = self.checkpointed

    @property
    def state(self) -> Path:
        """Folder of the state."""
        return self._state.path

    @property
    def checkpointed(self) -> int:
        """Boundary of the newest checkpoint."""
        return 0 if self._checkpoint is None else self._checkpoint.boundary

    @property
    def _manifest(self) -> Mapping[str, Any]:
        """Manifest of the newest checkpoint; empty where there is none."""
        return {} if self._checkpoint is None else self._checkpoint.manifest

    def checkpoint_bytes(self) -> int:
        """Bytes of all checkpoints."""
        folders = (self._state.checkpoint(each) for each in self._state.checkpoint_ids())
        return sum(file.stat().st_size for folder in folders for file in folder.iterdir())

    def about(self) -> dict[str, Any]:
        """Description of the run in plain values: ``log``, ``state``, with absolute paths."""
        address = self.log.update_log.address
        log = [address] if isinstance(address, str) else list(address)
        return {"log": log, "state": str(self.state.absolute())}

    def most_edges(self) -> int:
        """Edges that the graph can come to hold: the newest checkpoint's, and one a row to come."""
        _, num_edges = self.newest_size()
        return (
            num_edges
            + self.log.rows_before(self.log.batches)
            - self.log.rows_before(self.checkpointed)
        )

    def newest_graph(self) -> tuple[int, Arrays | None]:
        """Boundary and arrays of the newest checkpoint."""
        if self._checkpoint is None:
            return 0, None
        return self.checkpointed, self._checkpoint.arrays()

    def newest_window(self) -> TimeWindow:
        """The window of the run, as it is at the newest checkpoint."""
        return TimeWindow.of(
            self._settings.graph.time_window, self.log.update_log.time_unit, self._manifest
        )

    def newest_hash(self) -> str | None:
        """State hash of the newest checkpoint; None where there is none."""
        return None if self._checkpoint is None else self._checkpoint.state_hash

    def newest_size(self) -> tuple[int, int]:
        """Vertices and edges of the newest checkpoint."""
        manifest = self._manifest
        return int(manifest.get("num_vertices", 0)), int(manifest.get("num_edges", 0))

    def results_missing(self) -> bool:
        """Whether a result of the newest checkpoint is missing, damaged or of other parameters.

        Looked at only where all batches are applied: else results are due at later batches anyway.
        """
        if not 0 < self.checkpointed == self.log.batches:
            return False
        last = self.checkpointed - 1
        self._missing_at_end, notes = self.results.missing(last, is_end=True)
        self._missing = self._missing_at_end
        if self.log.follows:
            self._missing, notes = self.results.missing(last, is_end=False)
        self.notes += notes
        return bool(self._missing)

    @property
    def lacks_last(self) -> bool:
        """Whether a run that follows is to compute results if it is stopped where it began."""
        return self.log.follows and bool(self._missing_at_end)

    def result_requests(
        self, names: Iterable[str], boundary: int, *, is_last: bool
    ) -> dict[str, ResultRequest]:
        """What the graph worker is to compute for results that are due at a boundary.

        ``is_last``: no batch follows in this run, as far as it knows.
        """
        is_end = is_last and boundary == self.log.batches
        if boundary <= self._first:
            # They were computed by an earlier run, as far as they are there.
            missing = self._missing_at_end if is_end else self._missing
            names = [name for name in names if name in missing]
        return self.results.requests(names, boundary, is_end=is_end)

    def write_results(self, batch_id: int, computed: BatchResults) -> None:
        """Write what the actor computed after a batch."""
        self._state.check_lock()
        source = computed.source or self._source(batch_id)
        self.results.write(batch_id, computed, source, is_kept=batch_id < self.checkpointed)

    def _source(self, batch_id: int) -> BatchSource:
        """Rows that a batch was: by its report, or by the plan, which knows no times."""
        reports = read_reports(self._state, batch_id, notes=[])
        if reports and reports[0].batch_id == batch_id and reports[0].source is not None:
            return reports[0].source
        batch, _ = self.log.planned(batch_id)
        return BatchSource(batch.file, batch.first_row, batch.rows)

    def write_checkpoint(self, batch_id: int, copy: Copy, arrays: Arrays) -> None:
        """Write the reports of the batches since the checkpoint before, then the checkpoint."""
        self._state.check_lock()
        reports = [batch.report for batch in copy.batches]
        for name in {name for report in reports for name in self.log.read_from(report.batch_id)}:
            # Half of a file that was still being written must not be kept as applied.
            self.log.update_log.check_size(name)
        left_out = {batch.report.batch_id: batch.left_out for batch in copy.batches}
        Quarantine(self._state).write({at: rows for at, rows in left_out.items() if rows})
        self.results.write_reports(reports)
        self.log.write_read_record(copy.batches)
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
            "handover": dict(Counter(self._manifest.get("handover", {})) + Counter(copy.routes)),
            "plan": self.log.plan.cut_hash(batch_id + 1),
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
            files=[file.name for file in self.log.plan.files],
            notes=[*self.notes, *self._left_out_note()],
        )

    def _left_out_note(self) -> list[str]:
        """Report rows that this run has left out."""
        rows = self.totals["quarantined"]
        if not rows:
            return []
        again = shlex.join(["graphtide", "requeue", str(self._state.path)])
        then = f"correct them there, then {again}"
        if self._settings.order_by is not None:
            then = f"write corrected ones to a later file of the log, then {again} --forget …"
        return [
            f"left out: {counted(rows, 'row')} against the log's contract, with reasons in "
            f"{Quarantine(self._state).path}; {then}"
        ]
