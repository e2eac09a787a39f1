"""Whether a log takes what is at another address for its own: a state within it, an output."""

import os
import re

from fsspec.utils import glob_translate

from ....gpu_core.errors import UpdateLogError
from ...file_systems import file_system_of, is_local, is_local_address
from .address_files import is_ignored
from .addresses import base_of, is_pattern, location_of
from .log_paths import list_log


def reads(address: str, other: str) -> bool:
    """Whether a log at an absolute address takes what is at another one for its own, or would.

    Where ``other`` is a link, what is asked is about its own place.
    """
    if is_local_address(address) != is_local_address(other):
        return False
    try:
        filesystem, path = file_system_of(other)
        location = location_of(address)
    except (OSError, UpdateLogError):
        # What cannot be reached is not read; who uses it says so.
        return False
    if type(filesystem) is not type(location.filesystem):
        return False
    if is_local(filesystem):
        folder, name = os.path.split(path)
        path = os.path.join(os.path.realpath(folder), name)
    root = location.root
    if is_pattern(location.filesystem, root):
        pattern = re.compile(glob_translate(root))
        parts = path.split("/")
        tops = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
        if not any(map(pattern.match, tops)):
            return False
        root = base_of(root)
    root = root.rstrip("/")
    if path == root:
        return True
    within = path.removeprefix(f"{root}/")
    return within != path and not any(map(is_ignored, within.split("/")))


def holds(address: str, file: str) -> bool:
    """Whether a file on this machine is one of a log at an absolute address, under any name.

    By a link in the log, or one to it, a file has several. One that is not there yet is none, also
    where the log has a link to its folder.
    """
    if not is_local_address(address):
        return False
    try:
        found = os.stat(file_system_of(file)[1])
        return any(os.path.samestat(found, os.stat(each.path)) for each in list_log([address]))
    except (OSError, UpdateLogError):
        # There is no such file, or no log any more.
        return False
