"""Lines of text that are no rows: what is known of one, and how they are found among others."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

ALL = slice(None)
#: Lines that are sifted at once.
SIFTED_LINES = 1 << 14


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
    #: Column -> its text; empty where the line cannot be taken apart.
    fields: Mapping[str, str | None]

    def message(self, shown: str) -> str:
        """The sentence, with the name of the file."""
        return f"{shown}, line {self.number}{self.reason}"


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
