"""The columns of JSON lines: which there are, and the type that the first values of each have.

A line that has a value of another type is no row, if the column is needed.

Not here: how lines become columns (``json_lines.py``).
"""

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from .json_lines import fault_of_json_line, object_of, read_objects
from .line_blocks import without_mark
from .line_spaces import numbered_lines, rows_of_lines
from .text_types import type_of_time

_INT64, _UINT64 = range(-(1 << 63), 1 << 63), range(1 << 64)


class JsonColumns:
    """The columns of a file of JSON lines, found block by block: any line may have another one.

    Parameters
    ----------
    whole
        Columns in which a number with a fraction has no meaning: where the first value is an
        integer, such a number makes its line wrong, and not the column one of floats. In these
        columns alone integers beyond int64 stay integers; in others they are floats.
    """

    #: As of `CsvColumns`: there is nothing between the values of a line.
    delimiter, is_padded = "", True

    def __init__(self, whole: Collection[str]) -> None:
        self._whole = frozenset(whole)
        self._types: dict[str, pa.DataType] = {}
        #: Column -> why its values cannot be of one type; ``""`` -> why the first line that is no
        #: object is none. Ends of sentences.
        self.faults: dict[str, str] = {}

    def add(self, content: bytes, first_line: int) -> int:
        """Take note of the columns of a block; returns its rows."""
        if first_line == 1:
            content = without_mark(content)
        rows = rows_of_lines(content)
        try:
            table = _with_times_as_text(content, rows)
            kinds = {name: _kind(table[name]) for name in table.column_names}
            if any(pa.types.is_floating(kinds[name]) for name in self._whole & kinds.keys()):
                msg = "a number that is not whole"
                raise pa.ArrowInvalid(msg)
        except pa.ArrowInvalid:
            # Lines may be wrong, or values of a column that nobody needs.
            self._add_lines(content, first_line)
            return rows
        for name, kind in kinds.items():
            self._add(name, kind, first_line)
        return rows

    def _add_lines(self, content: bytes, first_line: int) -> None:
        for number, line in numbered_lines(content, first_line):
            values = object_of(line)
            if values is None:
                if "" not in self.faults:
                    self.faults[""] = f"line {number}{fault_of_json_line(line, pa.schema([]))}"
                continue
            for name, value in values.items():
                self._add(name, _kind_of_value(value, is_whole=name in self._whole), number)

    def _add(self, name: str, kind: pa.DataType, line: int) -> None:
        known = self._types.setdefault(name, kind)
        is_mixed = name in self._whole and {known, kind} == {pa.int64(), pa.float64()}
        joined = None if is_mixed else _type_of_both(known, kind)
        if joined is not None:
            self._types[name] = joined
            return
        self.faults.setdefault(
            name,
            f"the values of {name} are of type {known}, but from line {line} on also of type "
            f"{kind}; write all of them alike",
        )

    def found(self) -> list[tuple[str, str]]:
        """``(name, type)`` of each column."""
        return [(name, str(kind)) for name, kind in self._types.items()]


def _with_times_as_text(content: bytes, rows: int) -> pa.Table:
    """Columns as Arrow finds them, but for times: it takes those for ones without a zone."""
    table = read_objects(content, rows, None)
    texts = [(each.name, pa.string()) for each in table.schema if pa.types.is_timestamp(each.type)]
    if texts:
        found = read_objects(content, rows, pa.schema(texts))
        for name, _ in texts:
            table = table.set_column(table.column_names.index(name), name, found[name])
    return table


def _kind(column: Any) -> pa.DataType:
    """Type of a column as it is kept: text that looks like times is times."""
    kind = column.type
    if pa.types.is_string(kind):
        first = next((text for text in column.slice(0, 1000).to_pylist() if text is not None), "")
        return type_of_time(first) or kind
    if kind in (pa.null(), pa.bool_(), pa.int64(), pa.float64()):
        return kind
    return pa.string()  # objects and lists, which no column of a log is


def _kind_of_value(value: Any, *, is_whole: bool) -> pa.DataType:
    """The same of one value."""
    if value is None:
        return pa.null()
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        if is_whole and value not in _INT64 and value in _UINT64:
            return pa.uint64()
        return pa.int64() if value in _INT64 else pa.float64()
    if isinstance(value, float):
        return pa.float64()
    return (type_of_time(value) if isinstance(value, str) else None) or pa.string()


def _type_of_both(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds values of two; None where there is none."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if {one, other} == {pa.int64(), pa.uint64()}:
        return pa.uint64()
    if pa.types.is_timestamp(one) and pa.types.is_timestamp(other):
        # No text is a time both with and without a zone: the first ones decide.
        return pa.timestamp(max(one.unit, other.unit, key="ns".__eq__), one.tz)
    return None
