"""The files of a log: found below its addresses, in the order in which they are read.

An address is a folder with all that lies in it, also in folders within; a file; or a pattern with
``*``, ``?``, ``[…]`` or ``**``; or a table (Delta, Iceberg), which has the files that its versions
say, in their order (``table_files.py``). A log of several addresses has the files of the first one,
then those of the second, and so on; those of one address come in the natural order of their paths
within it (``log_order.py``).

A file is known by its *name* (``file_names.py``), made of its path within the address, which stays
when the log is moved as a whole; that of a pattern begins where the pattern does. A file that is
there under several paths by symbolic links, such as ``latest.parquet``, is taken once, by the path
without a link, or the one that a plan has. A table may end in ``@v12``, the version that it is read
from.

Names of files or folders that begin with ``_`` or ``.`` or end in ``.tmp`` are ignored.
"""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from fsspec.utils import glob_translate

from ...gpu_core.errors import UpdateLogError
from ...gpu_core.printable import is_unicode, printable
from ..error_text import one_line
from ..file_systems import (
    CHECK_STORE,
    StorageError,
    as_storage_errors,
    file_system_of,
    is_local,
    is_local_address,
    one_look,
    reach,
)
from ..tables.table_files import TableFile
from ..tables.table_formats import files_of_table, format_around, format_of, format_of_entries
from ..text.text_names import text_format
from .addresses import PATTERN, Location, base_of, is_pattern, location_of
from .file_errors import EmptyLogError
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
    elif _last(root) == within and (filesystem.isfile(root) or not filesystem.exists(root)):
        return LogPath(name, address, filesystem, root)
    else:
        base, shown = root, address
    shown = _joined(shown, within) if shown else within
    return LogPath(name, shown, filesystem, _joined(base, within), change)


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
    return within != path and not any(map(_is_ignored, within.split("/")))


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


def _list_address(addresses: Sequence[str], number: int, planned: Collection[str]) -> list[LogPath]:
    address = addresses[number]
    location = location_of(address)
    parts = map(FileName.of, planned)
    known = [each.within for each in parts if each.address == number]
    try:
        with as_storage_errors(location.filesystem), one_look(location.filesystem):
            table, within = _list_location(location, address, known)
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


def _list_location(
    location: Location, address: str, known: Sequence[str]
) -> tuple[str | None, list[str]]:
    """Format of the table at an address, if it is one, and names of the files there."""
    reach(
        location.filesystem,
        base_of(location.root) if PATTERN.search(location.root) else location.root,
    )
    table = format_of(location.filesystem, location.root)
    if table is None:
        return None, _list_files(location, address)
    files = [file for file in map(TableFile.of_name, known) if file is not None]
    found = files_of_table(
        table, location.filesystem, location.root, location.shown, location.version, files
    )
    return table, [file.name for file in found]


def _list_files(location: Location, address: str) -> list[str]:
    """Names of the files at an address that is no table."""
    filesystem, root = location.filesystem, location.root
    if filesystem.isfile(root):
        names = [_last(root)]
    else:
        has_pattern = is_pattern(filesystem, root)
        if not has_pattern and not filesystem.exists(root):
            msg = f"there is no log {address}; give a folder of Parquet files, or a file"
            raise UpdateLogError(msg)
        if location.version is not None:
            msg = (
                f"{location.shown} is no table, and has no version {location.version}; leave @v out"
            )
            raise UpdateLogError(msg)
        base = base_of(root) if has_pattern else root
        tops = filesystem.glob(root, detail=True) if has_pattern else {root: {}}
        for folder in {top.rpartition("/")[0] for top in tops} if has_pattern else {root}:
            _refuse_table_around(filesystem, folder, address)
        # What is known to be a file is not asked for once more.
        files = {top for top, entry in tops.items() if entry.get("type") == "file"}
        paths = files.union(*(_files_below(filesystem, top) for top in tops.keys() - files))
        names = [path[len(base) :].lstrip("/") for path in paths]
    names = [name for name in names if not any(map(_is_ignored, name.split("/")))]
    _refuse_names_beyond_unicode(names, address)
    return names


def _refuse_names_beyond_unicode(names: Sequence[str], address: str) -> None:
    """Refuse names that the files of a state, which are UTF-8, cannot hold."""
    for name in names:
        if not is_unicode(name):
            msg = f"the name of a file of log {address} is no UTF-8: {printable(name)}; rename it"
            raise UpdateLogError(msg)


def _refuse_table_around(filesystem: Any, folder: str, address: str) -> None:
    """Refuse files of a table that are not asked for as such: some are not in it any more."""
    found = format_around(filesystem, folder)
    if found is not None:
        table, top = found
        top = _address_of(filesystem, top)
        msg = (
            f"log {address} is files of {top}, a table of {table}, whose versions alone tell which "
            f"files are in it and in which order; give the table itself: {top}"
        )
        raise UpdateLogError(msg)


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
            _refuse_table_around(location.filesystem, folder, address)


def _address_of(filesystem: Any, path: str) -> str:
    return path if is_local(filesystem) else str(filesystem.unstrip_protocol(path))


def _files_below(filesystem: Any, top: str, left: tuple[str, ...] = ()) -> Iterator[str]:
    """Files in a folder and the folders within; of a file, the file.

    By ``ls``: ``find`` would leave out a folder that cannot be read, without a word. ``left`` are
    the folders, without links in their paths, that were left by links on the way to ``top``.
    """
    if not filesystem.isdir(top):
        yield top
        return
    entries = filesystem.ls(top, detail=True)
    table = format_of_entries(filesystem, entries)
    if table is not None:
        msg = (
            f"{_address_of(filesystem, top)} is a table of {table}, whose versions alone tell "
            f"which files are in it and in which order; give it as an address of its own"
        )
        raise UpdateLogError(msg)
    for entry in entries:
        path = entry["name"]
        # Object stores list a folder within itself.
        if path.strip("/") == top.strip("/") or _is_ignored(_last(path)):
            continue
        if entry["type"] == "file":
            yield path
            continue
        within = (*left, _left_by(path, left)) if entry.get("islink") else left
        yield from _files_below(filesystem, path, within)


def _left_by(link: str, left: tuple[str, ...]) -> str:
    """Folder of a local link to another; refused if it leads back, where it would be followed on.

    Forty times, by Linux: the files in that circle would be in the log as often.
    """
    folder, target = os.path.realpath(os.path.dirname(link)), os.path.realpath(link)
    if any(os.path.commonpath([each, target]) == target for each in (*left, folder)):
        msg = f"{link} leads back to {target}, so its files would be in the log again; remove it"
        raise UpdateLogError(msg)
    return folder


def _is_ignored(name: str) -> bool:
    return name.startswith(("_", ".")) or name.endswith(".tmp")


def _joined(folder: str, within: str) -> str:
    return f"{folder.rstrip('/')}/{within}"


def _last(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]
