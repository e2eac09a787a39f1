"""Paths as Arrow's functions take them."""

from pathlib import Path

from ...gpu_core.errors import SettingsError
from ...gpu_core.printable import is_unicode, printable


def arrow_path(path: Path) -> Path:
    """A path on the local disk for a function of Arrow.

    One with a colon is absolute: Arrow takes a relative one, such as ``run-10:30/state``, for a
    URL.

    Raises
    ------
    SettingsError
        It is no UTF-8, as Arrow's paths are.
    """
    if not is_unicode(str(path)):
        msg = f"the path {printable(path)} is no UTF-8; give another"
        raise SettingsError(msg)
    return path.absolute() if ":" in str(path) else path
