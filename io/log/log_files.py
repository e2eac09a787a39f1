"""One file of a log, of any format: the common interface, and how it is opened.

The format follows from the name: ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson`` and ``.json`` are text
(``text_files.py``), packed (``.gz``, ``.zst``, ``.bz2``) or not; all else must be Parquet
(``parquet_files.py``). Rows of a table's file may be rows that go, or be some of them only
(``table_files.py``). Where a file lies in folders such as ``date=2026-01-01``, these are columns
of it (``partitions.py``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from ...gpu_core.id_kinds import are_names
from ..file_systems import opened
from ..parquet.footers import TAIL_BYTES
from ..parquet.parquet_files import ParquetLogFile
from ..tables.table_files import INSERT, ChangedRows
from ..text.text_files import TextLogFile
from ..text.text_index import BLOCK_BYTES as TEXT_BLOCK_BYTES
from ..text.text_index import TextIndex
from .columns.schema import CANONICAL
from .file_rows import ReadRows
from .paths.log_paths import LogPath
from .paths.partitions import partition_values


class LogFileReader(Protocol):
    """An open file of a log."""

    #: ``parquet``, ``csv`` or ``json``.
    form: str
    #: Bytes.
    size: int
    rows: int
    #: Names and types of its columns.
    schema: pa.Schema

    @property
    def index(self) -> TextIndex | None:
        """Of a text file."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint that differs once the file has changed."""

    @property
    def group_rows(self) -> tuple[int, ...]:
        """Rows of each row group, or of each block of text."""

    @property
    def has_checksums(self) -> bool:
        """Whether the file carries checksums of what it holds."""

    def read(self, names: list[str], first_row: int, rows: int) -> ReadRows:
        """Read columns of a run of rows."""

    def bounds(
        self, names: Sequence[str], first_row: int, rows: int
    ) -> list[tuple[int, int] | None]:
        """Bounds of columns in some rows, by the file's statistics; None: it has none."""


class PartitionedFile:
    """A file with the columns that stand in its path, after its own."""

    def __init__(self, file: LogFileReader, values: Mapping[str, pa.Scalar]) -> None:
        self._file = file
        self._values = {key: each for key, each in values.items() if key not in file.schema.names}
        #: Columns in the path that are not taken, as the file has columns of their names.
        self.hidden = frozenset(values) - self._values.keys()
        self.form, self.size, self.rows, self.index = file.form, file.size, file.rows, file.index
        self.schema = pa.schema(
            [*file.schema, *((key, each.type) for key, each in self._values.items())]
        )

    @property
    def fingerprint(self) -> str:
        """As of the file: the path is no part of it."""
        return self._file.fingerprint

    @property
    def group_rows(self) -> tuple[int, ...]:
        """As of the file."""
        return self._file.group_rows

    @property
    def has_checksums(self) -> bool:
        """As of the file."""
        return self._file.has_checksums

    def read(self, names: list[str], first_row: int, rows: int) -> ReadRows:
        """Read columns of a run of rows."""
        own = [name for name in names if name not in self._values] or self._plain_column()
        found = self._file.read(own, first_row, rows)
        # A table of no columns has no rows.
        count = found.table.num_rows if own else rows
        columns = {
            name: pa.repeat(self._values[name], count)
            if name in self._values
            else found.table[name]
            for name in names
        }
        texts = {
            name: value.cast(pa.string()).as_py()
            for name, value in self._values.items()
            if found.wrong
        }
        wrong = tuple(replace(each, fields={**each.fields, **texts}) for each in found.wrong)
        return replace(found, table=pa.table(columns), wrong=wrong)

    def _plain_column(self) -> list[str]:
        """The first column of the file that can be read by its name, if there is one."""
        schema = self._file.schema
        once = [field for field in schema if schema.names.count(field.name) == 1]
        return [field.name for field in once if not pa.types.is_nested(field.type)][:1]

    def bounds(
        self, names: Sequence[str], first_row: int, rows: int
    ) -> list[tuple[int, int] | None]:
        """As of the file; not said of columns in the path."""
        return [
            None if name in self._values else self._file.bounds([name], first_row, rows)[0]
            for name in names
        ]


def hidden_partitions(file: LogFileReader) -> frozenset[str]:
    """Columns in the path of an open file that are not taken, see `PartitionedFile.hidden`."""
    return file.hidden if isinstance(file, PartitionedFile) else frozenset()


@contextmanager
def open_log_file(
    path: LogPath,
    columns: Mapping[str, str],
    index: TextIndex | None,
    ids: str,
    own: Mapping[str, str],
    *,
    dictionaries: bool,
    sifts: bool,
) -> Iterator[LogFileReader]:
    """Open a file of a log until the block ends.

    Parameters
    ----------
    path
        Where it is.
    columns
        Name in the files -> canonical column, for all columns of a log.
    index
        That of a text file, where it is known; else it is made, for which all of it is read.
    ids
        Kind of the graph's ids: text does not say of itself whether it is numbers.
    own
        Type of each property of the user's own, likewise.
    dictionaries
        Whether ops and names may be read as dictionaries and numbers of them, where they are stored
        so.
    sifts
        Whether lines of text that are no rows are left out of what is read, and reported beside it.
    """
    form = path.text_format
    values = partition_values(path.partitions, columns, path.shown, own, ids)
    block_bytes = TAIL_BYTES if form is None else TEXT_BLOCK_BYTES
    with opened(path.filesystem, path.path, path.shown, block_bytes) as source:
        file: LogFileReader
        if form is None:
            texts = ("op", "src", "dst") if are_names(ids) else ("op",)
            names = [name for name, canonical in columns.items() if canonical in texts]
            file = ParquetLogFile(source, path.shown, names if dictionaries else ())
            if path.change not in ("", INSERT):
                names_there = {canonical: name for name, canonical in columns.items()}
                file = ChangedRows(file, path.change, names_there, path.shown, values)
        else:
            file = TextLogFile(source, path, form, columns, index, ids, own, sifts=sifts)
        yield PartitionedFile(file, values) if values else file


def names_of_columns(columns: Mapping[str, str], own: Iterable[str]) -> dict[str, str]:
    """Name in the files -> canonical column or property, from the setting ``columns``."""
    return {columns.get(canonical, canonical): canonical for canonical in (*CANONICAL, *own)}
