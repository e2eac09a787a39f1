"""The files of a log: found below its addresses, in the order in which they are read.

An address is a folder with all that lies in it, also in folders within; a file; or a pattern with
``*``, ``?``, ``[…]`` or ``**``. A log of several addresses has the files of the first one, then
those of the second, and so on; those of one address come in the natural order of their paths within
it (``log_order.py``).

A file is known by its *name*: its path within the address, which stays when the log is moved as a
whole; that of a pattern begins where the pattern does. Names of the second address begin with
``2//``, and so on: no path has two slashes in a row, so an address that is added changes no name.

Names of files or folders that begin with ``_`` or ``.`` or end in ``.tmp`` are ignored.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import fsspec

from ..gpu_core.errors import UpdateLogError
from .file_errors import EmptyLogError
from .log_order import natural_key
from .parquet_files import one_line

_PATTERN = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class LogPath:
    """Where one file of a log is."""

    #: Within the log.
    name: str
    #: As messages call it: as the user would open it.
    shown: str
    filesystem: Any
    #: Within the file system.
    path: str


def list_log(addresses: Sequence[str]) -> list[LogPath]:
    """Find the files of a log, in order.

    Raises
    ------
    UpdateLogError
        There is nothing at an address, or no file of a log, or a file is in the log twice.
    """
    found: list[LogPath] = []
    first_of: dict[tuple[str, str], LogPath] = {}
    for number in range(len(addresses)):
        for each in _list_address(addresses, number):
            twin = first_of.setdefault((str(each.filesystem.protocol), each.path), each)
            if twin is not each:
                msg = (
                    f"{each.shown} is in the log twice, by {addresses[_number_of(twin.name)]} and "
                    f"by {addresses[number]}; leave one of them out"
                )
                raise UpdateLogError(msg)
            found.append(each)
    return found


def log_path(addresses: Sequence[str], name: str) -> LogPath:
    """Find a file by its name within the log; whether it is there is not looked at."""
    number = _number_of(name)
    address, within = addresses[number], name.rpartition("//")[2]
    filesystem, root = _filesystem(address)
    if _is_pattern(filesystem, root):
        base, shown = _base(root), _base(address)
    elif _last(root) == within and filesystem.isfile(root):
        return LogPath(name, address, filesystem, root)
    else:
        base, shown = root, address
    return LogPath(
        name, _joined(shown, within) if shown else within, filesystem, _joined(base, within)
    )


def order_key(name: str) -> tuple[object, ...]:
    """Sort key of the name of a file in its log: by address, then natural order."""
    return _number_of(name), natural_key(name.rpartition("//")[2])


def _list_address(addresses: Sequence[str], number: int) -> list[LogPath]:
    address = addresses[number]
    filesystem, root = _filesystem(address)
    try:
        if filesystem.isfile(root):
            within = [_last(root)]
        else:
            is_pattern = _is_pattern(filesystem, root)
            if not is_pattern and not filesystem.exists(root):
                msg = f"there is no log {address}; give a folder of Parquet files, or a file"
                raise UpdateLogError(msg)
            base = _base(root) if is_pattern else root
            tops = filesystem.glob(root) if is_pattern else [root]
            paths = {path for top in tops for path in _files_below(filesystem, top)}
            within = [path[len(base) :].lstrip("/") for path in paths]
    except OSError as error:
        msg = f"log {address} cannot be listed: {one_line(error)}"
        raise UpdateLogError(msg) from error
    within = [name for name in within if not any(map(_is_ignored, name.split("/")))]
    if not within:
        msg = (
            f"log {address} holds no Parquet, CSV or JSON file; put one there, or check the address"
        )
        raise EmptyLogError(msg)
    prefix = f"{number + 1}//" if number else ""
    return [log_path(addresses, prefix + name) for name in sorted(within, key=natural_key)]


def _files_below(filesystem: Any, top: str) -> Iterator[str]:
    """Files in a folder and the folders within; of a file, the file.

    By ``ls``: ``find`` would leave out a folder that cannot be read, without a word.
    """
    if not filesystem.isdir(top):
        yield top
        return
    for entry in filesystem.ls(top, detail=True, refresh=True):
        path = entry["name"]
        # Object stores list a folder within itself.
        if path.strip("/") == top.strip("/") or _is_ignored(_last(path)):
            continue
        if entry["type"] == "file":
            yield path
        else:
            yield from _files_below(filesystem, path)


def _is_ignored(name: str) -> bool:
    return name.startswith(("_", ".")) or name.endswith(".tmp")


def _filesystem(address: str) -> tuple[Any, str]:
    try:
        filesystem, root = fsspec.core.url_to_fs(address)
    except (ValueError, ImportError, OSError) as error:
        msg = f"log {address} cannot be opened: {one_line(error)}"
        raise UpdateLogError(msg) from error
    return filesystem, root


def _is_pattern(filesystem: Any, root: str) -> bool:
    """Whether an address is a pattern, and not the name of what is there."""
    return bool(_PATTERN.search(root)) and not filesystem.exists(root)


def _base(pattern: str) -> str:
    """Folder that a pattern begins in."""
    return _PATTERN.split(pattern, maxsplit=1)[0].rpartition("/")[0]


def _joined(folder: str, within: str) -> str:
    return f"{folder.rstrip('/')}/{within}"


def _number_of(name: str) -> int:
    number = name.rpartition("//")[0]
    return int(number) - 1 if number else 0


def _last(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]
