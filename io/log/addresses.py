"""Addresses of a log: where its files are found, as the state keeps them and messages show them.

What an address may be, and which files it has: ``log_paths.py``.
"""

import os

from ...gpu_core.errors import UpdateLogError

EMPTY_ADDRESS = "an address of the log is empty; give a folder, a file or a pattern"

#: Address of a log, or its addresses in order.
Address = str | tuple[str, ...]


def absolute_address(address: Address) -> Address:
    """Addresses that mean the same from every working directory; one alone is no tuple."""
    if isinstance(address, str):
        return _absolute(address)
    if not address:
        raise UpdateLogError(EMPTY_ADDRESS)
    each = tuple(map(_absolute, address))
    return each[0] if len(each) == 1 else each


def _absolute(address: str) -> str:
    if not address:
        # As a path it would be the working directory.
        raise UpdateLogError(EMPTY_ADDRESS)
    local = address.removeprefix("file://")
    if "://" in local or "::" in local:
        return address.rstrip("/")
    return os.path.realpath(os.path.expanduser(local))


def address_text(address: Address) -> str:
    """Addresses as the command line takes them."""
    return address if isinstance(address, str) else " ".join(address)
