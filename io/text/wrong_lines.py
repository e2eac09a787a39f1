"""Lines of text that are no rows: what is known of one, and how they are found among others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

ALL = slice(None)
#: Lines that are sifted at once.
_SIFTED_LINES = 1 << 14

#: Line, by its place among others -> reason and fields, as `WrongLine` has them.
Faults = Mapping[int, tuple[str, Mapping[str, str | None]]]


@dataclass(frozen=True)
class WrongLine:
    """A line that is no row of its file."""

    #: Which of the lines it is that are not blank, from 0.
    row: int
    #: Of the line, from 1.
    number: int
    #: What is wrong, as the end of a sentence that begins with the number.
    reason: str
    text: str
    #: Column -> its text; without those of the line where it cannot be taken apart.
    fields: Mapping[str, str | None]

    def message(self, shown: str) -> str:
        """The sentence, with the name of the file."""
        return f"{shown}, line {self.number}{self.reason}"


def sift(
    lines: Sequence[tuple[int, bytes]],
    first_row: int,
    sift_part: Callable[[slice], tuple[pa.Table, Faults]],
    *,
    is_first_enough: bool,
) -> tuple[list[pa.Table], list[WrongLine]]:
    """Tables of the lines that are rows, and the lines that are none, each in order.

    Parameters
    ----------
    lines
        Numbers and lines, none of them blank.
    first_row
        Row that the first of them is, or would be.
    sift_part
        Gives the table of a part of the lines, and what is wrong with others of it.
    is_first_enough
        Whether to stop behind the first part with a wrong line.
    """
    tables: list[pa.Table] = []
    wrong: list[WrongLine] = []
    for start in range(0, len(lines), _SIFTED_LINES):
        table, faults = sift_part(slice(start, start + _SIFTED_LINES))
        tables.append(table)
        for at, (reason, fields) in sorted(faults.items()):
            number, line = lines[start + at]
            text = line.rstrip(b"\r").decode(errors="backslashreplace")
            wrong.append(WrongLine(first_row + start + at, number, reason, text, fields))
        if wrong and is_first_enough:
            break
    return tables, wrong


def failing(count: int, is_right: Callable[[int, int], bool]) -> Iterator[int]:
    """Find what is wrong among items of which runs can be tried, by halves; ascending."""
    waiting = [(0, count)] if count else []
    while waiting:
        low, high = waiting.pop()
        if is_right(low, high):
            continue
        if high - low == 1:
            yield low
        else:
            middle = (low + high) // 2
            waiting += [(middle, high), (low, middle)]
