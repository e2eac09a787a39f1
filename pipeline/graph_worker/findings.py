"""Results of analytics after a batch, in the form in which they travel to the client.

A result is reduced beside the graph: to the few values that the summary of batches and those who
watch a run see, and to its columns only where these are written. So a run with results after every
batch does not send, at each of them, a row for every vertex.

Columns of many vertices go to a client on the same machine through shared memory (`SharedFindings`,
``shared_arrays.py``), not through Dask, which would copy them twice on its threads for messages,
beside those of batches.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from ...gpu_core.algorithms.analytic import Summary
from ...gpu_core.algorithms.registry import analytic_named
from ...gpu_core.report import BatchSource
from ...io.state.results import FailedResult
from .shared_arrays import ArraysAddress, SharedArrays, open_arrays

#: What is written of a result after a batch: all columns, or the rows that changed since the result
#: before it; None: only its values in the summary of batches.
Written = Literal["whole", "changes"] | None

#: Bytes of a result's columns from which they are shared: to say that they are no longer needed
#: takes a task of its own.
_LEAST_SHARED_BYTES = 1 << 20


@dataclass(frozen=True)
class Asked:
    """A result that the graph worker is asked for."""

    #: Analytic that it is of.
    kind: str
    #: What ``compute`` is given.
    arguments: Mapping[str, Any]
    #: As its file keeps them.
    parameters: Mapping[str, Any]
    written: Written
    #: Whether columns of float64 are rounded to float32.
    narrow: bool = False


@dataclass(frozen=True)
class Finding:
    """Outcome of one result."""

    #: Values of `Analytic.summary`, with the figures.
    summary: Summary
    #: As `Analytic.figures_of` gives them.
    figures: Mapping[str, float | None]
    written: Written
    #: Name -> values, one item a vertex; None: they are not written.
    columns: dict[str, npt.NDArray[Any]] | None


@dataclass(frozen=True)
class Findings:
    """Outcomes of all results after a batch."""

    #: Name of the result -> what it came to, of those that did not fail.
    found: Mapping[str, Finding]
    #: Rows that the batch was; None: this graph was made after it.
    source: BatchSource | None
    #: Seconds that it took to compute and reduce them.
    seconds: float
    #: Name -> why it failed.
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_columns(self) -> bool:
        """Whether columns are to be written."""
        return any(each.columns is not None for each in self.found.values())

    def failures(self, batch_id: int) -> list[FailedResult]:
        """Results that failed, with the number of this batch."""
        return [FailedResult(batch_id, name, reason) for name, reason in self.failed.items()]


@dataclass(frozen=True)
class SharedFindings:
    """Findings of which columns lie in shared memory, until they are let go of."""

    #: These columns are empty here.
    findings: Findings
    #: Name of the result -> where they are.
    addresses: Mapping[str, ArraysAddress]

    @classmethod
    def of(cls, findings: Findings, shared: Mapping[str, SharedArrays]) -> Self:
        """Findings without the columns that are shared, by the name of the result."""
        empty = {name: replace(findings.found[name], columns={}) for name in shared}
        addresses = {name: each.address for name, each in shared.items()}
        return cls(replace(findings, found={**findings.found, **empty}), addresses)

    def opened(self) -> Findings:
        """The findings, with all columns; OSError where their memory cannot be opened here."""
        found = dict(self.findings.found)
        for name, address in self.addresses.items():
            found[name] = replace(found[name], columns=open_arrays(address))
        return replace(self.findings, found=found)


def shared_columns(findings: Findings) -> dict[str, SharedArrays]:
    """Move columns to shared memory, by the name of the result.

    Those that are few or texts stay where they are; all do if there is no such memory.
    """
    shared = {}
    with suppress(OSError):
        for name, each in findings.found.items():
            columns = each.columns or {}
            nbytes = sum(column.nbytes for column in columns.values())
            is_text = any(column.dtype.hasobject for column in columns.values())
            if nbytes >= _LEAST_SHARED_BYTES and not is_text:
                shared[name] = SharedArrays(columns)
    return shared


def brief_finding(asked: Asked, result: Any) -> Finding:
    """Reduce what ``compute`` returned to values; the graph's lock is held.

    They are computed where the result is, and its columns stay there.
    """
    analytic = analytic_named(asked.kind)
    figures = analytic.figures_of(result)
    # Also where columns are written: on a GPU it is found sooner there than of columns on the host.
    return Finding({**analytic.brief_of(result, asked.parameters), **figures}, figures, None, None)


def with_columns(found: Finding, asked: Asked, result: Any) -> Finding:
    """A `brief_finding` with the columns of the result, if they are written; under the lock."""
    if asked.written is None:
        return found
    columns = dict(analytic_named(asked.kind).values(result))
    if asked.narrow:
        columns = {name: _narrow(column) for name, column in columns.items()}
    return replace(found, written=asked.written, columns=columns)


def _narrow(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if column.dtype != np.float64:
        return column
    # What is too large becomes infinite, as the setting says.
    with np.errstate(over="ignore"):
        return column.astype(np.float32)


def metrics(findings: Findings, kinds: Mapping[str, str]) -> dict[str, float | None]:
    """Columns that the summary of batches has of these results (`Analytic.metrics`).

    ``kinds``: name of each result -> analytic that it is of.
    """
    return {
        column: each.summary.get(metric.name)
        for name, each in findings.found.items()
        for column, metric in analytic_named(kinds[name]).metric_columns(name).items()
    }


def result_texts(batch_id: int, findings: Findings, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Results as a run publishes them: ``batch``, and ``results``: name -> ``text`` and values.

    ``text`` is a sentence. ``kinds`` as of `metrics`.
    """
    results = {}
    for name, each in findings.found.items():
        analytic = analytic_named(kinds[name])
        text = f"{analytic.label or name}: {analytic.text(each.summary)}"
        results[name] = {"text": text, **each.summary}
    return {"batch": batch_id, "results": results}
