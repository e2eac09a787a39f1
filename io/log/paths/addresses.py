"""Addresses of a log: a folder, a file, a pattern or a table, on a disk or in a store.

What is at an address is another matter: ``address_files.py``.
"""

import os
import re
from dataclasses import dataclass
from typing import Any

from ....gpu_core.errors import UpdateLogError
from ...error_text import one_line
from ...file_systems import file_system_of, is_local_address

EMPTY_ADDRESS = "an address of the log is empty; give a folder, a file or a pattern"

#: What no address has but a pattern, or a name with such a character.
PATTERN = re.compile(r"[*?\[]")
#: A table, and the version that it is read from.
_VERSION = re.compile(r"(.+)@v(\d+)/?")

#: Address of a log, or its addresses in order.
Address = str | tuple[str, ...]


@dataclass(frozen=True)
class Location:
    """Location of an address."""

    filesystem: Any
    #: Within the file system.
    root: str
    #: The address without a version.
    shown: str
    #: Of a table, that it is read from.
    version: int | None = None


def location_of(address: str) -> Location:
    """Find out where an address is; whether there is a log is not looked at."""
    if not address:
        raise UpdateLogError(EMPTY_ADDRESS)
    try:
        filesystem, root = file_system_of(address)
        match = _VERSION.fullmatch(address)
        if match and not filesystem.exists(root):
            filesystem, root = file_system_of(match[1])
            return Location(filesystem, root, match[1], int(match[2]))
    except OSError as error:
        msg = f"log {address} cannot be opened: {one_line(error)}"
        raise UpdateLogError(msg) from error
    return Location(filesystem, root, address)


def is_pattern(filesystem: Any, root: str) -> bool:
    """Whether an address is a pattern, and not the name of what is there."""
    return bool(PATTERN.search(root)) and not filesystem.exists(root)


def base_of(pattern: str) -> str:
    """Folder that a pattern begins in."""
    return PATTERN.split(pattern, maxsplit=1)[0].rpartition("/")[0]


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
    if not is_local_address(address):
        return address.rstrip("/")
    return os.path.realpath(os.path.expanduser(address.removeprefix("file://")))


def address_text(address: Address) -> str:
    """Addresses as the command line takes them."""
    return address if isinstance(address, str) else " ".join(address)
