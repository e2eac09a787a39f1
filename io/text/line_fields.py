"""The fields of single lines: to see what a file is, and to say which line is wrong."""

import csv
import re
from collections.abc import Iterator

from .line_spaces import one_delimiter

_QUOTED = re.compile(r'"[^"]*"')


def outside_quotes(line: str) -> str:
    """A line with a letter for all that is in quotes, where a delimiter is part of a name."""
    return _QUOTED.sub("q", line)


def fields_of(line: str, delimiter: str) -> list[str]:
    """Fields of a line that is in the form which the CSV reader takes, without their quotes.

    ValueError, as the end of a sentence, where a quote does not end.
    """
    if '"' not in line and "\r" not in line:
        return line.split(delimiter)
    try:
        (fields,) = csv.reader([line], delimiter=delimiter, strict=True)
    except csv.Error:
        msg = "has a quote that does not end"
        raise ValueError(msg) from None
    return fields


def split_lines(content: bytes, delimiter: str) -> Iterator[list[str]]:
    """Fields of each line that is not empty, as far as the lines can be split."""
    for line in one_delimiter(content, delimiter).decode(errors="replace").split("\n"):
        if line:
            try:
                yield fields_of(line, delimiter)
            except ValueError:
                continue  # the line is refused where it is parsed
