"""Reports of batches: what became of the rows of each, in files of consecutive batches.

::

    STATE/batches/<first>-<last>.parquet     one row a batch: the fields of BatchReport

A run that goes on from a checkpoint applies the batches after it again, and writes their reports
again, maybe in other groups; the later ones count.

Each file carries checksums (``checked_tables.py``), and the names of the results that were written
after its batches, or failed.

Not here: results (``results.py``), their values for each batch (``batch_summary.py``).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from ...gpu_core.errors import StateError
from ...gpu_core.report import STAGES, BatchReport
from ..checked_tables import DamagedTableError, read_facts, read_table, write_table
from .batch_names import range_name, remove_files_from
from .directory import StateDirectory
from .results import FailedResult, source_of

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


def amend_reports(
    state: StateDirectory,
    batch_id: int,
    results: Iterable[str],
    changes: Iterable[str],
    failed: Iterable[FailedResult],
) -> None:
    """Add the results of a batch that has a report, as they were computed once more.

    Names as of `write_reports`; of what was written or failed before, they say what is now.
    """
    whole, as_changes, failed = set(results), set(changes), list(failed)
    again = {*whole, *as_changes, *(each.name for each in failed)}
    for first, last, path in reversed(state.report_files()):
        if not first <= batch_id <= last:
            continue
        try:
            table = read_table(path)
        except DamagedTableError:
            return  # reported where it is read
        facts = read_facts(path) or {}
        for key, names in (("results", whole), ("changes", as_changes)):
            of_batch = facts.setdefault(key, {})
            # A result that failed leaves the file that there was.
            kept = set(of_batch.get(str(batch_id), ())) - whole - as_changes
            of_batch[str(batch_id)] = sorted(kept | names)
        others = [each for each in facts.get("failed", ()) if FailedResult(*each).name not in again
                  or FailedResult(*each).batch_id != batch_id]  # fmt: skip
        facts["failed"] = [*others, *([*each] for each in failed)]
        write_table(path, table, facts)
        return


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


def _report_schema() -> pa.Schema:
    counts = [pa.field(name, pa.int64()) for name in _COUNTS]
    seconds = [pa.field(f"{stage}_seconds", pa.float64()) for stage in STAGES]
    return pa.schema([*counts, *seconds, *(pa.field(*each) for each in _SOURCE.items())])


def _report(row: Mapping[str, Any]) -> BatchReport:
    seconds = {stage: row[f"{stage}_seconds"] for stage in STAGES if row[f"{stage}_seconds"]}
    # What was not counted yet when the file was written is 0.
    counts = {name: row.get(name, 0) for name in _COUNTS}
    source = source_of(row) if row.get("file") is not None else None
    return BatchReport(**counts, seconds=seconds, source=source)
