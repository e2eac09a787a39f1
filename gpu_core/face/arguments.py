"""Arguments of `DynamicGraph`'s calls, checked, as the arrays that a batch is made of.

Not here: what rows come to (`batch/update_batch.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, TypeGuard
from uuid import UUID

import numpy as np
import numpy.typing as npt

from ..algorithms.shared.masked import WHOLE, refuse_masked
from ..batch.rows import check_on_repeat, check_self_loops
from ..choices import is_integer, one_of
from ..errors import BatchError, SettingsError
from ..id_kinds import form_of
from ..kind import FIRST_BATCH, ArenaSizes, GraphKind, RowMeaning
from ..layouts import LAYOUTS
from ..names.user_ids import given_ids
from ..properties.kinds import array_of, checked_kinds
from ..records import STORAGES, Record, record_named
from ..times import INTEGERS, TimeUnit, is_zone, time_unit_named, times_of

#: One id, as its graph has them.
Id = int | str | UUID
Ids = npt.ArrayLike | Sequence[Id]
Int64s = npt.NDArray[np.int64]


def yes_or_no(name: str, value: bool) -> bool:
    """Return the value as `bool`; refuse what is neither: ``"no"`` would mean yes."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    msg = f"{name}={value!r} is neither True nor False"
    raise SettingsError(msg)


def count_of(name: str, value: int) -> int:
    """Return a number of things as `int`; refuse what cannot be meant as one."""
    if is_integer(value) and value >= 0:
        return int(value)
    msg = f"{name}={value!r} is not a whole number, 0 or more"
    raise SettingsError(msg)


def size_of(name: str, value: int | None) -> int | None:
    """Return a number of bytes as `int`, or `None`; refuse what cannot be meant as one."""
    if value is None:
        return None
    if is_integer(value) and value > 0:
        return int(value)
    msg = f"{name}={value!r} is not a positive whole number of bytes"
    raise SettingsError(msg)


def number_of(name: str, value: float, *, least: float, most: float = 1e9) -> float:
    """Return a number as `float`; refuse what is none, or not from ``least`` to ``most``."""
    if (is_integer(value) or isinstance(value, float | np.floating)) and least <= value <= most:
        return float(value)
    msg = f"{name}={value!r} is not a number from {least:g} to {most:g}"
    raise SettingsError(msg)


def checked_kind(
    *, records: str, weights: str | None, storage: str, layout: str, ids: str, self_loops: str,
    on_repeat: str, properties: Any, vertex_properties: Any, page_bytes: int | None,
    mean_degree: float | str | None, **flags: bool,
) -> GraphKind:  # fmt: skip
    """Return what kind of graph the arguments of `DynamicGraph` describe.

    Raises
    ------
    SettingsError
        A value is none of those allowed; undirected graphs cannot keep self loops, nor simple
        records weights.
    """
    record = record_named(records, weights)
    one_of("storage", storage, STORAGES)
    one_of("layout", layout, tuple(LAYOUTS))
    form_of(ids)
    checked = {name: yes_or_no(name, value) for name, value in flags.items()}
    check_self_loops(self_loops, directed=checked["directed"])
    check_on_repeat(on_repeat, record)
    return GraphKind(
        record=record, storage=storage, layout=layout, ids=ids, self_loops=self_loops,
        on_repeat=on_repeat, properties=checked_kinds("properties", properties),
        vertex_properties=checked_kinds("vertex_properties", vertex_properties),
        page_bytes=size_of("page_bytes", page_bytes),
        mean_degree=_checked_mean_degree(mean_degree),
        **checked,
    )  # fmt: skip


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


class Frame(Protocol):
    """A table that Arrow reads; older ones, with ``__dataframe__`` alone, are taken as well."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the table as a stream of record batches."""


def is_frame(value: object) -> TypeGuard[Frame]:
    """Whether a value is a table that Arrow reads: of pandas, polars, Arrow, DuckDB and others."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__dataframe__")


def batch_of_frame(
    frame: Any,
    meaning: RowMeaning,
    make: Callable[..., Any],
    op: int | None = None,
    **columns: Any,
) -> Any:
    """Make a batch of a frame's rows; what frames are, ``io/interchange/frames.py`` knows.

    Parameters
    ----------
    frame
        The frame.
    meaning
        What rows mean to the graph.
    make
        Makes the batch (`Engine.batch_of_rows`).
    op
        Of all rows, if they have no column of that name.
    columns
        What a call was given beside it, which is refused.
    """
    given = [name for name, column in columns.items() if column is not None]
    if given or not is_frame(frame):
        wrong = f"dst is missing, and {type(frame).__name__} is no frame with src and dst"
        if given:
            wrong = f"{given[0]} is given, but dst is not"
        msg = f"{wrong}; give arrays src and dst, or a frame alone"
        raise BatchError(msg)
    from ... import batch_of_frame as read_frame

    return read_frame(frame, meaning, op, make=make)


def batch_of_call(
    op: int,
    src: Ids,
    dst: Ids | None,
    columns: Mapping[str, npt.ArrayLike | None],
    meaning: RowMeaning,
    make: Callable[..., Any],
    values: Mapping[str, npt.ArrayLike] = MappingProxyType({}),
) -> Any:
    """Make a batch of rows of one kind, as ``insert_edges`` and its siblings take them.

    Parameters
    ----------
    op
        1 inserts, -1 deletes.
    src, dst
        Ids [n] each; without ``dst`` the rows are about vertices.
    columns
        ``weight``, ``type``, ``ts``: [n] each, one value for all rows, or `None`.
    meaning
        What rows mean to the graph; columns that its records do not keep are refused.
    make
        Makes the batch (`Engine.batch_of_rows`).
    values
        Property of the user's own -> [n], or one value for all rows.
    """
    record = meaning.record
    for name, column in (*columns.items(), *values.items()):
        # Where a float may be missing it is NaN.
        refuse_masked(name, column, BatchError, kinds=WHOLE)
    source = given_ids(meaning.ids, "vertices" if dst is None else "src", src)
    target = source if dst is None else given_ids(meaning.ids, "dst", dst)
    unit = None
    if columns.get("ts") is not None and record.has_times:
        # An array knows no zone, so the unit goes beside it.
        times, found = times_of(columns["ts"])
        times = times if found == INTEGERS else times.view(found.dtype)
        columns, unit = {**columns, "ts": times}, str(found)
    spread: dict[str, Any] = {
        name: None if column is None else _spread(name, column, len(source))
        for name, column in columns.items()
    }
    kept = {"weight": record.has_weight, "type": record.has_times, "ts": record.has_times}
    for name, column in spread.items():
        if column is not None and not kept[name]:
            needed = "weighted" if name == "weight" else "semantic"
            msg = f"{record.name} records do not keep {name}; use records={needed!r}"
            raise BatchError(msg)
    if spread.get("weight") is not None and meaning.on_repeat == "count":
        msg = "on_repeat='count' counts inserts and looks at no weights; leave weight out"
        raise BatchError(msg)
    own = dict(meaning.properties if dst is not None else meaning.vertex_properties)
    for name in values:
        if name not in own:
            what = "edges" if dst is not None else "vertices"
            msg = f"{name} is not a property of {what} here; there are {', '.join(own) or 'none'}"
            raise BatchError(msg)
    if record.has_times and spread.get("ts") is None and (op < 0 or dst is None):
        # A delete stores no time, and a vertex has none.
        spread["ts"] = np.zeros(len(source), np.int64)
    return make(
        None if op > 0 else np.full(len(source), op, np.int8),
        source,
        target,
        meaning,
        dst_valid=None if dst is not None else np.zeros(len(source), np.bool_),
        time_unit=unit,
        values={name: _spread(name, each, len(source)) for name, each in values.items()},
        **spread,
    )


def _spread(name: str, values: npt.ArrayLike, size: int) -> npt.NDArray[Any]:
    """One value for each row, or the same for all."""
    array = array_of(name, values)
    if array.ndim and array.shape != (size,):
        msg = f"{name} has shape {array.shape} but src has {size} items; give one each or one value"
        raise BatchError(msg)
    return np.broadcast_to(array, (size,))
