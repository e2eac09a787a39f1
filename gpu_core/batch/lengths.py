"""Lengths of the columns of a batch, which must agree."""

from typing import Any

from ..errors import BatchError
from ..printable import counted

#: Row positions must fit a key of the conversion.
ROW_LIMIT = 1 << 31


def length_of(name: str, column: Any) -> int:
    """Items of a column.

    Raises
    ------
    BatchError
        It has none, as a single number.
    """
    try:
        return len(column)
    except TypeError:
        msg = f"{name} is one {type(column).__name__}; give one value per row"
        raise BatchError(msg) from None


def check_lengths(src: Any, **columns: Any) -> None:
    """Refuse too many rows, and columns of another length than ``src``; None is no column."""
    rows = length_of("src", src)
    if rows >= ROW_LIMIT:
        msg = f"a batch of {rows} rows is too long; cut it below {ROW_LIMIT} rows"
        raise BatchError(msg)
    for name, column in columns.items():
        if column is not None and (length := length_of(name, column)) != rows:
            found = counted(length, "row")
            msg = f"{name} has {found} but src has {rows:,}; give columns of one length"
            raise BatchError(msg)
