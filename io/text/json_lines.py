"""JSON lines of a log: an object a line, parsed in blocks by Arrow's JSON reader.

A key that a line does not have is null there. Times are integers, or text in ISO 8601. A column is
of the type of its first values: a line that has another one is no row, if the column is needed.
"""

import json as line_json
import re
from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import json

from ...gpu_core.errors import UpdateLogError
from .line_blocks import without_mark
from .line_spaces import is_blank, rows_of_lines
from .text_form import type_of_time
from .text_values import is_rounded, may_be_rounded, rounded, times_of, unfit
from .wrong_lines import ALL, SIFTED_LINES, WrongLine, failing

#: What Arrow says of a value of another type than its column has, but for lines that are no object.
_OTHER_TYPE = re.compile(r"Column\(/(.+)\) changed from (?!object)(\w+) to (\w+)")
_INT64, _UINT64 = range(-(1 << 63), 1 << 63), range(1 << 64)


class JsonColumns:
    """The columns of a file of JSON lines, found block by block: any line may have another one.

    Parameters
    ----------
    whole
        Columns in which a number with a fraction has no meaning: where the first value is an
        integer, such a number makes its line wrong, and not the column another. Of theirs alone,
        integers beyond int64 are kept apart from floats, which are what others become.
    """

    #: As of `CsvColumns`: there is nothing between the values of a line.
    delimiter, is_padded = "", True

    def __init__(self, whole: Collection[str]) -> None:
        self._whole = frozenset(whole)
        self._types: dict[str, pa.DataType] = {}
        #: Column whose values are of different types, or nothing of lines that are no object ->
        #: what is wrong with the first such line, as the end of a sentence.
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
        for number, line in enumerate(content.split(b"\n"), first_line):
            if is_blank(line):
                continue
            values = _object_of(line)
            if values is None:
                self.faults.setdefault("", f"line {number}{_fault(line, pa.schema([]))}")
                continue
            for name, value in values.items():
                self._add(name, _kind_of_value(value, is_whole=name in self._whole), number)

    def _add(self, name: str, kind: pa.DataType, line: int) -> None:
        known = self._types.setdefault(name, kind)
        is_mixed = name in self._whole and {known, kind} == {pa.int64(), pa.float64()}
        joined = None if is_mixed else _joined(known, kind)
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


def parse_json(
    content: bytes,
    first_line: int,
    types: Mapping[str, pa.DataType],
    shown: str,
    floats: Mapping[str, str],
) -> pa.Table:
    """Parse whole lines, the first of which is line ``first_line`` of the file.

    Parameters
    ----------
    types
        Column -> type, of those that are wanted.
    floats
        Column of floats -> the type that a whole number has to fit into.

    Raises
    ------
    UpdateLogError
        A line is no object, or a value is not of its type; names file and line.
    """
    try:
        return _parsed(without_mark(content) if first_line == 1 else content, types, floats)
    except pa.ArrowInvalid as error:
        table, wrong = sift_json(content, first_line, types, floats, is_first_enough=True)
        if wrong:
            raise UpdateLogError(wrong[0].message(shown)) from error
        return table


def sift_json(
    content: bytes,
    first_line: int,
    types: Mapping[str, pa.DataType],
    floats: Mapping[str, str],
    span: slice = ALL,
    *,
    is_first_enough: bool = False,
) -> tuple[pa.Table, list[WrongLine]]:
    """Parse the lines that can be parsed, and find the others; arguments as of `sift_lines`."""
    if first_line == 1:
        content = without_mark(content)
    lines = [
        (number, line)
        for number, line in enumerate(content.split(b"\n"), first_line)
        if not is_blank(line)
    ][span]
    tables, wrong = [pa.schema(types.items()).empty_table()], []
    for start in range(0, len(lines), SIFTED_LINES):
        part = lines[start : start + SIFTED_LINES]

        def is_right(low: int, high: int, part: list[tuple[int, bytes]] = part) -> bool:
            try:
                _parsed(_joint(part[low:high]), types, floats)
            except pa.ArrowInvalid:
                return False
            return True

        bad = list(failing(len(part), is_right))
        good = [line for at, line in enumerate(part) if at not in {*bad}] if bad else part
        tables.append(_parsed(_joint(good), types, floats))
        for at in bad:
            number, line = part[at]
            text = line.rstrip(b"\r").decode(errors="backslashreplace")
            row = start + at + (span.start or 0)
            reason = _reason(line, types, floats)
            wrong.append(WrongLine(row, number, reason, text, _fields(line, types)))
        if wrong and is_first_enough:
            break
    return pa.concat_tables(tables), wrong


def _joint(lines: list[tuple[int, bytes]]) -> bytes:
    return b"".join([line + b"\n" for _, line in lines])


def _parsed(
    content: bytes, types: Mapping[str, pa.DataType], floats: Mapping[str, str]
) -> pa.Table:
    """Columns of lines; ArrowInvalid where any of them is wrong."""
    read_as = {
        name: pa.string() if pa.types.is_timestamp(kind) else kind for name, kind in types.items()
    }
    table = _read(content, rows_of_lines(content), pa.schema(read_as.items()))
    for name, kind in floats.items():
        if name in types and table.num_rows and may_be_rounded(table[name]):
            _refuse_rounded(content, name, table[name], kind)
    return pa.table({name: _values(table[name], kind) for name, kind in types.items()})


def _values(column: Any, kind: pa.DataType) -> Any:
    """A column as its type; times were read as text."""
    return times_of(column, kind) if pa.types.is_timestamp(kind) else column.cast(kind)


def _refuse_rounded(content: bytes, name: str, column: Any, kind: str) -> None:
    """Raise ArrowInvalid where a whole number does not fit into a type of floats."""
    lines = [line for line in content.split(b"\n") if not is_blank(line)]
    for row in rounded(column.to_numpy(zero_copy_only=False), kind).nonzero()[0].tolist():
        value = (_object_of(lines[row]) or {}).get(name)
        if isinstance(value, int) and is_rounded(str(value), kind):
            msg = f"{value} does not fit into {kind}"
            raise pa.ArrowInvalid(msg)


def _read(content: bytes, rows: int, schema: pa.Schema | None) -> pa.Table:
    """Columns as Arrow's reader has them; without a schema, those that it finds."""
    if rows == 0:
        return (schema or pa.schema([])).empty_table()
    behavior = "infer" if schema is None else "ignore"
    try:
        table = json.read_json(
            pa.BufferReader(content),
            read_options=json.ReadOptions(use_threads=False, block_size=len(content) + 1),
            parse_options=json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior=behavior
            ),
        )
    except pa.ArrowNotImplementedError as error:
        raise pa.ArrowInvalid(str(error)) from error
    if table.num_rows != rows:
        msg = "it is not one object"
        raise pa.ArrowInvalid(msg)
    return table


def _with_times_as_text(content: bytes, rows: int) -> pa.Table:
    """Columns as Arrow finds them, but for times: it takes those for ones without a zone."""
    table = _read(content, rows, None)
    texts = [(each.name, pa.string()) for each in table.schema if pa.types.is_timestamp(each.type)]
    if texts:
        found = _read(content, rows, pa.schema(texts))
        for name, _ in texts:
            table = table.set_column(table.column_names.index(name), name, found[name])
    return table


def _fault(line: bytes, schema: pa.Schema) -> str:
    """What is wrong with a line, as the end of a sentence that begins with its number."""
    try:
        if line.strip() == b"null":
            # Arrow ends the process where it is asked for no column of it.
            msg = "it is null"
            raise pa.ArrowInvalid(msg)
        _read(line, 1, schema)
    except pa.ArrowInvalid as error:
        why = " ".join(str(error).split())
    else:
        why = "it is not one object"
    cure = "one JSON object a line"
    other = _OTHER_TYPE.search(why)
    if other is not None:
        name, wanted, found = other.groups()
        why = f"{name} is a {found}, not a {wanted}"
        cure = "a column's values all alike"
        if wanted == "string":
            cure = "it in quotes, or leave --ids string out where ids are numbers"
    return f" cannot be read ({why}); write {cure}"


def _reason(line: bytes, types: Mapping[str, pa.DataType], floats: Mapping[str, str]) -> str:
    """The same, of a line of which some columns are wanted."""
    values = _object_of(line) or {}
    for name, kind in types.items():
        value = values.get(name)
        if pa.types.is_timestamp(kind) and isinstance(value, str):
            try:
                times_of(pa.array([value]), kind)
            except pa.ArrowInvalid:
                return f": {name} is {value!r}, which is no time as those before; correct the line"
        if isinstance(value, int) and is_rounded(str(value), floats.get(name)):
            return f": {name} is {value}, which does not fit into {floats[name]}"
        if type(value) in (int, float) and pa.types.is_integer(kind) and not _fits(value, kind):
            why = unfit(str(value), kind) if isinstance(value, int) else "which is no integer"
            return f": {name} is {value}, {why}"
    read_as = {
        name: pa.string() if pa.types.is_timestamp(kind) else kind for name, kind in types.items()
    }
    return _fault(line, pa.schema(read_as.items()))


def _fits(number: object, kind: pa.DataType) -> bool:
    """Whether a number of JSON is one of a type of integers."""
    try:
        pa.scalar(number, kind)
    except (pa.ArrowInvalid, OverflowError):
        return False
    return isinstance(number, int)


def _fields(line: bytes, types: Mapping[str, pa.DataType]) -> Mapping[str, str | None]:
    """Text of each column of a line; nothing where that would hide what is wrong with it."""
    values = _object_of(line)
    if values is None:
        return {}
    fields: dict[str, str | None] = {}
    for name, kind in types.items():
        value = values.get(name)
        is_text = isinstance(value, str)
        if pa.types.is_string(kind) and value is not None and not is_text:
            return {}
        fields[name] = value if is_text or value is None else line_json.dumps(value)
    return fields


def _object_of(line: bytes) -> dict[str, Any] | None:
    """The object of a line as Python has it; None: it is none."""
    try:
        values = line_json.loads(line.decode(), strict=False)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


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


def _joined(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
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
