"""Lines of a CSV file of a log, whose first line names the columns.

Fields are apart by ``;``, tabs or ``,``, whichever the first line has; a field may be in quotes, a
line is a row, and an empty field is null, but for a name that is empty in quotes. Lines end with LF
or CRLF; a line ``sep=;`` before the names, which is for Excel, is no row. White space around a
field belongs to it if it is a name, unless the first line has such, too, as ``src, dst``: then it
is there to be read. Types are what most of the first lines show.

Not here: how lines become columns (``text_lines.py``).
"""

from collections.abc import Collection

from ..log.file_errors import UnusableFileError
from .line_blocks import first_lines, refuse_utf_16, without_marks_of_excel
from .line_fields import split_lines
from .text_form import SAMPLE_LINES, is_value, type_of_fields


def csv_layout(
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
    delimiter = next((mark for mark in (";", "\t", ",") if mark in text), ",")
    sample = list(split_lines(first_lines(content, SAMPLE_LINES), delimiter))
    names = [name.strip() for name in sample[0]] if sample else []
    if not names or any(is_value(name) for name in names):
        msg = (
            f"{shown} has no header: its first line is {text.strip()[:60]!r}; name the columns "
            f"there, or make a log of it with graphtide import"
        )
        raise UnusableFileError(msg)
    if len(names) == 1 and "|" in names[0]:
        msg = f"{shown} has fields apart by '|'; write commas, semicolons or tabs between them"
        raise UnusableFileError(msg)
    rows = [fields for fields in sample[1:] if len(fields) == len(names)]
    given = text.split(delimiter)
    is_padded = any(field != field.strip() for field in given)
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
