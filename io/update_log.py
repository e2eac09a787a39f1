"""The update log: a folder of Parquet files, ordered by name, whose rows are updates in order.

The log is an address, a column mapping and the kind of records, and holds no open file: it pickles
in a few bytes and is shipped to the workers that read. Any fsspec address will do; local files are
memory-mapped, and what need not be decoded is not copied. The address of one file is a log of that
file. Names that begin with ``_`` or ``.`` or end in ``.tmp`` are ignored; everything else in the
folder must be a Parquet file.

A file's *fingerprint* is its size and the SHA-256 of its footer, which names the place, the size
and the statistics of every column chunk: what a plan needs to know that a file is still the same,
for one short read. It does not see a byte changed in place within the data. Files of
`write_log_file` keep a digest of their rows in the footer, so one with other rows is told from it.

Invariants
----------
* a file is read only where rows are asked for, and only the columns that the records keep
* what is read has canonical names, in canonical order, and the types of the file

Not here: what the columns mean and may be (``schema.py``), how files are cut into batches
(``plan.py``), what the values may be (``csr.py``).

Source: our measurements on one core, 1 M rows of uniform ids: DELTA_BINARY_PACKED and nothing else
takes 5.7 bytes and 5.8 ns a row; with zstd over it 5.5 bytes and 8.9 ns; zstd alone three times as
long. Ids of 32 bits: 5.8 bytes and 11.3 ns a row by differences, 8.4 bytes and 6.7 ns plain, in 14
processes side by side (Sapphire Rapids). Marks of nulls, where there are none, add 6 ns there.
Plain ids and ops of bytes take 9 bytes a row, and 0.1 ns as views (``plain_columns.py``).
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from ..gpu_core.errors import UpdateLogError
from .durable import new_file
from .id_bounds import with_bounds
from .parquet_files import (
    RESTORE,
    bounds_of_rows,
    fast_encodings,
    fingerprint_of,
    one_line,
    parse_footer,
    read_footer,
    read_rows,
)
from .schema import OP_BYTES, LogSchema, check_mapping, check_schema, not_kept_line

#: Metadata of a file: BLAKE2 of its rows.
DIGEST_KEY = "graphtide.rows"

#: Rows of a row group: divides the usual batches, and is long enough to read fast.
ROW_GROUP_ROWS = 250_000
#: The same of a local file that is not decoded, where a batch is a view if it lies in one group.
_PLAIN_GROUP_ROWS = 4_000_000
#: Arguments of ``ParquetWriter`` for pages as long as such a group. Versions that do not know the
#: number of rows have no such limit.
_ONE_PAGE = {"data_page_size": 1 << 26}
if "max_rows_per_page" in signature(pq.ParquetWriter).parameters:
    _ONE_PAGE["max_rows_per_page"] = _PLAIN_GROUP_ROWS


@dataclass(frozen=True)
class LogFile:
    """One file of a log, as its footer tells it."""

    #: Name within the log's folder.
    name: str
    #: Bytes.
    size: int
    #: SHA-256 of the footer, after the size: ``<size>-<hex digits>``.
    fingerprint: str
    rows: int
    row_group_rows: tuple[int, ...]


@dataclass
class UpdateLog:
    """A log of updates in Parquet files.

    Parameters
    ----------
    address
        A folder or a file: a local path or any fsspec URL.
    columns
        Canonical column -> its name in the files, for those that differ.
    records
        Records of the graph; they say which columns are read.
    time_unit
        Unit of the times that the state knows. None takes that of the first file.
    """

    address: str
    columns: dict[str, str] = field(default_factory=dict)
    records: str = "simple"
    #: ``int64`` or an Arrow type; None where no time is read, or before ``files`` was called.
    time_unit: str | None = None
    #: One line on columns that do not enter the graph, after ``files`` was called.
    not_kept: str | None = field(default=None, init=False)
    #: `LogSchema.id_types` of all files, after ``files`` was called.
    id_types: frozenset[tuple[str, str]] = field(default=frozenset(), init=False)

    def __post_init__(self) -> None:
        check_mapping(self.columns)

    @property
    def has_narrow_ids(self) -> bool:
        """Whether ids are columns of 32 bits in all files, after ``files`` was called."""
        return bool(self.id_types) and all("int64" not in pair for pair in self.id_types)

    def files(self) -> list[LogFile]:
        """List the files of the log in order, each checked by its footer and schema.

        Raises
        ------
        UpdateLogError
            There is no log, or it holds no Parquet file, something that is none, or a file whose
            columns, or whose unit of time, cannot be used.
        """
        filesystem, paths = self._paths()
        files: list[LogFile] = []
        schemas: list[LogSchema] = []
        for path in paths:
            name = _base_name(path)
            size, footer = read_footer(filesystem, path, self._shown(name))
            metadata = parse_footer(footer, self._shown(name))
            schema = check_schema(
                metadata.schema.to_arrow_schema(), self.columns, self.records, self._shown(name)
            )
            self._check_time_unit(schema, name, files)
            schemas.append(schema)
            files.append(
                LogFile(
                    name=name,
                    size=size,
                    fingerprint=fingerprint_of(size, footer),
                    rows=metadata.num_rows,
                    row_group_rows=tuple(
                        metadata.row_group(group).num_rows
                        for group in range(metadata.num_row_groups)
                    ),
                )
            )
        self.not_kept = not_kept_line(schemas, self.records)
        self.id_types = frozenset(schema.id_types for schema in schemas)
        return files

    def read(
        self, name: str, first_row: int, rows: int, fingerprint: str | None = None
    ) -> pa.Table:
        """Read a run of rows of one file, in one thread.

        Parameters
        ----------
        name
            Name of the file within the log.
        first_row, rows
            The run; it must lie within the file.
        fingerprint
            Where given, the file must still have it.

        Returns
        -------
        table
            The columns that the records keep and the file has, by their canonical names, with
            what the file says of the bounds of ids (``id_bounds.py``).

        Raises
        ------
        UpdateLogError
            The file is gone, has changed, or is damaged.
        """
        filesystem, path = self._path_of(name)
        shown = self._shown(name)
        size, footer = read_footer(filesystem, path, shown)
        if fingerprint not in (None, fingerprint_of(size, footer)):
            msg = f"{shown} has changed since it was planned; {RESTORE}"
            raise UpdateLogError(msg)
        metadata = parse_footer(footer, shown)
        if first_row < 0 or rows < 0 or first_row + rows > metadata.num_rows:
            msg = (
                f"{shown} has {metadata.num_rows} rows, but rows {first_row} to "
                f"{first_row + rows - 1} were planned; {RESTORE}"
            )
            raise UpdateLogError(msg)
        schema = check_schema(metadata.schema.to_arrow_schema(), self.columns, self.records, shown)
        names = [self.columns.get(column, column) for column in schema.present]
        try:
            table = read_rows(filesystem, path, metadata, names, first_row, rows)
        except (pa.ArrowException, OSError) as error:
            msg = (
                f"{shown}: rows {first_row} to {first_row + rows - 1} cannot be read "
                f"({one_line(error)}); the file is damaged: copy it again"
            )
            raise UpdateLogError(msg) from error
        table = table.rename_columns(list(schema.present))
        ends = [self.columns.get(column, column) for column in ("src", "dst")]
        table = with_bounds(table, bounds_of_rows(metadata, ends, first_row, rows))
        if pa.types.is_null(table.schema.field("dst").type):
            # Vertex updates alone: nulls without a type become null ids.
            place = table.schema.get_field_index("dst")
            table = table.set_column(place, "dst", table["dst"].cast(pa.int64()))
        return table

    # -- where the files are

    def _filesystem(self) -> tuple[Any, str]:
        try:
            filesystem, root = fsspec.core.url_to_fs(self.address)
        except (ValueError, ImportError, OSError) as error:
            msg = f"log {self.address} cannot be opened: {one_line(error)}"
            raise UpdateLogError(msg) from error
        return filesystem, root

    def _paths(self) -> tuple[Any, list[str]]:
        """Paths of the log's files in order; refuses what does not belong into a log."""
        filesystem, root = self._filesystem()
        try:
            if filesystem.isfile(root):
                return filesystem, [root]
            if not filesystem.exists(root):
                msg = f"there is no log {self.address}; give a folder of Parquet files, or a file"
                raise UpdateLogError(msg)
            entries = filesystem.ls(root, detail=True, refresh=True)
        except OSError as error:
            msg = f"log {self.address} cannot be listed: {one_line(error)}"
            raise UpdateLogError(msg) from error
        paths: list[str] = []
        folders: list[str] = []
        for entry in entries:
            name = _base_name(entry["name"])
            # Object stores list a folder within itself.
            itself = entry["name"].strip("/") == root.strip("/")
            if itself or name.startswith(("_", ".")) or name.endswith(".tmp"):
                continue
            (folders if entry["type"] == "directory" else paths).append(entry["name"])
        if folders:
            msg = (
                f"log {self.address} holds the folder {_base_name(min(folders))}; a log is flat: "
                f"give that folder as the log, or move it away"
            )
            raise UpdateLogError(msg)
        if not paths:
            msg = f"log {self.address} holds no Parquet file; put one there, or check the address"
            raise UpdateLogError(msg)
        return filesystem, sorted(paths, key=_base_name)

    def _path_of(self, name: str) -> tuple[Any, str]:
        filesystem, root = self._filesystem()
        if _base_name(root) == name and filesystem.isfile(root):
            return filesystem, root
        return filesystem, f"{root.rstrip('/')}/{name}"

    def _shown(self, name: str) -> str:
        """How a file is called in messages: as the user would open it."""
        if _base_name(self.address.rstrip("/")) == name:
            return self.address
        return f"{self.address.rstrip('/')}/{name}"

    def _check_time_unit(self, schema: LogSchema, name: str, before: list[LogFile]) -> None:
        if self.time_unit is None or schema.time_unit is None:
            self.time_unit = self.time_unit or schema.time_unit
        elif schema.time_unit != self.time_unit:
            others = f"{before[0].name} has" if before else "the state was made with"
            msg = (
                f"{self._shown(name)}: times are {schema.time_unit}, but {others} "
                f"{self.time_unit}; write the file with that unit and zone"
            )
            raise UpdateLogError(msg)


def write_log_file(
    path: str, table: pa.Table | Iterable[pa.Table], row_group_rows: int | None = None
) -> None:
    """Write a file of an update log in the encodings that read fastest.

    The file is written beside, under a name that a log ignores, and renamed when it is whole.

    Parameters
    ----------
    path
        A local path or any fsspec URL.
    table
        Columns as ``schema.py`` knows them; or tables of one schema, to be written in turn.
    row_group_rows
        Rows of a row group, at most; None: as many as suit how the file will be read.
    """
    tables = iter([table] if isinstance(table, pa.Table) else table)
    filesystem, target = fsspec.core.url_to_fs(path)
    if isinstance(filesystem, LocalFileSystem):
        with new_file(Path(target), UpdateLogError) as temporary:
            _write_tables(str(temporary), tables, row_group_rows, _PLAIN_GROUP_ROWS)
        return
    temporary_name = target + ".tmp"
    with filesystem.open(temporary_name, "wb") as file:
        _write_tables(file, tables, row_group_rows, ROW_GROUP_ROWS)
    filesystem.mv(temporary_name, target)


def _write_tables(
    where: Any, tables: Iterator[pa.Table], row_group_rows: int | None, plain_group_rows: int
) -> None:
    """Write tables in turn; ``plain_group_rows``: of a row group, if all columns are plain."""
    first = next(tables)
    is_plain = _is_plain(first.schema)
    arguments = _encodings(first.schema) | (_ONE_PAGE if is_plain else {})
    if row_group_rows is None:
        row_group_rows = plain_group_rows if is_plain else ROW_GROUP_ROWS
    digest = hashlib.blake2b(digest_size=16)
    with pq.ParquetWriter(where, first.schema, **arguments) as writer:
        for table in _whole_groups(chain([first], tables), row_group_rows):
            writer.write_table(table, row_group_size=row_group_rows)
            for batch in table.to_batches():
                digest.update(batch.serialize())
        # Other rows may take as many bytes, and have the same statistics; see fingerprints.
        writer.add_key_value_metadata({DIGEST_KEY: digest.hexdigest()})


def _whole_groups(tables: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Join tables, and cut them, to multiples of so many rows; the last one is what is left."""
    waiting = next(tables)
    for table in tables:
        whole = waiting.num_rows // rows * rows
        if whole:
            yield waiting.slice(0, whole)
        waiting = pa.concat_tables([waiting.slice(whole), table])
    yield waiting


def _encodings(schema: pa.Schema) -> dict[str, Any]:
    """Arguments of ``ParquetWriter``: ids of 32 bits are stored as they are."""
    encodings = fast_encodings(schema)
    for column in schema:
        if _has_narrow_ids(column):
            encodings["column_encoding"][column.name] = "PLAIN"
    return encodings


def _has_narrow_ids(column: pa.Field) -> bool:
    return column.name in ("src", "dst") and column.type in (pa.int32(), pa.uint32())


def _is_plain(schema: pa.Schema) -> bool:
    """Whether no column is encoded, compressed, or marks nulls: then all are read as views."""
    return not any(
        column.nullable or not (_has_narrow_ids(column) or column.type == OP_BYTES)
        for column in schema
    )


def _base_name(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]
