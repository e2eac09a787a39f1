"""Units of time: how the times of a graph are counted, and exact conversion between units.

A graph stores a time as int64. What it counts is one *unit* for the whole graph: plain integers
(``int64``), or seconds, milli-, micro- or nanoseconds since 1970, with or without a time zone. A
unit is named as Arrow names the type of such a column: ``timestamp[us]``,
``timestamp[us, tz=UTC]``. With a zone the count is of UTC, and the zone only says how it is shown,
so times of two zones go together; times with and without one do not.

Coarser units than seconds, which Arrow has not, are counted as seconds. Conversion is exact or
refused: a time that the other unit cannot hold is named.

Not here: when a graph's unit is decided (`graph.py`), units of a log's columns
(``io/log/columns/column_types.py``).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np
import numpy.typing as npt

from .choices import is_integer
from .errors import BatchError, SettingsError

Int64s = npt.NDArray[np.int64]

#: Resolution -> parts of a second.
PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NAME: Final = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=([^\]]+))?\]")
#: A time in text that has a zone: what is before it, and how far it is ahead of UTC.
_ZONED: Final = re.compile(r"(.+[T ]\d\d.*?) ?(?:Z|UTC|([+-](?:[01]\d|2[0-3])):?([0-5]\d)?)")
#: A time in text without a zone: NumPy takes other numbers for years, and words such as `now`.
_UNZONED: Final = re.compile(
    r"\d{4}|[+-]?\d{4,}-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d*)?)?)?)?)?", re.ASCII
)
_AHEAD: Final = re.compile(r"[+-](?:[01]\d|2[0-3]):?[0-5]\d")
#: The int64 that NumPy reads as "not a time".
NAT: Final = np.iinfo(np.int64).min


@dataclass(frozen=True)
class TimeUnit:
    """Unit of the times of a graph, a batch or a column."""

    #: ``s``, ``ms``, ``us`` or ``ns``; None: plain integers.
    resolution: str | None
    #: Name of the time zone; None: there is none.
    zone: str | None = None

    def __str__(self) -> str:
        if self.resolution is None:
            return "int64"
        zone = "" if self.zone is None else f", tz={self.zone}"
        return f"timestamp[{self.resolution}{zone}]"

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy type of exported times; it knows no zones: those are UTC."""
        return np.dtype("int64" if self.resolution is None else f"M8[{self.resolution}]")

    def goes_with(self, other: "TimeUnit") -> bool:
        """Whether times of both can be of one graph, as far as no single value decides."""
        if self.resolution is None or other.resolution is None:
            return self.resolution == other.resolution
        return (self.zone is None) == (other.zone is None)


#: Times without a meaning that we know of.
INTEGERS: Final = TimeUnit(None)


def time_unit_named(name: str) -> TimeUnit:
    """Look up a unit by its name; ``us`` is short for ``timestamp[us]``."""
    if name == str(INTEGERS):
        return INTEGERS
    match = _NAME.fullmatch(f"timestamp[{name}]" if name in PER_SECOND else str(name))
    if match is None:
        msg = (
            f"time_unit={name!r} is unknown; use int64, {', '.join(PER_SECOND)}, or a name like "
            f"'timestamp[us, tz=UTC]'"
        )
        raise SettingsError(msg)
    return TimeUnit(match[1], match[2])


def is_zone(name: str) -> bool:
    """Whether a time zone is known: by name, or as so many hours ahead of UTC (``+02:00``)."""
    if _AHEAD.fullmatch(name):
        return True
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # A system without a table of zones knows none.
        return not available_timezones()
    return True


def times_of(values: Any) -> tuple[npt.NDArray[Any], TimeUnit]:
    """Times as integers, and what they count.

    Parameters
    ----------
    values
        Integers, datetime64 of any unit, or a column of pandas, Polars or Arrow with a zone.

    Returns
    -------
    array
        What is no time is returned as NumPy has it, for the caller to refuse; NaT is `NAT`.

    Raises
    ------
    BatchError
        Times in a unit finer than nanoseconds, or outside what int64 can count, or in a zone that
        has no name.
    """
    resolution, zone = _kind_of(values)
    if zone is not None and hasattr(values, "dtype"):
        # pandas makes objects of times with a zone unless a type is asked for. It has to be their
        # own: libraries convert to another without a check, and wrap around.
        values = np.asarray(values, f"M8[{resolution}]")
    array = np.asarray(values)
    if array.dtype.kind != "M":
        return array, INTEGERS
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    base, step = np.datetime_data(array.dtype)
    if base in PER_SECOND and step == 1:
        return array.view(np.int64), TimeUnit(base, zone)
    resolution = base if base in PER_SECOND else "ns" if base in ("ps", "fs", "as") else "s"
    counted = array.astype(f"M8[{resolution}]")
    lossy = ~np.isnat(array) & (counted.astype(array.dtype) != array)
    if base != "generic" and lossy.any():
        msg = (
            f"ts {array[lossy].flat[0]} of {array.dtype} is no whole number of {resolution} within "
            f"int64; give times in s, ms, us or ns"
        )
        raise BatchError(msg)
    return counted.astype(np.int64), TimeUnit(resolution, zone)


def convert(values: Int64s, given: TimeUnit, wanted: TimeUnit) -> tuple[Int64s, Any]:
    """Times in another unit.

    Parameters
    ----------
    values
        int64[n].
    given, wanted
        Units that go together.

    Returns
    -------
    converted : int64[n]
        Undefined where ``bad``.
    bad : bool[n] or None
        Times that ``wanted`` cannot hold; None: there are none.
    """
    if given.resolution == wanted.resolution or None in (given.resolution, wanted.resolution):
        return values, None
    have, want = PER_SECOND[str(given.resolution)], PER_SECOND[str(wanted.resolution)]
    if want > have:
        factor = want // have
        limit = np.iinfo(np.int64).max // factor
        bad = (values > limit) | (values < -limit)
        converted = values * factor
    else:
        converted, rest = np.divmod(values, have // want)
        bad = rest != 0
    return converted, bad if bad.any() else None


def first_at_or_after(time: Any, unit: TimeUnit | None) -> int:
    """The first count of ``unit`` at or after a time; beyond int64, as far as Python counts.

    Parameters
    ----------
    time
        An integer of any size, which is taken to be in ``unit``; or a time of Python, NumPy or
        pandas, or in text, as ISO 8601 has it: with a zone, which counts, or else of UTC.
    unit
        None: of a graph that has no time yet, and any may be its unit: microseconds.

    Raises
    ------
    BatchError
        It is no time, or ``unit`` is plain integers and it is not.
    """
    if is_integer(time):
        return int(time)
    asked = time
    try:
        if hasattr(time, "to_datetime64"):
            time = time.to_datetime64()  # pandas', with nanoseconds, and in UTC
        elif getattr(time, "tzinfo", None) is not None:
            # NumPy has no zones, and warns of them; its times go on where Python's end.
            time = np.datetime64(time.replace(tzinfo=None)) - np.timedelta64(time.utcoffset())
        elif isinstance(time, str):
            time = _time_in(time)
        else:
            time = np.datetime64(time)
        values, given = times_of(time)
    except (ValueError, TypeError, OverflowError):
        values, given = np.array(NAT), INTEGERS
    count = int(values)
    if count == NAT:
        msg = f"{asked!r} is no time; give an integer, a datetime or a numpy.datetime64"
        raise BatchError(msg)
    unit = time_unit_named("us") if unit is None else unit
    if unit.resolution is None:
        msg = f"{time} is a time, but the graph's times are plain integers; give an integer"
        raise BatchError(msg)
    have, want = PER_SECOND[str(given.resolution)], PER_SECOND[unit.resolution]
    return -(-count * want // have)


def _time_in(text: str) -> np.datetime64:
    """UTC of a text, which NumPy reads if it has no zone."""
    match = _ZONED.fullmatch(text.strip())
    time = text.strip() if match is None else match[1]
    if not _UNZONED.fullmatch(time):
        raise ValueError
    if match is None:
        return np.datetime64(time)
    hours, minutes = match[2] or "+0", int(match[3] or 0)
    ahead = 60 * int(hours) + (-minutes if hours[0] == "-" else minutes)
    return np.datetime64(time) - np.timedelta64(ahead, "m")


def check_together(given: TimeUnit, wanted: TimeUnit, whose: str) -> None:
    """Refuse times that cannot be of one graph, whatever their values.

    ``whose``: what has the wanted unit, and a verb, for the message: "the graph's times are".
    """
    if not given.goes_with(wanted):
        msg = f"times are {given}, but {whose} {wanted}; give times of that kind"
        raise BatchError(msg)


def check_zones(name: str, values: Iterable[Any]) -> None:
    """Refuse Python's times of which some have a zone and others none, which Arrow takes for UTC.

    ``name``: of the column, for messages.
    """
    # What is not equal to itself is no time.
    times = (each for each in values if isinstance(each, datetime | np.datetime64) and each == each)
    if len({getattr(each, "tzinfo", None) is None for each in times}) > 1:
        msg = f"{name} has times with a time zone and times without one; give all of them one, or "
        msg += "none"
        raise BatchError(msg)


def shown(value: int, unit: TimeUnit) -> str:
    """A time for people; with a zone it is of UTC, and says so."""
    in_utc = "" if unit.zone is None else "Z"
    return f"{np.int64(value).astype(unit.dtype)}{in_utc}"


def _kind_of(values: Any) -> tuple[Any, str | None]:
    """Resolution and zone of a column of pandas, Polars or Arrow; None: it has none."""
    kind = getattr(values, "type", None) or getattr(values, "dtype", None)
    # A column of pandas may have a type of Arrow's.
    kind = getattr(kind, "pyarrow_dtype", kind)
    resolution = getattr(kind, "unit", None) or getattr(kind, "time_unit", None)
    zone = getattr(kind, "tz", None) or getattr(kind, "time_zone", None)
    return resolution, _zone_name(zone)


def _zone_name(zone: Any) -> str | None:
    """Name of a zone as Arrow has it; zones of Python are named, or so far ahead of UTC."""
    if zone is None or isinstance(zone, str):
        return zone
    # Those of zoneinfo and of pytz.
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if name is not None:
        return str(name)
    ahead = zone.utcoffset(None)
    minutes, rest = divmod(ahead, timedelta(minutes=1)) if ahead is not None else (0, None)
    if rest != timedelta(0):
        msg = f"time zone {zone!r} has no name; convert the times to one as 'UTC', 'Europe/Rome'"
        raise BatchError(msg)
    sign = "-" if minutes < 0 else "+"
    hours, minutes_left = divmod(abs(minutes), 60)
    return f"{sign}{hours:02}:{minutes_left:02}" if minutes else "UTC"
