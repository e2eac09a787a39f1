"""Results between whole ones: files of the rows that changed since the result before.

::

    STATE/results/changes/batch=<id>/<name>.parquet

=================  =============================================================================
column             holds
=================  =============================================================================
``change``         1: the vertex is new; 0: a value of its row changed; -1: the vertex is gone
``row``            where the row is in the table after the batch; of a vertex that is gone, where
                   it was in the table before
``vertex``, …      the row, with the columns of the result; of a vertex that is gone, as it was
=================  =============================================================================

Beside its rows a file has what a result has (`results.ResultFacts`) and ``since``, the batch of the
result before, which may be whole or changes too. The table of any batch is that of the last whole
result with all changes after it (`read_result_at`).

A value counts as changed when it is off by more than a tolerance from what a reader has so far, not
from what was computed before: so however long the chain, each value is within the tolerance, and
with a tolerance of 0 all have the bits that were computed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...gpu_core.errors import StateError
from ..checked_tables import DamagedTableError, read_facts, read_table, write_table
from ..durable import remove_folder
from ..interchange.edge_table import table_of
from .batch_names import batch_folder, batch_folders
from .directory import StateDirectory
from .results import (
    FailedResult,
    Result,
    ResultFacts,
    facts_values,
    read_result,
    result_facts,
    result_file,
    result_files,
)

Columns = Mapping[str, npt.NDArray[Any]]
Positions = npt.NDArray[np.int64]

CHANGE, ROW = "change", "row"


@dataclass(frozen=True)
class TableChanges:
    """Changes that make one table of another; both have a row a vertex, in the same order."""

    #: Where rows are in the table before that are not in the one after, increasing.
    removed: Positions
    #: Where rows are in the table after that are not in the one before, increasing.
    added: Positions
    #: Where rows are in the table after that have other values than before, increasing.
    changed: Positions
    #: Rows of the table before, of ``removed``.
    rows_removed: dict[str, npt.NDArray[Any]]
    #: Rows of the table after, of ``added``, then of ``changed``.
    rows_after: dict[str, npt.NDArray[Any]]

    @property
    def size(self) -> int:
        """Rows of the file."""
        return int(self.removed.size + self.added.size + self.changed.size)


def changes_between(before: Columns, after: Columns, beyond: float) -> TableChanges:
    """Find what changed.

    Parameters
    ----------
    before, after
        Two tables with the same columns, ``vertex`` first.
    beyond
        Changes of a float up to this are none; of all others any change is one.
    """
    old, new = before["vertex"], after["vertex"]
    if old.size == new.size and np.array_equal(old, new):
        removed = added = np.empty(0, np.int64)
        rows_before = rows_after = np.arange(new.size)
    else:
        is_kept, is_known = is_among(old, new), is_among(new, old)
        removed, added = np.flatnonzero(~is_kept), np.flatnonzero(~is_known)
        rows_before, rows_after = np.flatnonzero(is_kept), np.flatnonzero(is_known)
    differs = np.zeros(rows_after.size, np.bool_)
    for name in list(after)[1:]:
        differs |= _differs(before[name][rows_before], after[name][rows_after], beyond)
    changed = rows_after[differs]
    written = np.concatenate([added, changed])
    return TableChanges(
        removed, added, changed,
        {name: column[removed] for name, column in before.items()},
        {name: column[written] for name, column in after.items()},
    )  # fmt: skip


def with_changes(before: Columns, changes: TableChanges) -> dict[str, npt.NDArray[Any]]:
    """Return the table that comes of another one."""
    size = next(iter(before.values())).size - changes.removed.size + changes.added.size
    is_old = np.ones(size, np.bool_)
    is_old[changes.added] = False
    written = np.concatenate([changes.added, changes.changed])
    after = {}
    for name, column in before.items():
        made = np.empty(size, column.dtype)
        made[is_old] = np.delete(column, changes.removed)
        made[written] = changes.rows_after[name]
        after[name] = made
    return after


def is_among(values: npt.NDArray[Any], others: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """bool[n]: which of some ids are among others."""
    # Names of a table without rows have no type of their own.
    kind = pa.string() if values.dtype == object else None
    found = pc.is_in(pa.array(values, kind), value_set=pa.array(others, kind))
    return found.to_numpy(zero_copy_only=False)


def _differs(
    before: npt.NDArray[Any], after: npt.NDArray[Any], beyond: float
) -> npt.NDArray[np.bool_]:
    if before.dtype == object:
        return before != after
    bits = f"u{before.dtype.itemsize}"
    differs: npt.NDArray[np.bool_] = before.view(bits) != after.view(bits)
    if beyond and before.dtype.kind == "f":
        # Of two infinite values the difference is no number, and they are the same by their bits.
        with np.errstate(invalid="ignore"):
            differs &= ~(np.abs(after - before) <= beyond)
    return differs


# -- files


def changes_file(state: StateDirectory, batch_id: int, name: str) -> Path:
    """Path of the changes of a result after a batch."""
    return batch_folder(_folder(state), batch_id) / f"{name}.parquet"


def changes_files(state: StateDirectory, batch_id: int) -> dict[str, Path]:
    """Files of the changes after a batch, by name of the result."""
    folder = batch_folder(_folder(state), batch_id)
    return {path.stem: path for path in sorted(folder.glob("*.parquet"))}


def write_changes(
    state: StateDirectory, batch_id: int, name: str, changes: TableChanges, facts: ResultFacts,
    since: int,
) -> None:  # fmt: skip
    """Write what changed in a result since that of batch ``since``."""
    counts = [changes.removed.size, changes.added.size, changes.changed.size]
    columns = {
        CHANGE: np.repeat(np.array([-1, 1, 0], np.int8), counts),
        ROW: np.concatenate([changes.removed, changes.added, changes.changed]),
    }
    for column, after in changes.rows_after.items():
        columns[column] = np.concatenate([changes.rows_removed[column], after])
    about = {**facts_values(facts), "batch": batch_id, "since": since}
    write_table(changes_file(state, batch_id, name), table_of(columns), about)


def read_changes(path: Path) -> tuple[TableChanges, int]:
    """Read changes, and the batch since which they are.

    Raises
    ------
    DamagedTableError
        The file is not as it was written, or missing.
    """
    try:
        table = read_table(path)
    except FileNotFoundError:
        msg = "it is missing"
        raise DamagedTableError(msg) from None
    since = (read_facts(path) or {}).get("since")
    if table.column_names[:2] != [CHANGE, ROW] or not isinstance(since, int):
        msg = f"its columns are {', '.join(table.column_names)}"
        raise DamagedTableError(msg)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    change, row = columns.pop(CHANGE), columns.pop(ROW)
    is_removed = change == -1
    changes = TableChanges(
        row[is_removed], row[change == 1], row[change == 0],
        {name: column[is_removed] for name, column in columns.items()},
        {name: column[~is_removed] for name, column in columns.items()},
    )  # fmt: skip
    return changes, since


# -- results of any batch


def result_names(state: StateDirectory, batch_id: int) -> list[str]:
    """Names of the results after a batch, whole or as changes."""
    return sorted({*result_files(state, batch_id), *changes_files(state, batch_id)})


def batches_with(state: StateDirectory, name: str) -> list[int]:
    """Batches that have a result of a name, whole or as changes, ascending."""
    whole = (each for each in state.result_ids() if name in result_files(state, each))
    changes = (
        each for each in batch_folders(_folder(state)) if changes_file(state, each, name).exists()
    )
    return sorted({*whole, *changes})


def failed_results(state: StateDirectory, boundary: int) -> list[FailedResult]:
    """Results of batches before ``boundary`` that failed, and were not computed later, in order.

    A file that the reports name beside the failure was there before: of other parameters, or of
    another analytic under that name.
    """
    failed: list[FailedResult] = []
    for _, _, path in state.report_files():
        facts = read_facts(path) or {}
        written = (facts.get("results") or {}, facts.get("changes") or {})
        for each in (FailedResult(*values) for values in facts.get("failed", ())):
            before = {name for names in written for name in names.get(str(each.batch_id), ())}
            is_new = each.name not in before and each.name in result_names(state, each.batch_id)
            if each.batch_id < boundary and not is_new:
                failed.append(each)
    return sorted(failed)


def read_result_at(state: StateDirectory, batch_id: int, name: str) -> Result:
    """Read a result after a batch, from the last whole one and the changes after it.

    Raises
    ------
    StateError
        A file that is needed for it is damaged or missing; the text names it.
    """
    chain: list[tuple[Path, TableChanges]] = []
    at = batch_id
    while True:
        whole, path = result_files(state, at).get(name), changes_file(state, at, name)
        try:
            if whole is not None or not path.exists():
                path = whole or result_file(state, at, name)
                result = read_result(path)
                break
            changes, since = read_changes(path)
            if since >= at:
                msg = f"it is since batch {since}"
                raise DamagedTableError(msg)
        except DamagedTableError as error:
            needed = "" if at == batch_id else f", and {name} of batch {batch_id} needs it"
            msg = f"{path} is damaged ({error}){needed}; have a run recompute it"
            raise StateError(msg) from error
        chain.append((path, changes))
        at = since
    if not chain:
        return result
    columns: Columns = result.columns
    for path, changes in reversed(chain):
        try:
            columns = with_changes(columns, changes)
        except (KeyError, IndexError, ValueError) as error:
            msg = f"{path} does not fit what was before it ({error}); have a run recompute it"
            raise StateError(msg) from error
    return Result(name, dict(columns), result_facts(chain[0][0]))


def drop_changes_from(state: StateDirectory, boundary: int) -> None:
    """Remove what is left of batches from ``boundary`` on (`StateDirectory.drop_from`)."""
    for batch_id in batch_folders(_folder(state)):
        if batch_id >= boundary:
            remove_folder(batch_folder(_folder(state), batch_id))


def _folder(state: StateDirectory) -> Path:
    return state.path / "results" / "changes"
