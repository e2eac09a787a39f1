"""``graphtide top`` and ``graphtide diff STATE RESULT``: who is first, and who rose and fell.

Of results that a run wrote, from their files alone: no graph is made, and no log is read.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import click
import numpy as np

from ...gpu_core.errors import SettingsError
from ...gpu_core.printable import counted
from ...gpu_core.table import largest
from ...io.file_systems import new_file_at
from ...io.interchange.edge_table import table_of
from ...io.parquet.file_writer import write_file
from ...io.state.directory import StateDirectory
from ...io.state.result_changes import is_among
from ...io.state.results import Result, ResultFacts
from ..printing.activity import Activity
from ..printing.text import json_text, line, table_lines
from ..state_results import result_after
from .output_files import check_difference_file, check_outputs_of_state

#: Rows of a table.
RankedRow = dict[str, Any]

#: Columns that say nothing of vertices that came, and of those that went.
_ONE_SIDED = {
    "came": ("before", "change", "place_before"),
    "went": ("after", "change", "place_after"),
}

_NO_MEASURE = "these are ids of vertices, not measures"


def show_top(
    state: str, name: str, count: int, *, by: str | None, at: int | None, as_json: bool
) -> None:
    """Print the vertices with the largest values of a result, after a batch or the newest."""
    with Activity("reading the result …"):
        batch_id, result = result_after(StateDirectory(state), name, at)
        rows, left_out = top_rows(result, count, by)
    if as_json:
        values = {"result": name, "batch": batch_id, "left_out": left_out, "rows": rows}
        click.echo(json_text(values))
        return
    click.echo(line(name, f"after batch {batch_id:,}, {counted(len(result), 'vertex')}"))
    if left_out:
        click.echo(line("left out", left_out_text(left_out)))
    for text in table_lines(rows):
        click.echo(text)


def top_rows(result: Result, count: int, by: str | None) -> tuple[list[RankedRow], int]:
    """The rows of the vertices with the largest values, and how many have none."""
    column = _ranked_column(result, by)
    having = int(np.count_nonzero(result.has_value(column)))
    return _rows(result.top(min(count, having), column).columns), len(result) - having


def left_out_text(count: int) -> str:
    """Text on vertices that are not ranked."""
    return f"{counted(count, 'vertex')} without a value"


def show_rise_and_fall(
    state: str, name: str, first: int, last: int, count: int, *, by: str | None, output: str | None
) -> None:
    """Print who rose and who fell between two batches, and who came and went; write all of it.

    All but vertices without a value in a batch in which they are: these are counted.
    """
    if output is not None:
        check_difference_file(output)
        check_outputs_of_state(state, output)
    directory = StateDirectory(state)
    with Activity("reading the results …"):
        before, after = (result_after(directory, name, each)[1] for each in (first, last))
        was, now = (ResultFacts(each.kind, each.parameters) for each in (before, after))
        computed = f"{{}} after batch {first:,}, {{}} after batch {last:,}"
        if was.kind != now.kind:
            kinds = computed.format(f"of {was.kind}", f"of {now.kind}")
            msg = f"{name} is {kinds}; take two batches that have it of one analytic"
            raise SettingsError(msg)
        column = _ranked_column(after, by)
        table, left_out = rise_and_fall(before, after, column)
    rose, fell = (int(np.count_nonzero(sign * table["change"] > 0)) for sign in (1, -1))
    came, went = (int(np.isnan(table[each]).sum()) for each in ("before", "after"))
    moved = f"{rose:,} rose, {fell:,} fell, {came:,} came, {went:,} went"
    compared = f"after batch {last:,} beside batch {first:,}: {moved}"
    click.echo(line(name, compared if column == name else f"{column} {compared}"))
    if left_out:
        click.echo(line("left out", f"{left_out_text(left_out)} after one of the batches"))
    if not was.is_like(now):
        click.echo(line("note", f"computed {computed.format(*was.distinction_from(now))}"))
    groups = {
        "rose": table["change"], "fell": -table["change"],
        "came": np.where(np.isnan(table["before"]), table["after"], np.nan),
        "went": np.where(np.isnan(table["after"]), table["before"], np.nan),
    }  # fmt: skip
    for title, values in groups.items():
        is_in = values > 0 if title in ("rose", "fell") else ~np.isnan(values)
        rows = np.flatnonzero(is_in)
        rows = rows[largest(values[rows], count)]
        if rows.size:
            click.echo(f"\n{title}")
            shown = {
                n: each[rows] for n, each in table.items() if n not in _ONE_SIDED.get(title, ())
            }
            for text in table_lines(_rows(shown)):
                click.echo(text)
    if output is not None:
        with new_file_at(output, SettingsError) as temporary:
            write_file(temporary, table_of(table), compression="zstd")
        click.echo(line("output", output, wrap=False))


def rise_and_fall(before: Result, after: Result, column: str) -> tuple[dict[str, np.ndarray], int]:
    """Compare a column of a result after two batches.

    Returns
    -------
    table : dict
        Columns of one row for each vertex that is in either: ``vertex``; float64 ``before``,
        ``after`` and their difference ``change``, NaN where the vertex was not there; and
        ``place_before``, ``place_after``, int64 from 1 for the largest value on, 0 likewise.
    left_out : int
        Vertices that have no row, as they have no value in a batch in which they are.
    """
    old, new = before["vertex"], after["vertex"]
    is_kept = is_among(new, old)
    vertices = np.concatenate([new, old[~is_among(old, new)]])
    kept_before = np.flatnonzero(is_among(old, new))
    gone = np.flatnonzero(~is_among(old, new))
    table: dict[str, np.ndarray] = {"vertex": vertices}
    had, has = before.has_value(column), after.has_value(column)
    for side, values, there in (("before", before[column], had), ("after", after[column], has)):
        having = np.flatnonzero(there)
        # 0 of those that have no place; their rows are left out below.
        ranks = np.zeros(values.size, np.int64)
        ranks[having[largest(values[having], having.size)]] = np.arange(1, having.size + 1)
        for title, found, missing in ((side, values, np.nan), (f"place_{side}", ranks, 0)):
            row = np.full(vertices.size, missing, np.int64 if missing == 0 else np.float64)
            if side == "after":
                row[: new.size] = found
            else:
                # Both tables have their vertices in the same order.
                row[: new.size][is_kept] = found[kept_before]
                row[new.size :] = found[gone]
            table[title] = row
    is_shown = np.ones(vertices.size, bool)
    is_shown[: new.size] &= has
    is_shown[: new.size][is_kept] &= had[kept_before]
    is_shown[new.size :] &= had[gone]
    left_out = int(is_shown.size - np.count_nonzero(is_shown))
    table = {name: values[is_shown] for name, values in table.items()}
    change = table["after"] - table["before"]
    names = ("vertex", "before", "after", "place_before", "place_after")
    shown = {name: table[name] for name in names[:3]} | {
        "change": change, **{name: table[name] for name in names[3:]}
    }  # fmt: skip
    return shown, left_out


def _ranked_column(result: Result, by: str | None) -> str:
    """The column that a result is ranked by: the one asked for, or the one that it is about."""
    names = [name for name in result.columns if name != "vertex"]
    measures = result.measures
    if by is None and measures:
        return result.kind if result.kind in measures else measures[-1]
    if by is None:
        msg = f"{result.name} has {', '.join(names)} alone: {_NO_MEASURE}"
        raise SettingsError(msg)
    if by not in names:
        msg = f"--by {by}: {result.name} has no such column; there are {', '.join(names)}"
        raise SettingsError(msg)
    if by not in measures:
        msg = f"--by {by}: {_NO_MEASURE}"
        raise SettingsError(msg)
    return by


def _rows(columns: Any) -> list[RankedRow]:
    lists: Sequence[Iterable[Any]] = [each.tolist() for each in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
