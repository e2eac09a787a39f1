"""The columns of a CSV file of a log: their names by its first line, their types by the next ones.

Fields are apart by ``;``, tabs or ``,``, whichever the first line has; a field may be in quotes, a
line is a row, and an empty field is null, but for a name that is empty in quotes. Lines end with LF
or CRLF; a line ``sep=;`` before the names, which is for Excel, is no row. White space around a
field belongs to it if it is a name, unless the first line has such, too, as ``src, dst``: then it
is there to be read. Types are what most of the first lines show.

Not here: how lines become columns (``text_lines.py``).
"""

from collections.abc import Collection

import pyarrow as pa

from ...gpu_core.errors import UpdateLogError
from ..log.file_errors import UnusableFileError
from ..parquet.footers import PARQUET_BEGINS
from .line_blocks import first_lines, refuse_utf_16, without_marks_of_excel
from .line_fields import outside_quotes, split_lines
from .line_form import Form
from .line_spaces import rows_of_lines
from .text_lines import parse_lines, sift_lines
from .text_types import SAMPLE_LINES, is_value, type_of_fields


class CsvColumns:
    """The columns of a CSV file, by its first lines; types of times also by later ones.

    Parameters
    ----------
    shown
        Name of the file, for messages.
    whole
        Columns in which a number with a fraction has no meaning.
    times
        Columns of times: their type is that of the first value, however late it comes.
    """

    def __init__(self, shown: str, whole: Collection[str], times: Collection[str]) -> None:
        self._shown, self._whole, self._times = shown, whole, times
        #: What is between two fields.
        self.delimiter = ""
        #: Whether there is white space around fields that does not belong to them.
        self.is_padded = True
        self._names: list[tuple[str, str]] = []
        #: As of `JsonColumns`: a line of CSV that is wrong is met when its rows are read.
        self.faults: dict[str, str] = {}

    def add(self, content: bytes, first_line: int) -> int:
        """Take note of the columns of a block; returns its rows."""
        if first_line == 1 and content.startswith(PARQUET_BEGINS):
            msg = f"{self._shown} is a Parquet file; give it a name that ends in .parquet"
            raise UnusableFileError(msg)
        if not self._names:
            self.delimiter, self.is_padded, self._names = _layout(content, self._shown, self._whole)
        data = without_header(content) if first_line == 1 else content
        self._names = [
            (name, self._later_type(data, index))
            if kind == "null" and name in self._times
            else (name, kind)
            for index, (name, kind) in enumerate(self._names)
        ]
        return rows_of_lines(data)

    def found(self) -> list[tuple[str, str]]:
        """``(name, type)`` of each column."""
        return self._names

    def _later_type(self, content: bytes, index: int) -> str:
        """Type of a column of times of which no line before has a value."""
        names = [name for name, _ in self._names]
        columns = tuple(name if at == index else None for at, name in enumerate(names))
        types = {names[index]: pa.string()}
        form = Form("", columns, self.delimiter, types, has_nulls=True)
        try:
            table = parse_lines(content, 1, form)
        except UpdateLogError:
            table, _ = sift_lines(content, 1, form)
        given = table[names[index]].drop_null().slice(0, SAMPLE_LINES).to_pylist()
        return str(type_of_fields([text.strip() for text in given], is_whole=True))


def _layout(
    content: bytes, shown: str, whole: Collection[str]
) -> tuple[str, bool, list[tuple[str, str]]]:
    """Separator of fields, and ``(name, type)`` of each column, by the first lines of a file.

    And between them whether there is white space around fields that does not belong to them.
    ``whole`` are names of columns in which a number with a fraction has no meaning.
    """
    refuse_utf_16(content, shown)
    content = without_marks_of_excel(content)
    # Without the blank lines before it.
    header = first_lines(content, 1).rstrip(b"\r\n").rpartition(b"\n")[2]
    text = header.decode(errors="replace")
    if b"\r" in header:
        msg = (
            f"{shown} has a carriage return within its first line; end lines with \\n, or with "
            f"\\r\\n"
        )
        raise UnusableFileError(msg)
    plain = outside_quotes(text)
    delimiter = next((mark for mark in (";", "\t", ",") if mark in plain), ",")
    sample = list(split_lines(first_lines(content, SAMPLE_LINES), delimiter))
    names = [name.strip() for name in sample[0]] if sample else []
    if not names or any(is_value(name) for name in names):
        msg = (
            f"{shown} has no header: its first line is {text.strip()[:60]!r}; name the columns "
            f"there, or make a log of it with graphtide import"
        )
        raise UnusableFileError(msg)
    if len(names) == 1 and "|" in names[0]:
        msg = f"{shown} has fields separated by '|'; write commas, semicolons or tabs between them"
        raise UnusableFileError(msg)
    rows = [fields for fields in sample[1:] if len(fields) == len(names)]
    is_padded = any(field != field.strip() for field in plain.split(delimiter))
    types = [
        type_of_fields([fields[index].strip() for fields in rows], is_whole=name in whole)
        for index, name in enumerate(names)
    ]
    return delimiter, is_padded, list(zip(names, map(str, types), strict=True))


def without_header(content: bytes) -> bytes:
    """The beginning of a file with an empty line for each one up to that of the names."""
    content = without_marks_of_excel(content)
    header = first_lines(content, 1)
    return b"\n" * header.count(b"\n") + content[len(header) :]
