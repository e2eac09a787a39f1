"""JSON lines of a log: an object a line, parsed in blocks by Arrow's JSON reader.

A key that a line does not have is null there. Times are integers, or text in ISO 8601.

Not here: which columns a file has, and of what types (``json_columns.py``).
"""

import json as line_json
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyarrow import json

from ...gpu_core.errors import UpdateLogError
from ..error_text import one_line
from .line_blocks import without_mark
from .line_spaces import numbered_lines, rows_of_lines
from .text_values import is_rounded, may_be_rounded, rounded, times_of, unfit
from .wrong_lines import ALL, Faults, WrongLine, failing, sift

#: What Arrow says of a value of another type than its column has, but for lines that are no object.
_OTHER_TYPE = re.compile(r"Column\(/(.+)\) changed from (?!object)(\w+) to (\w+)")


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
    lines = list(numbered_lines(content, first_line))[span]
    tables, wrong = sift(
        lines,
        span.start or 0,
        lambda part: _sifted([line for _, line in lines[part]], types, floats),
        is_first_enough=is_first_enough,
    )
    return pa.concat_tables([pa.schema(types.items()).empty_table(), *tables]), wrong


def _sifted(
    lines: list[bytes], types: Mapping[str, pa.DataType], floats: Mapping[str, str]
) -> tuple[pa.Table, Faults]:
    """Some lines, tried by halves."""

    def is_right(low: int, high: int) -> bool:
        try:
            _parsed(_joint(lines[low:high]), types, floats)
        except pa.ArrowInvalid:
            return False
        return True

    faults = {
        at: (_reason(lines[at], types, floats), _fields(lines[at], types))
        for at in failing(len(lines), is_right)
    }
    good = [line for at, line in enumerate(lines) if at not in faults]
    return _parsed(_joint(good), types, floats), faults


def _joint(lines: list[bytes]) -> bytes:
    return b"".join([line + b"\n" for line in lines])


def _parsed(
    content: bytes, types: Mapping[str, pa.DataType], floats: Mapping[str, str]
) -> pa.Table:
    """Columns of lines; ArrowInvalid where any of them is wrong."""
    table = read_objects(content, rows_of_lines(content), _schema_to_read(types))
    for name, kind in floats.items():
        if name in types and table.num_rows and may_be_rounded(table[name]):
            _refuse_rounded(content, name, table[name], kind)
    return pa.table({name: _values(table[name], kind) for name, kind in types.items()})


def _schema_to_read(types: Mapping[str, pa.DataType]) -> pa.Schema:
    """Types as which values are read: times as text, for Arrow has them without a zone."""
    read_as = {
        name: pa.string() if pa.types.is_timestamp(kind) else kind for name, kind in types.items()
    }
    return pa.schema(read_as.items())


def _values(column: Any, kind: pa.DataType) -> Any:
    """A column as its type; times were read as text."""
    return times_of(column, kind) if pa.types.is_timestamp(kind) else column.cast(kind)


def _refuse_rounded(content: bytes, name: str, column: Any, kind: str) -> None:
    """Raise ArrowInvalid where a whole number does not fit into a type of floats."""
    lines = [line for _, line in numbered_lines(content, 1)]
    for row in rounded(column.to_numpy(zero_copy_only=False), kind).nonzero()[0].tolist():
        value = (object_of(lines[row]) or {}).get(name)
        if isinstance(value, int) and is_rounded(str(value), kind):
            msg = f"{value} does not fit into {kind}"
            raise pa.ArrowInvalid(msg)


def read_objects(content: bytes, rows: int, schema: pa.Schema | None) -> pa.Table:
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


def fault_of_json_line(line: bytes, schema: pa.Schema) -> str:
    """What is wrong with a line, as the end of a sentence that begins with its number."""
    try:
        if line.strip() == b"null":
            # Arrow ends the process where it is asked for no column of it.
            msg = "it is null"
            raise pa.ArrowInvalid(msg)
        read_objects(line, 1, schema)
    except pa.ArrowInvalid as error:
        why = one_line(error)
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
    values = object_of(line) or {}
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
    return fault_of_json_line(line, _schema_to_read(types))


def _fits(number: object, kind: pa.DataType) -> bool:
    """Whether a number of JSON is one of a type of integers."""
    try:
        pa.scalar(number, kind)
    except (pa.ArrowInvalid, OverflowError):
        return False
    return isinstance(number, int)


def _fields(line: bytes, types: Mapping[str, pa.DataType]) -> Mapping[str, str | None]:
    """Text of each column of a line; nothing where that would hide what is wrong with it."""
    values = object_of(line)
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


def object_of(line: bytes) -> dict[str, Any] | None:
    """The object of a line as Python has it; None: it is none."""
    try:
        values = line_json.loads(line.decode(), strict=False)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None
