"""The files at one address: a folder, a file, a pattern or a table.

A folder has all that lies in it, also in folders within; a pattern has ``*``, ``?``, ``[…]`` or
``**``; a table (Delta, Iceberg) has the files that its versions say, in their order
(``table_files.py``). Names of files or folders that begin with ``_`` or ``.`` or end in ``.tmp``
are ignored.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from ....gpu_core.errors import UpdateLogError
from ....gpu_core.printable import is_unicode, printable
from ...file_systems import is_local, reach
from ...tables.table_files import TableFile
from ...tables.table_formats import files_of_table, format_around, format_of, format_of_entries
from .addresses import PATTERN, Location, base_of, is_pattern


def files_at(
    location: Location, address: str, known: Sequence[str]
) -> tuple[str | None, list[str]]:
    """Find the files at an address.

    Parameters
    ----------
    location, address
        The address, and as the user gave it.
    known
        Names of its files that a plan has: a table may have forgotten of which version they are.

    Returns
    -------
    table : str or None
        Format of the table that it is.
    names : list
        Paths of the files within it, in any order.

    Raises
    ------
    UpdateLogError
        There is nothing, or what must not be read file by file; or a name is no UTF-8.
    """
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
        names = [last_part(root)]
    else:
        has_pattern = is_pattern(filesystem, root)
        if not has_pattern and not filesystem.exists(root):
            msg = f"there is no log {address}; give a folder of Parquet, CSV or JSON, or a file"
            raise UpdateLogError(msg)
        if location.version is not None:
            msg = (
                f"{location.shown} is no table, and has no version {location.version}; leave @v out"
            )
            raise UpdateLogError(msg)
        base = base_of(root) if has_pattern else root
        tops = filesystem.glob(root, detail=True) if has_pattern else {root: {}}
        for folder in {top.rpartition("/")[0] for top in tops} if has_pattern else {root}:
            refuse_table_around(filesystem, folder, address)
        # What is known to be a file is not asked for once more.
        files = {top for top, entry in tops.items() if entry.get("type") == "file"}
        paths = files.union(*(_files_below(filesystem, top) for top in tops.keys() - files))
        names = [path[len(base) :].lstrip("/") for path in paths]
    names = [name for name in names if not any(map(is_ignored, name.split("/")))]
    _refuse_names_beyond_unicode(names, address)
    return names


def _refuse_names_beyond_unicode(names: Sequence[str], address: str) -> None:
    """Refuse names that the files of a state, which are UTF-8, cannot hold."""
    for name in names:
        if not is_unicode(name):
            msg = f"the name of a file of log {address} is no UTF-8: {printable(name)}; rename it"
            raise UpdateLogError(msg)


def refuse_table_around(filesystem: Any, folder: str, address: str) -> None:
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
        if path.strip("/") == top.strip("/"):
            # Object stores list a folder within itself, and a folder without a name likewise.
            if entry["type"] == "directory":
                _refuse_files_without_folder(filesystem, top)
            continue
        if is_ignored(last_part(path)):
            continue
        if entry["type"] == "file":
            yield path
            continue
        within = (*left, _left_by(path, left)) if entry.get("islink") else left
        yield from _files_below(filesystem, path, within)


def _refuse_files_without_folder(filesystem: Any, top: str) -> None:
    """Refuse ``top//file`` in an object store: its folder has no name by which it is listed."""
    within = f"{top.rstrip('/')}//"
    lost = next((each for each in filesystem.find(top) if each.startswith(within)), None)
    if lost is not None:
        msg = (
            f"{_address_of(filesystem, lost)} is in a folder without a name, between two slashes, "
            f"which cannot be listed; give the file a path with single ones"
        )
        raise UpdateLogError(msg)


def _left_by(link: str, left: tuple[str, ...]) -> str:
    """Folder of a local link to another; refused if it leads back, where it would be followed on.

    Forty times, by Linux: the files in that circle would be in the log as often.
    """
    folder, target = os.path.realpath(os.path.dirname(link)), os.path.realpath(link)
    if any(os.path.commonpath([each, target]) == target for each in (*left, folder)):
        msg = f"{link} leads back to {target}, so its files would be in the log again; remove it"
        raise UpdateLogError(msg)
    return folder


def is_ignored(name: str) -> bool:
    """Whether a file or folder of this name is none of a log."""
    return name.startswith(("_", ".")) or name.endswith(".tmp")


def last_part(path: str) -> str:
    """Name of a file or folder without the folders that it is in."""
    return path.rstrip("/").rsplit("/", 1)[-1]
