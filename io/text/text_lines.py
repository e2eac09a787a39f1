"""Text files of numbers, a record a line, parsed in blocks by Arrow's CSV reader.

A file is read in blocks of whole lines. Each block is brought into the one form that the CSV reader
takes, which parses it in C++; only a block that it refuses is gone through line by line, to say
which line is wrong. Comment lines, which begin with ``#``, ``%`` or ``//``, are made empty, so that
lines keep their numbers. Compressed files (``.gz``, ``.bz2``, ``.xz``, ``.zst``) are read as they
are.

Not here: which column is what (``text_form.py``).
"""

import csv as line_csv
import errno
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from ...gpu_core.errors import UpdateLogError
from ..file_systems import as_storage_errors, file_system_of
from ..log.file_errors import UnusableFileError
from ..log.operations import USUAL
from ..log.schema import CANONICAL

_BLOCK_BYTES = 1 << 24

#: Types of columns where nothing else is known.
TYPES: Mapping[str, pa.DataType] = {
    "op": pa.int8(),
    "src": pa.int64(),
    "dst": pa.int64(),
    "weight": pa.float64(),
    "type": pa.int32(),
    "ts": pa.int64(),
}
_COMMENT = re.compile(rb"^[ \t]*(?:[#%]|//).*$", re.MULTILINE)
#: Text of 16 bits a letter begins so.
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_QUOTE = b'"'
_BLANK_LINE = re.compile(rb"^[ \t\r]+$", re.MULTILINE)
_QUOTED = re.compile(rb'("[^"\n]*")')


@dataclass(frozen=True)
class Form:
    """Options for reading the lines of a file."""

    path: str
    #: A column for each field of a line; None: not wanted.
    columns: tuple[str | None, ...]
    #: What is between two fields; a space stands for any white space.
    delimiter: str = " "
    #: Column -> its type in the table, for all that are wanted.
    types: Mapping[str, pa.DataType] = field(default_factory=lambda: TYPES)
    #: Whether times are decimal numbers: unix seconds with a fraction.
    has_decimal_times: bool = False
    decimal_point: str = "."
    #: Whether an empty field is null, and no fault.
    has_nulls: bool = False
    #: Columns of text to which the white space around it belongs.
    as_written: frozenset[str] = frozenset()
    #: Column -> type as which its text is parsed first.
    parsed: Mapping[str, pa.DataType] = field(init=False)

    def __post_init__(self) -> None:
        parsed = {name: self.types[name] for name in self.columns if name is not None}
        if "op" in parsed:
            parsed["op"] = pa.string()  # whatever it becomes
        if self.has_decimal_times:
            parsed["ts"] = pa.float64()
        object.__setattr__(self, "parsed", parsed)

    @property
    def schema(self) -> pa.Schema:
        """Schema of what is wanted: columns of a log in canonical order, then others."""
        others = [name for name in self.columns if name is not None and name not in CANONICAL]
        names = [*(name for name in CANONICAL if name in self.columns), *others]
        return pa.schema([(name, self.types[name]) for name in names])

    @property
    def field_names(self) -> list[str]:
        """A name for each field of a line."""
        return [name or f"unused {index}" for index, name in enumerate(self.columns)]


def parse_lines(content: bytes, first_line: int, form: Form) -> pa.Table:
    """Parse whole lines, the first of which is line ``first_line`` of the file."""
    is_trimmed = False
    if form.as_written:
        lines = _without_blank_lines(content)
        if _has_odd_spaces(lines, form.delimiter):
            is_trimmed, lines = True, _quotes_at_edges(lines, form.delimiter)
    else:
        lines = _one_delimiter(content, form.delimiter)
    try:
        return _parsed(lines, form, is_trimmed=is_trimmed)
    except pa.ArrowInvalid as error:
        if not lines.strip():
            return form.schema.empty_table()
        raise _first_wrong_line(lines, first_line, form) from error


def _parsed(lines: bytes, form: Form, *, is_trimmed: bool) -> pa.Table:
    """Columns of lines; ``is_trimmed``: of text first, to take the white space from most of it."""
    names = form.field_names
    types = dict.fromkeys(names, pa.string())
    has_quotes = _QUOTE in lines
    table = csv.read_csv(
        pa.BufferReader(lines),
        read_options=csv.ReadOptions(
            column_names=names, use_threads=False, block_size=len(lines) + 1
        ),
        parse_options=csv.ParseOptions(
            delimiter=form.delimiter, quote_char='"' if has_quotes else False
        ),
        convert_options=csv.ConvertOptions(
            column_types=types if is_trimmed else {**types, **form.parsed},
            include_columns=form.schema.names,
            null_values=[""] if form.has_nulls else [],
            strings_can_be_null=form.has_nulls,
            decimal_point=form.decimal_point,
        ),
    )
    # A quote that does not end on its line takes the lines after it along.
    if has_quotes and table.num_rows != sum(1 for line in lines.split(b"\n") if line):
        msg = "a quote does not end on its line"
        raise pa.ArrowInvalid(msg)
    if is_trimmed:
        for name, kind in form.parsed.items():
            if name not in form.as_written:
                index = table.schema.get_field_index(name)
                table = table.set_column(index, name, _trimmed(table[name]).cast(kind))
    columns = {name: _values(table[name], form.types[name]) for name in table.column_names}
    for name in ("src", "dst"):
        is_name = name in columns and pa.types.is_string(columns[name].type)
        if is_name and not form.has_nulls and pc.any(pc.equal(columns[name], "")).as_py():
            msg = "a name is empty"
            raise pa.ArrowInvalid(msg)
    return pa.table(columns, schema=form.schema)


def _trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text without white space around it, null where none is left."""
    text = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.equal(text, ""), None, text)


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


def _first_wrong_line(lines: bytes, first_line: int, form: Form) -> UpdateLogError:
    """Find the line that the fast reader has refused, and say what is wrong with it."""
    for number, line in enumerate(lines.decode(errors="replace").split("\n"), first_line):
        if not line:
            continue
        try:
            fields = fields_of(line, form.delimiter)
        except ValueError as error:
            msg = f"{form.path}, line {number} {error}; correct the line, or leave it out"
            return UpdateLogError(msg)
        if len(fields) != len(form.columns):
            msg = (
                f"{form.path}, line {number} has {len(fields)} of the "
                f"{len(form.columns)} fields that are expected; correct the line, or leave it out"
            )
            return UpdateLogError(msg)
        for name, field_text in zip(form.columns, fields, strict=True):
            text = field_text.strip() if form.as_written - {name} else field_text
            fault = None if name is None else _fault(name, text, form)
            if fault:
                msg = f"{form.path}, line {number}: {name} is {text!r}, {fault}"
                return UpdateLogError(msg)
    for number, raw in enumerate(lines.split(b"\n"), first_line):
        try:
            raw.decode()
        except UnicodeDecodeError:
            msg = f"{form.path}, line {number} is not in UTF-8; save the file as UTF-8"
            return UpdateLogError(msg)
    msg = f"{form.path} cannot be read from line {first_line} on; correct the lines"
    return UpdateLogError(msg)


def fields_of(line: str, delimiter: str) -> list[str]:
    """Fields of a line that is in the form which the CSV reader takes, without their quotes.

    ValueError, as the end of a sentence, where a quote does not end.
    """
    if '"' not in line:
        return line.split(delimiter)
    try:
        (fields,) = line_csv.reader([line], delimiter=delimiter, strict=True)
    except line_csv.Error:
        msg = "has a quote that does not end"
        raise ValueError(msg) from None
    return fields


def _fault(name: str, text: str, form: Form) -> str | None:
    """Reason why a field is not a value of its column."""
    kind = form.types[name]
    if form.has_nulls and not text:
        return None
    if pa.types.is_string(kind):
        is_right = bool(text) or name not in ("src", "dst")
        return None if is_right else "which is no name; correct the line, or leave it out"
    is_number = pa.types.is_floating(form.parsed[name])
    if is_number and form.decimal_point != ".":
        text = text.replace(form.decimal_point, ".")
    try:
        _values(pa.array([text]).cast(form.parsed[name]), kind)
    except pa.ArrowInvalid:
        if name == "op":
            return "which is no operation; write insert and delete, or 1 and -1"
        if is_number:
            return "which is no number; correct the line, or leave it out"
        if pa.types.is_timestamp(kind):
            return _fault_of_time(text, kind)
        if re.fullmatch(r"-?\d+", text):
            is_unsigned = kind == pa.int64() and 0 < int(text) < 1 << 64
            cure = "ids='uint64' has room for it" if is_unsigned else "use smaller numbers"
            return f"which does not fit {kind}; {cure}"
        return "which is no integer; correct the line, or say what the columns are"
    return None


def _fault_of_time(text: str, kind: pa.DataType) -> str:
    try:
        pa.array([text]).cast(pa.timestamp(kind.unit, None if kind.tz else "UTC"))
    except pa.ArrowInvalid:
        return "which is no time; correct the line, or leave it out"
    zone = "with" if kind.tz else "without"
    return f"which is no time {zone} a zone as those before; correct the line"


def without_comments(block: bytes) -> bytes:
    """Comment lines made empty, so that the count of lines stays."""
    if b"#" in block or b"%" in block or b"//" in block:
        return _COMMENT.sub(b"", block)
    return block


def _one_delimiter(content: bytes, delimiter: str) -> bytes:
    """White space around and between fields brought down to what the CSV reader takes.

    What stands in quotes is left as it is: names differ by their spaces.
    """
    content = b"\n" + _without_blank_lines(content)
    if _QUOTE not in content:
        content = _tidied(content, delimiter)
    # Most files have none, or within quotes alone, and need not be taken apart.
    elif _has_odd_spaces(content, delimiter) and _has_odd_spaces(
        _QUOTED.sub(b"", content), delimiter
    ):
        parts = _QUOTED.split(content)
        # Every other part is a quoted one.
        parts[::2] = [_tidied(part, delimiter) for part in parts[::2]]
        content = b"".join(parts)
    return content[1:].rstrip(b" ")


def _without_blank_lines(content: bytes) -> bytes:
    """Lines that end alike, and those of nothing but white space made empty."""
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n")
    has_some = b"\n " in content or (b"\t" in content and b"\n\t" in content)
    if has_some or content[:1].isspace():
        return _BLANK_LINE.sub(b"", content)
    return content


def _quotes_at_edges(content: bytes, delimiter: str) -> bytes:
    """No white space between a quote and the edge of its field, where it belongs to nothing."""
    if _QUOTE not in content:
        return content
    edge = b"[%b\n]" % delimiter.encode()
    blank = _blanks(delimiter)
    spaces = re.compile(rb"\A[%b]+(?=%b|\Z)|(?<=%b)[%b]+\Z" % (blank, edge, edge, blank))
    parts = _QUOTED.split(b"\n" + content)
    # Every other part is a quoted one.
    parts[::2] = [spaces.sub(b"", part) for part in parts[::2]]
    return b"".join(parts)[1:]


def _has_odd_spaces(content: bytes, delimiter: str) -> bool:
    return any(each in content for each in _odd_spaces(content, delimiter))


def _blanks(delimiter: str) -> bytes:
    """White space that is not between fields."""
    return b" " if delimiter == "\t" else b" \t"


def _odd_spaces(content: bytes, delimiter: str) -> Iterator[bytes]:
    """Characters that `_tidied` replaces, of those that may be there."""
    if delimiter == " ":
        yield from (b"\t", b"  ", b" \n", b"\n ")
        return
    for blank in map(bytes, zip(_blanks(delimiter))):
        # To look for one byte takes a tenth of the time of looking for two.
        if blank in content:
            for edge in (delimiter.encode(), b"\n"):
                yield from (blank + edge, edge + blank)


def _tidied(content: bytes, delimiter: str) -> bytes:
    """Text without quotes: no white space around fields, nor several spaces between them."""
    if delimiter == " ":
        content = content.replace(b"\t", b" ")
    if len(content) < 2:
        return content
    # Not within fields: "1 2" is no id. Replaced text by text, which is ten times as fast as by a
    # regular expression where fields have spaces within, as times have.
    blanks = _blanks(delimiter)
    while odd := [each for each in _odd_spaces(content, delimiter) if each in content]:
        for around in odd:
            while around in content:
                content = content.replace(around, around.strip(blanks) or b" ")
    return content


def first_lines(content: bytes, count: int) -> bytes:
    """Give the beginning of some lines, up to ``count`` that are not empty."""
    end = 0
    while count and end < len(content):
        start, end = end, content.find(b"\n", end) + 1 or len(content)
        count -= bool(content[start:end].strip())
    return content[:end]


def split_lines(content: bytes, delimiter: str) -> Iterator[list[str]]:
    """Fields of each line that is not empty, as far as the lines can be split."""
    for line in _one_delimiter(content, delimiter).decode(errors="replace").split("\n"):
        if line:
            try:
                yield fields_of(line, delimiter)
            except ValueError:
                return  # the line is refused where it is parsed


def refuse_utf_16(content: bytes, shown: str) -> None:
    """Raise `UpdateLogError` where a file begins as spreadsheets write text in UTF-16."""
    if content.startswith(_UTF_16):
        msg = f"{shown} is text in UTF-16; save it as UTF-8"
        raise UnusableFileError(msg)


def without_mark(content: bytes) -> bytes:
    """The beginning of a file without a byte order mark."""
    return content.removeprefix(_BYTE_ORDER_MARK)


def rows_of_lines(content: bytes) -> int:
    """Lines that are not empty."""
    lines = without_mark(content).split(b"\n")
    rows = len(lines) - lines.count(b"")
    if b"\n " in content or b"\n\t" in content or b"\n\r" in content or not content.strip():
        rows = sum(1 for line in lines if line.strip())
    return rows


def line_blocks(file: Any, nbytes: int) -> Iterator[tuple[int, bytes]]:
    """Give an open file in blocks of whole lines, each with the number of its first line, from 1.

    The last line may lack its end.
    """
    number, rest = 1, b""
    while True:
        read = file.read(nbytes)
        cut = read.rfind(b"\n") + 1 if read else 0
        if read and not cut:
            rest += read
            continue
        block = rest + read[:cut]
        if block:
            yield number, block
        number += block.count(b"\n")
        rest = read[cut:]
        if not read:
            return


def blocks_of(path: str) -> Iterator[tuple[int, bytes]]:
    """Give a file in blocks of whole lines, each with the number of its first line, from 1."""
    try:
        with _opened(path) as file:
            for number, block in line_blocks(file, _BLOCK_BYTES):
                whole = without_mark(block) if number == 1 else block
                yield number, whole if whole.endswith(b"\n") else whole + b"\n"
    except (OSError, EOFError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOENT:
            msg = f"there is no file {path}; check the path"
            raise UpdateLogError(msg) from None
        if isinstance(error, UpdateLogError):
            raise
        msg = f"{path} cannot be read: {' '.join(str(error).split())}"
        raise UpdateLogError(msg) from error


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    """Open a file of bytes, unpacked where its name says that it is packed."""
    with as_storage_errors(file_system_of(path)[0]):
        if not path.endswith(".zst"):
            with fsspec.open(path, "rb", compression="infer") as file:
                yield file
            return
        # fsspec needs another package for that.
        with fsspec.open(path, "rb") as packed, pa.input_stream(packed, compression="zstd") as file:
            yield file
