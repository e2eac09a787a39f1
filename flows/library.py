"""The pipeline and its states as functions: ``graphtide.run``, ``open``, ``read_results``.

What the commands do and show, for programs: nothing is printed unless it is asked for. A state that
is opened is only read, takes no cluster and no lock, and may be in use by a run.
"""

import difflib
import multiprocessing
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..config.settings import GraphSettings, load_settings
from ..gpu_core.algorithms.registry import ANALYTICS
from ..gpu_core.errors import ClusterError, FailedResultWarning, SettingsError, StateError
from ..gpu_core.graph import DynamicGraph
from ..gpu_core.printable import counted
from ..gpu_core.report import BatchReport, BatchSource
from ..gpu_core.table import TableRows
from ..io.state import batch_summary
from ..io.state.directory import StateDirectory
from ..io.state.result_changes import (
    batches_with,
    failed_results,
    read_result_at,
    result_names,
)
from ..io.state.results import Result, read_reports
from ..pipeline.replay import PastGraphs
from ..pipeline.run_summary import RunSummary
from .printing.progress import ProgressLine
from .printing.summary import FATES, failure_text, result_summary, run_lines


@dataclass(frozen=True, kw_only=True)
class RunReport(RunSummary):
    """Summary of a run; ``str()`` gives the lines that ``graphtide run`` prints."""

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

    def open(self) -> "OpenState":
        """Open the state where the run left it."""
        return open_state(self.state, self.watermark)

    def read_results(self, name: str) -> Result:
        """Read a result after the last batch."""
        return self.open().read_results(name)


class LogPosition(NamedTuple):
    """Position in the log that a batch reaches."""

    #: Name of the last file that it is of.
    file: str
    #: Rows of that file up to and with the batch.
    row: int
    #: Rows of the whole log up to and with the batch.
    rows: int


class OpenState:
    """A state as it was after one batch; made by `open_state`, which is ``graphtide.open``.

    Parameters
    ----------
    directory
        The state.
    past
        Makes its graphs.
    batch_id
        The batch; None: the newest that is applied.
    """

    def __init__(self, directory: StateDirectory, past: PastGraphs, batch_id: int | None) -> None:
        self._directory = directory
        self._past = past
        self.path = directory.path
        #: Number of the batch, from 0.
        self.batch_id = past.newest if batch_id is None else batch_id

    def __repr__(self) -> str:
        names = ", ".join(self.result_names) or "none"
        return f"<OpenState {self.path} after batch {self.batch_id}: results {names}>"

    @cached_property
    def graph(self) -> DynamicGraph:
        """The graph after the batch, in host memory; made when it is first asked for.

        It is that of the checkpoint, or of the one before with the log after it applied. What is
        changed in it stays in memory.

        Raises
        ------
        StateError
            The checkpoint is gone by now, or the log does not reach the batch any more.
        """
        return self._past.after(self.batch_id)

    @property
    def result_names(self) -> list[str]:
        """Names of the results after the batch, of which none is read."""
        return result_names(self._directory, self.batch_id)

    @property
    def results(self) -> dict[str, Result]:
        """Name -> result after the batch; all are read."""
        return {name: self.read_results(name) for name in self.result_names}

    def read_results(self, name: str) -> Result:
        """Read one result after the batch, such as ``pagerank``: a table of vertices.

        Its ``parameters``, ``kind`` (the analytic) and ``source`` say what it is of.

        Raises
        ------
        StateError
            There is none, or a file that it is made of is damaged.
        """
        if name not in self.result_names:
            there = ", ".join(self.result_names) or "none"
            failed = _failed(self._directory, name, self.batch_id)
            msg = (
                f"{self.path} has no result {name!r} of batch {self.batch_id}"
                f"{failed or f' (it has {there})'}; "
                f"{_batches_with(self._directory, name, self.batch_id)}"
            )
            raise StateError(msg)
        return read_result_at(self._directory, self.batch_id, name)

    @cached_property
    def reports(self) -> list[BatchReport]:
        """Reports of all batches up to this one, in order."""
        return [
            each for each in read_reports(self._directory, notes=[])
            if each.batch_id <= self.batch_id
        ]  # fmt: skip

    @property
    def source(self) -> BatchSource:
        """Rows that the batch was, with their earliest and latest times if its report has them."""
        if self._has_report and self.reports[-1].source is not None:
            return self.reports[-1].source
        batch = self._directory.read_plan().batches[self.batch_id]
        return BatchSource(batch.file, batch.first_row, batch.rows)

    @property
    def _has_report(self) -> bool:
        return bool(self.reports) and self.reports[-1].batch_id == self.batch_id

    @property
    def position(self) -> LogPosition:
        """Position in the log that the batch reaches."""
        batches = self._directory.read_plan().batches
        last = batches[self.batch_id]
        rows = sum(each.rows for each in batches[: self.batch_id + 1])
        return LogPosition(last.file, last.first_row + last.rows, rows)

    @property
    def summary(self) -> dict[str, Any]:
        """Plain values: ``batch``, ``rows``, what became of rows, size of the graph, ``results``.

        ``source`` says which rows the batch was; ``rows`` are all up to and with it. ``results``
        has the few numbers of each that ``graphtide status --json`` shows, and its parameters.
        """
        last = self.reports[-1] if self._has_report else self.graph
        return {
            "batch": self.batch_id,
            "source": self.source._asdict(),
            "rows": self.position.rows,
            **{name: sum(getattr(each, name) for each in self.reports) for name, _ in FATES},
            "num_vertices": last.num_vertices,
            "num_edges": last.num_edges,
            "results": dict(self._result_summaries()),
        }

    def _result_summaries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for name in self.result_names:
            with suppress(StateError):  # damaged: `read_results` says so
                result = self.read_results(name)
                if result.kind in ANALYTICS:
                    yield name, dict(result_summary(result))


def open_state(state: str | Path, batch: int | None = None, *, at: int | None = None) -> OpenState:
    """Open a state to read it: ``graphtide.open``.

    Parameters
    ----------
    state
        Folder of the state, which a run may be writing to.
    batch
        Number of a batch that is applied; None: the newest. The graph of one whose checkpoint is
        not kept needs the log.
    at
        The same, as the commands call it.

    Raises
    ------
    StateError
        There is no state, or no batch is applied yet.
    SettingsError
        The batch is not applied, or ``batch`` and ``at`` are two batches.
    """
    batch = _one_batch(batch, at)
    directory = StateDirectory(state)
    past = PastGraphs(directory)
    if batch is not None:
        past.check_applied(batch)
    return OpenState(directory, past, batch)


def read_results(
    state: str | Path, name: str, batch: int | None = None, *, at: int | None = None
) -> Result:
    """Read a result of a state, such as ``pagerank``: a table of vertices.

    Between two batches whose columns were written, it is made of the first of them and of the
    changes after it; with ``changes_beyond: 0`` it has the bits that were computed.

    Parameters
    ----------
    state
        Folder of the state.
    name
        Of the result: that of its analytic, or one of its own.
    batch
        Number of the batch after which it was computed; None: the newest that has it.
    at
        The same, as the commands call it.

    Raises
    ------
    StateError
        There is no such result, or a file that it is made of is damaged.
    SettingsError
        ``batch`` and ``at`` are two batches.
    """
    return result_after(StateDirectory(state), name, _one_batch(batch, at))[1]


def _one_batch(batch: int | None, at: int | None) -> int | None:
    """Number of the batch that is meant, which has two names."""
    if None not in (batch, at) and batch != at:
        msg = f"batch={batch} and at={at} are two batches; give one of them"
        raise SettingsError(msg)
    given = at if batch is None else batch
    return None if given is None else _number(given)


def _number(batch: object) -> int:
    """The number of a batch, which a script may have as text."""
    if isinstance(batch, bool) or not isinstance(batch, int | np.integer):
        msg = f"batch={batch!r} is no number of a batch; give a whole one, from 0 on"
        raise SettingsError(msg)
    return int(batch)


def result_after(
    directory: StateDirectory, name: str, batch: int | None = None
) -> tuple[int, Result]:
    """Number of a batch, None being the newest that has a result of a name, and the result."""
    directory.settings()
    having = batches_with(directory, name)
    if not having or batch not in (None, *having):
        after = "" if batch is None else f" of batch {batch}{_failed(directory, name, batch)}"
        where = _batches_with(directory, name, batch)
        msg = f"{directory.path} has no result {name!r}{after}; {where}"
        raise StateError(msg)
    found = having[-1] if batch is None else batch
    return found, read_result_at(directory, found, name)


def read_summary(state: str | Path) -> TableRows:
    """Read the summary of a state: a row for each applied batch, in order.

    Columns are ``batch``, ``vertices``, ``edges``, values of each result, such as ``triangles`` and
    ``pagerank_error_bound``, and seconds by stage. What was not computed after a batch is NaN,
    so a column of integers that lacks some is one of floats.

    Parameters
    ----------
    state
        Folder of the state.

    Raises
    ------
    StateError
        There is no state, or a file of it is damaged.
    """
    directory = StateDirectory(state)
    directory.settings()
    return batch_summary.read_summary(directory)


def run(
    log: str | Path | Sequence[str | Path],
    state: str | Path,
    *,
    config_file: str | None = None,
    progress: bool = False,
    **settings: Any,
) -> RunReport:
    """Apply what is not applied yet of a log, as ``graphtide run`` does.

    Parameters
    ----------
    log
        Folder or URL of the files, or several of them.
    state
        Where the run keeps what it did; made where there is none.
    config_file
        A YAML file of settings; those given here win over it.
    progress
        Print a line on how far it is, where there is a terminal, and the summary at the end.
    **settings
        Settings by name, as ``graphtide settings`` prints them: ``records="weighted"``,
        ``analytics_every=10``, ``scheduler="tcp://…"``; parameters of an analytic as a mapping.
        What the flag ``--window`` sets is called ``time_window``.

    Returns
    -------
    RunReport
        Counts, times, paths; `RunReport.read_results` and `RunReport.open` go on from there.

    Raises
    ------
    GraphtideError
        What ended the run; the state is whole up to its newest checkpoint.
    """
    from ..pipeline.ingest import run as run_pipeline

    checked = load_settings(settings, config_file)
    if checked.scheduler is None:
        _refuse_daemon()
    logs = (log,) if isinstance(log, str | Path) else log
    given = tuple(map(str, logs)), os.fspath(state)
    if progress:
        with ProgressLine() as line:
            summary = run_pipeline(*given, checked, line.show)
    else:
        summary = run_pipeline(*given, checked)
    if summary.failures:
        warnings.warn(failure_text(summary.failures), FailedResultWarning, stacklevel=2)
    report = RunReport(**vars(summary), log=" ".join(given[0]), state=given[1], graph=checked.graph)
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


def _failed(directory: StateDirectory, name: str, batch: int) -> str:
    """Why a result of a batch failed, if it did."""
    failed = failed_results(directory, batch + 1)
    reasons = [each.reason for each in failed if each[:2] == (batch, name)]
    return f": it failed, {reasons[-1]}" if reasons else ""


def _batches_with(directory: StateDirectory, name: str, batch: int | None) -> str:
    """Advice on where else a result is: in the newest batch at or before one, and the next."""
    having = batches_with(directory, name)
    if not having and name in ANALYTICS:
        return f"run the log with analytics {name}"
    if not having:
        others = {each for at in directory.result_ids() for each in result_names(directory, at)}
        return f"the state has {', '.join(sorted(others)) or 'none'}{_names_like(name, others)}"
    before = [each for each in having if batch is None or each <= batch][-1:]
    after = [each for each in having if batch is not None and each > batch][:1]
    return f"it has one of batch {' and of batch '.join(map(str, before + after))}"


def _names_like(name: str, others: set[str]) -> str:
    """What may have been meant: a column, of one of these results first, a result or an analytic.

    Nothing where none is near.
    """
    holders = [each for each, of in ANALYTICS.items() if name in (it.name for it in of.results)]
    holders = [each for each in holders if each in others] or holders
    if holders:
        return f"; {name} is a column of {' or '.join(holders)}"
    known = sorted({*ANALYTICS, *others})
    # A whole word comes first: as text, `components` is not close to `weakly_connected_components`.
    near = [each for each in known if name in each.split("_")]
    near = near or difflib.get_close_matches(name, known, n=2)
    return f"; did you mean {' or '.join(near)}?" if near else ""
