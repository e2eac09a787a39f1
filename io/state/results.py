"""Results of analytics: what a run leaves for others to read.

::

    STATE/results/batch=<id>/<name>.parquet  one row a vertex: see docs/analytics.md

A run that goes on from a checkpoint applies the batches after it again, and writes their results
again, in the same places.

Each file carries checksums (``checked_tables.py``), and with a result its analytic, the parameters,
and which rows of the log its batch was (`ResultFacts`).

Not here: results between whole ones (``result_changes.py``), reports of batches (``reports.py``).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...gpu_core.algorithms.analytic import parameters_text
from ...gpu_core.algorithms.registry import ANALYTICS
from ...gpu_core.printable import counted
from ...gpu_core.report import BatchSource
from ...gpu_core.table import Table
from ..checked_tables import DamagedTableError, read_facts, read_table, write_table
from ..interchange.edge_table import table_of
from .directory import StateDirectory


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

    Attributes
    ----------
    name
        As the parameter.
    kind
        Analytic that the result is of.
    parameters
        Parameters that it was computed with, by name; None: an older graphtide kept none.
    source
        Rows of the log that the batch before it was; None: an older graphtide kept none.
    figures
        How it was found and how exact it is, such as ``iterations`` and ``error_bound``, by name.
    """

    def __init__(self, name: str, columns: dict[str, npt.NDArray[Any]], facts: ResultFacts) -> None:
        self.name = name
        self._columns = columns
        self.kind, self.parameters, self.source = facts.kind, facts.parameters, facts.source
        self.figures = facts.figures
        self._ranked_by = self.kind if self.kind in columns else next(reversed(self.measures), "")

    @property
    def measures(self) -> list[str]:
        """Names of the columns whose values are more or less: all but those of vertices."""
        analytic = ANALYTICS.get(self.kind)
        ids = {each.name for each in analytic.columns if each.dtype == "id"} if analytic else set()
        return [name for name in self._columns if name not in {"vertex", *ids}]

    def has_value(self, measure: str) -> npt.NDArray[np.bool_]:
        """bool[n]: which vertices have a value in a column that is a measure.

        No path leads to the others, as a rule: they have no place among those that have one.
        """
        values, analytic = self._columns[measure], ANALYTICS.get(self.kind)
        nothing = {each.name: each.nothing for each in analytic.columns} if analytic else {}
        there: npt.NDArray[np.bool_] = np.isfinite(values)
        return there if nothing.get(measure) is None else there & (values != nothing[measure])

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
        source_of(source) if isinstance(source, dict) else None,
        figures if isinstance(figures, dict) else {},
    )


def source_of(values: Mapping[str, Any]) -> BatchSource:
    """Rows of a batch from plain values, such as a file keeps."""
    known: dict[str, Any] = {name: values.get(name) for name in BatchSource._fields}
    return BatchSource(**known)
