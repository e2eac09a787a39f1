"""Results and the summary of a state: ``graphtide.read_results`` and ``read_summary``.

From their files alone, without a graph, a cluster or the log; a run may write to the state
meanwhile.
"""

import difflib
from pathlib import Path

import numpy as np

from ..gpu_core.algorithms.registry import ANALYTICS
from ..gpu_core.choices import choice_shown, is_integer
from ..gpu_core.errors import SettingsError, StateError
from ..gpu_core.table import TableRows
from ..io.state import batch_summary
from ..io.state.directory import StateDirectory
from ..io.state.result_changes import (
    batches_with,
    failed_results,
    read_result_at,
    result_names,
)
from ..io.state.results import Result


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
    return result_after(StateDirectory(state), name, one_batch(batch, at))[1]


def one_batch(batch: int | None, at: int | None) -> int | None:
    """The number of a batch, which has two names as an argument; None where neither is given."""
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


def check_name(name: object) -> None:
    """Refuse what is no text as the name of a result."""
    if not isinstance(name, str):
        msg = (
            f"name={choice_shown(name)} is no name of a result; names are text, as in result_names"
        )
        raise SettingsError(msg)


def result_after(
    directory: StateDirectory, name: str, batch: int | None = None
) -> tuple[int, Result]:
    """Number of a batch, None being the newest that has a result of a name, and the result."""
    check_name(name)
    directory.settings()
    having = batches_with(directory, name)
    if not having or batch not in (None, *having):
        after = "" if batch is None else f" of batch {batch}{why_failed(directory, name, batch)}"
        where = where_else(directory, name, batch)
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
    # Before the rows: those of a checkpoint are written before it, and a run may be killed between.
    boundary = max(directory.checkpoint_ids(), default=-1) + 1
    summary = batch_summary.read_summary(directory)
    applied = int(np.searchsorted(summary["batch"], boundary))
    return TableRows({name: each[:applied] for name, each in summary.columns.items()}, "batch")


def why_failed(directory: StateDirectory, name: str, batch: int) -> str:
    """Why a result of a batch failed, if it did."""
    failed = failed_results(directory, batch + 1)
    reasons = [each.reason for each in failed if each[:2] == (batch, name)]
    return f": it failed, {reasons[-1]}" if reasons else ""


def where_else(directory: StateDirectory, name: str, batch: int | None) -> str:
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
