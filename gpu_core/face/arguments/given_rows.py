"""Rows that a call gives, as arrays or as a frame, and the batch that they are made.

Not here: what rows come to (`batch/update_batch.py`).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from ...errors import BatchError
from ...kind import RowMeaning
from ...names.user_ids import given_ids
from ...properties.kinds import array_of
from ...properties.masked import WHOLE, refuse_masked
from ...times import INTEGERS, times_of
from .checks import Ids


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
        msg = f"{wrong}; give arrays src and dst, or a frame alone{_cure(frame)}"
        raise BatchError(msg)
    from .... import batch_of_frame as read_frame

    return read_frame(frame, meaning, op, make=make)


def _cure(value: Any) -> str:
    """How arrays or a frame are made of a value that is neither."""
    if isinstance(value, Mapping):
        return ": pandas.DataFrame makes one of columns by name"
    if hasattr(value, "collect"):
        return ": collect() makes one of a lazy frame"
    if isinstance(value, list | tuple) and value and np.ndim(value[0]) == 1:
        return ": src, dst = zip(*pairs), and graphtide.from_edge_list takes pairs"
    if getattr(value, "ndim", 0) == 2:
        return ": those of pairs are array[:, 0] and array[:, 1]"
    return ""


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

    Raises
    ------
    BatchError
        Columns are of different lengths or types, or of what the graph does not keep.
    """
    record = meaning.record
    given: dict[str, Any] = {name: each for name, each in columns.items() if each is not None}
    for name, column in (*given.items(), *values.items()):
        # Where a float may be missing it is NaN.
        refuse_masked(name, column, BatchError, kinds=WHOLE)
    source = given_ids(meaning.ids, "vertices" if dst is None else "src", src)
    target = source if dst is None else given_ids(meaning.ids, "dst", dst)
    unit = None
    if "ts" in given and record.has_times:
        # An array knows no zone, so the unit goes beside it.
        times, found = times_of(given["ts"])
        given["ts"], unit = times if found == INTEGERS else times.view(found.dtype), str(found)
    spread = {name: _spread(name, column, len(source)) for name, column in given.items()}
    _refuse_columns(spread, meaning)
    _refuse_properties(values, "edges" if dst is not None else "vertices", meaning)
    if record.has_times and "ts" not in spread and (op < 0 or dst is None):
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


def _refuse_columns(names: Collection[str], meaning: RowMeaning) -> None:
    """Refuse columns that the graph does not keep."""
    record = meaning.record
    kept = {"weight": record.has_weight, "type": record.has_times, "ts": record.has_times}
    for name in names:
        if not kept[name]:
            needed = "weighted" if name == "weight" else "semantic"
            msg = f"{record.name} records do not keep {name}; use records={needed!r}"
            raise BatchError(msg)
    if "weight" in names and meaning.on_repeat == "count":
        msg = "on_repeat='count' counts inserts and looks at no weights; leave weight out"
        raise BatchError(msg)


#: Other names, in small letters, under which users may give an argument of `insert_edges`.
_ARGUMENTS: Final = {
    "weight": "weight", "weights": "weight",
    "type": "type", "types": "type",
    "ts": "ts", "time": "ts", "times": "ts", "timestamp": "ts", "timestamps": "ts",
}  # fmt: skip


def _refuse_properties(names: Iterable[str], what: str, meaning: RowMeaning) -> None:
    """Refuse properties that ``what``, edges or vertices, do not have."""
    own = dict(meaning.properties if what == "edges" else meaning.vertex_properties)
    for name in names:
        if name not in own:
            meant = _ARGUMENTS.get(name.lower()) if what == "edges" else None
            hint = f" (the argument is {meant})" if meant else ""
            msg = (
                f"{name} is not a property of {what} here{hint}; there are "
                f"{', '.join(own) or 'none'}"
            )
            raise BatchError(msg)


def _spread(name: str, values: npt.ArrayLike, size: int) -> npt.NDArray[Any]:
    """One value for each row, or the same for all."""
    array = array_of(name, values)
    if array.ndim and array.shape != (size,):
        msg = f"{name} has shape {array.shape} but src has {size} items; give one each or one value"
        raise BatchError(msg)
    return np.broadcast_to(array, (size,))
