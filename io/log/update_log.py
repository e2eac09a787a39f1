"""The update log: files whose rows, file after file, are updates in order.

The log is its addresses, a column mapping and the kind of records, and holds no open file: it
pickles in a few bytes and is shipped to the workers that read. Any fsspec address will do; local
Parquet files are memory-mapped, and what need not be decoded is not copied. Which files it has, and
in which order, is in ``paths/log_paths.py``; what they show before rows are read in
``log_listing.py``; what a file is and how it is opened in ``log_files.py``.

A file's *fingerprint* is its size and the SHA-256 of its footer, which names the place, the size
and the statistics of every column chunk: what a plan needs to know that a file is still the same,
for one short read. Text files have an index instead, made when they are planned
(``text_files.py``). Bytes of the data are checked when rows are read: against the checksums that
pages carry, and against what was read before, where the caller knows it.

Invariants
----------
* a file is read only where rows are asked for, and only the columns that the records keep
* what is read has canonical names, in canonical order, and the types of the file

Not here: what the columns mean and may be (``columns/``), how files are cut into batches
(``plan.py``), what the values may be (``conversion.py``), rows in the order of a column
(``order/row_order.py``), writing (``log_writer.py``).
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pyarrow as pa

from ...gpu_core.errors import BatchError, UpdateLogError
from ...gpu_core.id_kinds import are_names
from ...gpu_core.times import check_together, time_unit_named
from ..error_text import RESTORE
from ..file_systems import is_local
from ..text.text_index import TextIndex
from ..text.text_scan import stamp_of
from .columns.column_types import of_read_types, with_typed_nulls
from .columns.id_bounds import ColumnBounds, with_bounds
from .columns.schema import LogSchema, WantedColumns, check_mapping, check_schema
from .file_errors import UnusableFileError
from .file_rows import ReadRows
from .log_files import LogFileReader, names_of_columns, open_log_file
from .operations import USUAL, Operations
from .paths.log_paths import LogPath, list_in_order, list_log, log_path
from .paths.operation_folders import refuse_operations_apart

#: What the column that gives the order is called in a table.
ORDER_KEY = "order key"


@dataclass(frozen=True)
class UpdateLog:
    """A log of updates in Parquet, CSV or JSON files.

    Parameters
    ----------
    address
        A folder, a file or a pattern: a local path or any fsspec URL; or several of them.
    columns
        Canonical column -> its name in the files, for those that differ.
    records
        Records of the graph; they say which columns are read.
    time_unit
        Unit of the times that the state knows. None takes that of the first file. Files of other
        units are converted where that is exact (``conversion.py``).
    operations
        Words of the column ``op``.
    indexes
        File -> its index, of text files whose index is known.
    left_out
        Names of files that lie there and are no part of the log.
    planned
        Names of files that a plan has.
    ids, on_repeat
        Kind of the graph's ids, and its rule for repeats, as `DynamicGraph` has them.
    own
        Properties of the user's own, which are columns of the log: name -> type in which one is
        read that does not say its own.
    """

    address: str | tuple[str, ...]
    columns: dict[str, str] = field(default_factory=dict)
    records: str = "simple"
    time_unit: str | None = None
    operations: Operations = USUAL
    indexes: Mapping[str, TextIndex] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    planned: frozenset[str] = frozenset()
    ids: str = "any"
    on_repeat: str = "last"
    own: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_mapping(self.columns, self.own)

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses, in order."""
        return (self.address,) if isinstance(self.address, str) else self.address

    def paths(self, known: Collection[str] | None = None) -> list[LogPath]:
        """Find the files of the log, in order; see `list_log`.

        ``known``: names of files that are known, where new ones are to be planned, and so must not
        be found before others that come first; see `list_in_order`.
        """
        if known is None:
            return list_log(self.addresses, self.planned)
        return list_in_order(self.addresses, self.planned, known)

    def name_in_files(self, column: str) -> str:
        """Name that a column has in the files, by its canonical one."""
        return self.columns.get(column, column)

    def names_in_files(self, columns: Iterable[str]) -> list[str]:
        """The same of several columns."""
        return list(map(self.name_in_files, columns))

    @property
    def wanted(self) -> WantedColumns:
        """What the graph reads of a file."""
        return WantedColumns(self.columns, self.records, self.ids, self.on_repeat, self.own)

    def schema_of(self, schema: pa.Schema, shown: str, *, is_planned: bool = False) -> LogSchema:
        """What is read of a file with these columns, which messages call ``shown``.

        Raises
        ------
        UnusableFileError
            They cannot be used.
        """
        return check_schema(schema, self.wanted, shown, is_planned=is_planned)

    def check(self, file: LogFileReader, path: LogPath) -> None:
        """Refuse an open file whose columns, or whose unit of time, a state cannot use.

        Of a file without rows nothing is used.

        Raises
        ------
        UpdateLogError
            It is such a file.
        """
        if file.rows:
            self.check_columns(file.schema, path.shown)

    def check_columns(self, schema: pa.Schema, shown: str) -> None:
        """Refuse columns of a file, called ``shown``, that a state cannot use; as `check`."""
        check_time_unit(self.schema_of(schema, shown), shown, self.time_unit)

    def check_operations(self, names: Iterable[str]) -> None:
        """Refuse files, of these names, whose operations stand in their paths, in no order.

        Raises
        ------
        UpdateLogError
            There are such.
        """
        column = self.name_in_files("op")
        refuse_operations_apart(names, column, self.operations.words, self.addresses)

    @contextmanager
    def opened(
        self, path: LogPath, *, dictionaries: bool = False, sifts: bool = False
    ) -> Iterator[LogFileReader]:
        """Open a file until the block ends, see `open_log_file`.

        A text file that has changed is indexed again.
        """
        index = self.indexes.get(path.name)
        if index is not None and index.stamp != stamp_of(path):
            index = None
        roles = names_of_columns(self.columns, self.own)
        with open_log_file(
            path, roles, index, self.ids, self.own, dictionaries=dictionaries, sifts=sifts
        ) as file:
            yield file

    def for_rows(self, runs: Iterable[tuple[str, int, int]]) -> "UpdateLog":
        """The same log to read these rows alone: ``(file, first row, rows)``, a run a file."""
        parts = {
            name: self.indexes[name].part(first_row, rows)
            for name, first_row, rows in runs
            if name in self.indexes
        }
        return replace(self, indexes=parts, left_out=frozenset(), planned=frozenset())

    def check_size(self, name: str) -> None:
        """Refuse a text file on a disk that is longer, or shorter, than when it was indexed.

        Raises
        ------
        UpdateLogError
            It is.
        """
        index, path = self.indexes.get(name), log_path(self.addresses, name)
        if index is None or not is_local(path.filesystem):
            # An object of a store is there as a whole, and so is Parquet that has a footer.
            return
        try:
            size = os.stat(path.path).st_size
        except OSError:
            return
        if size != index.size:
            msg = (
                f"{path.shown} has {size} bytes, but had {index.size} when it was planned: was it "
                f"still being written? Write text under a name that ends in .tmp, then rename it. "
                f"The same command takes all of this file if none of it is in a checkpoint; else "
                f"{RESTORE}"
            )
            raise UpdateLogError(msg)

    def shown(self, name: str) -> str:
        """Name of a file in messages: as the user would open it."""
        return log_path(self.addresses, name).shown

    def read(
        self, name: str, first_row: int, rows: int, fingerprint: str | None = None
    ) -> pa.Table:
        """Read a run of rows of one file; as `read_checked`, the table alone."""
        return self.read_checked(name, first_row, rows, fingerprint).table

    def read_checked(
        self,
        name: str,
        first_row: int,
        rows: int,
        fingerprint: str | None = None,
        known: Mapping[int, int] | None = None,
        key: str | None = None,
        *,
        dictionaries: bool = False,
        sifts: bool = False,
    ) -> ReadRows:
        """Read a run of rows of one file, in one thread.

        Parameters
        ----------
        name
            Name of the file within the log.
        first_row, rows
            The run; it must lie within the file.
        fingerprint
            Where given, the file must still have it.
        known
            Row group -> checksum that it had when it was read before, see `ReadRows.sums`.
        key
            A further column, by its name in the file, which becomes the last one: `ORDER_KEY`.
        dictionaries
            Whether ops and names that are stored as dictionaries, and numbers of them, are left so.
        sifts
            Whether lines of text that are no rows are left out, and listed in `ReadRows.wrong`.

        Returns
        -------
        rows
            The columns that the records keep and the file has, by their canonical names, with
            what the file says of the bounds of ids (``columns/id_bounds.py``); and the checksums of
            the row groups that hold the rows.

        Raises
        ------
        UpdateLogError
            The file is gone, has changed, or is damaged.
        """
        path = log_path(self.addresses, name)
        shown = path.shown
        with self.opened(path, dictionaries=dictionaries, sifts=sifts) as file:
            _check_as_planned(file, shown, first_row, rows, fingerprint)
            schema = self.schema_of(file.schema, shown, is_planned=True)
            names = self.names_in_files(schema.present)
            keys = [] if key is None else [key]
            found = file.read(list(dict.fromkeys([*names, *keys])), first_row, rows)
            ends = self.names_in_files(("src", "dst"))
            bounds: ColumnBounds = [None, None]
            if not are_names(self.ids):
                found_bounds = file.bounds(ends, first_row, rows)
                # Of decimals they are decimals, too.
                bounds = [each and (int(each[0]), int(each[1])) for each in found_bounds]
        _check_sums(found, shown, known or {})
        table = found.table.select(names).rename_columns(list(schema.present))
        # Vertex updates alone may have a column dst of nulls without a type.
        table = with_bounds(with_typed_nulls(of_read_types(table), self.ids), bounds)
        if key is not None:
            table = table.append_column(ORDER_KEY, found.table[key])
        return replace(found, table=table)


def check_time_unit(
    schema: LogSchema, shown: str, time_unit: str | None, whose: str | None = None
) -> None:
    """Refuse times of a file, called ``shown``, that cannot be kept in a unit.

    ``whose``: what has that unit, with a verb, for messages; None: the state.

    Raises
    ------
    UnusableFileError
        They cannot.
    """
    if time_unit is None or schema.time_unit is None:
        return
    whose = whose or "the state was made with"
    try:
        check_together(time_unit_named(schema.time_unit), time_unit_named(time_unit), whose)
    except BatchError as error:
        msg = f"{shown}: {error}"
        raise UnusableFileError(msg) from None


def _check_as_planned(
    file: LogFileReader, shown: str, first_row: int, rows: int, fingerprint: str | None
) -> None:
    """Refuse a file that is another one than was planned, or does not have these rows."""
    if fingerprint not in (None, file.fingerprint):
        msg = f"{shown} has changed since it was planned; {RESTORE}"
        raise UpdateLogError(msg)
    if first_row < 0 or rows < 0 or first_row + rows > file.rows:
        msg = (
            f"{shown} has {file.rows} rows, but rows {first_row} to "
            f"{first_row + rows - 1} were planned; {RESTORE}"
        )
        raise UpdateLogError(msg)


def _check_sums(found: ReadRows, shown: str, known: Mapping[int, int]) -> None:
    """Refuse rows of a row group whose checksum is another than the known one."""
    for group, crc in known.items():
        if group in found.sums and found.sums[group].crc != crc:
            msg = (
                f"{shown} has changed since it was applied in part or whole: row group {group} "
                f"holds other bytes than it did then; {RESTORE}"
            )
            raise UpdateLogError(msg)
