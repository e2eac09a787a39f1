"""Arguments that are whole numbers, or one of a few names, such as ``weight`` and ``direction``.

An array is no name, though it compares item by item; nor is a list, which no mapping has.
"""

import reprlib
from collections.abc import Collection
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from .errors import SettingsError


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer of Python's or NumPy's; True, False and durations are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def as_integers(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Values as an array; Python's whole numbers as NumPy's, where one type has them all.

    Raises
    ------
    ValueError
        They are of several kinds, such as lists beside numbers.
    """
    array = np.asarray(values)
    if (
        array.dtype.kind == "f"
        and isinstance(values, list | tuple)
        and all(map(is_integer, values))
    ):
        # NumPy makes floats of small numbers beside those above int64.
        array = np.array(values, object)
    if array.dtype.kind != "O" or not array.size or not all(map(is_integer, array.flat)):
        return array
    least, most = array.min(), array.max()
    for limits in map(np.iinfo, (np.int64, np.uint64)):
        if limits.min <= least and most <= limits.max:
            return array.astype(limits.dtype)
    return array


def is_among(value: object, names: Collection[str | None]) -> bool:
    """Whether a value is one of some names."""
    return (value is None or isinstance(value, str)) and value in names


def choice_shown(value: object) -> str:
    """A value that is no name, in one line."""
    return repr(value) if isinstance(value, str) else " ".join(reprlib.repr(value).split())


def one_of(name: str, value: object, allowed: Collection[str]) -> None:
    """Refuse a value that is not one of those allowed."""
    if not is_among(value, allowed):
        msg = f"{name}={choice_shown(value)} is unknown; use one of {', '.join(allowed)}"
        raise SettingsError(msg)


def check_weight(weight: object) -> None:
    """Refuse what says neither that edges count by their weights nor that they count alike."""
    if not is_among(weight, (None, "weight")):
        msg = f"weight={choice_shown(weight)} is unknown; use 'weight' or None"
        raise SettingsError(msg)
