"""Rows of a batch that break the log's contract, and the reason for each.

A batch is converted as if all rows were good. Only if it is refused, the rows that are to blame are
taken out, and it is converted again: the error knows all rows that break the same rule, so there
are as many rounds as rules that are broken. Lines of text that are no rows are left out one by one,
before. Rows that cannot be read because a page is damaged are left out with the batch that they are
in.

What is left out depends on the bytes of the log and the settings that a state keeps, so a
batch that is loaded again leaves out the same rows.

Not here: which rows are bad (``conversion.py``, ``gpu_core/batch/rows.py``), where they are kept
(``quarantine.py``).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...gpu_core.batch.bad_rows import BadRowsError
from ...gpu_core.errors import UpdateLogError
from ..text.text_values import typed
from ..text.wrong_lines import WrongLine
from .file_errors import UnreadableRowsError
from .file_rows import ReadRows
from .order.ordered_batch import OrderedBatch
from .plan import PlannedBatch
from .row_origin import RowOrigin
from .update_log import UpdateLog

Made = TypeVar("Made")

#: What comes before the columns of the rows in `LeftOut.table`, see `origin_names`.
_ORIGIN_FIELDS = (("file", pa.string()), ("row", pa.int64()), ("reason", pa.string()))
#: Behind them: lines of text that are no rows, as they stand in the file. No property is called so.
LINE_FIELD = "text of the line"


@dataclass(frozen=True)
class LeftOut:
    """Rows of one batch that are not applied."""

    #: How many.
    rows: int
    #: ``file``, ``row`` (from 0) and ``reason`` (see `origin_names`), and the row's columns under
    #: the canonical names of a log. Of a batch that cannot be read: one row, its first one, without
    #: other columns. Where there are lines that are no rows, these lines, and columns with values
    #: of theirs that are of another type as text; of a line that cannot be taken apart all columns
    #: are null.
    table: pa.Table


@dataclass(frozen=True)
class RowsToRead:
    """Plan for reading the rows of one batch; pickles in a few bytes."""

    log: UpdateLog
    planned: PlannedBatch
    #: Of its file, when it was planned; None: any will do.
    fingerprint: str | None
    #: Row group -> checksum, of those that were read before.
    known: Mapping[int, int] | None = None
    #: What it is read from, where rows are in the order of a column.
    ordered: OrderedBatch | None = None
    #: Whether bad rows are left out; else they are refused.
    quarantine: bool = False

    def read(self) -> tuple[ReadRows, LeftOut | None]:
        """Read the rows: all of them, or, where one cannot be read and may be left out, none.

        Lines of text that are no rows are left out alone, as `convert` reports.

        Raises
        ------
        UpdateLogError
            They cannot be had as they were planned.
        """
        log, batch = self.log, self.planned
        if self.ordered is not None:
            return self.ordered.read(log, batch.file, self.known), None
        where = batch.file, batch.first_row
        try:
            found = log.read_checked(
                *where, batch.rows, self.fingerprint, self.known,
                dictionaries=True, sifts=self.quarantine,
            )  # fmt: skip
            return self._with_origins(found), None
        except UnreadableRowsError as error:
            if not self.quarantine:
                raise
            return self.nothing(), LeftOut(batch.rows, self._table([where], [str(error)]))

    def nothing(self) -> ReadRows:
        """No row of the file, with its columns."""
        return self.log.read_checked(self.planned.file, 0, 0)

    def convert(
        self, found: ReadRows, convert: Callable[..., Made], **arguments: Any
    ) -> tuple[Made, pa.Table, LeftOut | None]:
        """Convert rows that were read, without those that may be left out.

        Parameters
        ----------
        found
            What `read` gave.
        convert
            As ``conversion.table_to_batch``.
        arguments
            Of ``convert``, besides those that say where the rows are from.

        Returns
        -------
        batch
            What ``convert`` made.
        table
            The rows that it was made of.
        left_out
            The other rows; None: there are none.

        Raises
        ------
        UpdateLogError
            A row breaks the log's contract, and bad rows are refused.
        """
        batch, table = self.planned, found.table
        #: Of the rows that remain; None: all do.
        positions: npt.NDArray[np.int64] | None = None
        bad: list[npt.NDArray[np.int64]] = []
        reasons: list[str] = []
        while True:
            try:
                made = convert(
                    table,
                    origin=RowOrigin(self.log.shown(batch.file), batch.first_row, found.row_name),
                    batch_id=batch.batch_id,
                    time_unit=self.log.time_unit,
                    operations=self.log.operations,
                    **arguments,
                )
                break
            except UpdateLogError as error:
                rule = error.__cause__
                if not self.quarantine or not isinstance(rule, BadRowsError):
                    raise
                if positions is None:
                    positions = np.arange(table.num_rows)
                bad.append(positions[rule.bad])
                reasons += [rule.reason(int(at)) for at in np.flatnonzero(rule.bad)]
                positions = positions[~rule.bad]
                table = table.filter(pa.array(~rule.bad))
        if not bad and not found.wrong:
            return made, table, None
        taken = np.concatenate(bad) if bad else np.empty(0, np.int64)
        return made, table, self._left_out(found, taken, reasons)

    def _left_out(self, found: ReadRows, bad: npt.NDArray[np.int64], reasons: list[str]) -> LeftOut:
        """Rows that were taken out, and lines that are none, each in their order."""
        order = np.argsort(bad)
        name, first_row = self.planned.file, self.planned.first_row
        origin = found.origin or (lambda offset: (name, first_row + offset))
        origins = [origin(int(at)) for at in bad[order]] + [(name, w.row) for w in found.wrong]
        table = self._table(
            origins,
            [reasons[n] for n in order]
            + [f"line {each.number}{each.reason}" for each in found.wrong],
        )
        if found.wrong:
            lines = [None] * bad.size + [each.text for each in found.wrong]
            table = table.append_column(LINE_FIELD, pa.array(lines, pa.string()))
        rows = found.table.take(pa.array(bad[order])).replace_schema_metadata()
        for field in rows.schema:
            column = rows[field.name]
            if pa.types.is_dictionary(field.type):
                # A corrected row may have any name.
                column = column.cast(field.type.value_type)
            if found.wrong:
                column = self._with_texts(field.name, column, found.wrong)
            table = table.append_column(field.name, column)
        row = origin_names(self.log.own)["row"]
        return LeftOut(table.num_rows, table.sort_by(row) if found.wrong else table)

    def _with_texts(self, name: str, column: Any, wrong: Sequence[WrongLine]) -> Any:
        """A column of rows with what stands there in lines that are none: of its type, or text."""
        log = self.log
        texts = [each.fields.get(log.name_in_files(name)) for each in wrong]
        # Else a whole number would be rounded where it is kept.
        floats = log.own.get(name, "") if pa.types.is_floating(column.type) else ""
        try:
            given = typed(pa.array(texts, pa.string()), column.type, floats or None)
        except pa.ArrowInvalid:
            given, column = pa.array(texts, pa.string()), column.cast(pa.string())
        return pa.chunked_array([*column.chunks, given])

    def _with_origins(self, found: ReadRows) -> ReadRows:
        """Rows with their own positions, where lines between them are none."""
        if not found.wrong:
            return found
        name, first_row, rows = self.planned.file, self.planned.first_row, self.planned.rows
        gaps = [each.row - first_row for each in found.wrong]
        kept = np.delete(np.arange(first_row, first_row + rows), gaps)
        shown = self.log.shown(name)
        return replace(
            found,
            row_name=lambda offset: f"{shown}, row {kept[offset]}",
            origin=lambda offset: (name, int(kept[offset])),
        )

    def _table(self, origins: list[tuple[str, int]], reasons: list[str]) -> pa.Table:
        files, rows = zip(*origins, strict=True)
        names = origin_names(self.log.own)
        schema = pa.schema([(names[name], kind) for name, kind in _ORIGIN_FIELDS])
        return pa.table([files, rows, reasons], schema)


def origin_names(own: Collection[str]) -> dict[str, str]:
    """Names that ``file``, ``row`` and ``reason`` have in `LeftOut.table`: of one column each.

    ``own``: columns that rows have besides, such as properties of the user's own. No property has
    a space in its name.
    """
    return {name: f"{name} (log)" if name in own else name for name, _ in _ORIGIN_FIELDS}
