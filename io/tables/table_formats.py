"""Detection of versioned tables and their format, and what reading one requires.

The format of a folder is known by what it keeps there: ``_delta_log`` of Delta, ``metadata`` with
files ``*.metadata.json`` of Iceberg, ``.hoodie`` of Hudi, which is refused.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from ...gpu_core.errors import UpdateLogError
from ..file_systems import is_local
from .delta_table import COMMITS, delta_files
from .table_files import TableFile

DELTA, ICEBERG, HUDI = "Delta", "Iceberg", "Hudi"

#: What a table has in its folder, where Iceberg's is looked into.
_HOODIE, _METADATA = ".hoodie", "metadata"


def format_of(filesystem: Any, folder: str) -> str | None:
    """Format of the table that a folder is; None: it is none, or there is no such folder."""
    if is_local(filesystem):
        # Not listed: there may be very many files.
        marks = (f"{folder.rstrip('/')}/{mark}" for mark in (COMMITS, _HOODIE, _METADATA))
        found = [filesystem.info(mark) for mark in marks if os.path.exists(mark)]
        return format_of_entries(filesystem, found)
    if not filesystem.isdir(folder):
        return None
    return format_of_entries(filesystem, filesystem.ls(folder, detail=True))


def format_of_entries(filesystem: Any, entries: Sequence[Mapping[str, Any]]) -> str | None:
    """The same, by the listing of a folder that ``ls`` gives."""
    names = {str(entry["name"]).rstrip("/").rsplit("/", 1)[-1]: entry for entry in entries}
    if COMMITS in names:
        return DELTA
    if _HOODIE in names:
        return HUDI
    metadata = names.get(_METADATA)
    if metadata is not None and metadata["type"] == "directory":
        within = filesystem.ls(metadata["name"], detail=True)
        if any(entry["name"].endswith(".metadata.json") for entry in within):
            return ICEBERG
    return None


def format_around(filesystem: Any, folder: str) -> tuple[str, str] | None:
    """Format and folder of the table that a folder is part of, by its name or by its partitions."""
    base = folder.rstrip("/")
    while True:
        table = format_of(filesystem, base)
        if table is not None:
            return table, base
        above, _, last = base.rpartition("/")
        if not above or not ("=" in last or last in ("data", "_change_data")):
            return None
        base = above


def files_of_table(
    table: str,
    filesystem: Any,
    root: str,
    shown: str,
    begin: int | None,
    planned: Collection[TableFile],
) -> list[TableFile]:
    """Data files of a table, version by version; parameters as of `delta_table.delta_files`.

    Raises
    ------
    UpdateLogError
        The table cannot be read rightly, or nothing is installed that reads it.
    """
    if table == DELTA:
        return delta_files(filesystem, root, shown, begin, planned)
    if table == HUDI:
        msg = f"{shown} is a table of Hudi, which is not read; write its changes as Parquet files"
        raise UpdateLogError(msg)
    if find_spec("pyiceberg") is None:
        msg = (
            f"{shown} is a table of Iceberg, which is read with pyiceberg; pip install "
            f"-e '.[iceberg]' in the checkout of graphtide, or pip install 'pyiceberg>=0.11'"
        )
        raise UpdateLogError(msg)
    from .iceberg_table import iceberg_files

    return iceberg_files(filesystem, root, shown, begin, planned)
