"""A state as it was after a batch: ``graphtide.open``.

A state is only read; that needs no cluster and no lock, and a run may use it meanwhile. What reads
results alone, without a graph, is in ``state_results.py``.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ..gpu_core.algorithms.registry import ANALYTICS
from ..gpu_core.errors import StateError
from ..gpu_core.graph import DynamicGraph
from ..gpu_core.report import BatchReport, BatchSource
from ..io.state.directory import StateDirectory
from ..io.state.plan_files import read_plan
from ..io.state.reports import read_reports
from ..io.state.result_changes import read_result_at, result_names
from ..io.state.results import Result
from ..pipeline.replay import PastGraphs
from .printing.summary import FATES, result_summary
from .state_results import check_name, one_batch, where_else, why_failed


class LogPosition(NamedTuple):
    """End of a batch in the log.

    If rows are ordered by a column (``order_by``), as if the ordered rows stood in the files.

    Attributes
    ----------
    file
        Name of the file that has its last row.
    row
        Rows of that file up to the end of the batch.
    rows
        Rows of the whole log up to the end of the batch.
    """

    file: str
    row: int
    rows: int


class OpenState:
    """A state as it was after one batch; returned by `open_state`, which is ``graphtide.open``.

    Parameters
    ----------
    directory
        The state.
    past
        Rebuilds graphs of earlier batches.
    batch_id
        Number of the batch; None: the newest that is applied.

    Attributes
    ----------
    path
        The folder, as an absolute path.
    batch_id
        Number of the batch, from 0.
    """

    def __init__(self, directory: StateDirectory, past: PastGraphs, batch_id: int | None) -> None:
        self._directory = directory
        self._past = past
        self.path = directory.path
        self.batch_id = past.newest if batch_id is None else batch_id

    def __repr__(self) -> str:
        names = ", ".join(self.result_names) or "none"
        return f"<OpenState {self.path} after batch {self.batch_id}: results {names}>"

    @cached_property
    def graph(self) -> DynamicGraph:
        """The graph after the batch, in host memory; loaded when it is first accessed.

        It is loaded from the checkpoint after this batch, or from an earlier one, to which the log
        is applied. Changes of it are not written to the state.

        Raises
        ------
        StateError
            The checkpoint was removed meanwhile, or the log no longer has the rows up to the batch.
        """
        return self._past.after(self.batch_id)

    @property
    def result_names(self) -> list[str]:
        """Names of the results after the batch."""
        return result_names(self._directory, self.batch_id)

    @property
    def results(self) -> dict[str, Result]:
        """All results after the batch by name; their files are read at each access."""
        return {name: self.read_results(name) for name in self.result_names}

    def read_results(self, name: str) -> Result:
        """Read one result after the batch: a table with a row for each vertex.

        Parameters
        ----------
        name
            Name of the result, such as ``pagerank``.

        Returns
        -------
        Result
            Columns as ``docs/analytics.md`` lists them; ``kind``, the analytic; ``parameters``;
            ``source``, the rows of the log that the batch was.

        Raises
        ------
        StateError
            There is no such result after the batch, or one of its files is damaged.
        """
        check_name(name)
        if name not in self.result_names:
            there = ", ".join(self.result_names) or "none"
            failed = why_failed(self._directory, name, self.batch_id)
            msg = (
                f"{self.path} has no result {name!r} of batch {self.batch_id}"
                f"{failed or f' (it has {there})'}; "
                f"{where_else(self._directory, name, self.batch_id)}"
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
        """Rows of the log in the batch, with their earliest and latest times if known."""
        if self._has_report and self.reports[-1].source is not None:
            return self.reports[-1].source
        batch = read_plan(self._directory).batches[self.batch_id]
        return BatchSource(batch.file, batch.first_row, batch.rows)

    @property
    def _has_report(self) -> bool:
        return bool(self.reports) and self.reports[-1].batch_id == self.batch_id

    @property
    def position(self) -> LogPosition:
        """End of the batch in the log."""
        batches = read_plan(self._directory).batches
        last = batches[self.batch_id]
        rows = sum(each.rows for each in batches[: self.batch_id + 1])
        return LogPosition(last.file, last.first_row + last.rows, rows)

    @property
    def summary(self) -> dict[str, Any]:
        """Summary as plain values, fit for JSON.

        ``batch``, its number; ``source``, its rows of the log; ``rows``, all rows up to its end;
        counts of what became of these, such as ``inserted``; ``expired``, edges that left a window;
        ``num_vertices``, ``num_edges``; ``results``: name -> parameters and the numbers that
        ``graphtide status --json`` shows.
        """
        last = self.reports[-1] if self._has_report else self.graph
        return {
            "batch": self.batch_id,
            "source": self.source._asdict(),
            "rows": self.position.rows,
            **{name: sum(getattr(each, name) for each in self.reports) for name, _ in FATES},
            "expired": sum(each.expired for each in self.reports),
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
        Folder of the state; a run may write to it meanwhile.
    batch
        Number of an applied batch, from 0; None: the newest. If the checkpoint after it is not
        kept, its graph also needs the log.
    at
        Another name of ``batch``, as the commands have it.

    Returns
    -------
    OpenState
        The graph, results, reports and summary after that batch.

    Raises
    ------
    StateError
        There is no state, or no batch is applied yet.
    SettingsError
        The batch is not applied, or ``batch`` and ``at`` differ.
    """
    batch = one_batch(batch, at)
    directory = StateDirectory(state).absolute()
    past = PastGraphs(directory)
    if batch is not None:
        past.check_applied(batch)
    return OpenState(directory, past, batch)
