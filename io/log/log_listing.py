"""The files of a log at one moment: what a footer or an index shows of each, and of all together.

`listing_of` looks into each file, and refuses or leaves out those that cannot be used. Which files
there are: ``paths/log_paths.py``.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from ...gpu_core.errors import UpdateLogError
from ..file_systems import is_local
from ..text.text_index import TextIndex
from .columns.schema import LogSchema, flag_of, not_kept_line
from .file_errors import UnusableFileError
from .log_files import hidden_partitions
from .paths.log_paths import LogPath
from .update_log import UpdateLog, check_time_unit

#: Files in a store that are opened at once.
_REMOTE_FILES = 16


@dataclass(frozen=True)
class LogFile:
    """One file of a log, as its footer describes it."""

    #: Name within the log, see ``paths/log_paths.py``.
    name: str
    #: Bytes.
    size: int
    #: SHA-256 of the footer or the index, after the size: ``<size>-<hex digits>``.
    fingerprint: str
    rows: int
    #: Rows of each row group, or of each block of text.
    row_group_rows: tuple[int, ...]
    #: Whether its first page carries a checksum; true where it has no page. Without checksums,
    #: damage is noticed only where it cannot be decoded, or where rows are read again.
    has_checksums: bool = True


@dataclass(frozen=True)
class LogListing:
    """The files of a log at one moment, and what their schemas have in common."""

    #: In the order in which they are read.
    files: tuple[LogFile, ...]
    #: ``int64`` or an Arrow type; None where no time is read.
    time_unit: str | None
    #: One line on columns that do not enter the graph.
    not_kept: str | None
    #: `LogSchema.id_types` of all files.
    id_types: frozenset[tuple[str, str]]
    #: File -> its index, of text files.
    indexes: dict[str, TextIndex]
    #: File -> why it cannot be used, of those that were left out for that.
    left_out: dict[str, str]
    #: Columns that are read of at least one file.
    found: set[str]
    #: Columns in paths that would be read, but that files have columns of their own of.
    hidden: frozenset[str]

    def joined(self, later: "LogListing") -> "LogListing":
        """Return these files, and after them others that came later."""
        return LogListing(
            files=self.files + later.files,
            time_unit=self.time_unit or later.time_unit,
            not_kept=self.not_kept or later.not_kept,
            id_types=self.id_types | later.id_types,
            indexes={**self.indexes, **later.indexes},
            left_out={**self.left_out, **later.left_out},
            found=self.found | later.found,
            hidden=self.hidden | later.hidden,
        )

    @property
    def has_narrow_ids(self) -> bool:
        """Whether ids are columns of 32 bits in all files."""
        return all("int64" not in pair for pair in self.id_types)


def listing_of(
    log: UpdateLog,
    needed: Collection[str] | None = None,
    paths: Sequence[LogPath] | None = None,
) -> LogListing:
    """List the files of a log in order, each checked by its footer or index, and schema.

    Parameters
    ----------
    log
        The log.
    needed
        Others than these may be left out, if they cannot be used, as long as any can, and lines of
        them that are no rows. None: all are needed, with all of their lines.
    paths
        Files of the log that are looked into; None: all that are there now.

    Raises
    ------
    UpdateLogError
        There is no log, or it holds no file, something that is none of a log, or a file whose
        columns, or whose unit of time, cannot be used.
    """
    left_out: dict[str, UnusableFileError] = {}
    files: list[LogFile] = []
    schemas: list[LogSchema] = []
    indexes: dict[str, TextIndex] = {}
    hidden: set[str] = set()
    time_unit = log.time_unit
    there = log.paths(log.planned) if paths is None else paths
    paths = [path for path in there if path.name not in log.left_out]
    for path, look in zip(paths, _looks(log, paths), strict=True):
        try:
            found = look()
            # The unit is that of the state, or of the first file.
            whose = f"{log.shown(files[0].name)} has" if files else None
            schema = _schema_to_read(log, found, path, time_unit, whose)
            names = [] if schema is None else log.names_in_files(schema.present)
            if found.index and names and needed is None and path.name not in log.planned:
                # Lines that are no rows are refused before any of it is applied.
                found.index.check(names)
        except UnusableFileError as error:
            if needed is None or path.name in needed:
                raise
            left_out[path.name] = error
            continue
        files.append(found.file)
        if schema is None:
            continue
        schemas.append(schema)
        time_unit = time_unit or schema.time_unit
        hidden |= found.hidden & {*names}
        if found.index is not None:
            indexes[path.name] = found.index
    if left_out and not files:
        # Then it is rather the settings that are wrong.
        raise next(iter(left_out.values()))
    return LogListing(
        files=tuple(files),
        time_unit=time_unit,
        not_kept=not_kept_line(schemas, log.wanted),
        id_types=frozenset(schema.id_types for schema in schemas),
        indexes=indexes,
        left_out={name: str(error) for name, error in left_out.items()},
        found={name for schema in schemas for name in schema.present},
        hidden=frozenset(hidden),
    )


def check_properties(log: UpdateLog, listing: LogListing) -> None:
    """Refuse properties that no file of the log has: more likely they are called otherwise.

    Raises
    ------
    UpdateLogError
        There is one.
    """
    lacking = [name for name in log.own if name not in listing.found]
    if lacking and any(file.rows for file in listing.files):
        name = log.name_in_files(lacking[0])
        msg = (
            f"no file of the log has a column {name}, which is to be a property; if it is "
            f"called otherwise there, say so in the setting columns: {flag_of(lacking[0], 'NAME')}"
        )
        raise UpdateLogError(msg)


@dataclass(frozen=True)
class _Found:
    """What an open file shows of itself."""

    file: LogFile
    #: Its columns, by its own names.
    schema: pa.Schema
    #: Of text: where its rows are.
    index: TextIndex | None
    #: Columns in its path that are not taken.
    hidden: frozenset[str]


def _looks(log: UpdateLog, paths: list[LogPath]) -> Iterator[Callable[[], _Found]]:
    """A call for each file that looks into it; files in a store are asked for many at once.

    A store takes as long to answer for one as for many.
    """
    if all(is_local(path.filesystem) for path in paths):
        yield from (partial(_look_into, log, path) for path in paths)
        return
    threads = ThreadPoolExecutor(_REMOTE_FILES, "graphtide-list")
    try:
        yield from [threads.submit(_look_into, log, path).result for path in paths]
    finally:
        threads.shutdown(cancel_futures=True)


def _look_into(log: UpdateLog, path: LogPath) -> _Found:
    with log.opened(path) as file:
        of_log = LogFile(
            name=path.name,
            size=file.size,
            fingerprint=file.fingerprint,
            rows=file.rows,
            row_group_rows=file.group_rows,
            has_checksums=file.has_checksums,
        )
        return _Found(of_log, file.schema, file.index, hidden_partitions(file))


def _schema_to_read(
    log: UpdateLog, found: _Found, path: LogPath, time_unit: str | None, whose: str | None
) -> LogSchema | None:
    """Columns to read of a file; None: of one without rows nothing is read, whatever it has.

    Raises
    ------
    UnusableFileError
        They cannot be used, or their times not beside those of ``time_unit``.
    """
    try:
        schema = log.schema_of(found.schema, path.shown, is_planned=path.name in log.planned)
        check_time_unit(schema, path.shown, time_unit, whose)
    except UnusableFileError:
        names = found.schema.names
        ends = {*log.names_in_files(("src", "dst"))}
        # Columns of an empty frame of pandas have no types; a text file whose header has other
        # columns is something else.
        is_other_text = found.index is not None and names and not ends <= {*names}
        if found.file.rows or is_other_text:
            raise
        return None
    return schema
