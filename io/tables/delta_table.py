"""The versions of a Delta table, in the order in which they were committed, as files of a log.

A commit is a JSON file in ``_delta_log``, a line an action. What is read of a version, as the
protocol says of readers of changes:

* its change data (``cdc``), where it has any: rows that go, and rows that come
* else all rows of the files that it removes, and then all rows of those that it adds; where other
  files stay and some are added, rows about vertices in removed ones do not go: their edges may stay
* nothing of what it only moves (``dataChange: false``: OPTIMIZE, compaction)

A version of a table without a change data feed that removes some files and adds others is refused:
it has rewritten them, maybe for one row, and which one is not recorded.

A table begins with version 0, or where it is asked for, as ``TABLE@v12``: with all rows that it had
as of version 12, and the changes after it. This is how a table is read whose older files were
vacuumed, or whose older commits were cleaned up. Those rows have no order among them.

Commits, and files, are never changed once they are there. So a plan that has versions whose commits
were cleaned up since says itself which files they had.

No reader of Delta is needed: they give the rows of a feed in no certain order, and not as files.

Source: https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from ...gpu_core.errors import UpdateLogError
from ..error_text import one_line
from ..log.file_errors import EmptyLogError, UnusableFileError
from ..log.paths.log_order import natural_key
from ..log.paths.partitions import partitions_of
from .table_files import (
    DELETE,
    DELETE_EDGES,
    FEED_DELETE,
    FEED_INSERT,
    INSERT,
    SNAPSHOT,
    TableFile,
    planned_before,
)

#: Folder of the commits, within the table.
COMMITS = "_delta_log"

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")
_DELETES = frozenset((DELETE, DELETE_EDGES))
_FEED = "delta.enableChangeDataFeed"
_MAPPING = "delta.columnMapping.mode"
#: Features of readers that change nothing for us, or that are refused where they are made use of.
_FEATURES = frozenset(
    ("columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck")
)


@dataclass(frozen=True)
class _Commit:
    """Actions of one version, or of a checkpoint: what led to that version."""

    version: int
    actions: Mapping[str, Sequence[Mapping[str, Any]]]

    def of(self, kind: str) -> Sequence[Mapping[str, Any]]:
        return self.actions.get(kind, ())

    @property
    def operation(self) -> str:
        return next((str(each.get("operation", "")) for each in self.of("commitInfo")), "")


@dataclass
class _Table:
    """State of a table at one version."""

    shown: str
    has_feed: bool = False
    partitions: tuple[str, ...] = ()
    #: Path -> its action, of the files that are in it.
    files: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def commit(self, commit: _Commit) -> None:
        """Become the table after a commit.

        Raises
        ------
        UpdateLogError
            Readers need a feature that is not known here.
        """
        for action in commit.of("protocol"):
            others = set(action.get("readerFeatures") or ()) - _FEATURES
            if others or action["minReaderVersion"] > 3:
                what = min(others) if others else f"version {action['minReaderVersion']}"
                msg = (
                    f"{self.shown} needs readers that know {what}, from version {commit.version} "
                    f"on; write the table without, or its changes as Parquet files"
                )
                raise UpdateLogError(msg)
        for action in commit.of("metaData"):
            settings = dict(action.get("configuration") or {})
            if settings.get(_MAPPING, "none") != "none":
                msg = (
                    f"{self.shown} calls columns otherwise than its files do ({_MAPPING}="
                    f"{settings[_MAPPING]}), which is not read; copy it to a table without"
                )
                raise UpdateLogError(msg)
            self.has_feed = settings.get(_FEED, "").lower() == "true"
        self.partition(commit)
        for action in commit.of("remove"):
            self.files.pop(self.path(action, commit.version), None)
        for action in commit.of("add"):
            self.files[self.path(action, commit.version)] = action

    def partition(self, commit: _Commit) -> None:
        """Take over columns of partitions, which hold for the files of the same commit already."""
        for action in commit.of("metaData"):
            self.partitions = tuple(action.get("partitionColumns") or ())

    def path(self, action: Mapping[str, Any], version: int) -> str:
        """Path of a file within the table.

        Raises
        ------
        UpdateLogError
            It lies elsewhere, as in a shallow clone.
        """
        raw = str(action["path"])
        if raw.startswith("/") or urlsplit(raw).scheme:
            msg = (
                f"{self.shown}: version {version} has a file that lies elsewhere, {raw}, as in a "
                f"shallow clone; make a deep one"
            )
            raise UpdateLogError(msg)
        return unquote(raw)

    def check(self, action: Mapping[str, Any], version: int) -> None:
        """Refuse a file whose rows are others than those that are read of it."""
        path = self.path(action, version)
        if action.get("deletionVector"):
            msg = (
                f"{self.shown}: version {version} leaves rows out of {path} by a deletion vector, "
                f"which is not read; begin after REORG TABLE … APPLY (PURGE), as TABLE@v<version>"
            )
            raise UpdateLogError(msg)
        # A checkpoint gives a list of pairs.
        values = dict(action.get("partitionValues") or {})
        there = partitions_of(path)
        for name in self.partitions:
            value = values.get(name)
            if name not in there or there[name] != (value or None):
                msg = (
                    f"{self.shown}: {path} of version {version} has {name}={value}, which its "
                    f"path does not say; write the table without partitions"
                )
                raise UpdateLogError(msg)


def delta_files(
    filesystem: Any, root: str, shown: str, begin: int | None, planned: Collection[TableFile]
) -> list[TableFile]:
    """Data files of a table, version by version.

    Parameters
    ----------
    filesystem, root
        Where the table is.
    shown
        Its address, for messages.
    begin
        Version whose rows come first; None: the table is read from its beginning.
    planned
        Files of the table that a plan has.

    Raises
    ------
    UpdateLogError
        The table cannot be read rightly, from there.
    """
    commits, checkpoints = _list(filesystem, root, shown)
    first, last = commits[0], commits[-1]
    if begin is not None and begin > last:
        msg = f"{shown}: there is no version {begin} yet, the newest one is {last}"
        raise UpdateLogError(msg)
    cure = f"begin with the rows of a later one, as {shown}@v{last}, and another --state"
    old = planned_before(first, planned)
    # What a version's deletes are called stays as it was planned.
    deletes = {each.version: each.change for each in planned if each.change in _DELETES}
    table = _Table(shown)
    found: list[TableFile] = []
    # Version that the table is as of.
    known = -1
    if first > 0:
        highest = first if old or begin is None else begin
        usable = [version for version in checkpoints if first - 1 <= version <= highest]
        if not usable or (begin is None and not old):
            msg = f"{shown}: versions before {first} are no longer in its {COMMITS}; {cure}"
            raise UpdateLogError(msg)
        known = usable[-1]
        table.commit(_checkpoint(filesystem, root, known))
        if known == begin:
            found += _snapshot(table, known)
    for version in commits:
        if version <= known and not old:
            continue
        commit = _commit(filesystem, root, version)
        table.partition(commit)
        if begin is None or version > begin:
            delete = deletes.get(version)
            found += _changes(table, commit, delete, is_known=version <= known)
        if version > known:
            table.commit(commit)
            if version == begin:
                found += _snapshot(table, version)
    _check_there(filesystem, root, table, found, cure)
    return old + found


def _list(filesystem: Any, root: str, shown: str) -> tuple[list[int], list[int]]:
    """Versions of the commits and of the checkpoints that are there, in order."""
    names = [
        entry["name"].rsplit("/", 1)[-1]
        for entry in filesystem.ls(f"{root.rstrip('/')}/{COMMITS}", detail=True, refresh=True)
    ]
    commits, checkpoints = (
        sorted(int(match[1]) for name in names if (match := pattern.fullmatch(name)))
        for pattern in (_COMMIT, _CHECKPOINT)
    )
    if not commits:
        msg = f"{shown}: there is no commit in {COMMITS}; check the address"
        raise EmptyLogError(msg)
    for before, after in pairwise(commits):
        if after != before + 1:
            msg = (
                f"{shown}: version {before + 1} is missing in {COMMITS}, where there is "
                f"{before} and {after}; put it back"
            )
            raise UpdateLogError(msg)
    return commits, checkpoints


def _commit(filesystem: Any, root: str, version: int) -> _Commit:
    path = f"{root.rstrip('/')}/{COMMITS}/{version:020}.json"
    actions: dict[str, list[Mapping[str, Any]]] = {}
    try:
        for text in filesystem.cat_file(path).splitlines():
            for kind, action in (json.loads(text) if text.strip() else {}).items():
                actions.setdefault(kind, []).append(action)
    except (ValueError, AttributeError) as error:
        msg = f"{path} is no commit of a Delta table ({one_line(error)}); copy it again"
        raise UnusableFileError(msg) from error
    return _Commit(version, actions)


def _checkpoint(filesystem: Any, root: str, version: int) -> _Commit:
    """All that led to a version, but for what was removed before, as one commit."""
    path = f"{root.rstrip('/')}/{COMMITS}/{version:020}.checkpoint.parquet"
    kinds = ["protocol", "metaData", "add"]
    try:
        file = pq.ParquetFile(pa.BufferReader(filesystem.cat_file(path)))
        # Beside no thread that holds the bytes of Python for a moment longer (`checked_tables.py`).
        table = file.read(columns=[*kinds, "sidecar"], use_threads=False)
    except (pa.ArrowException, ValueError) as error:
        msg = f"{path} is no checkpoint of a Delta table ({one_line(error)}); copy it again"
        raise UpdateLogError(msg) from error
    if "sidecar" in table.column_names and table["sidecar"].null_count < table.num_rows:
        msg = (
            f"{path} lists the files of the table in other files (v2Checkpoint), which are not "
            f"read; write a classic checkpoint"
        )
        raise UpdateLogError(msg)
    return _Commit(version, {kind: table[kind].drop_null().to_pylist() for kind in kinds})


def _changes(
    table: _Table, commit: _Commit, delete: str | None, *, is_known: bool
) -> Iterator[TableFile]:
    """Files that a version changes rows by, where ``table`` is as before it, partitions aside.

    ``delete``: what a plan says of files that it removes; None: there is none. Where ``is_known``,
    ``table`` is as after it: then a plan goes beyond this version, which was looked at when that
    was made.
    """
    version = commit.version
    feed = commit.of("cdc")
    removed, added = (
        [action for action in commit.of(kind) if action.get("dataChange", True)]
        for kind in ("remove", "add")
    )
    if feed:
        removed = added = []
    # Where all rows go, it does not matter which of them come back.
    if added and removed and {table.path(each, version) for each in removed} != table.files.keys():
        if not table.has_feed and not is_known:
            by = f" ({commit.operation})" if commit.operation else ""
            msg = (
                f"{table.shown}: version {version}{by} rewrites files, and which of their rows it "
                f"changes is not recorded: it has no change data feed; set {_FEED}=true for "
                f"versions to come, and begin with the rows of this one, as "
                f"{table.shown}@v{version}, and another --state"
            )
            raise UpdateLogError(msg)
        delete = delete or DELETE_EDGES
    delete = delete or DELETE
    for change, actions in (
        (FEED_DELETE, feed), (FEED_INSERT, feed), (delete, removed), (INSERT, added),
    ):  # fmt: skip
        for number, action in enumerate(actions):
            table.check(action, version)
            yield TableFile(version, change, number, table.path(action, version))


def _snapshot(table: _Table, version: int) -> Iterator[TableFile]:
    """Files of the table as of a version, in an order that does not depend on how it is known."""
    for number, path in enumerate(sorted(table.files, key=natural_key)):
        table.check(table.files[path], version)
        yield TableFile(version, SNAPSHOT, number, path)


def _check_there(
    filesystem: Any, root: str, table: _Table, files: Sequence[TableFile], cure: str
) -> None:
    """Refuse files that were deleted (VACUUM): change data, and what is no longer in the table."""
    base = root.rstrip("/")
    for file in files:
        if file.path not in table.files and not filesystem.exists(f"{base}/{file.path}"):
            msg = (
                f"{table.shown}: {file.path} of version {file.version} is gone, by VACUUM or "
                f"otherwise, so what changed in that version cannot be had; {cure}"
            )
            raise UpdateLogError(msg)
