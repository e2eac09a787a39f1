"""Results of a batch, as the graph worker sends them to the client.

A result is reduced on the graph worker: to the few values that the summary of batches and the
dashboard show, and to its columns only where these are written to a file. So a run with results
after every batch does not send a row for every vertex each time.

Columns of many vertices go to a client on the same machine through shared memory (`SharedResults`,
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
WrittenForm = Literal["whole", "changes"] | None

#: Bytes of a result's columns from which they are shared: to say that they are no longer needed
#: takes a task of its own.
_LEAST_SHARED_BYTES = 1 << 20


@dataclass(frozen=True)
class ResultRequest:
    """One result to be computed by the graph worker."""

    #: Name of its analytic.
    kind: str
    #: Arguments of ``compute``.
    arguments: Mapping[str, Any]
    #: As its file keeps them.
    parameters: Mapping[str, Any]
    written: WrittenForm
    #: Whether columns of float64 are rounded to float32.
    narrow: bool = False


@dataclass(frozen=True)
class ComputedResult:
    """One result, reduced to what is shown and written of it."""

    #: Values of `Analytic.summary`, with the figures.
    summary: Summary
    #: As `Analytic.figures_of` gives them.
    figures: Mapping[str, float | None]
    written: WrittenForm
    #: Name -> values, one item a vertex; None: they are not written.
    columns: dict[str, npt.NDArray[Any]] | None


@dataclass(frozen=True)
class BatchResults:
    """All results of a batch."""

    #: Name -> result, of those that did not fail.
    by_name: Mapping[str, ComputedResult]
    #: Rows of the batch; None: this graph was restored after it.
    source: BatchSource | None
    #: Seconds that it took to compute and reduce them.
    seconds: float
    #: Name -> why it failed.
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_columns(self) -> bool:
        """Whether columns are to be written."""
        return any(each.columns is not None for each in self.by_name.values())

    def failures(self, batch_id: int) -> list[FailedResult]:
        """Results that failed, with the number of this batch."""
        return [FailedResult(batch_id, name, reason) for name, reason in self.failed.items()]


@dataclass(frozen=True)
class SharedResults:
    """Results of a batch whose columns are in shared memory, until they are released."""

    #: These columns are empty here.
    results: BatchResults
    #: Name of the result -> address of its columns.
    addresses: Mapping[str, ArraysAddress]

    @classmethod
    def of(cls, results: BatchResults, shared: Mapping[str, SharedArrays]) -> Self:
        """Take the columns that are shared, by the name of the result, out of ``results``."""
        empty = {name: replace(results.by_name[name], columns={}) for name in shared}
        addresses = {name: each.address for name, each in shared.items()}
        return cls(replace(results, by_name={**results.by_name, **empty}), addresses)

    def opened(self) -> BatchResults:
        """The results with their columns; OSError where that memory cannot be opened here."""
        by_name = dict(self.results.by_name)
        for name, address in self.addresses.items():
            by_name[name] = replace(by_name[name], columns=open_arrays(address))
        return replace(self.results, by_name=by_name)


def shared_columns(results: BatchResults) -> dict[str, SharedArrays]:
    """Move columns to shared memory, by the name of the result.

    Those that are few or texts stay where they are; all do if there is no such memory.
    """
    shared = {}
    with suppress(OSError):
        for name, each in results.by_name.items():
            columns = each.columns or {}
            nbytes = sum(column.nbytes for column in columns.values())
            is_text = any(column.dtype.hasobject for column in columns.values())
            if nbytes >= _LEAST_SHARED_BYTES and not is_text:
                shared[name] = SharedArrays(columns)
    return shared


def summarized(request: ResultRequest, result: Any) -> ComputedResult:
    """Reduce what ``compute`` returned to values; the graph's lock is held.

    They are computed where the result is, and its columns stay there.
    """
    analytic = analytic_named(request.kind)
    figures = analytic.figures_of(result)
    # Also where columns are written: on a GPU it is found sooner there than of columns on the host.
    return ComputedResult(
        {**analytic.brief_of(result, request.parameters), **figures}, figures, None, None
    )


def with_columns(found: ComputedResult, request: ResultRequest, result: Any) -> ComputedResult:
    """Add the columns of a result, if they are written; the graph's lock is held."""
    if request.written is None:
        return found
    columns = dict(analytic_named(request.kind).values(result))
    if request.narrow:
        columns = {name: _narrow(column) for name, column in columns.items()}
    return replace(found, written=request.written, columns=columns)


def _narrow(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if column.dtype != np.float64:
        return column
    # What is too large becomes infinite, as the setting says.
    with np.errstate(over="ignore"):
        return column.astype(np.float32)


def metrics(results: BatchResults, kinds: Mapping[str, str]) -> dict[str, float | None]:
    """Columns that the summary of batches has of these results (`Analytic.metrics`).

    ``kinds``: name of each result -> analytic that it is of.
    """
    return {
        column: each.summary.get(metric.name)
        for name, each in results.by_name.items()
        for column, metric in analytic_named(kinds[name]).metric_columns(name).items()
    }


def result_texts(batch_id: int, results: BatchResults, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Results as a run publishes them: name -> ``text``, ``analytic``, ``batch`` and values.

    ``text`` is a sentence, ``batch`` the number of the batch. ``kinds`` as of `metrics`.
    """
    texts = {}
    for name, each in results.by_name.items():
        analytic = analytic_named(kinds[name])
        text = f"{analytic.label or name}: {analytic.text(each.summary)}"
        texts[name] = {"text": text, "analytic": kinds[name], "batch": batch_id, **each.summary}
    return texts
