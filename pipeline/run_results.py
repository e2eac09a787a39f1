"""The results of one run: which exist, which are requested, and their files.

Of a result after a batch either all columns are written, or the rows that changed since the result
before it, or nothing but its values in the summary of batches::

    columns_every: K     whole: the first result at or after each K batches, and at the log's end
    changes_beyond: X    between them the rows in which a value changed by more than X

Which of them it is follows from the batch's number and the settings alone, and changes are since
what a reader has of the result before. So a run that goes on from a checkpoint writes the files
that it would have written anyway.

Not here: when results are computed (``lifecycle.py``), and formats of files (``io/``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ..config.settings import RunSettings
from ..gpu_core.algorithms.registry import ANALYTICS, analytic_named
from ..gpu_core.errors import StateError
from ..gpu_core.report import BatchReport, BatchSource
from ..io.checked_tables import fault_of
from ..io.state import batch_summary, result_changes, results
from ..io.state.directory import StateDirectory
from ..io.state.reports import amend_reports, write_reports
from ..io.state.result_changes import Columns
from ..io.state.results import FailedResult, Failures, ResultFacts, failures_by_name
from .analyses import Analysis
from .graph_worker.batch_results import (
    BatchResults,
    ComputedResult,
    ResultRequest,
    WrittenForm,
    metrics,
    result_texts,
)
from .state_machine.run_rules import is_whole

#: Files that are written at once.
_FILES_AT_ONCE = 4

#: Form of a result -> where its file is, and what reads it.
_FILES: Mapping[
    str, tuple[Callable[[StateDirectory, int, str], Path], Callable[[Path], object]]
] = {
    "whole": (results.result_file, results.read_result),
    "changes": (result_changes.changes_file, result_changes.read_changes),
}


class RunResults:
    """Results of a run, as its loop sees them.

    Parameters
    ----------
    state
        An open state directory.
    analyses
        Name of each result -> what is computed.
    settings
        Settings of the run.
    """

    def __init__(
        self, state: StateDirectory, analyses: dict[str, Analysis], settings: RunSettings
    ) -> None:
        #: Name of each result -> what is computed.
        self.analyses = analyses
        #: The newest result of each name, for those who watch: see `batch_results.result_texts`.
        self.newest: Mapping[str, Any] = {}
        #: Name -> how often it failed in this run, of those that did.
        self.failures: dict[str, Failures] = {}
        self._state = state
        self._settings = settings
        self._kinds = {name: each.kind for name, each in analyses.items()}
        #: Of batches beyond the newest checkpoint: names of what was written, by form and batch;
        #: by batch its row of the summary, and the results that failed.
        self._written: dict[str, dict[int, list[str]]] = {"whole": {}, "changes": {}}
        self._summary_rows: dict[int, dict[str, float | None]] = {}
        self._failed: dict[int, list[FailedResult]] = {}
        #: Name -> batch of its newest file, and columns as who reads the files has them then.
        self._published: dict[str, tuple[int, Columns]] = {}

    # -- what is there

    def missing(self, batch_id: int, *, is_end: bool) -> tuple[list[str], list[str]]:
        """Names of the results of a batch that are requested, and not there as requested.

        A damaged file is not there, nor one of other parameters, nor what failed since it was
        written. Also gives a sentence for each damaged one. ``is_end`` as of `requests`.
        """
        names, notes = [], []
        for name, analysis in self.analyses.items():
            every = self._settings.cadences[name]
            if not is_end and every is not None and (batch_id + 1) % every:
                continue
            form = self._written_at(name, batch_id + 1, is_end=is_end)
            is_there = not self._has_failed(name, batch_id)
            if form is not None:
                place, read = _FILES[form]
                path = place(self._state, batch_id, name)
                fault = fault_of(path, read)
                if fault and path.exists():
                    notes.append(f"{path} was damaged ({fault}) and is recomputed")
                is_like = not fault and analysis.facts.is_like(results.result_facts(path))
                is_there = is_there and is_like
            if not is_there:
                names.append(name)
        return names, notes

    def _has_failed(self, name: str, batch_id: int) -> bool:
        failed = result_changes.failed_results(self._state, batch_id + 1)
        return (batch_id, name) in {(each.batch_id, each.name) for each in failed}

    def computed_otherwise(self) -> list[str]:
        """Sentences on results that were computed otherwise than this run does.

        Looked at are the newest two: the newest may have been recomputed.
        """
        notes = []
        for name, analysis in self.analyses.items():
            for batch_id in self._newest_with(name, 2):
                facts = results.result_facts(results.result_file(self._state, batch_id, name))
                if not facts.is_like(analysis.facts):
                    was, now = facts.distinction_from(analysis.facts)
                    notes.append(
                        f"{name} was computed {was} after batch {batch_id}; this run computes it "
                        f"{now}"
                    )
                    break
        return notes

    def _newest_with(self, name: str, most: int) -> list[int]:
        """The newest batches that have a whole result of a name, the newest first."""
        ids = reversed(self._state.result_ids())
        having = (each for each in ids if name in results.result_files(self._state, each))
        return list(islice(having, most))

    # -- requests to the graph worker

    def requests(
        self, names: Iterable[str], boundary: int, *, is_end: bool
    ) -> dict[str, ResultRequest]:
        """Request to the graph worker: name of the result -> what to compute.

        Parameters
        ----------
        names
            Of the results that are due.
        boundary
            Where they are due.
        is_end
            Whether the log ends there.
        """
        narrow = self._settings.result_floats == "float32"
        requests = {}
        for name in names:
            each = self.analyses[name]
            written = self._written_at(name, boundary, is_end=is_end)
            requests[name] = ResultRequest(
                each.kind, each.arguments, each.parameters, written, narrow
            )
        return requests

    def _written_at(self, name: str, boundary: int, *, is_end: bool) -> WrittenForm:
        """File of a result at a boundary, where the log may end."""
        # Columns that are there come before changes where they are read: they are replaced.
        is_there = results.result_file(self._state, boundary - 1, name).exists()
        return "whole" if is_end or is_there else self._form(name, boundary)

    def _form(self, name: str, boundary: int) -> WrittenForm:
        """File of a result at a boundary where the log goes on."""
        if is_whole(boundary, self._settings.cadences[name], self._settings.columns_every):
            return "whole"
        return None if self._settings.changes_beyond is None else "changes"

    # -- files

    def write(
        self, batch_id: int, computed: BatchResults, source: BatchSource, *, is_kept: bool
    ) -> None:
        """Write what was found after a batch, which was the rows of ``source``.

        Of a result that failed nothing is written but that it did.

        ``is_kept``: a checkpoint covers the batch, so the summary has a row of it.
        """
        if is_kept and not (computed.by_name or computed.failed):
            return  # all were there
        self._summary_rows[batch_id] = {
            **metrics(computed, self._kinds),
            batch_summary.ANALYTICS_SECONDS: computed.seconds,
        }
        if is_kept:
            # Before the columns: while these are not there, another run computes them again.
            row, types = self._summary_rows[batch_id], self._summary_types()
            others = dict.fromkeys(self._columns_of_others(computed.by_name))
            batch_summary.amend_summary(self._state, batch_id, {**others, **row}, types)
        found = {name: each for name, each in computed.by_name.items() if each.columns is not None}
        write = partial(self._write, batch_id, source)
        with ThreadPoolExecutor(_FILES_AT_ONCE, "graphtide-results") as pool:
            forms = dict(zip(found, pool.map(write, found, found.values()), strict=True))
        for form, by_batch in self._written.items():
            by_batch[batch_id] = [name for name, written in forms.items() if written == form]
        self._failed[batch_id] = computed.failures(batch_id)
        if is_kept:
            whole, changes = (by_batch[batch_id] for by_batch in self._written.values())
            amend_reports(self._state, batch_id, whole, changes, self._failed[batch_id])
        self.failures = failures_by_name(self._failed[batch_id], self.failures)
        # Replaced whole: another thread reads it. Not all results follow the same batches.
        self.newest = {**self.newest, **result_texts(batch_id, computed, self._kinds)}

    def _write(
        self, batch_id: int, source: BatchSource, name: str, found: ComputedResult
    ) -> WrittenForm:
        """Write one result; gives what was written of it."""
        assert found.columns is not None
        analysis = self.analyses[name]
        facts = ResultFacts(analysis.kind, analysis.parameters, source, found.figures)
        columns, form = found.columns, found.written
        if form == "changes":
            form = self._write_changes(batch_id, name, columns, facts)
        if form == "whole":
            results.write_result(self._state, batch_id, name, columns, facts)
            result_changes.changes_file(self._state, batch_id, name).unlink(missing_ok=True)
            if self._settings.changes_beyond is not None:
                self._published[name] = batch_id, columns
        return form

    def _write_changes(
        self, batch_id: int, name: str, columns: Columns, facts: ResultFacts
    ) -> WrittenForm:
        """Write the rows that changed; ``whole`` where all columns are to be written instead.

        That is where there is no result before it of the same kind, or most rows changed.
        """
        beyond = self._settings.changes_beyond
        assert beyond is not None
        before = self._published_before(batch_id, name, facts)
        if before is None or _dtypes(before[1]) != _dtypes(columns):
            return "whole"
        since, known = before
        changes = result_changes.changes_between(known, columns, beyond)
        if 2 * changes.size > columns["vertex"].size:
            return "whole"
        result_changes.write_changes(self._state, batch_id, name, changes, facts, since)
        self._published[name] = batch_id, result_changes.with_changes(known, changes)
        return "changes"

    def _published_before(
        self, batch_id: int, name: str, facts: ResultFacts
    ) -> tuple[int, Columns] | None:
        """Batch of the file before, and columns as who reads it has them; None: there is none."""
        every = self._settings.cadences[name]
        kept = self._published.get(name)
        if kept is not None and every is not None and kept[0] == batch_id - every:
            return kept
        # The first of this run, or of a graph that was lost and goes on from its checkpoint.
        before = [b for b in result_changes.batches_with(self._state, name) if b < batch_id]
        if not before:
            return None
        try:
            found = result_changes.read_result_at(self._state, before[-1], name)
        except StateError:
            return None
        is_like = facts.is_like(ResultFacts(found.kind, found.parameters))
        return (before[-1], found.columns) if is_like else None

    def write_reports(self, reports: Sequence[BatchReport]) -> None:
        """Write reports and summary of the batches that a checkpoint is to cover."""
        if not reports:
            return
        last = reports[-1].batch_id
        written = self._written
        failed = [each for of_batch in self._failed.values() for each in of_batch]
        write_reports(
            self._state, reports, written["whole"], written["changes"], failed, has_summary=True
        )
        batch_summary.write_summary(self._state, reports, self._summary_rows, self._summary_types())
        # A checkpoint is copied while batches go on: later ones may have results already.
        for batch_id in [each for each in self._summary_rows if each <= last]:
            for by_batch in written.values():
                del by_batch[batch_id]
            del self._summary_rows[batch_id], self._failed[batch_id]

    def _columns_of_others(self, names: Iterable[str]) -> set[str]:
        """Columns of the summary that results would have if they were of other analytics.

        An earlier run may have computed one under that name: its values are of no result any more.
        """
        found = {
            column
            for name in names
            for analytic in ANALYTICS.values()
            for column in analytic.metric_columns(name)
        }
        return found - self._summary_types().keys()

    def _summary_types(self) -> Mapping[str, str]:
        """Column of the summary -> its type, of all results of the run."""
        return {
            column: metric.dtype
            for name, kind in self._kinds.items()
            for column, metric in analytic_named(kind).metric_columns(name).items()
        }


def _dtypes(columns: Columns) -> dict[str, str]:
    return {name: str(column.dtype) for name, column in columns.items()}
