"""A state as Python reads it: ``graphtide.open``, ``read_results`` and ``read_summary``.

A state is only read; that needs no cluster and no lock, and a run may use it meanwhile.
"""

import difflib
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ..gpu_core.algorithms.registry import ANALYTICS
from ..gpu_core.choices import choice_shown, is_integer
from ..gpu_core.errors import SettingsError, StateError
from ..gpu_core.graph import DynamicGraph
from ..gpu_core.report import BatchReport, BatchSource
from ..gpu_core.table import TableRows
from ..io.state import batch_summary
from ..io.state.directory import StateDirectory
from ..io.state.plan_files import read_plan
from ..io.state.reports import read_reports
from ..io.state.result_changes import (
    batches_with,
    failed_results,
    read_result_at,
    result_names,
)
from ..io.state.results import Result
from ..pipeline.replay import PastGraphs
from .printing.summary import FATES, result_summary


class LogPosition(NamedTuple):
    """End of a batch in the log.

    If rows are ordered by a column (``order_by``), as if the ordered rows stood in the files.
    """

    #: Name of the file that has its last row.
    file: str
    #: Rows of that file up to the end of the batch.
    row: int
    #: Rows of the whole log up to the end of the batch.
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
    """

    def __init__(self, directory: StateDirectory, past: PastGraphs, batch_id: int | None) -> None:
        self._directory = directory
        self._past = past
        #: The folder, as an absolute path.
        self.path = directory.path
        #: Number of the batch, from 0.
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
        _check_name(name)
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
    batch = _one_batch(batch, at)
    directory = StateDirectory(state).absolute()
    past = PastGraphs(directory)
    if batch is not None:
        past.check_applied(batch)
    return OpenState(directory, past, batch)


def read_results(
    state: str | Path, name: str, batch: int | None = None, *, at: int | None = None
) -> Result:
    """Read a result of a state: a table with a row for each vertex.

    If a run wrote only changes after the batch (``changes_beyond``), they are applied to the
    columns before them; with ``changes_beyond: 0`` the result has exactly the computed bits.

    Parameters
    ----------
    state
        Folder of the state.
    name
        Name of the result, such as ``pagerank``.
    batch
        Number of the batch after which it was computed, from 0; None: the newest that has it.
    at
        Another name of ``batch``, as the commands have it.

    Returns
    -------
    Result
        Columns as ``docs/analytics.md`` lists them; ``kind``, the analytic; ``parameters``;
        ``source``, the rows of the log that the batch was.

    Raises
    ------
    StateError
        There is no such result, or one of its files is damaged.
    SettingsError
        ``batch`` and ``at`` differ.
    """
    return result_after(StateDirectory(state), name, _one_batch(batch, at))[1]


def _one_batch(batch: int | None, at: int | None) -> int | None:
    """Number of the batch, which has two names as an argument."""
    given = {_number(each) for each in (batch, at) if each is not None}
    if len(given) > 1:
        msg = f"batch={batch} and at={at} are two batches; give one of them"
        raise SettingsError(msg)
    return given.pop() if given else None


def _number(batch: object) -> int:
    """The number of a batch, which a script may have as text."""
    if not is_integer(batch):
        msg = f"batch={batch!r} is no number of a batch; give a whole one, from 0 on"
        raise SettingsError(msg)
    return int(batch)


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        msg = (
            f"name={choice_shown(name)} is no name of a result; names are text, as in result_names"
        )
        raise SettingsError(msg)


def result_after(
    directory: StateDirectory, name: str, batch: int | None = None
) -> tuple[int, Result]:
    """Number of a batch, None being the newest that has a result of a name, and the result."""
    _check_name(name)
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

    Parameters
    ----------
    state
        Folder of the state.

    Returns
    -------
    TableRows
        Columns ``batch``, ``vertices``, ``edges``, values of each result, such as ``triangles`` and
        ``pagerank_error_bound``, and seconds by stage. A value that was not computed after a batch
        is NaN, so a column of integers with missing values is float64.

    Raises
    ------
    StateError
        There is no state, or a file of it is damaged.
    """
    directory = StateDirectory(state)
    directory.settings()
    return batch_summary.read_summary(directory)


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
