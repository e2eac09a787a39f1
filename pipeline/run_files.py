"""The files of one run: log, plan and state, as the loop of the run sees them.

Not here: how any of them is read or written (``io/``), and when (``lifecycle.py``).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from ..config.settings import RunSettings
from ..gpu_core.errors import UpdateLogError
from ..gpu_core.report import BatchReport
from ..gpu_core.snapshot import checkpoint_hash
from ..io import results
from ..io.checkpoint import newest_checkpoint, write_checkpoint
from ..io.plan import BatchPlan, PlannedBatch
from ..io.state import StateDirectory, absolute_address
from ..io.update_log import LogFile, UpdateLog
from .actor import Arrays, Copy


@dataclass(frozen=True)
class RunSummary:
    """What a run did."""

    batches_applied: int
    rows: int
    #: Of the batches that this run applied, in order.
    reports: list[BatchReport]
    #: Names of the workers that read them, one each.
    readers: list[str]
    #: Last batch that is applied; -1 where there is none.
    watermark: int
    num_vertices: int
    num_edges: int
    #: Of the graph at the watermark; None where there is no checkpoint.
    state_hash: str | None
    #: Files with the newest results.
    results: list[Path]
    #: Folder of the newest checkpoint.
    checkpoint: Path | None
    #: From the first batch asked for to the last thing written; the cluster's start is not in it.
    seconds: float
    #: From the first batch asked for to the last one applied: what the log took to go in.
    ingest_seconds: float
    nothing_to_do: bool
    #: Sentences for the user: columns that are not kept, and the like.
    notes: list[str] = field(default_factory=list)


class RunFiles:
    """Log, plan and state of one run. Made by `open_files`, which holds the state's lock.

    Parameters
    ----------
    state
        An open state directory.
    log
        What is to be applied.
    plan
        All batches of the log, from its beginning.
    settings
        Settings of the run.
    """

    def __init__(
        self, state: StateDirectory, log: UpdateLog, plan: BatchPlan, settings: RunSettings
    ) -> None:
        self.log = log
        #: Result -> arguments of its algorithm.
        self.analytics: dict[str, dict[str, Any]] = {
            name: dict(settings.pagerank) if name == "pagerank" else {}
            for name in settings.analytics
        }
        #: Of the batches that this run applied and checkpointed.
        self.reports: list[BatchReport] = []
        self.readers: list[str] = []
        #: Sentences for the user.
        self.notes: list[str] = [] if log.not_kept is None else [log.not_kept]
        self._state = state
        self._plan = plan
        self._fingerprints = {file.name: file.fingerprint for file in plan.files}
        self._rows = [0, *accumulate(batch.rows for batch in plan.batches)]
        self._settings = settings
        self._checkpoint = newest_checkpoint(state, self.notes)

    # -- the log

    @property
    def batches(self) -> int:
        """Batches planned."""
        return len(self._plan.batches)

    def rows_before(self, boundary: int) -> int:
        """Rows of the batches before a boundary."""
        return self._rows[boundary]

    def largest_batch(self, boundary: int) -> int:
        """Rows of the largest batch from a boundary on; 0 where there is none."""
        return max((batch.rows for batch in self._plan.batches[boundary:]), default=0)

    def most_edges(self) -> int:
        """Edges that the graph can come to hold: the newest checkpoint's, and one a row to come."""
        _, num_edges = self.newest_size()
        return num_edges + self.rows_before(self.batches) - self.rows_before(self.checkpointed)

    def planned(self, batch_id: int) -> tuple[PlannedBatch, str]:
        """A batch, and the fingerprint that its file had when it was planned."""
        batch = self._plan.batches[batch_id]
        return batch, self._fingerprints[batch.file]

    # -- the state

    @property
    def checkpointed(self) -> int:
        """Boundary of the newest checkpoint."""
        return 0 if self._checkpoint is None else self._checkpoint.boundary

    def newest_graph(self) -> tuple[int, Arrays | None]:
        """Boundary and arrays of the newest checkpoint."""
        if self._checkpoint is None:
            return 0, None
        return self.checkpointed, self._checkpoint.arrays()

    def newest_size(self) -> tuple[int, int]:
        """Vertices and edges of the newest checkpoint."""
        manifest = self._checkpoint.manifest if self._checkpoint else {}
        return int(manifest.get("num_vertices", 0)), int(manifest.get("num_edges", 0))

    def results_missing(self) -> bool:
        """Whether results are asked for that are not there at the newest checkpoint."""
        there = results.result_files(self._state, self.checkpointed - 1)
        return any(name not in there for name in self.analytics)

    def write_results(self, batch_id: int, found: dict[str, Any]) -> None:
        """Write what the actor computed after a batch."""
        if "pagerank" in found:
            ranks = found["pagerank"]
            results.write_pagerank(self._state, batch_id, ranks.vertices, ranks.pagerank)
        if "clustering" in found:
            local = found["clustering"]
            results.write_clustering(
                self._state,
                batch_id,
                local.vertices,
                local.degree,
                local.triangles,
                local.clustering,
            )

    def write_checkpoint(self, batch_id: int, copy: Copy, arrays: Arrays) -> None:
        """Write the reports of the batches since the checkpoint before, then the checkpoint."""
        results.write_reports(self._state, copy.reports)
        graph = self._settings.graph

        def state_hash() -> str:
            if copy.state_hash is not None:
                return copy.state_hash
            return checkpoint_hash(arrays, directed=graph.directed, records=graph.records)

        manifest = {
            "settings": graph.graph_arguments(),
            "num_vertices": copy.num_vertices,
            "num_edges": copy.num_edges,
            "handover": copy.ways,
        }
        self._checkpoint = write_checkpoint(self._state, batch_id, arrays, state_hash, manifest)
        self.reports += copy.reports
        self.readers += copy.readers

    def summary(
        self, first: int, seconds: float, ingest_seconds: float, nothing_to_do: bool
    ) -> RunSummary:
        """What a run did that began at boundary ``first``."""
        newest = self._checkpoint
        num_vertices, num_edges = self.newest_size()
        paths = results.result_files(self._state, self.checkpointed - 1)
        return RunSummary(
            batches_applied=self.checkpointed - first,
            rows=sum(report.rows for report in self.reports),
            reports=list(self.reports),
            readers=list(self.readers),
            watermark=self.checkpointed - 1,
            num_vertices=num_vertices,
            num_edges=num_edges,
            state_hash=newest.manifest.get("state_hash") if newest else None,
            results=list(paths.values()),
            checkpoint=newest.path if newest else None,
            seconds=seconds,
            ingest_seconds=ingest_seconds,
            nothing_to_do=nothing_to_do,
            notes=list(self.notes),
        )


@contextmanager
def open_files(log: str, state: str, settings: RunSettings, batch_rows: int) -> Iterator[RunFiles]:
    """Lock the state and plan what is new in the log; a log that cannot be used changes nothing."""
    directory = StateDirectory(state)
    with directory.lock():
        kept = directory.settings() if directory.exists() else None
        update_log = UpdateLog(
            absolute_address(log),
            settings.columns,
            settings.graph.records,
            time_unit=kept.time_unit if kept else None,
        )
        # Workers may have another working directory, so the log's address is absolute.
        found = update_log.files()
        moved = kept is not None and kept.log_address != absolute_address(log)
        before = directory.read_plan() if kept else BatchPlan()
        if moved and not _holds(found, before):
            # Another log altogether: opening the state says so.
            directory.create_or_open(
                settings.graph.identity(), log, settings.columns, update_log.time_unit
            )
        plan = _planned(directory, before, found, batch_rows)
        directory.create_or_open(
            settings.graph.identity(), log, settings.columns, update_log.time_unit,
            is_moved_log=moved,
        )  # fmt: skip
        directory.write_plan(plan)
        if plan.files[: len(before.files)] != before.files:
            directory.drop_results(_boundary(directory))
        files = RunFiles(directory, update_log, plan, settings)
        if kept is not None and moved:
            files.notes.append(f"the log has moved from {kept.log_address}; its files are the same")
        yield files


def _holds(found: Sequence[LogFile], plan: BatchPlan) -> bool:
    """Whether the log has all files of a plan that is not empty, unchanged."""
    fingerprints = {file.name: file.fingerprint for file in found}
    return bool(plan.files) and all(
        fingerprints.get(file.name) == file.fingerprint for file in plan.files
    )


def _boundary(directory: StateDirectory) -> int:
    """First batch that is not in the newest whole checkpoint."""
    newest = newest_checkpoint(directory)
    return 0 if newest is None else newest.boundary


def _planned(
    directory: StateDirectory, before: BatchPlan, found: Sequence[LogFile], batch_rows: int
) -> BatchPlan:
    """Plan what is new; files beyond the newest checkpoint may have been mended since."""
    try:
        return before.extended(found, batch_rows)
    except UpdateLogError:
        applied = before.up_to(_boundary(directory))
        if applied == before:
            raise
        return applied.extended(found, batch_rows)
