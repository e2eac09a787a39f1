"""Format of the lines of an edge list: detected from the first lines, or given by the caller.

Fields are apart by ``;``, ``,``, tabs or white space, whichever the first line has; in a ``.tsv``
by tabs, if most lines have as many. What each field is comes from the caller; else from a header,
whose names are known by `NAMES` in capitals or not; else from the number of fields: two are
``src dst``, three ``src dst weight``, four ``src dst weight ts`` (as KONECT has it). Of three or
four, the third is ``ts`` if it looks like times: dates, or whole numbers that all lie in the range
of unix times. What was decided is reported in sentences, never asked.

Ids are numbers, unsigned where one of the first is beyond int64, or names where most of the first
sources or targets are words: then a number among them is a name too, while a word among numbers is
refused.

Not here: how the lines are parsed (``io/text/text_lines.py``).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from ...gpu_core.errors import SettingsError, UpdateLogError
from ..log.columns.schema import CANONICAL, NAMES
from ..text.line_fields import outside_quotes, split_lines
from ..text.line_form import TYPES, Form
from ..text.text_types import (
    NUMBER,
    TIME,
    WHOLE,
    are_most,
    is_value,
    times_among,
    type_of_times,
)

_BY_NAME = {name: column for column, names in NAMES.items() for name in names}
_ENDS = ("src", "dst")
#: For a field that is not wanted.
_SKIPPED = ("_", "")

#: First and last second that whole numbers are taken for as unix times: March 1973 to July 2040.
_UNIX_SECONDS = (100_000_000, 2_225_000_000)
#: Unit of unix times -> units a second.
_UNIX_UNITS = {"seconds": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
#: Names of files whose fields are apart by tabs, packed or not.
_TSV = re.compile(r"\.tsv(\.\w+)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """Form that a file is read by, and the reasons."""

    form: Form
    #: Whether the first line has names.
    has_header: bool
    #: Sentences on what was decided.
    notes: tuple[str, ...]


def reading_of(
    path: str, content: bytes, line: int, columns: Sequence[str | None] | None
) -> Reading:
    """Decide how a file is read.

    Parameters
    ----------
    path
        Name of the file, for messages.
    content
        Its first lines without comments; the first one is not empty.
    line
        Number of that line.
    columns
        What each field is, by any of `NAMES`; None or ``_``: not wanted. None: to be found out.

    Raises
    ------
    SettingsError
        ``columns`` names what no log has, or nothing twice, or not ``src`` and ``dst``.
    UpdateLogError
        The file does not tell which fields are ``src`` and ``dst``.
    """
    delimiter = _delimiter(path, content)
    lines = list(split_lines(content, delimiter))
    if not lines:
        what = "a quote that does not end" if b'"' in content else "a carriage return within it"
        msg = f"{path}, line {line} has {what}; correct or leave out the line"
        raise UpdateLogError(msg)
    first = lines[0]
    has_header = _is_header(lines, columns)
    sample = [fields for fields in lines[has_header:] if len(fields) == len(first)]
    notes: list[str] = []
    if columns is not None:
        chosen = _of_caller(path, columns)
    elif has_header:
        chosen = _of_header(path, first, notes)
    else:
        chosen = _of_values(path, line, len(first), sample, notes)
    if len(chosen) != len(first):
        msg = (
            f"{path}, line {line} has {len(first)} fields, but {len(chosen)} columns are named; "
            f"name a column for each field, _ where it is not wanted"
        )
        raise UpdateLogError(msg)
    fields = {
        name: [each[index].strip() for each in sample]
        for index, name in enumerate(chosen)
        if name is not None
    }
    types, is_decimal = dict(TYPES), False
    texts: frozenset[str] = frozenset()
    if _are_names([fields[name] for name in _ENDS]):
        types["src"] = types["dst"] = pa.string()
        texts = frozenset(_ENDS)
        where = "; the first line is an edge" if not (has_header or columns is None) else ""
        notes.append(f"ids are taken as names{where}")
    elif any(map(_is_unsigned, [*fields["src"], *fields["dst"]])):
        types["src"] = types["dst"] = pa.uint64()
        notes.append("ids beyond int64 are taken as unsigned")
    if "ts" in fields:
        types["ts"], is_decimal = _time_type(fields["ts"], notes)
    point = "." if delimiter == "," else _decimal_point(fields.get("weight", ()))
    form = Form(path, chosen, delimiter, types, is_decimal, point, texts=texts)
    return Reading(form, has_header, tuple(notes))


def _is_header(lines: Sequence[Sequence[str]], columns: Sequence[str | None] | None) -> bool:
    """Whether the first line has names of columns, and not those of vertices.

    Where the caller says what the columns are, a line of words may be either: it is an edge if the
    next ones have words for ids as well, unless it calls a column as logs do.
    """
    first = [field.strip() for field in lines[0]]
    if any(map(is_value, first)):
        return False
    if columns is None or any(field.lower() in _BY_NAME for field in first):
        return True
    rest = [line for line in lines[1:] if len(line) == len(first)]
    ends = [at for at, name in enumerate(columns) if name and _BY_NAME.get(name.lower()) in _ENDS]
    return bool(rest) and not _are_names(
        [[line[at].strip() for line in rest] for at in ends if at < len(first)]
    )


def _are_names(ends: Sequence[Sequence[str]]) -> bool:
    """Whether ids are names: most of the sources, or of the targets, are no numbers."""
    return any(2 * sum(map(is_value, fields)) < len(fields) for fields in ends)


def _is_unsigned(field: str) -> bool:
    return bool(WHOLE.fullmatch(field)) and 1 << 63 <= int(field) < 1 << 64


def _decimal_point(weights: Sequence[str]) -> str:
    """``,`` if no more of the weights have a point."""
    commas, points = (sum(mark in weight for weight in weights) for mark in ",.")
    return "," if commas and commas >= points else "."


def _delimiter(path: str, content: bytes) -> str:
    text = content.decode(errors="replace")
    lines = [outside_quotes(line) for line in text.split("\n") if line.strip()]
    first = lines[0]
    mark = next((mark for mark in (";", ",") if mark in first), None)
    if mark == "," and _has_decimal_commas(first):
        mark = None
    by_tab = [field.strip() for field in first.split("\t")]
    is_strict = len(by_tab) > 1 and len(by_tab) != len(first.split())
    # Numbers with a space between them are two fields; a date and a time, or two words, are one.
    are_numbers = all(NUMBER.fullmatch(part) for each in by_tab for part in each.split())
    is_by_tab = is_strict and not are_numbers
    # Of a file that says so by its name, commas are of names and numbers.
    alike = sum(line.count("\t") == len(by_tab) - 1 for line in lines)
    if _TSV.search(path) and len(by_tab) > 1 and are_most(alike, lines):
        return " " if is_strict and are_numbers and mark is None else "\t"
    return mark or ("\t" if is_by_tab else " ")


def _has_decimal_commas(line: str) -> bool:
    """Whether a line is three or more numbers with white space between: commas are in these."""
    numbers = line.split()
    return len(numbers) > 2 and all(
        NUMBER.fullmatch(each) and each.strip(",") == each for each in numbers
    )


def _of_caller(path: str, columns: Sequence[str | None]) -> tuple[str | None, ...]:
    wanted = [None if name is None or name in _SKIPPED else name for name in columns]
    unknown = [name for name in wanted if name is not None and name.lower() not in _BY_NAME]
    if unknown:
        msg = (
            f"column {unknown[0]!r} is unknown; name what each field is, of "
            f"{', '.join(CANONICAL)}, or _ where it is not wanted"
        )
        raise SettingsError(msg)
    chosen = tuple(None if name is None else _BY_NAME[name.lower()] for name in wanted)
    _check_ends(f"{path}: the columns {', '.join(filter(None, wanted))}", chosen, SettingsError)
    return chosen


def _of_header(path: str, first: Sequence[str], notes: list[str]) -> tuple[str | None, ...]:
    names = [field.strip() for field in first]
    chosen = tuple(_BY_NAME.get(name.lower()) for name in names)
    _check_ends(f"{path}: the columns {', '.join(names)} of the first line", chosen, UpdateLogError)
    left = [name for name, column in zip(names, chosen, strict=True) if column is None]
    if left:
        notes.append(
            f"not taken, because no column of a log is called so: {', '.join(left)}; --columns "
            f"{','.join(name or '_' for name in chosen)} names them by position"
        )
    return chosen


def _check_ends(
    what: str, chosen: Sequence[str | None], refused: Callable[[str], Exception]
) -> None:
    """Refuse columns without source or destination, or with anything twice."""
    twice = [name for name in chosen if name is not None and chosen.count(name) > 1]
    if twice or "src" not in chosen or "dst" not in chosen:
        has = f"two columns {twice[0]}" if twice else "no src or no dst"
        msg = (
            f"{what} have {has}; say what each field is, as in --columns src,dst,_ with _ where it "
            f"is not wanted"
        )
        raise refused(msg)


def _of_values(
    path: str, line: int, count: int, sample: Sequence[Sequence[str]], notes: list[str]
) -> tuple[str, ...]:
    chosen = ("src", "dst", "weight", "ts")[:count]
    if not 2 <= count <= 4:
        msg = (
            f"{path}, line {line} has {count} fields; say what they are, as in "
            f"--columns src,dst,weight, or write src dst [weight [ts]]"
        )
        raise UpdateLogError(msg)
    if count == 2:
        return chosen
    like_time = [_looks_like([fields[index].strip() for fields in sample]) for index in (2, -1)]
    if like_time[0] and (count == 3 or not like_time[1]):
        other = ",".join(chosen)
        chosen = ("src", "dst", "ts", "weight")[:count]
        notes.append(
            f"the third field looks like {like_time[0]} and is taken as ts; --columns {other} "
            f"takes it as a weight"
        )
    elif count == 3:
        notes.append(
            "the third field does not look like times and is taken as weight; --columns src,dst,ts "
            "takes it as a time"
        )
    return chosen


def _looks_like(fields: Sequence[str]) -> str | None:
    """Kind of times that fields look like: dates most, numbers all of them; None: of none."""
    fields = [field for field in fields if field]
    if are_most(sum(bool(TIME.fullmatch(field)) for field in fields), fields):
        return "dates"
    if not fields or not all(WHOLE.fullmatch(field) for field in fields):
        return None
    low, high = min(map(int, fields)), max(map(int, fields))
    for unit, per_second in _UNIX_UNITS.items():
        if _UNIX_SECONDS[0] * per_second <= low and high < _UNIX_SECONDS[1] * per_second:
            when = datetime.fromtimestamp(low // per_second, UTC)
            return f"unix {unit} ({when:%Y-%m-%d} and later)"
    return None


def _time_type(fields: Sequence[str], notes: list[str]) -> tuple[pa.DataType, bool]:
    """Type of a column of times, and whether they are unix seconds with a fraction."""
    fields = [field for field in fields if field]
    times = times_among(fields)
    if are_most(len(times), fields):
        return type_of_times(times), False
    numbers = [field for field in fields if NUMBER.fullmatch(field)]
    is_decimal = any(not WHOLE.fullmatch(field) for field in numbers)
    if is_decimal and are_most(len(numbers), fields):
        notes.append("times with a fraction are taken as unix seconds")
        return pa.timestamp("us", "UTC"), True
    return pa.int64(), False
