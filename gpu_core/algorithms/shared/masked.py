"""Masked arrays of NumPy, which are refused: as arrays they give what is under the mask.

So are whole numbers of Arrow and Polars with nulls: as arrays they are floats, large ones rounded.
"""

from typing import Any

import numpy as np

from ...errors import GraphtideError, SettingsError


def refuse_masked(name: str, values: Any, error: type[GraphtideError] = SettingsError) -> None:
    """Raise an error where a value of the argument ``name`` is masked, or null and no float."""
    if np.ma.is_masked(values):
        msg = f"{name} is masked in some rows; give each a value, or leave those rows out"
        raise error(msg)
    if _has_whole_nulls(values):
        msg = f"{name} is null in some rows; give each a value, or leave those rows out"
        raise error(msg)


def _has_whole_nulls(values: Any) -> bool:
    """Whether a column of whole numbers has nulls: an attribute of Arrow's, a method of Polars'."""
    count = getattr(values, "null_count", 0)
    kind = str(getattr(values, "type", getattr(values, "dtype", ""))).lower()
    return kind.startswith(("int", "uint")) and bool(count() if callable(count) else count)
