"""The pipeline as a function, ``graphtide.run``.

It does what ``graphtide run`` does, for programs: nothing is printed unless a caller asks for it.
"""

import multiprocessing
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..config.settings import GraphSettings, load_settings
from ..gpu_core.errors import ClusterError, FailedResultWarning
from ..gpu_core.printable import counted
from ..io.given_paths import path_text
from ..io.state.directory import StateDirectory
from ..io.state.results import Result
from ..pipeline.run_summary import RunSummary
from .open_state import OpenState, open_state
from .printing.progress import ProgressLine
from .printing.summary import failure_text, run_lines


@dataclass(frozen=True, kw_only=True)
class RunReport(RunSummary):
    """Summary of a run; ``str()`` returns the lines that ``graphtide run`` prints.

    Attributes
    ----------
    batches_applied, rows
        Batches that this run applied, and their rows.
    totals
        What became of these rows: name of an outcome, as of `BatchReport`, -> number.
    first, watermark
        Numbers of the first batch that this run was to apply, and of the last one that is applied
        now; -1: none is.
    num_vertices, num_edges
        Size of the graph.
    state_hash
        Of the graph, as `DynamicGraph.state_hash`; None: there is no checkpoint.
    results
        Paths of the files with the newest results.
    checkpoint
        Folder of the newest checkpoint; None: there is none.
    seconds
        From the first batch to the last file written, without the start of a cluster, and without
        the time for which a run that follows its log waited for files.
    ingest_seconds
        Of these, those until the last batch was applied.
    nothing_to_do
        Whether all batches and results were there before the run.
    waits, wait_seconds
        How often batches waited for results and copies of earlier ones, and how long in all.
    failures
        Name of each result that could not be computed -> how often, and the last error.
    readers
        Names of the workers that read the batches.
    files
        Names of the planned files, in the order in which they are applied.
    notes
        Sentences for the user, such as which columns are not kept.
    log
        Address of the log, as it was given; several separated by spaces.
    state, folder
        Folder of the state as an absolute path: a text, and a `Path`.
    graph
        Settings that define the graph.
    """

    log: str
    state: str
    graph: GraphSettings

    def __str__(self) -> str:
        return "\n".join(run_lines(self, self.log, self.state, self.graph))

    def __repr__(self) -> str:
        return (
            f"<RunReport {counted(self.batches_applied, 'batch')}, {counted(self.rows, 'row')}, "
            f"{counted(self.num_vertices, 'vertex')}, {counted(self.num_edges, 'edge')}, "
            f"{self.seconds:.3g} s>"
        )

    def open(self) -> OpenState:
        """Open the state as it was after the last batch of the run; see `open_state`."""
        return open_state(self.state, self.watermark)

    def read_results(self, name: str) -> Result:
        """Read a result after the last batch of the run; see `OpenState.read_results`."""
        return self.open().read_results(name)


def run(
    log: str | Path | Sequence[str | Path],
    state: str | Path,
    *,
    config_file: str | None = None,
    progress: bool = False,
    **settings: Any,
) -> RunReport:
    """Apply the batches of a log that are not applied yet, as ``graphtide run`` does.

    Parameters
    ----------
    log
        Folder, file, pattern or URL of the log, or several of them.
    state
        Folder for the state of the run; created if it does not exist.
    config_file
        A YAML file of settings; ``settings`` take precedence.
    progress
        Whether to print a line of progress, on a terminal, and the summary at the end.
    **settings
        Settings by name, as ``graphtide settings`` prints them: ``records="weighted"``,
        ``analytics_every=10``, ``scheduler="tcp://…"``; parameters of an analytic as a mapping. The
        setting of the flag ``--window`` is ``time_window``.

    Returns
    -------
    RunReport
        Counts of rows and batches, seconds, paths; `RunReport.read_results` and `RunReport.open`
        read the state.

    Raises
    ------
    SettingsError
        A setting is unknown or not allowed, or the log or the state is no path.
    GraphtideError
        The run could not continue; the state is whole up to its newest checkpoint.

    Warns
    -----
    FailedResultWarning
        A result could not be computed; batches and other results are not affected.
    """
    from ..pipeline.ingest import run as run_pipeline

    checked = load_settings(settings, config_file)
    if checked.scheduler is None:
        _refuse_daemon()
    several = ", or several of them"
    given = log if isinstance(log, Iterable) and not isinstance(log, str | bytes) else [log]
    logs = tuple(path_text("log", each, also=several) for each in given)
    folder = str(StateDirectory(path_text("state", state)).absolute().path)
    if progress:
        with ProgressLine() as line:
            summary = run_pipeline(logs, folder, checked, line.show)
    else:
        summary = run_pipeline(logs, folder, checked)
    if summary.failures:
        warnings.warn(failure_text(summary.failures), FailedResultWarning, stacklevel=2)
    report = RunReport(**vars(summary), log=" ".join(logs), state=folder, graph=checked.graph)
    if progress:
        print(report)
    return report


def _refuse_daemon() -> None:
    """Refuse to start workers in a process that Python lets start none: Dask would wait for them.

    Raises
    ------
    ClusterError
        This is such a process.
    """
    if multiprocessing.current_process().daemon:
        msg = (
            "graphtide.run starts processes, and this one may not: it is a daemon of Python's "
            "multiprocessing, as workers of Dask are by default; call graphtide.run where the "
            "client of their cluster is, or start them with distributed.worker.daemon: false in "
            "Dask's configuration"
        )
        raise ClusterError(msg)
