"""Text of users, such as names of vertices, as lines for people show it; numbers with nouns.

A name may hold anything: ends of lines, and what makes a terminal do something. Files and JSON
have it as it is.
"""

import unicodedata
from collections.abc import Sequence

#: Characters of a cell, at most; a name may have millions.
_MOST_CHARACTERS = 200


def printable(value: object) -> str:
    r"""A value as text of printable characters; others are written as Python does: ``\n``."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def is_unicode(text: str) -> bool:
    """Whether a text is one of Unicode: names of files that are no UTF-8 are none in Python."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def name_shown(name: object) -> str:
    """An id for people, in one line: a name may be long, and hold anything."""
    return _cut(printable(name))


def batch_shown(batch_id: int) -> str:
    """A batch for people; one that was made by hand has no number."""
    return "the batch" if batch_id < 0 else f"batch {batch_id}"


_PLURALS = {"vertex": "vertices", "batch": "batches", "community": "communities", "pass": "passes"}


def counted(number: int, noun: str) -> str:
    """``1 vertex``, ``11 vertices``: the number with its noun."""
    return f"{number:,} {noun_of(number, noun)}"


def noun_of(number: int, noun: str) -> str:
    """``vertex`` of 1, ``vertices`` of 11."""
    return noun if number == 1 else _PLURALS.get(noun, noun + "s")


#: Units of bytes, each a thousand of the one before.
_BYTES = ("B", "kB", "MB", "GB", "TB", "PB")


def amount(number_bytes: float) -> str:
    """Bytes with a unit and three digits: ``1.23 MB``."""
    return _in_units(number_bytes, _BYTES)


def rate(number: float) -> str:
    """Write a large number with three digits and a unit: ``1.25 M``."""
    return _in_units(number, ("", "k", "M", "G", "T", "P")).rstrip()


def _in_units(number: float, units: Sequence[str]) -> str:
    """Three digits and the unit for which they are from 1 on and, rounded, below a thousand."""
    at = 0
    while number >= 999.5 and at + 1 < len(units):
        number, at = number / 1000, at + 1
    return f"{number:.3g} {units[at]}"


def others_shown(number: int) -> str:
    """`` (3 more are not either)``, behind what one thing is not: others that are not; '' of 0."""
    return f" ({number:,} more {'is' if number == 1 else 'are'} not either)" if number else ""


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names in a line, the first ones where there are many; one without a letter as ``''``."""
    shown = [name_shown(name) if name.strip() else repr(name) for name in names[:most]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {counted(more, 'other')}" if more else "")


def file_shown(name: str) -> str:
    """Name of a file of a log for people: ``3//a.csv`` is ``a.csv (address 3)``."""
    number, _, path = name.rpartition("//")
    return f"{printable(path)} (address {number})" if number else printable(path)


def rows_aligned(columns: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table that is given by columns, their cells to the right."""
    cut = [[_cut(cell) for cell in column] for column in columns]
    widths = [max(map(_width, column)) for column in cut]
    return [
        "  ".join(
            " " * (width - _width(cell)) + cell for cell, width in zip(line, widths, strict=True)
        )
        for line in zip(*cut, strict=True)
    ]


def _cut(cell: str) -> str:
    return cell if len(cell) <= _MOST_CHARACTERS else f"{cell[:_MOST_CHARACTERS]}…"


def _width(text: str) -> int:
    """Columns of a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in "WF")
        for each in text
    )
