"""Whole decimals as integers: of any number of digits, where the values fit.

Databases declare whole numbers with more digits than int64 holds, as Snowflake does with 38 where
nothing else is said, and use few of them. So it is the values that decide, row by row: one that
does not fit makes its row wrong, as in text.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ....gpu_core.batch.bad_rows import BadRowsError

Flags = npt.NDArray[np.bool_]


def integers_of(
    column: pa.Array,
    kind: pa.DataType,
    name: str,
    row_name: Callable[[int], str],
    counts: Flags | None = None,
) -> pa.Array:
    """Whole decimals as integers of a type.

    Parameters
    ----------
    column
        Decimals without a fraction; nulls stay null.
    kind
        The type.
    name
        Of the column, for messages.
    row_name
        How messages name a row.
    counts
        Rows whose values are looked at; what does not fit in others becomes null. None: all.

    Raises
    ------
    BadRowsError
        A value does not fit.
    """
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        bounds = np.iinfo(str(kind))
    values: list[Any] = column.to_pylist()
    fits = np.array([each is None or bounds.min <= each <= bounds.max for each in values], np.bool_)
    bad = ~fits if counts is None else ~fits & counts
    if bad.any():
        text = f"which does not fit {kind}; use smaller numbers"
        raise BadRowsError(bad, row_name, lambda at: f"{name} is {values[at]}, {text}")
    return pc.if_else(pa.array(fits), column, pa.scalar(None, column.type)).cast(kind)
