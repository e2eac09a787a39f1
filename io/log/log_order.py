"""Natural order of file names: runs of digits compare as numbers.

So ``part.2.parquet`` precedes ``part.10.parquet``, as is meant by writers that number their files
without leading zeros, such as Dask. A path compares component by component. The order is total:
names that differ in leading zeros alone (``part.01``, ``part.1``) compare as text.

Polars numbers the files of ``sink_parquet`` in hexadecimal, ``00000009``, ``0000000a``,
``00000010``: a name that begins so stands behind the last decimal one before it.
"""

import re

_DIGITS = re.compile(r"([0-9]+)")
#: Eight hexadecimal digits, the first a zero, letters from some digit on; and what is behind them.
_HEXADECIMAL = re.compile(r"(?=[0-9a-f]{8}(?:\.|$))(0[0-9]*)([a-f][0-9a-f]*)")


def natural_key(name: str) -> tuple[object, ...]:
    """Sort key of a file name or a path with ``/``."""
    return tuple(_component_key(component) for component in name.split("/")), name


def _component_key(component: str) -> tuple[object, ...]:
    # A split by one group alternates text and digits, beginning with text, so like meets like.
    number = _HEXADECIMAL.match(component)
    if number is not None:
        # Nines instead of its letters: 0000000a is behind 00000009, and before 00000010.
        digits, letters = number.groups()
        return "", int(digits + "9" * len(letters)), component
    parts = _DIGITS.split(component)
    return tuple(int(part) if place % 2 else part for place, part in enumerate(parts))
