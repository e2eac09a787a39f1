"""Test whether the result of a function that combines messages depends on their order.

A function is tried on numbers of all sizes, in Python as it was written: what it makes of two must
not depend on which comes first, nor what it makes of three on which two come first. That shows most
mistakes, such as a difference, and proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any, Final

import numpy as np

from .source import Source

_WHOLE: Final = (0, 1, -1, 2, 3, 7, -12, 100, 1_000_003, -54_321)
_REAL: Final = (0.0, 1.0, -1.0, 0.1, 0.2, 0.7, 2.5, 1e-9, -3.25, 1e6, 123456.789)
#: Sums that round differently by their order are taken for the same.
_TOLERANCE: Final = 1e-9


def check_combine(function: Callable[..., Any], dtype: np.dtype[Any]) -> bool:
    """Try a function that combines messages of a type.

    Returns
    -------
    bool
        Whether the order made no difference at all; else it made one of rounding alone.

    Raises
    ------
    SettingsError
        It made a difference.
    """
    is_exact = True
    numbers = _REAL if dtype.kind == "f" else _WHOLE
    for one, other in permutations(numbers, 2):
        pair = _tried(function, one, other), _tried(function, other, one)
        is_exact &= _compared(function, "order", (one, other), *pair)
    for one, other, third in permutations(numbers, 3):
        first = _tried(function, _tried(function, one, other), third)
        second = _tried(function, one, _tried(function, other, third))
        is_exact &= _compared(function, "grouping", (one, other, third), first, second)
    return is_exact


def is_neutral_of(function: Callable[..., Any], given: float, dtype: np.dtype[Any]) -> bool:
    """Whether a function makes of a message and this one the message itself."""
    numbers = _REAL if dtype.kind == "f" else _WHOLE
    return all(
        _tried(function, *pair) == one for one in numbers for pair in ((one, given), (given, one))
    )


def _tried(function: Callable[..., Any], one: Any, other: Any) -> Any:
    try:
        return function(one, other)
    except (ArithmeticError, ValueError):
        # What Python refuses is a number to programs.
        return math.nan


def _compared(
    function: Callable[..., Any], what: str, tried: tuple[Any, ...], first: Any, second: Any
) -> bool:
    if first == second or (first != first and second != second):
        return True
    if math.isclose(first, second, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
        return False
    source = Source("combine", function)
    texts = [f"combine({tried[0]}, {tried[1]})", f"combine({tried[1]}, {tried[0]})"]
    if what == "grouping":
        a, b, c = tried
        texts = [f"combine(combine({a}, {b}), {c})", f"combine({a}, combine({b}, {c}))"]
    source.refuse(
        source.tree,
        f"messages come in no order, but {texts[0]} is {first} and {texts[1]} is {second}",
    )
