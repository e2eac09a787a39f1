"""Values that are written with a unit, or as a word for none: bytes, times, numbers of batches.

Each is refused by the name of its setting, with what is allowed. And numbers that are written in
another way than their settings have them: as text, as YAML takes ``1e6``; as floats; as NumPy's.
"""

import math
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from dask.utils import parse_bytes, parse_timedelta

from ..gpu_core.errors import SettingsError


def number_of_bytes(key: str, value: object) -> int | None:
    """Bytes, from 1 on; None as it is."""
    if value is None:
        return None
    try:
        parsed = int(parse_bytes(value))
    except (ValueError, OverflowError):
        parsed = 0
    if parsed < 1:
        msg = f"setting {key}: {value!r} is not allowed; use a number of bytes, or one like 8GiB"
        raise SettingsError(msg)
    return parsed


def seconds(key: str, value: object) -> float:
    """A length of time, longer than 0 and finite."""
    try:
        parsed = float(parse_timedelta(value))
    except (ValueError, KeyError, IndexError, OverflowError):  # an unknown unit, '', inf
        parsed = 0.0
    if not 0 < parsed < math.inf:
        msg = f"setting {key}: {value!r} is not allowed; use a time such as 60s or 5m"
        raise SettingsError(msg)
    return parsed


def number_or_all(key: str, value: object) -> int | None:
    """A number from 1 on; None for ``all``."""
    text = str(value).strip()
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 1:
        msg = f"setting {key}: {value!r} is not allowed; use a number from 1 on, or all"
        raise SettingsError(msg)
    return int(text)


def checkpoint_cadence(value: object) -> tuple[float | None, int | None]:
    """``checkpoint_every`` as ``(seconds, None)``, ``(None, batches)`` or ``(None, None)``."""
    if value is None:
        return None, None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # of which Dask would make seconds
    if isinstance(value, int) or str(value).strip().isdecimal():
        batches = int(str(value))
        if batches < 1:
            msg = "setting checkpoint_every: 0 is not allowed; use 1 or more batches, or a time"
            raise SettingsError(msg)
        return None, batches
    try:
        # Dask takes a number without a unit for seconds, where it could be one of batches.
        has_unit = str(value).strip()[-1:].isalpha()
        return seconds("checkpoint_every", value if has_unit else ""), None
    except SettingsError:
        msg = (
            f"setting checkpoint_every: {value!r} is not allowed; use a number of batches, or a "
            f"time such as 60s or 5m"
        )
        raise SettingsError(msg) from None


def plain(value: Any) -> Any:
    """A value as YAML has it, of one of Python: NumPy's numbers and arrays, tuples, paths."""
    if isinstance(value, Mapping):
        return {plain(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def with_numbers(value: Any, allowed: Mapping[str, Any]) -> Any:
    """A value with ``1e-9`` as a number where the schema has one, and ``1e6`` as a whole one.

    YAML takes the first for text; the second is a float in Python, of which JSON Schema takes a
    whole one for an integer.
    """
    if isinstance(value, Mapping):
        named, others = allowed.get("properties", {}), allowed.get("additionalProperties")
        others = others if isinstance(others, Mapping) else {}
        return {key: with_numbers(each, named.get(key, others)) for key, each in value.items()}
    kinds = allowed.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "string" in kinds or not {"number", "integer"} & {*kinds}:
        return value
    if isinstance(value, str) and re.fullmatch(r"[-+]?\d+[eE][-+]?\d+", value):
        value = float(value)
    is_whole = isinstance(value, float) and value.is_integer() and "number" not in kinds
    return int(value) if is_whole else value
