"""Columns in which values are missing, masked or null, which are refused.

As an array of NumPy's, a masked one gives what is under the mask. Nulls of Arrow, Polars and pandas
make floats of whole numbers, large ones rounded, and are NaN among floats.
"""

from typing import Any, Final

import numpy as np

from ..errors import GraphtideError, SettingsError

#: Types of whole numbers, as their names begin.
WHOLE: Final = ("int", "uint")


def refuse_masked(
    name: str,
    values: Any,
    error: type[GraphtideError] = SettingsError,
    *,
    kinds: tuple[str, ...] = ("",),
) -> None:
    """Raise an error where a value of the argument ``name`` is masked, or null.

    ``kinds``: types, as their names begin, of which a column may have no nulls; all.
    """
    if np.ma.is_masked(values):
        msg = f"{name} is masked in some rows; give each a value, or leave those rows out"
        raise error(msg)
    if _kind_of(values).startswith(kinds) and _has_nulls(values):
        msg = f"{name} is null in some rows; give each a value, or leave those rows out"
        raise error(msg)


def _has_nulls(values: Any) -> bool:
    """Whether a column says so: Arrow's by an attribute, Polars' by a method, pandas' by a mask."""
    count = getattr(values, "null_count", None)
    if count is not None:
        nulls = count() if callable(count) else count
        # Of a table it is a table.
        return (isinstance(nulls, int) and nulls > 0) or any(map(_has_nulls, _words(values)))
    kind = getattr(values, "type", getattr(values, "dtype", None))
    if kind is None or isinstance(kind, np.dtype):
        # No column, or an array of NumPy's, where NaN is a number.
        return False
    return hasattr(values, "isna") and bool(np.any(values.isna()))


def _words(values: Any) -> list[Any]:
    """Values of an Arrow column that stand for many rows: it does not count nulls among them."""
    parts = getattr(values, "chunks", [values])
    words = [
        part.values if hasattr(part, "run_ends") else getattr(part, "dictionary", None)
        for part in parts
    ]
    return [each for each in words if each is not None]


def _kind_of(values: Any) -> str:
    """Name of the type of a column; of one through a dictionary, that of its values."""
    kind = getattr(values, "type", getattr(values, "dtype", None))
    kind = getattr(kind, "value_type", kind)
    return str(getattr(getattr(kind, "categories", None), "dtype", kind)).lower()
