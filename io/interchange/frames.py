"""Data frames as update rows: pandas, polars, Arrow, DuckDB and others.

Whatever exports Arrow's stream (``__arrow_c_stream__``) or the data frame protocol
(``__dataframe__``). Columns have the names of a log or those that headers of edge lists may have
(`schema.NAMES`), in capitals or not; all others are not looked at. What the rows come to is
worked out as of a log (``conversion.py``).

Edges of a graph with times have two, ``first`` and ``last``, where rows of a log have one, ``ts``.
A frame with both of them and no ``ts`` is taken for such edges, so that what ``edges()`` and an
export give can be put into a graph again, with both times.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.interchange

from ...gpu_core.batch.update_batch import UpdateBatch
from ...gpu_core.choices import choice_shown, is_integer
from ...gpu_core.errors import BatchError, UpdateLogError
from ...gpu_core.kind import RowMeaning
from ...gpu_core.times import check_zones
from ..log.columns.column_types import of_read_types, time_unit_of, with_typed_nulls
from ..log.columns.schema import NAMES, needed_columns
from ..log.conversion import convert_table
from ..log.row_origin import RowOrigin

#: Times of an edge, as graphs give them.
_TIMES = ("first", "last")

_BY_NAME = {name: column for column, names in NAMES.items() for name in names} | {
    name: name for name in _TIMES
}


def batch_of_frame(
    frame: Any,
    meaning: RowMeaning,
    op: int | None = None,
    *,
    batch_id: int = -1,
    make: Callable[..., Any] = UpdateBatch.of_rows,
) -> Any:
    """Make a batch of the rows of a frame.

    Parameters
    ----------
    frame
        Anything with an Arrow stream. Columns ``src`` and ``dst`` of integers and, optionally,
        ``op``, ``weight``, ``type``, ``ts``, typed as in a log; instead of ``ts`` also ``first``
        and ``last``. If ``dst`` is null, the row is about the vertex ``src``. A column without any
        value may be of any type.
    meaning
        What rows mean to the graph: its `kind`.
    op
        1 or -1 if all rows insert or delete edges; then a column ``op`` and null ``dst`` are
        refused.
    batch_id
        Number of the batch.
    make
        Makes the batch: `UpdateBatch.of_rows`, or what is called as it is.

    Returns
    -------
    UpdateBatch
        Or what ``make`` returns.

    Raises
    ------
    BatchError
        A column is missing, is there twice or of a type without a meaning, or a row breaks the
        rules of a log; ``meaning`` or ``op`` is something else.
    """
    if not isinstance(meaning, RowMeaning):
        msg = f"meaning is a {type(meaning).__name__}, not what rows mean; give the graph's `kind`"
        raise BatchError(msg)
    if op is not None and not (is_integer(op) and op in (1, -1)):
        msg = f"op is {choice_shown(op)}; use 1 for insert, -1 for delete, or None for the column"
        raise BatchError(msg)
    record = meaning.record
    own = meaning.value_names
    wanted = needed_columns(record.name, meaning.on_repeat)
    table = frame_table(frame, (*wanted, *(_TIMES if record.has_times else ())), own)
    table = with_typed_nulls(table, meaning.ids)
    if op is not None:
        table = _of_one_op(table, op, has_times=record.has_times)
    if "ts" in table.column_names or not {*_TIMES} <= {*table.column_names}:
        return _batch_of_table(table, meaning, batch_id, make)
    kinds = [table.schema.field(name).type for name in _TIMES]
    if time_unit_of(kinds[0]) != time_unit_of(kinds[1]):
        msg = f"frame: first is of type {kinds[0]}, but last of {kinds[1]}; give them one type"
        raise BatchError(msg)
    first, last = (
        _batch_of_table(of_read_types(_with_times(table, name)), meaning, batch_id, make)
        for name in _TIMES
    )
    # All but the times is the same, in the same order.
    return replace(last, put_first=first.put_first)


def _batch_of_table(
    table: pa.Table, meaning: RowMeaning, batch_id: int, make: Callable[..., Any]
) -> Any:
    if "ts" in table.column_names:
        make = partial(make, time_unit=str(time_unit_of(table.schema.field("ts").type)))
    try:
        return convert_table(
            table,
            make,
            meaning=meaning,
            origin=RowOrigin("frame"),
            batch_id=batch_id,
        )
    except UpdateLogError as error:
        # A frame has no settings.
        raise BatchError(str(error).partition(", or name it in the setting")[0]) from None


def _with_times(table: pa.Table, name: str) -> pa.Table:
    """The column ``name`` as the times of rows."""
    return table.rename_columns(["ts" if each == name else each for each in table.column_names])


def pairs_of_frame(frame: Any) -> tuple[Any, Any]:
    """Return the columns ``src`` and ``dst`` of a frame.

    Parameters
    ----------
    frame
        Anything with an Arrow stream; columns may also be called as in an edge list (``source``,
        ``target``, …).

    Returns
    -------
    src, dst
        [k] each: numbers as arrays, names, and numbers beyond int64, as lists.

    Raises
    ------
    BatchError
        One of them is missing or there twice, or Arrow cannot read it.
    """
    table = frame_table(frame, ("src", "dst"))
    return _ids(table["src"]), _ids(table["dst"])


def _ids(column: pa.ChunkedArray) -> Any:
    """Numbers as an array, names, and numbers beyond int64, as a list."""
    if pa.types.is_decimal(column.type):
        return [each if each is None else int(each) for each in column.to_pylist()]
    return column.to_numpy() if pa.types.is_integer(column.type) else column.to_pylist()


def frame_table(frame: Any, wanted: tuple[str, ...], own: Collection[str] = ()) -> pa.Table:
    """Read columns of a frame under their canonical names.

    Parameters
    ----------
    frame
        The frame.
    wanted
        Canonical names of the columns to read, where they are there.
    own
        Properties of the user's own, likewise; their names are taken as they are.

    Raises
    ------
    BatchError
        ``src`` or ``dst`` is missing, a column is there twice, or Arrow cannot read one.
    """
    frame, names = _with_names(frame)
    meant: dict[str, str] = {}
    for name in names:
        canonical = name if name in own else _BY_NAME.get(name.lower())
        if canonical is None or (canonical not in wanted and canonical not in own):
            continue
        if canonical in meant:
            msg = (
                f"frame: columns {meant[canonical]} and {name} are both {canonical}; rename or "
                f"drop one of them"
            )
            raise BatchError(msg)
        meant[canonical] = name
    for canonical in ("src", "dst"):
        if canonical not in meant:
            known = " or ".join(NAMES[canonical])
            cure = f"rename the one that it is to {known}"
            if canonical in getattr(getattr(frame, "index", None), "names", ()):
                cure = "it is in the index, which reset_index() makes columns of"
            msg = (
                f"frame: there is no column {canonical}; it has {', '.join(names) or 'none'}; "
                f"{cure}"
            )
            raise BatchError(msg)
    for canonical in {"ts", *_TIMES} & meant.keys():
        column = frame[meant[canonical]] if hasattr(frame, "iloc") else None
        if column is not None and column.dtype == object:
            check_zones(f"frame: {meant[canonical]}", column)
    try:
        table = _plain(_arrow(frame, list(meant.values())))
        return of_read_types(table.rename_columns(list(meant)))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        # What pandas adds, such as the column, Arrow has as an argument of its own.
        why = "; ".join(map(str, error.args))
        cure = "give each one type: numbers, text or timestamps"
        msg = f"frame: Arrow cannot read its columns ({why}); {cure}"
        raise BatchError(msg) from error


def _with_names(frame: Any) -> tuple[Any, list[str]]:
    """A frame and the names of its columns; one that has only Arrow's stream is read for them."""
    names: Iterable[Any]
    if hasattr(frame, "column_names") and not callable(frame.column_names):
        names = frame.column_names
    elif hasattr(frame, "columns"):
        names = frame.columns
    elif isinstance(getattr(frame, "schema", None), pa.Schema):
        names = frame.schema.names
    elif hasattr(frame, "__dataframe__"):
        names = frame.__dataframe__().column_names()
    else:
        try:
            frame = pa.table(frame)
        except (pa.ArrowException, TypeError, ValueError) as error:
            msg = f"{type(frame).__name__} is one column; give arrays src and dst, or a frame alone"
            raise BatchError(msg) from error
        names = frame.column_names
    return frame, [str(name) for name in names]


def _arrow(frame: Any, names: list[str]) -> pa.Table:
    """Some columns of a frame as an Arrow table."""
    if type(frame).__module__.partition(".")[0] == "pandas":
        # Others of its columns may be of mixed types, which Arrow refuses.
        return pa.Table.from_pandas(frame[names], preserve_index=False)
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame).select(names)
    return pyarrow.interchange.from_dataframe(frame).select(names)


def _plain(table: pa.Table) -> pa.Table:
    """Without chunks that are empty, which Arrow cannot always join, and with numbers as such.

    Numbers may be categories, or stand once for many rows; names are read through dictionaries,
    but where a word of one is null: such a row has a null, though no bit of its column says so.
    """
    table = pa.Table.from_batches([each for each in table.to_batches() if each], table.schema)
    for position, column in enumerate(table.columns):
        kind = column.type
        if pa.types.is_run_end_encoded(kind):
            chunks = map(pc.run_end_decode, column.chunks)
            column = pa.chunked_array(chunks, kind.value_type)
        elif pa.types.is_dictionary(kind) and (
            pa.types.is_primitive(kind.value_type) or _has_null_word(column)
        ):
            column = column.cast(kind.value_type)
        else:
            continue
        table = table.set_column(position, table.field(position).name, column)
    return table


def _has_null_word(column: pa.ChunkedArray) -> bool:
    return any(chunk.dictionary.null_count for chunk in column.chunks)


def _of_one_op(table: pa.Table, op: int, *, has_times: bool) -> pa.Table:
    call = "insert_edges" if op > 0 else "delete_edges"
    if "op" in table.column_names:
        msg = f"frame: {call} is given a column op; leave it out, or use apply"
        raise BatchError(msg)
    if table["dst"].null_count:
        row = int(np.asarray(table["dst"].is_null()).argmax())
        msg = f"frame, row {row}: dst is null, but {call} takes edges; leave it out, or use apply"
        raise BatchError(msg)
    if op > 0:
        return table
    table = table.select(["src", "dst"])
    table = table.append_column("op", pa.array(np.full(table.num_rows, op, np.int8)))
    if has_times:
        # A delete stores no time.
        table = table.append_column("ts", pa.array(np.zeros(table.num_rows, np.int64)))
    return table
