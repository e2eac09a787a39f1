"""Natural order of file names: runs of digits compare as numbers.

So ``part.2.parquet`` precedes ``part.10.parquet``, as is meant by writers that number their files
without leading zeros, such as Dask. A path compares component by component. The order is total:
names that differ in leading zeros alone (``part.01``, ``part.1``) compare as text.
"""

import re

_DIGITS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> tuple[object, ...]:
    """Sort key of a file name or a path with ``/``."""
    # A split by one group alternates text and digits, beginning with text, so like meets like.
    components = tuple(
        tuple(
            int(part) if place % 2 else part for place, part in enumerate(_DIGITS.split(component))
        )
        for component in name.split("/")
    )
    return components, name
