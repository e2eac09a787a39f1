"""Masked arrays of NumPy, which are refused: as arrays they give what is under the mask."""

from typing import Any

import numpy as np

from ...errors import GraphtideError, SettingsError


def refuse_masked(name: str, values: Any, error: type[GraphtideError] = SettingsError) -> None:
    """Raise an error where a value of the argument ``name`` is masked."""
    if np.ma.is_masked(values):
        msg = f"{name} is masked in some rows; give each a value, or leave those rows out"
        raise error(msg)
