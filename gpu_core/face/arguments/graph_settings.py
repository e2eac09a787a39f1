"""What a graph is made with: arguments of `DynamicGraph`, checked."""

from typing import Any

from ...choices import is_integer, one_of
from ...errors import SettingsError
from ...kind import FIRST_BATCH, ArenaSizes, GraphKind, row_meaning
from ...layouts import LAYOUTS
from ...records import STORAGES, Record
from ...times import TimeUnit, is_zone, time_unit_named
from .checks import count_of, number_of, size_of, yes_or_no


def checked_kind(
    *, directed: bool, create_vertices: bool, reverse: bool, layout: str, storage: str,
    page_bytes: int | None, mean_degree: float | str | None, **meaning: Any,
) -> GraphKind:  # fmt: skip
    """Return what kind of graph the arguments of `DynamicGraph` describe.

    ``meaning``: the other arguments of `row_meaning`.

    Raises
    ------
    SettingsError
        A value is none of those allowed, or as `row_meaning`.
    """
    one_of("storage", storage, STORAGES)
    one_of("layout", layout, tuple(LAYOUTS))
    checked = row_meaning(
        directed=yes_or_no("directed", directed),
        create_vertices=yes_or_no("create_vertices", create_vertices),
        **meaning,
    )
    return GraphKind(
        **vars(checked),
        reverse=yes_or_no("reverse", reverse),
        layout=layout,
        storage=storage,
        page_bytes=size_of("page_bytes", page_bytes),
        mean_degree=_checked_mean_degree(mean_degree),
    )


def _checked_mean_degree(value: float | str | None) -> float | str | None:
    if value is None:
        return None
    if isinstance(value, str):
        if value == FIRST_BATCH:
            return FIRST_BATCH
        msg = f"mean_degree={value!r} is unknown; use a number, or {FIRST_BATCH!r}"
        raise SettingsError(msg)
    return number_of("mean_degree", value, least=1)


#: How many times as large an arena may become by one growth.
LEAST_GROWTH, MOST_GROWTH = 1.1, 8.0
#: The least share in use at which it may grow: tidy rows of the larger one are beneath it.
LEAST_SHARE = 0.2


def checked_sizes(
    arena_bytes: int | None,
    max_arena_bytes: int | None,
    expected_edges: int,
    arena_growth: float,
    arena_grow_at: float,
) -> ArenaSizes:
    """Return the sizes of an arena; refuse a limit below the first size."""
    first = size_of("arena_bytes", arena_bytes)
    limit = size_of("max_arena_bytes", max_arena_bytes)
    if first and limit and limit < first:
        msg = f"max_arena_bytes={limit} is below arena_bytes={first}"
        raise SettingsError(msg)
    growth = number_of("arena_growth", arena_growth, least=LEAST_GROWTH, most=MOST_GROWTH)
    share = number_of("arena_grow_at", arena_grow_at, least=LEAST_SHARE, most=1)
    return ArenaSizes(first, limit, count_of("expected_edges", expected_edges), growth, share)


def checked_device(device: int | None) -> int | None:
    """Return the ordinal of a GPU; whether there is such a one is seen when it is opened."""
    if device is None or (is_integer(device) and device >= 0):
        return device if device is None else int(device)
    msg = f"device={device!r} is not an ordinal of a GPU; use 0, 1, …, or leave it out"
    raise SettingsError(msg)


def checked_time_unit(time_unit: str | None, record: Record) -> TimeUnit | None:
    """Return the unit of a graph's times, if it is decided; refuse one where there are none."""
    if time_unit is None:
        return None
    if not record.has_times:
        msg = f"time_unit={time_unit!r}, but {record.name} records keep no times; leave it out"
        raise SettingsError(msg)
    unit = time_unit_named(time_unit)
    if unit.zone is not None and not is_zone(unit.zone):
        msg = f"time_unit={time_unit!r} has a time zone that is unknown; use one as 'Europe/Rome'"
        raise SettingsError(msg)
    return unit
