"""Text files of numbers, a record a line, parsed in blocks by Arrow's CSV reader.

A file is read in blocks of whole lines. Each block is brought into the one form that the CSV reader
takes, which parses it in C++; only a block that it refuses is gone through line by line, to say
which line is wrong. Comment lines, which begin with ``#`` or ``%``, are made empty, so that lines
keep their numbers. Compressed files (``.gz``, ``.bz2``, ``.xz``, ``.zst``) are read as they are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import fsspec
import pyarrow as pa
from pyarrow import csv

from ..gpu_core.errors import UpdateLogError
from .schema import CANONICAL

_BLOCK_BYTES = 1 << 24

_TYPES = {
    "op": pa.int8(),
    "src": pa.int64(),
    "dst": pa.int64(),
    "weight": pa.float64(),
    "type": pa.int32(),
    "ts": pa.int64(),
}
_COMMENT = re.compile(rb"^[ \t]*[#%].*$", re.MULTILINE)


@dataclass(frozen=True)
class Form:
    """How the lines of a file are to be read."""

    path: str
    #: A column for each field of a line; None: not wanted.
    columns: tuple[str | None, ...]
    is_comma: bool

    @property
    def schema(self) -> pa.Schema:
        """Schema of what is wanted, in canonical order."""
        return pa.schema([(name, _TYPES[name]) for name in CANONICAL if name in self.columns])

    @property
    def field_names(self) -> list[str]:
        """A name for each field of a line."""
        return [name or f"unused {place}" for place, name in enumerate(self.columns)]


def parse_lines(content: bytes, first_line: int, form: Form) -> pa.Table:
    """Parse whole lines, the first of which is line ``first_line`` of the file."""
    names = form.field_names
    delimiter = "," if form.is_comma else " "
    lines = _one_delimiter(content, form.is_comma)
    try:
        table = csv.read_csv(
            pa.BufferReader(lines),
            read_options=csv.ReadOptions(
                column_names=names, use_threads=False, block_size=len(lines) + 1
            ),
            parse_options=csv.ParseOptions(delimiter=delimiter, quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types={**dict.fromkeys(names, pa.string()), **_TYPES},
                include_columns=form.schema.names,
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        if not lines.strip():
            return form.schema.empty_table()
        raise _first_wrong_line(lines, first_line, form, delimiter) from error
    return table


def _first_wrong_line(lines: bytes, first_line: int, form: Form, delimiter: str) -> UpdateLogError:
    """Find the line that the fast reader has refused, and say what is wrong with it."""
    for number, line in enumerate(lines.decode(errors="replace").split("\n"), first_line):
        if not line:
            continue
        fields = line.split(delimiter)
        if len(fields) != len(form.columns):
            msg = (
                f"{form.path}, line {number} has {len(fields)} of the "
                f"{len(form.columns)} fields that are expected; mend the line, or leave it out"
            )
            return UpdateLogError(msg)
        for name, field in zip(form.columns, fields, strict=True):
            fault = None if name is None else _fault(name, field)
            if fault:
                msg = f"{form.path}, line {number}: {name} is {field!r}, {fault}"
                return UpdateLogError(msg)
    msg = f"{form.path} cannot be read from line {first_line} on; mend the lines"
    return UpdateLogError(msg)


def _fault(name: str, field: str) -> str | None:
    """What keeps a field from being a value of its column."""
    try:
        pa.array([field]).cast(_TYPES[name])
    except pa.ArrowInvalid:
        if pa.types.is_floating(_TYPES[name]):
            return "which is no number; mend the line, or leave it out"
        if re.fullmatch(r"-?\d+", field):
            return f"which does not fit {_TYPES[name]}; use smaller numbers"
        return "which is no integer; mend the line, or say what the columns are"
    return None


def without_comments(block: bytes) -> bytes:
    """Comment lines made empty, so that the count of lines stays."""
    if b"#" in block or b"%" in block:
        return _COMMENT.sub(b"", block)
    return block


def _one_delimiter(content: bytes, is_comma: bool) -> bytes:
    """White space around and between fields brought down to what the CSV reader takes."""
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n")
    if is_comma:
        # Not within fields: "1 2" is no id.
        return re.sub(rb"[ \t]*([,\n])[ \t]*", rb"\1", b"\n" + content)[1:]
    if b"\t" in content:
        content = content.translate(bytes.maketrans(b"\t", b" "))
    while b"  " in content:
        content = content.replace(b"  ", b" ")
    return content.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def blocks_of(path: str) -> Iterator[tuple[int, bytes]]:
    """Give a file in blocks of whole lines, each with the number of its first line, from 1."""
    try:
        with fsspec.open(path, "rb", compression="infer") as file:
            number, rest = 1, b""
            while True:
                read = file.read(_BLOCK_BYTES)
                cut = read.rfind(b"\n") + 1 if read else 0
                if read and not cut:
                    rest += read
                    continue
                block = rest + read[:cut]
                if block:
                    yield number, block if block.endswith(b"\n") else block + b"\n"
                number += block.count(b"\n")
                rest = read[cut:]
                if not read:
                    return
    except FileNotFoundError:
        msg = f"there is no file {path}; check the path"
        raise UpdateLogError(msg) from None
    except (OSError, EOFError, ValueError) as error:
        if isinstance(error, UpdateLogError):
            raise
        msg = f"{path} cannot be read: {' '.join(str(error).split())}"
        raise UpdateLogError(msg) from error
