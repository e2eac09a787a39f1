"""Ids, flags, counts and numbers, as calls take them."""

from collections.abc import Sequence
from uuid import UUID

import numpy as np
import numpy.typing as npt

from ...choices import is_integer
from ...errors import SettingsError

#: One id, as its graph has them.
Id = int | str | UUID
Ids = npt.ArrayLike | Sequence[Id]


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
