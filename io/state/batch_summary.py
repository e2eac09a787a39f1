"""The summary of batches: one row for each applied batch, of all that a run found after it.

::

    STATE/results/summary/<first>-<last>.parquet

=========================  =====================================================================
column                     holds
=========================  =====================================================================
``batch``                  number of the batch
``vertices``, ``edges``    size of the graph after it
``triangles``, …           values of each result, as the registry names them (`Analytic.metrics`);
                           null where it was not computed after this batch
``read_seconds``, …        seconds by stage (`gpu_core.report.STAGES`)
``analytics_seconds``      seconds that all results took beside the graph, those that were
                           computed once more included; null: there are none
=========================  =====================================================================

Files are written with each checkpoint, before it, as the reports are: so there is a row for each
batch that is applied, and for no other one. Files of runs with other analytics have other columns.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...gpu_core.errors import StateError
from ...gpu_core.report import STAGES, BatchReport
from ...gpu_core.table import TableRows
from ..checked_tables import DamagedTableError, read_facts, read_table, write_table
from .batch_names import range_files, range_name, remove_files_from
from .directory import StateDirectory

#: Values of a batch by column.
Row = Mapping[str, float | None]

ANALYTICS_SECONDS = "analytics_seconds"

#: Columns that every file has, before those of results.
_FIRST = {"batch": "int64", "vertices": "int64", "edges": "int64"}

#: … and after them.
_LAST = {f"{stage}_seconds": "float64" for stage in STAGES} | {ANALYTICS_SECONDS: "float64"}


def summary_folder(state: StateDirectory) -> Path:
    """Folder of the files."""
    return state.path / "results" / "summary"


def write_summary(
    state: StateDirectory,
    reports: Sequence[BatchReport],
    found: Mapping[int, Row],
    types: Mapping[str, str],
) -> None:
    """Write the rows of consecutive batches.

    Parameters
    ----------
    state
        State that the caller has locked.
    reports
        Of the batches, in order.
    found
        Batch -> columns of its results, and ``analytics_seconds``.
    types
        Column of a result -> its type, of all that the run computes.
    """
    if not reports:
        return
    rows = [
        {
            "batch": each.batch_id,
            "vertices": each.num_vertices,
            "edges": each.num_edges,
            **{f"{stage}_seconds": each.seconds.get(stage) for stage in STAGES},
            **found.get(each.batch_id, {}),
        }
        for each in reports
    ]
    first, last = reports[0].batch_id, reports[-1].batch_id
    path = summary_folder(state) / f"{range_name(first, last)}.parquet"
    _write(path, rows, types)
    # What begins here or later is of a run that lost these batches before its checkpoint.
    remove_files_from(summary_folder(state), first, kept=path)


def amend_summary(
    state: StateDirectory, batch_id: int, found: Row, types: Mapping[str, str]
) -> None:
    """Put results into the row of a batch that has one, as they were computed once more.

    The seconds of that come to those that results of the batch have taken before.
    """
    for first, last, path in range_files(summary_folder(state)):
        if first <= batch_id <= last:
            try:
                table = _read(path, first, last)
            except DamagedTableError:
                return  # reported where it is read
            rows = table.to_pylist()
            row = rows[batch_id - first]
            before = row.get(ANALYTICS_SECONDS) or 0.0
            row |= found
            if found.get(ANALYTICS_SECONDS) is not None:
                row[ANALYTICS_SECONDS] += before
            own = [name for name in table.column_names if name not in {**_FIRST, **_LAST}]
            _write(
                path, rows, {**{name: str(table.schema.field(name).type) for name in own}, **types}
            )


def missing_summaries(state: StateDirectory, boundary: int) -> list[Path]:
    """Files of batches before a boundary that were written and are not there, in their order.

    Reports are written before the summary, and both before the checkpoint. So batches beyond the
    newest checkpoint may have reports alone, of a run that goes on or was killed; and where a run
    has just written reports in another group, files of the groups before have their summary.
    """
    folder = summary_folder(state)
    written = [
        (first, last, folder / path.name)
        for first, last, path in state.report_files()
        if first < boundary and (read_facts(path) or {}).get("has_summary")
    ]
    there = range_files(folder)
    names = {path.name for _, _, path in there}
    return [
        path
        for first, last, path in written
        if path.name not in names and not _have(there, first, last)
    ]


def _have(files: Sequence[tuple[int, int, Path]], first: int, last: int) -> bool:
    """Whether ordered files have all batches from ``first`` to ``last``."""
    for begins, ends, _ in files:
        if begins <= first <= ends:
            first = ends + 1
    return first > last


def read_summary(state: StateDirectory, notes: list[str] | None = None) -> TableRows:
    """Read the rows of all batches, in order; missing values are NaN.

    ``notes`` gets one sentence for each damaged file, which is skipped; None: `StateError`.
    """
    tables = []
    for first, last, path in range_files(summary_folder(state)):
        try:
            tables.append(_read(path, first, last))
        except FileNotFoundError:
            continue  # a run has just rewritten it, in another group
        except DamagedTableError as error:
            msg = f"{path} is damaged ({error}); remove it, it is not needed to go on"
            if notes is None:
                raise StateError(msg) from error
            notes.append(msg)
    if not tables:
        return TableRows({name: pa.array([], pa.int64()).to_numpy() for name in _FIRST}, "batch")
    table = pa.concat_tables(
        [each.replace_schema_metadata() for each in tables], promote_options="permissive"
    )
    own = [name for name in table.column_names if name not in {**_FIRST, **_LAST}]
    names = [*_FIRST, *own, *_LAST]
    return TableRows({name: table[name].to_numpy() for name in names}, "batch")


def drop_summary_from(state: StateDirectory, boundary: int) -> None:
    """Remove what is left of batches from ``boundary`` on (`StateDirectory.drop_from`)."""
    remove_files_from(summary_folder(state), boundary)


def _read(path: Path, first: int, last: int) -> pa.Table:
    """Read the rows of the batches that a file is named by; `DamagedTableError` for others."""
    table = read_table(path)
    batches = table["batch"].to_pylist() if "batch" in table.column_names else []
    if batches != list(range(first, last + 1)):
        msg = "its rows are not of the batches of its name"
        raise DamagedTableError(msg)
    return table


def _write(path: Path, rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]) -> None:
    columns = {**_FIRST, **types, **_LAST}
    schema = pa.schema([(name, pa.type_for_alias(columns[name])) for name in columns])
    write_table(path, pa.Table.from_pylist(list(rows), schema=schema), {})
