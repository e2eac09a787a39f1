"""Rows of the quarantine as a user has corrected them: columns whose types tools have dropped.

pandas makes floats of integers beside a null, and nothing of a column of nulls; values of lines
that are no rows are text.
"""

from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...gpu_core.errors import StateError
from ...gpu_core.times import INTEGERS, time_unit_named
from ..arrow_types import is_text
from ..log.columns.column_types import id_type_of_text, property_type_of_text
from ..log.update_log import UpdateLog
from ..text.text_values import typed

#: Columns of which pandas makes floats where some are null, and nothing where all are.
_TYPES = {"weight": pa.float64(), "type": pa.int64(), "ts": pa.int64()}


def with_types(table: pa.Table, log: UpdateLog, shown: str) -> pa.Table:
    """Rows with columns of the types that the log has, where a user's tools have dropped these.

    Parameters
    ----------
    table
        Rows of a file of the quarantine.
    log
        The log that they are of.
    shown
        Path of the file, for messages.

    Raises
    ------
    StateError
        A text is no value of its column, or an integer may have been rounded; with its row.
    """
    kinds = _types_of(log)
    for position, name in enumerate(table.column_names):
        kind = table.schema.field(name).type
        if name in kinds and is_text(kind) and not is_text(kinds[name]):
            floats = log.own.get(name) if pa.types.is_floating(kinds[name]) else None
            column = _of_texts(table[name].cast(pa.string()), name, kinds[name], floats, shown)
            table = table.set_column(position, name, column)
        elif name in kinds and (pa.types.is_floating(kind) or pa.types.is_null(kind)):
            if pa.types.is_floating(kind) and not pa.types.is_floating(kinds[name]):
                _refuse_rounded(table[name], name, shown)
            # Where that is not exact, the check says what is wrong with the column.
            with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
                table = table.set_column(position, name, table[name].cast(kinds[name]))
    return table


def _types_of(log: UpdateLog) -> dict[str, pa.DataType]:
    types = _TYPES | dict.fromkeys(("src", "dst"), id_type_of_text(log.ids))
    types |= {name: property_type_of_text(kind) for name, kind in log.own.items()}
    unit = INTEGERS if log.time_unit is None else time_unit_named(log.time_unit)
    if unit.resolution is not None:
        types["ts"] = pa.timestamp(unit.resolution, unit.zone)
    return types


def _refuse_rounded(column: pa.ChunkedArray, name: str, shown: str) -> None:
    """Refuse floats so large that other whole numbers may have been rounded to them."""
    least = float(1 << (np.finfo(column.type.to_pandas_dtype()).nmant + 1))
    values = column.cast(pa.float64())
    row = pc.index(pc.greater_equal(pc.abs(values), least), pa.scalar(True)).as_py()
    if row >= 0:
        msg = (
            f"{shown}, row {row}: {name} is {values[row].as_py():.0f} in a column of floats, which "
            f"round such numbers: pandas makes floats of integers beside a null; correct it, and "
            f"write the column as integers (pandas.read_parquet(…, dtype_backend='pyarrow'))"
        )
        raise StateError(msg)


def _of_texts(
    texts: pa.ChunkedArray, name: str, kind: pa.DataType, floats: str | None, shown: str
) -> Any:
    """Values of a column that was written as text."""
    try:
        return typed(texts, kind, floats)
    except pa.ArrowInvalid:
        for row, text in enumerate(texts):
            try:
                typed(pa.array([text.as_py()], pa.string()), kind, floats)
            except pa.ArrowInvalid:
                msg = (
                    f"{shown}, row {row}: {name} is {text.as_py()!r}, which is no "
                    f"{floats or kind}; correct it there, or remove the row"
                )
                raise StateError(msg) from None
        raise
