"""JSON lines of a log: an object a line, parsed in blocks by Arrow's JSON reader.

A key that a line does not have is null there. Times are integers, or text in ISO 8601.
"""

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyarrow import json

from ...gpu_core.errors import UpdateLogError
from .text_form import type_of_time
from .text_lines import rows_of_lines, without_mark

#: What Arrow says of a value of another type than its column has, but for lines that are no object.
_OTHER_TYPE = re.compile(r"Column\(/(.+)\) changed from (?!object)(\w+) to (\w+)")


class JsonColumns:
    """The columns of a file of JSON lines, found block by block: any line may have another one."""

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._types: dict[str, pa.DataType] = {}

    def add(self, content: bytes, first_line: int) -> int:
        """Take note of the columns of a block; returns its rows."""
        table = self._with_times_as_text(content, first_line)
        for name, column in zip(table.column_names, table.columns, strict=True):
            kind = _kind(column)
            known = self._types.setdefault(name, kind)
            joined = _joined(known, kind)
            if joined is None:
                msg = (
                    f"{self._shown}: the values of {name} are of type {known}, but from line "
                    f"{first_line} on also of type {kind}; write all of them alike"
                )
                raise UpdateLogError(msg)
            self._types[name] = joined
        return table.num_rows

    def _with_times_as_text(self, content: bytes, first_line: int) -> pa.Table:
        """Columns as Arrow finds them, but for times: it takes those for ones without a zone."""
        table = _parsed(content, first_line, None, self._shown)
        texts = [
            (each.name, pa.string()) for each in table.schema if pa.types.is_timestamp(each.type)
        ]
        if texts:
            found = _parsed(content, first_line, pa.schema(texts), self._shown)
            for name, _ in texts:
                table = table.set_column(table.column_names.index(name), name, found[name])
        return table

    def found(self) -> list[tuple[str, str]]:
        """``(name, type)`` of each column."""
        return [(name, str(kind)) for name, kind in self._types.items()]


def parse_json(
    content: bytes, first_line: int, types: Mapping[str, pa.DataType], shown: str
) -> pa.Table:
    """Parse whole lines, the first of which is line ``first_line`` of the file.

    Parameters
    ----------
    types
        Column -> type, of those that are wanted.

    Raises
    ------
    UpdateLogError
        A line is no object, or a value is not of its type; names file and line.
    """
    read_as = {
        name: pa.string() if pa.types.is_timestamp(kind) else kind for name, kind in types.items()
    }
    table = _parsed(content, first_line, pa.schema(read_as.items()), shown)
    columns = {}
    for name, kind in types.items():
        try:
            columns[name] = table[name].cast(kind)
        except pa.ArrowInvalid:
            row = _first_of(table[name], kind)
            msg = (
                f"{shown}, line {_line_of(content, row, first_line)}: {name} is "
                f"{table[name][row].as_py()!r}, which is no time as those before; correct the line"
            )
            raise UpdateLogError(msg) from None
    return pa.table(columns)


def _parsed(content: bytes, first_line: int, schema: pa.Schema | None, shown: str) -> pa.Table:
    if first_line == 1:
        content = without_mark(content)
    rows = rows_of_lines(content)
    if rows == 0:
        return (schema or pa.schema([])).empty_table()
    table = _try(content, schema)
    if isinstance(table, str) or table.num_rows != rows:
        line = _first_wrong_line(content, schema) + first_line
        why = table if isinstance(table, str) else "it is not one object"
        other = _OTHER_TYPE.search(why)
        cure = "one JSON object a line"
        if other is not None:
            name, wanted, found = other.groups()
            why = f"{name} is a {found}, not a {wanted}"
            cure = "a column's values all alike"
            if schema is not None and wanted == "string":
                cure = "it in quotes, or leave --ids string out where ids are numbers"
        msg = f"{shown}, line {line} cannot be read ({why}); write {cure}"
        raise UpdateLogError(msg)
    return table


def _try(content: bytes, schema: pa.Schema | None) -> Any:
    """The table, or why there is none."""
    behavior = "infer" if schema is None else "ignore"
    try:
        return json.read_json(
            pa.BufferReader(content),
            read_options=json.ReadOptions(use_threads=False, block_size=len(content) + 1),
            parse_options=json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior=behavior
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        return " ".join(str(error).split())


def _first_wrong_line(content: bytes, schema: pa.Schema | None) -> int:
    """Number of the first line, from 0, up to which a block cannot be read."""
    lines = content.split(b"\n")
    low, high = 0, len(lines)
    # Up to `low` lines are right, up to `high` are not.
    while high - low > 1:
        middle = (low + high) // 2
        part = b"\n".join(lines[:middle]) + b"\n"
        table = _try(part, schema) if part.strip() else None
        is_right = table is None or (
            not isinstance(table, str) and table.num_rows == rows_of_lines(part)
        )
        low, high = (middle, high) if is_right else (low, middle)
    return low


def _line_of(content: bytes, row: int, first_line: int) -> int:
    """Number of the line that has a row, of those that are not empty."""
    lines = [at for at, line in enumerate(content.split(b"\n"), first_line) if line.strip()]
    return lines[row]


def _first_of(column: Any, kind: pa.DataType) -> int:
    """First value that cannot be cast."""
    for row, value in enumerate(column.to_pylist()):
        try:
            pa.array([value], column.type).cast(kind)
        except pa.ArrowInvalid:
            return row
    return 0


def _kind(column: Any) -> pa.DataType:
    """Type of a column as it is kept: text that looks like times is times."""
    kind = column.type
    if pa.types.is_string(kind):
        first = next((text for text in column.slice(0, 1000).to_pylist() if text is not None), "")
        return type_of_time(first) or kind
    if kind in (pa.null(), pa.bool_(), pa.int64(), pa.float64()):
        return kind
    return pa.string()  # objects and lists, which no column of a log is


def _joined(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds values of two; None where there is none."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_timestamp(one) and pa.types.is_timestamp(other):
        return max(one, other, key=lambda kind: (kind.tz is not None, kind.unit == "ns"))
    return None
