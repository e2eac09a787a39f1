"""Arguments of `DynamicGraph`'s calls, checked, as the arrays that a batch is made of.

Not here: what a row means (`batch.py`, `batch_rows.py`).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .batch import UpdateBatch
from .errors import BatchError, SettingsError
from .records import Record

Ids = npt.ArrayLike
Int64s = npt.NDArray[np.int64]


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not one of those allowed."""
    if value not in allowed:
        msg = f"{name}={value!r} is unknown; use one of {', '.join(allowed)}"
        raise SettingsError(msg)


def yes_or_no(name: str, value: bool) -> bool:
    """Return the value as `bool`; refuse what is neither: ``"no"`` would mean yes."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    msg = f"{name}={value!r} is neither True nor False"
    raise SettingsError(msg)


def count_of(name: str, value: int) -> int:
    """Return a number of things as `int`; refuse what cannot be meant as one."""
    if _is_whole(value) and value >= 0:
        return int(value)
    msg = f"{name}={value!r} is not a whole number, 0 or more"
    raise SettingsError(msg)


def size_of(name: str, value: int | None) -> int | None:
    """Return a number of bytes as `int`, or `None`; refuse what cannot be meant as one."""
    if value is None:
        return None
    if _is_whole(value) and value > 0:
        return int(value)
    msg = f"{name}={value!r} is not a positive whole number of bytes"
    raise SettingsError(msg)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def arena_sizes(
    arena_bytes: int | None, max_arena_bytes: int | None
) -> tuple[int | None, int | None]:
    """Return both sizes of an arena as `size_of` does; refuse a limit below the first size."""
    first = size_of("arena_bytes", arena_bytes)
    limit = size_of("max_arena_bytes", max_arena_bytes)
    if first and limit and limit < first:
        msg = f"max_arena_bytes={limit} is below arena_bytes={first}"
        raise SettingsError(msg)
    return first, limit


def as_ids(name: str, values: Ids) -> Int64s:
    """Return values as int64[n]; `BatchError` where they are not whole numbers in range."""
    array = np.asarray(values)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1:
        msg = f"{name} has {array.ndim} dimensions; give one array of ids"
        raise BatchError(msg)
    if array.dtype.kind not in "iu":
        msg = f"{name} has dtype {array.dtype}; vertex ids are whole numbers (int64)"
        raise BatchError(msg)
    if array.dtype.kind == "u" and int(array.max()) > np.iinfo(np.int64).max:
        msg = f"{name} has {array.max()}, which does not fit into int64"
        raise BatchError(msg)
    return np.ascontiguousarray(array, np.int64)


def batch_of_call(
    op: int,
    src: Ids,
    dst: Ids | None,
    columns: Mapping[str, npt.ArrayLike | None],
    *,
    record: Record,
    **meaning: Any,
) -> UpdateBatch:
    """Make a batch of rows of one kind, as ``insert_edges`` and its siblings take them.

    Parameters
    ----------
    op
        1 inserts, -1 deletes.
    src, dst
        Ids [n] each; without ``dst`` the rows are about vertices.
    columns
        ``weight``, ``type``, ``ts``: [n] each, one value for all rows, or `None`.
    record
        Of the graph: columns that it does not keep are refused.
    meaning
        Arguments of `UpdateBatch.from_rows` that say what a row means.
    """
    source = as_ids("src", src)
    target = np.zeros_like(source) if dst is None else as_ids("dst", dst)
    spread: dict[str, Any] = {
        name: None if column is None else _spread(name, column, source.size)
        for name, column in columns.items()
    }
    kept = {"weight": record.has_weight, "type": record.has_times, "ts": record.has_times}
    for name, column in spread.items():
        if column is not None and not kept[name]:
            needed = "weighted" if name == "weight" else "semantic"
            msg = f"{record.name} records do not keep {name}; use records={needed!r}"
            raise BatchError(msg)
    if record.has_times and spread.get("ts") is None and (op < 0 or dst is None):
        # A delete stores no time, and a vertex has none.
        spread["ts"] = np.zeros(source.shape, np.int64)
    return UpdateBatch.from_rows(
        np.full(source.shape, op, np.int8),
        source,
        target,
        dst_valid=None if dst is not None else np.zeros(source.shape, np.bool_),
        records=record.name,
        **meaning,
        **spread,
    )


def _spread(name: str, values: npt.ArrayLike, size: int) -> npt.NDArray[Any]:
    """One value for each row, or the same for all."""
    array = np.asarray(values)
    if array.ndim and array.shape != (size,):
        msg = f"{name} has shape {array.shape} but src has {size} items; give one each or one value"
        raise BatchError(msg)
    return np.broadcast_to(array, (size,))
