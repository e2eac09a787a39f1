"""Types that the values of a column show, where nothing says what they are.

A column is of the type that a clear majority of the first lines shows, two thirds of the fields
that are not empty: one bad field makes its own line wrong, and not the column one of another type.
Without such a majority it is text.
"""

import re
from collections.abc import Sequence

import pyarrow as pa

#: Lines that are looked at.
SAMPLE_LINES = 1000

WHOLE = re.compile(r"[-+]?\d+")
NUMBER = re.compile(r"[-+]?(\d+[.,]?\d*|[.,]\d+)(e[-+]?\d+)?|[-+]?(nan|inf)", re.IGNORECASE)
TIME = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d(:\d\d(:\d\d(\.(?P<fraction>\d{1,9}))?)?)?)?"
    r"(?P<zone>Z| UTC| ?[-+]\d\d(:?\d\d)?)?"
)


def is_value(field: str) -> bool:
    """Whether a field is a number or a time, and so no name of a column."""
    return bool(NUMBER.fullmatch(field) or TIME.fullmatch(field))


def type_of_time(text: str) -> pa.DataType | None:
    """Type of times that are written as this one; None where it is no date."""
    time = TIME.fullmatch(text)
    return type_of_times([time]) if time else None


def type_of_fields(fields: Sequence[str], *, is_whole: bool) -> pa.DataType:
    """Type that a clear majority of the fields has: integers, numbers, times or text.

    Parameters
    ----------
    fields
        A sample of a column; empty ones say nothing.
    is_whole
        Whether no column of that name has fractions: where most numbers are whole, the others are
        wrong. Else one fraction makes it a column of floats, as whole numbers are floats, too.
    """
    given = [field for field in fields if field]
    if not given:
        return pa.null()
    numbers = [field for field in given if NUMBER.fullmatch(field)]
    if are_most(len(numbers), given):
        whole = sum(bool(WHOLE.fullmatch(field)) for field in numbers)
        is_integer = whole == len(numbers) or (is_whole and are_most(whole, given))
        return pa.int64() if is_integer else pa.float64()
    times = times_among(given)
    return type_of_times(times) if are_most(len(times), given) else pa.string()


def are_most(count: int, fields: Sequence[str]) -> bool:
    """Whether some of the fields are a clear majority, at least two thirds."""
    return count > 0 and 3 * count >= 2 * len(fields)


def times_among(fields: Sequence[str]) -> list[re.Match[str]]:
    """Fields that are dates, taken apart."""
    return [time for field in fields if (time := TIME.fullmatch(field))]


def type_of_times(times: Sequence[re.Match[str]]) -> pa.DataType:
    """Type of some times: with a zone if most have one, or half of them and the first."""
    is_fine = any(len(time["fraction"] or "") > 6 for time in times)
    zones = [bool(time["zone"]) for time in times]
    has_zone = 2 * sum(zones) + zones[0] > len(zones)
    return pa.timestamp("ns" if is_fine else "us", "UTC" if has_zone else None)
