"""Paths as Arrow's functions take them."""

from pathlib import Path


def arrow_path(path: Path) -> Path:
    """A path on the local disk for a function of Arrow.

    One with a colon is absolute: Arrow takes a relative one, such as ``run-10:30/state``, for a
    URL.
    """
    return path.absolute() if ":" in str(path) else path
