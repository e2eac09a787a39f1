"""Rows in the order of a column, such as a time, instead of the order in which they stand.

The order is by the column's value, and among equal ones as they stand. A row that comes after one
of a higher value is *late*, by the difference; one that is late by more than the bound is refused,
with its file and row. With a bound of 0 the rows must be in order, and are read as they stand.

Batches are runs of the ordered rows, cut as those of the files would be: a batch of rows 100 to 199
of a file of a log has the ordered rows at these positions of the log. They are found without
reading the log before: each row group (block of text) has a lowest and a highest value, so its rows
have places from one number to another. A batch reads the groups that can have rows in its places,
sorts them, and leaves out what comes before and after. So a batch is the same on every worker, and
each time that it is read.

A file that is added later must not begin before the highest value of those that are planned: their
batches are what they are.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
import pyarrow as pa
from dask.utils import parse_timedelta

from ....gpu_core.errors import SettingsError, UpdateLogError
from ....gpu_core.times import PER_SECOND
from ..log_files import LogFileReader
from ..update_log import ORDER_KEY, UpdateLog
from .ordered_batch import KeyedGroup, OrderedBatch, keys_of, late_row

#: Rows that one batch may hold while it is sorted.
MOST_SORTED_ROWS = 1 << 25


class RowOrder:
    """The order of a log's rows by a column. Made by `row_order`."""

    def __init__(
        self, column: str, within: int, groups: Sequence[KeyedGroup], files: Mapping[str, int]
    ) -> None:
        self.within = within
        self._column = column
        self._groups = groups
        #: File -> the position of its first row.
        self._positions = files
        total = sum(group.rows for group in groups)
        # Positions of the rows of each group: from the rows that are surely before all of them, to
        # those that are surely after. A group that stands before another also does at equal values.
        highs = sorted((group.high, number) for number, group in enumerate(groups))
        lows = sorted((group.low, number) for number, group in enumerate(groups))
        before = [0, *accumulate(groups[number].rows for _, number in highs)]
        until = [0, *accumulate(groups[number].rows for _, number in lows)]
        self._first = np.array(
            [before[bisect_left(highs, (each.low, n))] for n, each in enumerate(groups)], np.int64
        )
        self._end = np.array(
            [until[bisect_right(lows, (each.high, n))] for n, each in enumerate(groups)], np.int64
        )
        assert total == until[-1]

    def batch(self, file: str, first_row: int, rows: int) -> OrderedBatch:
        """Source of the batch of these rows of a file."""
        start = self._positions[file] + first_row
        if not self.within:
            return OrderedBatch(
                self._column, 0, *self._as_they_stand(file, first_row, rows), rows=rows
            )
        is_needed = (self._first < start + rows) & (self._end > start)
        numbers = np.flatnonzero(is_needed).tolist()
        before = np.flatnonzero(self._end <= start).tolist()
        skipped = sum(self._groups[number].rows for number in before)
        pieces = tuple(_joined([self._groups[number] for number in numbers]))
        if sum(piece.rows for piece in pieces) > MOST_SORTED_ROWS + rows:
            msg = (
                f"rows {first_row} to {first_row + rows - 1} of {file} can be among "
                f"{sum(piece.rows for piece in pieces):,} rows by {self._column}, which is too "
                f"many to sort at once; make --order-within smaller, or sort the log"
            )
            raise UpdateLogError(msg)
        return OrderedBatch(self._column, self.within, pieces, start - skipped, rows)

    def _as_they_stand(
        self, file: str, first_row: int, rows: int
    ) -> tuple[tuple[KeyedGroup, ...], int]:
        """The run of rows, and the one before it in the same group, whose value it must reach."""
        group = next(
            each
            for each in self._groups
            if each.file == file and each.first_row <= first_row < each.first_row + each.rows
        )
        more = int(first_row > group.first_row)
        return (replace(group, first_row=first_row - more, rows=rows + more),), more

    def check_added(self, planned: Collection[str], log: UpdateLog) -> None:
        """Refuse files that begin before the highest value of those that are planned."""
        highest = max((each.high for each in self._groups if each.file in planned), default=None)
        if highest is None:
            return
        for group in self._groups:
            if group.file not in planned and group.low < highest:
                row = _first_below(log, group, self._column, highest)
                msg = (
                    f"{log.shown(group.file)}, row {row} is earlier by {self._column} than rows "
                    f"that are planned already; leave it out, or start over with another --state"
                )
                raise UpdateLogError(msg)


def row_order(
    log: UpdateLog, fingerprints: Mapping[str, str], order_by: str, within: str | float | None
) -> RowOrder:
    """Look up the values of the column in all files of a log.

    Parameters
    ----------
    log
        The log.
    fingerprints
        File -> fingerprint, of the files whose rows count; others of the log are left out.
    order_by
        The column, by its canonical name or that of the files.
    within
        By how much a row may be late: a number, or for timestamps a time such as ``5m``.

    Raises
    ------
    UpdateLogError
        A file has no such column, or one without an order; or a row is late by more than that.
    """
    column = log.name_in_files(order_by)
    groups: list[KeyedGroup] = []
    positions: dict[str, int] = {}
    position, kind, bound = 0, None, 0
    paths = {path.name: path for path in log.paths()}
    gone = fingerprints.keys() - paths.keys()
    if gone:
        msg = f"{min(gone)} is not in the log any more; put it back, to order rows by {column}"
        raise UpdateLogError(msg)
    for path in (path for name, path in paths.items() if name in fingerprints):
        with log.opened(path) as file:
            positions[path.name] = position
            if not file.rows:
                # Whatever types its columns have: those of an empty frame of pandas have none.
                continue
            found = _check_column(file, column, path.shown)
            if kind is None:
                kind, bound = found, _bound(within, found, column)
            elif kind != found:
                msg = (
                    f"{path.shown}: {column} is of type {found}, but in the files before {kind}; "
                    f"write it alike in all, to order rows by it"
                )
                raise UpdateLogError(msg)
            position += file.rows
            for low, high, first_row, rows in _group_bounds(file, column, path.shown):
                before = max(low, groups[-1].before, groups[-1].high) if groups else low
                fingerprint = fingerprints[path.name]
                group = KeyedGroup(path.name, fingerprint, first_row, rows, low, high, before)
                groups.append(group)
                if low < before - bound:
                    row = _first_below(log, group, column, before - bound)
                    raise late_row(path.shown, row, column, bound)
    return RowOrder(column, bound, groups, positions)


def _check_column(file: LogFileReader, column: str, shown: str) -> pa.DataType:
    if file.schema.names.count(column) != 1:
        msg = (
            f"{shown}: there is no column {column}, which order_by names; the file has "
            f"{', '.join(file.schema.names)}"
        )
        raise UpdateLogError(msg)
    kind = file.schema.field(column).type
    if pa.types.is_integer(kind):
        return pa.int64()
    if not pa.types.is_timestamp(kind):
        msg = (
            f"{shown}: column {column} is of type {kind}; rows are ordered by integers or "
            f"timestamps"
        )
        raise UpdateLogError(msg)
    return kind


def _bound(within: str | float | None, kind: pa.DataType, column: str) -> int:
    """Largest delay of a row, in the unit of the column."""
    if within is None:
        return 0
    is_number = str(within).strip().isdecimal()
    if pa.types.is_integer(kind) and is_number:
        return int(within)
    if pa.types.is_timestamp(kind) and (not is_number or int(within) == 0):
        try:
            return round(parse_timedelta(str(within)) * PER_SECOND[kind.unit])
        except (ValueError, KeyError):
            pass
    wanted = "a number" if pa.types.is_integer(kind) else "a time such as 5m"
    msg = f"order_within: {within!r} is not allowed, as {column} is of type {kind}; use {wanted}"
    raise SettingsError(msg)


def _group_bounds(
    file: LogFileReader, column: str, shown: str
) -> Iterator[tuple[int, int, int, int]]:
    """``(lowest value, highest value, first row, rows)`` of each group that has rows.

    Values are as the file says, or as they are read.
    """
    starts = accumulate(file.group_rows, initial=0)
    for first_row, rows in zip(starts, file.group_rows, strict=False):
        if not rows:
            continue
        bounds = file.bounds([column], first_row, rows)[0]
        if bounds is None:
            keys = keys_of(
                file.read([column], first_row, rows).table[column], column, shown, first_row
            )
            bounds = int(keys.min()), int(keys.max())
        yield *bounds, first_row, rows


def _first_below(log: UpdateLog, group: KeyedGroup, column: str, least: int) -> int:
    """First row of a group with a lower value."""
    found = log.read_checked(group.file, group.first_row, group.rows, key=column)
    keys = keys_of(found.table[ORDER_KEY], column, log.shown(group.file), group.first_row)
    return group.first_row + int((keys < least).argmax())


def _joined(groups: Sequence[KeyedGroup]) -> Iterator[KeyedGroup]:
    """Groups that follow each other in a file as one."""
    piece: KeyedGroup | None = None
    for group in groups:
        if (
            piece is not None
            and piece.file == group.file
            and piece.first_row + piece.rows == group.first_row
        ):
            piece = replace(piece, rows=piece.rows + group.rows)
            continue
        if piece is not None:
            yield piece
        piece = group
    if piece is not None:
        yield piece
