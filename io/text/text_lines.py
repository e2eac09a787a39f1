"""Lines of numbers and names, a record each, parsed in blocks by Arrow's CSV reader.

A block of whole lines is brought into the one form that the CSV reader takes, which parses it in
C++; only a block that it refuses is gone through line by line, to say which line is wrong.

Not here: how a file comes in blocks (``line_blocks.py``), which column is what (``csv_columns.py``,
``io/interchange/edge_list_form.py``), and what is wrong with a line (``line_faults.py``).
"""

import re
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from ...gpu_core.errors import UpdateLogError
from ..log.operations import USUAL
from .line_faults import fault_of_field, fault_of_line
from .line_fields import fields_of
from .line_form import Form
from .line_spaces import has_odd_spaces, has_pair, normalized, numbered_lines, rows_of_lines
from .text_values import may_be_rounded, odd_texts, typed
from .wrong_lines import ALL, Faults, WrongLine, failing, sift

_QUOTE = b'"'
#: A first line with a zone that the CSV reader does not know.
_SPACED_ZONE = re.compile(rb"\n*[^\n]* (?:UTC|[-+]\d\d)")


def parse_lines(content: bytes, first_line: int, form: Form) -> pa.Table:
    """Parse whole lines, the first of which is line ``first_line`` of the file.

    Raises
    ------
    UpdateLogError
        A line is not what the columns say; names file and line.
    """
    lines = normalized(content, form.delimiter, keeps_spaces=bool(form.as_written))
    try:
        if b"\r" in lines:
            # The CSV reader ends a row there, unless it is in quotes.
            msg = "a carriage return within a line"
            raise pa.ArrowInvalid(msg)
        return _parsed(lines, form)
    except pa.ArrowInvalid as error:
        table, wrong = sift_lines(content, first_line, form, is_first_enough=True)
        if wrong:
            raise UpdateLogError(wrong[0].message(form.path)) from error
        return table


def sift_lines(
    content: bytes,
    first_line: int,
    form: Form,
    span: slice = ALL,
    *,
    is_first_enough: bool = False,
) -> tuple[pa.Table, list[WrongLine]]:
    """Parse the lines that can be parsed, and find those that cannot.

    Parameters
    ----------
    content, first_line, form
        As for `parse_lines`.
    span
        Rows that are wanted: the lines that are not blank, counted from 0.
    is_first_enough
        Whether to stop behind the first lines among which one is wrong.

    Returns
    -------
    table
        The good ones of the span, in order.
    wrong
        The others, in order.
    """
    raw = list(numbered_lines(content, first_line))[span]
    whole = normalized(content, form.delimiter, keeps_spaces=bool(form.as_written))
    lines = [line for line in whole.split(b"\n") if line][span]
    tables, wrong = sift(
        raw,
        span.start or 0,
        lambda part: _sifted(lines[part], form),
        is_first_enough=is_first_enough,
    )
    return pa.concat_tables([form.schema.empty_table(), *tables]), wrong


def _sifted(lines: list[bytes], form: Form) -> tuple[pa.Table, Faults]:
    """Some lines, normalized: first as text, then column by column."""
    fields = len(form.columns) - 1
    mark = form.delimiter.encode()
    faults: dict[int, tuple[str, Mapping[str, str | None]]] = {
        at: (fault_of_line(line, form), {})
        for at, line in enumerate(lines)
        if _QUOTE not in line and line.count(mark) != fields
    }
    others = [at for at in range(len(lines)) if at not in faults]

    def is_text(low: int, high: int) -> bool:
        part = b"\n".join([lines[at] for at in others[low:high]]) + b"\n"
        # A carriage return in quotes is of its field, another one ends a row.
        if b"\r" in part and (high - low > 1 or not _is_in_quotes(part, form)):
            return False
        try:
            _texts(part, form, high - low)
        except pa.ArrowInvalid:
            return False
        return True

    for at in [others[each] for each in failing(len(others), is_text)]:
        faults[at] = fault_of_line(lines[at], form), {}
    good = [at for at in others if at not in faults]
    texts = _texts(b"\n".join([lines[at] for at in good]) + b"\n", form, len(good))
    columns = {name: texts[name].combine_chunks() for name in texts.column_names}
    bad: dict[int, str] = {}
    for name, column in columns.items():
        # Where many are wrong, most are found at once, and not by halves.
        odd = odd_texts(column, form.parsed[name])
        bad |= {at: name for at in odd if at not in bad}
        remaining = np.delete(np.arange(len(column)), odd)
        rest = column.take(pa.array(remaining))
        for at in failing(len(rest), partial(_is_column, rest, name, form)):
            bad.setdefault(int(remaining[at]), name)
    for at, wrong in bad.items():
        row = {name: _as_kept(column[at].as_py(), name, form) for name, column in columns.items()}
        faults[good[at]] = fault_of_field(wrong, columns[wrong][at].as_py(), form), row
    kept = pa.array([at for at in range(len(good)) if at not in bad], pa.int64())
    table = {name: _column(column.take(kept), name, form) for name, column in columns.items()}
    return pa.table(table, schema=form.schema), faults


def _as_kept(text: str | None, name: str, form: Form) -> str | None:
    """Text of a field as it may be read again, without white space that is not its own."""
    return text if text is None or name in form.as_written else text.strip(" \t")


def _is_in_quotes(line: bytes, form: Form) -> bool:
    """Whether each carriage return of a line is in quotes, or ends it."""
    try:
        text = line.decode(errors="replace").removesuffix("\n")
        return len(fields_of(text, form.delimiter)) == len(form.columns)
    except ValueError:
        return False


def _parsed(lines: bytes, form: Form) -> pa.Table:
    """Columns of lines that are normalized; ArrowInvalid where any of them is wrong."""
    rows = rows_of_lines(lines)
    if not rows:
        return form.schema.empty_table()
    as_text = _columns_by_text(lines, form)
    table = _read(lines, form, rows, as_text)
    # Floats are read beside their text only where it may have been rounded.
    large = {name for name in form.floats if name not in as_text and may_be_rounded(table[name])}
    if large:
        as_text |= large
        table = _read(lines, form, rows, as_text)
    for column in table.columns:
        _refuse_empty(column, form)
    columns = {
        name: _column(table[name], name, form) if name in as_text else _values(table[name], kind)
        for name, kind in zip(form.schema.names, form.schema.types, strict=True)
    }
    return pa.table(columns, schema=form.schema)


def _columns_by_text(lines: bytes, form: Form) -> set[str]:
    """Columns that the CSV reader would convert otherwise than it is promised."""
    if (form.as_written and has_odd_spaces(lines, form.delimiter)) or (
        form.texts and _QUOTE in lines and has_pair(lines, _QUOTE * 2)
    ):
        return {name for name in form.parsed if name not in form.texts}
    times = set()
    # Where only later lines have such zones, lines are sifted, which comes to the same.
    if _SPACED_ZONE.match(lines):
        times = {name for name, kind in form.parsed.items() if pa.types.is_timestamp(kind)}
    integers = {name for name, kind in form.parsed.items() if pa.types.is_integer(kind)}
    # To look for one byte takes a tenth of the time of looking for two.
    if integers and any(x in lines and has_pair(lines, b"0" + x) for x in (b"x", b"X")):
        return integers | times
    return times


def _texts(lines: bytes, form: Form, rows: int) -> pa.Table:
    """All columns that are wanted, as text."""
    if not rows:
        return pa.schema([(name, pa.string()) for name in form.schema.names]).empty_table()
    return _read(lines, form, rows, set(form.parsed))


def _read(lines: bytes, form: Form, rows: int, as_text: Collection[str]) -> pa.Table:
    """Columns as the CSV reader has them, of lines that are no fewer and no more rows."""
    names = form.field_names
    has_quotes = _QUOTE in lines
    # Else quotes around an empty field would not be seen.
    has_nulls = form.has_nulls or bool(form.texts)
    types = {name: pa.string() if name in as_text else kind for name, kind in form.parsed.items()}
    table = csv.read_csv(
        pa.BufferReader(lines),
        read_options=csv.ReadOptions(
            column_names=names, use_threads=False, block_size=len(lines) + 1
        ),
        parse_options=csv.ParseOptions(
            delimiter=form.delimiter, quote_char='"' if has_quotes else False
        ),
        convert_options=csv.ConvertOptions(
            column_types={**dict.fromkeys(names, pa.string()), **types},
            include_columns=form.schema.names,
            null_values=[""] if has_nulls else [],
            strings_can_be_null=has_nulls,
            quoted_strings_can_be_null=not form.texts,
            decimal_point=form.decimal_point,
        ),
    )
    # A quote that does not end on its line takes the lines after it along.
    if table.num_rows != rows or (has_quotes and not _ends_its_quotes(lines, form)):
        msg = "a quote does not end on its line"
        raise pa.ArrowInvalid(msg)
    return table


def _ends_its_quotes(lines: bytes, form: Form) -> bool:
    """Whether the last line ends its quotes, as the CSV reader does not ask that of it."""
    end = len(lines)
    while lines[end - 1 : end] == b"\n":
        end -= 1
    last = lines[lines.rfind(b"\n", 0, end) + 1 : end] + b"\n"
    if _QUOTE not in last:
        return True
    twice = csv.read_csv(
        pa.BufferReader(last * 2),
        read_options=csv.ReadOptions(column_names=form.field_names, use_threads=False),
        parse_options=csv.ParseOptions(delimiter=form.delimiter),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(form.field_names, pa.binary())
        ),
    )
    return bool(twice.num_rows == 2)


def _is_column(column: pa.Array, name: str, form: Form, low: int, high: int) -> bool:
    try:
        _column(column[low:high], name, form)
    except pa.ArrowInvalid:
        return False
    return True


def _column(text: Any, name: str, form: Form) -> Any:
    """A column of its type in the table, from text; ArrowInvalid where a value has no meaning."""
    kind = form.parsed[name]
    is_text = pa.types.is_string(kind)
    if not is_text or (form.as_written and name not in form.as_written):
        text = pc.utf8_trim(text, characters=" \t")
    if form.has_nulls and name not in form.texts:
        text = pc.if_else(pc.equal(text, ""), None, text)
    _refuse_empty(text, form)
    if form.decimal_point != "." and pa.types.is_floating(kind):
        text = pc.replace_substring(text, form.decimal_point, ".")
    values = typed(text, kind, form.floats.get(name))
    return _values(values, form.types[name])


def _refuse_empty(column: Any, form: Form) -> None:
    if not form.has_nulls and column.null_count:
        msg = "a field is empty"
        raise pa.ArrowInvalid(msg)


def _values(column: Any, kind: pa.DataType) -> Any:
    """A column of its type in the table, from what its text was parsed as."""
    if column.type == kind:
        return column
    if pa.types.is_string(column.type):
        kinds = USUAL.kinds(column)
        if not kinds.all():
            msg = "an operation is unknown"
            raise pa.ArrowInvalid(msg)
        return pa.array(kinds)
    return pc.round(pc.multiply(column, 1e6)).cast(pa.int64()).cast(kind)
