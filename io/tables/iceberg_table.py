"""The snapshots of an Iceberg table, in the order in which they were committed, as files of a log.

A table's newest ``metadata/*.metadata.json`` names its snapshots; each has lists (Avro, read by
pyiceberg) of the data files that it added and of those that it removed. Its version is its sequence
number. What is read of a snapshot:

* rows of the files that it removes, if it adds none, or removes all that there were
* rows of the files that it adds, if it removes none, or all
* nothing of what it only moves (``replace``: compaction)

Iceberg has no feed of changed rows. So a snapshot that rewrites some files, or that deletes rows by
position or by value, is refused: which rows changed is not recorded. A table may be read from a
later snapshot on, as ``TABLE@v12``: with all rows as of the one with sequence number 12, which have
no order among them, and the changes after it.

What is read is what lies below the table's folder, also where that was moved as a whole. A catalog
is not asked.

Source: https://iceberg.apache.org/spec/
"""

import gzip
import json
import re
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from pyiceberg.manifest import FileFormat, ManifestContent, ManifestEntryStatus
from pyiceberg.table.metadata import TableMetadataUtil

from ...gpu_core.errors import UpdateLogError
from ..error_text import one_line
from ..log.columns.schema import CANONICAL
from ..log.file_errors import EmptyLogError, UnusableFileError
from ..log.paths.log_order import natural_key
from .table_files import DELETE, INSERT, SNAPSHOT, TableFile, planned_before

_METADATA = re.compile(r"v?(\d+)(-.*?)?(\.gz)?\.metadata\.json")
#: Folders that spread files over an object store, by a hash of their names.
_HASH = re.compile(r"(^|/)(?:[01]{4}/){3}[01]{8}[/-]")


@dataclass(frozen=True)
class _Folder:
    """Access to the table's files: all of pyiceberg's ``FileIO`` that reading lists takes."""

    filesystem: Any
    root: str
    shown: str
    #: Where the table's own metadata say that it is.
    location: str = ""

    def within(self, location: str) -> str:
        """Path within the table of a file that its metadata name.

        Raises
        ------
        UpdateLogError
            It lies elsewhere.
        """
        base = self.location.rstrip("/") + "/"
        if not location.startswith(base):
            msg = (
                f"{self.shown}: {location} is a file of the table, but does not lie in its folder "
                f"{self.location}; copy the table to one folder"
            )
            raise UpdateLogError(msg)
        return location.removeprefix(base)

    def new_input(self, location: str) -> "_Input":
        """A file to read."""
        return _Input(self.filesystem, f"{self.root.rstrip('/')}/{self.within(location)}", location)


@dataclass(frozen=True)
class _Input:
    """All of pyiceberg's ``InputFile`` that reading lists takes."""

    filesystem: Any
    path: str
    location: str

    def __len__(self) -> int:
        return int(self.filesystem.size(self.path))

    def open(self, seekable: bool = True) -> Any:
        """Open it for reading."""
        del seekable  # all are
        return self.filesystem.open(self.path, "rb")


def iceberg_files(
    filesystem: Any, root: str, shown: str, begin: int | None, planned: Collection[TableFile]
) -> list[TableFile]:
    """Data files of a table, snapshot by snapshot; parameters as of `delta_table.delta_files`.

    Raises
    ------
    UpdateLogError
        The table cannot be read rightly, from there.
    """
    folder, metadata = _newest_metadata(_Folder(filesystem, root, shown))
    snapshots = _numbered(_line(metadata, shown), shown, begin)
    first, last = snapshots[0].sequence_number, snapshots[-1].sequence_number
    cure = f"begin with the rows of a later snapshot, as {shown}@v{last}, and another --state"
    old: list[TableFile] = []
    found: list[TableFile] = []
    if begin is not None and all(each.sequence_number != begin for each in snapshots):
        # It may have expired since it was planned.
        old = planned_before(first, planned) if begin < first else []
        if not old:
            msg = f"{shown}: there is no snapshot {begin}; the newest one is {last}"
            raise UpdateLogError(msg)
    try:
        if begin is None and _had_others_before(folder, snapshots[0]):
            old = planned_before(first, planned)
            if not old:
                msg = f"{shown}: snapshots before {first} have expired; {cure}"
                raise UpdateLogError(msg)
        for before, snapshot in zip([None, *snapshots], snapshots, strict=False):
            version = snapshot.sequence_number
            if version == begin:
                found += _snapshot(folder, snapshot, cure)
            elif begin is None or version > begin:
                found += _changes(folder, before, snapshot, cure)
    except UpdateLogError:
        raise
    except (OSError, ValueError, KeyError) as error:
        msg = f"{shown}: the lists of its snapshots cannot be read: {one_line(error)}; {cure}"
        raise UpdateLogError(msg) from error
    return old + found


def _newest_metadata(folder: _Folder) -> tuple[_Folder, Any]:
    """Metadata of the table as it is now, and the folder with what they call it."""
    names: dict[int, list[str]] = {}
    base = f"{folder.root.rstrip('/')}/metadata"
    for entry in folder.filesystem.ls(base, detail=True, refresh=True):
        name = entry["name"].rsplit("/", 1)[-1]
        if match := _METADATA.fullmatch(name):
            names.setdefault(int(match[1]), []).append(name)
    newest = names[max(names)] if names else []
    if len(newest) != 1:
        what = " and ".join(sorted(newest)) or "none that is numbered"
        msg = (
            f"{folder.shown}: which metadata are the newest is unknown: there is {what}; remove "
            f"what the catalog does not name"
        )
        raise UnusableFileError(msg)
    text = folder.filesystem.cat_file(f"{base}/{newest[0]}")
    try:
        if newest[0].endswith(".gz.metadata.json"):
            text = gzip.decompress(text)
        metadata = TableMetadataUtil.parse_obj(json.loads(text))
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        msg = f"{base}/{newest[0]} are no metadata of a table ({one_line(error)}); copy them again"
        raise UnusableFileError(msg) from error
    if metadata.format_version < 2:
        msg = f"{folder.shown} is of Iceberg's format 1, without sequence numbers; upgrade it to 2"
        raise UpdateLogError(msg)
    _check_names(metadata, folder.shown)
    placed = _Folder(folder.filesystem, folder.root, folder.shown, metadata.location)
    return placed, metadata


def _check_names(metadata: Any, shown: str) -> None:
    """Refuse columns whose name, or values, older files do not have as the table has them now."""
    names: dict[int, str] = {}
    numbers: dict[str, int] = {}
    for schema in metadata.schemas:
        for column in schema.fields:
            name = column.name
            before = names.setdefault(column.field_id, name)
            what = None
            if before != name:
                what = f"column {before} was renamed to {name}"
            elif numbers.setdefault(name, column.field_id) != column.field_id:
                what = f"column {name} was dropped, and another one of that name added"
            elif column.initial_default is not None:
                what = f"column {name} has the value {column.initial_default} in older rows"
            if what is not None:
                msg = f"{shown}: {what}, which is not read; write the table anew"
                raise UpdateLogError(msg)
    for spec in metadata.partition_specs:
        for part in spec.fields:
            # Its values stand in the paths of the files, where those of a column would: of a log,
            # or of the table, which older files may lack.
            is_column = part.name in numbers or part.name in CANONICAL
            if is_column and numbers.get(part.name) != part.source_id:
                msg = (
                    f"{shown}: {part.name} is a partition of the table, {part.transform} of column "
                    f"{names.get(part.source_id)}, but would be read as the column {part.name}; "
                    f"write the table anew, with the partition called otherwise"
                )
                raise UpdateLogError(msg)


def _line(metadata: Any, shown: str) -> list[Any]:
    """Snapshots that led to the one of now, in order, as far as they have not expired."""
    by_id = {each.snapshot_id: each for each in metadata.snapshots}
    found: list[Any] = []
    at = metadata.current_snapshot_id
    while at in by_id:
        found.append(by_id[at])
        at = by_id[at].parent_snapshot_id
    if not found:
        msg = f"{shown} has no snapshot yet; write some rows"
        raise EmptyLogError(msg)
    return found[::-1]


def _numbered(line: list[Any], shown: str, begin: int | None) -> list[Any]:
    """Snapshots without those before the one to begin with that have its number.

    Raises
    ------
    UpdateLogError
        Several have the same number, so that the names of their files would not be in their order.
    """
    alike = sum(each.sequence_number == line[0].sequence_number for each in line)
    if alike > 1 and begin is None:
        msg = (
            f"{shown}: its first {alike} snapshots, of before an upgrade from Iceberg's format 1, "
            f"have no numbers, so their changes are not read; begin with the rows of the last one "
            f"of these, as {shown}@v{line[0].sequence_number}"
        )
        raise UpdateLogError(msg)
    return line[alike - 1 :]


def _had_others_before(folder: _Folder, snapshot: Any) -> bool:
    """Whether others led to a snapshot; some writers forget its parent when that expires."""
    return snapshot.parent_snapshot_id is not None or any(
        manifest.added_snapshot_id != snapshot.snapshot_id
        for manifest in snapshot.manifests(folder)
    )


def _changes(folder: _Folder, before: Any, snapshot: Any, cure: str) -> Iterator[TableFile]:
    """Files that a snapshot changes rows by; ``before``: the one before it, if it is there."""
    version = snapshot.sequence_number
    operation = snapshot.summary.operation.value if snapshot.summary else ""
    if operation == "replace":
        return
    added: list[str] = []
    removed: list[str] = []
    for manifest in snapshot.manifests(folder):
        if manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        for entry in manifest.fetch_manifest_entry(folder, discard_deleted=False):
            is_deleted = entry.status == ManifestEntryStatus.DELETED
            if not is_deleted and entry.snapshot_id != snapshot.snapshot_id:
                continue  # an older file, whose entry was copied
            _check_file(folder, manifest, entry.data_file, version, cure)
            if is_deleted:
                removed.append(folder.within(entry.data_file.file_path))
            elif entry.status == ManifestEntryStatus.ADDED:
                added.append(folder.within(entry.data_file.file_path))
    live = None if before is None or not removed else set(_live(folder, before))
    if live is not None:
        # Some writers (pyiceberg 0.11) leave the id of the snapshot that added a file in the entry
        # that deletes it, so that id does not show which deletes are of this snapshot.
        removed = [path for path in removed if path in live]
    if added and removed and (live is None or set(removed) != live):
        msg = (
            f"{folder.shown}: snapshot {version} ({operation}) rewrites files, and which of their "
            f"rows it changes is not recorded; {cure}"
        )
        raise UpdateLogError(msg)
    for change, paths in ((DELETE, removed), (INSERT, added)):
        for number, path in enumerate(sorted(paths, key=_writing_key)):
            if not folder.filesystem.exists(f"{folder.root.rstrip('/')}/{path}"):
                msg = f"{folder.shown}: {path} of snapshot {version} is gone; {cure}"
                raise UpdateLogError(msg)
            yield TableFile(version, change, number, path)


def _writing_key(path: str) -> tuple[object, ...]:
    """Sort key of the files of a snapshot: their writer has numbered them."""
    return natural_key(_HASH.sub(r"\1", path, count=1)), path


def _live(folder: _Folder, snapshot: Any) -> Iterator[str]:
    """Data files of the table as of a snapshot."""
    for manifest in snapshot.manifests(folder):
        if manifest.content == ManifestContent.DATA:
            for entry in manifest.fetch_manifest_entry(folder):
                yield folder.within(entry.data_file.file_path)


def _snapshot(folder: _Folder, snapshot: Any, cure: str) -> Iterator[TableFile]:
    """Files of the table as of a snapshot."""
    for manifest in snapshot.manifests(folder):
        for entry in manifest.fetch_manifest_entry(folder):
            _check_file(folder, manifest, entry.data_file, snapshot.sequence_number, cure)
    for number, path in enumerate(sorted(_live(folder, snapshot), key=natural_key)):
        yield TableFile(snapshot.sequence_number, SNAPSHOT, number, path)


def _check_file(folder: _Folder, manifest: Any, file: Any, version: int, cure: str) -> None:
    """Refuse what is no Parquet file of rows."""
    if manifest.content != ManifestContent.DATA:
        msg = (
            f"{folder.shown}: snapshot {version} has rows deleted by position or by value, which "
            f"is not read; {cure}, once its files were rewritten"
        )
        raise UpdateLogError(msg)
    if file.file_format != FileFormat.PARQUET:
        msg = f"{folder.shown}: {file.file_path} is no Parquet file; rewrite the table as Parquet"
        raise UpdateLogError(msg)
