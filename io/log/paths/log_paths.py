"""The files of a log: found below its addresses, in the order in which they are read.

A log of several addresses has the files of the first one, then those of the second, and so on;
those of one address (``address_files.py``) come in the natural order of their paths within it
(``log_order.py``).

A file is known by its *name* (``file_names.py``), made of its path within the address, which stays
when the log is moved as a whole; that of a pattern begins where the pattern does. A file that is
there under several paths by symbolic links, such as ``latest.parquet``, is taken once, by the path
without a link, or the one that a plan has. A table may end in ``@v12``, the version that it is read
from.
"""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from ....gpu_core.errors import UpdateLogError
from ...error_text import one_line
from ...file_systems import CHECK_STORE, StorageError, as_storage_errors, is_local, one_look
from ...tables.table_files import TableFile
from ...text.text_names import text_format
from ..file_errors import EmptyLogError
from .address_files import files_at, last_part, refuse_table_around
from .addresses import base_of, is_pattern, location_of
from .file_names import FileName, order_key
from .log_order import natural_key
from .partitions import is_partition, partitions_of


@dataclass(frozen=True)
class LogPath:
    """Location of one file of a log."""

    #: Within the log.
    name: str
    #: As messages call it: as the user would open it.
    shown: str
    filesystem: Any
    #: Within the file system.
    path: str
    #: What a table's version does with its rows, see ``table_files.py``; empty: it is of no table.
    change: str = ""
    #: Names of links to it, by which it is not taken once more.
    links: tuple[str, ...] = ()

    @property
    def text_format(self) -> str | None:
        """``csv`` or ``json``; None where it is Parquet, as all files of tables are."""
        return None if self.change else text_format(self.path)

    @property
    def partitions(self) -> dict[str, str | None]:
        """Columns in its path, see `partitions_of`: in its name, and right around its address.

        ``hive/op=delete`` as an address is as much of that column as ``op=delete`` within ``hive``.
        """
        within = FileName.of(self.name).within
        around: list[str] = []
        if not self.change:
            folders = self.path.removesuffix(within).rstrip("/").split("/")
            around = list(takewhile(is_partition, reversed(folders)))
        return partitions_of("/".join([*reversed(around), within]))


def list_log(addresses: Sequence[str], planned: Collection[str] = ()) -> list[LogPath]:
    """Find the files of a log, in order.

    Parameters
    ----------
    addresses
        In order.
    planned
        Names of files that a plan has: a table may have forgotten of which version they are.

    Raises
    ------
    UpdateLogError
        There is nothing at an address, or no file of a log, or a file is in the log twice; or a
        table cannot be read rightly.
    """
    _refuse_single_files_of_tables(addresses)
    found: list[LogPath] = []
    first_of: dict[tuple[str, str], LogPath] = {}
    for number in range(len(addresses)):
        for each in _list_address(addresses, number, planned):
            twin = first_of.setdefault((str(each.filesystem.protocol), each.path), each)
            # A table has a file in several versions.
            other = FileName.of(twin.name).address
            if twin is not each and (twin.change == "" or other != number):
                msg = (
                    f"{each.shown} is in the log twice, by {addresses[other]} and by "
                    f"{addresses[number]}; leave one of them out"
                )
                raise UpdateLogError(msg)
            found.append(each)
    return _each_once(found, planned)


def _each_once(found: Sequence[LogPath], planned: Collection[str]) -> list[LogPath]:
    """Leave out files that are in the log already, by another path that links make.

    Where columns stand in the paths, with other values there, their rows are others.
    """
    folders: dict[str, str] = {}
    by_location: dict[object, list[LogPath]] = {}
    locations: list[object] = []
    for each in found:
        location: object = each.name
        if is_local(each.filesystem) and not each.change:
            folder, name = os.path.split(each.path)
            if os.path.islink(each.path):
                real = os.path.realpath(each.path)
            else:
                if folder not in folders:
                    folders[folder] = os.path.realpath(folder)
                real = os.path.join(folders[folder], name)
            location = real, *each.partitions.items()
            by_location.setdefault(location, []).append(each)
        locations.append(location)

    def is_later(each: LogPath) -> tuple[bool, int]:
        """Whether another path is rather the one that it is known by."""
        parts = each.path.split("/")
        tops = ("/".join(parts[:end]) for end in range(2, len(parts) + 1))
        return each.name not in planned, sum(map(os.path.islink, tops))

    kept: list[LogPath] = []
    for location, each in zip(locations, found, strict=True):
        twins = by_location.get(location, [each])
        known = twins[0] if len(twins) == 1 else min(twins, key=is_later)
        if each is known:
            links = tuple(twin.name for twin in twins if twin is not each)
            kept.append(replace(each, links=links) if links else each)
        elif each.name in planned:
            kept.append(each)
    return kept


def list_in_order(
    addresses: Sequence[str], planned: Collection[str], known: Collection[str]
) -> list[LogPath]:
    """Find the files of a log, in order, to which files are added in this order meanwhile.

    Looking takes a while, and of two files that come in it, the later one alone may be found. What
    was missed so, a second look finds; new files behind it are left for the next time.

    Parameters
    ----------
    addresses, planned
        As of `list_log`.
    known
        Names of files that are not new.

    Raises
    ------
    UpdateLogError
        As by `list_log`.
    """
    found = list_log(addresses, planned)
    while True:
        names = {each.name for each in found}
        if names <= {*known}:
            return found
        again = list_log(addresses, planned)
        missed = [order_key(each.name) for each in again if each.name not in names]
        kept = [
            each
            for each in found
            if each.name in known or not missed or order_key(each.name) < min(missed)
        ]
        if kept:
            return kept
        found = again


def log_path(addresses: Sequence[str], name: str) -> LogPath:
    """Find a file by its name within the log; whether it is there is not looked at."""
    number, within = FileName.of(name)
    address = addresses[number]
    location = location_of(address)
    filesystem, root = location.filesystem, location.root
    change = ""
    if file := TableFile.of_name(within):
        base, shown, within, change = root, location.shown, file.path, file.change
    elif is_pattern(filesystem, root):
        base, shown = base_of(root), base_of(address)
    elif last_part(root) == within and (filesystem.isfile(root) or not filesystem.exists(root)):
        return LogPath(name, address, filesystem, root)
    else:
        base, shown = root, address
    shown = _joined(shown, within) if shown else within
    return LogPath(name, shown, filesystem, _joined(base, within), change)


def _list_address(addresses: Sequence[str], number: int, planned: Collection[str]) -> list[LogPath]:
    address = addresses[number]
    location = location_of(address)
    parts = map(FileName.of, planned)
    known = [each.within for each in parts if each.address == number]
    try:
        with as_storage_errors(location.filesystem), one_look(location.filesystem):
            table, within = files_at(location, address, known)
            names = [FileName(number, each) for each in sorted(within, key=natural_key)]
            found = [log_path(addresses, str(name)) for name in names]
    except OSError as error:
        cure = f"; {CHECK_STORE}" if isinstance(error, StorageError) else ""
        msg = f"log {address} cannot be listed: {one_line(error)}{cure}"
        raise UpdateLogError(msg) from error
    if not found:
        what = f"no row: it is a table of {table}" if table else "no Parquet, CSV or JSON file"
        msg = f"log {address} holds {what}; put one there, or check the address"
        raise EmptyLogError(msg)
    return found


def _refuse_single_files_of_tables(addresses: Sequence[str]) -> None:
    """Refuse files of a local table that are named one by one.

    So a shell gives those of a pattern without quotes.
    """
    seen = set()
    for address in addresses:
        location = location_of(address)
        folder = location.root.rpartition("/")[0]
        if is_local(location.filesystem) and folder not in seen and os.path.isfile(location.root):
            seen.add(folder)
            refuse_table_around(location.filesystem, folder, address)


def _joined(folder: str, within: str) -> str:
    return f"{folder.rstrip('/')}/{within}"
