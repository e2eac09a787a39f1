"""Results and reports: what a run leaves for others to read.

::

    STATE/results/batch=<id>/<name>.parquet  one row a vertex: see docs/analytics.md
    STATE/batches/<first>-<last>.parquet     one row a batch: the fields of BatchReport

Results between whole ones: ``result_changes.py``; a row for each batch: ``batch_summary.py``.

A run that goes on from a checkpoint applies the batches after it again, and writes their results
and reports again, in the same places or in other groups; the later ones count.

Each file carries checksums (``checked_tables.py``). A result also has its analytic, the
parameters, and which rows of the log its batch was (`ResultFacts`); a file of reports the names of
the results that were written after its batches.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy.typing as npt
import pyarrow as pa

from ...gpu_core.algorithms.analytic import parameters_text
from ...gpu_core.algorithms.registry import ANALYTICS
from ...gpu_core.errors import StateError
from ...gpu_core.printable import counted
from ...gpu_core.report import STAGES, BatchReport, BatchSource
from ...gpu_core.table import Table
from ..checked_tables import DamagedTableError, read_facts, read_table, write_table
from ..interchange.edge_table import table_of
from .directory import StateDirectory, range_name, remove_files_from


@dataclass(frozen=True)
class ResultFacts:
    """Metadata of a result file."""

    #: Analytic that the result is of.
    kind: str
    #: Parameters that it was computed with; None: an older graphtide kept none.
    parameters: dict[str, Any] | None = None
    #: Rows of the log that the last batch before it was; None: an older graphtide kept none.
    source: BatchSource | None = None
    #: How it was found and how exact it is, as `Analytic.figures` names it; None: infinite. Nothing
    #: of an older graphtide.
    figures: Mapping[str, float | None] = field(default_factory=dict)

    def is_like(self, other: "ResultFacts") -> bool:
        """Whether both are of one analytic, with the same parameters."""
        return self.kind == other.kind and not any(self.differing(other))

    def differing(self, other: "ResultFacts") -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters of this one and of another of the same analytic that are not the same in both.

        Of a result that keeps none at all, nothing differs.
        """
        analytic = ANALYTICS.get(self.kind)
        if self.parameters is None or other.parameters is None or analytic is None:
            return {}, {}
        mine, others = map(analytic.completed, (self.parameters, other.parameters))
        names = [name for name in mine if mine[name] != others.get(name)]
        return {name: mine[name] for name in names}, {name: others.get(name) for name in names}

    def distinction_from(self, other: "ResultFacts") -> tuple[str, str]:
        """Texts that distinguish how this one and another were computed."""
        if self.kind != other.kind:
            return f"as {self.kind}", f"as {other.kind}"
        mine, others = map(parameters_text, self.differing(other))
        return f"with {mine}", f"with {others}"


class FailedResult(NamedTuple):
    """A result that could not be computed."""

    batch_id: int
    #: Of the result.
    name: str
    #: What its error said.
    reason: str

    @property
    def sentence(self) -> str:
        """The sentence that is reported where the result was asked for."""
        return f"result {self.name} after batch {self.batch_id} failed: {self.reason}"


class Failures(NamedTuple):
    """Failures of one result."""

    batches: int
    newest: FailedResult

    def values(self) -> dict[str, Any]:
        """Plain values: ``batches``, how many, ``last_batch``, ``reason``."""
        _, (batch_id, _, reason) = self
        return {"batches": self.batches, "last_batch": batch_id, "reason": reason}


def failures_by_name(
    failed: Iterable[FailedResult], before: Mapping[str, Failures] = MappingProxyType({})
) -> dict[str, Failures]:
    """Name of a result -> how often it failed, of batches in order; ``before`` are counted in."""
    found = dict(before)
    for each in failed:
        known = found.get(each.name)
        if known is None or each.batch_id > known.newest.batch_id:
            found[each.name] = Failures(1 + (known.batches if known else 0), each)
    return found


class Result(Table):
    """Contents of a result file.

    Parameters
    ----------
    name
        Of the result: that of its analytic, or one of its own.
    columns
        Columns by name.
    facts
        What else the file has.
    """

    def __init__(self, name: str, columns: dict[str, npt.NDArray[Any]], facts: ResultFacts) -> None:
        self.name = name
        self._columns = columns
        #: As in `ResultFacts`.
        self.kind, self.parameters, self.source = facts.kind, facts.parameters, facts.source
        self.figures = facts.figures
        self._ranked_by = self.kind if self.kind in columns else next(reversed(self.measures), "")

    @property
    def measures(self) -> list[str]:
        """Names of the columns whose values are more or less: all but those of vertices."""
        analytic = ANALYTICS.get(self.kind)
        ids = {each.name for each in analytic.columns if each.dtype == "id"} if analytic else set()
        return [name for name in self._columns if name not in {"vertex", *ids}]

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Columns by name."""
        return self._columns

    def __repr__(self) -> str:
        return f"<Result {self.name}: {counted(len(self), 'row')} of {', '.join(self._columns)}>"


def write_result(
    state: StateDirectory,
    batch_id: int,
    name: str,
    columns: Mapping[str, npt.NDArray[Any]],
    facts: ResultFacts,
) -> Path:
    """Write what an analytic has computed after a batch; gives the file.

    Parameters
    ----------
    state
        State that the caller has locked.
    batch_id
        The batch.
    name
        Of the result.
    columns
        Those of its analytic, by name (`Analytic.values`).
    facts
        What the file has beside them.
    """
    path = result_file(state, batch_id, name)
    write_table(path, table_of(columns), {**facts_values(facts), "batch": batch_id})
    return path


def facts_values(facts: ResultFacts) -> dict[str, Any]:
    """Metadata of a file, as plain values."""
    values = {
        "parameters": dict(facts.parameters or {}),
        "analytic": facts.kind,
        "figures": dict(facts.figures),
    }
    if facts.source is not None:
        values["source"] = facts.source._asdict()
    return values


def result_file(state: StateDirectory, batch_id: int, name: str) -> Path:
    """Path of all columns of a result after a batch."""
    return state.results(batch_id) / f"{name}.parquet"


def result_files(state: StateDirectory, batch_id: int) -> dict[str, Path]:
    """Files of the results after a batch, by name."""
    return {path.stem: path for path in sorted(state.results(batch_id).glob("*.parquet"))}


def read_result(path: Path) -> Result:
    """Read a result; DamagedTableError where it is not as it was written, or missing."""
    try:
        table = read_table(path)
    except FileNotFoundError:
        msg = "it is missing"
        raise DamagedTableError(msg) from None
    facts = result_facts(path)
    analytic = ANALYTICS.get(facts.kind)
    columns_then = analytic.columns_for(facts.parameters) if analytic else ()
    if analytic and [each.name for each in columns_then] != table.column_names:
        msg = f"its columns are {', '.join(table.column_names)}"
        raise DamagedTableError(msg)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    return Result(path.stem, columns, facts)


def result_facts(path: Path) -> ResultFacts:
    """Metadata of a result file."""
    facts = read_facts(path) or {}
    parameters, source, figures = (facts.get(each) for each in ("parameters", "source", "figures"))
    return ResultFacts(
        str(facts.get("analytic", path.stem)),
        parameters if isinstance(parameters, dict) else None,
        _source(source) if isinstance(source, dict) else None,
        figures if isinstance(figures, dict) else {},
    )


def write_reports(
    state: StateDirectory,
    reports: Sequence[BatchReport],
    results: Mapping[int, Iterable[str]] = MappingProxyType({}),
    changes: Mapping[int, Iterable[str]] = MappingProxyType({}),
    failed: Iterable[FailedResult] = (),
    *,
    has_summary: bool = False,
) -> Path | None:
    """Write the reports of consecutive batches; gives the file, or None where there is none.

    ``results``: batch -> names of the results that were written after it; ``changes``: of those
    that were written as changes; ``failed``: those that were not; ``has_summary``: whether the
    summary of these batches is written, too, under the same name.
    """
    if not reports:
        return None
    first, last = reports[0].batch_id, reports[-1].batch_id
    if [report.batch_id for report in reports] != list(range(first, last + 1)):
        msg = f"the reports of batches {first} to {last} have gaps; keep each report that is made"
        raise StateError(msg)
    path = state.batches / f"{range_name(first, last)}.parquet"
    rows = [report.as_dict() for report in reports]
    facts: dict[str, Any] = {
        key: {str(each): sorted(names[each]) for each in names if first <= each <= last}
        for key, names in (("results", results), ("changes", changes))
    }
    facts["failed"] = [[*each] for each in failed if first <= each.batch_id <= last]
    facts["has_summary"] = has_summary
    write_table(path, pa.Table.from_pylist(rows, schema=_report_schema()), facts)
    # What begins here or later is of a run that lost these batches before its checkpoint.
    remove_files_from(state.batches, first, kept=path)
    return path


def read_reports(
    state: StateDirectory, first: int = 0, notes: list[str] | None = None
) -> list[BatchReport]:
    """Read the reports of all batches from ``first`` on, in order.

    Parameters
    ----------
    state
        The state; it need not be locked.
    first
        First batch.
    notes
        Gets one sentence for each damaged file, which is skipped; None: `StateError`.
    """
    files, before = state.report_files(), None
    while files != before:
        reports: dict[int, BatchReport] = {}
        damaged: list[str] = []
        is_gone = False
        for _, last, path in files:
            if last < first:
                continue
            try:
                rows = [_report(row) for row in read_table(path).to_pylist()]
            except FileNotFoundError:
                # A run has just rewritten it, in another group: look again.
                is_gone = True
                continue
            except (DamagedTableError, KeyError, TypeError) as error:
                msg = f"{path} is damaged ({error}); remove it, it is not needed to go on"
                if notes is None:
                    raise StateError(msg) from error
                damaged.append(msg)
                continue
            for report in rows:
                if report.batch_id >= first:
                    reports[report.batch_id] = report
        files, before = state.report_files() if is_gone else files, files
    if notes is not None:
        notes += damaged
    return [reports[batch_id] for batch_id in sorted(reports)]


def written_results(state: StateDirectory, key: str = "results") -> dict[int, list[str]]:
    """Batch -> names of its results, of all that were written; reports of these keep it.

    ``key``: ``results``, or ``changes`` for those that were written as changes.
    """
    written: dict[int, list[str]] = {}
    for _, _, path in state.report_files():
        for batch_id, names in ((read_facts(path) or {}).get(key) or {}).items():
            written[int(batch_id)] = list(names)
    return written


_COUNTS = tuple(
    name for name in BatchReport._fields if name not in ("seconds", "effects", "source")
)
_SOURCE = {
    "file": pa.string(),
    "first_row": pa.int64(),
    "first_ts": pa.int64(),
    "last_ts": pa.int64(),
    "time_unit": pa.string(),
}


def _report_schema() -> pa.Schema:
    counts = [pa.field(name, pa.int64()) for name in _COUNTS]
    seconds = [pa.field(f"{stage}_seconds", pa.float64()) for stage in STAGES]
    return pa.schema([*counts, *seconds, *(pa.field(*each) for each in _SOURCE.items())])


def _report(row: Mapping[str, Any]) -> BatchReport:
    seconds = {stage: row[f"{stage}_seconds"] for stage in STAGES if row[f"{stage}_seconds"]}
    # What was not counted yet when the file was written is 0.
    counts = {name: row.get(name, 0) for name in _COUNTS}
    source = _source(row) if row.get("file") is not None else None
    return BatchReport(**counts, seconds=seconds, source=source)


def _source(values: Mapping[str, Any]) -> BatchSource:
    known: dict[str, Any] = {name: values.get(name) for name in BatchSource._fields}
    return BatchSource(**known)
