"""Summary of a run: what it applied, how long that took, and where its results are."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..gpu_core.errors import StateError
from ..gpu_core.report import BatchReport
from ..io.state.directory import StateDirectory
from ..io.state.reports import read_reports
from ..io.state.results import Failures


@dataclass(frozen=True)
class RunSummary:
    """Summary of a run."""

    #: Folder of the state, and the first batch that this run was to apply.
    folder: Path
    first: int
    batches_applied: int
    rows: int
    #: What became of those rows, see `gpu_core.report.totals`.
    totals: Counter[str]
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
    #: From the first batch asked for to the last thing written, without what a run that follows its
    #: log has waited for files; the cluster's start is not in it.
    seconds: float
    #: Of that, to the last batch applied: what the log took to go in.
    ingest_seconds: float
    nothing_to_do: bool
    #: Times that batches waited for results and copies of earlier ones, and for how long in all.
    waits: int
    wait_seconds: float
    #: Name of a result -> how often it failed, of those that did. All else was kept.
    failures: Mapping[str, Failures]
    #: Names of the planned files, in the order in which they are applied.
    files: list[str]
    #: Sentences for the user: columns that are not kept, and the like.
    notes: list[str] = field(default_factory=list)

    @property
    def reports(self) -> list[BatchReport]:
        """Of the batches that this run applied, in order; read from the state, which keeps them.

        Raises
        ------
        StateError
            They are not there any more.
        """
        reports = read_reports(StateDirectory(self.folder), self.first)
        of_run = [report for report in reports if report.batch_id <= self.watermark]
        if len(of_run) != self.batches_applied:
            msg = f"the reports of the run are not in {self.folder} any more; restore the state"
            raise StateError(msg)
        return of_run
